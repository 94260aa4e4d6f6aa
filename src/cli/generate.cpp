#include "cli/generate.hpp"

#include <stdexcept>

namespace qkv::inline cli {
namespace {

constexpr Generated files[] = {
    {"man", man_page},
    {"complete-bash", bash_completion},
    {"complete-zsh", zsh_completion},
    {"complete-fish", fish_completion},
};

}  // namespace

std::span<const Generated> generated_files() { return files; }

std::string generated_file(std::string_view name, const std::vector<CommandUsage>& usage) {
  for (const Generated& file : files) {
    if (file.name == name) return file.write(usage);
  }
  throw std::logic_error("no such file: " + std::string(name));
}

}  // namespace qkv::inline cli
