#include "formats/files/manifest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "formats/files/read_file.hpp"
#include "formats/format.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view worksheet_page = "worksheet.html";

std::string sha256_of(const fs::path& path) {
  const MappedFile file(path);
  Sha256 sum;
  sum.add(file.bytes());
  return sum.hex();
}

// "06-scores.csv", "given-X.npy".
bool is_named_as_exported(const fs::path& file) {
  if (!is_readable(file)) return false;
  const std::string name = file.filename().string();
  if (name.starts_with("given-")) return true;
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits >= 2 && digits < name.size() && name[digits] == '-';
}

// Files that do not exist are not included.
std::vector<std::string> changed_files(const fs::path& directory, const Manifest& list) {
  std::vector<std::string> changed;
  std::error_code ignored;
  for (const auto& [name, sum] : list.sums) {
    const fs::path file = directory / name;
    // A manifest is untrusted: it may name only files beside it.
    if (fs::path(name).filename() != name || !fs::is_regular_file(file, ignored)) continue;
    if (sha256_of(file) != sum) changed.push_back(name);
  }
  return changed;
}

std::string changed_files_text(std::span<const std::string> names) {
  constexpr std::size_t most = 3;
  const std::size_t listed = std::min(most, names.size());
  const std::string first = fmt::format("{}", fmt::join(names.first(listed), ", "));
  if (names.size() == 1) {
    return fmt::format("{} is not the file that {} lists: it was changed after the export", first,
                       manifest_name);
  }
  const std::size_t more = names.size() - listed;
  return fmt::format("{}{} are not the files that {} lists: they were changed after the export",
                     first, more == 0 ? "" : fmt::format(" and {} more", more), manifest_name);
}

using Json = nlohmann::json;

constexpr std::size_t max_manifest_bytes = std::size_t{1} << 24;

// The strings of a value that is a string or a list.
std::vector<std::string> string_list(const Json& value) {
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
    std::vector<std::string> files = string_list(entry.value("file", Json()));
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

bool is_modified(const fs::path& file, ManifestCache& manifests) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const auto [known, is_new] = manifests.try_emplace(directory);
  if (is_new) known->second = read_manifest(directory);
  const auto& list = known->second;
  if (!list) return false;
  const auto sum = list->sums.find(file.filename().string());
  return sum != list->sums.end() && sha256_of(file) != sum->second;
}

std::string verify_export(const fs::path& path, const std::optional<Manifest>& list) {
  std::vector<std::string> changed;
  ManifestCache unread;
  if (list) {
    changed = changed_files(path, *list);
  } else if (is_modified(path, unread)) {
    changed.push_back(path.filename().string());
  }
  return changed.empty() ? "" : changed_files_text(changed);
}

bool has_exported_names(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / worksheet_page, error)) return false;
  for (auto entry = fs::directory_iterator(directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (is_named_as_exported(entry->path()) && entry->is_regular_file(ignored)) return true;
  }
  return false;
}

Sha256::Sha256() { sha256_init(&state_); }

void Sha256::add(std::string_view bytes) {
  sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&state_, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::optional<Manifest> read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / manifest_name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    const Json lesson = Json::parse(read_bytes(path, max_manifest_bytes));
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

}  // namespace qkv::inline formats
