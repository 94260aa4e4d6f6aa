#include "exporting/export_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "exporting/export_format.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

// An object is made as one: what becomes it at its first key is left broken where no memory is
// left.
using Json = nlohmann::ordered_json;

// ---------------------------------------------------------------- which files

std::vector<ExportEntry> all_entries(const Trace& trace) {
  std::vector<ExportEntry> entries;
  for (const Given& given : trace.givens) {
    entries.push_back({given.name, exported_stem(given), &given.tensor});
  }
  for (const Step& step : trace.steps) {
    entries.push_back({step.name, exported_stem(trace, step), &step.output});
  }
  return entries;
}

std::vector<ExportEntry> wanted_entries(const Trace& trace, const std::vector<std::string>& only) {
  for (const std::string& name : only) trace.at(name);  // refuses what is not there
  std::vector<ExportEntry> entries = all_entries(trace);
  std::erase_if(entries, [&](const ExportEntry& entry) {
    return !only.empty() && std::find(only.begin(), only.end(), entry.name) == only.end();
  });
  return entries;
}

// One file of a job.
PlannedFile planned(const std::string& stem, const ExportFormat& format, ExportJob job) {
  PlannedFile file{.name = stem + std::string(format.format->extension), .content = {}};
  file.for_screen = format.for_screen;
  for (const ExportEntry& entry : job.entries) {
    if (!format.is_document) file.holds.push_back(entry.name);
    const std::size_t parts =
        format.unit == ExportFormat::Unit::matrix ? entry.tensor->matrices() : 1;
    file.cells += entry.tensor->values.size() / std::max<std::size_t>(1, parts);
  }
  file.content = [&format, job = std::move(job)](const Sink& sink) {
    format.write(job, sink);
    job.trace->release();
  };
  return file;
}

void plan_entry(const ExportEntry& entry, const ExportFormat& format, ExportJob job,
                std::vector<PlannedFile>& plan) {
  job.entries = {entry};
  if (format.unit == ExportFormat::Unit::tensor) {
    plan.push_back(planned(entry.stem, format, job));
    return;
  }
  for (job.matrix = 0; job.matrix < entry.tensor->matrices(); ++job.matrix) {
    const std::string stem = entry.stem + exported_suffix(*entry.tensor, job.matrix);
    plan.push_back(planned(stem, format, job));
  }
}

// ---------------------------------------------------------------- the list of them

Json labels_json(const std::vector<std::string>& labels) {
  return labels.empty() ? Json(nullptr) : Json(labels);
}

// Of each given and step the files that hold it.
using Holders = std::map<std::string_view, std::vector<std::string_view>>;

Holders holders_of(const std::vector<PlannedFile>& plan) {
  Holders holders;
  for (const PlannedFile& file : plan) {
    for (const std::string& name : file.holds) holders[name].push_back(file.name);
  }
  return holders;
}

// The files that hold it: none, a name, or a list.
Json files_json(const std::string& name, const Holders& holders) {
  const auto found = holders.find(name);
  if (found == holders.end()) return nullptr;
  const std::vector<std::string_view>& files = found->second;
  return files.size() == 1 ? Json(files.front()) : Json(files);
}

Json entry_json(const std::string& name, const Tensor& tensor, Convention convention,
                const Holders& holders) {
  Shape shape = tensor.shape();
  if (is_turned(tensor, convention)) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const MatrixLabels labels = own_labels(tensor, 0, convention);
  Json json = Json::object();
  json["shape"] = shape;
  json["labels"] = {{"rows", labels_json(labels.rows)}, {"columns", labels_json(labels.columns)}};
  json["file"] = files_json(name, holders);
  return json;
}

Json option_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// A large step that is not wanted is not there: its shape is not known.
Json step_json(std::size_t number, const StepRecipe& step, const Trace& trace,
               const Holders& holders) {
  Json entry{{"number", number},
             {"name", step.name},
             {"op", std::string(step.operation->name)},
             {"of", step.operation->turned(step.of, trace.convention)}};
  Json options = Json::object();
  const Options written = step.operation->turned(step.options, trace.convention);
  for (const auto& [name, value] : written.all()) options[name] = option_json(value);
  if (!options.empty()) entry["options"] = std::move(options);
  const Tensor* tensor = trace.find(step.name);
  entry.update(tensor ? entry_json(step.name, *tensor, trace.convention, holders)
                      : Json{{"shape", nullptr}, {"labels", nullptr}, {"file", nullptr}});
  return entry;
}

// All that is known before the files are written.
Json list_of(const Lesson& lesson, const Trace& trace,
             const std::vector<const ExportFormat*>& formats,
             const std::vector<PlannedFile>& plan) {
  const Holders holders = holders_of(plan);
  Json json = Json::object();
  json["qkv"] = QKV_VERSION;
  json["lesson"] = lesson.name;
  json["title"] = lesson.title;
  json["convention"] = trace.convention == Convention::columns ? "columns" : "rows";
  json["formats"] = Json::array();
  for (const ExportFormat* format : formats) {
    json["formats"].push_back(std::string(format->format->name));
  }
  json["documents"] = Json::array();
  for (const PlannedFile& file : plan) {
    if (file.holds.empty()) json["documents"].push_back(file.name);
  }
  json["givens"] = Json::array();
  for (const Given& given : trace.givens) {
    Json entry{{"name", given.name}};
    entry.update(entry_json(given.name, given.tensor, trace.convention, holders));
    json["givens"].push_back(std::move(entry));
  }
  json["steps"] = Json::array();
  for (std::size_t s = 0; s < lesson.recipe.steps.size(); ++s) {
    json["steps"].push_back(step_json(s + 1, lesson.recipe.steps[s], trace, holders));
  }
  return json;
}

// The whole list: what is known of the files once they are written comes last.
std::string list_text(Json json, const Checksums& sums) {
  json["sha256"] = sums;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string exported_stem(const Given& given) { return "given-" + given.name; }

std::string exported_stem(const Trace& trace, const Step& step) {
  return fmt::format("{:0{}}-{}", step.number, trace.length >= 100 ? 3 : 2, step.name);
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

ExportPlan export_plan(const Lesson& lesson, const Trace& trace, const ExportOptions& options) {
  const std::vector<const ExportFormat*> formats = options.formats.empty()
                                                       ? std::vector{&export_formats().front()}
                                                       : find_export_formats(options.formats);
  const ExportJob job{.lesson = &lesson, .trace = &trace, .options = options, .entries = {}};
  const std::vector<ExportEntry> entries = wanted_entries(trace, options.only);
  std::vector<PlannedFile> plan;
  for (const ExportFormat* format : formats) {
    if (format->unit == ExportFormat::Unit::lesson) {
      ExportJob whole = job;
      whole.entries = entries;
      plan.push_back(planned("lesson", *format, std::move(whole)));
      continue;
    }
    for (const ExportEntry& entry : entries) plan_entry(entry, *format, job, plan);
  }
  Json known = list_of(lesson, trace, formats, plan);
  return {.files = std::move(plan), .list = [known = std::move(known)](const Checksums& sums) {
            return list_text(known, sums);
          }};
}

}  // namespace qkv
