#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/mistake.hpp"
#include "ops/options.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// A text that is tokenised already: its ids and the token of each.
struct TokenisedText {
  std::vector<double> ids;
  std::vector<std::string> words;
};

/// A lesson's inputs beside its matrices: the texts to tokenise and the vocabulary, if any.
struct Environment {
  std::vector<std::string> texts;
  bool batch = false;  ///< the texts were written as a list
  std::vector<std::string> vocabulary;
  std::optional<TokenisedText> cut = {};  ///< used instead of `texts`
};

/// A step to be evaluated: its inputs by position, their names and its options.
struct Call {
  std::string_view step;
  std::vector<const Tensor*> inputs = {};
  std::vector<std::string_view> names = {};
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  TokenLayout token_layout = TokenLayout::rows;  ///< how messages print the operands' shapes
};

/// The operand axes, the output axes and the formula of an operation for one call.
struct Form {
  std::vector<std::string_view> operands;  ///< the axes of each operand's matrix: "query d_k"
  std::string_view output;                 ///< the axes of the result's matrix: "query key"
  std::string formula;                     ///< "{0} · {1}ᵀ": {k} is operand k's name
  std::string formula_by_columns = {};     ///< with tokens as columns; empty if the same
  bool makes_heads = false;                ///< adds an axis of heads: one that is there is a batch
  /// The second operand may have fewer heads than the first: neighbours then share one.
  bool shares_heads = false;
};

/// Returns operand `k`'s name and shape: "Q (7×2)".
std::string operand_text(const Call& call, std::size_t k);

/// Throws InputError with the step's name and `what` is wrong with the call.
[[noreturn]] void refuse(const Call& call, std::string_view what);

class Decimal;
class Expression;
struct Bounds;
struct CellBase;
struct InPlaceKernel;
struct Interval;
struct Intermediate;
struct Range;
struct OperandRef;
struct BackwardRule;

/// One cell's maths for four number types: its value, the interval that rounding allows, the
/// arithmetic to print, and the exact decimal if nothing had to be rounded.
struct Evaluators {
  double (*number)(const Cell<double>&) = nullptr;
  Interval (*interval)(const Cell<Interval>&) = nullptr;
  Expression (*expression)(const Cell<Expression>&) = nullptr;
  Decimal (*decimal)(const Cell<Decimal>&) = nullptr;
};

/// Another place in the graph where programs may apply a step with equal results: queries may be
/// scaled before they meet the keys.
struct EquivalentPlacement {
  /// The operations to find in turn along first operands, each upstream of the one before. The step
  /// may follow the first one, or any step from the second one on.
  std::span<const Operation* const> upstream;
  Options (*there)(const Call&) = nullptr;  ///< options for the same effect at any of these places
  Options (*here)() = nullptr;              ///< options that make the step itself change nothing
};

/// All that the program knows about one operation. To add one: a record in its subject's
/// file, made by `operation_of`, and its line in the catalogue.
struct Operation {
  std::string_view name = {};    ///< as lesson files write it: "weighted_sum"
  std::string_view title = {};   ///< "Weighted sum: mix the values"
  std::string_view says = {};    ///< what it does and why, if the lesson has no text
  std::string_view notice = {};  ///< what to look for in the result
  /// Examples of `of` in a lesson file, the shortest and the longest: `["S"] or ["m", "l"]`. Empty
  /// if it takes no operands.
  std::string_view operands = {};
  /// From `operands`, if it has any. `max_operands` may say that it takes more than the examples.
  std::size_t min_operands = 1, max_operands = 1;
  bool takes_numbers_between = true;  ///< also every number of operands between them
  /// With tokens as columns, `of` lists the operands in reverse order: (A·B)ᵀ = Bᵀ·Aᵀ.
  bool reverses_operands = false;
  std::span<const OptionRule> options = {};
  /// What to do if 0 was divided by 0.
  std::string_view zero_division_hint = "look for rows of zeros in its operands";
  /// Which other inputs than 0 / 0 have no result, and what to do; empty if there are none.
  std::string_view undefined = {};
  bool makes_weights = false;  ///< each line of the result sums to 1: also shown as glyphs
  bool takes_ids = false;      ///< the first operand holds row ids, not quantities
  bool shape_only = false;     ///< only the first operand's shape is used, not its values
  bool masks_cells = false;    ///< sets cells to -inf; some programs write very low numbers
  /// Another place at which programs may apply it, if there is one.
  std::optional<EquivalentPlacement> equivalent_placement = {};
  /// Lower bound of all results, rounded or not. A division by a sum of such numbers then need not
  /// allow for a sum of 0.
  double least = -std::numeric_limits<double>::infinity();
  /// How far off a cell of `result` may be because programs compute in single precision even if
  /// they store more or less; nullptr if no cell is.
  double (*single_precision_error)(const Call&, const Tensor& result, std::size_t cell) = nullptr;
  std::span<const Mistake> mistakes = {};  ///< the wrong versions that learners compute
  /// The backward rule of each operand (ops/backward_rule.hpp); nullptr for gradient operations.
  BackwardRule (*backward)(const OperandRef&) = nullptr;

