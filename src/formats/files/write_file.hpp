#pragma once

#include <filesystem>
#include <string_view>

#include "formats/sink.hpp"

namespace qkv {

/// Writes a file so that it appears whole or not at all, also where the power fails: into a
/// temporary file beside it, which is synced and then takes its name; then the directory is synced
/// (write_without_sync leaves both out). Whatever had the name is replaced, and its mode kept; a
/// link itself, not what it points to. On failure, SIGINT, SIGTERM or SIGHUP the temporary is
/// removed. A device, such as /dev/stdout, is written to as it is, and so is a pipe that is read.
/// Throws InputError with the path and the reason.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large to have in memory. Whatever `content` throws passes through, and
/// leaves no file.
void write_whole(const std::filesystem::path& path, const FileContent& content);

/// The same but that the directory is not synced, and that no device or pipe is written to: what
/// has the name is replaced, whatever it is.
void replace_whole(const std::filesystem::path& path, const FileContent& content);

/// Removes the temporaries in a directory that killed programs left behind; those that are still
/// written to are left alone.
void remove_leftovers(const std::filesystem::path& directory);

}  // namespace qkv
