#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/shape_rule.hpp"
#include "text/strings.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline trace {

/// One step, worked out.
struct Step {
  std::string name;
  const Operation* operation = nullptr;
  std::vector<std::string> of;
  Options options;
  Tensor output;
  std::size_t number = 0;  ///< its place in the lesson, from 1
};

/// All named tensors of a lesson in order: the givens, then what each step made of them. Printing,
/// explaining, exporting, checking and comparing all work on this and know no operation by name.
struct Trace {
  TokenLayout token_layout = TokenLayout::rows;
  Environment environment;
  std::vector<Given> givens;
  std::vector<Step> steps;
  std::size_t length = 0;  ///< how many steps the lesson has: some may not be worked out here
  NameIndex given_names;   ///< as `add` met them
  NameIndex step_names;  ///< as `add` met them; a step that was let go since has no place any more
  std::map<std::string, std::string, std::less<>> first_consumers;  ///< the step that took it first
  bool has_lazy = false;  ///< whether `add` met numbers that are not stored

  /// Appends a given or a step, so that it is found by its name.
  void add(Given given);
  void add(Step step);
  const Tensor* find(std::string_view name) const;  ///< nullptr where there is none
  const Step* find_step(std::string_view name) const;
  /// The tensor of that name. Throws InputError with the nearest name where there is none.
  const Tensor& at(std::string_view name) const;
  const Step& step_at(std::string_view name) const;
  /// Lets go of what was recomputed for readers of large matrices, of whom none is left.
  void drop_cache() const;
  /// The step's call again, its operands looked up in this trace.
  Call call(const Step& step) const;
};

/// The trace with these of its steps alone. What the others made is given; it stays where it is
/// found, for words that speak of it.
Trace only_steps(const Trace& trace, const std::vector<std::size_t>& places);

/// How many numbers these steps have and what they are made of; without any, all of the trace.
std::size_t numbers_of(const Trace& trace, const std::vector<std::size_t>& places = {});

/// What a letter of the shape rules stands for in this trace: "d_k" → 2, "n" → 7.
std::optional<std::size_t> symbol(const Trace& trace, std::string_view name);

}  // namespace qkv::inline trace
