#include "check/check.hpp"

#include "check/judge/conventions.hpp"
#include "check/judge/room.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline check {
namespace {

constexpr std::int16_t all_decimals = 15;

// A matrix of whole numbers is shown without decimals.
SubmittedArray shown_operand(const std::string& name, const Tensor& tensor, int digits) {
  const auto is_whole = [](double x) { return !std::isfinite(x) || x == std::trunc(x); };
  const int decimals = std::ranges::all_of(tensor.values, is_whole) ? 0 : digits;
  Numerals cells;
  for (const double x : tensor.values) {
    cells.push_back(
        {.value = rounded(x, decimals), .decimals = static_cast<std::int16_t>(decimals)});
  }
  return {.name = name, .shape = tensor.shape(), .cells = std::move(cells)};
}

// Returns the operands of a step, and the answered cell; the others are blank.
std::vector<SubmittedArray> answer_submission(const Trace& trace, const Step& step,
                                              const CellReference& cell, const Numeral& answer,
                                              int digits) {
  std::vector<SubmittedArray> submitted = filtered(
      trace.steps, [&](const Step& before) { return contains(step.of, before.name); },
      [&](const Step& before) { return shown_operand(before.name, before.output, digits); });
  Numerals cells(step.output.values.size(), {.value = std::numeric_limits<double>::quiet_NaN()});
  cells[step.output.index(cell.matrix, cell.row, cell.column)] = answer;
  submitted.push_back({.name = cell.name, .shape = step.output.shape(), .cells = std::move(cells)});
  return submitted;
}

// Returns the trace with the learner's own numbers, for the arithmetic of a wrong cell. The
// lesson's numbers stay where no step can be computed from theirs.
Trace learners_trace(const Interpretation& interpretation) {
  Trace trace = *interpretation.trace;
  const std::vector<LearnerNode>& nodes = interpretation.judgement.nodes;
  std::set<std::size_t> kept;
  for (const LearnerNode& node : nodes) {
    if (node.has_lessons_inputs) kept.insert(node.inputs.begin(), node.inputs.end());
  }
  const std::size_t givens = trace.givens.size();  // which come first
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (kept.contains(k)) continue;
    Tensor& tensor = k < givens ? trace.givens[k].tensor : trace.steps[k - givens].output;
    tensor.values = nodes[k].own.values;
  }
  return trace;
}

// Returns the first wrong cell in display order. There must be one.
std::size_t first_wrong_cell(const LearnerNode& node, TokenLayout token_layout) {
  const bool is_transposed = is_shown_transposed(node.own, token_layout);
  const std::size_t rows = node.own.rows(), columns = node.own.columns();
  for (std::size_t n = 0;; ++n) {
    const std::size_t within = n % (rows * columns);
    const std::size_t other = n - within + within % rows * columns + within / rows;
    const std::size_t i = is_transposed ? other : n;
    if (node.verdicts[i] == Verdict::wrong) return i;
  }
}

FirstWrong first_wrong_of(const Interpretation& interpretation, const LearnerNode& node) {
  const std::size_t i = first_wrong_cell(node, interpretation.trace->token_layout);
  // What must be exact is shown exactly.
  const ToleranceBasis basis = node.units.basis;
  const bool is_exact = basis == ToleranceBasis::whole || basis == ToleranceBasis::copied;
  const int digits = is_exact ? 12 : basis == ToleranceBasis::rounded ? 2 : node.units.decimals;
  int digits_of_operands = 0;
  for (const std::size_t input : node.inputs) {
    const LearnerNode& operand = interpretation.judgement.nodes[input];
    if (operand.step && operand.submitted && operand.units.basis == ToleranceBasis::decimals)
      digits_of_operands = std::max(digits_of_operands, operand.units.decimals);
  }
  const Numeral given = node.submitted->cells[i];
  return {.cell = cell_at(node.name, node.own, i),
          .given = given.value,
          .text = given.bad_text > 0 ? node.submitted->bad_texts[given.bad_text - 1U] : "",
          .expected = rounded(node.truth->values[i], digits),
          .from_yours = rounded(node.from_yours.values[i], digits),
          .tolerance = node.is_exact(i)    ? node.units.floor
                       : node.room.empty() ? node.units.of(i)
                                           : std::max(node.units.of(i), node.room[i]),
          .is_exact = node.is_exact(i),
          .digits = digits_of_operands};
}

