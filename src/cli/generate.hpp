#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/usage.hpp"

namespace qkv {

/// A file that qkv writes about itself for the system that it is installed on.
struct Generated {
  std::string_view name;  ///< "man", "complete-bash"
  std::string (*write)(const std::vector<CommandUsage>& usage) = nullptr;
};

/// All of them: `qkv --generate NAME`.
std::span<const Generated> generated_files();

std::string man_page(const std::vector<CommandUsage>& usage);
std::string bash_completion(const std::vector<CommandUsage>& usage);
std::string zsh_completion(const std::vector<CommandUsage>& usage);
std::string fish_completion(const std::vector<CommandUsage>& usage);

}  // namespace qkv
