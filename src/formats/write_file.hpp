#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "formats/sink.hpp"

namespace qkv {

/// Writes a file so that it appears whole or not at all: into a temporary file beside it, which
/// then takes its name. Whatever had the name is replaced; a link itself, not what it points to. On
/// failure, SIGINT, SIGTERM or SIGHUP the temporary is removed. A device, such as /dev/stdout, is
/// written to as it is. Throws InputError with the path and the reason.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large to have in memory. Whatever `content` throws passes through, and
/// leaves no file.
void write_whole(const std::filesystem::path& path, const FileContent& content);

/// Makes a directory and those above it, if they are not there yet. Throws InputError where a file
/// is in the way or nothing can be written there.
void make_directory(const std::filesystem::path& path);

}  // namespace qkv
