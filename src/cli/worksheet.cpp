#include "cli/options.hpp"
#include "formats/files/write_file.hpp"
#include "page/pages.hpp"

namespace qkv::inline cli {
namespace {

namespace fs = std::filesystem;

struct WorksheetOptions : PartChoice {
  LessonSelection lesson;
  std::string directory;
  bool answers = false;
  int digits = 4;
  bool force = false;
};

// True if numbers were written into the file; an unreadable one may well be a learner's work.
bool is_filled_in(const fs::path& path, std::string_view blank) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) || fs::is_fifo(path, ignored)) return false;
  try {
    if (read_bytes(path) == blank) return false;
    const ParsedArray written = read_array(path);
    return std::ranges::any_of(written.cells,
                               [](const Numeral& cell) { return !std::isnan(cell.value); });
  } catch (const InputError&) {
    return fs::is_directory(path, ignored) || fs::file_size(path, ignored) > 0;
  }
}

void refuse_filled_in(const fs::path& directory, const std::vector<ExportedFile>& files) {
  const auto is_filled = [&](const ExportedFile& file) {
    return !file.name.starts_with("given-") && is_filled_in(directory / file.name, file.bytes);
  };
  const auto filled = filtered(files, is_filled, &ExportedFile::name);
  if (filled.empty()) return;
  const std::size_t others = filled.size() - 1;
  throw InputError(
      "{}{} numbers that this worksheet would replace: your own, or another worksheet's; name "
      "another directory, or add --force",
      (directory / filled.front()).string(),
      others == 0 ? " holds"
                  : fmt::format(" and {} more {} hold", others, others == 1 ? "file" : "files"));
}

// Worksheets of another lesson in the same directory would be checked with this one's.
void refuse_unknown_tensors(const fs::path& directory, const std::vector<ExportedFile>& files) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = contains(files, name, &ExportedFile::name);
    if (ours || entry.path().extension() != ".csv") continue;
    throw InputError(
        "{} is not a sheet of this worksheet, and the two would be mixed; name another directory, "
        "or add --force",
        entry.path().string());
  }
}

// A worksheet has no manifest: its files are meant to change, and an export's would become wrong.
void write_all(const std::vector<ExportedFile>& files, const fs::path& directory) {
  const OutputDirectory output(directory, {files, &ExportedFile::name});
  for (const ExportedFile& file : files) {
    output.write(file.name, [&](const Sink& sink) { sink(file.bytes); });
  }
  output.finish();
}

// Worksheets are filled in by hand and printed, so they are small.
void refuse_too_many(const Trace& trace) {
  constexpr std::size_t most = 10'000'000;
  const std::size_t count = numbers_of(trace);
  if (count <= most) return;
  throw InputError(
      "{} numbers are more than a worksheet is for ({}): qkv export … --step {} writes some steps",
      group_digits(count), group_digits(most), trace.steps.front().name);
}

// What the worksheet asks for, in words.
std::string part_text(const WorksheetOptions& options) {
  std::string text;
  const auto add = [&](std::string_view what, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, value);
  };
  for (const std::string& step : options.steps) add("step", step);
  add("from", options.from);
  add("to", options.to);
  add("row", options.row);
  if (options.head) add("head", std::to_string(*options.head));
  return text;
}

std::string report_text(const WorksheetOptions& options, std::size_t files, std::size_t asked,
                        const std::string& check) {
  constexpr std::size_t many = 100;
  const std::string directory = sanitise(options.directory);
  std::string text = fmt::format(
      "{} asks for {} {} ({} files).\nPrint worksheet.html, or fill in the CSV files; then\n  {}\n",
      directory, group_digits(asked), asked == 1 ? "number" : "numbers", files, sanitise(check));
  if (options.answers) text += "The key is answers.html.\n";
  if (asked > many) text += "By hand, ask for a small part: --step, --from, --to, --head, --row.\n";
  return text;
}

int run(const WorksheetOptions& options, const CommonOptions&) {
  if (options.directory == "-") {
    throw InputError("a worksheet is several files; name a directory: -o DIR");
  }
  const LoadedLesson loaded = load(options.lesson);
  refuse_too_many(loaded.trace);
  const std::string check =
      fmt::format("qkv check {} {}", loaded.lesson.asked, shell_word(options.directory));
  const WorksheetCells asked =
      worksheet_cells(loaded.trace, worksheet_request(options, loaded.trace));
  std::vector<ExportedFile> files = worksheet_files(loaded.trace, asked, options.digits);
  if (!options.force) {
    refuse_unknown_tensors(options.directory, files);
    refuse_filled_in(options.directory, files);
  }
  WorksheetStyle look{.digits = options.digits, .check = check, .part = part_text(options)};
  files.push_back({"worksheet.html", worksheet_page(loaded.lesson, asked, look)});
  const std::size_t sheets = files.size();
  if (options.answers) {
    look.kind = SheetKind::key;
    files.push_back({"answers.html", worksheet_page(loaded.lesson, asked, look)});
  }
  write_all(files, options.directory);
  print_error(report_text(options, sheets, asked.asked, check));
  return 0;
}

void declare(CLI::App& app, WorksheetOptions& options) {
  add_lesson_options(app, options.lesson);
  add_value(app, "-o,--output", options.directory, "DIR", "The directory to write to")
      ->check(check_path)
      ->required();
  add_part_options(app, options);
  app.add_flag("--answers", options.answers,
               "Also write the key to print, answers.html: every number with its arithmetic");
  add_number(app, "--digits", options.digits, decimals(),
             "Decimals of the givens on the printable page (4)");
  app.add_flag("--force", options.force, "Replace files that are filled in");
  add_sync_option(app);
}

}  // namespace

constinit const Command worksheet_command{
    .name = "worksheet",
    .summary =
        "a lesson to fill in: its givens, and every step blank, as CSV and as a page to print",
    .examples =
        "  qkv worksheet the-fat-cat -o my-work         then fill in my-work/*.csv, and\n"
        "  qkv check the-fat-cat my-work\n"
        "  qkv worksheet two-heads -o one-row --row cat --head 1     36 numbers\n"
        "  qkv worksheet causal -o class --from masked_scores --answers   with the key\n"
        "  qkv worksheet the-fat-cat -o sheet --text \"the cat sat on the fat mat\"\n",
    .setup = set_up_command<WorksheetOptions, declare, run>,
};

}  // namespace qkv::inline cli
