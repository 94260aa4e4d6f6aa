#include "tensor/resources.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>

#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline tensor {
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

// The path of the control group (version 2), from a line "0::/user.slice/…".
std::optional<std::string> control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return {};
}

// Nothing if the file says "max".
std::optional<std::size_t> bound_of(const fs::path& group) {
  std::ifstream file(group / "memory.max");
  std::size_t bytes = 0;
  return file >> bytes ? std::optional(bytes) : std::nullopt;
}

/// Returns the machine's memory in bytes; nothing if the system does not say.
std::optional<std::size_t> physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return {};
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

/// Returns the memory limit of this process's control group (a container, a systemd unit); nothing
/// if there is none.
std::optional<std::size_t> cgroup_memory_limit() {
  const auto group = control_group();
  if (!group) return {};
  fs::path place = "/sys/fs/cgroup";
  std::optional<std::size_t> least = bound_of(place);
  for (const fs::path& part : fs::path(*group)) least = less(least, bound_of(place /= part));
  return least;
}

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_it = huge_page / 16;
constexpr std::size_t counted = huge_page / 2;  // smaller blocks don't count against the limit
constexpr std::size_t heap_growth = 16 * huge_page;

std::atomic<std::size_t> taken = 0;

// By default malloc returns large blocks to the system at once. These settings keep them, and let
// its heap grow by whole huge pages.
void retain_freed_memory() {
  static const bool once = [] {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, heap_growth);
    return true;
  }();
  static_cast<void>(once);
}

// Asks for huge pages around the block; the advice changes no content, so neighbours are safe. The
// block itself is not aligned: aligning takes more than is used, so a freed block would be too
// small for the next of its size. A heap that grew is advised whole, before malloc touches it.
void request_huge_pages(void* memory, std::size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory) / huge_page * huge_page;
  const auto end = reinterpret_cast<std::uintptr_t>(memory) + size;
  const auto heap_end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const bool is_last = heap_end > end && heap_end - end < 2 * heap_growth;
  const std::size_t whole = ((is_last ? heap_end : end) - first + huge_page - 1) / huge_page;
  char* const start = static_cast<char*>(memory) - (end - size - first);
  madvise(start, whole * huge_page, MADV_HUGEPAGE);
  static std::atomic<std::uintptr_t> populated = 0;
  if (!is_last || taken < 2 * heap_growth || populated.exchange(heap_end) == heap_end) return;
  // The system clears a page that is touched for the first time: several threads at once.
  parallel_for(whole, 1, huge_page, [&](std::size_t page, std::size_t) {
    madvise(start + page * huge_page, huge_page, MADV_POPULATE_WRITE);
  });
}

std::atomic<std::size_t> limit = default_memory_limit;
std::atomic<LimitSource> limit_of = LimitSource::qkv;
std::atomic<std::size_t> held = 0;

constexpr double gib = 1 << 30;
// No machine has more: a larger request gets no advice to allow it.
constexpr double most_worth_allowing = gib * (1 << 20);

std::size_t most_numbers() { return limit / sizeof(double); }

double product_of(const Shape& shape) {
  double product = 1;
  for (const std::size_t size : shape)
    product *= static_cast<double>(std::max<std::size_t>(1, size));
  return product;
}

std::string remedy(double bytes) {
  if (!(bytes <= most_worth_allowing)) return "make it smaller";
  return fmt::format("make it smaller, or allow more with --memory {:.0f}G",
                     std::floor(bytes / gib) + 1);
}

// Returns "qkv may use 8 GiB": the limit and its source.
std::string allowance() {
  const std::string size = size_text(static_cast<double>(limit));
  switch (limit_of) {
    case LimitSource::option: return fmt::format("--memory lets qkv use {}", size);
    case LimitSource::machine:
      return fmt::format("qkv may use three quarters of the machine's memory, {}", size);
    case LimitSource::control_group:
      return fmt::format("qkv may use three quarters of its control group's memory, {}", size);
    default: return fmt::format("qkv may use {}", size);
  }
}

std::string too_much(double numbers) {
  const double before = static_cast<double>(held) * sizeof(double);
  const double bytes = numbers * sizeof(double);
  return fmt::format("{:.{}g} numbers take {}, and {} ({} numbers){}: {}", numbers,
                     numbers < 1e15 ? 15 : 1, size_text(bytes), allowance(), most_numbers(),
                     before == 0 ? "" : fmt::format(", of which {} are taken", size_text(before)),
                     remedy(bytes + before));
}

std::size_t wanted_threads = 0;
thread_local bool is_shared_out = false;  // this thread runs a block of a parallel loop

std::size_t threads_for(std::size_t blocks, std::size_t operations) {
  if (is_shared_out) return 1;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;  // half a millisecond or more
  return std::clamp<std::size_t>(operations / worth_a_thread, 1,
                                 std::clamp<std::size_t>(blocks, 1, thread_limit()));
}

