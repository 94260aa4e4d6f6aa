#include "cli/sandbox.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace qkv::inline cli {
namespace {

#ifdef SYS_landlock_create_ruleset

// The kernel's structure: the system's header may have an older and shorter one.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

// The kernel's bits (linux/landlock.h), by the version that introduced them.
constexpr std::uint64_t execute = 1 << 0;
constexpr std::uint64_t may_write_file = 1 << 1;
constexpr std::uint64_t remove_and_make = 0x1ff0;  // directories, files, links, pipes, devices
constexpr std::uint64_t truncate = 1 << 14;        // since version 3
constexpr std::uint64_t all_tcp = 0b11;            // since version 4: bind and connect
constexpr std::uint64_t all_scopes = 0b11;         // since version 6: abstract sockets, signals

Ruleset ruleset(FileAccess use, long version) {
  Ruleset rules = {.files = execute, .network = 0, .scopes = 0};
  if (use == FileAccess::reads) rules.files |= may_write_file | remove_and_make;
  if (use == FileAccess::reads && version >= 3) rules.files |= truncate;
  if (version >= 4) rules.network = all_tcp;
  if (version >= 6) rules.scopes = all_scopes;
  return rules;
}

// Handled rights are refused everywhere, since there are no exceptions.
void refuse_by_kernel(FileAccess use) {
  constexpr unsigned ask_version = 1;
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, ask_version);
  if (version < 1) return;
  const Ruleset rules = ruleset(use, version);
  const long handle = ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (handle < 0) return;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    ::syscall(SYS_landlock_restrict_self, handle, 0);
  }
  ::close(static_cast<int>(handle));
}

#else

void refuse_by_kernel(FileAccess) {}

#endif

}  // namespace

void enter_sandbox(FileAccess use) {
  if (std::getenv("QKV_UNCONFINED") == nullptr) refuse_by_kernel(use);
}

}  // namespace qkv::inline cli
