#include "render/exported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/csv.hpp"
#include "tensor/error.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

// One named tensor on its way into files.
struct Entry {
  std::string stem;  ///< "06-scores"
  const Tensor* tensor;
};

void export_tensor(const Entry& entry, Convention convention, const ExportOptions& options,
                   const std::function<void(ExportedFile)>& take) {
  const Tensor shown = as_shown(*entry.tensor, convention);
  const CsvOptions csv{.labels = options.plain ? CsvLabels::left_out : CsvLabels::written,
                       .digits = options.digits};
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    const MatrixLabels labels = full_labels(*entry.tensor, m, convention);
    take({entry.stem + exported_suffix(*entry.tensor, m) + ".csv",
          to_csv({.rows = shown.rows(),
                  .columns = shown.columns(),
                  .values = shown.matrix(m),
                  .row_labels = views(labels.rows),
                  .column_labels = views(labels.columns)},
                 csv)});
  }
}

Json labels_json(const std::vector<std::string>& labels) {
  return labels.empty() ? Json(nullptr) : Json(labels);
}

Json entry_json(const Entry& entry, Convention convention) {
  const Tensor& tensor = *entry.tensor;
  Shape shape = tensor.shape();
  if (is_turned(tensor, convention)) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const MatrixLabels labels = own_labels(tensor, 0, convention);
  Json files = Json::array();
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    files.push_back(entry.stem + exported_suffix(tensor, m) + ".csv");
  }
  Json json;
  json["shape"] = shape;
  json["labels"] = {{"rows", labels_json(labels.rows)}, {"columns", labels_json(labels.columns)}};
  json["file"] = files.size() == 1 ? files.front() : files;
  return json;
}

Json option_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

std::string lesson_json(const Lesson& lesson, const Trace& trace) {
  Json json;
  json["lesson"] = lesson.name;
  json["title"] = lesson.title;
  json["convention"] = trace.convention == Convention::columns ? "columns" : "rows";
  json["givens"] = Json::array();
  for (const Given& given : trace.givens) {
    Json entry{{"name", given.name}};
    entry.update(entry_json({exported_stem(given), &given.tensor}, trace.convention));
    json["givens"].push_back(std::move(entry));
  }
  json["steps"] = Json::array();
  for (const Step& step : trace.steps) {
    Json entry{{"number", step.number},
               {"name", step.name},
               {"op", std::string(step.operation->name)},
               {"of", step.of}};
    Json options = Json::object();
    for (const auto& [name, value] : step.options.all()) options[name] = option_json(value);
    if (!options.empty()) entry["options"] = std::move(options);
    entry.update(entry_json({exported_stem(trace, step), &step.output}, trace.convention));
    json["steps"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string exported_stem(const Given& given) { return "given-" + given.name; }

std::string exported_stem(const Trace& trace, const Step& step) {
  const std::size_t last = trace.steps.empty() ? 0 : trace.steps.back().number;
  return fmt::format("{:0{}}-{}", step.number, last >= 100 ? 3 : 2, step.name);
}

std::string exported_suffix(const Tensor& tensor, std::size_t index) {
  std::string suffix;
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    const std::string& axis = tensor.axes[a].name;
    suffix += fmt::format(".{}-{}", axis.empty() ? "head" : axis, leading[a] + 1);
  }
  return suffix;
}

void export_csv(const Lesson& lesson, const Trace& trace, const ExportOptions& options,
                const std::function<void(ExportedFile)>& take) {
  for (const std::string& name : options.only) trace.at(name);  // refuses what is not there
  const auto wanted = [&](const std::string& name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  for (const Given& given : trace.givens) {
    if (wanted(given.name)) {
      export_tensor({exported_stem(given), &given.tensor}, trace.convention, options, take);
    }
  }
  for (const Step& step : trace.steps) {
    if (wanted(step.name)) {
      export_tensor({exported_stem(trace, step), &step.output}, trace.convention, options, take);
    }
  }
  if (options.only.empty()) take({"00-lesson.json", lesson_json(lesson, trace)});
}

}  // namespace qkv
