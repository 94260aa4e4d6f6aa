#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/options.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

class Operands;
struct Call;
struct Environment;
struct Operation;
template <class N>
struct Cell;

/// A step as a mistake sees it: the learner's tensor and the steps that it was computed from. Some
/// mistakes look at those: which scores were masked, which other weights exist.
struct StepView {
  std::string_view name;
  const Tensor* tensor = nullptr;
  const Operation* operation = nullptr;  ///< nullptr for a given
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  std::vector<const StepView*> inputs = {};
  std::span<const StepView> all = {};  ///< all steps of the lesson, the givens first
  /// The submitted matrix, for mistakes that can only be found from it; nullptr if there is none.
  const Tensor* written = nullptr;

  const Tensor& operand(std::size_t k = 0) const { return *inputs[k]->tensor; }
};

/// Returns the call of the step on the learner's operands.
Call call_of(const StepView& step);

/// Returns the nearest step of that operation along first operands, `from` included, or nullptr.
const StepView* upstream(const StepView* from, const Operation& operation);

/// Returns the step's result with another tensor as operand `k`.
Tensor with_operand(const StepView& step, std::size_t k, const Tensor& other);

/// Returns the step's result with another value of an option.
Tensor with_option(const StepView& step, std::string_view name, OptionValue value);

/// Returns the step's result without the nearest step of `skipped`: see SkipUpstream.
std::vector<Tensor> without_upstream(const StepView& step, const Operation& skipped);

/// What counts as evidence for a mistake, beside finite numbers other than 0: many mistakes produce
/// zeros and infinities.
struct Evidence {
  bool zeros = false;  ///< the mistake produces them, so they count
  bool infinities = false;
  /// How many cells must support it: a mistake with a free number fits any single cell.
  std::size_t least = 1;
  bool is_fitted = false;  ///< its numbers are fitted to the submission: which bias, whose head
  bool yields = false;     ///< it is not named where a mistake of a whole matrix fits as well
};
inline constexpr Evidence zeros_evidence{.zeros = true};
inline constexpr Evidence fitted_evidence{.is_fitted = true};
inline constexpr Evidence masking_evidence{.zeros = true, .infinities = true};

/// The wrong results, or operands, of one mistake: none where it is impossible, one for each
/// variant.
using Versions = std::vector<Tensor>;

/// The step was skipped, if `when` holds: its first operand is its result.
struct Skip {
  bool (*when)(const Call&) = nullptr;
};

/// Operand `k` was left out.
struct SkipOperand {
  std::size_t k = 0;
};

/// The nearest step of an operation was skipped, between the scores and this step along first
/// operands.
struct SkipUpstream {
  const Operation* operation;
};

/// An option had another value: another word of its list, the other flag, or another of `numbers`.
/// The default comes first.
struct With {
  std::string_view option;
  std::array<double, 3> numbers = {};
  std::size_t count = 0;

  template <class... Numbers>
  explicit constexpr With(std::string_view its_name, Numbers... its_numbers)
      : option(its_name), numbers{its_numbers...}, count(sizeof...(Numbers)) {}
};

/// Another tensor stood in place of operand `k`: one of those that `role` returns.
struct Operand {
  std::size_t k = 0;
  Versions (*role)(const StepView& step) = nullptr;
};

/// Another operation was computed on the same operands, or another form of the same one: each word
/// of its option's list.
struct Instead {
  const Operation* operation;
};

/// The step and one of these operations, which made an operand of it, have changed places.
struct Exchange {
  std::array<const Operation*, 2> before;
};

/// What was changed. The last three are the mistake's own maths: of a cell or of a matrix, where
/// the result has the axes of the operation's form; or of the whole step.
using Change = std::variant<Skip, SkipOperand, SkipUpstream, With, Operand, Instead, Exchange,
                            double (*)(const Cell<double>&), Matrix (*)(const Operands&),
                            Versions (*)(const StepView&)>;

/// Returns the results of a step with a change. A variant whose shapes do not fit is left out.
Versions versions_of(const Change& change, const StepView& step);

/// A wrong version of an operation's maths that learners are known to compute.
struct Mistake {
  std::string_view id;  ///< "scale.skipped"
  /// "The scores were not divided by √d_k."; {0}, {1} are operands, {formula} is the step's own.
  std::string_view says;
  std::string_view hint;  ///< what to look at again
  Change change;
  Evidence evidence = {};
};

}  // namespace qkv::inline ops
