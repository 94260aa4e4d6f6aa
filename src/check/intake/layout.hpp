#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/intake/submission.hpp"
#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// How a whole submission is written down.
enum class Transposed { no, yes };

/// The numbers of a matrix: as they lie in the submission or, where they had to be turned or put
/// together, its own.
class NumeralCells {
 public:
  NumeralCells() = default;
  explicit NumeralCells(std::span<const Numeral> of_submission) : all_(of_submission) {}
  explicit NumeralCells(Numerals own) : own_(std::move(own)), all_(own_) {}
  NumeralCells(NumeralCells&&) = default;
  NumeralCells& operator=(NumeralCells&&) = default;
  NumeralCells(const NumeralCells&) = delete;  // a copy would look at the other's numbers
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

/// A step's or given's matrix as the learner has it, laid out as the lesson's tensor is inside.
struct SubmittedArray {
  std::string name;
  bool fits = true;           ///< its size is the step's
  bool in_one_file = false;   ///< not in a file for each head
  bool heads_inside = false;  ///< they stood behind the rows: n × h × d or n × h·d
  Shape shape;                ///< of the cells, inside: a token is a row
  NumeralCells cells;
  Precision precision = Precision::digits;
  std::optional<int> rounded_to = {};  ///< the decimals that all numbers of a binary file keep to
  std::vector<std::size_t> missing_matrices = {};  ///< matrices of it that have no file
  std::vector<std::string> unread = {};            ///< the texts of cells that are no numbers
};

/// The submission's matrices, each put together from its files, in the lesson's order. With
/// `turned` every matrix is taken to have its tokens the other way round. The submission must
/// outlive the result.
std::vector<SubmittedArray> normalise_layout(const Submission& submission, const Trace& trace,
                                             Transposed turned);

/// The shape without the axes of size 1 at its front, as long as more than `rank` are left.
Shape without_leading_ones(Shape shape, std::size_t rank = 1);

/// Which matrix of the tensor a file of its own holds.
std::size_t matrix_index_of(const SubmittedFile& file, const Tensor& tensor);

/// Which axis is the heads' where there are as many of them as rows: the sizes don't say.
enum class SquareHeadAxis { first, inside };

/// Puts the heads of matrices first that have them in the middle (n × h × d), as programs hold
/// them, or side by side (n × h·d).
void move_heads_first(const Trace& trace, std::vector<SubmittedArray>& submitted,
                      SquareHeadAxis square);

/// Whether any of the matrices has as many heads as rows.
bool has_square_heads(const Trace& trace, const std::vector<SubmittedArray>& submitted);

/// The number rounded to so many decimals, halves away from zero; one that has no such decimals to
/// lose, being too large, stays as it is.
double rounded(double x, int decimals);

/// The decimals that all numbers of a binary file were rounded to before they were saved: 3 for
/// 0.125f, 0.1f. Nothing where they keep more than their precision can hold for certain (12
/// decimals of a float64, 6 of a float32, 3 of a float16, 2 of a bfloat16), or where most are too
/// large for it to hold a decimal more.
std::optional<int> rounded_decimals(const NumeralCells& cells, Precision precision);

/// What a learner meant who rounded and then saved in few bits: 0.1f is 0.1 and not
/// 0.10000000149. Numbers that were not rounded, and float64, stay as they are.
void snap_to_decimals(SubmittedArray& submitted);

}  // namespace qkv::inline check
