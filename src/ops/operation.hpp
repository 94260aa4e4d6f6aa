#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/options.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// A text that is cut already: its ids, and what each stands for.
struct TokenisedText {
  std::vector<double> ids;
  std::vector<std::string> words;
};

/// What a lesson gives beside its matrices: the texts to tokenise and the vocabulary, if it has
/// one.
struct Environment {
  std::vector<std::string> texts;
  bool batch = false;  ///< the texts were written as a list
  std::vector<std::string> vocabulary;
  std::optional<TokenisedText> cut = {};  ///< in place of the texts
};

/// One step about to be worked out: its inputs by position, what they are called, its options.
struct Call {
  std::string_view step;
  std::vector<const Tensor*> inputs;
  std::vector<std::string_view> names;
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  TokenLayout token_layout = TokenLayout::rows;  ///< how its operands' shapes are told
};

/// The shape rule and the formula of an operation, as they stand for one call.
struct Form {
  std::vector<std::string_view> operands;  ///< the axes of each operand's matrix: "query d_k"
  std::string_view output;                 ///< the axes of the result's matrix: "query key"
  std::string formula;                     ///< "{0} · {1}ᵀ", with the operands' names put in
  std::string turned = {};   ///< the same with tokens as columns; empty where it reads alike
  bool makes_heads = false;  ///< of what has none yet: a leading axis before it is a batch
  /// The second operand may have fewer heads than the first, each shared by as many neighbours.
  bool shares_heads = false;
};

/// "Q (7×2)", of operand `k`.
std::string operand_text(const Call& call, std::size_t k);

/// Throws InputError: the step's name, and what is wrong with the call.
[[noreturn]] void refuse(const Call& call, std::string_view what);

struct Operation;

/// A matrix of a lesson as a learner has it, and what it was made from: enough for a mistake to
/// look behind its own operands (which scores were masked, which weights are there besides).
struct StepView {
  std::string_view name;
  const Tensor* tensor = nullptr;
  const Operation* operation = nullptr;  ///< nullptr for a given
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  std::vector<const StepView*> inputs = {};
  std::span<const StepView> all = {};  ///< the whole lesson, the givens first
  /// What was handed in, where a mistake can only be seen from it: by how much each row is off.
  const Tensor* written = nullptr;

  const Tensor& operand(std::size_t k = 0) const { return *inputs[k]->tensor; }
};

/// The call of the step, its operands being the learner's.
Call call_of(const StepView& step);

/// The nearest step of that operation along the first operands, `from` included; nullptr where none
/// is.
const StepView* upstream(const StepView* from, const Operation& operation);

/// What speaks for a mistake, beside numbers that are neither 0 nor infinite: those come of
/// everything and nothing.
struct Evidence {
  bool zeros = false;  ///< it makes them
  bool infinities = false;
  /// So many cells must speak for it: for one that leaves a number open, a single one says nothing.
  std::size_t least = 1;
  bool is_fitted = false;  ///< its numbers are fitted to what was written: which bias, whose head
};
inline constexpr Evidence masking_evidence{.zeros = true, .infinities = true};

/// A wrong version of an operation's maths that learners are known to compute. `compute` gives what
/// they get: nothing where the slip is impossible with these shapes, several where it has forms.
struct Mistake {
  std::string_view id;    ///< "scale.skipped"
  std::string_view says;  ///< "The scores were not divided by √d_k."
  std::string_view hint;  ///< what to look at again
  std::vector<Tensor> (*compute)(const StepView& step) = nullptr;
  Evidence evidence = {};
};

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
template <class N>
struct Cell;

/// The maths of one cell, read four ways: a number, what rounding can make of it, the arithmetic,
/// and whether there was anything to round.
struct Evaluators {
  double (*number)(const Cell<double>&) = nullptr;
  Interval (*interval)(const Cell<Interval>&) = nullptr;
  Expression (*expression)(const Cell<Expression>&) = nullptr;
  Decimal (*decimal)(const Cell<Decimal>&) = nullptr;
};

/// Where else programs take a step, with the same numbers in the end: queries are scaled before
/// they meet the keys.
struct EquivalentPlacement {
  /// Along the first operands back to the first of these, from its first operand to the next, and
  /// so on: the step may be taken behind the first, or behind any from the second on.
  std::span<const Operation* const> upstream;
  Options (*there)(const Call&) = nullptr;  ///< with which it does the same wherever it is taken
  Options (*here)() = nullptr;              ///< with which it leaves things as they are
};

