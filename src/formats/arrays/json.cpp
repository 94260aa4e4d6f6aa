#include "formats/arrays/arrays.hpp"

#include <nlohmann/json.hpp>

#include <unordered_set>

#include "text/json.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {
namespace {

/// Writes nested lists, with one innermost list per line.
struct ListWriter {
  const Tensor& tensor;
  std::optional<int> digits;
  const Sink& sink;
  std::size_t next = 0;
  std::string text = {};

  void write() {
    write_axis(0);
    sink(text);
  }

  void write_axis(std::size_t axis) {
    const std::size_t size = tensor.axes[axis].size;
    const bool innermost = axis + 1 == tensor.rank();
    text += '[';
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) text += innermost ? ", " : ",";
      if (innermost) {
        append_json_number(text, tensor.values[next++], digits);
      } else {
        indent(axis + 2);
        write_axis(axis + 1);
      }
    }
    if (!innermost) indent(axis + 1);
    text += ']';
    constexpr std::size_t enough = 1 << 16;
    if (text.size() < enough) return;
    sink(text);
    text.clear();
  }

  void indent(std::size_t depth) {
    text += '\n';
    text.append(2 * depth, ' ');
  }
};

/// Builds one matrix from the events of its nested lists.
class NestedList {
 public:
  static constexpr std::size_t max_depth = 16;  ///< heads and batches need four
  static constexpr std::size_t unknown = 0;     ///< size of lists before the first is closed

  /// An error message about the brackets; nothing if they are correct.
  using Fault = std::string;

  Fault open() {
    if (depth_known_ && open_.size() >= shape_.size()) {
      return fmt::format("{} is a list where a number was expected", place());
    }
    if (open_.size() == max_depth)
      return fmt::format("lists are nested more than {} deep", max_depth);
    open_.push_back(0);
    if (!depth_known_) shape_.push_back(unknown);
    return {};
  }

  Fault close() {
    const std::size_t count = open_.back();
    std::size_t& size = shape_[open_.size() - 1];
    if (count == 0) return fmt::format("{} is an empty list", parent());
    if (size == unknown) size = count;
    if (size != count) {
      return fmt::format("{} has {} {}, the one before it has {}", parent(), count,
                         count == 1 ? "entry" : "entries", size);
    }
    open_.pop_back();
    if (!open_.empty()) ++open_.back();
    return {};
  }

  Fault add(Numeral cell) {
    if (!depth_known_) {
      depth_known_ = true;
      is_number_ = open_.empty();
    } else if (open_.size() != shape_.size()) {
      return fmt::format("{} is a number where a list was expected", place());
    }
    cells_.push_back(cell);
    if (!open_.empty()) ++open_.back();
    return {};
  }

  std::size_t size() const { return cells_.size(); }
  bool is_complete() const { return open_.empty(); }
  bool is_list_without_numbers() const {
    return open_.size() == 1 && open_.front() == 0 && !depth_known_;
  }

  /// Returns the matrix; a single number becomes one axis of size 1.
  ParsedArray take() {
    return {.shape = is_number_ ? Shape{1} : std::move(shape_), .cells = std::move(cells_)};
  }

 private:
  std::string entry(std::size_t depth) const {
    if (depth == 0) return "it";
    std::string text = "entry ";
    for (std::size_t d = 0; d < depth; ++d)
      text += fmt::format("{}{}", d == 0 ? "" : ",", open_[d] + 1);
    return text;
  }

  std::string place() const { return entry(open_.size()); }       // of the next entry
  std::string parent() const { return entry(open_.size() - 1); }  // of the innermost open list

  Shape shape_;
  Numerals cells_;
  std::vector<std::size_t> open_;  ///< the number of entries of each open list so far
  bool depth_known_ = false;       ///< a number was read: all others must be as deep
  bool is_number_ = false;
};

using Json = nlohmann::json;

constexpr std::size_t max_depth = NestedList::max_depth;
constexpr std::string_view example = "write rows of numbers: [[1, 2], [3, 4]]";

/// Keys of wrappers; any other object's key becomes a part of the names.
constexpr std::string_view wrappers[] = {"steps",   "givens", "arrays", "matrices",
                                         "tensors", "values", "data",   "submission"};
/// Keys of an entry's name and numbers in a list of objects.
constexpr std::string_view name_keys[] = {"step", "name", "key"};
constexpr std::string_view value_keys[] = {"values", "value", "matrix", "data", "numbers", "cells"};