  /// The lines of NumPy and of PyTorch that perform a step, as a template (ops/code.hpp), with a
  /// line break between them if they differ. Empty: the formula says it.
  std::string_view code = {};
  std::string (*code_of)(const Call&) = nullptr;  ///< returns it, if it depends on the call
  bool sums_cells = false;  ///< a gradient that is summed to the shape of its operand

  // The maths: `operation_of` sets the members below.
  Form (*form)(const Call&) = nullptr;
  Evaluators cell = {};
  Tensor (*formula)(const Call&) = nullptr;  ///< the fast path; nullptr: cell by cell
  /// Set if the result is cheap: large results are then lazy, recomputed for each reader. The
  /// kernel keeps no reference to the call, and its results are nan only for nan. Returns nothing
  /// if the result is larger than the first operand.
  std::optional<InPlaceKernel> (*in_place)(const Call&) = nullptr;
  /// All cells' intervals at once, for large matrices: at least as wide as the cells' own and at
  /// most 1.5 times. `result` has the axes. Returns nothing if only the cells can be evaluated.
  std::optional<Range> (*range)(const Call&, std::span<const Bounds>,
                                const Tensor& result) = nullptr;
  /// Returns the intermediate matrices; nullptr if the result takes one step.
  std::vector<Intermediate> (*intermediates)(const Call&) = nullptr;
  /// Returns the reason for a cell's value if the arithmetic does not show it, else an empty text.
  std::string (*remark)(const CellBase&) = nullptr;

  /// Translate a step's operands and options between rows and `token_layout`, in either direction.
  /// With tokens as columns, operands are reversed, and row and column options swapped.
  std::vector<std::string> operands_for_layout(std::vector<std::string> of,
                                               TokenLayout token_layout) const;
  Options options_for_layout(Options options_of_step, TokenLayout token_layout) const;

  /// True if the operation takes that number of operands.
  bool takes(std::size_t operand_count) const;

  /// Returns the result. Throws InputError if the shapes do not fit.
  Tensor compute(const Call& call) const;
};

/// Sets the numbers of operands from the examples.
constexpr void count_operands(Operation& operation) {
  const std::string_view examples = operation.operands;
  const auto names = [](std::string_view list) {
    return static_cast<std::size_t>(std::ranges::count(list, '"')) / 2;
  };
  if (examples.empty()) return;
  operation.min_operands = names(examples.substr(0, examples.find(']')));
  const std::size_t longest = names(examples.substr(examples.rfind('[')));
  operation.takes_numbers_between =
      operation.max_operands > longest || longest <= operation.min_operands + 1;
  operation.max_operands = std::max(operation.max_operands, longest);
}

/// Returns a cell by the template `Maths::cell`, for one number type.
template <class Maths, class N>
N evaluated(const Cell<N>& cell) {
  return Maths::cell(cell);
}

/// Returns the operation with the data of `words` and the maths of `Maths`: `form`, the template
/// `cell`, and those of `compute`, `in_place`, `range`, `intermediates` and `remark` that it has.
template <class Maths>
constexpr Operation operation_of(Operation words) {
  words.form = Maths::form;
  words.cell = {evaluated<Maths, double>, evaluated<Maths, Interval>, evaluated<Maths, Expression>,
                evaluated<Maths, Decimal>};
  count_operands(words);
  if constexpr (requires { std::string_view(Maths::code); }) words.code = Maths::code;
  if constexpr (requires { Maths::code_of; }) words.code_of = Maths::code_of;
  if constexpr (requires { Maths::compute; }) words.formula = Maths::compute;
  if constexpr (requires { Maths::in_place; }) words.in_place = Maths::in_place;
  if constexpr (requires { Maths::range; }) words.range = Maths::range;
  if constexpr (requires { Maths::intermediates; }) words.intermediates = Maths::intermediates;
  if constexpr (requires { Maths::remark; }) words.remark = Maths::remark;
  return words;
}

}  // namespace qkv::inline ops
