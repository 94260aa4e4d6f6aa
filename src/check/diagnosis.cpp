#include "check/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "check/slips.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

// One set of numbers that a mistake would make.
struct Version {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  Reach reach = Reach::anything;
  Tensor numbers;
};

// What is to be explained: the learner's cells of one matrix.
struct Puzzle {
  Shape shape;
  std::vector<double> written;  // NaN where blank
  std::vector<bool> hides;      // a very low number that stands for -inf
  std::vector<double> reach;    // a unit, with its slack
  std::vector<bool> wrong;
  std::size_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  std::size_t columns() const { return shape.back(); }
};

// The numbers that a learner may have started from: their own, or the lesson's.
class World {
 public:
  World(const Judgement& judgement, const Trace& trace) : judgement_(judgement), trace_(trace) {
    for (const LearnerNode& node : judgement.nodes) tensors_.push_back(node.own);
  }

  // The matrix at `at` exchanged for another, and the steps that were not handed in worked out anew
  // where they come from it.
  void exchange(std::size_t at, Tensor made, std::size_t last) {
    finish(made);
    made.dot_width = tensors_[at].dot_width;
    tensors_[at] = std::move(made);
    std::set<std::size_t> touched = {at};
    for (std::size_t i = 0; i <= last; ++i) {
      const LearnerNode& node = judgement_.nodes[i];
      const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](std::size_t k) { return touched.contains(k); });
      if (!follows || touched.contains(i) || (node.handed && i != last)) continue;
      tensors_[i] = worked(i);
      if (i != last) finish(tensors_[i]);
      touched.insert(i);
    }
  }

  Tensor worked(std::size_t index) const {
    const LearnerNode& node = judgement_.nodes[index];
    Call call{.step = node.name,
              .inputs = {},
              .names = {},
              .options = &node.step->options,
              .environment = &trace_.environment};
    for (const std::size_t input : node.inputs) {
      call.inputs.push_back(&tensors_[input]);
      call.names.push_back(judgement_.nodes[input].name);
    }
    return node.step->operation->compute(call);
  }

  // The same, or `otherwise` where no step can be made of these numbers.
  Tensor worked_or(const Tensor& otherwise, std::size_t index) const {
    try {
      return worked(index);
    } catch (const InputError&) {
      return otherwise;
    }
  }

  Expression arithmetic(std::size_t index, std::size_t m, std::size_t row,
                        std::size_t column) const {
    const LearnerNode& node = judgement_.nodes[index];
    Call call{.step = node.name,
              .inputs = {},
              .names = {},
              .options = &node.step->options,
              .environment = &trace_.environment};
    for (const std::size_t input : node.inputs) {
      call.inputs.push_back(&tensors_[input]);
      call.names.push_back(judgement_.nodes[input].name);
    }
    Cell<Expression> cell;
    cell.call = &call;
    cell.output = &tensors_[index];
    cell.matrix = m;
    cell.row = row;
    cell.column = column;
    return node.step->operation->cell.expression(cell);
  }

  // The provenance graph up to a step, for mistakes that look behind their operands.
  std::vector<Source> sources(std::size_t last) const {
    std::vector<Source> all(last + 1);
    for (std::size_t i = 0; i <= last; ++i) {
      const LearnerNode& node = judgement_.nodes[i];
      Source& source = all[i];
      source.name = node.name;
      source.tensor = &tensors_[i];
      source.environment = &trace_.environment;
      source.operation = node.step ? node.step->operation : nullptr;
      source.options = node.step ? &node.step->options : nullptr;
      for (const std::size_t input : node.inputs) source.inputs.push_back(&all[input]);
    }
    for (Source& source : all) source.all = all;
    return all;
  }

  // From now on, what is worked out on the way is cut to so many decimals, by rounding or
  // truncating.
  void cut_to(int decimals, double (*habit)(double)) {
    decimals_ = decimals;
    habit_ = habit;
  }

  void finish(Tensor& tensor) const {
    if (!habit_) return;
    constexpr double largest = 1e12;  // longer numbers have no decimals to cut
    const double power = std::pow(10.0, decimals_);
    for (double& x : tensor.values) {
      if (std::abs(x) < largest) x = habit_(x * power) / power;
    }
  }

  std::vector<Tensor>& tensors() { return tensors_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  const Judgement& judgement_;
  const Trace& trace_;
  std::vector<Tensor> tensors_;
  int decimals_ = 0;
  double (*habit_)(double) = nullptr;
};

