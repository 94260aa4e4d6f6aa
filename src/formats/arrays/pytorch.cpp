#include "formats/arrays/arrays.hpp"

#include <unordered_map>

#include "text/strings.hpp"

// The pickle is run on a stack of nodes in one array. A node refers to others by index, so that
// neither deep nesting nor a cycle costs more than the walk that names the tensors allows.

namespace qkv::inline formats {
namespace {

constexpr ZipMessages pytorch_messages = {
    .kind = "file of torch.save",
    .make = "save a dictionary of tensors with torch.save",
    .again = "save the tensors again with torch.save",
    .plainly = "save the tensors with torch.save",
};
constexpr std::size_t max_pickle_bytes = std::size_t{1} << 24;
constexpr std::size_t max_entries = 1'000'000;  // of all dictionaries and lists together
constexpr std::size_t max_values = 2'000'000;   // of the pickle
constexpr std::size_t max_nesting = 32;
constexpr std::size_t max_name = 4096;
constexpr std::size_t max_axes = 64;

using NodeIndex = std::uint32_t;

enum class NodeKind { scalar, integer, text, function, tuple, list, dictionary, storage, tensor };

// A value of the pickle. Items of a dictionary are keys and values in turn; of a tensor its
// storage, offset, sizes and strides; of a storage its type, key and number of elements.
struct Node {
  NodeKind kind = NodeKind::scalar;
  std::int64_t number = 0;
  std::string text = {};  // of a function: "torch._utils _rebuild_tensor_v2"
  std::vector<NodeIndex> items = {};
};

// "torch FloatStorage" as Python writes it: torch.FloatStorage.
std::string dotted(std::string_view function) {
  std::string name = printable(std::string(function));
  std::ranges::replace(name, ' ', '.');
  return name;
}

struct Pickle {
  std::string_view rest;
  const std::string& where;
  std::vector<Node> nodes = {};
  std::vector<NodeIndex> stack = {};
  std::vector<std::size_t> marks = {};  // heights of the stack
  std::unordered_map<std::size_t, NodeIndex> memo = {};

  // Runs the pickle and returns its result.
  NodeIndex run() {
    while (true) {
      const char opcode = take(1).front();
      if (opcode == '.') return pop();
      step(opcode);
    }
  }

  const Node& operator[](NodeIndex index) const { return nodes[index]; }

  [[noreturn]] void refuse_value(std::string_view what) const {
    refuse(where,
           "it holds {}, which is not a tensor, and qkv runs no code of a file: save a dictionary "
           "of tensors",
           what);
  }
  [[noreturn]] void refuse_broken() const {
    refuse(where, "its pickle is damaged: {}", pytorch_messages.again);
  }

  std::string_view take(std::size_t count) {
    if (count > rest.size()) refuse_broken();
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  std::size_t take_number(std::size_t size) { return from_little_endian(take(size)); }
  std::string_view take_line() {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) refuse_broken();
    const std::string_view line = take(end);
    take(1);
    return line;
  }

  void push(Node node) {
    if (nodes.size() >= max_values) refuse(where, "it holds too much: save only tensors");
    nodes.push_back(std::move(node));
    stack.push_back(static_cast<NodeIndex>(nodes.size() - 1));
  }
  void push_integer(std::int64_t number) { push({.kind = NodeKind::integer, .number = number}); }
  void push_text(std::string_view text) {
    push({.kind = NodeKind::text, .text = std::string(text)});
  }

