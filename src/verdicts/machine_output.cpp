#include "verdicts/verdicts.hpp"

#include <nlohmann/json.hpp>

#include "formats/handwork/csv.hpp"
#include "text/json.hpp"
#include "text/unicode.hpp"

namespace qkv::inline verdicts {
namespace {

std::string mistake_ids(const StepReport* step) {
  if (!step) return {};
  return fmt::format("{}", fmt::join(mapped(step->likely_mistakes(), &Diagnosis::id), " "));
}

// Rounded marks: the sum over the steps must equal the printed total.
double in_hundredths(double marks) { return std::round(100 * marks) / 100; }

// Describes why a submission did not get full marks.
std::string reason_of(const CheckedPath& one, const Marks& marks, const Rubric& rubric) {
  if (!one.report) return one.failure;
  std::vector<std::string> reasons = one.report->unreadable;
  if (const StepReport* step = one.report->first_wrong_step()) {
    const bool is_given = rubric.trace().find_step(step->step) == nullptr;
    reasons.push_back(fmt::format("{}: {}", step->step,
                                  is_given ? "not the lesson's numbers" : cause_text(*step)));
  }
  for (const StepReport* step : undecided_steps(*one.report)) {
    reasons.push_back(fmt::format("{}: undecided, {}", step->step, room_text({step})));
  }
  if (!marks.changed.empty())
    reasons.push_back(
        fmt::format("what depends on {} earns nothing", fmt::join(marks.changed, ", ")));
  if (const double taken = in_hundredths(marks.taken); taken > 0) {
    reasons.push_back(fmt::format("marks lost because too little of {} is right: {}",
                                  fmt::join(marks.unexplained, ", "), taken));
  }
  const auto missing = filtered(one.report->missing, [&](const std::string& name) {
    const auto place = rubric.trace().step_names.place(name);
    return !rubric.is_for_a_part() || (place && marks.steps[*place].of != 0);
  });
  if (!missing.empty())
    reasons.push_back(fmt::format("not submitted: {}", fmt::join(missing, ", ")));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

StepMarks total_of(const Marks& marks) {
  StepMarks total{.marks = 0, .of = marks.total.of};
  for (const StepMarks& step : marks.steps) total.marks += in_hundredths(step.marks);
  return {.marks = in_hundredths(total.marks), .of = in_hundredths(total.of)};
}

// A part that was asked for may be correct, whatever the rest of the lesson lacks.
std::string_view verdict_of(const CheckedPath& one, const Rubric& rubric) {
  if (!one.report) return "unreadable";
  const bool is_part = one.report->outcome == Outcome::incomplete && rubric.has_part(*one.report);
  return outcome_name(is_part ? Outcome::correct : one.report->outcome);
}

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(std::string(text)); }

// Longer arithmetic is elided; `qkv explain` shows it in full.
constexpr std::size_t whole_arithmetic = 600;

Json first_json(const StepReport& step, const Trace& own, Answers answers) {
  if (!step.first) return nullptr;
  const FirstWrong& first = *step.first;
  Json json = cell_json(first.cell, step.written, own.token_layout);
  json["given"] = first.text.empty() ? json_number(first.given) : Json(first.text);
  if (answers == Answers::kept) return json;
  json["expected"] = json_number(first.expected);
  json["from_yours"] = json_number(first.from_yours);
  json["arithmetic"] = checked_arithmetic(own, step, whole_arithmetic);
  return json;
}

Json region_json(const StepReport& step, TokenLayout token_layout, Answers answers) {
  if (!step.region) return nullptr;
  const Region& region = *step.region;
  Json json = Json::object();
  for (const auto& [axis, extent] : shown_extents(step, token_layout)) {
    json[std::string(axis) + (axis == "batch" ? "es" : "s")] = {extent.from + 1, extent.to + 1};
  }
  constexpr std::string_view names[] = {"", "zero", "nan", "constant", "multiple", "offset"};
  json["what"] = text_or_null(names[static_cast<std::size_t>(region.what)]);
  if (answers == Answers::kept) return json;  // the right numbers follow from these
  if (region.what == Region::What::multiple) json["factor"] = json_number(region.factor);
  if (region.what == Region::What::offset) {
    json["by"] = region.offset.size() == 1 ? Json(region.offset.front()) : Json(region.offset);
  }
  return json;
}

Json mistakes_json(const StepReport& step) {
  return mapped(step.mistakes, [](const Diagnosis& mistake) -> Json {
    return {{"id", std::string(mistake.id)},
            {"cells", mistake.cells},
            {"sure", mistake.sure},
            {"says", mistake.says}};
  });
}

// Adds how far rounding may move undecided cells, and the steps that would decide them.
void add_room(const StepReport& step, Json& json) {
  if (step.cells.undecided == 0) return;
  json["room"] = json_number(step.room.value_or(step.tolerance));
  json["decided_by"] = step.decided_by;
}

void add_coarser_type(const StepReport& step, Json& json) {
  if (!step.coarser_type.empty()) json["coarser"] = std::string(step.coarser_type);
}

Json step_json(const StepReport& step, const Trace& own, Answers answers) {
  Json json{{"step", step.step},
            {"verdict", std::string(verdict_name(step.verdict))},
            {"digits", step.digits}};
  json["convention"] = text_or_null(step.accepted_convention);
  json["cells"] = {{"correct", step.cells.correct}, {"rounding", step.cells.rounding},
                   {"carried", step.cells.carried}, {"undecided", step.cells.undecided},
                   {"wrong", step.cells.wrong},     {"blank", step.cells.blank}};
  add_room(step, json);
  add_coarser_type(step, json);
  json["first"] = first_json(step, own, answers);
  json["region"] = region_json(step, own.token_layout, answers);
  json["mistakes"] = mistakes_json(step);
  return json;
}

template <class Report>
void print_verdict(const Report& report, Json& json) {
  json["verdict"] = std::string(outcome_name(report.outcome));
  json["first_wrong"] = text_or_null(report.first_wrong.value_or(""));
}

Json report_json(const CheckReport& report, Answers answers) {
  Json json = Json::object();
  print_verdict(report, json);
  if (report.passes) {
    print_verdict(report.passes->forward, json["forward"]);
    print_verdict(report.passes->backward, json["backward"]);
  }
  json["steps"] = mapped(
      report.steps, [&](const StepReport& step) { return step_json(step, report.own, answers); });
  json["missing"] = report.missing;
  return json;
}

// Adds how far the numbers of a step are apart.
void add_difference(const ComparedStep& step, Json& json) {
  const Difference& difference = step.difference;
  json["rtol"] = step.tolerance.relative;
  json["atol"] = step.tolerance.absolute;
  if (step.tolerance.least > 0) json["least"] = step.tolerance.least;
  json["elements"] = difference.elements;
  json["mismatched"] = difference.mismatched;
  json["finite_masks"] = step.finite_masks;
  json["nan_mismatched"] = difference.nan_mismatched;
  json["nan_both"] = difference.nan_both;
  json["max_absolute"] = json_number(difference.largest_absolute);
  json["max_relative"] = json_number(difference.largest_relative);
  const std::size_t printed = printed_of(step);
  if (printed > 0) json["printed"] = printed;
  if (step.expected_sum) json["expected_sum"] = json_number(*step.expected_sum);
  const bool differs = step.agreement != Agreement::identical && step.agreement != Agreement::close;
  const ErrorStatistics errors =
      differs && printed == 0
          ? error_statistics(step.actual->tensor.values, step.desired->tensor.values)
          : ErrorStatistics();
  if (errors.cells > 0) {
    json["mean_absolute"] = json_number(errors.mean);
    json["percentile_99"] = json_number(errors.percentile);
    json["units_in_the_last_place"] = json_number(largest_in_last_places(step));
    json["cosine"] = json_number(errors.cosine);
  }
  json["first"] = nullptr;
  if (difference.first) {
    json["first"] = {{"cell", cell_name(step, *difference.first)},
                     {"index", multi_index(best_labelled_tensor(step).axes, *difference.first)},
                     {"actual", json_number(step.actual->tensor.values[*difference.first])},
                     {"desired", json_number(step.desired->tensor.values[*difference.first])}};
  }
}

Json step_json(const ComparedStep& step, TokenLayout token_layout) {
  // Of each Agreement, in its order.
  constexpr std::string_view names[] = {"identical", "close", "carried",     "differs",
                                        "undecided", "shape", "only_actual", "only_desired"};
  Json json{{"step", step.name},
            {"verdict", std::string(names[static_cast<std::size_t>(step.agreement)])},
            {"actual_shape", step.actual ? Json(step.actual->tensor.shape()) : Json()},
            {"desired_shape", step.desired ? Json(step.desired->tensor.shape()) : Json()}};
  if (step.agreement == Agreement::other_shape) json["only_the_shape"] = step.only_shape_differs;
  for (const ComparedMatrix* side : {step.actual, step.desired}) {
    if (side != nullptr && !side->layout.empty()) json["layout"] = side->layout;
  }
  if (step.judged) {
    json["convention"] = text_or_null(step.judged->accepted_convention);
    json["region"] = region_json(*step.judged, token_layout, Answers::shown);
    json["mistakes"] = mistakes_json(*step.judged);
    add_room(*step.judged, json);
  }
  if (has_compared_numbers(step)) add_difference(step, json);
  if (step.judged) add_coarser_type(*step.judged, json);
  return json;
}

}  // namespace

std::string checked_line(const CheckedPath& one, const Rubric& rubric) {
  std::string text = sanitise(one.path) + ": ";
  if (!one.report) return text + "can't be read\n";
  text += outcome_name(one.report->outcome);
  if (const StepReport* step = one.report->first_wrong_step()) {
    const std::string ids = mistake_ids(step);
    text += fmt::format(" at {}{}", step->step, ids.empty() ? "" : " (" + ids + ")");
  } else if (const auto undecided = undecided_steps(*one.report); !undecided.empty()) {
    text += " at " + undecided.front()->step;
  }
  const bool is_part = std::ranges::any_of(
      one.report->steps, [](const StepReport& step) { return step.left_out > 0; });
  const StepMarks total = total_of(rubric.of(*one.report));
  return text + fmt::format(", {} of {} marks{}\n", total.marks, total.of,
                            is_part ? " (of a part: --summary csv and the sheet's options)" : "");
}

std::string summary_csv(const std::vector<CheckedPath>& all, const Rubric& rubric) {
  std::string text = "submission,student,verdict,marks,of,first_wrong,mistakes,reason";
  for (const Step& step : rubric.trace().steps) text += "," + step.name;
  text += "\n";
  for (const CheckedPath& one : all) {
    const Marks marks = one.report ? rubric.of(*one.report) : rubric.nothing();
    const StepMarks total = total_of(marks);
    const StepReport* wrong = one.report ? one.report->first_wrong_step() : nullptr;
    text += fmt::format("{},,{},{},{},{},{},{}", csv::label_cell(one.path), verdict_of(one, rubric),
                        total.marks, total.of, csv::label_cell(wrong ? wrong->step : ""),
                        csv::label_cell(mistake_ids(wrong)),
                        csv::label_cell(reason_of(one, marks, rubric)));
    for (const StepMarks& step : marks.steps) text += fmt::format(",{}", in_hundredths(step.marks));
    text += "\n";
  }
  return text;
}

std::string checked_json(const std::vector<CheckedPath>& all, const Lesson& lesson,
                         Answers answers) {
  Json list = Json::array();
  for (const CheckedPath& one : all) {
    Json json{{"lesson", lesson.name}, {"submission", one.path}};
    if (one.report && !one.report->scheme.empty()) json["names"] = one.report->scheme;
    json.update(one.report ? report_json(*one.report, answers)
                           : Json{{"verdict", "unreadable"},
                                  {"first_wrong", nullptr},
                                  {"steps", Json::array()},
                                  {"missing", Json::array()},
                                  {"error", one.failure}});
    list.push_back(std::move(json));
  }
  return json_document(list.size() == 1 ? list.front() : list);
}

std::string compared_json(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired) {
  Json json{{"actual", actual.name}, {"desired", desired.name}, {"same", comparison.same()}};
  if (!comparison.incomplete_exports.empty()) json["half_exports"] = comparison.incomplete_exports;
  for (const ComparedSide* side : {&actual, &desired}) {
    if (!side->scheme.empty()) json["names"] = side->scheme;
  }
  json["first"] = comparison.first ? Json(comparison.steps[*comparison.first].name) : Json(nullptr);
  if (comparison.by_name) json["sorted_by_name"] = true;
  const Coverage coverage = coverage_of(comparison, actual);
  json["compared"] = coverage.compared;
  json["missing"] = coverage.missing;
  json["unknown"] = coverage.unknown;
  if (!comparison.maps.empty()) json["maps"] = comparison.maps;
  if (const auto& found = comparison.bisection) {
    json["bisection"] = {{"agrees", text_or_null(found->agrees)},
                         {"differs", found->differs},
                         {"not_submitted", found->not_submitted},
                         {"dump", text_or_null(found->dump)}};
  }
  json["steps"] = Json::array();
  const TokenLayout layout = comparison.own ? comparison.own->token_layout : TokenLayout::rows;
  for (const ComparedStep& step : comparison.steps)
    json["steps"].push_back(step_json(step, layout));
  return json_document(json);
}

nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 TokenLayout token_layout) {
  const bool is_transposed = is_shown_transposed(tensor, token_layout);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const std::vector<std::size_t> leading = leading_index(tensor, cell.matrix);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    json[tensor.axes[a].name.empty() ? "head" : tensor.axes[a].name] = leading[a] + 1;
  }
  json["row"] = (is_transposed ? cell.column : cell.row) + 1;
  json["column"] = (is_transposed ? cell.row : cell.column) + 1;
  return json;
}

}  // namespace qkv::inline verdicts
