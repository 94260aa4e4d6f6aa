#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/intake/submission.hpp"
#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// How a whole submission is written down.
enum class Turned { no, yes };

/// The numbers of a matrix: as they lie in the submission or, where they had to be turned or put
/// together, its own.
class Cells {
 public:
  Cells() = default;
  explicit Cells(std::span<const Numeral> of_submission) : all_(of_submission) {}
  explicit Cells(Numerals own) : own_(std::move(own)), all_(own_) {}
  Cells(Cells&&) = default;
  Cells& operator=(Cells&&) = default;
  Cells(const Cells&) = delete;  // a copy would look at the other's numbers
  Cells& operator=(const Cells&) = delete;
  ~Cells() = default;

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
struct Handed {
  std::string name;
  bool fits = true;           ///< its size is the step's
  bool in_one_file = false;   ///< not in a file for each head
  bool heads_inside = false;  ///< they stood behind the rows: n × h × d or n × h·d
  Shape shape;                ///< of the cells, inside: a token is a row
  Cells cells;
  Precision precision = Precision::digits;
  std::optional<int> rounded_to = {};    ///< the decimals that all numbers of a binary file keep to
  std::vector<std::size_t> absent = {};  ///< matrices of it that have no file
  std::vector<std::string> unread = {};  ///< the texts of cells that are no numbers
};

/// The submission's matrices, each put together from its files, in the lesson's order. With
/// `turned` every matrix is taken to have its tokens the other way round. The submission must
/// outlive the result.
std::vector<Handed> arrange(const Submission& submission, const Trace& trace, Turned turned);

/// The shape without the axes of size 1 at its front, as long as more than `rank` are left.
Shape without_leading_ones(Shape shape, std::size_t rank = 1);

/// Which matrix of the tensor a file of its own holds.
std::size_t index_of(const HandedFile& file, const Tensor& tensor);

}  // namespace qkv
