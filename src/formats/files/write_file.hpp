#pragma once

#include <filesystem>
#include <string_view>

#include "formats/io.hpp"

namespace qkv::inline formats {

/// Writes a file atomically, also if the power fails: a temporary file beside it, a sync, a rename,
/// a sync of the directory (disable_fsync omits both syncs). An existing file is replaced and its
/// mode kept; a link is replaced itself. On failure, SIGINT, SIGTERM or SIGHUP the temporary file
/// is removed. Throws InputError with path and reason, also for a pipe, a device or a directory.
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large for memory. Exceptions of `content` pass, and leave no file.
void write_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// The same without the directory's sync.
void replace_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// Throws InputError if a pipe, a device (also a link in /dev, such as /dev/stdout) or a directory
/// is at `path`. For commands that fail before their work; the writers above check it, too.
void refuse_unless_file(const std::filesystem::path& path);

/// Removes temporary files that killed programs left in a directory; those in use stay.
void remove_stale_temporaries(const std::filesystem::path& directory);

/// Removes the temporary files that are being written. Safe in signal handlers.
void remove_temporary_files();

enum class TerminalLine { shown, gone };

/// Records whether an unfinished line (a progress bar) is on standard error, to be erased, too.
void set_terminal_line(TerminalLine line);

/// Writes all bytes to a descriptor, waiting when it is full. Returns 0, or errno on failure.
int write_all(int descriptor, std::string_view bytes);

}  // namespace qkv::inline formats