// True if a matrix of the wrong shape has the right numbers in order. Tokens in columns are
// transposed on reading, so nothing can be said of those.
bool has_right_numbers(const Interpretation& interpretation, const LearnerNode& node) {
  const NumeralCells& cells = node.wrong_shape_array->cells;
  const bool in_order =
      interpretation.trace->token_layout == TokenLayout::rows && !interpretation.layout.transposed;
  if (!in_order || cells.size() != node.truth->values.size()) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Tolerance own{.absolute = node.units.tolerance(i)};
    if (std::isnan(cells[i].value) || !is_close(cells[i].value, node.truth->values[i], own)) {
      return false;
    }
  }
  return true;
}

// That a whole matrix is wrong is no news, unless its cells share a property that no mistake
// explains, or are all 0, or off by one number.
std::optional<Region> reported_region(const NodeDiagnosis& found) {
  const std::optional<Region>& region = found.region;
  if (!region || !region->is_whole) return region;
  const bool is_explained_whole =
      !found.mistakes.empty() && found.mistakes.front().cells == region->wrong;
  const bool tells = region->what == Region::What::offset || region->what == Region::What::zero;
  if ((is_explained_whole && !tells) || region->what == Region::What::anything) return {};
  return region;
}

// Reports how far off cells may be, and the room of undecided ones with the steps that would decide
// them.
void report_room(const LearnerNode& node, Room& room_of, StepReport& report) {
  if (node.room.empty() && report.cells.rounding == 0) return;
  const auto typical = report.cells.wrong > 0 ? typical_numbers(node) : std::vector<double>();
  for (std::size_t i = 0; i < node.verdicts.size(); ++i) {
    if (node.verdicts[i] == Verdict::correct) continue;
    const double room = node.room.empty() ? 0 : node.room[i];
    const double gap = std::abs(node.own.values[i] - node.truth->values[i]);
    const double accepted = node.verdicts[i] == Verdict::rounding ? std::max(room, gap) : room;
    const bool is_open = node.verdicts[i] == Verdict::undecided;
    if (is_open) report.room = std::max(report.room.value_or(0), room);
    const bool decides_nothing =
        node.verdicts[i] == Verdict::wrong &&
        is_too_wide(room, node.units.of(i), typical[i * typical.size() / node.verdicts.size()]);
    if (!is_open && !decides_nothing && std::isfinite(accepted))
      report.tolerance = std::max(report.tolerance, accepted);
  }
  if (report.room) report.decided_by = room_of.deciding_steps(node);
}

// Reports the verdicts of a matrix's cells, what was written in them and how far off they may be.
void report_cells(const LearnerNode& node, Room& room, StepReport& report) {
  const SubmittedArray& submitted = *node.submitted;
  report.cells = {node.count(Verdict::correct), node.count(Verdict::rounding),
                  node.count(Verdict::carried), node.count(Verdict::undecided),
                  node.count(Verdict::wrong),   node.count(Verdict::blank)};
  if (report.cells.blank > 0) {
    report.left_out =
        static_cast<std::size_t>(std::ranges::count(submitted.cells, true, &Numeral::left_out));
  }
  const auto rank = [](Verdict one) { return one == Verdict::blank ? -1 : static_cast<int>(one); };
  const bool is_right = report.cells.correct == node.verdicts.size();
  report.verdict = node.verdicts.empty() ? Verdict::blank
                   : is_right            ? Verdict::correct
                                         : std::ranges::max(node.verdicts, {}, rank);
  report.digits = node.units.decimals;
  report.basis = node.units.basis;
  report.precision = node.units.precision;
  report.tolerance = report.unit = node.units.largest();
  report.rounded_constant = node.rounded_constant;
  if (!is_right) report_room(node, room, report);
  report.written = node.own;
  report.written.values = submitted.cells.values();  // a mask of -1e9 stays -1e9
  report.verdicts = node.verdicts;
  for (std::size_t i = 0; !submitted.bad_texts.empty() && i < submitted.cells.size(); ++i) {
    const std::size_t bad_text = submitted.cells[i].bad_text;
    if (bad_text > 0) report.bad_texts.emplace(i, submitted.bad_texts[bad_text - 1]);
  }
}

StepReport report_of(const Interpretation& interpretation, std::size_t index, Room& room,
                     DiagnosisBudget* budget) {
  const LearnerNode& node = interpretation.judgement.nodes[index];
  StepReport report;
  report.step = node.name;
  report.right_shape = node.truth->shape();
  if (const SubmittedArray* array = node.wrong_shape_array) {
    report.verdict = Verdict::shape;
    report.digits = most_decimals(*array);
    report.wrong_shape = array->shape;
    report.cells.wrong =
        static_cast<std::size_t>(std::ranges::count(array->cells, false, &Numeral::is_blank));
  } else {
    report_cells(node, room, report);
    report.accepted_convention = interpretation.convention_of(node);
    if (report.cells.wrong > 0) report.first = first_wrong_of(interpretation, node);
  }
  if (budget && (node.wrong_shape_array || report.first)) {
    NodeDiagnosis& found = report;
    found = diagnose(interpretation.judgement, *interpretation.trace, index, *budget);
    found.region = reported_region(found);
  }
  report.only_shape_differs =
      node.wrong_shape_array && report.mistakes.empty() && has_right_numbers(interpretation, node);
  return report;
}

