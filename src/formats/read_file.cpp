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
#include "formats/npy.hpp"
#include "formats/numeral.hpp"
#include "formats/pasted.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

using Expected = std::optional<std::array<std::size_t, 2>>;

Written read_npy_file(std::string_view bytes, const std::string& where, Expected) {
  return read_npy(bytes, where);
}

/// A kind of file of numbers. A new format is one row.
struct Reader {
  std::string_view extension;
  Written (*read)(std::string_view bytes, const std::string& where, Expected expected);
};

constexpr std::array readers = {
    Reader{".csv",
           [](std::string_view b, const std::string& w, Expected e) { return read_csv(b, w, e); }},
    Reader{".tsv",
           [](std::string_view b, const std::string& w, Expected e) { return read_csv(b, w, e); }},
    Reader{".txt", [](std::string_view b, const std::string& w,
                      Expected e) { return read_pasted(b, w, e); }},
    Reader{".npy", read_npy_file},
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

Written read_written(const std::filesystem::path& path, Expected expected) {
  const std::string extension = lower(path.extension().string());
  const auto found =
      std::find_if(readers.begin(), readers.end(),
                   [&extension](const Reader& reader) { return reader.extension == extension; });
  if (found == readers.end()) {
    refuse(path, fmt::format("{}: save the numbers as one of {}",
                             extension.empty()
                                 ? "the name has no extension"
                                 : "\"" + printable(extension) + "\" is not a known extension",
                             fmt::join(readable_extensions(), " ")));
  }
  return found->read(read_bytes(path), path.string(), expected);
}

std::vector<std::string_view> readable_extensions() {
  std::vector<std::string_view> extensions;
  for (const Reader& reader : readers) extensions.push_back(reader.extension);
  return extensions;
}

}  // namespace qkv
