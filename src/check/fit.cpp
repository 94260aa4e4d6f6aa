#include "check/fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace qkv {
namespace {

// A part of a matrix: cells from `start`, `count` of them, `stride` apart.
struct Patch {
  std::size_t start = 0, count = 0, stride = 1;
  std::size_t cell(std::size_t n) const { return start + n * stride; }
  std::size_t end() const { return start + count * stride; }
  bool has(std::size_t cell) const {
    return cell >= start && cell < end() && (cell - start) % stride == 0;
  }
};

// A part, and how many wrong cells of it nothing explains yet.
struct OpenPart {
  Patch cells;
  std::size_t open;
};

// How a version fits the attempted cells of a part.
struct Fit {
  std::size_t version = 0;
  Patch part = {};
  std::size_t cells = 0;         // wrong ones, of those still open, that it explains
  std::size_t contradicted = 0;  // cells that it does not fit
  double misfit = 0;             // the largest distance of those that it fits, in units
};

Shape squeezed(Shape shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

class Fitter {
 public:
  Fitter(const Puzzle& puzzle, const std::vector<Version>& versions)
      : puzzle_(puzzle), versions_(versions), open_(puzzle.wrong) {}

  std::vector<Explanation> run() {
    std::vector<Explanation> found;
    for (count_open(); !open_cells_.empty(); count_open()) {
      const std::size_t total = open_cells_.size();
      std::vector<Fit> best = all_explained(total);
      if (best.empty()) best = most_explained(total);
      if (best.empty()) break;
      sort(best);
      for (const Fit& fit : best) name(fit, found);
      close(best.front());
    }
    return found;
  }

 private:
  // Where they are, and how many there are in each matrix, row and column: a part explains no more.
  void count_open() {
    const std::size_t rows = puzzle_.rows();
    const std::size_t columns = puzzle_.columns();
    const std::size_t matrices = open_.size() / (rows * columns);
    open_in_matrix_.assign(matrices, 0);
    open_in_row_.assign(matrices * rows, 0);
    open_in_column_.assign(matrices * columns, 0);
    open_cells_.clear();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i]) continue;
      const std::size_t matrix = i / (rows * columns);
      open_cells_.push_back(i);
      ++open_in_matrix_[matrix];
      ++open_in_row_[i / columns];
      ++open_in_column_[matrix * columns + i % columns];
    }
  }

  bool has_shape(const Version& version) const {
    return squeezed(version.numbers.shape()) == squeezed(puzzle_.shape);
  }

  // In units; infinite where it is more than one.
  double distance(const Version& version, std::size_t i) const {
    const double x = puzzle_.written[i];
    const double y = version.numbers[i];
    if (x == y || (puzzle_.hides[i] && y == -infinity)) return 0;
    const double gap = std::abs(x - y);
    return gap <= puzzle_.reach[i] ? gap / puzzle_.reach[i] : infinity;
  }

  // Nothing where the version fits fewer open cells than `at_least`, or contradicts more of the
  // others than `most`. A wrong cell that stays unexplained contradicts nothing, unless all are to
  // be explained. Open cells go first: most versions fit few of them, and need no other look.
  std::optional<Fit> fit_of(std::size_t version, const OpenPart& part, std::size_t at_least,
                            std::size_t most, bool all) const {
    Fit fit{.version = version, .part = part.cells};
    const Version& numbers = versions_[version];
    std::size_t missed = 0;
    const std::size_t end = part.cells.end();
    for (auto i = std::ranges::lower_bound(open_cells_, part.cells.start);
         i != open_cells_.end() && *i < end; ++i) {
      if (!part.cells.has(*i)) continue;
      const double gap = distance(numbers, *i);
      if (!std::isinf(gap)) {
        fit.misfit = std::max(fit.misfit, gap);
        ++fit.cells;
      } else if (all || ++missed + at_least > part.open) {
        return {};
      }
    }
    for (std::size_t n = 0; n < part.cells.count; ++n) {
      const std::size_t i = part.cells.cell(n);
      if (open_[i] || std::isnan(puzzle_.written[i])) continue;
      const double gap = distance(numbers, i);
      if (!std::isinf(gap)) {
        fit.misfit = std::max(fit.misfit, gap);
      } else if ((all || !puzzle_.wrong[i]) && ++fit.contradicted > most) {
        return {};
      }
    }
    return fit;
  }

  // The parts that a version may explain and that have at least so many open cells.
  template <class Visit>
  void each_part(const Version& version, std::size_t at_least, const Visit& visit) const {
    const std::size_t all = puzzle_.written.size();
    const std::size_t rows = puzzle_.rows();
    const std::size_t columns = puzzle_.columns();
    const std::size_t size = rows * columns;
    const auto offer = [&](const Patch& cells, std::size_t open) {
      if (open >= at_least) visit(OpenPart{cells, open});
    };
    if (version.reach == Reach::anything) {
      offer({0, all, 1}, open_cells_.size());
      for (std::size_t m = 0; all > size && m * size < all; ++m) {
        offer({m * size, size, 1}, open_in_matrix_[m]);
      }
    }
    for (std::size_t m = 0; m * size < all; ++m) {
      for (std::size_t r = m * rows; r < (m + 1) * rows; ++r) {
        offer({r * columns, columns, 1}, open_in_row_[r]);
      }
      for (std::size_t c = 0; c < columns; ++c) {
        offer({m * size + c, rows, columns}, open_in_column_[m * columns + c]);
      }
    }
    if (at_least > 1) return;
    for (const std::size_t i : open_cells_) offer({i, 1, 1}, 1);
  }

  // The part in which every attempted cell fits and the most wrong ones are explained.
  std::optional<Fit> best_part(std::size_t v, std::size_t at_least) const {
    std::optional<Fit> best;
    each_part(versions_[v], at_least, [&](const OpenPart& part) {
      const std::optional<Fit> fit = fit_of(v, part, at_least, 0, true);
      const bool better = fit && (!best || fit->cells > best->cells ||
                                  (fit->cells == best->cells && fit->misfit < best->misfit));
      if (better) best = fit;
    });
    return best;
  }

  std::vector<Fit> all_explained(std::size_t total) const {
    std::vector<Fit> fits;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      if (!has_shape(versions_[v])) continue;
      if (const auto fit = best_part(v, total)) fits.push_back(*fit);
    }
    return fits;
  }

  // The part in which a version explains the most wrong cells one by one, though not all.
  std::optional<Fit> loose_part(std::size_t v, std::size_t at_least) const {
    std::optional<Fit> best;
    each_part(versions_[v], at_least, [&](const OpenPart& part) {
      const std::optional<Fit> fit = fit_of(v, part, at_least, part.open / 2, false);
      const bool enough = fit && 2 * fit->contradicted <= fit->cells;
      if (enough && (!best || fit->cells > best->cells)) best = fit;
    });
    return best;
  }

  std::vector<Fit> most_explained(std::size_t total) const {
    std::vector<Fit> fits;
    std::size_t most = std::max<std::size_t>(2, (total + 1) / 2);
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      if (!has_shape(versions_[v])) continue;
      const auto fit =
          versions_[v].reach == Reach::anything ? loose_part(v, most) : best_part(v, most);
      if (!fit) continue;
      if (fit->cells > most) fits.clear();
      most = fit->cells;
      fits.push_back(*fit);
    }
    return fits;
  }

  void sort(std::vector<Fit>& fits) const {
    std::stable_sort(fits.begin(), fits.end(), [&](const Fit& a, const Fit& b) {
      const VersionKind kind_a = versions_[a.version].kind;
      const VersionKind kind_b = versions_[b.version].kind;
      return kind_a != kind_b ? kind_a == VersionKind::mistake : a.misfit < b.misfit;
    });
  }

  void name(const Fit& fit, std::vector<Explanation>& found) const {
    const auto same = [&](const Explanation& known) {
      return versions_[known.version].id == versions_[fit.version].id;
    };
    if (std::any_of(found.begin(), found.end(), same)) return;
    found.push_back({fit.version, fit.cells});
  }

  void close(const Fit& fit) {
    for (std::size_t n = 0; n < fit.part.count; ++n) {
      const std::size_t i = fit.part.cell(n);
      if (open_[i] && !std::isinf(distance(versions_[fit.version], i))) open_[i] = false;
    }
  }

  const Puzzle& puzzle_;
  const std::vector<Version>& versions_;
  std::vector<bool> open_;  // wrong cells that nothing explains yet
  std::vector<std::size_t> open_cells_;
  std::vector<std::size_t> open_in_matrix_, open_in_row_, open_in_column_;
};

}  // namespace

std::vector<Explanation> explanations(const Puzzle& puzzle, const std::vector<Version>& versions) {
  return Fitter(puzzle, versions).run();
}

}  // namespace qkv