/// All that the program knows about one operation. To add one: a file that makes it by
/// `operation_of`, and its line in the catalogue.
struct Operation {
  std::string_view name = {};    ///< as lesson files write it: "weighted_sum"
  std::string_view title = {};   ///< "Weighted sum: mix the values"
  std::string_view says = {};    ///< what it does and why, where a lesson says nothing
  std::string_view notice = {};  ///< what to look for in the result
  /// What `of` lists in a lesson file, by example: `["Q", "K"]`; empty where it takes nothing.
  std::string_view operands = {};
  std::size_t fewest = 1;  ///< how many operands it takes, at least and at most
  std::size_t most = 1;
  /// With tokens as columns `of` lists the operands the other way round: (A·B)ᵀ = Bᵀ·Aᵀ.
  bool reverses_operands = false;
  std::span<const OptionRule> options = {};
  /// What to do where it came to divide 0 by 0.
  std::string_view zero_division_hint = "look for rows of zeros in its operands";
  /// What has no result, where that is more than 0 divided by 0, and what to do.
  std::string_view undefined = {};
  bool makes_weights = false;  ///< the result is shares of 1, line by line: shown as dots as well
  bool takes_ids = false;      ///< the first operand holds ids: which row, not how much
  bool shape_only = false;     ///< the first operand lends its shape, whatever its numbers are
  bool hides = false;          ///< sets cells to -inf, for which programs write very low numbers
  std::optional<EquivalentPlacement> equivalent_placement =
      {};  ///< where programs may take this step as well
  /// No result is below it, and rounding takes none there: what divides by a sum of such numbers
  /// must not fear that the sum is 0.
  double least = -std::numeric_limits<double>::infinity();
  std::span<const Mistake> mistakes = {};  ///< the wrong versions that learners compute
  /// How a gradient goes back to each of its operands (ops/backward.hpp); of an operation that is a
  /// gradient itself none.
  BackwardRule (*backward)(const OperandRef&) = nullptr;

  // What follows is the maths, which `operation_of` puts in.
  Form (*form)(const Call&) = nullptr;
  Evaluators cell = {};
  Tensor (*formula)(const Call&) = nullptr;  ///< the fast path; none: cell by cell
  /// Where the result is cheap: large ones are then not stored, but recomputed for each reader. It
  /// may keep nothing of the call, and makes nan of nothing else. Nothing where the result outgrows
  /// the first operand.
  std::optional<InPlaceKernel> (*in_place)(const Call&) = nullptr;
  /// All cells' intervals at once, for large matrices: never narrower than the cells' own, at most
  /// 1.5 times as wide. `result` lends its axes. Nothing where only the cells can tell.
  std::optional<Range> (*range)(const Call&, std::span<const Bounds>,
                                const Tensor& result) = nullptr;
  std::vector<Intermediate> (*parts)(const Call&) =
      nullptr;  ///< none where the result is one stride away
  /// Why a cell is what it is, where its arithmetic can't say it; empty where that says it all.
  std::string (*remark)(const CellBase&) = nullptr;

  /// A step's operands and options from what the lesson file says to what they are inside, or back:
  /// each is the other turned over where tokens are columns.
  std::vector<std::string> turned(std::vector<std::string> of, TokenLayout token_layout) const;
  Options turned(Options options_of_step, TokenLayout token_layout) const;

  /// The result. Throws InputError where the shapes do not fit.
  Tensor compute(const Call& call) const;
};

/// The operation that `words` describe, with its maths: `form`, the template `cell`, and those of
/// `compute`, `in_place`, `range`, `parts` and `remark` that `Maths` has.
template <class Maths>
constexpr Operation operation_of(Operation words) {
  words.form = Maths::form;
  words.cell = {Maths::template cell<double>, Maths::template cell<Interval>,
                Maths::template cell<Expression>, Maths::template cell<Decimal>};
  if constexpr (requires { Maths::compute; }) words.formula = Maths::compute;
  if constexpr (requires { Maths::in_place; }) words.in_place = Maths::in_place;
  if constexpr (requires { Maths::range; }) words.range = Maths::range;
  if constexpr (requires { Maths::parts; }) words.parts = Maths::parts;
  if constexpr (requires { Maths::remark; }) words.remark = Maths::remark;
  return words;
}

}  // namespace qkv::inline ops
