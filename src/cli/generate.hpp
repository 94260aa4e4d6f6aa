#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_list.hpp"

namespace qkv::inline cli {

/// A command: everything that its help says, as data for man page and completions.
struct CommandUsage {
  std::string name;  ///< empty for qkv itself
  std::string summary;
  std::string examples;
  std::vector<DeclaredOption> options;  ///< those of the command alone
};

/// A file that qkv writes about itself for the system that it is installed on.
struct Generated {
  std::string_view name;  ///< "man", "complete-bash"
  std::string (*write)(const std::vector<CommandUsage>& usage) = nullptr;
};

/// All of them: `qkv --generate NAME`.
std::span<const Generated> generated_files();

/// What the one of that name holds.
std::string generated_file(std::string_view name, const std::vector<CommandUsage>& usage);

std::string man_page(const std::vector<CommandUsage>& usage);
std::string bash_completion(const std::vector<CommandUsage>& usage);
std::string zsh_completion(const std::vector<CommandUsage>& usage);
std::string fish_completion(const std::vector<CommandUsage>& usage);

/// The libraries that are linked into this program, with their versions, as an SPDX 2.3 document in
/// its tag: value form. cmake/bill.cmake writes it.
std::string_view sbom();

}  // namespace qkv::inline cli
