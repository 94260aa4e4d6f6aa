#include <algorithm>
#include <cmath>
#include <optional>

#include "check/intake/layout.hpp"
#include "check/judge/conventions.hpp"
#include "ops/backward_rule.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline check {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

enum class RopeLayout { lessons, other };

// A reading with as many wrong cells as `too_many` is of no use, and not read to its end.
Reading read_as(std::shared_ptr<const Trace> trace, const Submission& submission, Turned turned,
                const CheckOptions& options, std::vector<std::string> scaled,
                std::size_t too_many = any_number, SquareHeads square = SquareHeads::first,
                RopeLayout layout = RopeLayout::lessons) {
  Reading reading{.trace = std::move(trace),
                  .handed = {},
                  .judgement = {},
                  .scaled = std::move(scaled),
                  .permuted = {},
                  .counted_from_end = false,
                  .units = {},
                  .in_other_units = {},
                  .turned = turned};
  reading.handed = arrange(submission, *reading.trace, turned);
  if (!options.strict && turned == Turned::no)
    take_heads_out(*reading.trace, reading.handed, square);
  if (layout == RopeLayout::other) {
    reading.permuted = take_other_rope_layout(*reading.trace, reading.handed);
    reading.wrong = any_number;
    if (reading.permuted.empty()) return reading;
  }
  reading.judgement = judge(*reading.trace, reading.handed, options, too_many);
  reading.wrong = reading.judgement.given_up ? any_number : reading.judgement.wrong_cells();
  return reading;
}

std::size_t wrong_in(const Reading& reading, const std::string& name) {
  for (const LearnerNode& node : reading.judgement.nodes) {
    if (node.name == name) return node.wrong_cells();
  }
  return 0;
}

// Whether most cells that tell the two readings of a step apart speak for the early one, wrong in
// the late one or farther from it: a single slip is no convention.
bool is_clear(const Reading& late, const Reading& early, const std::string& name) {
  const auto node_of = [&](const Reading& reading) {
    return std::ranges::find_if(reading.judgement.nodes,
                                [&](const LearnerNode& node) { return node.name == name; });
  };
  const LearnerNode& node = *node_of(late);
  const LearnerNode& other = *node_of(early);
  if (!node.handed || !other.handed) return true;
  std::size_t apart = 0;
  std::size_t for_early = 0;
  for (std::size_t i = 0; i < node.verdicts.size(); ++i) {
    const double gap = std::abs(node.truth->values[i] - other.truth->values[i]);
    if (node.verdicts[i] == Verdict::blank || !(gap > node.units.reach(i))) continue;
    const double own = node.own.values[i];
    const bool is_nearer =
        std::abs(own - other.from_yours.values[i]) < std::abs(own - node.from_yours.values[i]);
    ++apart;
    for_early += node.verdicts[i] == Verdict::wrong || is_nearer ? 1 : 0;
  }
  return 2 * for_early >= apart;
}

// The first of the steps that scaling early changes that was handed in, the scaling aside: that one
// must come out better. Who forgets to scale has scores that look as if they had been scaled
// before, but queries that do not.
std::string first_changed(const Reading& reading, const TakenElsewhere& early) {
  const auto is_there = [&](const std::string& name) {
    return std::any_of(reading.handed.begin(), reading.handed.end(),
                       [&](const Handed& handed) { return handed.name == name; });
  };
  const auto scaling = early.changed.end() - 1;
  const auto found = std::find_if(early.changed.begin(), scaling, is_there);
  return found == scaling ? "" : *found;
}

// Cells that don't stand as they should: wrong, or carried from one that is.
std::size_t cells_off(const Reading& reading) {
  std::size_t count = 0;
  for (const LearnerNode& node : reading.judgement.nodes) {
    count += static_cast<std::size_t>(std::ranges::count(node.verdicts, Verdict::carried));
  }
  return count + reading.wrong;
}

// Whether each of the turned queries and keys comes out better with its columns in the order of the
// other pairing: one alone is a mistake.
bool speaks_for_permuted(const Reading& permuted, const Reading& plain) {
  return !permuted.permuted.empty() && permuted.wrong < plain.wrong &&
         std::ranges::all_of(permuted.permuted, [&](const std::string& name) {
           const std::size_t before = wrong_in(plain, name);
           return before > 0 && 2 * wrong_in(permuted, name) <= before;
         });
}

// Whether ALiBi's distances come out better where they are counted from an end of the keys.
bool speaks_for_counted(const Reading& counted, const Reading& plain,
                        const std::vector<std::string>& changed) {
  return counted.wrong < plain.wrong && std::ranges::all_of(changed, [&](const std::string& name) {
           return 2 * wrong_in(counted, name) <= wrong_in(plain, name);
         });
}

// The lesson's trace made of another recipe.
std::shared_ptr<const Trace> trace_of(Recipe recipe, const Trace& lesson) {
  recipe.givens = lesson.givens;
  return std::make_shared<const Trace>(evaluate_all(std::move(recipe)).trace);
}

bool is_there(const Reading& reading, const std::string& name) {
  return std::ranges::any_of(reading.handed,
                             [&](const Handed& handed) { return handed.name == name; });
}

