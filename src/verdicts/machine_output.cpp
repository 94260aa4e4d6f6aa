#include "verdicts/machine_output.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/labels.hpp"
#include "verdicts/json_values.hpp"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// As much as a person may want to read of it: `qkv explain` has all.
constexpr std::size_t whole_arithmetic = 600;

Json first_json(const StepReport& step, const Trace& own, Answers answers) {
  if (!step.first) return nullptr;
  const FirstWrong& first = *step.first;
  Json json = cell_json(first.cell, step.written, own.convention);
  json["given"] = first.text.empty() ? json_number(first.given) : Json(first.text);
  if (answers == Answers::kept) return json;
  json["expected"] = json_number(first.expected);
  json["from_yours"] = json_number(first.from_yours);
  json["arithmetic"] = checked_arithmetic(own, step, whole_arithmetic);
  return json;
}

std::string_view what_name(Region::What what) {
  switch (what) {
    case Region::What::zero: return "zero";
    case Region::What::nan: return "nan";
    case Region::What::constant: return "constant";
    case Region::What::multiple: return "multiple";
    case Region::What::offset: return "offset";
    default: return "";
  }
}

Json step_json(const StepReport& step, const Trace& own, Answers answers) {
  Json json = Json::object();
  json["step"] = step.step;
  json["verdict"] = std::string(verdict_name(step.verdict));
  json["digits"] = step.digits;
  json["convention"] = step.convention ? Json(*step.convention) : Json(nullptr);
  json["cells"] = {{"correct", step.cells.correct},
                   {"rounding", step.cells.rounding},
                   {"carried", step.cells.carried},
                   {"wrong", step.cells.wrong},
                   {"blank", step.cells.blank}};
  json["first"] = first_json(step, own, answers);
  json["region"] = region_json(step, own, answers);
  json["mistakes"] = mistakes_json(step);
  return json;
}

template <class Report>
void tell_verdict(const Report& report, Json& json) {
  json["verdict"] = std::string(outcome_name(report.outcome));
  json["first_wrong"] = report.first_wrong ? Json(*report.first_wrong) : Json(nullptr);
}

Json report_json(const CheckReport& report, Answers answers) {
  Json json = Json::object();
  tell_verdict(report, json);
  if (report.ways) {
    tell_verdict(report.ways->forward, json["forward"]);
    tell_verdict(report.ways->backward, json["backward"]);
  }
  json["steps"] = Json::array();
  for (const StepReport& step : report.steps) {
    json["steps"].push_back(step_json(step, report.own, answers));
  }
  json["missing"] = report.missing;
  return json;
}

Json unread_json(const std::string& why) {
  return {{"verdict", "unreadable"},
          {"first_wrong", nullptr},
          {"steps", Json::array()},
          {"missing", Json::array()},
          {"error", why}};
}

}  // namespace

Json region_json(const StepReport& step, const Trace& own, Answers answers) {
  if (!step.region) return nullptr;
  const Region& region = *step.region;
  const auto extent = [](const Extent& one) { return Json::array({one.from + 1, one.to + 1}); };
  Json json = Json::object();
  const std::size_t leading = step.written.leading_axes();
  for (std::size_t a = 0; a < leading; ++a) {
    const bool batch = step.written.axes[a].name == "batch";
    json[batch ? "batches" : "heads"] = extent(region.axes[a]);
  }
  const Extent rows = region.axes.size() > 1 ? region.axes[region.axes.size() - 2] : Extent{};
  const bool turned = is_turned(step.written, own.convention);
  json["rows"] = extent(turned ? region.axes.back() : rows);
  json["columns"] = extent(turned ? rows : region.axes.back());
  const std::string_view what = what_name(region.what);
  json["what"] = what.empty() ? Json(nullptr) : Json(std::string(what));
  if (answers == Answers::kept) return json;  // the right numbers follow from these
  if (region.what == Region::What::multiple) json["factor"] = json_number(region.factor);
  if (region.what == Region::What::offset) {
    json["by"] = region.offset.size() == 1 ? Json(region.offset.front()) : Json(region.offset);
  }
  return json;
}

Json mistakes_json(const StepReport& step) {
  Json json = Json::array();
  for (const Diagnosis& mistake : step.mistakes) {
    json.push_back({{"id", std::string(mistake.id)},
                    {"cells", mistake.cells},
                    {"sure", mistake.sure},
                    {"says", mistake.says}});
  }
  return json;
}

std::string checked_json(const std::vector<CheckedPath>& all, const Lesson& lesson,
                         Answers answers) {
  Json list = Json::array();
  for (const CheckedPath& one : all) {
    Json json = Json::object();
    json["lesson"] = lesson.name;
    json["submission"] = one.path;
    json.update(one.report ? report_json(*one.report, answers) : unread_json(one.failure));
    list.push_back(std::move(json));
  }
  return (list.size() == 1 ? list.front() : list)
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace qkv
