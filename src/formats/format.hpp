#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A kind of file that qkv reads or writes: the one place for its name and extension.
struct Format {
  std::string_view name;       ///< "npz", as people and --format call it
  std::string_view extension;  ///< ".npz"
  /// Reads the bytes of a file, whose name opens every message; nullptr where qkv only writes such
  /// files. Throws InputError.
  std::vector<NamedArray> (*read)(std::string_view bytes, const std::string& where,
                                  const ReadOptions&) = nullptr;
  /// Reads a file of nothing but numbers, which may be large, without a stop at what could be blank
  /// and at the digits that were written; nothing where it has more than that. nullptr where
  /// there is no such shorter way. Throws InputError.
  std::optional<Tensor> (*read_numbers)(const std::filesystem::path&) = nullptr;
  bool large = false;    ///< its files are looked into, not read: few of their arrays may be wanted
  bool several = false;  ///< its files name their matrices, and may have more than one
  bool is_text = false;  ///< its extension is also that of notes, settings and other tables
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

/// Every format, those that are read first.
std::span<const Format* const> all_formats();

/// The format that a file's extension names, in capitals or not; nullptr where there is none.
const Format* format_of(const std::filesystem::path& path);

}  // namespace qkv::inline formats
