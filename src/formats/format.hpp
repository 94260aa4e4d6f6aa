#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A file format that qkv reads or writes, with its name and extension.
struct Format {
  std::string_view name;       ///< "npz", as in --format
  std::string_view extension;  ///< ".npz"
  /// Reads the bytes of a file; nullptr for formats that qkv only writes. Throws InputError, whose
  /// messages begin with the file's name.
  std::vector<NamedArray> (*read)(std::string_view bytes, const std::string& where,
                                  const ReadOptions&) = nullptr;
  /// Reads a large file of numbers only, faster than `read`: without blanks and without each
  /// number's digits. Returns nothing if the file has anything else; nullptr if the format has no
  /// such reader. Throws InputError.
  std::optional<Tensor> (*read_numbers)(const std::filesystem::path&) = nullptr;
  bool large = false;    ///< mapped: little of the file may be wanted
  bool several = false;  ///< may hold several matrices, by name
  bool is_text = false;  ///< its extension is also used for notes, settings and other tables
};

namespace file_types {
extern const Format csv;
extern const Format tsv;
extern const Format text;
extern const Format npy;
extern const Format npz;
extern const Format json;
extern const Format safetensors;
extern const Format markdown;
extern const Format latex;
}  // namespace file_types

/// All formats; those that can be read come first.
std::span<const Format* const> all_formats();

/// The format of the file's extension, in any case; nullptr if there is none.
const Format* format_of(const std::filesystem::path& path);

/// True if files with this extension are read.
bool is_readable(const std::filesystem::path& path);

}  // namespace qkv::inline formats
