#include "formats/format.hpp"

#include <algorithm>

#include "formats/csv.hpp"
#include "formats/csv_plain.hpp"
#include "formats/json.hpp"
#include "formats/mapped_file.hpp"
#include "formats/npy.hpp"
#include "formats/npz.hpp"
#include "formats/pasted.hpp"
#include "formats/read_file.hpp"
#include "formats/safetensors.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Matrices = std::vector<NamedWritten>;

Matrices unnamed(Written written) {
  Matrices matrices;
  matrices.push_back({.name = {}, .written = std::move(written)});
  return matrices;
}

Matrices from_csv(const fs::path& path, const Wanted& wanted) {
  return unnamed(read_csv(read_bytes(path), path.string(), wanted.expected));
}

Matrices from_text(const fs::path& path, const Wanted& wanted) {
  return unnamed(read_pasted(read_bytes(path), path.string(), wanted.expected));
}

std::optional<Tensor> numbers_of_csv(const fs::path& path) {
  const MappedFile file(path);
  return csv::read_plain_matrix(file.bytes(), path.string());
}

std::optional<Tensor> numbers_of_npy(const fs::path& path) {
  const MappedFile file(path);
  Tensor array = read_npy_array(file.bytes(), path.string()).tensor;
  if (has_nan(array.values)) return {};
  return array;
}

Matrices from_npy(const fs::path& path, const Wanted&) {
  return unnamed(read_npy(read_bytes(path), path.string()));
}

/// Those that are wanted; what has no name is always taken.
Matrices only(Matrices matrices, const Wanted& wanted) {
  if (!wanted.takes) return matrices;
  std::erase_if(matrices, [&](const NamedWritten& matrix) {
    return !matrix.name.empty() && !wanted.takes(matrix.name);
  });
  return matrices;
}

Matrices from_npz(const fs::path& path, const Wanted& wanted) {
  return only(read_npz(read_bytes(path), path.string()), wanted);
}

Matrices from_json(const fs::path& path, const Wanted& wanted) {
  return only(read_json(read_bytes(path), path.string()), wanted);
}

Matrices from_safetensors(const fs::path& path, const Wanted& wanted) {
  const MappedFile file(path);  // a model's file is large, and few of its tensors may be wanted
  const auto all = [](const std::string&) { return true; };
  return read_safetensors(file.bytes(), path.string(), wanted.takes ? wanted.takes : all);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

constexpr std::array format_list = {
    &formats::csv,  &formats::tsv,         &formats::text,     &formats::npy,   &formats::npz,
    &formats::json, &formats::safetensors, &formats::markdown, &formats::latex,
};

}  // namespace

namespace formats {
constinit const Format csv{.name = "csv",
                           .extension = ".csv",
                           .read = from_csv,
                           .read_numbers = numbers_of_csv,
                           .is_text = true};
constinit const Format tsv{.name = "tsv", .extension = ".tsv", .read = from_csv, .is_text = true};
constinit const Format text{
    .name = "text", .extension = ".txt", .read = from_text, .is_text = true};
constinit const Format npy{
    .name = "npy", .extension = ".npy", .read = from_npy, .read_numbers = numbers_of_npy};
constinit const Format npz{.name = "npz", .extension = ".npz", .read = from_npz, .several = true};
constinit const Format json{
    .name = "json", .extension = ".json", .read = from_json, .several = true, .is_text = true};
constinit const Format safetensors{
    .name = "safetensors", .extension = ".safetensors", .read = from_safetensors, .several = true};
constinit const Format markdown{.name = "markdown", .extension = ".md"};
constinit const Format latex{.name = "latex", .extension = ".tex"};
}  // namespace formats

std::span<const Format* const> all_formats() { return format_list; }

const Format* format_of(const fs::path& path) {
  const std::string extension = lower(path.extension().string());
  for (const Format* format : format_list) {
    if (format->extension == extension) return format;
  }
  return nullptr;
}

}  // namespace qkv
