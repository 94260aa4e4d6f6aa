#include "check/diagnose/candidates.hpp"

#include <tuple>

#include "tensor/matmul.hpp"

namespace qkv::inline check {
namespace {

// A part of a matrix: `count` cells from `start`, in runs of `run` adjacent cells, whose starts are
// `stride` apart. `open` of its wrong cells are unexplained so far.
struct Patch {
  std::size_t start = 0, count = 0, stride = 1, run = 1, open = 0;
  std::size_t cell(std::size_t n) const { return start + n / run * stride + n % run; }
  std::size_t end() const { return start + count / run * stride; }
  bool has(std::size_t cell) const {
    return cell >= start && cell < end() && (cell - start) % stride < run;
  }
};

// How a candidate matches the attempted cells of a part.
struct Match {
  std::size_t candidate = 0;
  Patch part = {};
  std::size_t cells = 0;         // open wrong cells that it explains
  std::size_t telling = 0;       // those that are evidence
  std::size_t zeros = 0;         // those of them that are 0
  std::size_t speaking = 0;      // those of them that another mistake would change
  std::size_t first = 0;         // the first of the explained cells
  std::size_t contradicted = 0;  // cells that do not match
  double misfit = 0;             // the largest distance of a matching cell, in units
  double nearer = 0;             // how much more the right numbers are off than its own, squared
  bool is_refuted = false;       // by right cells, where another makes all cells
  bool is_lone_cell = false;     // at most one cell tells it; right cells contradict it
  bool is_zeros_only = false;    // the same of an earlier step that only zeros tell
};

class Matcher {
 public:
  Matcher(const Mismatch& mismatch, const std::vector<Candidate>& candidates)
      : mismatch_(mismatch), candidates_(candidates), open_(mismatch.wrong) {}

  std::vector<Explanation> run() {
    std::vector<Explanation> found;
    // What leaves many cells unexplained may explain the others by chance.
    constexpr std::size_t times = 5;
    std::size_t doubtful = 0;
    for (count_open(); !open_cells_.empty();) {
      const std::size_t total = open_cells_.size();
      std::vector<Match> best = most_explained(total, true);
      const bool in_full = !best.empty();
      if (!in_full) best = most_explained(std::max<std::size_t>(2, (total + 1) / 2), false);
      if (best.empty()) break;
      sort(best);
      const std::size_t known = found.size();
      for (const Match& match : best) name(match, in_full, found);
      doubt(best, in_full, std::span(found).subspan(known));
      const std::vector<std::size_t> before = open_cells_;
      close(best.front());
      count_open();
      const bool is_scattered = !in_full && std::ranges::any_of(before, [&](std::size_t i) {
        return !open_[i] && open_in_row_[i / mismatch_.columns()] > 0;
      });
      if (is_scattered && best.front().cells < times * open_cells_.size())
        doubtful += best.front().cells;
    }
    for (Explanation& one : found)
      one.sure = one.sure && one.cells >= times * (open_cells_.size() + doubtful);
    return found;
  }

 private:
  const Candidate& candidate_of(const Match& match) const { return candidates_[match.candidate]; }

