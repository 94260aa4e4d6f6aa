#pragma once

#include <variant>

#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// The first and the last index, both included, counted from 1.
using OptionSpan = std::array<double, 2>;

using OptionValue = std::variant<bool, double, std::string, OptionSpan>;

/// One option of an operation: its name and its permitted values.
struct OptionRule {
  enum class Numbers { none, any, whole, positive, not_negative };

  std::string_view name;
  std::string_view help;                        ///< what it chooses, for messages and help
  std::span<const std::string_view> list = {};  ///< the permitted words, if they are listed
  bool any_word = false;                        ///< takes words that are not listed, too
  Numbers numbers = Numbers::none;
  bool swaps_with_layout = false;  ///< "rows" or "columns", which swap if tokens are columns
  bool flag = false;               ///< may be true or false
  bool span = false;               ///< is [from, to], counted from 1
  /// The option that it swaps with if tokens are columns: its name follows the file's matrices.
  std::string_view swapped_name = {};
  bool required = false;
  bool file = false;  ///< names a file that the operation reads
};

/// A step's options, checked against its operation's rules.
class Options {
 public:
  /// Returns options with one entry.
  static Options of(std::string_view name, OptionValue value);
  void set(std::string name, OptionValue value) { values_[std::move(name)] = std::move(value); }
  /// Sets `to` to the value of `from` in `written`; removes `to` if `written` has no `from`.
  void rename(const Options& written, std::string_view from, std::string_view to);
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  bool flag(std::string_view name, bool otherwise) const { return get<bool>(name, otherwise); }
  double number(std::string_view name, double otherwise) const {
    return get<double>(name, otherwise);
  }
  std::string_view word(std::string_view name, std::string_view otherwise) const {
    return get<std::string>(name, otherwise);
  }
  const OptionValue* find(std::string_view name) const;
  /// Returns the option's number; nullptr if it is missing or no number.
  const double* if_number(std::string_view name) const;
  /// Returns the contents of the file that the option names; empty if it names none.
  std::string_view contents(std::string_view name) const;
  void set_contents(std::string name, std::string bytes);
  const std::map<std::string, OptionValue, std::less<>>& all() const { return values_; }
  friend bool operator==(const Options&, const Options&) = default;

 private:
  template <class T, class Result>
  Result get(std::string_view name, Result otherwise) const {
    const OptionValue* value = find(name);
    return value ? Result(std::get<T>(*value)) : otherwise;
  }

  std::map<std::string, OptionValue, std::less<>> values_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> contents_;
};

/// Returns the permitted values in words: `"in-out" or "out-in"`.
std::string choices(const OptionRule& rule);

/// Returns what is wrong with `value` for this option; empty if nothing is.
/// Example: `layout is "in-out" or "out-in", not "inout"`.
std::string complaint(const OptionRule& rule, const OptionValue& value);

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
  bool copies = false;     ///< it has other cells' numbers; so may chance, or a neighbour's sheet
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

