#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/files/manifest.hpp"

namespace qkv {

/// Whether a file is another than the list beside it names: it has another SHA-256. The list of an
/// older qkv, without sums, says nothing. Throws InputError where the file can't be read.
bool is_changed(const std::filesystem::path& file);

/// What speaks for an export: its givens, which are written first ("given-X.csv"), or any file that
/// is named as it names them ("06-scores.csv"); learners hand in such sheets without givens.
enum class ExportSign { givens, any_file };

/// Why a file or a directory is not what an export wrote.
struct Doubt {
  std::string says;  ///< "06-scores.csv is not the file that 00-lesson.json lists: …", in one line
  /// Its files have no list: they are copies, or the export was cut short.
  bool half_export = false;
};

/// What there is to say of a file, with the list beside it, or of a directory, whose list is `list`
/// if there is one. What was never exported is beyond doubt, and so is a worksheet, which has a
/// page beside its files. Throws InputError where a file can't be read.
std::optional<Doubt> doubt_of(const std::filesystem::path& path,
                              const std::optional<Manifest>& list, ExportSign sign);

}  // namespace qkv
