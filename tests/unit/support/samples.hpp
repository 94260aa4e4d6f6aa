#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "support/calls.hpp"

/// Random inputs for every operation of the catalogue, made from the operation's own shape rule.
namespace qkv::test {

/// Random numbers that are the same on every machine: the standard's distributions are not.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool chance(unsigned percent) { return engine_() % 100 < percent; }
  /// From -1 to 1.
  double uniform() { return 2.0 * (static_cast<double>(engine_()) / 4294967295.0) - 1.0; }

 private:
  std::mt19937 engine_;
};

/// How large a sample is to be.
enum class Extent {
  any,   ///< sizes 0 to 5, leading axes of heads and batch that repeat
  tiny,  ///< one matrix of at most 2×3, so that every corner of its cells can be tried
};

struct Sample {
  std::unique_ptr<Work> work;
  /// Operands that count or name something: nobody rounds them.
  std::vector<bool> is_exact;
};

/// A call of the operation that must succeed.
Sample sample(const Operation& operation, Extent extent, Dice& dice);

}  // namespace qkv::test
