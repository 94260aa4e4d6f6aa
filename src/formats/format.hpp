#pragma once

#include <filesystem>

#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A parsed number: its value, and how many digits were written.
struct Numeral {
  double value = 0;  ///< NaN if the cell is blank
  /// The decimal place of the last digit written: 0.25 → 2, 12 → 0, 1.20e-3 → 5, 3e+02 → -2.
  std::int16_t decimals = 0;
  bool scientific = false;  ///< written with an exponent
  /// A fraction, root or percentage: the value is exact, whatever `decimals` says.
  bool exact = false;
  /// Index, from 1, of a bad cell's text in ParsedArray::bad_texts; the value is NaN then. 0: the
  /// cell was read, or is blank.
  std::uint16_t bad_text = 0;
  /// A NaN that a program computed, not a blank.
  bool computed = false;
  bool left_out = false;  ///< blank on purpose: a dash, or a cell of a head without a file

  bool is_blank() const { return std::isnan(value) && bad_text == 0 && !computed; }
  bool is_number() const { return !is_blank() && bad_text == 0; }
};

using Numerals = std::vector<Numeral, HugePages<Numeral>>;

/// The numbers of an array, row-major: as written, or a program's, which have no digits. Copies
/// share them until one is written to.
class NumeralCells {
 public:
  struct Iterator {
    using value_type = Numeral;
    using difference_type = std::ptrdiff_t;

    Numeral operator*() const { return (*of)[i]; }
    Iterator& operator++() { return ++i, *this; }
    Iterator operator++(int) { return {of, i++}; }
    bool operator==(const Iterator&) const = default;

    const NumeralCells* of = nullptr;
    std::size_t i = 0;
  };

  NumeralCells() = default;
  NumeralCells(Numerals written) : written_(std::make_shared<Numerals>(std::move(written))) {}
  NumeralCells(Values computed) : computed_(std::move(computed)) {}  // NaN is a number

  std::size_t size() const { return written_ ? written_->size() : computed_.size(); }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  Numeral operator[](std::size_t i) const {
    if (written_) return (*written_)[i];
    const double x = computed_[i];
    return {.value = x, .computed = std::isnan(x)};
  }

  /// True if a program computed them: each is a number.
  bool are_computed() const { return !written_; }
  /// Returns the numbers alone. A program's are shared.
  Values values() const {
    if (!written_) return computed_;
    Values numbers = Values::uninitialised(size());
    std::ranges::transform(*written_, numbers.mutable_span().begin(), &Numeral::value);
    return numbers;
  }
  /// Returns the numerals to write to.
  Numerals& to_write() {
    if (!written_ || written_.use_count() > 1) *this = Numerals(begin(), end());
    return *written_;
  }

  /// Returns `count` runs of `length` cells: those from `first_of(k)` on.
  template <class FirstOf>
  NumeralCells runs(std::size_t count, std::size_t length, const FirstOf& first_of) const {
    if (written_) {
      Numerals result;
      for (std::size_t k = 0; k < count; ++k) {
        const auto from = written_->begin() + static_cast<std::ptrdiff_t>(first_of(k));
        result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(length));
      }
      return result;
    }
    Values result = Values::uninitialised(count * length);
    double* to = result.mutable_span().data();
    Scratch scratch;
    for (std::size_t k = 0; k < count; ++k)
      to = std::ranges::copy(computed_.read(first_of(k), length, scratch), to).out;
    return result;
  }

 private:
  std::shared_ptr<Numerals> written_;  // nullptr if computed
  Values computed_;
};

/// What a program printed of an array: the cells at these places of its axes.
struct PrintedPart {
  std::vector<std::vector<std::size_t>> places = {};  ///< of each axis
  Numerals cells = {};                                ///< row-major
  std::optional<double> sum = {};                     ///< of all cells, if it is known
};

/// The precision of a file's numbers: printed digits, or a binary type.
enum class Precision { digits, float16, bfloat16, float32, float64 };

/// A parsed array: numbers with their digits, and labels.
struct ParsedArray {
  Shape shape = {};                             ///< any rank, at least 1
  NumeralCells cells = {};                      ///< none if they are too many to be read
  std::vector<std::string> row_labels = {};     ///< empty, or one for each row (rank 2 only)
  std::vector<std::string> column_labels = {};  ///< empty, or one for each column (rank 2 only)
  Precision precision = Precision::digits;
  std::vector<std::string> bad_texts = {};  ///< the texts of cells that are not numbers
  std::optional<PrintedPart> part = {};     ///< then `cells` is empty, and `shape` of all
  bool heads_inside = false;                ///< the last axes are tokens, heads and columns
  std::string remark = {};                  ///< message for the user: how the file was interpreted
};

/// One matrix of a file that may hold several.
struct NamedArray {
  std::string name;  ///< empty if the file has no names
  ParsedArray written;
  /// A program's name for it that may stand for another step, too; else empty.
  std::string open_name = {};
};

/// The separator between a number's integer part and its decimals; `thousands`: a point, and commas
/// stand between thousands.
enum class DecimalMark { point, comma, thousands };

enum class NumeralError { none, not_a_number, too_large, rounded };

/// A parsed number, or why `token` is not one.
struct NumeralResult {
  Numeral numeral = {};
  NumeralError fault = NumeralError::none;
};

