#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace qkv::inline ops {

/// A number to its last decimal, where it has one: 0.5 · 1.5 is 0.75, and nothing was there to
/// round; 1 / 3 has no last decimal, and what was rounded before is not known. Knows how many
/// decimals it takes to write each product, quotient and sum that made it. Numbers of more than 18
/// digits count as endless.
class Decimal {
 public:
  Decimal(double number);  // NOLINT: a number is a decimal, if it has at most 12 decimals

  /// A number without a last decimal, or one that was rounded.
  static Decimal unknown();

  bool is_exact() const { return kind_ != Kind::unknown; }
  /// NaN where it is not exact.
  double value() const;
  /// The most decimals of the number and of all that made it.
  int decimals() const { return std::max<int>(places_, most_); }

  friend Decimal operator+(Decimal a, Decimal b);
  friend Decimal operator-(Decimal a, Decimal b);
  friend Decimal operator*(Decimal a, Decimal b);
  friend Decimal operator/(Decimal a, Decimal b);
  friend Decimal exp(Decimal x);   ///< of 0 and -inf
  friend Decimal log(Decimal x);   ///< of 1
  friend Decimal sqrt(Decimal x);  ///< of squares
  friend Decimal tanh(Decimal x);  ///< of 0, as erf
  friend Decimal erf(Decimal x);
  friend Decimal positive_part(Decimal x);

 private:
  enum class Kind : std::uint8_t { finite, infinite, minus_infinite, unknown };

  Decimal(Kind kind) : kind_(kind) {}
  bool is_finite() const { return kind_ == Kind::finite; }
  // The number digits / 10^places, made of numbers of so many decimals at most.
  static Decimal of(std::int64_t digits, int places, int most);
  Decimal made_of(Decimal part) const;  ///< with its decimals counted

  std::int64_t digits_ = 0;
  std::int8_t places_ = 0;
  std::int8_t most_ = 0;
  Kind kind_ = Kind::finite;
};

}  // namespace qkv::inline ops