// Returns the result for the matrices whose names fulfil `is_on_it`.
template <class IsOnIt>
PassReport pass_report(const CheckReport& report, const IsOnIt& is_on_it) {
  PassReport pass;
  bool complete = std::ranges::none_of(report.missing, is_on_it);
  bool undecided = false;
  for (const StepReport& step : report.steps) {
    if (!is_on_it(step.step)) continue;
    ++pass.submitted_count;
    undecided = undecided || step.cells.undecided > 0;
    complete = complete && step.cells.blank == 0;
    if (step.is_wrong() && !pass.first_wrong) pass.first_wrong = step.step;
  }
  pass.outcome = pass.first_wrong ? Outcome::wrong
                 : undecided      ? Outcome::undecided
                 : complete       ? Outcome::correct
                                  : Outcome::incomplete;
  return pass;
}

PassReports pass_reports(const CheckReport& report, const Trace& trace) {
  const auto is_back = [&](std::string_view name) {
    const Step* step = trace.find_step(name.substr(name.rfind(' ') + 1));  // "head 2 of Q"
    return step && is_gradient(*step->operation);
  };
  return {pass_report(report, std::not_fn(is_back)), pass_report(report, is_back)};
}

// Returns the name of the loss for the gradients; empty if the lesson has none.
std::string loss_of(const Trace& trace) {
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    if (step->output.values.size() != 1) continue;
    const bool is_last = step == trace.steps.rbegin();
    const bool is_loss = step->name == "loss" || step->operation == &cross_entropy_operation;
    if (is_last || is_loss) return step->name;
  }
  return {};
}

// Returns the gradient's numbers in the lesson's layout.
Tensor numbers_of(const Submission& submission, const Trace& named, const std::string& name) {
  Tensor numbers = named.at(name);
  for (const bool transposed : {false, true}) {
    const auto all = normalise_layout(submission, named, {.transposed = transposed});
    const SubmittedArray& submitted = *std::ranges::find(all, name, &SubmittedArray::name);
    if (!submitted.fits) continue;
    numbers.values = submitted.cells.values();
    if (!has_nan(numbers.values)) return numbers;
    throw InputError("{}: a number of {} is missing, and the gradients begin with it",
                     submission.name, name);
  }
  throw InputError("{}: the gradients begin at {}, which must be {}", submission.name, name,
                   shape_text(numbers.shape()));
}

// Returns the last step with a submitted gradient, and that gradient.
std::pair<std::string, Given> arriving_gradient(const Trace& trace, const std::string& path) {
  Trace named = trace;
  for (const std::string_view name : names_in(trace)) {
    const std::string gradient = gradient_name(name);
    if (!trace.find(gradient)) named.add({gradient, as_matrix(trace.at(name))});
  }
  const Submission submission = read_submission(path, named);
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    const std::string name = gradient_name(step->name);
    if (contains(submission.files, name, &SubmittedFile::name))
      return {step->name, {name, numbers_of(submission, named, name)}};
  }
  const Step& last = trace.steps.back();
  throw InputError(
      "{0}: --gradients: this lesson has no loss, and no gradient was submitted to begin with; "
      "also submit {1}, the gradient of the loss by {2}",
      path, example_file(gradient_name(last.name), last.output), last.name);
}

}  // namespace

LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths) {
  if (std::ranges::any_of(loaded.trace.steps,
                          [](const Step& step) { return is_gradient(*step.operation); }))
    return loaded;
  Lesson& lesson = loaded.lesson;
  Recipe recipe = recipe_of(loaded);
  BackwardSpec backward{.of = loss_of(loaded.trace)};
  if (backward.of.empty()) {
    if (paths.size() > 1) {
      throw InputError(
          "--gradients: this lesson has no loss, so the gradients begin with a submitted one; "
          "check one path at a time");
    }
    auto [step, given] = arriving_gradient(loaded.trace, paths.front());
    backward.from = {{step, given.name}};
    recipe.givens.push_back(std::move(given));
    lesson.given_places.emplace_back();
  }
  for (StepRecipe& step : backward_steps(recipe, backward)) {
    recipe.steps.push_back(std::move(step));
    lesson.texts.emplace_back().is_made = true;
  }
  lesson.recipe.steps = recipe.steps;
  lesson.asked.clear();  // no other command has these steps
  loaded.trace = evaluate(std::move(recipe));
  return loaded;
}

