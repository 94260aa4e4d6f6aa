#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace qkv {

class Options;
struct Call;
struct Environment;
struct Operation;
struct Tensor;

/// A matrix of a lesson as a learner has it, and what it was made from: enough for a mistake to
/// look behind its own operands (which scores were masked, which weights are there besides).
struct Source {
  std::string_view name;
  const Tensor* tensor = nullptr;
  const Operation* operation = nullptr;  ///< nullptr for a given
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  std::vector<const Source*> inputs = {};
  std::span<const Source> all = {};  ///< the whole lesson, the givens first
  /// What was handed in, where a mistake can only be seen from it: by how much each row is off.
  const Tensor* written = nullptr;

  const Tensor& operand(std::size_t k = 0) const { return *inputs[k]->tensor; }
};

/// The call of the step, its operands being the learner's.
Call call_of(const Source& step);

/// The nearest step of that operation along the first operands, `from` included; nullptr where none
/// is.
const Source* behind(const Source* from, const Operation& operation);

/// What speaks for a mistake, beside numbers that are neither 0 nor infinite: those come of
/// everything and nothing.
struct Evidence {
  bool zeros = false;  ///< it makes them
  bool infinities = false;
  /// So many cells must speak for it: for one that leaves a number open, a single one says nothing.
  std::size_t least = 1;
  bool is_fitted = false;  ///< its numbers are fitted to what was written: which bias, whose head
};
inline constexpr Evidence of_hiding{.zeros = true, .infinities = true};

/// A wrong version of an operation's maths that learners are known to compute. `compute` gives what
/// they get: nothing where the slip is impossible with these shapes, several where it has forms.
struct Mistake {
  std::string_view id;    ///< "scale.skipped"
  std::string_view says;  ///< "The scores were not divided by √d_k."
  std::string_view hint;  ///< what to look at again
  std::vector<Tensor> (*compute)(const Source& step) = nullptr;
  Evidence evidence = {};
};

}  // namespace qkv
