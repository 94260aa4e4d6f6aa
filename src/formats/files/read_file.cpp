#include "formats/files/read_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "text/strings.hpp"

namespace qkv::inline formats {
namespace {

[[noreturn]] void refuse_errno(const std::filesystem::path& path, std::string_view what) {
  const int reason = errno;
  if (reason == ENOENT) refuse(path, "there is no such file: check the name and the directory");
  refuse(path, "{}: {}", what, std::strerror(reason));
}

struct OpenFile : NotCopied {
  // Opening a pipe or device must not block.
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    if (descriptor < 0 && errno == ENXIO) refuse(path, "this is a socket or a device: name a file");
    if (descriptor < 0) refuse_errno(path, "the file cannot be opened");
  }
  ~OpenFile() { ::close(descriptor); }

  int descriptor;
};

[[noreturn]] void refuse_large(const std::filesystem::path& path, std::size_t limit) {
  refuse(path, "the file has more than {} bytes, the most that is read", limit);
}

std::string abbreviated_list(const std::vector<std::string>& names) {
  return printable(fmt::to_string(fmt::join(names, ", ")));
}

const Format& readable_format(const std::filesystem::path& path) {
  const Format* format = format_of(path);
  if (is_readable(path)) return *format;
  const std::string extension = path.extension().string();
  const std::string why = extension.empty() ? "the name has no extension"
                          : format == nullptr
                              ? "\"" + printable(extension) + "\" is not a known extension"
                              : fmt::format("qkv writes {} but does not read it", format->name);
  refuse(path, "{}: save the numbers as one of {}", why, fmt::join(readable_extensions(), " "));
}

[[noreturn]] void refuse_unknown_key(const std::filesystem::path& path, const std::string& key,
                                     const std::vector<std::string>& names) {
  if (names.empty()) refuse(path, "nothing in it is named \"{}\": leave out key", printable(key));
  const std::string near = suggest(key, names);
  const std::string what = near.empty() ? fmt::format("there are {}", abbreviated_list(names))
                                        : fmt::format("did you mean \"{}\"?", printable(near));
  refuse(path, "nothing in it is named \"{}\"; {}", printable(key), what);
}

// A shell's pipes, <(…) and /dev/stdin, have a writer; a pipe in a directory may never get one.
bool is_pipe_among_files(const std::filesystem::path& path, int descriptor) {
  struct statfs system = {};
  if (::fstatfs(descriptor, &system) != 0 || system.f_type == PIPEFS_MAGIC) return false;
  return !path.string().starts_with("/dev/") && !path.string().starts_with("/proc/");
}

// True for devices, except a terminal, where a person types, and the null device.
bool is_endless(int descriptor, const struct stat& status) {
  if (S_ISBLK(status.st_mode)) return true;
  if (!S_ISCHR(status.st_mode) || ::isatty(descriptor) == 1) return false;
  struct stat empty = {};
  return ::stat("/dev/null", &empty) != 0 || empty.st_rdev != status.st_rdev;
}

void refuse_special(const std::filesystem::path& path, int descriptor, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) refuse(path, "this is a directory: name a file in it");
  if (is_endless(descriptor, status)) {
    refuse(path, "this is a device, which may have no end: name a file");
  }
  if (S_ISFIFO(status.st_mode) && is_pipe_among_files(path, descriptor)) {
    refuse(path, "this is a pipe, which may never be written to: name a file, or <(cat PIPE)");
  }
}

namespace fs = std::filesystem;

// True if a file has another SHA-256 than its manifest says. Those in an archive are not looked at.
bool is_changed(const ListedFile& file, const Manifest& list) {
  const auto sum = list.sums.find(file.path.filename().string());
  if (sum == list.sums.end() || file.path.parent_path() != list.folder) return false;
  if (file.unpack || !fs::is_regular_file(status_at(file.path))) return false;
  Sha256 own;
  own.add(MappedFile(file.path).bytes());
  return own.hex() != sum->second;
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
  const Json list = value.is_string() ? Json::array({value}) : value;
  if (!list.is_array()) return {};
  return filtered(list, &Json::is_string, &Json::get<std::string>);
}

void add_entries(const Json& lesson, const char* key, Manifest& manifest) {
  for (const Json& entry : lesson.value(key, Json::array())) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    std::vector<std::string> files = string_list(entry.value("file", Json()));
    manifest.files.insert(files.begin(), files.end());
    manifest.entries.push_back({entry["name"].get<std::string>(), std::move(files)});
  }
}

