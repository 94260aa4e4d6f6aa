#include "formats/arrays/arrays.hpp"

#include <nlohmann/json.hpp>

#include "tensor/resources.hpp"
#include "text/strings.hpp"

// Format: https://huggingface.co/docs/safetensors, "Format", and the checks of its own reader.

namespace qkv::inline formats {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_size = 8;  // of the header's length, with which the file begins
constexpr std::string_view metadata_key = "__metadata__";  // of the entry that is not a tensor
constexpr std::size_t max_header_bytes = 100'000'000;      // as in the format's own reader

constexpr std::string_view as_a_page =
    "this is a web page, not the file itself: download the file (on Hugging Face the address with "
    "/resolve/ in it, not /blob/)";

/// How files of other kinds begin, and what they are.
constexpr std::pair<std::string_view, std::string_view> kinds[] = {
    {"PK\x03\x04",
     "this is a zip, as torch.save and np.savez write it; write the tensors out with "
     "safetensors.torch.save_file"},
    {"version https://git-lfs",
     "this is a pointer of Git LFS, which stands for a file that was not fetched: fetch it with "
     "git lfs pull"},
    {"GGUF",
     "this is a GGUF file, as llama.cpp reads it; qkv reads the .safetensors files that it was "
     "converted from"},
    {"\x80\x02",
     "this is a pickle, as older torch.save wrote it; write the tensors out with "
     "safetensors.torch.save_file"},
    {"\x89HDF", "this is an HDF5 file, as Keras writes it; qkv reads .safetensors files"},
    {"{\"",
     "this is JSON; if it is model.safetensors.index.json, name it so and let the files that it "
     "lists stand beside it"},
    {"<!doctype html", as_a_page},
    {"<!DOCTYPE html", as_a_page},
    {"<html", as_a_page},
    {"<?xml", "this is XML, perhaps a server's message; download the file again"},
};

/// Recognises other file types submitted as .safetensors: "this is a zip, …"; empty if unknown.
std::string_view safetensors_signature_hint(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "\0\0\0\0"sv) return {};  // a header's length
  constexpr std::size_t enough = 64;
  const std::string_view start = trimmed(bytes.substr(0, enough));
  for (const auto& [beginning, hint] : kinds) {
    if (start.starts_with(beginning)) return hint;
  }
  return {};
}

constexpr std::size_t max_stored_rank = 64;
constexpr std::size_t max_metadata_bytes = 20'000;  // keys and values; usually there are a few

[[noreturn]] void refuse_damaged(const std::string& where, std::string_view what) {
  refuse(where, "{}: save the tensors again", what);
}

// ---------------------------------------------------------------- the header

std::size_t header_length(std::string_view bytes, const std::string& where) {
  if (const std::string_view known = safetensors_signature_hint(bytes); !known.empty()) {
    refuse(where, known);
  }
  if (bytes.size() < length_size) {
    refuse(
        where,
        "this is not a .safetensors file: it has {} bytes, and its header's length alone takes 8",
        bytes.size());
  }
  const std::size_t length = from_little_endian(bytes.substr(0, length_size));
  if (length > max_header_bytes) {
    refuse(where,
           "the header is said to have {} bytes, more than the {} that are read: is this a "
           ".safetensors file?",
           length, max_header_bytes);
  }
  if (length > bytes.size() - length_size) {
    refuse_damaged(where, fmt::format("the header is said to have {} bytes, the file has {} after "
                                      "its length",
                                      length, bytes.size() - length_size));
  }
  return length;
}

/// A callback of the JSON parser: it takes each tensor's entry once complete and discards the
/// parsed value, so that a header costs no more memory than its tensors.
struct SafetensorsHeader {
  const std::string& where;
  std::vector<SafetensorsEntry> tensors = {};
  std::map<std::string, std::string> metadata = {};
  std::set<std::string> names = {};
  std::string current = {};  ///< the name of the entry that is read
  std::size_t values = 0;

