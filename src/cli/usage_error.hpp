#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace qkv {

/// What was wrong with the words of a command, in one line: what to write instead, and where the
/// examples are.
std::string usage_error(const CLI::App& root, const CLI::ParseError& error);

/// Throws InputError where the first word that is no option of qkv's own names no command.
void refuse_unknown_command(const CLI::App& root, std::span<const std::string> words);

}  // namespace qkv
