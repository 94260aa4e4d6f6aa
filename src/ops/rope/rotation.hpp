#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/cell.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Which columns turn together: 2i − 1 and 2i (the paper, LLaMA's own code), or i and i + width/2
/// (Hugging Face, GPT-NeoX).
enum class Pairing { interleaved, halves };

/// Where a column stands among the pairs that turn.
struct PairPlace {
  std::size_t pair;     ///< from 0
  std::size_t partner;  ///< the other column of the pair
  bool is_first;
};
PairPlace pair_place(Pairing pairing, std::size_t width, std::size_t column);

/// The options of a step of op rope: which columns turn, and what is done to the angles of texts
/// longer than the model was trained on (as `rope_scaling` of Hugging Face's transformers has it).
struct RopeOptions {
  enum class Scaling { none, linear, ntk, dynamic, yarn, llama3 };

  Pairing pairing = Pairing::interleaved;
  std::size_t width = 0;  ///< how many columns turn, from the first on
  double base = 10000;
  double first = 0;  ///< the position of the first row
  Scaling scaling = Scaling::none;
  double factor = 1;
  double original = 0;  ///< how long a text the model was trained on
  double rows = 0;      ///< how long this one is
  double low = 0;       ///< the ramp of yarn in pairs, of llama3 in turns of the original text
  double high = 0;

  /// Of a step that fits. Throws InputError where one does not.
  static RopeOptions of(const Call& call);

  bool are_given() const { return rows == 0; }  ///< the angles, by a second operand
  /// How much of a pair's own angle is kept: 1 all, 0 none of it but what the factor leaves.
  double kept_fraction(std::size_t pair) const;
  double attention_factor()
      const;  ///< what cosine and sine are multiplied by: yarn's attention factor

  /// The angle of a pair at a position: p · base^(−2i/width), and what the scaling makes of it.
  template <class N>
  N angle(double position, std::size_t pair) const {
    using std::pow;
    const N exponent = N(2.0 * static_cast<double>(pair)) / N(static_cast<double>(width));
    const N own = N(position) / pow(scaled_base<N>(), exponent);
    const double kept = kept_fraction(pair);
    if (kept == 1) return own;
    if (kept == 0) return own / N(factor);
    return own * (N(kept) + N(1 - kept) / N(factor));
  }

 private:
  // Of a single pair every base is as good: its angle is the position itself.
  template <class N>
  N scaled_base() const {
    using std::pow;
    const bool grows = scaling == Scaling::ntk || scaling == Scaling::dynamic;
    if (!grows || width == 2) return base;
    const N power = N(static_cast<double>(width)) / N(static_cast<double>(width - 2));
    if (scaling == Scaling::ntk) return N(base) * pow(N(factor), power);
    const N longer = N(factor) * N(std::max(rows, original)) / N(original) - N(factor - 1);
    return N(base) * pow(longer, power);
  }
};

/// How rows are turned: what a step of op rope does, and what learners do in its place.
struct Rotation {
  std::size_t width = 0;
  Pairing pairs = Pairing::interleaved;  ///< which columns turn together
  Pairing table = Pairing::interleaved;  ///< in which order the angles stand over the columns
  double first = 0;
  Vector inv_freq = {};  ///< the angle of each pair at position 1; none where angles are given
  double attention_factor = 1;
  double times = 1;  ///< what each angle is multiplied by: −1 turns backwards
  bool sin_cos_swapped = false;

  static Rotation of(const RopeOptions& options);
};

/// What a row's columns are multiplied by: themselves by cosines, their partners by sines.
class RopeTable {
 public:
  /// For so many positions, each with a row of its own.
  RopeTable(const Rotation& rotation, std::size_t rows);
  void turn(std::size_t row, std::span<double> cells) const;

 private:
  Rotation rotation_;
  Matrix cosines_, sines_;
};

/// `result` with each row of the first operand turned; by the angles of the second, if there is
/// one.
Tensor turned(const Call& call, Tensor result, const Rotation& rotation);

/// x₁·cos θ ∓ x₂·sin θ over all angles and all numbers of two intervals.
Interval rotated_range(Interval own, Interval partner, Interval angle, bool is_first);

}  // namespace qkv::inline ops