  /// Returns false if the parser shall discard the value.
  bool hear(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth == 0) {
      if (event == Event::array_start || event == Event::value) broken("is no JSON object");
      return true;
    }
    if (event == Event::key && depth == 1) return begin_entry(parsed.get<std::string>());
    if (event == Event::key || event == Event::value) count_values(depth);
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth > 2) broken(place() + " nests too deep");
    if (event == Event::array_start && depth == 1) broken(place() + " is not an object");
    if (event != Event::object_end || depth != 1) return true;
    current == metadata_key ? take_metadata(parsed) : take_tensor(parsed);
    return false;
  }

  [[noreturn]] void broken(std::string_view what) const {
    refuse_damaged(where, fmt::format("the header {}", what));
  }

  std::string place() const { return fmt::format("of \"{}\"", printable(current)); }

  bool begin_entry(std::string name) {
    if (!names.insert(name).second) broken(fmt::format("has \"{}\" twice", printable(name)));
    current = std::move(name);
    values = 0;
    return true;
  }

  void count_values(int depth) {
    if (depth == 1) broken(place() + " is not an object");
    const std::size_t most = current == metadata_key ? max_metadata_bytes : max_stored_rank + 8;
    if (++values > most) broken(place() + " has too much in it");
  }

  void take_metadata(const Json& parsed) {
    for (const auto& [key, value] : parsed.items()) {
      if (!value.is_string()) broken(place() + " must hold texts only");
      metadata[key] = value.get<std::string>();
    }
  }

  std::vector<std::size_t> sizes(const Json& entry, const char* key) const {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_array())
      broken(fmt::format("{} has no {}", place(), key));
    std::vector<std::size_t> result;
    for (const Json& size : *found) {
      if (!size.is_number_unsigned()) {
        broken(fmt::format("{} has a {} that is not a list of whole numbers", place(), key));
      }
      result.push_back(size.get<std::size_t>());
    }
    return result;
  }

  void take_tensor(const Json& entry) {
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string()) broken(place() + " has no dtype");
    const std::vector<std::size_t> range = sizes(entry, "data_offsets");
    if (range.size() != 2) broken(place() + " needs two data_offsets, begin and end");
    tensors.push_back({.name = current,
                       .dtype = dtype->get<std::string>(),
                       .shape = sizes(entry, "shape"),
                       .begin = range[0],
                       .end = range[1]});
  }
};

SafetensorsHeader read_header(std::string_view text, const std::string& where) {
  if (!text.starts_with('{')) {
    refuse(where, "this is not a .safetensors file: its header does not begin with {");
  }
  SafetensorsHeader reader{where};
  try {
    const Json nothing_left = Json::parse(
        text.begin(), text.end(), [&](int depth, Json::parse_event_t event, const Json& parsed) {
          return reader.hear(depth, event, parsed);
        });
  } catch (const Json::exception&) {
    refuse_damaged(where, "the header is no JSON");
  }
  return reader;
}

// ---------------------------------------------------------------- offsets

const Dtype* dtype_of(const SafetensorsEntry& entry) {
  return find_by(dtypes(), entry.dtype, &Dtype::safetensors);
}

/// The bytes of a shape at `number` bytes each; the largest integer if no file is that large.
std::size_t bytes_wanted(const Shape& shape, std::size_t number) {
  std::size_t bytes = number;
  for (const std::size_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return SIZE_MAX;
  }
  return bytes;
}

/// True if the size matches shape and dtype. For an unknown dtype a number takes at least a bit: a
/// shape must be plausible for the size of the file.
bool fits(const SafetensorsEntry& entry) {
  const Dtype* dtype = dtype_of(entry);
  return dtype != nullptr ? bytes_wanted(entry.shape, dtype->size) == entry.data.size()
                          : bytes_wanted(entry.shape, 1) / 8 <= entry.data.size();
}

void locate(SafetensorsEntry& entry, std::string_view data, const std::string& where) {
  const std::string name = printable(entry.name);
  if (entry.begin > entry.end || entry.end > data.size()) {
    refuse_damaged(where,
                   fmt::format("{} lies at bytes {} to {}, and there are {} bytes of numbers", name,
                               entry.begin, entry.end, data.size()));
  }
  entry.data = data.substr(entry.begin, entry.end - entry.begin);
  if (!fits(entry)) {
    refuse_damaged(where, fmt::format("{} has {} bytes of numbers, which does not fit shape [{}] "
                                      "of {}",
                                      name, entry.data.size(), fmt::join(entry.shape, ", "),
                                      printable(entry.dtype)));
  }
}

