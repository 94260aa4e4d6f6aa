#include "cli/options.hpp"
#include "cli/screen.hpp"
#include "formats/files/write_file.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

namespace fs = std::filesystem;

// Writes a file, showing progress as its bytes pass. Returns its SHA-256.
std::string write_file(const PlannedFile& file, const OutputDirectory& output, Progress& progress) {
  std::size_t left = file.cells;
  const auto pass = [&](std::size_t cells) {
    progress.advance(std::min(cells, left));
    left -= std::min(cells, left);
  };
  Sha256 sum;
  output.write(file.name, [&](const Sink& sink) {
    file.content([&](std::string_view bytes) {
      sum.add(bytes);
      sink(bytes);
      pass(bytes.size() / sizeof(double));
    });
  });
  pass(left);
  return sum.hex();
}

struct ExportCommandOptions {
  LessonSelection lesson;
  std::string directory;
  ExportOptions what;
};

// Several files are printed with a comment line before each: NumPy skips it.
void to_output(const std::vector<PlannedFile>& plan) {
  for (const PlannedFile& file : plan) {
    if (file.escape_for_terminal != nullptr) continue;
    throw InputError("{} is not text for a screen; name a directory: -o DIR", sanitise(file.name));
  }
  for (const PlannedFile& file : plan) {
    std::string text;
    file.content([&](std::string_view bytes) { text += bytes; });
    if (plan.size() > 1) print(fmt::format("# {}\n", file.name));
    print(file.escape_for_terminal(text));  // a label may hold escape sequences
  }
}

int run(const ExportCommandOptions& options, const CommonOptions&) {
  const LoadedLesson loaded = load(options.lesson, options.what.only);
  std::string done;
  {
    const ExportPlan plan = export_plan(loaded.lesson, loaded.trace, options.what);
    if (options.directory == "-") {
      to_output(plan.files);
    } else {
      done = export_to_directory(plan, options.directory) + "\n";
    }
  }  // the plan's JSON allocates as it is destroyed: that may fail only before success is reported
  print_error(done);
  return 0;
}

std::string formats_help() {
  std::string text = "csv unless named; several at once: npy,json";
  for (const ExportFormat& format : export_formats()) {
    text += fmt::format("\n{:<12} {}", format.name, format.help);
  }
  return text;
}

// A comma-separated list of names; a shell completes single ones.
CLI::Validator format_list() {
  const auto check = [](const std::string& list) -> std::string {
    try {
      find_export_formats({&list, 1});
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  };
  return {check,
          fmt::format("{{{}}}", fmt::join(NameViews(export_formats(), &ExportFormat::name), ","))};
}

void declare(CLI::App& app, ExportCommandOptions& options) {
  add_lesson_options(app, options.lesson);
  add_value(app, "-o,--output", options.directory, "DIR",
            "The directory to write to; - for the screen")
      ->check(check_path)
      ->required();
  add_value(app, "--format", options.what.formats, "NAME", formats_help())->check(format_list());
  add_value(app, "--step", options.what.only, "STEP", "Only this step or given (repeatable)");
  add_number(app, "--digits", options.what.digits, decimals(),
             "Decimals of numbers in text (default: all that a double needs; in documents 4)");
  app.add_flag("--plain", options.what.plain, "Numbers only, without labels");
  add_sync_option(app);
}

}  // namespace

std::string export_to_directory(const ExportPlan& plan, const fs::path& directory) {
  const OutputDirectory output(directory, {plan.files, &PlannedFile::name});
  std::size_t cells = 0;
  for (const PlannedFile& file : plan.files) cells += file.cells;
  Progress progress("exporting", cells);
  Checksums sums;
  for (const PlannedFile& file : plan.files) sums[file.name] = write_file(file, output, progress);
  const std::string list = plan.list(sums);
  output.write_manifest([&](const Sink& sink) { sink(list); });
  return fmt::format("{} in {}", pluralise(plan.files.size() + 1, "file"),
                     sanitise(directory.string()));
}

void add_sync_option(CLI::App& app) {
  app.add_flag_callback("--no-sync", disable_fsync,
                        "Do not wait until the files are safe on the disk");
}

constinit const Command export_command{
    .name = "export",
    .summary = "every step's matrix as a file, for spreadsheets, programs and documents",
    .examples =
        "  qkv export the-fat-cat -o out\n"
        "  qkv export the-fat-cat -o out --plain         numbers only, for numpy.loadtxt\n"
        "  qkv export the-fat-cat -o out --format npy    an array a step, with all heads\n"
        "  qkv export the-fat-cat -o out --format npz,json,latex\n"
        "  qkv export the-fat-cat --step scores -o -     one matrix, on the screen\n"
        "  qkv export the-fat-cat --format markdown -o - > walk.md\n"
        "  qkv export --model model.safetensors --text \"…\" --format npz -o out\n",
    .setup = set_up_command<ExportCommandOptions, declare, run>,
};

}  // namespace qkv::inline cli
