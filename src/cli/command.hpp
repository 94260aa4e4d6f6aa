#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/terminal.hpp"

namespace CLI {
class App;
}

namespace qkv::inline cli {

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

}  // namespace qkv::inline cli