  // Counts the open cells of each matrix, row and column: a part can explain no more.
  void count_open() {
    const std::size_t rows = mismatch_.rows();
    const std::size_t columns = mismatch_.columns();
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

  // In units; infinite above one.
  double distance(const Candidate& candidate, std::size_t i) const {
    const double x = mismatch_.written[i];
    const double y = candidate.numbers[i];
    // Where no rounding occurs, a candidate explains nothing if it has the exact number, or if a
    // mistake has one that is rounded to it, and not to what was written.
    const double half = mismatch_.tolerance[i] / 2;
    const bool is_rounded = candidate.kind == CandidateKind::mistake && std::abs(x - y) > half;
    if (mismatch_.wrong[i] && !mismatch_.exact.empty() &&
        std::abs(y - mismatch_.exact[i]) <=
            (is_rounded ? std::max(mismatch_.floor, half) : mismatch_.floor))
      return infinity;
    if (mismatch_.is_masked[i] && y == -infinity) {  // -1e9 for -inf is no other mistake
      const bool is_right =
          mismatch_.wrong[i] && !mismatch_.right.empty() && mismatch_.right[i] == -infinity;
      return is_right ? infinity : 0;
    }
    if (x == y) return 0;
    const double gap = std::abs(x - y);
    const bool has_room = !candidate.room.empty();
    // Nor does an unchanged number that only matches by the rounding tolerance.
    const bool changes_nothing = has_room && mismatch_.wrong[i] && !mismatch_.right.empty() &&
                                 std::abs(y - mismatch_.right[i]) <= mismatch_.tolerance[i];
    if (changes_nothing) return infinity;
    const double tolerance = mismatch_.tolerance[i] + (has_room ? candidate.room[i] : 0);
    return gap <= tolerance ? gap / mismatch_.tolerance[i] : infinity;
  }

  // 0 and infinity result from too many mistakes to be evidence.
  bool is_evidence(const Candidate& candidate, std::size_t i) const {
    const double x = mismatch_.written[i], y = candidate.numbers[i];
    const bool is_small = std::min(std::abs(x), std::abs(y)) <= mismatch_.tolerance[i];
    if (x == 0 || (is_small && mismatch_.is_of_program)) return candidate.evidence.zeros && y == 0;
    return std::isfinite(x) || candidate.evidence.infinities;
  }

  void add_explained(Match& match, std::size_t i, double gap) const {
    match.misfit = std::max(match.misfit, gap);
    if (match.cells++ == 0) match.first = i;
    if (!mismatch_.right.empty()) {
      const double off = mismatch_.written[i] - mismatch_.right[i];
      const double own = mismatch_.written[i] - candidate_of(match).numbers[i];
      if (std::isfinite(off) && std::isfinite(own)) match.nearer += off * off - own * own;
    }
    if (!is_evidence(candidate_of(match), i)) return;
    ++match.telling;
    if (mismatch_.written[i] == 0) ++match.zeros;
    if (!mismatch_.are_shares || mismatch_.written[i] != 1) ++match.speaking;
  }

  // Empty if the candidate matches fewer open cells than `at_least`, or contradicts more than
  // `most` others. An unexplained wrong cell is a contradiction only if `all` must be explained.
  // Open cells go first: most candidates match few of them and are then done.
  std::optional<Match> match_of(std::size_t index, const Patch& part, std::size_t at_least,
                                std::size_t most, bool all) const {
    Match match{.candidate = index, .part = part};
    const Candidate& candidate = candidates_[index];
    std::size_t missed = 0;
    const std::size_t end = part.end();
    for (auto i = std::ranges::lower_bound(open_cells_, part.start);
         i != open_cells_.end() && *i < end; ++i) {
      if (!part.has(*i)) continue;
      const double gap = distance(candidate, *i);
      if (!std::isinf(gap)) {
        add_explained(match, *i, gap);
      } else if (all || ++missed + at_least > part.open) {
        return {};
      }
    }
    if (match.telling < candidate.evidence.least) return {};
    if (candidate.evidence.least > 1) most = 0;  // right cells refute a free number
    // Room makes no mistake fit that is farther from what was written than the right numbers are.
    if (!candidate.room.empty() && match.nearer < 0) return {};
    for (std::size_t n = 0; n < part.count; ++n) {
      const std::size_t i = part.cell(n);
      if (open_[i] || std::isnan(mismatch_.written[i])) continue;
      const double gap = distance(candidate, i);
      if (!std::isinf(gap)) {
        match.misfit = std::max(match.misfit, gap);
      } else if ((all || !mismatch_.wrong[i]) && ++match.contradicted > most) {
        return {};
      }
    }
    // In a matrix of zeros, the matching ones do not outweigh the others.
    if (match.contradicted > 0 && match.zeros == match.telling) return {};
    return match;
  }

  static Patch in_a_row(std::size_t start, std::size_t count) {
    return {start, count, count, count};
  }

  // Two runs, or with a period the whole and each of several matrices.
  std::vector<Patch> parts_of(const ExchangedRuns& runs) const {
    const auto [a, b, length, period] = runs;
    if (period == 0) return {{a * length, 2 * length, (b - a) * length, length}};
    const std::size_t all = mismatch_.written.size();
    const std::size_t size = mismatch_.rows() * mismatch_.columns();
    std::vector<Patch> parts = {in_a_row(0, all)};
    if (size == all) return parts;
    for (std::size_t start = 0; start < all; start += size) parts.push_back(in_a_row(start, size));
    return parts;
  }

  // True if at least half of the open cells of a run have the numbers of the run that it is
  // exchanged with.
  bool has_other_run(const Candidate& candidate, const Patch& part, std::size_t run) const {
    const auto is_own = [&](std::size_t i) {
      return part.has(i) && candidate.numbers.exchanged()->run_of(i) == run;
    };
    const auto is_explained = [&](std::size_t i) {
      return is_own(i) && !std::isinf(distance(candidate, i));
    };
    const auto explained = std::ranges::count_if(open_cells_, is_explained);
    return explained > 0 && 2 * explained >= std::ranges::count_if(open_cells_, is_own);
  }

  // Visits the parts that a candidate may explain, with at least so many open cells.
  template <class Visit>
  void each_part(const Candidate& candidate, std::size_t at_least, const Visit& visit) const {
    const std::size_t all = mismatch_.written.size();
    const std::size_t rows = mismatch_.rows();
    const std::size_t columns = mismatch_.columns();
    const std::size_t size = rows * columns;
    const auto offer = [&](Patch part, std::size_t open) {
      part.open = open;
      if (open >= at_least) visit(part);
    };
    if (const auto& exchanged = candidate.numbers.exchanged()) {
      for (const Patch& part : parts_of(*exchanged)) {
        // If only one has the other's numbers, they were not exchanged.
        if (has_other_run(candidate, part, exchanged->a) &&
            has_other_run(candidate, part, exchanged->b))
          offer(part, filtered(open_cells_, [&](std::size_t i) { return part.has(i); }).size());
      }
      return;
    }
    if (candidate.scope == SlipScope::anything) {
      offer(in_a_row(0, all), open_cells_.size());
      for (std::size_t m = 0; all > size && m * size < all; ++m) {
        offer(in_a_row(m * size, size), open_in_matrix_[m]);
      }
      if (candidate.evidence.least > 1) return;  // a free number is that of a whole matrix
      for (std::size_t r = 0; all > size && r < rows; ++r) {  // of all matrices
        std::size_t open = 0;
        for (std::size_t k = r; k < open_in_row_.size(); k += rows) open += open_in_row_[k];
        offer({r * columns, all / rows, size, columns}, open);
      }
    }
    for (std::size_t m = 0; m * size < all; ++m) {
      for (std::size_t r = m * rows; r < (m + 1) * rows; ++r)
        offer(in_a_row(r * columns, columns), open_in_row_[r]);
      for (std::size_t c = 0; c < columns; ++c)
        offer({m * size + c, rows, columns, 1}, open_in_column_[m * columns + c]);
    }
    if (at_least > 1) return;
    for (const std::size_t i : open_cells_) offer({i, 1, 1, 1}, 1);
  }

  // Returns the part where a candidate explains the most wrong cells. In full, all its attempted
  // cells match; of equal parts the nearer is best. Else half as many may contradict.
  std::optional<Match> best_part(std::size_t v, std::size_t at_least, bool in_full) const {
    std::optional<Match> best;
    each_part(candidates_[v], at_least, [&](const Patch& part) {
      const std::optional<Match> match =
          match_of(v, part, at_least, in_full ? 0 : part.open / 2, in_full);
      if (!match || 2 * match->contradicted > match->cells) return;
      const bool is_nearer =
          in_full && best && match->cells == best->cells && match->misfit < best->misfit;
      if (!best || match->cells > best->cells || is_nearer) best = match;
    });
    return best;
  }

  // Returns the candidates that explain the most open cells, and at least so many. Only what may
  // affect a whole matrix may do so in part.
  std::vector<Match> most_explained(std::size_t most, bool in_full) const {
    const Shape shape = without_leading_ones(mismatch_.shape);
    std::vector<Match> matches;
    for (std::size_t v = 0; v < candidates_.size(); ++v) {
      if (without_leading_ones(candidates_[v].numbers.shape()) != shape) continue;
      const bool is_whole = in_full || candidates_[v].scope != SlipScope::anything;
      const auto match = best_part(v, most, is_whole);
      if (!match) continue;
      if (match->cells > most) matches.clear();
      most = match->cells;
      matches.push_back(*match);
    }
    return matches;
  }

  // True if the mistake also makes every cell that is right.
  bool fits_everywhere(const Match& match) const {
    const std::size_t all = mismatch_.written.size();
    const Patch whole{0, all, all, all, open_cells_.size()};
    return match_of(match.candidate, whole, match.cells, 0, true).has_value();
  }

  // The smallest misfit is best, and all within a unit of it are as good. If a mistake makes all
  // cells, those that right cells contradict come last. Of the others, the more specific comes
  // first, then the nearer, then that of the later step. Differences below a millionth of a unit
  // are ignored: they come from the order of summation.
  void sort(std::vector<Match>& matches) const {
    const double best = std::ranges::min(matches, {}, &Match::misfit).misfit;
    std::erase_if(matches, [&](const Match& match) { return match.misfit > best + 1; });
    const auto is_mistake = [&](const Match& match) {
      return candidate_of(match).kind == CandidateKind::mistake;
    };
    for (Match& match : matches) {
      const bool is_early = candidate_of(match).step != mismatch_.step;
      const bool is_odd = (is_mistake(match) || is_early) && !fits_everywhere(match);
      match.is_refuted = is_mistake(match) && is_odd;
      match.is_lone_cell = match.telling <= 1 && is_odd;
      match.is_zeros_only = match.zeros == match.telling && is_early && is_odd;
    }
    if (std::ranges::none_of(
            matches, [&](const Match& match) { return is_mistake(match) && !match.is_refuted; })) {
      for (Match& match : matches) match.is_refuted = false;
    }
    constexpr double millionths = 1e6;
    // One wrong cell beside right ones is a slip rather than a mistake that would change them all.
    const auto is_right = [&](std::size_t i) {
      return !mismatch_.wrong[i] && std::isfinite(mismatch_.written[i]) &&
             mismatch_.written[i] != 0;
    };
    const bool is_slip_likelier =
        open_cells_.size() == 1 && places_where(mismatch_.written.size(), is_right).size() >= 2;
    const auto place = [&](const Match& match) {
      const Candidate& candidate = candidate_of(match);
      const bool is_late = is_slip_likelier && is_mistake(match) && !candidate.evidence.infinities;
      return std::tuple(match.is_refuted, is_late, candidate.kind,
                        std::round(match.misfit * millionths), ~candidate.step);
    };
    std::ranges::stable_sort(matches, {}, place);
    // What yields does so to slips of its own scope, and to all that may affect a whole matrix.
    const auto goes_first = [&](const Match& match) {
      return !candidate_of(match).evidence.yields && !match.is_zeros_only;
    };
    const bool over_lines = std::ranges::any_of(matches, goes_first);
    const bool over_all = std::ranges::any_of(matches, [&](const Match& match) {
      return goes_first(match) && candidate_of(match).scope == SlipScope::anything;
    });
    std::erase_if(matches, [&](const Match& match) {
      const Candidate& candidate = candidate_of(match);
      return candidate.evidence.yields &&
             (candidate.scope == SlipScope::line ? over_lines : over_all);
    });
  }

  // True if a mistake of the whole step leaves zeros here by rounding, beside all right cells.
  bool may_be_rounded_to_zero() const {
    return std::ranges::any_of(candidates_, [&](const Candidate& candidate) {
      const auto is_missed = [&](std::size_t i) {
        return !std::isnan(mismatch_.written[i]) && std::isinf(distance(candidate, i));
      };
      return candidate.kind == CandidateKind::mistake && !candidate.evidence.infinities &&
             candidate.numbers.tensor().values.size() == open_.size() &&
             places_where(open_.size(), is_missed).empty();
    });
  }

  // Right cells that contradict it leave a mistake unsure; so do zeros alone, and what the rounding
  // of missing steps leaves open, unless it explains all.
  void name(const Match& match, bool in_full, std::vector<Explanation>& found) const {
    const Candidate& candidate = candidate_of(match);
    // In units: a mistake of a missing step is sure within this much of the room for rounding.
    const double wide = match.speaking < enough ? 1 : 3;
    const auto id = [&](const Explanation& known) { return candidates_[known.candidate].id; };
    if (const auto known = std::ranges::find(found, candidate.id, id); known != found.end()) {
      const std::size_t before = candidates_[known->candidate].step;
      const bool is_elsewhere = std::set{before, candidate.step, mismatch_.step}.size() == 3;
      const bool explains_the_same = known->first == match.first && known->cells == match.cells;
      if (is_elsewhere && explains_the_same && candidate.kind == CandidateKind::mistake &&
          !match.is_refuted)
        known->or_other = match.candidate;
      // Of one slip in two lines the words are about the first.
      if (known->cells == match.cells && match.cells > 1 && known->first > match.first &&
          before == candidate.step && candidate.scope == SlipScope::line) {
        known->candidate = match.candidate;
        known->first = match.first;
      }
      return;
    }
    found.push_back(
        {.candidate = match.candidate,
         .cells = match.cells,
         .first = match.first,
         .sure = !match.is_refuted && !match.is_lone_cell && !match.is_zeros_only &&
                 match.contradicted == 0 && (in_full || candidate.room.empty()) &&
                 match.misfit <= wide &&
                 (in_full || match.zeros < match.telling || candidate.evidence.infinities) &&
                 (match.cells > 1 || !candidate.evidence.yields) &&
                 !(match.zeros == match.cells && may_be_rounded_to_zero()),
         .is_refuted = match.is_refuted});
  }

  // If several match equally well, few cells of evidence leave the mistake uncertain, and so do
  // cells that none of them explains, and room for the rounding of missing steps. So do a single
  // number that chance may make, and weights of 0 and 1 alone: too many mistakes make them. A
  // matrix of zeros may never have been filled in.
  void doubt(const std::vector<Match>& best, bool in_full, std::span<Explanation> named) const {
    const std::size_t most = std::ranges::max(best, {}, &Match::speaking).speaking;
    const bool is_one_number = is_one_factor(best.front());
    const std::size_t speaking = is_one_number ? std::min<std::size_t>(most, 1) : most;
    const auto likely = std::ranges::count(named, false, &Explanation::is_refuted);
    const bool is_slip = candidate_of(best.front()).kind == CandidateKind::slip;
    const auto is_filled_in = [](double x) { return x != 0 && !std::isnan(x); };
    const bool is_open = likely > 1 && (!in_full || !candidate_of(best.front()).room.empty());
    if (!is_open && (is_slip || std::ranges::any_of(mismatch_.written, is_filled_in)) &&
        (speaking >= enough || (speaking > 0 && likely < 2 && !may_be_chance(best.front()))))
      return;
    for (Explanation& one : named) one.sure = false;
  }

  // True if the wrong weights of one row are the right ones times one factor, which a slip in one
  // term may explain: any wrong sum divides them all by one number.
  bool is_one_factor(const Match& match) const {
    if (candidate_of(match).scope != SlipScope::line) return false;
    const auto is_open = [](std::size_t open) { return open > 0; };
    if (!mismatch_.are_shares || mismatch_.right.empty() || open_cells_.size() < 2 ||
        std::ranges::count_if(open_in_row_, is_open) != 1)
      return false;
    const auto right = [&](std::size_t i) { return mismatch_.right[i]; };
    const auto written = [&](std::size_t i) { return mismatch_.written[i]; };
    const double factor = nearest_factor(mapped(open_cells_, written), mapped(open_cells_, right));
    return std::ranges::all_of(open_cells_, [&](std::size_t i) {
      return std::abs(written(i) - factor * right(i)) <= mismatch_.tolerance[i];
    });
  }

  // True if only one number was written, or is wrong in a program's array, or one factor is wrong,
  // and so many candidates were tried that one of them may well be that near by chance. Of a
  // neighbouring cell, a digit may be the same.
  bool may_be_chance(const Match& match) const {
    const auto is_number = [](double x) { return !std::isnan(x); };
    const std::size_t cell = match.first;
    const double x = std::abs(mismatch_.written[cell]);
    const Candidate& candidate = candidate_of(match);
    if (match.cells == 1 && candidate.evidence.copies && x < 10 && x == std::floor(x)) return true;
    const bool is_alone = std::ranges::count_if(mismatch_.written, is_number) == 1;
    const bool is_lone = mismatch_.is_of_program && std::ranges::count(mismatch_.wrong, true) == 1;
    if (!is_alone && !is_lone && !is_one_factor(match)) return false;
    const double room = candidate.room.empty() ? 0 : candidate.room[cell];
    const double near = mismatch_.tolerance[cell] + room;
    const double hit = 2 * near * static_cast<double>(candidates_.size());
    constexpr double likely = 0.1;
    return x == 0 || std::isinf(x) || hit > likely * x;
  }

  void close(const Match& match) {
    for (std::size_t n = 0; n < match.part.count; ++n) {
      const std::size_t i = match.part.cell(n);
      if (open_[i] && !std::isinf(distance(candidate_of(match), i))) open_[i] = false;
    }
  }

  static constexpr std::size_t enough = 3;  // so many cells tell a mistake

  const Mismatch& mismatch_;
  const std::vector<Candidate>& candidates_;
  std::vector<bool> open_;  // wrong cells that are still unexplained
  std::vector<std::size_t> open_cells_;
  std::vector<std::size_t> open_in_matrix_, open_in_row_, open_in_column_;
};

}  // namespace

std::vector<Explanation> explain_mismatch(const Mismatch& mismatch,
                                          const std::vector<Candidate>& candidates) {
  return Matcher(mismatch, candidates).run();
}

// Rounding errors add up at random: 2.5 times their typical size covers nearly all. No tolerance is
// added if it approaches the expected number: anything would match.
void CandidateSet::allow_rounding(const UnsubmittedRange& unsubmitted,
                                  const std::deque<Assumption>& draws) {
  constexpr double nearly_all = 2.5;
  constexpr double too_much = 0.25;
  const std::span<Candidate> candidates =
      std::span(candidates_).subspan(unsubmitted.from, unsubmitted.to - unsubmitted.from);
  std::vector<std::vector<double>> squares(candidates.size(),
                                           std::vector<double>(mismatch_.written.size()));
  for (const Assumption& draw : draws) {
    WorkBudget enough{infinity};  // it is taken already
    std::vector<Candidate> perturbed;
    made_in({draw, *unsubmitted.origin, enough, perturbed});
    if (!std::ranges::equal(perturbed, candidates, {}, &Candidate::id, &Candidate::id)) return;
    for (std::size_t v = 0; v < candidates.size(); ++v) {
      const std::size_t size = candidates[v].numbers.tensor().values.size();
      if (size != squares[v].size() || perturbed[v].numbers.tensor().values.size() != size)
        continue;
      for (std::size_t i = 0; i < size; ++i) {
        const double gap = perturbed[v].numbers[i] - candidates[v].numbers[i];
        if (std::isfinite(gap)) squares[v][i] += gap * gap;
      }
    }
  }
  const std::span<const double> right = unsubmitted.assumption->right.values;
  const double expected = largest_magnitude(right);
  for (std::size_t v = 0; v < candidates.size(); ++v) {
    const std::span<const double> made = candidates[v].numbers.tensor().values;
    for (std::size_t i = 0; i < squares[v].size(); ++i) {
      double& room = squares[v][i];
      room = nearly_all * std::sqrt(room / static_cast<double>(draws.size()));
      if (room > too_much * expected) room = 0;
      // A mistake that changes nothing, such as a symmetric weight transposed, explains nothing.
      const bool is_right = made.size() == right.size() && i < made.size() && made[i] == right[i];
      if (mismatch_.wrong[i] && is_right) room = -infinity;
    }
    candidates[v].room = std::move(squares[v]);
  }
}

bool CandidateSet::allow_rounding() {
  if (mismatch_.written.size() > max_cells_with_slack) {
    for (const UnsubmittedRange& made : unsubmitted_) {
      for (std::size_t v = made.from; room_ > 0 && v < made.to; ++v)
        candidates_[v].room.assign(mismatch_.written.size(), room_);
    }
    return room_ > 0;
  }
  constexpr unsigned count = 10;
  double way = 0;
  for (std::size_t k = 0; k < index_; ++k) way += budget_.work[k];
  bool any = false;
  for (const Assumption& assumption : assumptions_) {
    std::deque<Assumption> draws;
    for (const UnsubmittedRange& unsubmitted : unsubmitted_) {
      if (unsubmitted.assumption != &assumption || unsubmitted.from == unsubmitted.to) continue;
      const double work = unsubmitted.work + (draws.empty() ? way : 0);
      if (!budget_.unsubmitted.take(count * work)) {
        ++untried_;
        continue;
      }
      for (unsigned draw = 0; draws.size() < count; ++draw)
        assume(assumption.numbers.perturbed(index_, draw), {}, draws);
      allow_rounding(unsubmitted, draws);
      any = true;
    }
  }
  return any;
}

}  // namespace qkv::inline check
