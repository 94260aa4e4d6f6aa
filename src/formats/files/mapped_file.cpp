#include "formats/files/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>

#include "formats/files/read_file.hpp"
#include "formats/files/unfinished.hpp"
#include "formats/handwork/numeral.hpp"

namespace qkv {

/// What a handler of SIGBUS must know of a mapping, in memory that is always there: where it is,
/// and what to say if its file ends before it does. More mappings at a time than there are slots
/// end the program without a word.
struct MappedFile::Slot {
  std::atomic<bool> is_taken = false;
  std::atomic<const char*> begin = nullptr;
  std::atomic<std::size_t> size = 0;
  std::array<char, 512> message = {};
};

namespace {

constexpr int bad_input = 2;  // the exit status

/// The size of a regular file that is not empty; 0 for anything else.
std::size_t mappable_size(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::size_t>(status.st_size);
}

std::string message_for(const std::filesystem::path& path) {
  return fmt::format(
      "qkv: {}: the file was cut short while it was read: let it be written whole, then try "
      "again\n",
      printable(path.filename().string()));
}

}  // namespace

/// The mappings that are there, for the handler.
class Mappings {
 public:
  static MappedFile::Slot* add(const char* begin, std::size_t size,
                               const std::filesystem::path& path) {
    static const bool once = install_handler();
    static_cast<void>(once);
    for (MappedFile::Slot& slot : slots) {
      bool expected = false;
      if (!slot.is_taken.compare_exchange_strong(expected, true)) continue;
      const std::string message = message_for(path);
      slot.message = {};
      std::copy_n(message.begin(), std::min(message.size(), slot.message.size() - 1),
                  slot.message.begin());
      slot.size = size;
      slot.begin = begin;
      return &slot;
    }
    return nullptr;
  }

 private:
  static bool install_handler() {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
  }

  /// A page of a mapping can't be read: nothing can go on that looks at it, so the program ends as
  /// for any bad input. What is no mapping's is the program's own fault.
  static void handle(int signal, siginfo_t* info, void*) {
    const auto* place = static_cast<const char*>(info->si_addr);
    for (const MappedFile::Slot& slot : slots) {
      const char* begin = slot.begin;
      if (begin == nullptr || place < begin || place >= begin + slot.size) continue;
      remove_unfinished();
      const std::size_t length = std::char_traits<char>::length(slot.message.data());
      [[maybe_unused]] const ssize_t not_told = ::write(STDERR_FILENO, slot.message.data(), length);
      ::_exit(bad_input);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }

  static std::array<MappedFile::Slot, 512> slots;
};

std::array<MappedFile::Slot, 512> Mappings::slots;

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const std::size_t size = descriptor < 0 ? 0 : mappable_size(descriptor);
    void* mapping =
        size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (descriptor >= 0) ::close(descriptor);  // a mapping outlives its descriptor
    if (mapping != MAP_FAILED) {
      mapping_ = mapping;
      bytes_ = {static_cast<const char*>(mapping), size};
      slot_ = Mappings::add(bytes_.data(), size, path);
      return;
    }
  }
  copy_ = read_bytes(path);  // which also says why a file can't be read
  bytes_ = copy_;
}

void MappedFile::forget(std::string_view part) const {
  if (mapping_ == nullptr) return;
  constexpr std::size_t page = std::size_t{1} << 16;  // the largest that kernels have
  const auto offset = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + part.size()) / page * page;
  if (begin < end) ::madvise(static_cast<char*>(mapping_) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (slot_ != nullptr) {
    slot_->begin = nullptr;
    slot_->is_taken = false;
  }
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

}  // namespace qkv
