#include "exporting/export_plan.hpp"

#include <nlohmann/json.hpp>

#include "document/document.hpp"
#include "text/json.hpp"

namespace qkv::inline exporting {

/// A tensor to export, with its names.
struct ExportEntry {
  std::string name;  ///< "scores"
  std::string stem;  ///< of its files: "given-W_Q", "06-scores"
  const Tensor* tensor = nullptr;
};

struct FileContext {
  const Lesson* lesson = nullptr;
  const Trace* trace = nullptr;
  ExportOptions options;
  std::vector<ExportEntry> entries;  ///< one, unless the file holds the whole lesson
  std::size_t matrix = 0;            ///< index of the tensor's matrix, in a file of one matrix
};

namespace {

/// Of the names of files with one of several matrices: ".head-1", ".batch-2.head-1".
constexpr std::string_view matrix_suffix = ".{}-{}";

std::vector<ExportEntry> all_entries(const Trace& trace) {
  std::vector<ExportEntry> entries;
  for (const Given& given : trace.givens) {
    entries.push_back({given.name, "given-" + given.name, &given.tensor});
  }
  for (const Step& step : trace.steps) {
    const int digits = trace.length >= 100 ? 3 : 2;
    entries.push_back(
        {step.name, fmt::format("{:0{}}-{}", step.number, digits, step.name), &step.output});
  }
  return entries;
}

CsvMatrix csv_matrix(const Tensor& shown, std::size_t index, const MatrixLabels& labels) {
  return {.rows = shown.rows(),
          .columns = shown.columns(),
          .values = shown.cells(index),
          .row_labels = {labels.rows.begin(), labels.rows.end()},
          .column_labels = {labels.columns.begin(), labels.columns.end()}};
}

/// A file's tensors in display layout.
std::vector<NamedTensor> shown(const FileContext& job) {
  return mapped(job.entries, [&](const ExportEntry& entry) {
    return NamedTensor{entry.name, as_shown(*entry.tensor, job.trace->token_layout)};
  });
}

void export_csv(const FileContext& job, const Sink& sink) {
  const Tensor& tensor = *job.entries.front().tensor;
  const bool is_transposed = is_shown_transposed(tensor, job.trace->token_layout);
  const auto cells = tensor.cells(job.matrix);
  Tensor copy;
  if (is_transposed) {
    copy = transposed(tensor_of({tensor.rows(), tensor.columns()}, {cells.begin(), cells.end()}));
  }
  const MatrixLabels labels = full_labels(tensor, job.matrix, job.trace->token_layout);
  write_csv(is_transposed ? csv_matrix(copy, 0, labels) : csv_matrix(tensor, job.matrix, labels),
            {.labels = job.options.plain ? CsvLabels::left_out : CsvLabels::written,
             .digits = job.options.digits},
            sink);
}

void export_npy(const FileContext& job, const Sink& sink) {
  const Tensor tensor = as_shown(*job.entries.front().tensor, job.trace->token_layout);
  sink(npy_header(tensor.shape()));
  tensor.values.for_each_piece([&](auto piece) { sink(bytes_of(piece)); });
}

void export_safetensors(const FileContext& job, const Sink& sink) {
  const bool columns = job.trace->token_layout == TokenLayout::columns;
  write_safetensors(shown(job),
                    {{"lesson", job.lesson->name},
                     {"title", job.lesson->title},
                     {"convention", columns ? "columns" : "rows"}},
                    sink);
}

template <std::string (*text_of)(const Lesson&, const Trace&, const DocumentStyle&)>
void export_document(const FileContext& job, const Sink& sink) {
  DocumentStyle style{.labels = !job.options.plain, .only = job.options.only};
  if (job.options.digits) style.digits = *job.options.digits;
  sink(text_of(*job.lesson, *job.trace, style));
}

constexpr ExportFormat known_formats[] = {
    {.name = "csv",
     .help = "a file for each matrix, with its labels",
     .write = export_csv,
     .escape_for_terminal = sanitise_prose,
     .unit = ExportFormat::Unit::matrix},
    {.name = "npy",
     .help = "a NumPy array for each step, heads and all",
     .write = export_npy,
     .unit = ExportFormat::Unit::tensor},
    {.name = "npz",
     .help = "all NumPy arrays in one file, by name",
     .write = [](const FileContext& job, const Sink& sink) { write_npz(shown(job), sink); }},
    {.name = "json",
     .help = "all numbers as nested lists, by name",
     .write = [](const FileContext& job,
                 const Sink& sink) { write_json(shown(job), job.options.digits, sink); },
     .escape_for_terminal = sanitise_json},
    {.name = "safetensors",
     .help = "all tensors in one file, F64, by name",
     .write = export_safetensors},
    {.name = "markdown",
     .help = "the walk as a page, every matrix a table",
     .write = export_document<markdown_document>,
     .escape_for_terminal = sanitise_prose,
     .is_document = true},
    {.name = "latex",
     .help = "the walk as a document for pdflatex",
     .write = export_document<latex_document>,
     .escape_for_terminal = sanitise_prose,
     .is_document = true},
};

std::string shortest(double value) {
  std::array<char, max_shortest_length> room;
  return {room.data(), write_shortest(room.data(), value)};
}

// A given number of a step. In a matrix that is to be filled in, a longer number than of two
// decimals is written with an exponent: its precision is its own then, not the learner's.
std::string given_text(double value, const NumberStyle& style, bool in_blank_matrix) {
  constexpr int few = 2;
  if (!std::isfinite(value) || value == std::round(value)) return shortest(value);
  if (style.kind == NumberStyle::Kind::scientific) return cell_text(value, style);
  const std::string text = number(value, style.digits);
  const double rounded = std::stod(text);
  if (!in_blank_matrix) return rounded == 0 ? "0" : text;  // "0.0" would be one decimal
  if (rounded == 0) return fmt::format("{:.1e}", value);
  if (std::string exact = brief(value, few); std::stod(exact) == value) return exact;
  return fmt::format("{:.{}e}", rounded, std::max(0, style.digits + leading_place(rounded)));
}

// Adds the files of a tensor of which the worksheet uses a cell.
void add_csv(const ExportEntry& entry, const Trace& trace, const WorksheetCells& cells, int digits,
             std::vector<ExportedFile>& files) {
  const Tensor& tensor = *entry.tensor;
  const Tensor shown = as_shown(tensor, trace.token_layout);
  const NumberStyle style = style_for(shown.values, digits);
  const bool is_step = trace.find_step(entry.name);
  const bool is_blank = cells.has(entry.name, CellUse::asked);
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    const std::vector<CellUse> uses = cells.shown_uses(entry.name, tensor, m, trace.token_layout);
    if (std::ranges::count(uses, CellUse::unused) == std::ssize(uses)) continue;
    const auto text_at = [&](std::size_t i) -> std::string {
      const double value = shown.cells(m)[i];
      if (uses[i] == CellUse::asked || std::isnan(value)) return "";
      if (uses[i] == CellUse::unused) return "-";
      return is_step ? given_text(value, style, is_blank) : shortest(value);
    };
    files.push_back({entry.stem + leading_text(tensor, m, matrix_suffix) + ".csv",
                     to_csv(csv_matrix(shown, m, full_labels(tensor, m, trace.token_layout)),
                            {.text = text_at})});
  }
}

// Created as objects: a null that becomes one at its first key is left broken without memory.
using Json = nlohmann::ordered_json;

std::vector<ExportEntry> wanted_entries(const Trace& trace, const std::vector<std::string>& only) {
  for (const std::string& name : only) trace.at(name);  // throws for unknown names
  return filtered(all_entries(trace), [&](const ExportEntry& entry) {
    return only.empty() || contains(only, entry.name);
  });
}

PlannedFile planned(const std::string& stem, const ExportFormat& format, FileContext job) {
  PlannedFile file{.name = stem + std::string(format_named(format.name).extension),
                   .content = {},
                   .escape_for_terminal = format.escape_for_terminal};
  for (const ExportEntry& entry : job.entries) {
    if (!format.is_document) file.holds.push_back(entry.name);
    const std::size_t parts =
        format.unit == ExportFormat::Unit::matrix ? entry.tensor->matrices() : 1;
    file.cells += entry.tensor->values.size() / std::max<std::size_t>(1, parts);
  }
  file.content = [&format, job = std::move(job)](const Sink& sink) {
    format.write(job, sink);
    job.trace->drop_cache();
  };
  return file;
}

// Plans the files of one format. They hold the job's entries: all in one file, or each by itself.
void plan_format(const ExportFormat& format, FileContext job, std::vector<PlannedFile>& plan) {
  if (format.unit == ExportFormat::Unit::lesson) {
    return plan.push_back(planned("lesson", format, std::move(job)));
  }
  const bool is_by_matrix = format.unit == ExportFormat::Unit::matrix;
  for (const ExportEntry& entry : std::exchange(job.entries, {})) {
    job.entries = {entry};
    const std::size_t files = is_by_matrix ? entry.tensor->matrices() : 1;
    for (job.matrix = 0; job.matrix < files; ++job.matrix) {
      const std::string which =
          is_by_matrix ? leading_text(*entry.tensor, job.matrix, matrix_suffix) : "";
      plan.push_back(planned(entry.stem + which, format, job));
    }
  }
}

// The files that hold each given and step.
using Holders = std::map<std::string_view, std::vector<std::string_view>>;

// The files as JSON: null, a name, or a list.
Json files_json(const std::string& name, const Holders& holders) {
  const auto found = holders.find(name);
  if (found == holders.end()) return nullptr;
  const std::vector<std::string_view>& files = found->second;
  return files.size() == 1 ? Json(files.front()) : Json(files);
}

Json entry_json(const std::string& name, const Tensor& tensor, TokenLayout token_layout,
                const Holders& holders) {
  const MatrixLabels labels = own_labels(tensor, 0, token_layout);
  const auto or_null = [](const std::vector<std::string>& names) {
    return names.empty() ? Json(nullptr) : Json(names);
  };
  return {{"shape", shape_as_shown(tensor, token_layout)},
          {"labels", {{"rows", or_null(labels.rows)}, {"columns", or_null(labels.columns)}}},
          {"file", files_json(name, holders)}};
}

// A large step that is not wanted was not computed: its shape is unknown.
Json step_json(std::size_t number, const StepRecipe& step, const Trace& trace,
               const Holders& holders) {
  Json entry{{"number", number},
             {"name", step.name},
             {"op", std::string(step.operation->name)},
             {"of", step.operation->operands_for_layout(step.of, trace.token_layout)}};
  Json options = Json::object();
  const Options written = step.operation->options_for_layout(step.options, trace.token_layout);
  for (const auto& [name, value] : written.all()) {
    options[name] = std::visit([](const auto& held) { return Json(held); }, value);
  }
  if (!options.empty()) entry["options"] = std::move(options);
  const Tensor* tensor = trace.find(step.name);
  entry.update(tensor ? entry_json(step.name, *tensor, trace.token_layout, holders)
                      : Json{{"shape", nullptr}, {"labels", nullptr}, {"file", nullptr}});
  return entry;
}

// The part of the manifest that is known before the files are written.
Json list_of(const Lesson& lesson, const Trace& trace,
             const std::vector<const ExportFormat*>& formats,
             const std::vector<PlannedFile>& plan) {
  Holders holders;
  for (const PlannedFile& file : plan) {
    for (const std::string& name : file.holds) holders[name].push_back(file.name);
  }
  Json json = Json::object();
  json["qkv"] = QKV_VERSION;
  json["lesson"] = lesson.name;
  json["title"] = lesson.title;
  json["convention"] = trace.token_layout == TokenLayout::columns ? "columns" : "rows";
  json["formats"] = mapped<std::string>(formats, &ExportFormat::name);
  const auto is_document = [](const PlannedFile& file) { return file.holds.empty(); };
  json["documents"] = filtered(plan, is_document, &PlannedFile::name);
  json["givens"] = mapped(trace.givens, [&](const Given& given) {
    Json entry{{"name", given.name}};
    entry.update(entry_json(given.name, given.tensor, trace.token_layout, holders));
    return entry;
  });
  json["steps"] = mapped_places(lesson.recipe.steps.size(), [&](std::size_t s) {
    return step_json(s + 1, lesson.recipe.steps[s], trace, holders);
  });
  return json;
}

}  // namespace

