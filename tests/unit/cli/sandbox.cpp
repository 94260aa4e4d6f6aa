#include "cli/sandbox.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

using namespace qkv;

namespace {

/// The version of Landlock that this kernel has, or 0.
long version() {
#ifdef SYS_landlock_create_ruleset
  return std::max(0L, ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1));
#else
  return 0;
#endif
}

/// The reason why `attempt` fails in a process that was confined first, or 0.
int reason_in_confinement(FileAccess use, const std::function<bool()>& attempt,
                          const char* unconfined = nullptr) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::unsetenv("QKV_UNCONFINED");
    if (unconfined != nullptr) ::setenv("QKV_UNCONFINED", unconfined, 1);
    enter_sandbox(use);
    errno = 0;
    ::_exit(attempt() ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool starts_a_program() { return ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr) == 0; }

bool connects() {
  const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(handle, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool signals_its_parent() { return ::kill(::getppid(), 0) == 0; }

bool looks_into_its_parent() { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0; }

/// A directory with one file, gone with the object.
struct TriedPlace {
  TriedPlace() : folder(std::filesystem::temp_directory_path() / fmt::format("qkv-{}", ::getpid())) {
    std::filesystem::create_directory(folder);
    ::close(::open(file().c_str(), O_WRONLY | O_CREAT, 0666));
  }
  TriedPlace(const TriedPlace&) = delete;
  TriedPlace& operator=(const TriedPlace&) = delete;
  ~TriedPlace() { std::filesystem::remove_all(folder); }
  std::string file() const { return folder / "there"; }
  std::string other() const { return folder / "new"; }
  std::filesystem::path folder;
};

/// What changes a file, each by a name of its own.
struct FileChange {
  const char* name;
  bool (*make)(const TriedPlace&);
};
constexpr FileChange changes[] = {
    {"write", [](const TriedPlace& p) { return ::open(p.file().c_str(), O_WRONLY) >= 0; }},
    {"make", [](const TriedPlace& p) { return ::open(p.other().c_str(), O_CREAT | O_RDWR, 0666) >= 0; }},
    {"rename", [](const TriedPlace& p) { return ::rename(p.file().c_str(), p.other().c_str()) == 0; }},
    {"link", [](const TriedPlace& p) { return ::symlink("there", p.other().c_str()) == 0; }},
    {"directory", [](const TriedPlace& p) { return ::mkdir(p.other().c_str(), 0777) == 0; }},
    {"remove", [](const TriedPlace& p) { return ::unlink(p.file().c_str()) == 0; }}};

}  // namespace

TEST_CASE("a command starts no program, connects to nothing and touches no other process") {
  const FileAccess use = GENERATE(FileAccess::reads, FileAccess::writes);
  if (version() < 1) {
    WARN("this kernel has no Landlock: it confines nothing");
    return;
  }
  CHECK(reason_in_confinement(use, starts_a_program) == EACCES);
  CHECK(reason_in_confinement(use, looks_into_its_parent) == EPERM);
  if (version() < 4) {
    WARN("this kernel's Landlock knows no network");
    return;
  }
  CHECK(reason_in_confinement(use, connects) == EACCES);
  if (version() < 6) {
    WARN("this kernel's Landlock knows no signals");
    return;
  }
  CHECK(reason_in_confinement(use, signals_its_parent) == EPERM);
}

TEST_CASE("a command that only reads changes no file, and can read each") {
  if (version() < 3) {
    WARN("this kernel's Landlock is too old");
    return;
  }
  for (const FileChange& change : changes) {
    INFO(change.name);
    const TriedPlace place;
    CHECK(reason_in_confinement(FileAccess::reads, [&] { return change.make(place); }) == EACCES);
    CHECK(reason_in_confinement(FileAccess::writes, [&] { return change.make(place); }) == 0);
  }
  const TriedPlace place;
  const auto reads = [&] { return ::open(place.file().c_str(), O_RDONLY) >= 0; };
  CHECK(reason_in_confinement(FileAccess::reads, reads) == 0);
}

TEST_CASE("few commands may write files") {
  std::vector<std::string_view> writing;
  for (const Command* command : all_commands()) {
    if (command->files == FileAccess::writes) writing.push_back(command->name);
  }
  // A walk by steps exports; one that is printed is confined to reading by itself.
  CHECK(writing == std::vector<std::string_view>{"run", "export", "report", "worksheet", "new"});
}

TEST_CASE("who wants to watch the program from inside can switch its confinement off") {
  CHECK(reason_in_confinement(FileAccess::reads, starts_a_program, "1") == 0);
}
