#include "formats/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/csv.hpp"
#include "formats/json.hpp"
#include "formats/npy.hpp"
#include "formats/npz.hpp"
#include "formats/numeral.hpp"
#include "formats/pasted.hpp"
#include "tensor/error.hpp"
#include "tensor/nearest.hpp"

namespace qkv {
namespace {

using Expected = std::optional<std::array<std::size_t, 2>>;

using Matrices = std::vector<NamedWritten>;

Matrices unnamed(Written written) {
  Matrices matrices;
  matrices.push_back({.name = {}, .written = std::move(written)});
  return matrices;
}

Matrices from_csv(std::string_view bytes, const std::string& where, Expected expected) {
  return unnamed(read_csv(bytes, where, expected));
}

Matrices from_text(std::string_view bytes, const std::string& where, Expected expected) {
  return unnamed(read_pasted(bytes, where, expected));
}

Matrices from_npy(std::string_view bytes, const std::string& where, Expected) {
  return unnamed(read_npy(bytes, where));
}

Matrices from_npz(std::string_view bytes, const std::string& where, Expected) {
  return read_npz(bytes, where);
}

Matrices from_json(std::string_view bytes, const std::string& where, Expected) {
  return read_json(bytes, where);
}

/// A kind of file of numbers. A new format is one row.
struct Reader {
  std::string_view extension;
  Matrices (*read)(std::string_view bytes, const std::string& where, Expected expected);
  bool several = false;  ///< it names its matrices, and may have more than one
};

constexpr std::array readers = {
    Reader{".csv", from_csv}, Reader{".tsv", from_csv},       Reader{".txt", from_text},
    Reader{".npy", from_npy}, Reader{".npz", from_npz, true}, Reader{".json", from_json, true},
};

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view why) {
  throw InputError(fmt::format("{}: {}", path.string(), why));
}

[[noreturn]] void refuse_errno(const std::filesystem::path& path, std::string_view what) {
  const int reason = errno;
  if (reason == ENOENT) refuse(path, "there is no such file: check the name and the directory");
  refuse(path, fmt::format("{}: {}", what, std::strerror(reason)));
}

/// A file descriptor that closes itself.
struct OpenFile {
  explicit OpenFile(int fd) : descriptor(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

[[noreturn]] void refuse_large(const std::filesystem::path& path, std::size_t limit) {
  refuse(path, fmt::format("the file has more than {} bytes, the most that is read", limit));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

const Reader* reader_of(const std::filesystem::path& path) {
  const std::string extension = lower(path.extension().string());
  for (const Reader& reader : readers) {
    if (reader.extension == extension) return &reader;
  }
  return nullptr;
}

}  // namespace

std::string read_bytes(const std::filesystem::path& path, std::size_t limit) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor < 0) refuse_errno(path, "the file cannot be opened");
  struct stat status = {};
  if (::fstat(file.descriptor, &status) != 0) refuse_errno(path, "the file cannot be read");
  if (S_ISDIR(status.st_mode)) refuse(path, "this is a directory: name a file in it");
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > limit) refuse_large(path, limit);

  // One byte more than the file says it has: so its end shows in the first read. A pipe says 0.
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

std::vector<NamedWritten> read_all_written(const std::filesystem::path& path, Expected expected) {
  const Reader* reader = reader_of(path);
  if (!reader) {
    const std::string extension = path.extension().string();
    refuse(path, fmt::format("{}: save the numbers as one of {}",
                             extension.empty()
                                 ? "the name has no extension"
                                 : "\"" + printable(extension) + "\" is not a known extension",
                             fmt::join(readable_extensions(), " ")));
  }
  return reader->read(read_bytes(path), path.string(), expected);
}

Written read_written(const std::filesystem::path& path, const std::optional<std::string>& key) {
  Matrices matrices = read_all_written(path);
  const bool named = !matrices.front().name.empty();
  if (!key && matrices.size() == 1) return std::move(matrices.front().written);
  std::vector<std::string_view> names;
  for (const NamedWritten& matrix : matrices) names.push_back(matrix.name);
  if (!named)
    refuse(path, fmt::format("nothing in it is named \"{}\": leave out key", printable(*key)));
  if (!key) {
    refuse(path, fmt::format("it holds several matrices; write key = \"{}\", or another of {}",
                             printable(names.front()),
                             printable(fmt::to_string(fmt::join(names, ", ")))));
  }
  for (NamedWritten& matrix : matrices) {
    if (matrix.name == *key) return std::move(matrix.written);
  }
  const std::string near = nearest(*key, names);
  refuse(path, near.empty()
                   ? fmt::format("nothing in it is named \"{}\"; there are {}", printable(*key),
                                 printable(fmt::to_string(fmt::join(names, ", "))))
                   : fmt::format("nothing in it is named \"{}\"; did you mean \"{}\"?",
                                 printable(*key), printable(near)));
}

bool may_hold_several(const std::filesystem::path& path) {
  const Reader* reader = reader_of(path);
  return reader && reader->several;
}

std::vector<std::string_view> readable_extensions() {
  std::vector<std::string_view> extensions;
  for (const Reader& reader : readers) extensions.push_back(reader.extension);
  return extensions;
}

}  // namespace qkv
