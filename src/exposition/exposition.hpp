#pragma once

#include "lesson/lesson.hpp"
#include "text/unicode.hpp"

namespace qkv::inline exposition {

/// Returns one of a step's texts with numbers filled in: what it says before its matrix, what to
/// notice after it, questions to try, or their answers. It is the lesson's or, of the first two,
/// else the operation's. Most steps have no questions.
std::string prose_of(const Lesson& lesson, const Trace& trace, const Step& step,
                     Prose StepText::*text, int digits);

/// Returns prose with its {placeholders} replaced by numbers of the trace, with at most `digits`
/// decimals. Decimals that a placeholder asks for are padded, so that lists line up. A negative
/// number after `· ` or `+ ` gets parentheses.
std::string fill_placeholders(std::string_view prose, const Trace& trace, int digits);

/// Returns the givens that no earlier step has used, in the lesson's order.
std::vector<const Given*> new_givens_of(const Trace& trace, const Step& step);

/// A part of a step's formula: plain text, or an operand.
struct FormulaPiece {
  std::string text = {};    ///< "softmax of each row of ", or the operand's name
  bool is_operand = false;  ///< then the other members describe it
  bool transposed = false;  ///< printed with a ᵀ
  std::string shape = {};   ///< as displayed: "7×2"; of Kᵀ the transposed shape
};

/// The formula of a step with its operands' names. The texts of operation and lesson are not
/// sanitised. Example: {Q (7×2)}, " · ", {K, transposed (2×7)}; scores, 7×7.
struct Formula {
  std::vector<FormulaPiece> pieces;
  std::string result;
  std::string result_shape;
};
Formula formula_of(const Trace& trace, const Step& step);

/// Returns the formula as text: `Q (7×2) · Kᵀ (2×7) → scores (7×7)`.
std::string formula_text(const Formula& formula);

/// A box of a lesson's map: a step, a given that steps begin with, or the input text.
struct MapBox {
  std::string name;                    ///< "scores"; "text" for the input text
  std::string shape = {};              ///< as displayed: "7×7"; empty for the text
  std::vector<std::size_t> from = {};  ///< the boxes that it is computed from: arrows to it
  std::vector<std::size_t> to = {};    ///< the boxes that are computed from it
  std::size_t column = 0;              ///< the most arrows that lead here from a start
  std::size_t start = 0;               ///< where one ends that goes to first origins only
};

/// The steps of a lesson as boxes, in its order: each stands after those that it is computed from.
/// Weights have no boxes. Of a model's layers, the first stands for all that are built alike.
struct LessonMap {
  std::vector<MapBox> boxes;
  NameIndex names;         ///< of the boxes
  std::string layer = {};  ///< the layer that stands for all: "h0"; empty if there are no layers
  std::size_t layers = 0;  ///< how many layers there are
};

/// Returns the map of the trace's steps.
LessonMap map_of(const Trace& trace);

/// Returns the map as text, indented, of at most `columns` unless one box is wider: boxes side by
/// side if that takes few lines, else chains of boxes. A box names the boxes that it is computed
/// from, unless they are just those before it.
std::string map_text(const LessonMap& map, std::size_t columns);

/// Returns where a step is on the map: `text → … → X → [Q] (beside it: K, V) → …`. Each arrow is
/// one of the map; the step's own origins are named where they fit, and the boxes beside it have
/// the same first origin. Empty if the step has no box.
std::string map_line(const LessonMap& map, std::string_view step, std::size_t columns);

// A lesson's content as a sequence of blocks without layout. Terminal, document, page and worksheet
// are writers: each handles every type of block; the order is decided here.

struct LessonTitle {
  std::string text;
};

struct StepTitle {
  std::size_t number = 0, of = 0;  ///< 6 of 14
  std::string name;                ///< "scores"
  std::string title;               ///< "How well each query fits each key"
};

struct ProseBlock {
  enum class Role {
    summary,
    source,
    token_layout,
    changed,
    changes,  ///< to the step: `changed: 2 of 49 cells: …`, on one line
    explanation,
    notice,
    questions,
    answers
  };
  Role role = Role::explanation;
  std::vector<Passage> passages;
};

/// Returns the passages with their introduction: "Notice: …", "Try:" above questions, "Answers:".
std::vector<Passage> with_introduction(const ProseBlock& words);

/// A matrix to show. The tensor may belong to the trace, which must outlive it.
struct MatrixBlock {
  enum class Role { given, intermediate, result };
  Role role = Role::given;
  std::string title;           ///< its name, or an intermediate's title
  std::string shape;           ///< as displayed: "7×2"
  const Step* step = nullptr;  ///< the step whose result or intermediate it is; nullptr for a given
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const Tensor> before = nullptr;  ///< the original, if numbers were changed
  std::optional<std::size_t> head = {};            ///< the head to show, if one is chosen
};

/// Givens that the step is the first to use, hidden by the lesson: `X (7×4), W (4×2)`.
struct HiddenGivens {
  std::string names;
};

/// A cell whose arithmetic is shown.
struct WorkedCell {
  CellReference cell;
};

using Block = std::variant<LessonTitle, StepTitle, ProseBlock, Formula, MatrixBlock, HiddenGivens,
                           WorkedCell>;
using Exposition = std::vector<Block>;

/// The topics of a step.
enum class Topic {
  title,
  formula,
  explanation,    ///< the lesson's text, or the operation's
  code,           ///< the lines of NumPy and PyTorch that perform the step
  gist,           ///< the first sentence of the operation's text
  givens,         ///< those that the step is the first to use
  intermediates,  ///< matrices before the result, such as softmax's exponentials
  result,         ///< the step's matrix
  changes,        ///< to its numbers, if the lesson was changed
  cell,           ///< one with its arithmetic
  notice,         ///< what to notice in the numbers
  questions,      ///< what to try then, and the answers if the outline has them
};

inline constexpr Topic full_walk[] = {
    Topic::title,  Topic::formula, Topic::explanation, Topic::givens, Topic::intermediates,
    Topic::result, Topic::changes, Topic::cell,        Topic::notice, Topic::questions};

/// Options: which topics, in which order, for which steps.
struct Outline {
  std::span<const Topic> topics = full_walk;
  int digits = 4;                        ///< decimals of the numbers in prose
  std::vector<std::string> only = {};    ///< names of steps and givens; empty for all
  bool intermediates = false;            ///< include intermediate matrices
  bool code = false;                     ///< show the lines of code below the formula
  bool unshown = false;                  ///< include matrices that the lesson hides
  bool answers = false;                  ///< include answers to the questions
  std::optional<std::size_t> head = {};  ///< show only this head
  const Trace* baseline = nullptr;       ///< the original trace, if numbers were changed
};

/// The introductory blocks before the first step, as far as they exist.
inline constexpr ProseBlock::Role full_opening[] = {
    ProseBlock::Role::summary, ProseBlock::Role::source, ProseBlock::Role::token_layout,
    ProseBlock::Role::changed};

/// Returns the lesson's title and its introductory blocks with these roles.
Exposition lesson_opening(const Lesson& lesson,
                          std::span<const ProseBlock::Role> roles = full_opening);

/// Concatenates what `writer` returns for each block.
template <class Writer>
std::string render(std::span<const Block> blocks, const Writer& writer) {
  std::string text;
  for (const Block& piece : blocks) text += std::visit(writer, piece);
  return text;
}

/// Returns the blocks of one step. Lesson and trace must outlive them.
Exposition describe_step(const Lesson& lesson, const Trace& trace, const Step& step,
                         const Outline& outline);

/// The notice before the steps of a changed lesson.
inline constexpr std::string_view changed_notice =
    "Sentences about the numbers before your change are left out.";

/// Returns a line on how a change affected one step: the number of cells, and the first of them
/// with old and new values. Example: `changed: 2 of 49 cells: [cat,fat] 4 → 8, [cat,mat] 1 → 2`.
/// If the step's size or labels differ, it says so instead.
std::string changes_text(const Step& step, const Trace& before, int digits);

}  // namespace qkv::inline exposition
