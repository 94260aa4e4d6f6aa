#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "verdicts/compared.hpp"
#include "verdicts/compared_parts.hpp"
#include "verdicts/json_values.hpp"
#include "verdicts/machine_output.hpp"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

Json shape_json(const SideMatrix* side) {
  return side == nullptr ? Json(nullptr) : Json(side->tensor.shape());
}

Json step_json(const ComparedStep& step, const Trace& own) {
  Json json{{"step", step.name},
            {"verdict", std::string(words_of(step.sameness).in_json)},
            {"actual_shape", shape_json(step.actual)},
            {"desired_shape", shape_json(step.desired)}};
  if (step.sameness == Sameness::other_shape) json["only_the_shape"] = step.only_the_shape;
  for (const SideMatrix* side : {step.actual, step.desired}) {
    if (side != nullptr && !side->layout.empty()) json["layout"] = side->layout;
  }
  if (step.judged) {
    json["convention"] = step.judged->convention ? Json(*step.judged->convention) : Json(nullptr);
    json["region"] = region_json(*step.judged, own, Answers::shown);
    json["mistakes"] = mistakes_json(*step.judged);
  }
  if (!has_numbers(step)) return json;
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
  json["first"] = nullptr;
  if (difference.first) {
    json["first"] = {{"cell", cell_name(step, *difference.first)},
                     {"index", index_of(telling_tensor(step), *difference.first)},
                     {"actual", json_number(step.actual->tensor.values[*difference.first])},
                     {"desired", json_number(step.desired->tensor.values[*difference.first])}};
  }
  return json;
}

}  // namespace

std::string compared_json(const Comparison& comparison, const Side& actual, const Side& desired) {
  Json json{{"actual", actual.name}, {"desired", desired.name}, {"same", comparison.same()}};
  if (!comparison.half_exports.empty()) json["half_exports"] = comparison.half_exports;
  json["first"] = nullptr;
  if (comparison.first) json["first"] = comparison.steps[*comparison.first].name;
  const Coverage coverage = coverage_of(comparison, actual);
  json["compared"] = coverage.compared;
  json["missing"] = coverage.missing;
  json["unknown"] = coverage.unknown;
  json["steps"] = Json::array();
  static const Trace none;
  const Trace& own = comparison.own ? *comparison.own : none;
  for (const ComparedStep& step : comparison.steps) json["steps"].push_back(step_json(step, own));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