Numeral parse_answer(std::string_view text) {
  text = trimmed(text);
  auto [answer, fault] = parse_cell(text, decimal_mark_of(text));
  if (fault != NumeralError::none || std::isnan(answer.value)) {
    throw InputError(
        "\"{}\" is not a number: write it like 0.25, 0,25, 3/7, √2, 80%, 2.5e-3 or -inf",
        printable(text));
  }
  // A percentage has decimals of its own, and so has a fraction over a rounded number.
  if (answer.exact && answer.decimals == 0) answer.decimals = all_decimals;
  return answer;
}

AnswerReport judge_answer(const Trace& trace, const CellReference& cell, const Numeral& answer,
                          int digits) {
  const std::vector<SubmittedArray> submitted =
      answer_submission(trace, trace.step_at(cell.name), cell, answer, digits);
  const Judgement judgement = judge(trace, submitted, {});
  const auto node = std::ranges::find(judgement.nodes, cell.name, &LearnerNode::name);
  AnswerReport report;
  for (const Verdict verdict : node->verdicts) {
    if (verdict != Verdict::blank) report.verdict = verdict;
  }
  if (report.is_right()) return report;
  const auto index = static_cast<std::size_t>(node - judgement.nodes.begin());
  DiagnosisBudget budget(trace);
  report.mistakes = diagnose(judgement, trace, index, budget).mistakes;
  return report;
}

const StepReport* CheckReport::find(std::string_view step) const {
  return find_by(steps, step, &StepReport::step);
}

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view outcomes[] = {"correct", "wrong", "undecided", "incomplete"};
  return outcomes[static_cast<std::size_t>(outcome)];
}

void note_coarser_types(std::vector<StepReport>& steps) {
  constexpr Precision types[] = {Precision::float64, Precision::float32, Precision::float16,
                                 Precision::bfloat16};
  const auto is_of = [](const StepReport& step, Precision type) {
    return step.basis == ToleranceBasis::type && step.precision == type;
  };
  const auto count = [&](Precision type) {
    return std::ranges::count_if(steps, [&](const StepReport& step) { return is_of(step, type); });
  };
  const auto* usual = std::ranges::max_element(types, {}, count);  // the finest of equally many
  for (const auto* type = usual + 1; type != std::end(types); ++type) {
    for (StepReport& step : steps) {
      if (is_of(step, *type)) step.coarser_type = rule_of(*type).name;
    }
  }
}

CheckReport check_submission(const Lesson& lesson, const Trace& trace, const Submission& submission,
                             const CheckOptions& options) {
  const Interpretation interpretation = best_interpretation(lesson, trace, submission, options);
  CheckReport report{.submission = submission.name,
                     .scheme = submission.scheme,
                     .notes = submission.notes,
                     .unreadable = submission.unreadable};
  Room room(interpretation.judgement, *interpretation.trace);
  DiagnosisBudget budget(*interpretation.trace);
  for (std::size_t i = 0; i < interpretation.judgement.nodes.size(); ++i) {
    const LearnerNode& node = interpretation.judgement.nodes[i];
    if (options.on_matrix) options.on_matrix();
    const bool is_there = node.submitted || node.wrong_shape_array;
    if (!is_there) {
      if (node.step && trace.find_step(node.name)) report.missing.push_back(node.name);
      continue;
    }
    StepReport step = report_of(interpretation, i, room, options.diagnoses ? &budget : nullptr);
    for (const std::size_t m :
         node.submitted ? node.submitted->missing_matrices : std::vector<std::size_t>()) {
      report.missing.push_back(fmt::format("{} of {}", matrix_name(*node.truth, m), node.name));
    }
    const bool is_right_given = !node.step && !step.is_wrong();
    if (!is_right_given) report.steps.push_back(std::move(step));
  }
  note_coarser_types(report.steps);
  for (StepReport& step : report.steps) {
    if (options.strict && !step.coarser_type.empty()) step.verdict = Verdict::wrong;
  }
  const PassReport all = pass_report(report, [](std::string_view) { return true; });
  report.outcome = all.outcome;
  report.first_wrong = all.first_wrong;
  if (options.gradients) report.passes = pass_reports(report, trace);
  report.own = learners_trace(interpretation);
  return report;
}

}  // namespace qkv::inline check