/// Runs `work` on that many threads, this one included, and waits for all. Rethrows the first
/// exception.
template <class Work>
void on_threads(std::size_t threads, const Work& work) {
  if (threads < 2) return work();
  std::mutex mutex;
  std::exception_ptr error;
  const auto beside_others = [&] {
    is_shared_out = true;
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    is_shared_out = false;
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(beside_others);
    } catch (const std::system_error&) {
      // The system gives no more threads: the existing ones do all the work.
    }
    beside_others();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

void* allocate_huge_pages(std::size_t bytes) {
  if (bytes < worth_it) return ::operator new(bytes);
  retain_freed_memory();
  const std::size_t counting = bytes < counted ? 0 : bytes;
  const bool is_too_much = (taken += counting) > limit && counting > 0;
  void* const memory = is_too_much ? nullptr : std::malloc(bytes);
  if (memory == nullptr) {
    taken -= counting;
    throw std::bad_alloc();
  }
  request_huge_pages(memory, bytes);
  return memory;
}

void deallocate_huge_pages(void* memory, std::size_t bytes) noexcept {
  if (bytes < worth_it) return ::operator delete(memory);
  taken -= bytes < counted ? 0 : bytes;
  std::free(memory);
}

void set_memory_limit(std::size_t bytes, LimitSource whose) {
  limit = bytes;
  limit_of = whose;
}

void set_default_memory_limit() {
  set_memory_limit(default_memory_limit);
  const auto take = [](std::optional<std::size_t> there, LimitSource whose) {
    if (there && *there / 4 * 3 < limit) set_memory_limit(*there / 4 * 3, whose);
  };
  take(physical_memory(), LimitSource::machine);
  take(cgroup_memory_limit(), LimitSource::control_group);
}

std::string out_of_memory() {
  const auto space = less(limit_on(RLIMIT_AS), limit_on(RLIMIT_DATA));  // ulimit -v, -d
  if (space && *space < limit) {
    return fmt::format(
        "this takes more memory than the {} that the system gives this process (ulimit -v): make "
        "it smaller, or raise that limit",
        size_text(static_cast<double>(*space)));
  }
  if (const auto there = physical_memory(); there && limit > *there) {
    return "this takes more memory than the machine has to give: make it smaller";
  }
  return fmt::format(
      "this takes more memory than is allowed, since {}: make it smaller, or allow more, such as "
      "--memory 16G",
      allowance());
}

std::optional<std::size_t> parse_size(std::string_view text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !(count >= 0)) return {};
  std::string unit = ascii_lowercase(std::string(end, text.data() + text.size()));
  if (unit.ends_with("ib")) unit.erase(unit.size() - 2);
  if (unit.ends_with("b")) unit.erase(unit.size() - 1);
  const std::size_t power = unit.size() == 1 ? std::string_view("kmgt").find(unit[0]) + 1 : 0;
  if (power == 0) return {};
  const double bytes = count * std::pow(1024.0, static_cast<double>(power));
  if (!(bytes < 1e18)) return {};
  return static_cast<std::size_t>(bytes);
}

std::string size_text(double bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && bytes >= 1024; ++unit) bytes /= 1024;
  return bytes < 1000 ? fmt::format("{:.3g} {}", bytes, units[unit])
                      : fmt::format("{:.0f} {}", bytes, units[unit]);
}

std::size_t element_count(const Shape& shape, std::string_view what) {
  const std::size_t most = most_numbers();
  const std::size_t left = most - std::min<std::size_t>(most, held);
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    const bool alone_too_large = size > most;  // also beside a size of 0
    if (alone_too_large || (size != 0 && count > left / size)) {
      throw InputError("{} of {} numbers is too large: {}", what, shape_text(shape),
                       too_much(product_of(shape)));
    }
    count *= size;
  }
  return count;
}

MemoryBudget::~MemoryBudget() { held -= numbers_; }

void MemoryBudget::remove(const Tensor& tensor) {
  held -= tensor.values.stored_size();
  numbers_ -= tensor.values.stored_size();
}

void MemoryBudget::add(const Tensor& tensor, std::string_view name) {
  const std::size_t count = tensor.values.stored_size();
  if (held + count > most_numbers()) {
    throw InputError("{} of {} numbers is too large: {}", name, shape_text(tensor.shape()),
                     too_much(static_cast<double>(count)));
  }
  held += count;
  numbers_ += count;
}

void set_thread_limit(std::size_t count) { wanted_threads = count; }

std::size_t thread_limit() {
  static const std::size_t cores = std::thread::hardware_concurrency();  // it reads a file
  const std::size_t most = wanted_threads > 0 ? wanted_threads : cores;
  return std::clamp<std::size_t>(most, 1, 64);
}

void parallel_for(std::size_t count, std::size_t block, std::size_t operations,
                  const std::function<void(std::size_t begin, std::size_t end)>& work) {
  if (count == 0) return;
  if (count <= block) return work(0, count);
  std::atomic<std::size_t> taken_so_far = 0;
  const auto next = [&] { return taken_so_far.fetch_add(block, std::memory_order_relaxed); };
  on_threads(threads_for((count + block - 1) / block, count * operations), [&] {
    for (std::size_t begin = next(); begin < count; begin = next()) {
      work(begin, std::min(begin + block, count));
    }
  });
}

void in_order(std::size_t count, std::size_t operations,
              const std::function<std::string(std::size_t)>& make,
              const std::function<void(std::string_view)>& use) {
  const std::size_t threads = threads_for(count, count * operations);
  const std::size_t at_a_time = threads > 1 ? 8 * threads : 1;
  std::vector<std::string> made;
  for (std::size_t first = 0; first < count || !made.empty(); first += at_a_time) {
    std::vector<std::string> next(std::min(at_a_time, count - std::min(first, count)));
    // One thread uses the last texts while the others make the next.
    parallel_for(next.size() + 1, 1, operations, [&](std::size_t i, std::size_t) {
      if (i == 0) {
        std::ranges::for_each(made, use);
      } else {
        next[i - 1] = make(first + i - 1);
      }
    });
    made = std::move(next);
  }
}

}  // namespace qkv::inline tensor