// Nothing if there is no such file, or if it is not qkv's.
std::optional<Manifest> manifest_of(const ListedFile& file) {
  if (!file.unpack && !fs::is_regular_file(status_at(file.path))) return {};
  if (file.size > max_manifest_bytes) refuse_large(file.path, max_manifest_bytes);
  try {
    const Json lesson =
        Json::parse(file.unpack ? file.unpack() : read_bytes(file.path, max_manifest_bytes));
    if (!lesson.is_object()) return {};
    Manifest manifest{.folder = file.path.parent_path()};
    add_entries(lesson, "givens", manifest);
    add_entries(lesson, "steps", manifest);
    const Json sums = lesson.value("sha256", Json::object());
    for (const auto& [name, sum] : sums.items()) {
      if (sum.is_string()) manifest.sums[name] = sum.get<std::string>();
    }
    return manifest;
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    const OpenFile file(path);
    const auto size = static_cast<std::size_t>(::lseek(file.descriptor, 0, SEEK_END));
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
    if (mapping != MAP_FAILED) {
      mapping_ = mapping;
      bytes_ = {static_cast<const char*>(mapping), size};
      return;
    }
  }
  copy_ = read_bytes(path);  // also reports why a file cannot be read
  bytes_ = copy_;
}

void MappedFile::release(std::string_view part) const {
  if (mapping_ == nullptr) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto first = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t begin = first / page * page;
  ::madvise(static_cast<char*>(mapping_) + begin, first + part.size() - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

std::string read_bytes(const std::filesystem::path& path, std::size_t limit) {
  const OpenFile file(path);
  struct stat status = {};
  if (::fstat(file.descriptor, &status) != 0) refuse_errno(path, "the file cannot be read");
  refuse_special(path, file.descriptor, status);
  // From here on, wait for the data of a shell's pipe or a terminal.
  ::fcntl(file.descriptor, F_SETFL, ::fcntl(file.descriptor, F_GETFL) & ~O_NONBLOCK);
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > limit) refuse_large(path, limit);

  // One byte more than the file's size, so that the first read shows its end. A pipe's size is 0.
  constexpr std::size_t smallest_read = 4096;
  std::string bytes(std::max(size + 1, smallest_read), '\0');
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = ::read(file.descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_errno(path, "the file cannot be read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > limit) refuse_large(path, limit);
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
  }
  bytes.resize(filled);
  return bytes;
}

std::vector<NamedArray> read_arrays(const std::filesystem::path& path, const ReadOptions& wanted) {
  const Format& format = readable_format(path);
  std::error_code ignored;  // a missing file is reported when it is read
  if (std::filesystem::is_character_file(path, ignored)) {
    refuse(path, "this is a device, which may have no end: name a file of numbers");
  }
  // A copy stays whole if the file changes while it is read, but takes longer than a mapping.
  constexpr std::uintmax_t worth_mapping = std::uintmax_t{1} << 24;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  if (format.large || (size >= worth_mapping && size <= max_file_bytes)) {
    const auto file = std::make_shared<const MappedFile>(path);
    ReadOptions kept = wanted;
    if (wanted.later) kept.keeps = file;
    return format.read(file->bytes(), path.string(), kept);
  }
  return format.read(read_bytes(path), path.string(), wanted);
}

ParsedArray read_array(const std::filesystem::path& path, const std::optional<std::string>& key) {
  std::vector<std::string> names;
  const auto accepts = [&](const std::string& name) {
    names.push_back(name);
    return key ? name == *key : names.size() == 1;
  };
  std::vector<NamedArray> matrices = read_arrays(path, {.accepts = accepts});
  if (key && (matrices.empty() || names.empty())) refuse_unknown_key(path, *key, names);
  if (names.size() > 1 && !key) {
    refuse(path, "it holds several matrices; write key = \"{}\", or another of {}",
           printable(names.front()), abbreviated_list(names));
  }
  return std::move(matrices.front().written);
}

bool is_modified(const fs::path& file, ManifestCache& manifests) {
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const auto [known, is_new] = manifests.try_emplace(directory);
  if (is_new) known->second = manifest_of({.path = directory / manifest_name});
  return known->second && is_changed({.path = directory / file.filename()}, *known->second);
}

std::string verify_export(std::span<const ListedFile> files, const std::optional<Manifest>& list) {
  ManifestCache unread;
  std::vector<std::string> changed;
  for (const ListedFile& file : files) {
    const bool is_lone = !list && files.size() == 1 && !file.unpack;
    if (list ? is_changed(file, *list) : is_lone && is_modified(file.path, unread))
      changed.push_back(file.path.filename().string());
  }
  return changed.empty() ? "" : changed_files_text(changed);
}

std::optional<Manifest> manifest_among(std::span<const ListedFile> files) {
  const auto manifests =
      filtered(files, [](const ListedFile& file) { return file.path.filename() == manifest_name; });
  const auto depth = [](const ListedFile& file) {
    return std::distance(file.path.begin(), file.path.end());
  };
  return manifests.empty() ? std::nullopt
                           : manifest_of(*std::ranges::min_element(manifests, {}, depth));
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

}  // namespace qkv::inline formats
