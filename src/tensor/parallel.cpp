#include "tensor/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace qkv::inline tensor {
namespace {

std::size_t wanted_threads = 0;
thread_local bool is_shared_out = false;  // this thread runs a block of a parallel loop

std::size_t threads_for(std::size_t blocks, std::size_t operations) {
  if (is_shared_out) return 1;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;  // half a millisecond or more
  return std::clamp<std::size_t>(operations / worth_a_thread, 1,
                                 std::clamp<std::size_t>(blocks, 1, thread_limit()));
}

/// Runs `work` on that many threads, this one included, and waits for all.
void on_threads(std::size_t threads, const std::function<void()>& work) {
  if (threads < 2) return work();
  const auto beside_others = [&work] {
    is_shared_out = true;
    work();
    is_shared_out = false;
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(beside_others);
  } catch (const std::system_error&) {
    // The system gives no more threads: the existing ones do all the work.
  }
  beside_others();
}

/// Hands out blocks to threads, and keeps the first exception.
class Blocks {
 public:
  Blocks(std::size_t count, std::size_t block,
         const std::function<void(std::size_t, std::size_t)>& work)
      : count_(count), block_(block), work_(work) {}

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

/// Texts that threads make and use in order. A text made before its turn waits here while its
/// thread makes the next. The thread that makes the next one uses it, and those that wait behind.
class Turns {
 public:
  Turns(std::size_t count, std::size_t threads, const std::function<std::string(std::size_t)>& make,
        const std::function<void(std::string_view)>& use)
      : count_(count), most_waiting_(8 * threads), make_(make), use_(use) {}

  void take_all() {
    try {
      for (std::size_t i = taken_++; i < count_; i = taken_++) {
        std::string text = make_(i);
        std::unique_lock lock(mutex_);
        // Waits while too many texts wait for an earlier one.
        changed_.wait(lock, [&] { return i < turn_ + most_waiting_ || error_; });
        if (error_) return;
        waiting_.emplace(i, std::move(text));
        for (; waiting_.contains(turn_); ++turn_) use_(waiting_.extract(turn_).mapped());
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void throw_on() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::size_t count_;
  const std::size_t most_waiting_;
  const std::function<std::string(std::size_t)>& make_;
  const std::function<void(std::string_view)>& use_;
  std::atomic<std::size_t> taken_ = 0;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::map<std::size_t, std::string> waiting_;
  std::size_t turn_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void set_thread_limit(std::size_t count) { wanted_threads = count; }

std::size_t thread_limit() {
  static const std::size_t cores = std::thread::hardware_concurrency();  // it reads a file
  const std::size_t most = wanted_threads > 0 ? wanted_threads : cores;
  return std::clamp<std::size_t>(most, 1, 64);
}

void parallel_for(std::size_t count, std::size_t block, std::size_t operations,
                  const std::function<void(std::size_t begin, std::size_t end)>& work) {
  if (count == 0) return;
  Blocks blocks(count, block, work);
  on_threads(threads_for((count + block - 1) / block, count * operations),
             [&] { blocks.take_all(); });
  blocks.throw_on();
}

void in_order(std::size_t count, std::size_t operations,
              const std::function<std::string(std::size_t)>& make,
              const std::function<void(std::string_view)>& use) {
  const std::size_t threads = threads_for(count, count * operations);
  Turns turns(count, threads, make, use);
  on_threads(threads, [&] { turns.take_all(); });
  turns.throw_on();
}

}  // namespace qkv::inline tensor