/// True if the step's operands and its place stay as they are: its own maths, form or option is
/// another.
inline bool changes_own_maths(const Change& change) {
  return std::holds_alternative<With>(change) || std::holds_alternative<Instead>(change) ||
         std::holds_alternative<double (*)(const Cell<double>&)>(change) ||
         std::holds_alternative<Matrix (*)(const Operands&)>(change);
}

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
  bool stores_out_in = false;             ///< the file of a model holds its weights out × in
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
  /// All cells of a matrix have the same arithmetic, whatever the numbers; only its places move.
  bool is_uniform = false;
  bool masks_cells = false;  ///< sets cells to -inf; some programs write very low numbers
  /// True if the first of so many operands has an axis of heads; nullptr if it need not.
  bool (*needs_heads)(std::size_t operands, const Options& options) = nullptr;
  /// Another place at which programs may apply it, if there is one.
  std::optional<EquivalentPlacement> equivalent_placement = {};
  /// Lower bound of all results, rounded or not. A division by a sum of such numbers then need not
  /// allow for a sum of 0.
  double least = -std::numeric_limits<double>::infinity();
  /// How far off a cell of `result` may be because programs compute in single precision even if
  /// they store more or less; nullptr if no cell is.
  double (*single_precision_error)(const Call&, const Tensor& result, std::size_t cell) = nullptr;
  /// How far off single precision leaves a cell where large numbers cancel, as in a row that is
  /// nearly its mean; nullptr if none do.
  double (*cancellation_error)(const Call&, std::size_t cell) = nullptr;
  std::span<const Mistake> mistakes = {};  ///< the wrong versions that learners compute
  /// The backward rule of each operand (BackwardRule); nullptr for gradient operations.
  BackwardRule (*backward)(const OperandRef&) = nullptr;

  /// The lines of NumPy and of PyTorch that perform a step, as a template (code_line), with a
  /// line break between them if they differ. Empty: the formula says it.
  std::string_view code = {};
  std::string (*code_of)(const Call&) = nullptr;  ///< returns it, if it depends on the call
  bool sums_cells = false;  ///< a gradient that is summed to the shape of its operand

  // The maths: `operation_of` sets the members below.
  Form (*form)(const Call&) = nullptr;
  Evaluators cell = {};
  Tensor (*formula)(const Call&) = nullptr;  ///< the fast path; without one, cell by cell
  /// The fast path of one row, if each row can be computed by itself.
  void (*fill_row)(const Operands&, std::span<double> cells) = nullptr;
  std::size_t operations = 0;  ///< about how many additions or copies a cell of the row costs
  Matrix (*matrix)(const Operands&) = nullptr;  ///< the same of one matrix
  /// Set if the result is cheap: large results are then lazy, recomputed for each reader. The
  /// kernel keeps no reference to the call, and its results are nan only for nan.
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

/// Returns a cell by the template `Maths::cell`, for one number type; its interval by
/// `Maths::cells_of_line`, if there is one.
template <class Maths, class N>
N evaluated(const Cell<N>& cell) {
  constexpr bool is_of_line = std::is_same_v<N, Interval> && requires { Maths::cells_of_line; };
  if constexpr (is_of_line) {
    return Maths::cells_of_line(cell)(cell);
  } else {
    return Maths::cell(cell);
  }
}

/// Returns the range of a step line by line: `Maths::cells_of_line(c)` returns a function for the
/// interval of each cell of c's line.
template <class Maths>
std::optional<Range> range_of_lines(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result);

/// Returns about how many additions or copies a cell of `Maths::fill_row` costs.
template <class Maths>
constexpr std::size_t operations_of() {
  if constexpr (requires { Maths::operations; }) return Maths::operations;
  return 16;
}

/// Returns the operation with the data of `words` and the maths of `Maths`: `form`, the template
/// `cell`, and those of the members below that it has.
template <class Maths>
constexpr Operation operation_of(Operation words) {
  words.form = Maths::form;
  words.cell = {evaluated<Maths, double>, evaluated<Maths, Interval>, evaluated<Maths, Expression>,
                evaluated<Maths, Decimal>};
  count_operands(words);
  if constexpr (requires { Maths::is_uniform; }) words.is_uniform = Maths::is_uniform;
  if constexpr (requires { std::string_view(Maths::code); }) words.code = Maths::code;
  if constexpr (requires { Maths::code_of; }) words.code_of = Maths::code_of;
  if constexpr (requires { Maths::compute; }) words.formula = Maths::compute;
  if constexpr (requires { Maths::fill_row; }) words.fill_row = Maths::fill_row;
  words.operations = operations_of<Maths>();
  if constexpr (requires { Maths::matrix; }) words.matrix = Maths::matrix;
  if constexpr (requires { Maths::in_place; }) words.in_place = Maths::in_place;
  if constexpr (requires { Maths::range; }) words.range = Maths::range;
  if constexpr (requires { Maths::cells_of_line; }) words.range = range_of_lines<Maths>;
  if constexpr (requires { Maths::intermediates; }) words.intermediates = Maths::intermediates;
  if constexpr (requires { Maths::remark; }) words.remark = Maths::remark;
  return words;
}

/// One operand of a step, whose gradient is wanted.
struct OperandRef {
  std::size_t operand = 0;
  std::size_t operands = 1;  ///< the step's number of operands
  const Options* options = nullptr;
};

/// A tensor that a gradient is computed from: operand k is `Role{k}`.
enum class Role : std::size_t {
  output = static_cast<std::size_t>(-1),  ///< the step's result
  other = static_cast<std::size_t>(-2),   ///< of two operands, the one whose gradient is not wanted
  self = static_cast<std::size_t>(-3),    ///< the operand whose gradient is wanted
};

