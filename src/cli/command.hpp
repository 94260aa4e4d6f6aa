#pragma once

#include "exporting/export_plan.hpp"

namespace CLI {
class App;
}

namespace qkv::inline cli {

enum class ColourMode { automatic, always, never };

/// The properties of standard output.
struct Terminal {
  std::size_t width = 80;  ///< from COLUMNS, else the terminal's own, else 80
  bool colour = false;
};

/// Returns the properties of standard output. --color decides on colour, then NO_COLOR.
Terminal output_terminal(ColourMode choice);

/// Writes results to standard output; waits if a pipe is full.
void print(std::string_view text);

void flush_output();

/// Writes a message to standard error, after flushing standard output. Write errors are ignored.
void print_error(std::string_view text);

/// Flushes standard output. Throws InputError on failure, such as a full disk.
void finish_output();

/// Prints the first messages of a kind that may come by the thousand, and counts the rest.
class MessageLimit {
 public:
  /// Prints a line to standard error, unless the limit is reached.
  void print_error(std::string_view message);

  /// Prints how many messages were suppressed, if any: "and 7 more paths that can't be read".
  void print_rest(std::string_view kind) const;

 private:
  std::size_t count_ = 0;
};

/// Options that every command has.
struct CommonOptions {
  ColourMode colour = ColourMode::automatic;
  std::string memory;  ///< "8G"; empty: the default for the machine
  bool outside_files = false;
};

/// A subcommand. `setup` declares its options and returns the function that runs it and returns the
/// exit status.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::function<int()> (*setup)(CLI::App&, const CommonOptions&) = nullptr;
};

extern const Command lessons_command;
extern const Command run_command;
extern const Command explain_command;
extern const Command export_command;
extern const Command heads_command;
extern const Command worksheet_command;
extern const Command report_command;
extern const Command check_command;
extern const Command compare_command;
extern const Command lint_command;
extern const Command new_command;
extern const Command params_command;

/// Returns the names of the course's lessons, a paragraph for each group.
std::string lesson_names_by_group();

/// Runs qkv with main's arguments and returns the exit status; 2 for InputError.
int run_app(int argc, char** argv);

/// Writes the files of an export and its manifest to a directory, created if needed. Returns a
/// summary, "32 files in out". Throws InputError if a file cannot be written.
std::string export_to_directory(const ExportPlan& plan, const std::filesystem::path& directory);

/// Declares --no-sync, for commands that write files.
void add_sync_option(CLI::App& app);

}  // namespace qkv::inline cli
