#include "formats/arrays/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "formats/arrays/dtype.hpp"
#include "formats/format.hpp"
#include "text/strings.hpp"

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
  Shape shape;
};

/// Reads the header: a Python dict of three entries, such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  Header read() {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (take('}')) break;
      expect(',');
    }
    if (!trimmed(rest_).empty()) broken();
    if (header_.dtype == nullptr || !order_ || !shape_) broken();
    header_.fortran_order = *order_;
    header_.shape = *shape_;
    return header_;
  }

 private:
  [[noreturn]] void broken() const {
    refuse(where_, "the .npy header is broken: save the array again with numpy.save");
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }

  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) broken();
  }

  std::string_view string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') broken();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) broken();
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(std::string_view(word).size());
      return value;
    }
    broken();
  }

  std::size_t size() {
    skip_blanks();
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0) broken();
    std::size_t value = 0;
    for (const char c : rest_.substr(0, digits)) {
      // Already larger than any file: more digits would overflow.
      if (value <= exceeds_any_file) value = value * 10 + static_cast<std::size_t>(c - '0');
    }
    rest_.remove_prefix(digits);
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote 3L
    return value;
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      if (shape.size() == max_rank) broken();
      shape.push_back(size());
      if (take(')')) break;
      expect(',');
    }
    return shape;
  }

  void read_dtype() {
    skip_blanks();
    if (rest_.starts_with('[')) {
      refuse(where_, "the array holds records, not numbers: save one field of it");
    }
    const std::string_view descr = string();
    const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) < 4;
    const std::string_view code = descr.substr(has_order ? 1 : 0);
    const auto found = std::find_if(dtypes().begin(), dtypes().end(), [code](const Dtype& dtype) {
      return !code.empty() && dtype.npy == code;
    });
    if (found == dtypes().end()) refuse_dtype(descr);
    header_.dtype = &*found;
    header_.byte_order = descr[0] == '>' ? ByteOrder::big : ByteOrder::little;
  }

  [[noreturn]] void refuse_dtype(std::string_view descr) const {
    const bool object = descr.find('O') != std::string_view::npos;
    refuse(where_,
           fmt::format("the array holds {}, not numbers that qkv reads: save "
                       "array.astype(\"float64\")",
                       object ? "Python objects" : fmt::format("dtype \"{}\"", printable(descr))));
  }

  void read_entry() {
    const std::string_view key = string();
    expect(':');
    if (key == "descr") {
      read_dtype();
    } else if (key == "fortran_order") {
      order_ = truth();
    } else if (key == "shape") {
      shape_ = tuple();
    } else {
      broken();
    }
  }

  std::string_view rest_;
  const std::string& where_;
  Header header_;
  std::optional<bool> order_;
  std::optional<Shape> shape_;
};

/// Removes magic, version and header from the front of `bytes`, and parses them.
Header take_header(std::string_view& bytes, const std::string& where) {
  if (!bytes.starts_with(magic)) {
    refuse(where, "this is not a .npy file: save the array with numpy.save");
  }
  constexpr std::string_view truncated = "the file ends inside its header: save the array again";
  if (bytes.size() < magic.size() + 2) refuse(where, truncated);
  const int version = static_cast<unsigned char>(bytes[magic.size()]);
  if (version < 1 || version > 3) {
    refuse(where,
           fmt::format("version {} of the .npy format is unknown: qkv reads 1, 2 and 3", version));
  }
  bytes.remove_prefix(magic.size() + 2);
  const std::size_t length_size = version == 1 ? 2 : 4;
  if (bytes.size() < length_size) refuse(where, truncated);
  const std::size_t length = from_little_endian(bytes.substr(0, length_size));
  bytes.remove_prefix(length_size);
  if (bytes.size() < length) refuse(where, truncated);
  const Header header = HeaderReader(bytes.substr(0, length), where).read();
  bytes.remove_prefix(length);
  return header;
}

// ---------------------------------------------------------------- the numbers

/// Returns how many numbers there are, in `data` bytes.
std::size_t count_of(const Header& header, std::size_t data, const std::string& where) {
  const std::size_t count = element_count(header.shape, where + ": an array");
  const std::string shape = "shape " + shape_text(header.shape);
  if (count == 0) refuse(where, "the array holds no numbers: its " + shape + " has a size of 0");
  const std::size_t wanted = count * header.dtype->size;
  if (data != wanted) {
    refuse(where, fmt::format("{} needs {} bytes of numbers, the file has {}: save the array again",
                              shape.size() > 6 ? shape : "one number", wanted, data));
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

NpyArray read_npy_array(std::string_view bytes, const std::string& where) {
  const Header header = take_header(bytes, where);
  count_of(header, bytes.size(), where);
  Values values = load_values(*header.dtype, bytes, where, header.byte_order);
  if (header.fortran_order && header.shape.size() > 1) {
    values = in_c_order(header.shape, std::move(values));
  }
  const Shape shape = header.shape.empty() ? Shape{1} : header.shape;
  return {.tensor = tensor_of(shape, std::move(values)), .precision = header.dtype->precision};
}

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
  const NpyArray array = read_npy_array(bytes, where);
  return array_of_values(array.tensor.shape(), array.tensor.values, array.precision);
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

std::string to_npy(const Tensor& tensor) {
  std::string bytes = npy_header(tensor.shape());
  bytes.reserve(bytes.size() + tensor.values.size() * sizeof(double));
  return bytes.append(bytes_of(tensor.values));
}

}  // namespace qkv::inline formats
