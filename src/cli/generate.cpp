#include "cli/generate.hpp"

#include <stdexcept>

namespace qkv::inline cli {
namespace {

constexpr Generated file_kinds[] = {
    {"man", man_page},
    {"complete-bash", bash_completion},
    {"complete-zsh", zsh_completion},
    {"complete-fish", fish_completion},
};

}  // namespace

std::span<const Generated> generated_files() { return file_kinds; }

std::string generated_file(std::string_view name, const std::vector<CommandUsage>& usage) {
  for (const Generated& file : file_kinds) {
    if (file.name == name) return file.write(usage);
  }
  throw std::logic_error("no such file: " + std::string(name));
}

}  // namespace qkv::inline cli
