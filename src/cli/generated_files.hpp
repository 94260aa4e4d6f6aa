#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_list.hpp"

namespace qkv::inline cli {

/// A command's help as data, for man page and completions.
struct CommandUsage {
  std::string name;  ///< empty for qkv itself
  std::string summary;
  std::string examples;
  std::vector<DeclaredOption> options;  ///< without those of other commands
};

/// A file that qkv generates: man page or completion script.
struct Generated {
  std::string_view name;  ///< "man", "complete-bash"
  std::string (*write)(const std::vector<CommandUsage>& usage) = nullptr;
};

/// Returns all generated files: `qkv --generate NAME`.
std::span<const Generated> generated_files();

/// Returns the content of the generated file of that name.
std::string generated_file(std::string_view name, const std::vector<CommandUsage>& usage);

std::string man_page(const std::vector<CommandUsage>& usage);
std::string bash_completion(const std::vector<CommandUsage>& usage);
std::string zsh_completion(const std::vector<CommandUsage>& usage);
std::string fish_completion(const std::vector<CommandUsage>& usage);

}  // namespace qkv::inline cli
