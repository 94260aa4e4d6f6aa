#pragma once

#include "ops/cell.hpp"

namespace qkv::inline ops {

/// Which columns form a pair: 2i − 1 and 2i (the paper, LLaMA's own code), or i and i + width/2
/// (Hugging Face, GPT-NeoX).
enum class Pairing { interleaved, halves };

/// A column's place among the rotated pairs.
struct PairPlace {
  std::size_t pair;     ///< from 0
  std::size_t partner;  ///< the other column of the pair
  bool is_first;
};
PairPlace pair_place(Pairing pairing, std::size_t width, std::size_t column);

/// The options of a rope step: which columns are rotated, and how angles are scaled for texts
/// longer than in training (`rope_scaling` of Hugging Face's transformers).
struct RopeOptions {
  enum class Scaling { none, linear, ntk, dynamic, yarn, llama3 };
  static constexpr std::string_view scalings[] = {"none",    "linear", "ntk",
                                                  "dynamic", "yarn",   "llama3"};

  Pairing pairing = Pairing::interleaved;
  std::size_t width = 0;  ///< number of rotated columns, from the first on
  double base = 10000;
  double first = 0;  ///< the position of the first row
  Scaling scaling = Scaling::none;
  double factor = 1;
  double original = 0;  ///< length of the texts in training, in tokens
  double rows = 0;      ///< length of this text
  double low = 0;       ///< the ramp: yarn's in pairs, llama3's in rotations over the original text
  double high = 0;
  double attention_factor = 1;  ///< the factor of cosine and sine (yarn)

  /// Returns the options of a step. Throws InputError if they do not fit.
  static RopeOptions of(const Call& call);

  bool are_given() const { return rows == 0; }  ///< the angles, as a second operand
  /// Returns the kept fraction of a pair's own angle: 1 all of it, 0 all divided by `factor`.
  double kept_fraction(std::size_t pair) const;

  /// Returns the angle of a pair at a position, p · base^(−2i/width), with the scaling applied.
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
  // With a single pair the base does not matter: its angle is the position itself.
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

/// How rows are rotated, by a rope step or by a mistake in its place.
struct Rotation : RopeOptions {
  explicit Rotation(const RopeOptions& options);

  Pairing table;         ///< the order of the angles over the columns
  Vector inv_freq = {};  ///< the angle of each pair at position 1; empty if angles are given
  double times = 1;      ///< factor of each angle: −1 rotates backwards
  bool sin_cos_swapped = false;
};

/// The factors of a row's columns: cosines for themselves, sines for their partners.
class RopeTable {
 public:
  /// A table with a row for each row of angles.
  RopeTable(const Rotation& rotation, const Matrix& angles);
  /// Returns the table of the positions of `rows` rows.
  static RopeTable of_positions(const Rotation& rotation, std::size_t rows);
  void rotate(std::size_t row, std::span<double> cells) const;

 private:
  Rotation rotation_;
  Matrix cosines_, sines_;
};

/// Returns `result` with the first operand's rows rotated, by the second operand's angles if given.
Tensor rotated(const Call& call, Tensor result, const Rotation& rotation);

}  // namespace qkv::inline ops
