#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/intake/submission.hpp"
#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// Whether all matrices of a submission are transposed.
enum class Transposed { no, yes };

/// The numbers of a matrix: a view of the submission, or an own copy if they were transposed or
/// joined.
class NumeralCells {
 public:
  NumeralCells() = default;
  explicit NumeralCells(std::span<const Numeral> of_submission) : all_(of_submission) {}
  explicit NumeralCells(Numerals own) : own_(std::move(own)), all_(own_) {}
  NumeralCells(NumeralCells&&) = default;
  NumeralCells& operator=(NumeralCells&&) = default;
  NumeralCells(const NumeralCells&) = delete;  // a copy would refer to the original's numbers
  NumeralCells& operator=(const NumeralCells&) = delete;
  ~NumeralCells() = default;

  const Numeral& operator[](std::size_t i) const { return all_[i]; }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  Numerals copy() const { return {all_.begin(), all_.end()}; }

 private:
  Numerals own_;
  std::span<const Numeral> all_;
};

/// A submitted step or given, laid out like the lesson's tensor.
struct SubmittedArray {
  std::string name;
  bool fits = true;           ///< its size is the step's
  bool in_one_file = false;   ///< not one file per head
  bool heads_inside = false;  ///< stored after the rows: n × h × d or n × h·d
  Shape shape;                ///< of the cells, in storage order: a token is a row
  NumeralCells cells;
  Precision precision = Precision::digits;
  std::optional<int> rounded_to =
      {};  ///< decimals that all numbers of a binary file are rounded to
  std::vector<std::size_t> missing_matrices = {};  ///< matrices without a file
  std::vector<std::string> unread = {};            ///< texts of cells that are not numbers
};

/// Returns the submission's matrices in the lesson's order, each joined from its files. `turned`
/// says whether the tokens of every matrix are on the other axis. The submission must outlive the
/// result.
std::vector<SubmittedArray> normalise_layout(const Submission& submission, const Trace& trace,
                                             Transposed turned);

/// Returns the shape without leading axes of size 1, keeping at least `rank` axes.
Shape without_leading_ones(Shape shape, std::size_t rank = 1);

/// Returns the index of the matrix that the file holds.
std::size_t matrix_index_of(const SubmittedFile& file, const Tensor& tensor);

/// Which axis holds the heads, if their number equals that of the rows and sizes do not tell.
enum class SquareHeadAxis { first, inside };

/// Moves the heads of matrices to the front from the middle (n × h × d), as programs store them, or
/// from side by side (n × h·d).
void move_heads_first(const Trace& trace, std::vector<SubmittedArray>& submitted,
                      SquareHeadAxis square);

/// True if any matrix has as many heads as rows.
bool has_square_heads(const Trace& trace, const std::vector<SubmittedArray>& submitted);

/// Rounds to so many decimals, halves away from zero. Numbers too large to have them stay as they
/// are.
double rounded(double x, int decimals);

/// Returns the decimals that all numbers of a binary file were rounded to before saving: 3 for
/// 0.125f, 0.1f. Empty if they exceed what the precision surely holds (12 for float64, 6 for
/// float32, 3 for float16, 2 for bfloat16). Also empty if most numbers are too large for one more
/// decimal.
std::optional<int> rounded_decimals(const NumeralCells& cells, Precision precision);

/// Replaces numbers that were rounded, then saved in few bits, by their decimals: 0.1f becomes 0.1,
/// not 0.10000000149. Leaves float64 and unrounded numbers unchanged.
void snap_to_decimals(SubmittedArray& submitted);

}  // namespace qkv::inline check
