#include "formats/arrays/arrays.hpp"

#include <nlohmann/json.hpp>

#include "text/strings.hpp"
#include "text/unicode.hpp"

// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

namespace qkv::inline formats {
namespace {

constexpr std::size_t exceeds_any_file = std::size_t{1} << 48;
constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_rank = 64;  // NumPy's own limit, from version 2 on

// ---------------------------------------------------------------- the header

struct Header {
  const Dtype* dtype = nullptr;
  ByteOrder byte_order = ByteOrder::little;
  bool fortran_order = false;
  Shape shape = {};
};

using Json = nlohmann::json;

/// Returns the header, a Python dict, as JSON: in quotes, brackets, words and last commas they
/// differ.
std::string as_json(std::string_view dict) {
  std::string json;
  for (const char c : dict) {
    const bool closes = c == ')' || c == ']' || c == '}';
    const std::size_t last = json.find_last_not_of(" \t\n");
    if (closes && last != json.npos && json[last] == ',') json.erase(last);
    if (c == 'L' && !json.empty() && is_digit(json.back())) continue;  // Python 2 wrote 3L
    json += c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c;
  }
  return replace_all(replace_all(json, "False", "false"), "True", "true");
}

[[noreturn]] void refuse_header(const std::string& where) {
  refuse(where, "the .npy header is broken: save the array again with numpy.save");
}

/// Sets dtype and byte order from a text such as "<f8".
void set_dtype(std::string_view descr, Header& header, const std::string& where) {
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) < 4;
  const std::string_view code = descr.substr(has_order ? 1 : 0);
  const auto found = std::ranges::find(dtypes(), code, &Dtype::npy);
  if (code.empty() || found == dtypes().end()) {
    const bool object = descr.find('O') != std::string_view::npos;
    refuse(where, "the array holds {}, not numbers that qkv reads: save array.astype(\"float64\")",
           object ? "Python objects" : fmt::format("dtype \"{}\"", printable(descr)));
  }
  header.dtype = &*found;
  header.byte_order = descr[0] == '>' ? ByteOrder::big : ByteOrder::little;
}

/// Reads the header: a Python dict of three entries, such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
Header read_dict(std::string_view dict, const std::string& where) {
  const Json json = Json::parse(as_json(dict), nullptr, false);
  if (!json.is_object() || !json.contains("descr")) refuse_header(where);
  if (json["descr"].is_array()) {
    refuse(where, "the array holds records, not numbers: save one field of it");
  }
  if (json.size() != 3 || !json["descr"].is_string() || !json.contains("shape") ||
      !json["shape"].is_array() || json["shape"].size() > max_rank ||
      !json.contains("fortran_order") || !json["fortran_order"].is_boolean()) {
    refuse_header(where);
  }
  Header header{.fortran_order = json["fortran_order"].get<bool>()};
  set_dtype(json["descr"].get_ref<const std::string&>(), header, where);
  for (const Json& size : json["shape"]) {
    const bool is_huge = size.is_number_float() && size.get<double>() > exceeds_any_file;
    if (!size.is_number_unsigned() && !is_huge) refuse_header(where);
    header.shape.push_back(is_huge ? exceeds_any_file
                                   : std::min(size.get<std::size_t>(), exceeds_any_file));
  }
  return header;
}

/// Removes magic, version and header from the front of `bytes`, and parses them.
Header take_header(std::string_view& bytes, const std::string& where) {
  if (!bytes.starts_with(magic)) {
    refuse(where, "this is not a .npy file: save the array with numpy.save");
  }
  constexpr std::string_view truncated = "the file ends inside its header: save the array again";
  if (bytes.size() < magic.size() + 2) refuse(where, truncated);
  const int version = static_cast<unsigned char>(bytes[magic.size()]);
  if (version < 1 || version > 3) {
    refuse(where, "version {} of the .npy format is unknown: qkv reads 1, 2 and 3", version);
  }
  bytes.remove_prefix(magic.size() + 2);
  const std::size_t length_size = version == 1 ? 2 : 4;
  if (bytes.size() < length_size) refuse(where, truncated);
  const std::size_t length = from_little_endian(bytes.substr(0, length_size));
  bytes.remove_prefix(length_size);
  if (bytes.size() < length) refuse(where, truncated);
  if (length > max_npy_header) {
    refuse(where, "the header has {} bytes, more than the {} that are read", length,
           max_npy_header);
  }
  const Header header = read_dict(bytes.substr(0, length), where);
  bytes.remove_prefix(length);
  return header;
}

// ---------------------------------------------------------------- the numbers

/// Returns how many numbers there are, in `data` bytes.
std::size_t count_of(const Header& header, std::size_t data, const std::string& where) {
  const std::size_t count = element_count(header.shape, where + ": an array");
  const std::string shape = "shape " + shape_text(header.shape);
  const std::size_t wanted = count * header.dtype->size;
  if (data != wanted) {
    refuse(where, "{} needs {} bytes of numbers, the file has {}: save the array again",
           shape.size() > 6 ? shape : "one number", wanted, data);
  }
  return count;
}

/// Converts Fortran order (the first index varies fastest) to C order (the last one does). For each
/// index of the finished axes, the rest is a matrix to transpose along the next axis.
Values in_c_order(const Shape& shape, Values numbers) {
  std::size_t done = 1;
  std::size_t left = numbers.size();
  for (const std::size_t axis : shape) {
    left /= axis;
    if (left == 1) break;
    Values transposed = Values::uninitialised(numbers.size());
    put(xt::transpose(view_as<3>(numbers, {done, left, axis}), {0, 2, 1}),
        transposed.mutable_span());
    numbers = std::move(transposed);
    done *= axis;
  }
  return numbers;
}

}  // namespace

std::optional<ParsedArray> npy_surplus(std::string_view beginning, std::size_t size,
                                       const std::string& where, std::size_t most) {
  if (size <= most) return {};  // a number takes a byte or more
  std::string_view rest = beginning;
  const Header header = take_header(rest, where);
  const std::size_t count = count_of(header, size - beginning.size() + rest.size(), where);
  return count > most ? std::optional(ParsedArray{.shape = header.shape}) : std::nullopt;
}

ParsedArray read_npy(std::string_view bytes, const std::string& where, std::size_t most) {
  if (auto shape = npy_surplus(bytes, bytes.size(), where, most)) return *std::move(shape);
  const Header header = take_header(bytes, where);
  const bool is_empty = count_of(header, bytes.size(), where) == 0;
  if (is_empty && most == SIZE_MAX) {
    refuse(where, "the array holds no numbers: its shape {} has a size of 0",
           shape_text(header.shape));
  }
  if (is_empty) return {.shape = header.shape};
  Values values = load_values(*header.dtype, bytes, where, header.byte_order);
  if (header.fortran_order && header.shape.size() > 1) {
    values = in_c_order(header.shape, std::move(values));
  }
  const Shape shape = header.shape.empty() ? Shape{1} : header.shape;
  return array_of_values(shape, std::move(values), header.dtype->precision);
}

std::string npy_header(const Shape& shape) {
  constexpr std::size_t alignment = 64;
  const std::size_t before_header = magic.size() + 4;
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t size = before_header + header.size() + 1;
  header.append((alignment - size % alignment) % alignment, ' ');
  header += '\n';

  return std::string(magic) + '\x01' + '\x00' + little_endian(header.size(), 2) + header;
}

}  // namespace qkv::inline formats