/// Each byte must belong to exactly one tensor: overlaps could fill memory, holes hide other data.
void refuse_overlaps_and_holes(const std::vector<SafetensorsEntry>& tensors, std::size_t size,
                               const std::string& where) {
  auto by_place = mapped(tensors, [](const SafetensorsEntry& entry) { return &entry; });
  std::ranges::sort(by_place, {}, [](const SafetensorsEntry* entry) {
    return std::pair(entry->begin, entry->end);
  });
  std::size_t end = 0;
  std::string before;
  for (const SafetensorsEntry* entry : by_place) {
    const std::string name = printable(entry->name);
    if (entry->begin < end) {
      refuse_damaged(where, fmt::format("{} and {} share bytes of the file", before, name));
    }
    if (entry->begin > end) {
      refuse_damaged(
          where, fmt::format("{} bytes before {} belong to no tensor", entry->begin - end, name));
    }
    end = entry->end;
    before = name;
  }
  if (end < size) {
    refuse_damaged(where, fmt::format("the last {} bytes belong to no tensor", size - end));
  }
}

std::string entry_place(const SafetensorsEntry& entry, const std::string& where) {
  return fmt::format("{}, {}", where, printable(entry.name));
}

ParsedArray read_safetensor(const SafetensorsEntry& entry, const std::string& where,
                            const ReadOptions& wanted) {
  if (wanted.most && contains(entry.shape, 0U)) return {.shape = entry.shape};
  const Dtype& dtype = safetensor_dtype(entry, where);
  const std::string place = entry_place(entry, where);
  const std::size_t count = element_count(entry.shape, place + ": a tensor");
  const Shape shape = entry.shape.empty() ? Shape{1} : entry.shape;
  if (count > wanted.most_of(entry.name)) return {.shape = shape};
  Values values = load_values(dtype, entry.data, place, ByteOrder::little, wanted.keeps);
  return array_of_values(shape, std::move(values), dtype.precision);
}

}  // namespace

void write_safetensors(const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, const Sink& sink) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const NamedTensor& named : tensors) by_name[named.name] = &named.tensor;
  Json header = Json::object();  // sorted by key
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  std::size_t end = 0;
  for (const auto& [name, tensor] : by_name) {
    const std::size_t begin = end;
    end += tensor->values.size() * sizeof(double);
    header[std::string(name)] = {
        {"dtype", "F64"}, {"shape", tensor->shape()}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((length_size - text.size() % length_size) % length_size, ' ');
  sink(little_endian(text.size(), length_size) + text);
  for (const auto& [name, tensor] : by_name) {
    tensor->values.for_each_piece([&](auto piece) { sink(bytes_of(piece)); });
  }
}

SafetensorsIndex safetensors_index(std::string_view bytes, const std::string& where) {
  const std::size_t length = header_length(bytes, where);
  SafetensorsHeader header = read_header(bytes.substr(length_size, length), where);
  const std::string_view data = bytes.substr(length_size + length);
  for (SafetensorsEntry& entry : header.tensors) locate(entry, data, where);
  refuse_overlaps_and_holes(header.tensors, data.size(), where);
  return {.tensors = std::move(header.tensors), .metadata = std::move(header.metadata)};
}

const Dtype& safetensor_dtype(const SafetensorsEntry& entry, const std::string& where) {
  const std::string place = entry_place(entry, where);
  const Dtype* dtype = dtype_of(entry);
  if (dtype == nullptr) {
    refuse(place, "dtype {} is not read: save it as F64, F32, F16 or BF16", printable(entry.dtype));
  }
  if (entry.shape.size() > max_stored_rank) refuse(place, "it has more axes than are read");
  if (contains(entry.shape, 0U)) {
    refuse(place, "it holds no numbers: its shape {} has a size of 0", shape_text(entry.shape));
  }
  return *dtype;
}

std::vector<NamedArray> read_safetensors(std::string_view bytes, const std::string& where,
                                         const ReadOptions& wanted) {
  const SafetensorsIndex index = safetensors_index(bytes, where);
  if (index.tensors.empty()) refuse(where, "there are no tensors in it");
  std::vector<const SafetensorsEntry*> chosen;
  for (const SafetensorsEntry& entry : index.tensors) {
    if (!wanted.wants(entry.name)) continue;
    const bool has_shape_alone = wanted.most && contains(entry.shape, 0U);
    if (!has_shape_alone) safetensor_dtype(entry, where);  // the first fault, whatever the threads
    chosen.push_back(&entry);
  }
  std::vector<NamedArray> tensors(chosen.size());
  const std::size_t size = bytes.size() / index.tensors.size();
  parallel_for(chosen.size(), 1, size, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const SafetensorsEntry& entry = *chosen[i];
      tensors[i] = {entry.name, read_safetensor(entry, where, wanted)};
    }
  });
  return tensors;
}

}  // namespace qkv::inline formats
