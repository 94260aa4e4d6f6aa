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
    std::size_t total = count_open();
    while (total > 0) {
      std::vector<Fit> best = all_explained(total);
      if (best.empty()) best = most_explained(total);
      if (best.empty()) break;
      sort(best);
      for (const Fit& fit : best) name(fit, found);
      close(best.front());
      total = count_open();
    }
    return found;
  }

 private:
  std::size_t count_open() const {
    return static_cast<std::size_t>(std::count(open_.begin(), open_.end(), true));
  }

  bool has_shape(const Version& version) const {
    return squeezed(version.numbers.shape()) == squeezed(puzzle_.shape);
  }

  // In units; infinite where it is more than one.
  double distance(const Version& version, std::size_t i) const {
    const double x = puzzle_.written[i];
    const double y = version.numbers.values[i];
    if (x == y || (puzzle_.hides[i] && y == -infinity)) return 0;
    const double gap = std::abs(x - y);
    return gap <= puzzle_.reach[i] ? gap / puzzle_.reach[i] : infinity;
  }

  // Stops counting where more than `most` cells are contradicted.
  Fit fit_of(std::size_t version, const Patch& part, std::size_t most) const {
    Fit fit{.version = version, .part = part};
    for (std::size_t n = 0; n < part.count && fit.contradicted <= most; ++n) {
      const std::size_t i = part.cell(n);
      if (std::isnan(puzzle_.written[i])) continue;
      const double gap = distance(versions_[version], i);
      if (std::isinf(gap)) {
        // A wrong cell that stays unexplained contradicts nothing, unless all are to be explained.
        if (!puzzle_.wrong[i] || most == 0) ++fit.contradicted;
        continue;
      }
      fit.misfit = std::max(fit.misfit, gap);
      if (open_[i]) ++fit.cells;
    }
    return fit;
  }

  // The parts that a version may explain and that have at least so many cells.
  template <class Visit>
  void each_part(const Version& version, std::size_t at_least, const Visit& visit) const {
    const std::size_t all = puzzle_.written.size();
    const std::size_t rows = puzzle_.rows();
    const std::size_t columns = puzzle_.columns();
    const std::size_t size = rows * columns;
    const auto offer = [&](const Patch& part) {
      if (part.count >= at_least) visit(part);
    };
    if (version.reach == Reach::anything) {
      offer({0, all, 1});
      for (std::size_t start = 0; all > size && start < all; start += size) {
        offer({start, size, 1});
      }
    }
    for (std::size_t start = 0; start < all && std::max(rows, columns) >= at_least; start += size) {
      for (std::size_t r = 0; r < rows; ++r) offer({start + r * columns, columns, 1});
      for (std::size_t c = 0; c < columns; ++c) offer({start + c, rows, columns});
    }
    for (std::size_t i = 0; i < all && at_least <= 1; ++i) {
      if (open_[i]) offer({i, 1, 1});
    }
  }

  // The part in which every attempted cell fits and the most wrong ones are explained.
  std::optional<Fit> best_part(std::size_t v, std::size_t at_least) const {
    std::optional<Fit> best;
    each_part(versions_[v], at_least, [&](const Patch& part) {
      const Fit fit = fit_of(v, part, 0);
      if (fit.contradicted > 0 || fit.cells < at_least) return;
      const bool better = !best || fit.cells > best->cells ||
                          (fit.cells == best->cells && fit.misfit < best->misfit);
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
    each_part(versions_[v], at_least, [&](const Patch& part) {
      const Fit fit = fit_of(v, part, part.count);
      const bool enough = fit.cells >= at_least && 2 * fit.contradicted <= fit.cells;
      if (enough && (!best || fit.cells > best->cells)) best = fit;
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
};

}  // namespace

std::vector<Explanation> explanations(const Puzzle& puzzle, const std::vector<Version>& versions) {
  return Fitter(puzzle, versions).run();
}

}  // namespace qkv
