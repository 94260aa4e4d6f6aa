#include "tensor/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::optional<std::size_t> less(std::optional<std::size_t> one, std::optional<std::size_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

std::optional<std::size_t> limit_on(__rlimit_resource resource) {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

// The group's path below the root of control groups, version 2: a line "0::/user.slice/…".
std::optional<std::string> control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return {};
}

// "max" where there is none.
std::optional<std::size_t> bound_of(const fs::path& group) {
  std::ifstream file(group / "memory.max");
  std::size_t bytes = 0;
  return file >> bytes ? std::optional(bytes) : std::nullopt;
}

}  // namespace

std::optional<std::size_t> memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return {};
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

std::optional<std::size_t> memory_of_control_group() {
  const auto group = control_group();
  if (!group) return {};
  fs::path place = "/sys/fs/cgroup";
  std::optional<std::size_t> least = bound_of(place);
  for (const fs::path& part : fs::path(*group)) least = less(least, bound_of(place /= part));
  return least;
}

std::optional<std::size_t> address_space() {
  return less(limit_on(RLIMIT_AS), limit_on(RLIMIT_DATA));
}

}  // namespace qkv
