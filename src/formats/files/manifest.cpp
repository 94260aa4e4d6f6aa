#include "formats/files/manifest.hpp"

#include <nlohmann/json.hpp>

#include "formats/files/read_file.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

constexpr std::size_t largest_manifest = std::size_t{1} << 24;

// The texts in a value that is one of them or a list.
std::vector<std::string> texts_in(const Json& value) {
  std::vector<std::string> texts;
  if (value.is_string()) texts.push_back(value.get<std::string>());
  if (!value.is_array()) return texts;
  for (const Json& text : value) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

void add_entries(const Json& lesson, const char* key, Manifest& manifest) {
  for (const Json& entry : lesson.value(key, Json::array())) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    std::vector<std::string> files = texts_in(entry.value("file", Json()));
    manifest.files.insert(files.begin(), files.end());
    manifest.entries.push_back({entry["name"].get<std::string>(), std::move(files)});
  }
}

void add_sums(const Json& lesson, Manifest& manifest) {
  const Json sums = lesson.value("sha256", Json::object());
  for (const auto& [name, sum] : sums.items()) {
    if (sum.is_string()) manifest.sums[name] = sum.get<std::string>();
  }
}

}  // namespace

bool Manifest::lists(std::string_view file) const { return files.contains(file); }

std::optional<Manifest> read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / manifest_name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    const Json lesson = Json::parse(read_bytes(path, largest_manifest));
    if (!lesson.is_object()) return {};
    Manifest manifest;
    add_entries(lesson, "givens", manifest);
    add_entries(lesson, "steps", manifest);
    add_sums(lesson, manifest);
    return manifest;
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace qkv
