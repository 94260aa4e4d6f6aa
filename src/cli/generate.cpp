#include "cli/generate.hpp"

namespace qkv {
namespace {

constexpr Generated files[] = {
    {"man", man_page},
    {"complete-bash", bash_completion},
    {"complete-zsh", zsh_completion},
    {"complete-fish", fish_completion},
};

}  // namespace

std::span<const Generated> generated_files() { return files; }

}  // namespace qkv
