#include "check/answer.hpp"
#include "text/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/intake/rounded.hpp"
#include "formats/handwork/cell.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr std::int16_t all_decimals = 15;

[[noreturn]] void refuse(std::string_view text) {
  throw InputError(
      fmt::format("\"{}\" is no number: write it like 0.25, 0,25, 3/7, √2, 80%, 2.5e-3 or -inf",
                  printable(text)));
}

// The decimals of a fraction's parts: 0.5/1.41 was worked from rounded numbers.
std::int16_t decimals_of_parts(std::string_view fraction, DecimalMark mark) {
  const std::size_t line = fraction.find('/');
  std::int16_t decimals = 0;
  for (const std::string_view part : {fraction.substr(0, line), fraction.substr(line + 1)}) {
    const NumeralResult number = parse_numeral(trimmed(part), mark);
    if (number.fault == NumeralFault::none) decimals = std::max(decimals, number.numeral.decimals);
  }
  return decimals;
}

// How many decimals of a matrix a walk shows that shows `digits` of them: none of whole numbers.
int decimals_shown(const Tensor& tensor, int digits) {
  const bool whole = std::all_of(tensor.values.begin(), tensor.values.end(),
                                 [](double x) { return !std::isfinite(x) || x == std::trunc(x); });
  return whole ? 0 : digits;
}

Handed shown_operand(const std::string& name, const Tensor& tensor, int digits) {
  const int decimals = decimals_shown(tensor, digits);
  Numerals cells;
  for (const double x : tensor.values) {
    cells.push_back(
        {.value = rounded(x, decimals), .decimals = static_cast<std::int16_t>(decimals)});
  }
  return {.name = name, .shape = tensor.shape(), .cells = Cells(std::move(cells))};
}

Handed lone_cell(const CellReference& cell, const Tensor& tensor, const Numeral& answer) {
  constexpr Numeral blank{.value = std::numeric_limits<double>::quiet_NaN()};
  Numerals cells(tensor.values.size(), blank);
  const std::size_t row = cell.matrix * tensor.rows() + cell.row;
  cells[row * tensor.columns() + cell.column] = answer;
  return {.name = cell.name, .shape = tensor.shape(), .cells = Cells(std::move(cells))};
}

// The steps that a step is made of, and the cell that was answered.
std::vector<Handed> handed_in(const Trace& trace, const Step& step, const CellReference& cell,
                              const Numeral& answer, int digits) {
  std::vector<Handed> handed;
  for (const Step& before : trace.steps) {
    const bool is_operand = std::find(step.of.begin(), step.of.end(), before.name) != step.of.end();
    if (is_operand) handed.push_back(shown_operand(before.name, before.output, digits));
  }
  handed.push_back(lone_cell(cell, step.output, answer));
  return handed;
}

}  // namespace

Numeral parse_answer(std::string_view text) {
  text = trimmed(text);
  const DecimalMark mark = mark_of(text);
  const NumeralResult result = parse_cell(text, mark);
  if (result.fault != NumeralFault::none || std::isnan(result.numeral.value)) refuse(text);
  Numeral answer = result.numeral;
  if (!answer.exact || answer.decimals > 0) return answer;  // a percentage has its own
  const bool is_fraction = text.find('/') != std::string_view::npos;
  const std::int16_t decimals = is_fraction ? decimals_of_parts(text, mark) : std::int16_t{0};
  answer.exact = decimals == 0;
  answer.decimals = decimals > 0 ? decimals : all_decimals;
  return answer;
}

AnswerReport judge_answer(const Trace& trace, const CellReference& cell, const Numeral& answer,
                          int digits) {
  const std::vector<Handed> handed =
      handed_in(trace, trace.step_at(cell.name), cell, answer, digits);
  const Judgement judgement = judge(trace, handed, {});
  const auto node = std::find_if(judgement.nodes.begin(), judgement.nodes.end(),
                                 [&](const LearnerNode& n) { return n.name == cell.name; });
  AnswerReport report;
  for (const Verdict verdict : node->verdicts) {
    if (verdict != Verdict::blank) report.verdict = verdict;
  }
  if (report.is_right()) return report;
  const auto index = static_cast<std::size_t>(node - judgement.nodes.begin());
  report.mistakes = diagnose(judgement, trace, index);
  return report;
}

}  // namespace qkv