// Whether all that other units change comes out better in them, as far as it was handed in.
bool speaks_for_units(const Reading& other, const Reading& plain, const OtherUnits& units) {
  const auto is_handed = [&](const std::string& name) { return is_there(plain, name); };
  if (units.must_be_followed && std::ranges::none_of(units.following, is_handed)) return false;
  return other.wrong < plain.wrong &&
         std::ranges::all_of(units.changed, [&](const std::string& name) {
           return 2 * wrong_in(other, name) <= wrong_in(plain, name) &&
                  (wrong_in(plain, name) > 0 || !is_handed(name));
         });
}

// The submission read in other units; nothing where none comes out better.
std::optional<Reading> read_in_other_units(const Lesson& lesson, const Trace& lesson_trace,
                                           const Submission& submission,
                                           const CheckOptions& options, const Reading& plain) {
  for (OtherUnits& units : in_other_units(lesson.recipe)) {
    const auto trace = trace_of(std::move(units.recipe), lesson_trace);
    Reading other = read_as(trace, submission, plain.turned, options, {}, plain.wrong);
    if (!speaks_for_units(other, plain, units)) continue;
    other.units = units.id;
    other.in_other_units = std::move(units.changed);
    return other;
  }
  return {};
}

// How many matrices of the way there are wrong: gradients, which may be turned over for other
// reasons, don't count.
std::size_t wrong_on_the_way_there(const Reading& reading) {
  const auto& nodes = reading.judgement.nodes;
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const LearnerNode& node) {
    return node.step && !is_gradient(*node.step->operation) && node.wrong_cells() > 0;
  }));
}

// Turning everything over for the sake of one matrix that lies on its side would spoil the others,
// and a matrix that only fits as it lies speaks against it; so do wrong cells that are hardly
// fewer.
bool is_better(const Reading& turned, const Reading& plain) {
  const auto misshapen = [](const Reading& reading) {
    return std::ranges::count_if(reading.judgement.nodes,
                                 [](const LearnerNode& node) { return node.misshapen != nullptr; });
  };
  const std::size_t nodes = turned.judgement.wrong_nodes();
  const std::size_t plain_nodes = plain.judgement.wrong_nodes();
  return turned.wrong < plain.wrong &&
         wrong_on_the_way_there(turned) <= wrong_on_the_way_there(plain) &&
         (nodes < plain_nodes ||
          (nodes == plain_nodes && misshapen(turned) <= misshapen(plain) &&
           2 * turned.wrong <= plain.wrong && cells_off(turned) < cells_off(plain)));
}

// A reading with the columns of turned queries and keys in another order, or with ALiBi's distances
// counted from an end; nothing where neither comes out better.
std::optional<Reading> of_other_habits(const Lesson& lesson,
                                       const std::shared_ptr<const Trace>& trace,
                                       const Submission& submission, const CheckOptions& options,
                                       const Reading& plain, const Reading& turned) {
  for (const Reading* late : {&plain, &turned}) {
    if (!has_rope(*trace) || (late == &turned && !is_better(turned, plain))) continue;
    Reading permuted = read_as(trace, submission, late->turned, options, {}, late->wrong,
                               SquareHeads::first, RopeLayout::other);
    if (speaks_for_permuted(permuted, *late)) return permuted;
  }
  for (const TakenElsewhere& end : counted_from_ends(lesson.recipe, *trace)) {
    Reading counted =
        read_as(trace_of(end.recipe, *trace), submission, plain.turned, options, {}, plain.wrong);
    counted.counted_from_end = true;
    if (speaks_for_counted(counted, plain, end.changed)) return counted;
  }
  return {};
}

}  // namespace

Reading best_reading(const Lesson& lesson, const Trace& lesson_trace, const Submission& submission,
                     CheckOptions options) {
  const std::shared_ptr<const Trace> trace(std::shared_ptr<void>(), &lesson_trace);
  Reading plain = read_as(trace, submission, Turned::no, options, {});
  if (plain.wrong == 0 || options.strict) return plain;
  options.on_matrix = {};  // it has been told already
  Reading turned = read_as(trace, submission, Turned::yes, options, {}, plain.wrong);
  if (has_square_heads(*trace, plain.handed)) {
    Reading inside =
        read_as(trace, submission, Turned::no, options, {}, plain.wrong, SquareHeads::inside);
    if (is_better(inside, plain)) return inside;
  }
  if (auto other = of_other_habits(lesson, trace, submission, options, plain, turned)) {
    return std::move(*other);
  }
  for (const Reading* late : {&plain, &turned}) {
    if (late == &turned && !is_better(turned, plain)) continue;
    auto other = read_in_other_units(lesson, lesson_trace, submission, options, *late);
    if (other) return std::move(*other);
  }
  std::optional<Reading> best;  // of those that scale early
  for (const TakenElsewhere& early : taken_elsewhere(lesson.recipe, lesson_trace)) {
    const std::string first = first_changed(plain, early);
    for (const Reading* late : {&plain, &turned}) {
      const bool is_turned_for_nothing = late == &turned && !is_better(turned, plain);
      if (wrong_in(*late, first) == 0 || is_turned_for_nothing) continue;
      const auto other = trace_of(early.recipe, lesson_trace);
      const std::size_t to_beat = best ? best->wrong : std::min(plain.wrong, turned.wrong);
      Reading reading = read_as(other, submission, late->turned, options, early.changed, to_beat);
      const bool better =
          reading.wrong < to_beat && 2 * wrong_in(reading, first) <= wrong_in(*late, first);
      if (better && is_clear(*late, reading, first)) best = std::move(reading);
    }
  }
  if (best) return std::move(*best);
  return is_better(turned, plain) ? std::move(turned) : std::move(plain);
}

}  // namespace qkv::inline check
