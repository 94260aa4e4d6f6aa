#pragma once

#include "check/intake/submission.hpp"

namespace qkv::inline check {

/// How the matrices of a submission are laid out, if not as in the lesson.
struct Layout {
  bool transposed = false;                               ///< every matrix: tokens are columns
  std::set<std::string, std::less<>> heads_inside = {};  ///< of those with as many rows as heads
};

/// A submitted step or given, laid out like the lesson's tensor.
struct SubmittedArray {
  std::string name;
  bool fits = true;              ///< its size equals the step's
  bool in_one_file = false;      ///< not one file for each head
  bool is_arranged = false;      ///< its heads were put in front before
  bool is_named_inside = false;  ///< by its name its heads come after its rows; sizes don't tell
  bool heads_inside = false;     ///< submitted with heads after rows: n × h × d or n × h·d
  bool lies_across = false;      ///< a row that was written as a column, or the reverse
  Shape shape;                   ///< of `cells`; a token is a row
  NumeralCells cells;
  Precision precision = Precision::digits;
  std::optional<int> rounded_to = {};              ///< decimals of all numbers in a binary file
  std::vector<std::size_t> missing_matrices = {};  ///< its matrices that have no file
  std::vector<std::string> bad_texts = {};         ///< texts of cells that are not numbers
};

/// Returns the submission's matrices in the lesson's order, each joined from its files, and
/// transposed if the layout is. The submission must outlive the result.
std::vector<SubmittedArray> normalise_layout(const Submission& submission, const Trace& trace,
                                             const Layout& layout);

/// Returns the rows and columns of the tensor's matrices, as displayed.
std::array<std::size_t, 2> shown_size(const Tensor& tensor, TokenLayout token_layout);

/// Parts a file that holds all matrices of its step, one below the other.
void part_stacked(SubmittedFile& file, const Trace& trace);

/// Gives a file the rows and columns of its step, and notes how: a file of one head's size is taken
/// for the head that it fits, and lines are sorted by their labels. Marks for numbers to come (?,
/// -) become blanks.
void arrange_file(SubmittedFile& file, const Trace& trace, std::vector<std::string>& notes);

/// Takes each file that has the size of one head, but fits none, for the head of the other files,
/// if all of these are of one head.
void take_for_head_of_others(std::vector<SubmittedFile>& files, const Trace& trace,
                             std::vector<std::string>& notes);

/// Returns the index of the tensor's matrix that the file holds.
std::size_t matrix_index_of(const SubmittedFile& file, const Tensor& tensor);

/// How programs hold the heads of a matrix, if not first: n × h × d, n × h·d, h·n × d.
enum class HeadLayout { inside, side_by_side, stacked };

/// Returns the shape of a tensor, which has an axis of heads, in that layout.
Shape shape_with_heads(HeadLayout layout, Shape shape);

/// True if an array has the shape of a tensor, which has an axis of heads, in that layout.
bool has_head_layout(HeadLayout layout, const Shape& tensor, const Shape& written);

/// Returns the cells with two adjacent axes exchanged: any number of blocks of `first` × `second` ×
/// `inner` cells.
NumeralCells with_axes_swapped(const NumeralCells& cells, std::size_t first, std::size_t second,
                               std::size_t inner);

/// Moves the heads to the first axis if they are in the middle (n × h × d), as in programs, or side
/// by side (n × h·d).
void move_heads_first(const Trace& trace, const Layout& layout,
                      std::vector<SubmittedArray>& submitted);

/// Returns the matrices with as many rows as heads that are nearer to the lesson's numbers if heads
/// are their middle axis. The gain, from -1 to 1 in each layer, must be more than `least`: it is 1
/// if the numbers are then equal, and 0 if they are as far as before. All layers of a model are
/// judged together. One among others is a slip, unless the sizes of another array told that its
/// heads were elsewhere than in front.
std::set<std::string, std::less<>> nearer_with_heads_inside(
    const Trace& trace, const std::vector<SubmittedArray>& submitted, double least);

/// Rounds a number to `decimals` decimals, halves away from zero. A number too large to have such
/// decimals is returned unchanged.
double rounded(double x, int decimals);

/// Restores numbers that were rounded and then saved in few bits: 0.1f becomes 0.1, not
/// 0.10000000149. Unrounded numbers and float64 are unchanged.
void snap_to_decimals(SubmittedArray& submitted);

}  // namespace qkv::inline check
