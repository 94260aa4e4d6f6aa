#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/sandbox.hpp"
#include "cli/terminal.hpp"

namespace qkv::inline cli {

class OptionList;

/// What every subcommand shares.
struct CommonOptions {
  ColourMode colour = ColourMode::automatic;
  std::string memory;  ///< "8G"; empty: what suits the machine
  bool outside_files = false;
};

/// Where `--model FILE` puts the model among the command's arguments.
enum class ModelArgument { nowhere, first, last };

/// One subcommand: its name, a line of help, examples, `setup`, which declares its options and
/// returns what runs it (the exit status is its result), and whether it may write files.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::function<int()> (*setup)(OptionList&, const CommonOptions&) = nullptr;
  ModelArgument model = ModelArgument::nowhere;
  FileAccess files = FileAccess::reads;
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

/// All of them, in the order in which help lists them.
std::span<const Command* const> all_commands();

/// Runs qkv with the arguments of main. The result is the exit status; InputError means 2.
int run_app(int argc, char** argv);

}  // namespace qkv::inline cli