/// The backward rule for one operand: the gradient operation and the tensors that it takes, as in
/// gradient(dY, X, …). These are the result's gradient, the operand itself, then `saved`.
struct BackwardRule {
  const Operation* operation = nullptr;  ///< nullptr if no gradient flows: to ids, masks
  std::vector<Role> saved = {};          ///< operands of the step, or its output
};

/// The name of every gradient operation, as lesson files write it.
inline constexpr std::string_view backward_name = "backward";

/// True if the operation computes a gradient, or accumulates several.
inline bool is_gradient(const Operation& operation) { return operation.name == backward_name; }

/// The gradient of the loss by itself, 1. Its operand is the loss.
extern const Operation grad_seed_operation;

/// The gradient of a tensor that several steps use: the sum of its operands, one for each use.
extern const Operation accumulate_grad_operation;

/// All operations that a lesson can name, in teaching order: a new one is listed here alone.
// clang-format off
#define QKV_OPERATIONS \
  QKV_OPERATION(tokenise) QKV_OPERATION(embed) QKV_OPERATION(positions) QKV_OPERATION(add) \
  QKV_OPERATION(project) QKV_OPERATION(split_heads) QKV_OPERATION(repeat_kv) QKV_OPERATION(rope) \
  QKV_OPERATION(score) QKV_OPERATION(scale) QKV_OPERATION(softcap) QKV_OPERATION(alibi) \
  QKV_OPERATION(relative_bias) QKV_OPERATION(mask) QKV_OPERATION(softmax) QKV_OPERATION(shift) \
  QKV_OPERATION(exp) QKV_OPERATION(normalise) QKV_OPERATION(weighted_sum) \
  QKV_OPERATION(concat_heads) QKV_OPERATION(sum_heads) QKV_OPERATION(switch_off) \
  QKV_OPERATION(layer_norm) QKV_OPERATION(rms_norm) QKV_OPERATION(gelu) QKV_OPERATION(relu) \
  QKV_OPERATION(silu) QKV_OPERATION(multiply) QKV_OPERATION(transpose) QKV_OPERATION(matmul) \
  QKV_OPERATION(append) QKV_OPERATION(take) QKV_OPERATION(subtract) QKV_OPERATION(divide) \
  QKV_OPERATION(maximum) QKV_OPERATION(log) QKV_OPERATION(sqrt) QKV_OPERATION(sigmoid) \
  QKV_OPERATION(tanh) QKV_OPERATION(row_max) QKV_OPERATION(row_sum) QKV_OPERATION(row_mean) \
  QKV_OPERATION(running_max) QKV_OPERATION(tile_weights) QKV_OPERATION(running_sum) \
  QKV_OPERATION(running_output) QKV_OPERATION(log_sum_exp) QKV_OPERATION(merge) \
  QKV_OPERATION(cross_entropy) QKV_OPERATION(gradient_step)
// clang-format on

#define QKV_OPERATION(name) extern const Operation name##_operation;
QKV_OPERATIONS
#undef QKV_OPERATION

/// Returns the operations of the list.
std::span<const Operation* const> catalogue();

/// Returns the operation of that name, or nullptr.
const Operation* find_operation(std::string_view name);

/// An option of alibi that no lesson writes. Its value, "first" or "last", is the end of the keys
/// from which a program counts the distances.
inline constexpr std::string_view alibi_counted = "counted";

/// A library that computes with arrays.
enum class Library { numpy, pytorch };

/// Returns the line of Python that computes the step `call` by its operation from arrays with the
/// operands' names: `scores = Q @ np.swapaxes(K, -1, -2)`. The arrays are those of an export: with
/// tokens as columns they are transposed. Dots in names become underscores. It is a comment if no
/// line can do it.
std::string code_line(const Operation& operation, const Call& call, const Tensor& result,
                      Library library);

/// Returns sizes as code: `1, 2, 3`.
std::string code_list(std::span<const std::size_t> sizes);

/// Returns the sizes of the leading axes as code, each with a comma: `2, 3, `.
std::string code_leading(const Tensor& tensor);

}  // namespace qkv::inline ops
