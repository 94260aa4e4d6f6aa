#pragma once

#include <string>

namespace CLI {
class App;
}

namespace qkv {

/// What qkv is and can do, for those who type it alone.
std::string welcome();

/// The help of the command that was chosen, its examples first, or of qkv itself.
std::string help_text(const CLI::App& root);

}  // namespace qkv
