#include "stepping/question.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "exposition/arithmetic.hpp"
#include "lesson/library.hpp"

namespace qkv {
namespace {

constexpr std::size_t most_cells = 16;  // that a person combines by hand
constexpr std::size_t most_tries = 500;

using CellSet = std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>>;

void collect(const Expression& term, CellSet& cells) {
  if (term.kind() == Expression::Kind::cell) {
    const CellPlace& place = term.place();
    cells.insert({place.operand, place.matrix, place.row, place.column});
  }
  for (const Expression& part : term.parts()) {
    if (cells.size() <= most_cells) collect(part, cells);
  }
}

// Nothing to work out: hidden, nothing, or all.
bool is_trivial(double value) {
  return !std::isfinite(value) || std::abs(value) < 1e-9 || std::abs(value - 1) < 1e-9;
}

bool is_worth_asking(const Trace& trace, const Step& step, const CellReference& cell) {
  if (is_trivial(step.output.at(cell.matrix, cell.row, cell.column))) return false;
  const Expression expression = expression_of(trace, step, cell);
  if (expression.parts().empty()) return false;  // taken over as it is
  CellSet cells;
  collect(expression, cells);
  return !cells.empty() && cells.size() <= most_cells;
}

// How much a lesson says about an operation, in characters.
std::size_t words_about(const Operation& operation, const Lesson& lesson) {
  std::size_t words = 0;
  for (std::size_t s = 0; s < lesson.recipe.steps.size(); ++s) {
    if (lesson.recipe.steps[s].operation != &operation) continue;
    words += lesson.texts[s].say.text.size() + lesson.texts[s].notice.text.size();
  }
  return words;
}

}  // namespace

std::optional<CellReference> question_cell(const Trace& trace, const Step& step,
                                           std::uint32_t seed) {
  const Tensor& tensor = step.output;
  if (tensor.values.empty()) return {};
  std::mt19937 engine(seed * 1000003U + static_cast<std::uint32_t>(step.number));
  // From a random cell on, in strides that visit every cell: they share no divisor with the count.
  const std::size_t count = tensor.values.size();
  const std::size_t start = engine() % count;
  std::size_t stride = count > 2 ? 1 + engine() % (count - 1) : 1;
  while (std::gcd(stride, count) != 1) ++stride;
  for (std::size_t n = 0; n < std::min(count, most_tries); ++n) {
    const std::size_t i = (start + n * stride) % count;
    const CellReference cell = cell_at(step.name, tensor, i);
    if (is_worth_asking(trace, step, cell)) return cell;
  }
  return {};
}

std::optional<std::string> reading_about(const Operation& operation, const Lesson& lesson) {
  std::optional<std::string> best;
  std::size_t most = words_about(operation, lesson) * 3 / 2;
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson other = find_lesson(std::string(built_in.name)).lesson;
    const std::size_t words = words_about(operation, other);
    if (other.name == lesson.name || words <= most) continue;
    most = words;
    best = other.name;
  }
  return best;
}

}  // namespace qkv
