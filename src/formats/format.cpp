#include "formats/format.hpp"

#include "formats/arrays/arrays.hpp"
#include "formats/handwork/csv.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;
using Matrices = std::vector<NamedArray>;

Matrices from_csv(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  return {{"", read_csv(bytes, where, wanted)}};
}

Matrices from_text(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  if (!is_eval_callback(bytes)) return {{"", read_printed_text(bytes, where, wanted)}};
  if (wanted.parts) return read_eval_callback(bytes, where);
  refuse(where,
         "llama-eval-callback prints a part of each tensor: only `qkv compare` reads it, against a "
         "lesson or --model");
}

Matrices from_npy(std::string_view bytes, const std::string& where, const ReadOptions& wanted) {
  return {{"", read_npy(bytes, where, wanted.most_of({}))}};
}

// Those that can be read come first.
constexpr Format all_formats[] = {
    {.name = "csv", .extension = ".csv", .read = from_csv, .is_text = true},
    {.name = "tsv", .extension = ".tsv", .read = from_csv, .is_text = true},
    {.name = "text", .extension = ".txt", .read = from_text, .is_text = true},
    {.name = "npy", .extension = ".npy", .read = from_npy, .large = true},
    {.name = "npz", .extension = ".npz", .read = read_npz, .large = true, .several = true},
    {.name = "json", .extension = ".json", .read = read_json, .several = true, .is_text = true},
    {.name = "safetensors",
     .extension = ".safetensors",
     .read = read_safetensors,
     .large = true,
     .several = true},
    {.name = "pytorch", .extension = ".pt", .read = read_pytorch, .large = true, .several = true},
    {.name = "pytorch", .extension = ".pth", .read = read_pytorch, .large = true, .several = true},
    {.name = "markdown", .extension = ".md"},
    {.name = "latex", .extension = ".tex"},
};

}  // namespace

const Format& format_named(std::string_view name) {
  if (const Format* found = find_by(all_formats, name, &Format::name)) return *found;
  throw std::logic_error("there is no such format");
}

const Format* format_of(const fs::path& path) {
  return find_by(all_formats, ascii_lowercase(path.extension().string()), &Format::extension);
}

bool is_readable(const fs::path& path) {
  const Format* format = format_of(path);
  return format != nullptr && format->read != nullptr;
}

std::vector<std::string_view> readable_extensions() {
  return filtered(all_formats, &Format::read, &Format::extension);
}

}  // namespace qkv::inline formats