std::span<const ExportFormat> export_formats() { return known_formats; }

std::vector<const ExportFormat*> find_export_formats(std::span<const std::string> names) {
  std::vector<const ExportFormat*> found;
  for (const std::string& list : names) {
    for (const std::string_view name : split(list, ',')) {
      const ExportFormat* format = find_by(known_formats, name, &ExportFormat::name);
      if (!format) {
        throw InputError("there is no format \"{}\"; {}", sanitise(name),
                         did_you_mean(name, {known_formats, &ExportFormat::name}));
      }
      if (!contains(found, format)) found.push_back(format);
    }
  }
  return found;
}

std::vector<ExportedFile> worksheet_files(const Trace& trace, const WorksheetCells& cells,
                                          int digits) {
  std::vector<ExportedFile> files;
  for (const ExportEntry& entry : all_entries(trace)) {
    if (cells.uses.contains(entry.name)) add_csv(entry, trace, cells, digits, files);
  }
  return files;
}

ExportPlan export_plan(const Lesson& lesson, const Trace& trace, const ExportOptions& options) {
  const std::vector<const ExportFormat*> formats = options.formats.empty()
                                                       ? std::vector{&export_formats().front()}
                                                       : find_export_formats(options.formats);
  const FileContext job{.lesson = &lesson,
                        .trace = &trace,
                        .options = options,
                        .entries = wanted_entries(trace, options.only)};
  std::vector<PlannedFile> plan;
  for (const ExportFormat* format : formats) plan_format(*format, job, plan);
  auto list = [known = list_of(lesson, trace, formats, plan)](const Checksums& sums) {
    Json json = known;
    json["sha256"] = sums;
    return json_document(json);
  };
  return {.files = std::move(plan), .list = std::move(list)};
}

}  // namespace qkv::inline exporting