/// A SAX handler: nlohmann's events have each number's own text, which a parsed document lacks.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(std::string_view text, const std::string& where, const ReadOptions& wanted)
      : text_(text), where_(where), wanted_(wanted) {}

  std::vector<NamedArray> take() {
    std::erase_if(matrices_, [&](const NamedArray& matrix) {
      return !matrix.name.empty() && !wanted_.wants(matrix.name);
    });
    for (NamedArray& matrix : matrices_) resolve_precision(matrix.written.cells.to_write());
    return std::move(matrices_);
  }

  bool null() override { return add({.value = std::nan("")}); }
  bool boolean(bool value) override {
    if (is_beside_matrices()) return true;
    if (wanted_.on_bad_cell == OnBadCell::kept && reading_)
      return add_text(value ? "true" : "false");
    refuse("true and false are no numbers; " + std::string(example));
  }
  bool number_integer(number_integer_t value) override { return add_whole(value); }

  bool number_unsigned(number_unsigned_t value) override { return add_whole(value); }
  bool number_float(number_float_t, const string_t& written) override { return add_text(written); }
  bool string(string_t& written) override {
    if (in_entry() && contains(name_keys, key_)) {
      entry_name_ = written;
      return true;
    }
    const std::string_view text = trimmed(written);
    if (!text.empty() && is_beside_matrices() &&
        parse_cell(text).fault == NumeralError::not_a_number) {
      return true;
    }
    return text.empty() ? null() : add_text(text);
  }
  bool binary(binary_t&) override { refuse("binary data are no numbers"); }

  bool start_object(std::size_t) override {
    const bool opens_list = reading_ && builder_.is_list_without_numbers();
    if (reading_ && !opens_list) {
      refuse("an object stands where numbers were expected; " + std::string(example));
    }
    if (opens_list) {  // [{"step": "Q", "values": [[…]]}, …]
      reading_ = false;
      names_.erase(matrices_.back().name);
      matrices_.pop_back();
      objects_.push_back({.kind = Object::Kind::list});
    }
    if (!objects_.empty() && objects_.back().kind == Object::Kind::list) {
      objects_.push_back({.kind = Object::Kind::entry});
      entry_name_.clear();
      entry_start_ = matrices_.size();
      return true;
    }
    if (objects_.size() == max_depth) {
      refuse(fmt::format("objects are nested more than {} deep", max_depth));
    }
    const bool named = !objects_.empty() && !contains(wrappers, key_);
    objects_.push_back(
        {.kind = Object::Kind::names, .prefix = objects_.empty() ? "" : objects_.back().prefix});
    if (named) objects_.back().prefix += key_ + ".";
    constexpr std::size_t longest = 1000;  // each matrix in it repeats these names
    if (objects_.back().prefix.size() > longest) {
      refuse(fmt::format("the names of the objects around it have more than {} letters", longest));
    }
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool end_object() override {
    const bool was_entry = in_entry();
    objects_.pop_back();
    if (was_entry) return name_entry();
    if (objects_.empty() && matrices_.empty()) {
      refuse("there is nothing in it; " + std::string(example));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    start();
    refuse_fault(builder_.open());
    return true;
  }
  bool end_array() override {
    if (!reading_ && !objects_.empty() && objects_.back().kind == Object::Kind::list) {
      objects_.pop_back();
      return true;
    }
    refuse_fault(builder_.close());
    finish();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // nlohmann's id of the error "a number too large for a double".
    constexpr int out_of_range = 406;
    if (error.id == out_of_range) refuse(qkv::refusal(NumeralError::too_large, token));
    const std::string_view before =
        text_.substr(0, std::min(position == 0 ? 0 : position - 1, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    const bool at_end = before.size() >= trimmed(text_).size();
    throw InputError(
        "{}: line {}, column {}: {}; {}", where_, line, column,
        at_end ? "the text ends too early, or something is missing" : "this is no JSON", example);
  }

 private:
  std::string place() const {
    const std::string name =
        objects_.empty() || key_.empty() ? key_ : objects_.back().prefix + key_;
    return name.empty() ? where_ : fmt::format("{}, {}", where_, printable(name));
  }

  [[noreturn]] void refuse(const std::string& why) const { qkv::refuse(place(), why); }

  void refuse_fault(const NestedList::Fault& fault) const {
    if (!fault.empty()) refuse(fault + ": " + std::string(example));
  }

  struct Object {
    enum class Kind { names, list, entry };
    Kind kind = Kind::names;
    std::string prefix = {};
  };

  bool in_entry() const { return !objects_.empty() && objects_.back().kind == Object::Kind::entry; }

  // True for other data in the file, such as a title or date.
  bool is_beside_matrices() const {
    return wanted_.on_bad_cell == OnBadCell::kept && !reading_ && !objects_.empty();
  }

  void start() {
    if (reading_) return;
    reading_ = true;
    builder_ = {};
    const bool named = !objects_.empty() && !in_entry();
    matrices_.push_back({.name = named ? objects_.back().prefix + key_ : "", .written = {}});
    if (named) take_name(matrices_.back().name);
    most_ = wanted_.most_of(matrices_.back().name);
  }

  void take_name(const std::string& name) {
    if (names_.insert(name).second) return;
    refuse(fmt::format("\"{}\" stands in it twice", printable(name)));
  }

  // Of an entry's arrays, only those under value_keys count.
  bool name_entry() {
    if (matrices_.size() == entry_start_) return true;
    matrices_.resize(entry_start_ + 1);
    matrices_.back().name = entry_name_;
    if (!entry_name_.empty()) take_name(entry_name_);
    return true;
  }

  void finish() {
    if (!builder_.is_complete()) return;
    reading_ = false;
    if (in_entry() && !contains(value_keys, key_)) return matrices_.pop_back();  // ignored
    ParsedArray written = builder_.take();
    written.bad_texts = std::move(matrices_.back().written.bad_texts);
    matrices_.back().written = std::move(written);
  }

  bool add(Numeral cell) {
    if (objects_.empty() && !reading_) refuse(std::string(example));
    start();
    if (builder_.size() == most_) refuse_surplus(place(), most_);
    refuse_fault(builder_.add(cell));
    finish();
    return true;
  }

  template <class Whole>
  bool add_whole(Whole value) {
    return loses_precision(value) ? add_text(fmt::to_string(value))
                                  : add({.value = static_cast<double>(value)});
  }

  bool add_text(std::string_view written) {
    const NumeralResult result = parse_cell(written, decimal_mark_of(written));
    if (result.fault == NumeralError::none) return add(result.numeral);
    if (wanted_.on_bad_cell == OnBadCell::refused) refuse(refusal(result.fault, written));
    start();
    return add(keep_bad_cell(matrices_.back().written, written));
  }

  std::string_view text_;
  const std::string& where_;
  const ReadOptions& wanted_;
  std::size_t most_ = SIZE_MAX;  ///< numbers of the current matrix
  std::vector<NamedArray> matrices_;
  std::unordered_set<std::string> names_;
  NestedList builder_;
  std::vector<Object> objects_;  ///< the open ones
  std::string key_;              ///< the last one
  std::string entry_name_;
  std::size_t entry_start_ = 0;
  bool reading_ = false;
};

/// Quotes what nlohmann's parser rejects outside strings: Python's NaN and Infinity, and numbers
/// that no double holds.
std::string with_quoted_words(std::string_view text) {
  constexpr std::string_view words[] = {"NaN", "Infinity", "-Infinity"};
  std::string result;
  result.reserve(text.size());
  std::size_t done = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '-' || c == 'I' || c == 'N' || (c >= '0' && c <= '9'))) {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n,:[]{}\"", i), text.size());
      const std::string_view token = text.substr(i, end - i);
      const bool may_be_large = token.size() > 300 || token.find_first_of("eE") != token.npos;
      if (contains(words, token) ||
          (may_be_large && parse_numeral(token).fault == NumeralError::too_large)) {
        result.append(text.substr(done, i - done)).append(fmt::format("\"{}\"", token));
        done = end;
      }
      i = end - 1;
    }
  }
  return result.append(text.substr(done));
}

}  // namespace

void write_json(const std::vector<NamedTensor>& tensors, std::optional<int> digits,
                const Sink& sink) {
  std::string_view before = "{\n  \"";
  for (const NamedTensor& named : tensors) {
    sink(before);
    sink(named.name);
    sink("\": ");
    ListWriter{named.tensor, digits, sink}.write();
    before = ",\n  \"";
  }
  sink(tensors.empty() ? "{}\n" : "\n}\n");
}

std::vector<NamedArray> read_json(std::string_view text, const std::string& where,
                                  const ReadOptions& wanted) {
  text = without_byte_order_mark(text);
  if (trimmed(text).empty())
    throw InputError(where + ": the file is empty: " + std::string(example));
  const std::string plain = with_quoted_words(text);
  Reader reader(plain, where, wanted);
  Json::sax_parse(plain, &reader);
  return reader.take();
}

}  // namespace qkv::inline formats
