#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace qkv {

struct Command;

/// What a shell can offer for a value.
enum class Offer { nothing, choices, lessons, lessons_and_files, steps, cells, files, directories };

/// An option or an argument of a command, as the command declared it.
struct OptionUsage {
  std::vector<std::string> names;  ///< "-o", "--output"; for an argument without dashes "LESSON"
  std::string value;               ///< "FILE"; empty for a flag
  std::string says;
  std::vector<std::string> choices;  ///< where only these may be given
  Offer offer = Offer::nothing;
  bool is_argument = false;
  bool required = false;
  bool repeats = false;
};

/// A command: everything that its help says, as data for man pages and completions.
struct CommandUsage {
  std::string name;  ///< empty for qkv itself
  std::string summary;
  std::string examples;
  std::vector<OptionUsage> options;  ///< those of the command alone
};

/// The usage of qkv and of each command, read from the options as they are declared: nothing is
/// said twice. The first is qkv itself, with the options that every command takes.
std::vector<CommandUsage> usage_of(CLI::App& root, std::span<const Command* const> commands);

/// The last of an option's names, the long one where there is one.
std::string_view long_name(const OptionUsage& option);

/// The first line of what an option says: lists of choices stand below it.
std::string_view says_shortly(const OptionUsage& option);

}  // namespace qkv
