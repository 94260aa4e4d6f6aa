#include "formats/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/read_file.hpp"

namespace qkv {
namespace {

/// The size of a regular file that is not empty; 0 for anything else.
std::size_t mappable_size(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const std::size_t size = descriptor < 0 ? 0 : mappable_size(descriptor);
    void* mapping =
        size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (descriptor >= 0) ::close(descriptor);  // a mapping outlives its descriptor
    if (mapping != MAP_FAILED) {
      mapping_ = mapping;
      bytes_ = {static_cast<const char*>(mapping), size};
      return;
    }
  }
  copy_ = read_bytes(path);  // which also says why a file can't be read
  bytes_ = copy_;
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

}  // namespace qkv
