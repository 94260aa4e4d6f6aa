#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/shape_rule.hpp"
#include "text/strings.hpp"

namespace qkv::inline trace {

struct Given {
  std::string name;
  Tensor tensor;
};

struct StepRecipe {
  std::string name;
  const Operation* operation = nullptr;  ///< nullptr if the step can't be evaluated
  std::vector<std::string> of;
  Options options;
  /// A gradient step's result or given whose gradient the first operand is; of a sum, all are.
  std::string through = {};
};

/// Throws InputError if the operation takes more or fewer operands than the step has.
void require_operand_count(const StepRecipe& step);

/// What is to be evaluated, as plain data: the givens, then the steps in order.
struct Recipe {
  TokenLayout token_layout = TokenLayout::rows;
  Environment environment;
  std::vector<std::string> tokens = {};  ///< row labels of tensors with one row per token
  std::vector<Given> givens = {};
  std::vector<StepRecipe> steps = {};
  std::size_t omitted_steps = 0;  ///< number of further steps that were not requested
};

/// Return the given, or the step, of that name; nullptr if there is none.
const Given* given_in(const Recipe& recipe, std::string_view name);
const StepRecipe* step_in(const Recipe& recipe, std::string_view name);

/// An evaluated step.
struct Step : StepRecipe {
  Tensor output;
  std::size_t number = 0;  ///< position in the lesson, from 1
};

/// All named tensors of a lesson in order: the givens, then the result of each step. Printing,
/// explaining and exporting read it and know no operation by name.
struct Trace {
  TokenLayout token_layout = TokenLayout::rows;
  Environment environment;
  std::vector<Given> givens;
  std::vector<Step> steps;
  std::size_t length = 0;  ///< number of steps of the lesson, also those not evaluated here
  NameIndex given_names;   ///< in the order of `add`
  NameIndex step_names;    ///< in the order of `add`, also of steps erased since
  std::map<std::string, std::string, std::less<>> first_consumers;  ///< operand → first step
  bool has_lazy = false;                                            ///< some tensor is lazy

  /// Appends a given or a step and indexes its name.
  void add(Given given);
  void add(Step step);
  const Tensor* find(std::string_view name) const;  ///< nullptr if there is none
  const Step* find_step(std::string_view name) const;
  /// Returns the tensor of that name. Throws InputError with a suggestion if there is none.
  const Tensor& at(std::string_view name) const;
  const Step& step_at(std::string_view name) const;
  /// Drops the cached values of all lazy tensors. No span of them may be in use.
  void drop_cache() const;
  /// Returns the call of a step, with its operands from this trace.
  Call call(const Step& step) const;
};

/// Returns a trace with only these steps. The results of the others become givens, and keep their
/// names for prose that mentions them.
Trace only_steps(const Trace& trace, const std::vector<std::size_t>& places);

/// Returns how many numbers these steps and their operands have; by default the whole trace.
std::size_t numbers_of(const Trace& trace, const std::vector<std::size_t>& places = {});

/// Returns the size that a letter of the shape rules has in this trace: "d_k" → 2, "n" → 7.
std::optional<std::size_t> symbol(const Trace& trace, std::string_view name);

}  // namespace qkv::inline trace
