#include "check/diagnose/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/diagnose/candidates.hpp"
#include "check/diagnose/matching.hpp"
#include "check/diagnose/slips.hpp"
#include "check/tolerance/precision.hpp"

namespace qkv {
namespace {

// Rounding by hand leaves so much room at most: more cells are a program's.
constexpr std::size_t most_cells_with_room = 4096;

Puzzle puzzle_of(const LearnerNode& node) {
  const Handed& handed = node.handed ? *node.handed : *node.misshapen;
  Puzzle puzzle{.shape = handed.shape,
                .written = {},
                .hides = {},
                .reach = {},
                .wrong = {},
                .right = node.handed ? node.from_yours.values : std::span<const double>(),
                .exact = node.exact,
                .floor = node.units.floor,
                .are_shares = node.step && node.step->operation->makes_weights};
  for (std::size_t i = 0; i < handed.cells.size(); ++i) {
    const Numeral& cell = handed.cells[i];
    puzzle.written.push_back(cell.value);
    // A wild number excuses no others, but what it is itself was typed to no more digits than they.
    const double own = rule_of(handed.precision).floor * std::abs(cell.value);
    puzzle.reach.push_back(std::max(node.units.reach(i), std::isfinite(own) ? own : 0));
    puzzle.hides.push_back(node.handed && node.own.values[i] == -infinity);
    const bool wrong = node.handed ? node.verdicts[i] == Verdict::wrong : !cell.is_blank();
    puzzle.wrong.push_back(wrong && cell.unread == 0);  // what is no number has no other cause
  }
  return puzzle;
}

std::vector<Diagnosis> told(const std::vector<Explanation>& explanations,
                            const std::vector<Version>& versions) {
  std::vector<Diagnosis> found;
  for (const Explanation& explanation : explanations) {
    const Version& version = versions[explanation.version];
    std::string says(version.says);
    const std::string detail = version.detail ? version.detail(explanation.first) : "";
    if (!detail.empty()) says = fmt::format("{}: {}.", says.substr(0, says.size() - 1), detail);
    found.push_back({.id = version.id,
                     .says = std::move(says),
                     .hint = version.hint,
                     .cells = explanation.cells,
                     .sure = explanation.sure});
  }
  return found;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Judgement& judgement, const Trace& trace, std::size_t index) {
  const LearnerNode& node = judgement.nodes[index];
  const Puzzle puzzle = puzzle_of(node);
  if (std::ranges::count(puzzle.wrong, true) == 0) return {};
  Suspects suspects(judgement, trace, index, puzzle);
  std::vector<Explanation> found = explanations(puzzle, suspects.versions());
  if (found.empty() && puzzle.written.size() <= most_cells_with_room && suspects.leave_room()) {
    found = explanations(puzzle, suspects.versions());
  }
  return told(found, suspects.versions());
}

std::vector<std::string_view> slip_ids() { return all_slip_ids(); }

}  // namespace qkv
