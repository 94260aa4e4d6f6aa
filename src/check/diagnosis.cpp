#include "check/diagnosis.hpp"

#include <algorithm>
#include <cmath>

#include "check/fit.hpp"
#include "check/precision.hpp"
#include "check/slips.hpp"
#include "check/world.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

// Nobody slips with the pen in a matrix of a quarter of a million cells, nor rounds it by hand.
bool is_by_hand(std::size_t cells) { return cells <= std::size_t{1} << 18; }

// So many cells are worth the time of writing each digit by digit, and of its arithmetic.
constexpr std::ptrdiff_t most_cells_by_lines = 4096;

// A whole matrix that was not handed in may have been turned over or have lost its signs.
void collect_unseen_slips(const World& world, std::size_t at, std::size_t node, int decimals,
                          std::vector<Version>& versions) {
  const SlipContext context{.right = &world.tensor(at),
                            .decimals = decimals,
                            .wrong_rows = {},
                            .arithmetic = {},
                            .near_wrong = {}};
  for (SlipVersion& slip : slip_versions(context, Reach::anything)) {
    for (const Supposed& made : slip.versions) {
      if (auto numbers = world.carried_to(at, made.tensor(), node)) {
        versions.push_back(
            {slip.id, slip.says, slip.hint, VersionKind::slip, slip.reach, std::move(*numbers)});
      }
    }
  }
}

void collect_mistakes(const World& world, const Judgement& judgement, std::size_t node,
                      std::vector<Version>& versions) {
  std::vector<std::size_t> places = unseen_before(judgement, node);
  for (const std::size_t at : places) {
    if (!is_by_hand(world.tensor(at).values.size())) continue;
    collect_unseen_slips(world, at, node, judgement.nodes[node].units.decimals, versions);
  }
  places.push_back(node);
  const std::vector<Source> sources = world.sources(node);
  for (const std::size_t at : places) {
    const Operation* operation = sources[at].operation;
    if (!operation) continue;
    for (const Mistake& mistake : operation->mistakes) {
      std::vector<Tensor> made;
      try {
        made = mistake.compute(sources[at]);
      } catch (const InputError&) {  // impossible with these shapes
      }
      for (Tensor& tensor : made) {
        auto numbers = world.carried_to(at, std::move(tensor), node);
        if (!numbers) continue;
        versions.push_back({mistake.id, mistake.says, mistake.hint, VersionKind::mistake,
                            Reach::anything, std::move(*numbers)});
      }
    }
  }
}

// Cells in a row or a column with at least so many wrong ones.
std::vector<bool> near_wrong(const Puzzle& puzzle, std::size_t at_least) {
  const std::size_t columns = puzzle.columns();
  const std::size_t size = puzzle.rows() * columns;
  std::vector<std::size_t> in_row(puzzle.wrong.size() / columns);
  std::vector<std::size_t> in_column(puzzle.wrong.size() / puzzle.rows());
  const auto column_of = [&](std::size_t i) { return i / size * columns + i % columns; };
  for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
    if (!puzzle.wrong[i]) continue;
    ++in_row[i / columns];
    ++in_column[column_of(i)];
  }
  std::vector<bool> near(puzzle.wrong.size());
  for (std::size_t i = 0; i < near.size(); ++i) {
    near[i] = in_row[i / columns] >= at_least || in_column[column_of(i)] >= at_least;
  }
  return near;
}

// Where a slip that reaches no further than a line can explain anything: where something is wrong
// or, as that may be everywhere, in lines that hold half of it.
std::vector<bool> worth_a_line(const Puzzle& puzzle) {
  std::vector<bool> near = near_wrong(puzzle, 1);
  if (std::ranges::count(near, true) <= most_cells_by_lines) return near;
  const auto wrong = static_cast<std::size_t>(std::ranges::count(puzzle.wrong, true));
  return near_wrong(puzzle, (wrong + 1) / 2);
}

void collect_slips(const World& world, const LearnerNode& node, std::size_t index,
                   const Tensor& right, const Puzzle& puzzle, std::vector<Version>& versions) {
  SlipContext context{.right = &right,
                      .decimals = node.units.decimals,
                      .wrong_rows = {},
                      .arithmetic = {},
                      .near_wrong = {}};
  const bool same_shape = right.shape() == puzzle.shape;
  if (same_shape) {
    context.near_wrong = worth_a_line(puzzle);
    context.wrong_rows.resize(right.matrices());
    const std::size_t size = right.rows() * right.columns();
    for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
      std::vector<std::size_t>& rows = context.wrong_rows[i / size];
      const std::size_t row = i % size / right.columns();
      if (puzzle.wrong[i] && (rows.empty() || rows.back() != row)) rows.push_back(row);
    }
  }
  if (node.step && same_shape &&
      std::ranges::count(context.near_wrong, true) <= most_cells_by_lines) {
    context.arithmetic = [&](std::size_t m, std::size_t r, std::size_t c) {
      return world.arithmetic(index, m, r, c);
    };
  }
  for (SlipVersion& slip : slip_versions(context, Reach::line)) {
    for (Supposed& numbers : slip.versions) {
      versions.push_back(
          {slip.id, slip.says, slip.hint, VersionKind::slip, slip.reach, std::move(numbers)});
    }
  }
}

Puzzle puzzle_of(const LearnerNode& node) {
  const Handed& handed = node.handed ? *node.handed : *node.misshapen;
  Puzzle puzzle{.shape = handed.shape, .written = {}, .hides = {}, .reach = {}, .wrong = {}};
  for (std::size_t i = 0; i < handed.cells.size(); ++i) {
    const double x = handed.cells[i].value;
    puzzle.written.push_back(x);
    // A wild number excuses no others, but what it is itself was typed to no more digits than they.
    const double own = rule_of(handed.precision).floor * std::abs(x);
    puzzle.reach.push_back(std::max(node.units.reach(i), std::isfinite(own) ? own : 0));
    puzzle.hides.push_back(node.handed && node.own.values[i] == -infinity);
    puzzle.wrong.push_back(node.handed ? node.verdicts[i] == Verdict::wrong : !std::isnan(x));
  }
  return puzzle;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Judgement& judgement, const Trace& trace, std::size_t index) {
  const LearnerNode& node = judgement.nodes[index];
  const Puzzle puzzle = puzzle_of(node);
  const bool by_hand = is_by_hand(puzzle.written.size());
  std::vector<Version> versions;
  for (World& world : by_hand ? worlds_of(judgement, trace, index, node.units.decimals)
                              : std::vector{World(judgement, trace)}) {
    const Tensor right = node.step ? world.worked_or(node.from_yours, index) : *node.truth;
    world.put(index, right);
    if (node.step) collect_mistakes(world, judgement, index, versions);
    if (by_hand) collect_slips(world, node, index, right, puzzle, versions);
  }
  std::vector<Diagnosis> found;
  for (const Explanation& explanation : explanations(puzzle, versions)) {
    const Version& version = versions[explanation.version];
    found.push_back({version.id, version.says, version.hint, explanation.cells});
  }
  return found;
}

std::vector<std::string_view> slip_ids() { return all_slip_ids(); }

}  // namespace qkv