// The steps before `node` that were not handed in and lead to it through others like them.
std::vector<std::size_t> unseen_before(const Judgement& judgement, std::size_t node) {
  std::set<std::size_t> unseen;
  std::vector<std::size_t> open = {node};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t input : judgement.nodes[at].inputs) {
      const LearnerNode& before = judgement.nodes[input];
      if (before.handed || !before.step || !unseen.insert(input).second) continue;
      open.push_back(input);
    }
  }
  return {unseen.begin(), unseen.end()};
}

// What a mistake's own numbers become at `node`, when it was made at `at`.
std::optional<Tensor> carried_to(const World& world, std::size_t at, Tensor made,
                                 std::size_t node) {
  if (at == node) return made;
  World changed = world;
  try {
    changed.exchange(at, std::move(made), node);
  } catch (const InputError&) {
    return {};
  }
  return changed.tensors()[node];
}

// A whole matrix that was not handed in may have been turned over or have lost its signs.
void collect_unseen_slips(const World& world, std::size_t at, std::size_t node, int decimals,
                          std::vector<Version>& versions) {
  const SlipContext context{.right = &world.tensors()[at],
                            .decimals = decimals,
                            .wrong_rows = {},
                            .arithmetic = {},
                            .near_wrong = {}};
  for (SlipVersion& slip : slip_versions(context)) {
    if (slip.reach != Reach::anything) continue;
    for (Tensor& tensor : slip.versions) {
      if (auto numbers = carried_to(world, at, std::move(tensor), node)) {
        versions.push_back({slip.id, slip.says, slip.hint, slip.reach, std::move(*numbers)});
      }
    }
  }
}

void collect_mistakes(const World& world, const Judgement& judgement, std::size_t node,
                      std::vector<Version>& versions) {
  std::vector<std::size_t> places = unseen_before(judgement, node);
  for (const std::size_t at : places) {
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
        auto numbers = carried_to(world, at, std::move(tensor), node);
        if (!numbers) continue;
        versions.push_back(
            {mistake.id, mistake.says, mistake.hint, Reach::anything, std::move(*numbers)});
      }
    }
  }
}

// Cells in a row or a column with a wrong one: only there can a line be explained.
std::vector<bool> near_wrong(const Puzzle& puzzle) {
  std::vector<bool> near(puzzle.written.size(), false);
  const std::size_t columns = puzzle.columns();
  const std::size_t size = puzzle.rows() * columns;
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (!puzzle.wrong[i]) continue;
    const std::size_t start = i - i % size;
    const std::size_t row = i % size / columns;
    for (std::size_t j = 0; j < columns; ++j) near[start + row * columns + j] = true;
    for (std::size_t r = 0; r < puzzle.rows(); ++r) near[start + r * columns + i % columns] = true;
  }
  return near;
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
    context.near_wrong = near_wrong(puzzle);
    context.wrong_rows.resize(right.matrices());
    const std::size_t size = right.rows() * right.columns();
    for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
      std::vector<std::size_t>& rows = context.wrong_rows[i / size];
      const std::size_t row = i % size / right.columns();
      if (puzzle.wrong[i] && (rows.empty() || rows.back() != row)) rows.push_back(row);
    }
  }
  constexpr std::size_t worth_the_time = 4096;
  if (node.step && same_shape &&
      static_cast<std::size_t>(std::count(context.near_wrong.begin(), context.near_wrong.end(),
                                          true)) <= worth_the_time) {
    context.arithmetic = [&](std::size_t m, std::size_t r, std::size_t c) {
      return world.arithmetic(index, m, r, c);
    };
  }
  for (SlipVersion& slip : slip_versions(context)) {
    for (Tensor& numbers : slip.versions) {
      versions.push_back({slip.id, slip.says, slip.hint, slip.reach, std::move(numbers)});
    }
  }
}

// How well a version explains the wrong cells.
struct Fit {
  std::size_t version = 0;
  std::size_t cells = 0;  // wrong ones, of those still open
  double misfit = 0;      // the largest distance in its part, in units
};

