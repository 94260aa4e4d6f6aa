#include "interactive/question.hpp"

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
  const auto explains = [&](const Lesson& one) {
    return std::ranges::find(one.explains, operation.name) != one.explains.end();
  };
  if (explains(lesson)) return {};
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson other = find_lesson(std::string(built_in.name)).lesson;
    if (other.name != lesson.name && explains(other)) return other.name;
  }
  return {};
}

}  // namespace qkv