  NodeIndex pop() {
    const std::size_t bottom = marks.empty() ? 0 : marks.back();
    if (stack.size() <= bottom) refuse_broken();
    const NodeIndex top = stack.back();
    stack.pop_back();
    return top;
  }
  NodeIndex top() {
    const NodeIndex index = pop();
    stack.push_back(index);
    return index;
  }
  std::vector<NodeIndex> pop_to_mark() {
    if (marks.empty()) refuse_broken();
    const auto first = stack.begin() + static_cast<std::ptrdiff_t>(marks.back());
    std::vector<NodeIndex> items(first, stack.end());
    stack.erase(first, stack.end());
    marks.pop_back();
    return items;
  }
  std::vector<NodeIndex> pop_items(std::size_t count) {
    std::vector<NodeIndex> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  // Appends to a list, or keys and values to a dictionary.
  void append(const std::vector<NodeIndex>& items, NodeKind kind) {
    Node& whole = nodes[top()];
    const bool in_pairs = kind != NodeKind::dictionary || items.size() % 2 == 0;
    if (whole.kind != kind || !in_pairs) refuse_broken();
    whole.items.insert(whole.items.end(), items.begin(), items.end());
  }

  void step(char opcode) {
    switch (opcode) {
      case '\x80': take(1); return;  // PROTO
      case '\x95': take(8); return;  // FRAME
      case '(': marks.push_back(stack.size()); return;
      case '0': pop(); return;  // POP
      case 'N':
      case '\x88':
      case '\x89': push({}); return;  // None, True, False
      case 'G':
        take(8);
        push({});
        return;  // BINFLOAT
      case '}': push({.kind = NodeKind::dictionary}); return;
      case ']': push({.kind = NodeKind::list}); return;
      case ')': push({.kind = NodeKind::tuple}); return;
      case 't': push({.kind = NodeKind::tuple, .items = pop_to_mark()}); return;
      case '\x85':
      case '\x86':
      case '\x87':  // TUPLE1, TUPLE2, TUPLE3
        push({.kind = NodeKind::tuple,
              .items = pop_items(static_cast<std::size_t>(opcode - '\x84'))});
        return;
      case 'a': append(pop_items(1), NodeKind::list); return;
      case 's': append(pop_items(2), NodeKind::dictionary); return;
      case 'e': append(pop_to_mark(), NodeKind::list); return;
      case 'u': append(pop_to_mark(), NodeKind::dictionary); return;
      case 'b': pop(); return;  // BUILD: attributes such as _metadata
      default: step_of_numbers_and_names(opcode);
    }
  }

  void step_of_numbers_and_names(char opcode) {
    switch (opcode) {
      case 'K': push_integer(static_cast<std::int64_t>(take_number(1))); return;
      case 'M': push_integer(static_cast<std::int64_t>(take_number(2))); return;
      case 'J': push_integer(static_cast<std::int32_t>(take_number(4))); return;
      case '\x8a': push_long(take(take_number(1))); return;
      case 'X': push_text(take(take_number(4))); return;
      case '\x8c': push_text(take(take_number(1))); return;
      case '\x8d': push_text(take(take_number(8))); return;
      case 'c': push_named_function(); return;
      case '\x93': push_stack_function(); return;
      case 'q': memo[take_number(1)] = top(); return;
      case 'r': memo[take_number(4)] = top(); return;
      case '\x94': memo[memo.size()] = top(); return;
      case 'h': push_memo(take_number(1)); return;
      case 'j': push_memo(take_number(4)); return;
      case 'Q': make_storage(); return;
      case 'R': call(); return;
      case '\x81': refuse_value(dotted(nodes[pop_items(2).front()].text));  // NEWOBJ
      default:
        refuse_value(fmt::format("an object (opcode 0x{:02x} of its pickle)",
                                 static_cast<unsigned char>(opcode)));
    }
  }

  void push_long(std::string_view bytes) {
    if (bytes.size() > 8) return push({});  // no size or offset is that long
    std::size_t number = from_little_endian(bytes);
    const bool is_negative = !bytes.empty() && (bytes.back() & '\x80') != 0;
    if (is_negative && bytes.size() < 8) number |= ~std::size_t{0} << (8 * bytes.size());
    push_integer(static_cast<std::int64_t>(number));
  }

  void push_function(std::string_view module, std::string_view name) {
    push({.kind = NodeKind::function, .text = fmt::format("{} {}", module, name)});
  }
  void push_named_function() {
    const std::string_view module = take_line();
    push_function(module, take_line());
  }
  void push_stack_function() {
    const std::vector<NodeIndex> names = pop_items(2);
    const std::string module = nodes[names[0]].text;
    push_function(module, std::string(nodes[names[1]].text));
  }
  void push_memo(std::size_t key) {
    const auto found = memo.find(key);
    if (found == memo.end()) refuse_broken();
    stack.push_back(found->second);
  }

  // BINPERSID: ("storage", type, key, location, number of elements).
  void make_storage() {
    const Node& id = nodes[pop()];
    const bool fits =
        id.kind == NodeKind::tuple && id.items.size() == 5 &&
        nodes[id.items[0]].text == "storage" && nodes[id.items[1]].kind == NodeKind::function &&
        nodes[id.items[2]].kind == NodeKind::text && nodes[id.items[4]].kind == NodeKind::integer;
    if (!fits) refuse_broken();
    push({.kind = NodeKind::storage, .items = {id.items[1], id.items[2], id.items[4]}});
  }

  // REDUCE: the few functions that tensors need.
  void call() {
    const std::vector<NodeIndex> both = pop_items(2);
    const std::string name = nodes[both[0]].text;
    const Node arguments = nodes[both[1]];
    if (nodes[both[0]].kind != NodeKind::function || arguments.kind != NodeKind::tuple)
      refuse_broken();
    if (name == "collections OrderedDict" && arguments.items.empty()) {
      push({.kind = NodeKind::dictionary});
    } else if ((name == "torch Size" && arguments.items.size() == 1) ||
               (name == "torch._utils _rebuild_parameter" && !arguments.items.empty())) {
      stack.push_back(arguments.items[0]);
    } else if (name == "torch._utils _rebuild_tensor_v2" && arguments.items.size() >= 4) {
      if (arguments.items.size() > 6 && !nodes[arguments.items[6]].items.empty()) {
        refuse(where, "it holds a tensor that is stored negated: save tensor.resolve_neg()");
      }
      push({.kind = NodeKind::tensor,
            .items = {arguments.items.begin(), arguments.items.begin() + 4}});
    } else {
      refuse_value(dotted(name));
    }
  }
};

// The archive of a file of torch.save, and the tensors that its pickle names.
class PytorchFile {
 public:
  PytorchFile(std::string_view bytes, const std::string& where, const ReadOptions& wanted)
      : where_(where), wanted_(wanted), size_(bytes.size()) {
    for (ZipEntry& entry : zip_entries(bytes, where, pytorch_messages)) {
      std::string name = entry.name.substr(entry.name.find('/') + 1);
      if (!entries_.emplace(name, std::move(entry)).second)
        refuse(where, "two of its entries are named {}: {}", printable(name),
               pytorch_messages.again);
    }
  }

