#include "tensor/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace qkv {
namespace {

std::size_t wanted_threads = 0;
thread_local bool is_shared_out = false;  // what this thread does is one of several threads' blocks

std::size_t threads_for(std::size_t blocks, std::size_t operations) {
  if (is_shared_out) return 1;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;  // half a millisecond or more
  const std::size_t most =
      wanted_threads > 0 ? wanted_threads : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(
      operations / worth_a_thread, 1,
      std::clamp<std::size_t>(blocks, 1, std::clamp<std::size_t>(most, 1, 64)));
}

/// Blocks that threads take one after the other, and what went wrong first.
class Blocks {
 public:
  Blocks(std::size_t count, std::size_t block,
         const std::function<void(std::size_t, std::size_t)>& work)
      : count_(count), block_(block), work_(work) {}

  void take_all_beside_others() {
    is_shared_out = true;
    take_all();
    is_shared_out = false;
  }

  void take_all() {
    try {
      for (std::size_t begin = next(); begin < count_; begin = next()) {
        work_(begin, std::min(begin + block_, count_));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void throw_on() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::size_t next() { return taken_.fetch_add(block_, std::memory_order_relaxed); }

  const std::size_t count_;
  const std::size_t block_;
  const std::function<void(std::size_t, std::size_t)>& work_;
  std::atomic<std::size_t> taken_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void use_threads(std::size_t count) { wanted_threads = count; }

void in_blocks(std::size_t count, std::size_t block, std::size_t operations,
               const std::function<void(std::size_t begin, std::size_t end)>& work) {
  if (count == 0) return;
  Blocks blocks(count, block, work);
  {
    std::vector<std::jthread> others;  // joined before anything is thrown
    const std::size_t threads = threads_for((count + block - 1) / block, count * operations);
    try {
      for (std::size_t t = 1; t < threads; ++t) {
        others.emplace_back([&] { blocks.take_all_beside_others(); });
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are do all of it.
    }
    threads > 1 ? blocks.take_all_beside_others() : blocks.take_all();
  }
  blocks.throw_on();
}

}  // namespace qkv
