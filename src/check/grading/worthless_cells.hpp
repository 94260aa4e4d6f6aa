#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// A yes or no for each cell of a tensor; empty where none is yes.
using CellSet = std::vector<bool>;

/// The cells of a step that come out as they are whatever the others are: -inf where something is
/// hidden, and the zeros that follow from it. `fixed` are those of the steps before it.
CellSet fixed_cells(const Trace& trace, const Step& step,
                    const std::map<std::string, CellSet, std::less<>>& fixed);

/// The cells of a step that are 0 because all that goes into them is, in these numbers.
CellSet cells_of_zeros(const Trace& trace, const Step& step);

/// Follows what earns nothing through the lesson: its cells are NaN, and so is what is worked out
/// from them. `own`, the lesson with the learner's numbers, must outlive it.
class Resting {
 public:
  explicit Resting(const Trace& own) : own_(own) {}

  /// Marks cells of a given or a step whose numbers nothing may rest on.
  void plant(const std::string& name, const std::function<bool(std::size_t)>& is_void);

  /// The cells of a step that rest on such ones; they are planted, too. Empty where none does.
  CellSet of(const Step& step);

 private:
  const Trace& own_;
  std::map<std::string, Tensor, std::less<>> planted_;
};

}  // namespace qkv
