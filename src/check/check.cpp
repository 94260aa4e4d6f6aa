#include "check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "check/conventions.hpp"
#include "check/rounded.hpp"
#include "tensor/compare.hpp"
#include "trace/evaluate.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::string_view outcomes[] = {"correct", "wrong", "incomplete"};

// One way to read the submission, and how it comes out.
struct Reading {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or that of an accepted convention
  std::vector<Handed> handed;
  Judgement judgement;
  std::vector<std::string> scaled;  ///< steps that a convention of early scaling has changed
  Turned turned = Turned::no;
  std::size_t wrong = 0;
};

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

// A reading with as many wrong cells as `too_many` is of no use, and not read to its end.
Reading read_as(std::shared_ptr<const Trace> trace, const Submission& submission, Turned turned,
                const CheckOptions& options, std::vector<std::string> scaled,
                std::size_t too_many = any_number) {
  Reading reading{.trace = std::move(trace),
                  .handed = {},
                  .judgement = {},
                  .scaled = std::move(scaled),
                  .turned = turned};
  reading.handed = arrange(submission, *reading.trace, turned);
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

// Turning everything over for the sake of one matrix that lies on its side would spoil the others,
// and a matrix that only fits as it lies speaks against it.
bool is_better(const Reading& turned, const Reading& plain) {
  const auto misshapen = [](const Reading& reading) {
    return std::ranges::count_if(reading.judgement.nodes,
                                 [](const LearnerNode& node) { return node.misshapen != nullptr; });
  };
  const std::size_t nodes = turned.judgement.wrong_nodes();
  const std::size_t plain_nodes = plain.judgement.wrong_nodes();
  return turned.wrong < plain.wrong &&
         (nodes < plain_nodes || (nodes == plain_nodes && misshapen(turned) <= misshapen(plain) &&
                                  cells_off(turned) < cells_off(plain)));
}

// The plain reading, unless a convention leaves fewer wrong cells.
Reading best_reading(const Lesson& lesson, const Trace& lesson_trace, const Submission& submission,
                     CheckOptions options) {
  const std::shared_ptr<const Trace> trace(std::shared_ptr<void>(), &lesson_trace);
  Reading plain = read_as(trace, submission, Turned::no, options, {});
  if (plain.wrong == 0 || options.strict) return plain;
  options.on_matrix = {};  // it has been told already
  Reading turned = read_as(trace, submission, Turned::yes, options, {}, plain.wrong);
  std::optional<Reading> best;  // of those that scale early
  for (const TakenElsewhere& early : taken_elsewhere(lesson.recipe, lesson_trace)) {
    const std::string first = first_changed(plain, early);
    for (const Reading* late : {&plain, &turned}) {
      const bool is_turned_for_nothing = late == &turned && !is_better(turned, plain);
      if (wrong_in(*late, first) == 0 || is_turned_for_nothing) continue;
      Recipe recipe = early.recipe;
      recipe.givens = lesson_trace.givens;
      const auto other = std::make_shared<const Trace>(evaluate_all(std::move(recipe)).trace);
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

Verdict worst_of(const std::vector<Verdict>& verdicts) {
  constexpr Verdict order[] = {Verdict::wrong, Verdict::carried, Verdict::rounding,
                               Verdict::correct};
  for (const Verdict verdict : order) {
    if (std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end()) return verdict;
  }
  return Verdict::blank;
}

VerdictCounts counts_of(const std::vector<Verdict>& verdicts) {
  const auto count = [&](Verdict wanted) {
    return static_cast<std::size_t>(std::count(verdicts.begin(), verdicts.end(), wanted));
  };
  return {count(Verdict::correct), count(Verdict::rounding), count(Verdict::carried),
          count(Verdict::wrong), count(Verdict::blank)};
}

// The numbers as they were written: a mask of -1e9 is shown as such.
Tensor written_numbers(const LearnerNode& node) {
  std::vector<double> numbers(node.own.values.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = node.handed->cells[i].value;
  Tensor tensor = node.own;
  tensor.values = std::move(numbers);
  return tensor;
}

// The trace with the learner's own numbers in it, for the arithmetic of a wrong cell.
Trace learners_trace(const Reading& reading) {
  Trace trace = *reading.trace;
  for (const LearnerNode& node : reading.judgement.nodes) {
    for (Given& given : trace.givens) {
      if (given.name == node.name) given.tensor.values = node.own.values;
    }
    for (Step& step : trace.steps) {
      if (step.name == node.name) step.output.values = node.own.values;
    }
  }
  return trace;
}

CellReference cell_at(const LearnerNode& node, std::size_t i) {
  const std::size_t columns = node.own.columns();
  const std::size_t size = node.own.rows() * columns;
  return {.name = node.name, .matrix = i / size, .row = i % size / columns, .column = i % columns};
}

// The first wrong cell as people read the matrix.
std::optional<std::size_t> first_wrong_cell(const LearnerNode& node, Convention convention) {
  const bool turned = is_turned(node.own, convention);
  const std::size_t rows = node.own.rows();
  const std::size_t columns = node.own.columns();
  for (std::size_t n = 0; n < node.verdicts.size(); ++n) {
    std::size_t i = n;
    if (turned) {
      const std::size_t within = n % (rows * columns);
      i = n - within + within % rows * columns + within / rows;
    }
    if (node.verdicts[i] == Verdict::wrong) return i;
  }
  return {};
}

FirstWrong first_wrong_of(const LearnerNode& node, std::size_t i) {
  // Whole numbers were wanted exactly: then what they should be is told exactly, too.
  const int digits = node.units.measure == Measure::whole     ? 12
                     : node.units.measure == Measure::rounded ? 2
                                                              : node.units.decimals;
  const Numeral& given = node.handed->cells[i];
  return {.cell = cell_at(node, i),
          .given = given.value,
          .text = given.unread > 0 ? node.handed->unread[given.unread - 1U] : "",
          .expected = rounded(node.truth->values[i], digits),
          .from_yours = rounded(node.from_yours.values[i], digits)};
}

std::optional<std::string> convention_of(const Reading& reading, const LearnerNode& node,
                                         const Trace& lesson) {
  if (node.finite_mask) return "convention.finite-mask";
  const bool scaled =
      std::find(reading.scaled.begin(), reading.scaled.end(), node.name) != reading.scaled.end();
  if (scaled && lesson.at(node.name).values != node.truth->values) {
    return "convention.scaled-queries";
  }
  if (scaled && node.step && node.step->options.has("by")) return "convention.scaled-queries";
  if (reading.turned == Turned::yes && node.truth->rank() >= 2) return "convention.columns";
  return {};
}

// Whether a matrix of the wrong shape holds what it should, cell after cell. Tokens in columns are
// turned over inside, whatever shape they have: of them nothing is said.
bool has_right_numbers(const Reading& reading, const LearnerNode& node) {
  const Cells& cells = node.misshapen->cells;
  const bool in_order =
      reading.trace->convention == Convention::rows && reading.turned == Turned::no;
  if (!in_order || cells.size() != node.truth->values.size()) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Tolerance own{.absolute = node.units.reach(i)};
    if (std::isnan(cells[i].value) || !is_close(cells[i].value, node.truth->values[i], own)) {
      return false;
    }
  }
  return true;
}

// That all of a matrix is wrong says nothing, unless it has something in common that no mistake
// tells.
std::optional<Region> region_worth_telling(const LearnerNode& node,
                                           const std::vector<Diagnosis>& mistakes) {
  std::optional<Region> region = region_of(node);
  if (!region || !region->is_whole) return region;
  const bool told = !mistakes.empty() && mistakes.front().cells == region->wrong;
  if ((told && region->what != Region::What::offset) || region->what == Region::What::anything)
    return {};
  return region;
}

StepReport report_of(const Reading& reading, std::size_t index, const Trace& lesson) {
  const LearnerNode& node = reading.judgement.nodes[index];
  StepReport report;
  report.step = node.name;
  report.right_shape = node.truth->shape();
  if (node.misshapen) {
    report.verdict = Verdict::shape;
    report.digits = most_decimals(*node.misshapen);
    report.wrong_shape = node.misshapen->shape;
    report.cells.wrong = static_cast<std::size_t>(
        std::count_if(node.misshapen->cells.begin(), node.misshapen->cells.end(),
                      [](const Numeral& cell) { return !cell.is_blank(); }));
    report.mistakes = diagnose(reading.judgement, *reading.trace, index);
    report.only_the_shape = report.mistakes.empty() && has_right_numbers(reading, node);
    return report;
  }
  report.verdict = worst_of(node.verdicts);
  report.digits = node.units.decimals;
  report.measure = node.units.measure;
  report.unit = node.units.largest();
  report.convention = convention_of(reading, node, lesson);
  report.cells = counts_of(node.verdicts);
  report.written = written_numbers(node);
  report.verdicts = node.verdicts;
  for (std::size_t i = 0; i < node.handed->cells.size(); ++i) {
    const std::size_t unread = node.handed->cells[i].unread;
    if (unread > 0) report.unread.emplace(i, node.handed->unread[unread - 1]);
  }
  if (const auto cell = first_wrong_cell(node, reading.trace->convention)) {
    report.first = first_wrong_of(node, *cell);
    report.mistakes = diagnose(reading.judgement, *reading.trace, index);
    report.region = region_worth_telling(node, report.mistakes);
  }
  return report;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  return outcomes[static_cast<std::size_t>(outcome)];
}

CheckReport check(const Lesson& lesson, const Trace& trace, const Submission& submission,
                  const CheckOptions& options) {
  const Reading reading = best_reading(lesson, trace, submission, options);
  CheckReport report{.submission = submission.name,
                     .first_wrong = {},
                     .steps = {},
                     .missing = {},
                     .notes = submission.notes,
                     .own = {}};
  bool complete = true;
  for (std::size_t i = 0; i < reading.judgement.nodes.size(); ++i) {
    const LearnerNode& node = reading.judgement.nodes[i];
    if (options.on_matrix) options.on_matrix();
    const bool is_there = node.handed || node.misshapen;
    if (!is_there) {
      if (node.step && trace.find_step(node.name)) report.missing.push_back(node.name);
      continue;
    }
    StepReport step = report_of(reading, i, trace);
    for (const std::size_t m : node.handed ? node.handed->absent : std::vector<std::size_t>()) {
      report.missing.push_back(fmt::format("{} of {}", matrix_name(*node.truth, m), node.name));
    }
    const bool bad = step.verdict == Verdict::wrong || step.verdict == Verdict::shape;
    if (!node.step && !bad) continue;  // a given that is copied right says nothing
    complete = complete && step.cells.blank == 0;
    if (bad && !report.first_wrong) report.first_wrong = step.step;
    report.steps.push_back(std::move(step));
  }
  complete = complete && report.missing.empty();
  report.outcome = report.first_wrong ? Outcome::wrong
                   : complete         ? Outcome::correct
                                      : Outcome::incomplete;
  report.own = learners_trace(reading);
  return report;
}

}  // namespace qkv