Shape squeezed(Shape shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

// A part of a matrix: cells from `start`, `count` of them, `stride` apart.
struct Part {
  std::size_t start, count, stride;
};

class Fitter {
 public:
  Fitter(const Puzzle& puzzle, const std::vector<Version>& versions)
      : puzzle_(puzzle), versions_(versions), open_(puzzle.wrong) {}

  std::vector<Diagnosis> run() {
    std::vector<Diagnosis> found;
    std::size_t total = count_open();
    while (total > 0) {
      const std::vector<Fit> best = best_fits(total);
      if (best.empty()) break;
      for (const Fit& fit : best) name(fit, found);
      close(best.front());
      const std::size_t left = count_open();
      if (left == total) break;
      total = left;
    }
    return found;
  }

 private:
  std::size_t count_open() const {
    return static_cast<std::size_t>(std::count(open_.begin(), open_.end(), true));
  }

  double distance(const Version& version, std::size_t i) const {
    const double x = puzzle_.written[i];
    const double y = version.numbers.values[i];
    if (x == y || (puzzle_.hides[i] && y == -std::numeric_limits<double>::infinity())) return 0;
    const double gap = std::abs(x - y);
    if (std::isnan(gap) || gap > puzzle_.reach[i]) return std::numeric_limits<double>::infinity();
    return gap / puzzle_.reach[i];
  }

  // The part's open wrong cells, if every attempted cell of it fits.
  std::optional<Fit> fit_of(std::size_t version, const Part& part) const {
    Fit fit{.version = version};
    for (std::size_t n = 0; n < part.count; ++n) {
      const std::size_t i = part.start + n * part.stride;
      if (std::isnan(puzzle_.written[i])) continue;
      const double gap = distance(versions_[version], i);
      if (std::isinf(gap)) return {};
      fit.misfit = std::max(fit.misfit, gap);
      if (open_[i]) ++fit.cells;
    }
    if (fit.cells == 0) return {};
    return fit;
  }

  void each_part(const Version& version, const std::function<void(const Part&)>& visit) const {
    const std::size_t all = puzzle_.written.size();
    const std::size_t rows = puzzle_.rows();
    const std::size_t columns = puzzle_.columns();
    const std::size_t size = rows * columns;
    if (version.reach == Reach::anything) {
      visit({0, all, 1});
      if (all > size) {
        for (std::size_t start = 0; start < all; start += size) visit({start, size, 1});
      }
    }
    for (std::size_t start = 0; start < all; start += size) {
      for (std::size_t r = 0; r < rows; ++r) visit({start + r * columns, columns, 1});
      for (std::size_t c = 0; c < columns; ++c) visit({start + c, rows, columns});
    }
    for (std::size_t i = 0; i < all; ++i) {
      if (open_[i]) visit({i, 1, 1});
    }
  }

  // The part in which the version explains the most, and fits best.
  std::optional<std::pair<Fit, Part>> best_part(std::size_t v) const {
    std::optional<std::pair<Fit, Part>> best;
    if (squeezed(versions_[v].numbers.shape()) != squeezed(puzzle_.shape)) return best;
    each_part(versions_[v], [&](const Part& part) {
      const auto fit = fit_of(v, part);
      if (!fit) return;
      const bool better = !best || fit->cells > best->first.cells ||
                          (fit->cells == best->first.cells && fit->misfit < best->first.misfit);
      if (better) best = {*fit, part};
    });
    return best;
  }

  // All that explain everything, best first; else those that explain the most of it.
  std::vector<Fit> best_fits(std::size_t total) {
    explained_.clear();
    std::vector<Fit> fits;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      const auto best = best_part(v);
      if (!best || best->first.cells < total) continue;
      fits.push_back(best->first);
      explained_.emplace(v, open_in(best->second));
    }
    if (fits.empty()) fits = most_explained(total);
    std::stable_sort(fits.begin(), fits.end(),
                     [](const Fit& a, const Fit& b) { return a.misfit < b.misfit; });
    return fits;
  }

  // Where no version explains everything: those that fit the most wrong cells one by one (a slip of
  // the pen: in one line), at least two of them and half of what is open.
  std::vector<Fit> most_explained(std::size_t total) {
    std::vector<Fit> fits;
    std::size_t most = std::max<std::size_t>(2, (total + 1) / 2);
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      if (squeezed(versions_[v].numbers.shape()) != squeezed(puzzle_.shape)) continue;
      std::vector<std::size_t> cells;
      if (versions_[v].reach == Reach::anything) {
        for (std::size_t i = 0; i < open_.size(); ++i) {
          if (open_[i] && !std::isinf(distance(versions_[v], i))) cells.push_back(i);
        }
      } else if (const auto best = best_part(v)) {
        cells = open_in(best->second);
      }
      if (cells.size() < most) continue;
      if (cells.size() > most) fits.clear();
      most = cells.size();
      Fit fit{.version = v, .cells = cells.size()};
      for (const std::size_t i : cells)
        fit.misfit = std::max(fit.misfit, distance(versions_[v], i));
      fits.push_back(fit);
      explained_[v] = std::move(cells);
    }
    return fits;
  }

  std::vector<std::size_t> open_in(const Part& part) const {
    std::vector<std::size_t> cells;
    for (std::size_t n = 0; n < part.count; ++n) {
      const std::size_t i = part.start + n * part.stride;
      if (open_[i]) cells.push_back(i);
    }
    return cells;
  }

  void name(const Fit& fit, std::vector<Diagnosis>& found) const {
    const Version& version = versions_[fit.version];
    const auto same = std::find_if(found.begin(), found.end(),
                                   [&](const Diagnosis& d) { return d.id == version.id; });
    if (same == found.end()) found.push_back({version.id, version.says, version.hint, fit.cells});
  }

  void close(const Fit& fit) {
    for (const std::size_t i : explained_.at(fit.version)) open_[i] = false;
  }

  const Puzzle& puzzle_;
  const std::vector<Version>& versions_;
  std::vector<bool> open_;
  std::map<std::size_t, std::vector<std::size_t>> explained_;  // by version, in this round
};