  std::vector<NamedArray> read() {
    const ZipEntry* entry = find("data.pkl");
    if (entry == nullptr) {
      refuse(where_, "this zip is not a file of torch.save: save a dictionary of tensors with it");
    }
    if (entry->unpacked > max_pickle_bytes) {
      refuse(where_, "its pickle has more than {} bytes, the most that is read", max_pickle_bytes);
    }
    constexpr std::string_view big = "big";
    const ZipEntry* order = find("byteorder");
    const bool may_be_big =
        order != nullptr && order->unpacked == big.size();  // else it may be huge
    if (may_be_big && unpacked(*order, where_, pytorch_messages) == big) order_ = ByteOrder::big;
    const std::string bytes = unpacked(*entry, where_, pytorch_messages);
    Pickle pickle{bytes, where_};
    const NodeIndex whole = pickle.run();
    walk(pickle, whole, {}, 0);
    if (arrays_.empty() && !has_tensors_) refuse(where_, "there are no tensors in it");
    return std::move(arrays_);
  }

 private:
  const ZipEntry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

  void walk(const Pickle& pickle, NodeIndex index, const std::string& name, std::size_t depth) {
    const Node& node = pickle[index];
    if (depth > max_nesting || name.size() > max_name || ++visited_ > max_entries) {
      refuse(where_,
             "its dictionaries nest too deep or hold too much: save a dictionary of tensors");
    }
    const auto inside = [&](std::string_view key) {
      return name.empty() ? std::string(key) : fmt::format("{}.{}", name, key);
    };
    if (node.kind == NodeKind::tensor) return take_tensor(pickle, node, name);
    if (node.kind == NodeKind::list || node.kind == NodeKind::tuple) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        walk(pickle, node.items[i], inside(std::to_string(i)), depth + 1);
      }
    }
    for (std::size_t i = 0; node.kind == NodeKind::dictionary && i < node.items.size(); i += 2) {
      const Node& key = pickle[node.items[i]];
      const bool is_text = key.kind == NodeKind::text;
      walk(pickle, node.items[i + 1], inside(is_text ? key.text : std::to_string(key.number)),
           depth + 1);
    }
    if (node.kind == NodeKind::function) pickle.refuse_value(dotted(node.text));
  }

  void take_tensor(const Pickle& pickle, const Node& node, const std::string& name) {
    has_tensors_ = true;
    if (!names_.insert(name).second) {
      refuse(where_, "two tensors are named {}: {}", printable(name), pytorch_messages.again);
    }
    if (!name.empty() && !wanted_.wants(name)) return;
    const std::string place =
        name.empty() ? where_ : fmt::format("{}, {}", where_, printable(name));
    const Node& storage = pickle[node.items[0]];
    if (storage.kind != NodeKind::storage) pickle.refuse_broken();
    const Shape sizes = numbers(pickle, pickle[node.items[2]]);
    const Shape strides = numbers(pickle, pickle[node.items[3]]);
    const Shape offset = numbers(pickle, {.kind = NodeKind::tuple, .items = {node.items[1]}});
    if (sizes.size() != strides.size() || sizes.size() > max_axes) pickle.refuse_broken();
    const std::size_t count = element_count(sizes, place + ": a tensor");
    if (count == 0 && !wanted_.most) refuse(place, "it holds no numbers: one of its sizes is 0");
    ParsedArray array{.shape = sizes.empty() ? Shape{1} : sizes};
    if (count > 0 && count <= wanted_.most_of(name)) {
      numbers_ += count;  // a tensor may repeat its numbers, with a stride of 0
      if (numbers_ > surplus_factor * size_) {
        refuse(place, "the tensors have far more numbers than the file: save their clones");
      }
      array = strided(pickle, storage, {sizes, strides, offset[0]}, place);
    }
    arrays_.push_back({name, std::move(array)});
  }

