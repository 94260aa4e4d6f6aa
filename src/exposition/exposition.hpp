#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exposition/step_words.hpp"
#include "lesson/lesson.hpp"
#include "text/wrapping.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

// What a lesson is told as, piece after piece: values that know nothing of how they will look. A
// terminal, a document, a page and a sheet of paper are writers of them: each has a word for every
// kind of piece, and the order is not its business.

struct LessonTitle {
  std::string text;
};

struct StepTitle {
  std::size_t number = 0, of = 0;  ///< 6 of 14
  std::string name;                ///< "scores"
  std::string title;               ///< "How well each query fits each key"
};

/// Prose, and what it is there for.
struct ProseBlock {
  enum class Role { summary, source, token_layout, changed, explanation, notice, questions };
  Role role = Role::explanation;
  std::vector<Passage> passages;
};

/// The same with what introduces it: "Notice: …", "Try:" above questions.
std::vector<Passage> with_introduction(const ProseBlock& words);

/// A tensor to look at. It may belong to the trace, which must outlive it.
struct MatrixBlock {
  enum class Role { given, intermediate, result };
  Role role = Role::given;
  std::string title;           ///< its name, or what lies on the way to the step's result
  std::string shape;           ///< as people see it: "7×2"
  const Step* step = nullptr;  ///< whose result it is, or lies on the way to
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const Tensor> before = nullptr;  ///< the lesson's own, where numbers of it differ
  std::optional<std::size_t> head = {};            ///< of many, the one to look at
};

/// Givens that a step is the first to use and that the lesson leaves out: `X (7×4), W (4×2)`.
struct HiddenGivens {
  std::string names;
};

/// What a change of the lesson did to the step: `changed: 2 of 49 cells: …`.
struct ChangeNote {
  std::string text;
};

/// One cell to work out.
struct WorkedCell {
  CellReference cell;
};

using Block = std::variant<LessonTitle, StepTitle, ProseBlock, Formula, MatrixBlock, HiddenGivens,
                           ChangeNote, WorkedCell>;
using Exposition = std::vector<Block>;

/// What there is to tell about a step.
enum class Topic {
  title,
  formula,
  explanation,    ///< the lesson's words, or the operation's
  gist,           ///< the first sentence of the operation's
  givens,         ///< that the step is the first to use
  intermediates,  ///< to the result: softmax's exponentials
  result,         ///< the step's own matrix
  changes,        ///< of its numbers, where some of the lesson's were changed
  cell,           ///< one that is worked out
  notice,         ///< what to notice in the numbers
  questions,      ///< what to try then
};

/// The topics of a whole walk.
inline constexpr Topic full_walk[] = {
    Topic::title,  Topic::formula, Topic::explanation, Topic::givens, Topic::intermediates,
    Topic::result, Topic::changes, Topic::cell,        Topic::notice, Topic::questions};

/// The same without what lies on the way to a result, for those who have not asked for it.
inline constexpr Topic short_walk[] = {Topic::title,  Topic::formula, Topic::explanation,
                                       Topic::givens, Topic::result,  Topic::changes,
                                       Topic::cell,   Topic::notice,  Topic::questions};

/// What is told, and in which order.
struct Outline {
  std::span<const Topic> topics = full_walk;
  int digits = 4;                        ///< decimals of the numbers in prose
  std::vector<std::string> only = {};    ///< these steps and givens, and all of them; else all
  bool unshown = false;                  ///< also the matrices that the lesson leaves out
  std::optional<std::size_t> head = {};  ///< of what has heads, this one
  const Trace* baseline = nullptr;       ///< the lesson's own numbers, where some were changed
};

/// What stands before the first step, as far as there is such: what the lesson is about, where its
/// numbers come from, that its tokens are columns; of a changed one, which words explain it.
inline constexpr ProseBlock::Role full_opening[] = {
    ProseBlock::Role::summary, ProseBlock::Role::source, ProseBlock::Role::token_layout,
    ProseBlock::Role::changed};

/// The lesson's title and these words.
Exposition lesson_opening(const Lesson& lesson,
                          std::span<const ProseBlock::Role> roles = full_opening);

/// What a writer makes of each, one behind the other.
template <class Writer>
std::string render(std::span<const Block> blocks, const Writer& writer) {
  std::string text;
  for (const Block& piece : blocks) text += std::visit(writer, piece);
  return text;
}

/// One step. Lesson and trace must outlive what is told of them.
Exposition describe_step(const Lesson& lesson, const Trace& trace, const Step& step,
                         const Outline& outline);

/// What is said of a changed lesson before its steps.
inline constexpr std::string_view changed_notice =
    "Steps whose numbers were changed are explained in general words.";

/// What a change of the lesson did to one step, in a line: how many cells, and the first of them
/// with what they were: `changed: 2 of 49 cells: [cat,fat] 4 → 8, [cat,mat] 1 → 2`.
/// Where the step is of another size, or belongs to other words, that is what it says.
std::string changes_text(const Step& step, const Trace& before, int digits);

/// The cell that changed the most; none where nothing did, or where the two can't be compared.
std::optional<CellReference> largest_change(const Step& step, const Trace& before);

}  // namespace qkv::inline exposition
