#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace qkv::inline ops {

/// An exact decimal number, or unknown. 0.5 · 1.5 is 0.75 without rounding; 1 / 3 is unknown, as is
/// whatever was rounded before. It records the most decimals of all intermediate results. Numbers
/// of more than 18 digits are unknown.
class Decimal {
 public:
  Decimal(double number);  // NOLINT: a number is a decimal, if it has at most 12 decimals

  /// Returns the value of a number that has no last decimal, or was rounded.
  static Decimal unknown();

  bool is_exact() const { return kind_ != Kind::unknown; }
  /// NaN if not exact.
  double value() const;
  /// Returns the most decimals of the number and of its intermediate results.
  int decimals() const { return std::max<int>(places_, most_); }

  friend Decimal operator+(Decimal a, Decimal b);
  friend Decimal operator-(Decimal a, Decimal b);
  friend Decimal operator*(Decimal a, Decimal b);
  friend Decimal operator/(Decimal a, Decimal b);
  friend Decimal exp(Decimal x);   ///< known for 0 and -inf
  friend Decimal log(Decimal x);   ///< known for 1
  friend Decimal sqrt(Decimal x);  ///< known for squares
  friend Decimal tanh(Decimal x);  ///< known for 0, like erf
  friend Decimal erf(Decimal x);
  friend Decimal positive_part(Decimal x);

 private:
  enum class Kind : std::uint8_t { finite, infinite, minus_infinite, unknown };

  Decimal(Kind kind) : kind_(kind) {}
  bool is_finite() const { return kind_ == Kind::finite; }
  // The number digits / 10^places; its intermediate results have at most `most` decimals.
  static Decimal of(std::int64_t digits, int places, int most);
  Decimal made_of(Decimal part) const;  ///< with `part`'s decimals counted

  std::int64_t digits_ = 0;
  std::int8_t places_ = 0;
  std::int8_t most_ = 0;
  Kind kind_ = Kind::finite;
};

}  // namespace qkv::inline ops