/// Parses the whole of `token`: digits with at most one decimal mark and one exponent, or inf,
/// infinity, ∞ or nan in any case. The sign is +, - or U+2212. "1x", "1,000.5" and "0x1" are not
/// numbers; what is too small for a double becomes 0. Integers without point and exponent that no
/// double holds are refused, not rounded: 9007199254740993. Example: "1.20e-3" → {0.0012, 5, true}.
NumeralResult parse_numeral(std::string_view token, DecimalMark mark = DecimalMark::point);

/// True if no double holds the 64-bit integer.
template <class Whole>
bool loses_precision(Whole value) {
  const auto closest = static_cast<double>(value);
  const double too_large = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
  return closest >= too_large || static_cast<Whole>(closest) != value;
}

/// The error message for `token`: `"1x" is not a number: write it like 0.25 or 2.5e-3`.
std::string refusal(NumeralError fault, std::string_view token);

/// Throws the InputError that the file at `where` has more numbers than the `most` that are read.
[[noreturn]] void refuse_surplus(const std::string& where, std::size_t most);

/// Makes `text` fit one line of a message: control characters and invalid UTF-8 become ?, and text
/// beyond `longest` bytes becomes an ellipsis.
std::string printable(std::string_view text, std::size_t longest = 40);

/// Parses a handwritten cell: a numeral, a fraction (1/3), a root (√2, 2√3, 3/√2, √2/2) or a
/// percentage (80%, with two decimals more than written). Fractions and roots are exact and get
/// their decimals later, from resolve_precision.
NumeralResult parse_cell(std::string_view text, DecimalMark mark = DecimalMark::point);

/// True for a question mark or a dash, which stands for a number to come.
bool stands_for_blank(std::string_view text);

/// The decimal mark of a cell that has no other comma.
DecimalMark decimal_mark_of(std::string_view cell);

/// Gives fractions and roots the precision of the matrix's other numbers, or e-notation with six
/// digits if those have no decimals; a fraction over a rounded number, 2/1.414, has its decimals.
void resolve_precision(std::span<Numeral> cells);

/// What to do with a cell that is not a number: refuse the file, or keep the cell's text.
enum class OnBadCell { refused, kept };

/// Stores the text of a cell that is not a number and returns its placeholder. Throws InputError
/// above the limit of such cells.
Numeral keep_bad_cell(ParsedArray& written, std::string_view text);

/// Returns the most numbers that are read of the matrix of that name; of the file's only one, if it
/// is empty.
using NumberLimit = std::function<std::size_t(const std::string& name)>;

/// A matrix of a lesson may have so many times its numbers, and is then a matrix of the wrong
/// shape. A larger one is not read: it would cost more than any verdict on it tells.
inline constexpr std::size_t surplus_factor = 16;

/// The most bytes that the unpacked files of one archive may have.
inline constexpr std::size_t max_unpacked_bytes = std::size_t{1} << 30;

/// Options for reading a file of numbers.
struct ReadOptions {
  /// The expected rows and columns, if known: see read_csv.
  std::optional<std::array<std::size_t, 2>> expected = {};
  /// Whether to read the matrix of that name; called for each, in the file's order. Empty: all.
  std::function<bool(const std::string&)> accepts = {};
  /// What to do with a cell that is not a number.
  OnBadCell on_bad_cell = OnBadCell::refused;
  /// The most matrices of the expected size that the file may hold, one below the other.
  std::size_t stacked = 1;
  /// Empty: any number. Of a larger matrix, and of one without numbers, a binary file gives the
  /// shape and no cells; any other file is refused once more numbers were found.
  NumberLimit most = {};
  /// Whether arrays may come as a PrintedPart.
  bool parts = false;
  /// The most bytes that the unpacked arrays of a .npz file may have.
  std::size_t most_bytes = max_unpacked_bytes;
  /// Whether large arrays of a .safetensors file may be read where they are used: whoever cuts the
  /// file short before ends qkv. `keeps` keeps its bytes.
  bool later = false;
  std::shared_ptr<const void> keeps = {};

  bool wants(const std::string& name) const { return !accepts || accepts(name); }
  std::size_t most_of(const std::string& name) const { return most ? most(name) : SIZE_MAX; }
};

/// Receives the bytes of a file, piece by piece.
using Sink = std::function<void(std::string_view)>;

/// Writes a file's content to the sink, piece by piece.
using ContentWriter = std::function<void(const Sink&)>;

/// A named tensor to be written to a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// A file format that qkv reads or writes, with its name and extension.
struct Format {
  std::string_view name;       ///< "npz", as in --format
  std::string_view extension;  ///< ".npz"
  /// Reads the bytes of a file; nullptr for formats that qkv only writes. Throws InputError, whose
  /// messages begin with the file's name.
  std::vector<NamedArray> (*read)(std::string_view bytes, const std::string& where,
                                  const ReadOptions&) = nullptr;
  bool large = false;    ///< mapped: little of the file may be wanted
  bool several = false;  ///< may hold several matrices, by name
  bool is_text = false;  ///< its extension is also used for notes, settings and other tables
};

/// The format of that name. Throws std::logic_error if there is none.
const Format& format_named(std::string_view name);

/// The format of the file's extension, in any case; nullptr if there is none.
const Format* format_of(const std::filesystem::path& path);

/// True if files with this extension are read.
bool is_readable(const std::filesystem::path& path);

/// The extensions that qkv reads, with the point.
std::vector<std::string_view> readable_extensions();

}  // namespace qkv::inline formats