Puzzle puzzle_of(const LearnerNode& node) {
  const Handed& handed = node.handed ? *node.handed : *node.misshapen;
  Puzzle puzzle{.shape = handed.shape, .written = {}, .hides = {}, .reach = {}, .wrong = {}};
  for (std::size_t i = 0; i < handed.cells.size(); ++i) {
    const double x = handed.cells[i].value;
    puzzle.written.push_back(x);
    puzzle.hides.push_back(node.handed && std::isinf(node.own.values[i]));
    puzzle.wrong.push_back(node.handed ? node.verdicts[i] == Verdict::wrong : !std::isnan(x));
  }
  for (std::size_t i = 0; i < handed.cells.size(); ++i) puzzle.reach.push_back(node.units.reach(i));
  return puzzle;
}

// The learner's own numbers as they stand; the same with what was not handed in rounded as the
// rest; and the lesson's, where the learner's are those but for rounding.
std::vector<World> worlds_of(const Judgement& judgement, const Trace& trace, std::size_t node,
                             int decimals) {
  std::vector<World> worlds = {World(judgement, trace)};
  const auto unseen = [&](std::size_t i, std::size_t cell) {
    const LearnerNode& step = judgement.nodes[i];
    return step.step && (!step.handed || step.verdicts[cell] == Verdict::blank);
  };
  constexpr double (*habits[])(double) = {std::round, std::trunc};
  for (const auto habit : habits) {
    bool any = false;
    World rounded = worlds.front();
    rounded.cut_to(decimals, habit);
    for (std::size_t i = 0; i < node; ++i) {
      Tensor& own = rounded.tensors()[i];
      Tensor worked;
      for (std::size_t cell = 0; cell < own.values.size(); ++cell) {
        if (!unseen(i, cell)) continue;
        if (worked.values.empty())
          rounded.finish(worked = rounded.worked_or(judgement.nodes[i].own, i));
        own.values[cell] = worked.values[cell];
        any = true;
      }
    }
    if (!any) break;
    worlds.push_back(std::move(rounded));
  }
  const auto is_right = [&](const LearnerNode& n) {
    return !n.tainted || &n == &judgement.nodes[node];
  };
  if (std::all_of(judgement.nodes.begin(),
                  judgement.nodes.begin() + static_cast<std::ptrdiff_t>(node), is_right)) {
    World truth = worlds.front();
    for (std::size_t i = 0; i < node; ++i) truth.tensors()[i] = *judgement.nodes[i].truth;
    worlds.push_back(std::move(truth));
  }
  return worlds;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Judgement& judgement, const Trace& trace, std::size_t index) {
  const LearnerNode& node = judgement.nodes[index];
  const Puzzle puzzle = puzzle_of(node);
  std::vector<Version> versions;
  // Nobody slips with the pen in a matrix of a quarter of a million cells.
  constexpr std::size_t by_hand = 1 << 18;
  for (World& world : worlds_of(judgement, trace, index, node.units.decimals)) {
    const Tensor right = node.step ? world.worked_or(node.from_yours, index) : *node.truth;
    world.tensors()[index] = right;
    if (node.step) collect_mistakes(world, judgement, index, versions);
    if (puzzle.written.size() > by_hand) break;
    collect_slips(world, node, index, right, puzzle, versions);
  }
  return Fitter(puzzle, versions).run();
}

std::vector<std::string_view> slip_ids() { return all_slip_ids(); }

}  // namespace qkv
