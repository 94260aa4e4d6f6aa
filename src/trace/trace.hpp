#pragma once

#include "ops/cell.hpp"
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
  friend bool operator==(const StepRecipe&, const StepRecipe&) = default;
};

/// Returns an operation's words (what it says, its title, its mistakes) as they hold for a step:
/// rows and columns change places where tokens are shown as columns, and where the step goes along
/// the other axis than usual.
std::string words_for(const StepRecipe& step, std::string_view words, TokenLayout token_layout);

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

/// The row and column labels of one matrix, as displayed.
struct MatrixLabels {
  std::vector<std::string> rows;  ///< empty if the lesson has no words for them
  std::vector<std::string> columns;
};

/// Returns the lesson's own labels of matrix `index`.
MatrixLabels own_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// The same, with the index from 1 for each missing label. These names are used on the screen, in
/// files and in cell references.
MatrixLabels full_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// True if each row has its own words, so that columns have none: the ids of a batch, a sentence
/// per row.
bool words_differ_by_row(const Tensor& tensor);

/// Returns the labels of one such row: "batch 2", its words.
MatrixLabels labels_of_sentence(const Tensor& ids, std::size_t row);

/// Returns the head of matrix `index`; nothing if the tensor has no heads.
std::optional<std::size_t> head_of(const Tensor& tensor, std::size_t index);

/// Returns the place of matrix `index` along each leading axis, from 1, as `pattern` has it: with
/// "{} {}," it is "batch 1,head 2,". An axis without a name is one of heads.
std::string leading_text(const Tensor& tensor, std::size_t index, std::string_view pattern);

/// Returns "head 2" or "batch 1, head 2"; empty if the tensor is one matrix.
std::string matrix_name(const Tensor& tensor, std::size_t index);

/// Names the axes of givens with conventional names (Q, W_Q, …).
void infer_axis_names(Trace& trace);

/// Infers axis names of a given from the first step that uses it, if its name does not tell. Its
/// leading axis is the batch if it is data that meets weights without heads, or is to be split into
/// heads. Otherwise it is the heads: of scores, of what is `with_heads` since a later step needs
/// them, and of Q, K and V, whose norms have one gain for all heads.
void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens,
                const std::set<std::string>& with_heads);

/// Names the other axes: heads, and tokens of unused givens.
void name_remaining_axes(Trace& trace, const AxisLabels& tokens);

/// A reference to a cell: `scores[3,2]`, `scores[cat,fat]`, `scores[head 2,3,2]`.
struct CellReference {
  std::string name;        ///< the matrix
  std::size_t matrix = 0;  ///< index over heads and batch
  std::size_t row = 0;     ///< internally, where a token is a row
  std::size_t column = 0;
};

/// `scores[cat,fat]`, parsed to "scores" and {"cat", "fat"}. A label with commas needs quotes.
struct ReferenceText {
  std::string name;
  std::vector<std::string> indices;
};

/// Throws InputError if the text is no reference, with what is missing and an example.
ReferenceText parse_reference(std::string_view text);

/// Returns the referenced cell. Indices count from 1 in the displayed matrix; labels may replace
/// them, also generated ones ("d2", "token 3"). Throws InputError for an unknown name (with a
/// suggestion), an index out of range (with the size), and an unknown or ambiguous label (with the
/// candidates).
CellReference resolve(const ReferenceText& text, const Trace& trace);

/// The same, where * means all indices of an axis: `W_V[head 2,*,*]` is all of head 2.
std::vector<CellReference> resolve_all(const ReferenceText& text, const Trace& trace);

/// Returns the cell that `text` names. Throws InputError like the functions above; for a matrix
/// without a cell, with one of its cells as the example.
CellReference find_cell(std::string_view text, const Trace& trace);

/// The same for a tensor that is not in a trace yet.
CellReference resolve_in(const ReferenceText& text, const Tensor& tensor, TokenLayout token_layout);

/// Returns the cell at `index` among the tensor's values.
CellReference cell_at(std::string name, const Tensor& tensor, std::size_t index);

/// Returns the reference text of a cell, with labels where they exist: `scores[cat,fat]`. An
/// ambiguous label is replaced by its number.
std::string reference_text(const CellReference& cell, const Tensor& tensor,
                           TokenLayout token_layout);

/// Returns the indices of a label along an axis, as displayed ("␣cat") or as it is (" cat").
std::vector<std::size_t> places_of_label(std::string_view label, const Axis& axis,
                                         std::size_t batch);

/// Returns an index as written in a reference: its label, or its number if the label is missing,
/// ambiguous, or can't be quoted.
std::string index_word(const Axis& axis, std::size_t i, std::size_t batch);

/// The same for every index of the axis.
std::vector<std::string> index_words(const Axis& axis, std::size_t batch);

/// Why a step could not be evaluated.
struct StepFault {
  std::size_t step = 0;  ///< its index in the recipe
  std::string message;
};

struct Evaluation {
  Trace trace;                    ///< without failed steps and those that need them
  std::vector<StepFault> faults;  ///< one per step that failed by itself
};

/// Requested steps, by name or number ("3"), and givens; empty: all.
using RequestedSteps = std::vector<std::string>;

/// Returns the index of the step of that name or number; nothing if there is none.
std::optional<std::size_t> step_index(const Recipe& recipe, std::string_view name_or_number);

/// Liveness analysis of a recipe: which steps must be computed, and which tensors kept.
struct Liveness {
  Liveness(const Recipe& recipe, const RequestedSteps& asked);

  std::vector<bool> needed;           ///< for each step
  std::set<std::string_view> wanted;  ///< names of steps and givens
  /// The requested tensors and the operands of their steps.
  std::set<std::string_view> kept;
  /// Operand → the needed steps that use it in order, one for each use.
  std::map<std::string_view, std::vector<std::size_t>> uses;
};

/// Evaluates every step that can be evaluated and reports the others. Skips large steps on which
/// nothing requested depends; small ones are cheap, and a lesson's prose may mention them. Unknown
/// names in `wanted` are ignored. Throws InputError if the givens alone exceed `memory_limit`.
/// `like` is the trace of a similar recipe: what is the same there, but for the last bits, is
/// shared.
Evaluation evaluate_all(Recipe recipe, const RequestedSteps& wanted = {},
                        const Trace* like = nullptr);

/// The same, but throws InputError for the first step that fails.
Trace evaluate(Recipe recipe, const RequestedSteps& wanted = {});

/// Where the backward pass starts and which gradients it should produce.
struct BackwardSpec {
  std::string of;  ///< the loss, a step of one number; empty if gradients are given
  /// Steps, each with the given that holds the gradient of its output.
  std::vector<std::pair<std::string, std::string>> from = {};
  std::vector<std::string> wanted = {};  ///< givens; empty: all that influence the result
};

/// Returns "d_scores" for "scores".
std::string gradient_name(std::string_view name);

/// Returns the steps of the backward pass, from the last step to the first, then the givens: the
/// gradient by each use, then their sum. Throws InputError for unknown names, wanted givens that
/// influence nothing, and names that are taken.
std::vector<StepRecipe> backward_steps(const Recipe& recipe, const BackwardSpec& backward);

/// Returns one backward step: from `grad_output` through step `through` to its operand `to`. Throws
/// InputError if `to` is no operand, or is used twice.
StepRecipe backward_step(const Recipe& recipe, std::string name, std::string grad_output,
                         std::string_view through, std::string_view to);

}  // namespace qkv::inline trace
