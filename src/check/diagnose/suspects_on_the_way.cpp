#include <algorithm>
#include <cmath>

#include "check/diagnose/candidates.hpp"
#include "tensor/row_kernels.hpp"

/// Mistakes in steps that were not handed in: they show at the next one that was.
namespace qkv {

// A whole matrix that was not handed in may have been turned over or have lost its signs.
void Suspects::collect_unseen_slips(const Hypothesis& hypothesis, std::size_t at,
                                    std::vector<Version>& versions) const {
  const SlipContext context{.right = &hypothesis.tensor(at),
                            .decimals = node_.units.decimals,
                            .wrong_rows = {},
                            .arithmetic = {},
                            .near_wrong = {}};
  for (SlipVersion& slip : slip_versions(context, Reach::anything, By::hand)) {
    if (slip.id == "slip.decimal-point")
      continue;  // a slip of a cell; a softmax makes 1 and 0 of all
    for (const Supposed& made : slip.versions) {
      if (auto numbers = hypothesis.carried_to(at, made.tensor(), index_)) {
        versions.push_back(
            {slip.id, slip.says, slip.hint, VersionKind::slip, slip.reach, std::move(*numbers)});
      }
    }
  }
}

std::vector<Version> Suspects::unseen_versions(const Hypothesis& hypothesis) const {
  std::vector<Version> versions;
  for (const std::size_t at : unseen_before_) {
    if (!is_by_hand(hypothesis.tensor(at).values.size())) continue;
    collect_unseen_slips(hypothesis, at, versions);
  }
  collect_mistakes(hypothesis, unseen_before_, versions);
  return versions;
}

// Rounding errors add up by chance: two and a half times their usual size holds nearly all. Room of
// the size of what is due is none: anything would fit.
bool Suspects::leave_room() {
  constexpr unsigned draws = 10;
  constexpr double nearly_all = 2.5;
  constexpr double too_much = 0.25;
  bool any = false;
  for (const Unseen& unseen : unseen_) {
    const Hypothesis& base = hypotheses_[unseen.hypothesis];
    const std::span<Version> versions =
        std::span(versions_).subspan(unseen.from, unseen.to - unseen.from);
    for (Version& version : versions) version.room.assign(puzzle_.written.size(), 0);
    for (unsigned draw = 0; draw < draws && !versions.empty(); ++draw) {
      const std::vector<Version> shaken = unseen_versions(base.shaken(index_, draw));
      if (!std::ranges::equal(shaken, versions, {}, &Version::id, &Version::id)) {
        for (Version& version : versions) version.room.clear();
        break;
      }
      for (std::size_t v = 0; v < versions.size(); ++v) {
        const std::size_t size = versions[v].numbers.tensor().values.size();
        if (size != puzzle_.written.size() || shaken[v].numbers.tensor().values.size() != size)
          continue;
        for (std::size_t i = 0; i < versions[v].room.size(); ++i) {
          const double gap = shaken[v].numbers[i] - versions[v].numbers[i];
          if (std::isfinite(gap)) versions[v].room[i] += gap * gap;
        }
      }
    }
    const double due = largest_magnitude(rights_[unseen.hypothesis].values);
    for (Version& version : versions) {
      for (double& room : version.room) {
        room = nearly_all * std::sqrt(room / draws);
        if (room > too_much * due) room = 0;
      }
    }
    any = any || !versions.empty();
  }
  return any;
}

}  // namespace qkv