  static Shape numbers(const Pickle& pickle, const Node& list) {
    Shape numbers;
    if (list.kind != NodeKind::tuple) pickle.refuse_broken();
    for (const NodeIndex item : list.items) {
      if (pickle[item].kind != NodeKind::integer || pickle[item].number < 0) pickle.refuse_broken();
      numbers.push_back(static_cast<std::size_t>(pickle[item].number));
    }
    return numbers;
  }

  struct View {
    Shape sizes;
    Shape strides;
    std::size_t offset;

    // The last element's place in the storage; the largest integer if no storage is that large.
    std::size_t last() const {
      std::size_t place = offset;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        std::size_t step = 0;
        if (__builtin_mul_overflow(sizes[axis] - 1, strides[axis], &step) ||
            __builtin_add_overflow(place, step, &place)) {
          return SIZE_MAX;
        }
      }
      return place;
    }
  };

  // The numbers of a view of a storage, one line of its last axis after the other.
  ParsedArray strided(const Pickle& pickle, const Node& storage, const View& view,
                      const std::string& place) {
    const Dtype& dtype = dtype_of(pickle[storage.items[0]].text, place);
    const std::string& bytes = storage_bytes(pickle[storage.items[1]].text, place);
    if (static_cast<std::size_t>(pickle[storage.items[2]].number) != bytes.size() / dtype.size)
      refuse(place, "its storage has another size than its pickle says: {}",
             pytorch_messages.again);
    if (view.last() >= bytes.size() / dtype.size) refuse_absent(place);
    std::vector<double> numbers(element_count(view.sizes, place));
    const std::size_t line = view.sizes.empty() ? 1 : view.sizes.back();
    const std::size_t step = view.sizes.empty() ? 1 : view.strides.back();
    Shape index(view.sizes.size(), 0);
    std::size_t at = view.offset;
    for (std::size_t i = 0; i < numbers.size(); i += line) {
      dtype.load(bytes.data() + at * dtype.size, step * dtype.size, order_,
                 std::span(numbers).subspan(i, line));
      for (std::size_t axis = index.size() - std::min<std::size_t>(index.size(), 1); axis-- > 0;) {
        at += view.strides[axis];
        if (++index[axis] < view.sizes[axis]) break;
        at -= view.strides[axis] * view.sizes[axis];
        index[axis] = 0;
      }
    }
    return array_of_values(view.sizes.empty() ? Shape{1} : view.sizes, numbers, dtype.precision);
  }

  // A storage's bytes, unpacked once however many tensors are views of it.
  const std::string& storage_bytes(const std::string& key, const std::string& place) {
    const auto [found, is_new] = storages_.try_emplace(key);
    if (!is_new) return found->second;
    const ZipEntry* entry = find("data/" + key);
    if (entry == nullptr) refuse_absent(place);
    unpacked_ += entry->unpacked;
    if (unpacked_ > max_unpacked_bytes) {
      refuse(where_, "its tensors have more than {} bytes, the most that is read",
             max_unpacked_bytes);
    }
    found->second = unpacked(*entry, where_, pytorch_messages);
    return found->second;
  }

  [[noreturn]] static void refuse_absent(const std::string& place) {
    refuse(place, "its numbers are not in the file: {}", pytorch_messages.again);
  }

  static const Dtype& dtype_of(const std::string& torch, const std::string& place) {
    const Dtype* dtype = find_by(dtypes(), torch, &Dtype::torch);
    if (!dtype) refuse(place, "{} is not read: save it as float, half or bfloat16", dotted(torch));
    return *dtype;
  }

  const std::string& where_;
  const ReadOptions& wanted_;
  std::size_t size_;  // of the file, in bytes
  std::unordered_map<std::string, std::string> storages_;
  std::unordered_map<std::string, ZipEntry> entries_;  // by name, without the archive's folder
  ByteOrder order_ = ByteOrder::little;
  std::set<std::string> names_;
  std::vector<NamedArray> arrays_;
  std::size_t visited_ = 0;   // entries of dictionaries and lists
  std::size_t numbers_ = 0;   // read so far
  std::size_t unpacked_ = 0;  // bytes
  bool has_tensors_ = false;
};

}  // namespace

std::vector<NamedArray> read_pytorch(std::string_view bytes, const std::string& where,
                                     const ReadOptions& wanted) {
  constexpr std::string_view old_magic =
      "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";  // a pickled number
  if (bytes.substr(0, 64).find(old_magic) != bytes.npos) {
    refuse(where, "this is an old form of torch.save: save it again with PyTorch 1.6 or newer");
  }
  return PytorchFile(bytes, where, wanted).read();
}

}  // namespace qkv::inline formats
