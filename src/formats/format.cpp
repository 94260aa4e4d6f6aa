#include "formats/format.hpp"

#include "formats/arrays/arrays.hpp"
#include "formats/files/read_file.hpp"
#include "formats/handwork/csv.hpp"
#include "tensor/matmul.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;
using Matrices = std::vector<NamedArray>;

Matrices unnamed(ParsedArray written) {
  Matrices matrices;
  matrices.push_back({.name = {}, .written = std::move(written)});
  return matrices;
}

Matrices from_csv(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  return unnamed(read_csv(bytes, where, wanted));
}

Matrices from_text(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  if (!is_eval_callback(bytes)) return unnamed(read_printed_text(bytes, where, wanted));
  if (wanted.parts) return read_eval_callback(bytes, where);
  refuse(where,
         "llama-eval-callback prints a part of each tensor: only `qkv compare` reads it, against a "
         "lesson or --model");
}

std::optional<Tensor> numbers_of_npy(const fs::path& path) {
  const MappedFile file(path);
  Tensor array = read_npy_array(file.bytes(), path.string()).tensor;
  if (has_nan(array.values)) return {};
  return array;
}

Matrices from_npy(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  return unnamed(read_npy(bytes, where, wanted.most_of({})));
}

constinit const Format pytorch{
    .name = "pytorch", .extension = ".pt", .read = read_pytorch, .large = true, .several = true};
constinit const Format pytorch_checkpoint{
    .name = "pytorch", .extension = ".pth", .read = read_pytorch, .large = true, .several = true};

constexpr std::array format_list = {
    &file_types::csv,    &file_types::tsv,      &file_types::text,        &file_types::npy,
    &file_types::npz,    &file_types::json,     &file_types::safetensors, &pytorch,
    &pytorch_checkpoint, &file_types::markdown, &file_types::latex,
};

}  // namespace

namespace file_types {
constinit const Format csv{.name = "csv", .extension = ".csv", .read = from_csv, .is_text = true};
constinit const Format tsv{.name = "tsv", .extension = ".tsv", .read = from_csv, .is_text = true};
constinit const Format text{
    .name = "text", .extension = ".txt", .read = from_text, .is_text = true};
constinit const Format npy{.name = "npy",
                           .extension = ".npy",
                           .read = from_npy,
                           .read_numbers = numbers_of_npy,
                           .large = true};
constinit const Format npz{
    .name = "npz", .extension = ".npz", .read = read_npz, .large = true, .several = true};
constinit const Format json{
    .name = "json", .extension = ".json", .read = read_json, .several = true, .is_text = true};
constinit const Format safetensors{.name = "safetensors",
                                   .extension = ".safetensors",
                                   .read = read_safetensors,
                                   .large = true,
                                   .several = true};
constinit const Format markdown{.name = "markdown", .extension = ".md"};
constinit const Format latex{.name = "latex", .extension = ".tex"};
}  // namespace file_types

std::span<const Format* const> all_formats() { return format_list; }

const Format* format_of(const fs::path& path) {
  const std::string extension = ascii_lowercase(path.extension().string());
  const auto found = std::ranges::find(format_list, extension, &Format::extension);
  return found == format_list.end() ? nullptr : *found;
}

bool is_readable(const fs::path& path) {
  const Format* format = format_of(path);
  return format != nullptr && format->read != nullptr;
}

}  // namespace qkv::inline formats
