#include "ops/numbers/numbers.hpp"

#include <bit>
#include <numeric>
#include <stdexcept>

namespace qkv::inline ops {
namespace {

constexpr int most_places = 18;
constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr auto powers_of_ten = [] {
  std::array<std::int64_t, most_places + 1> all{1};
  for (std::size_t i = 1; i < all.size(); ++i) all[i] = 10 * all[i - 1];
  return all;
}();

std::int64_t power_of_ten(int places) { return powers_of_ten[static_cast<std::size_t>(places)]; }

// Divides `number` by `factor` as often as possible, and returns how often.
int take_out(std::int64_t& number, std::int64_t factor) {
  int times = 0;
  for (; number % factor == 0; number /= factor) ++times;
  return times;
}

using Kind = Expression::Kind;

thread_local ExpressionDigests* observer = nullptr;

// Sums, products, quotients and roots are identical in every browser, to the last bit.
bool rounds_alike(Kind kind) { return kind < Kind::exponential || kind == Kind::maximum; }

// The value of a term from its parts', `x(0)`, `x(1)`, ….
template <class Part>
double evaluated(Kind kind, std::size_t count, Part x) {
  switch (kind) {
    case Kind::difference: return x(0) - x(1);
    case Kind::product: return x(0) * x(1);
    case Kind::quotient: return x(0) / x(1);
    case Kind::negative: return -x(0);
    case Kind::root: return std::sqrt(x(0));
    case Kind::exponential: return std::exp(x(0));
    case Kind::logarithm: return std::log(x(0));
    case Kind::sine: return std::sin(x(0));
    case Kind::cosine: return std::cos(x(0));
    case Kind::hyperbolic_tangent: return std::tanh(x(0));
    case Kind::error_function: return std::erf(x(0));
    case Kind::power: return std::pow(x(0), x(1));
    case Kind::sum: {
      double total = 0;
      for (std::size_t i = 0; i < count; ++i) total += x(i);
      return total;
    }
    case Kind::maximum: {
      double top = x(0);
      for (std::size_t i = 1; i < count; ++i) top = std::max(top, x(i));
      return top;
    }
    case Kind::number:
    case Kind::cell: break;
  }
  throw std::logic_error("a number or a cell has no parts to work out");
}

}  // namespace

Decimal::Decimal(double number) {
  if (!std::isfinite(number)) {
    kind_ = std::isnan(number) ? Kind::unknown : number > 0 ? Kind::infinite : Kind::minus_infinite;
    return;
  }
  constexpr int most_decimals = 12;
  constexpr double largest = 0x1p53;
  double scale = 1;
  for (int places = 0; places <= most_decimals; ++places, scale *= 10) {
    const double digits = std::round(number * scale);
    if (std::abs(digits) >= largest) break;
    if (digits / scale != number) continue;
    digits_ = static_cast<std::int64_t>(digits);
    places_ = static_cast<std::int8_t>(places);
    return;
  }
  kind_ = Kind::unknown;
}

Decimal Decimal::unknown() { return {Kind::unknown}; }

Decimal Decimal::of(std::int64_t digits, int places, int most) {
  if (digits == 0) places = 0;
  for (; places > 0 && digits % 10 == 0; digits /= 10) --places;
  if (places > most_places) return unknown();
  Decimal result(Kind::finite);
  result.digits_ = digits;
  result.places_ = static_cast<std::int8_t>(places);
  result.most_ = static_cast<std::int8_t>(std::max(most, places));
  return result;
}

Decimal Decimal::made_of(Decimal part) const {
  Decimal result = *this;
  result.most_ = std::max(most_, part.most_);
  return result;
}

double Decimal::value() const {
  switch (kind_) {
    case Kind::finite:
      return static_cast<double>(digits_) / static_cast<double>(power_of_ten(places_));
    case Kind::infinite: return infinite;
    case Kind::minus_infinite: return -infinite;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

Decimal operator+(Decimal a, Decimal b) {
  if (!a.is_finite() || !b.is_finite()) return Decimal(a.value() + b.value()).made_of(a).made_of(b);
  if (a.places_ < b.places_) std::swap(a, b);
  std::int64_t digits = 0;
  if (__builtin_mul_overflow(b.digits_, power_of_ten(a.places_ - b.places_), &digits) ||
      __builtin_add_overflow(digits, a.digits_, &digits)) {
    return Decimal::unknown();
  }
  return Decimal::of(digits, a.places_, std::max(a.most_, b.most_));
}

Decimal operator-(Decimal a, Decimal b) { return a + b * Decimal(-1.0); }

Decimal operator*(Decimal a, Decimal b) {
  if (!a.is_finite() || !b.is_finite()) return Decimal(a.value() * b.value()).made_of(a).made_of(b);
  std::int64_t digits = 0;
  if (__builtin_mul_overflow(a.digits_, b.digits_, &digits)) return Decimal::unknown();
  return Decimal::of(digits, a.places_ + b.places_, std::max(a.most_, b.most_));
}

// The quotient is finite if the reduced divisor has no prime factors but 2 and 5. It then has as
// many more decimals as the higher of their powers.
Decimal operator/(Decimal a, Decimal b) {
  if (!a.is_finite() || !b.is_finite()) return Decimal(a.value() / b.value()).made_of(a).made_of(b);
  if (b.digits_ == 0) return Decimal::unknown();
  const std::int64_t common = std::gcd(a.digits_, b.digits_);
  std::int64_t upper = a.digits_ / common;
  std::int64_t lower = b.digits_ / common;
  std::int64_t rest = std::abs(lower);
  const int twos = take_out(rest, 2);
  const int fives = take_out(rest, 5);
  const int more = std::max(twos, fives);
  if (rest != 1 || more > most_places) return Decimal::unknown();
  const int places = a.places_ - b.places_ + more;
  const std::int64_t times = power_of_ten(more) / lower;
  if (places < -most_places || __builtin_mul_overflow(upper, times, &upper)) {
    return Decimal::unknown();
  }
  if (places < 0 && __builtin_mul_overflow(upper, power_of_ten(-places), &upper)) {
    return Decimal::unknown();
  }
  return Decimal::of(upper, std::max(0, places), std::max(a.most_, b.most_));
}

Decimal exp(Decimal x) {
  if (x.kind_ == Decimal::Kind::minus_infinite) return Decimal(0.0).made_of(x);
  return x.value() == 0 ? Decimal(1.0).made_of(x) : Decimal::unknown();
}

Decimal log(Decimal x) { return x.value() == 1 ? Decimal(0.0).made_of(x) : Decimal::unknown(); }

Decimal sqrt(Decimal x) {
  if (!x.is_finite() || x.digits_ < 0) return Decimal::unknown();
  std::int64_t digits = x.digits_;
  int places{x.places_};
  if (places % 2 == 1 && (places++, __builtin_mul_overflow(digits, 10, &digits))) {
    return Decimal::unknown();
  }
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(digits))));
  if (root > 3'000'000'000 || root * root != digits) return Decimal::unknown();
  return Decimal::of(root, places / 2, x.most_);
}

Decimal tanh(Decimal x) { return x.value() == 0 ? x : Decimal::unknown(); }

Decimal erf(Decimal x) { return tanh(x); }

Decimal positive_part(Decimal x) { return x.value() < 0 ? Decimal(0.0).made_of(x) : x; }

double Expression::evaluate(Kind kind, std::span<const double> parts) {
  return evaluated(kind, parts.size(), [&](std::size_t i) { return parts[i]; });
}

Expression::Expression(Kind kind, double value, const CellPlace& place)
    : kind_(kind), value_(value) {
  if (!observer) {
    node_ = std::make_shared<const Node>(Node{.parts = {}, .place = place});
  } else if (kind == Kind::cell) {
    digests_ = observer->of_cell(place);
  } else {
    digests_.own = ExpressionDigests::mixed(0, std::bit_cast<std::uint64_t>(value));
    digests_.in_sum = digests_.own;
  }
}

Expression::Expression(double number) : Expression(Kind::number, number, CellPlace{}) {}

Expression Expression::of_cell(const CellPlace& place, double value) {
  return {Kind::cell, value, place};
}

Expression Expression::of(Kind kind, const std::vector<Expression>& parts) {
  return {kind, parts.size(), [&](std::size_t i) -> const Expression& { return parts[i]; }};
}

Expression::Expression(Kind kind, std::initializer_list<const Expression*> parts)
    : Expression(kind, parts.size(),
                 [&](std::size_t i) -> const Expression& { return *parts.begin()[i]; }) {}

template <class Part>
Expression::Expression(Kind kind, std::size_t count, Part part) : kind_(kind) {
  value_ = evaluated(kind_, count, [&](std::size_t i) { return part(i).value_; });
  if (!observer) {
    Node node;
    for (std::size_t i = 0; i < count; ++i) {
      node.parts.push_back(part(i));
      node.strides = std::max(node.strides, part(i).strides() + 1);
    }
    node_ = std::make_shared<const Node>(std::move(node));
    return;
  }
  digests_.own = digests_.in_sum = static_cast<std::uint64_t>(kind_);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [own, in_sum] = part(i).digests_;
    digests_.own = ExpressionDigests::mixed(digests_.own, is_long(count) ? in_sum : own);
    digests_.in_sum = ExpressionDigests::mixed(digests_.in_sum, in_sum);
  }
  if (rounds_alike(kind_)) return;
  const std::array arguments = {part(0).value_, part(count - 1).value_};
  observer->on_function(kind_, std::span(arguments).first(count), value_);
}

ExpressionDigests::ExpressionDigests() { observer = this; }
ExpressionDigests::~ExpressionDigests() { observer = nullptr; }

std::uint64_t ExpressionDigests::mixed(std::uint64_t digest, std::uint64_t next) {
  digest = (digest ^ next) * 0x9e3779b97f4a7c15ULL + 1;
  return digest ^ (digest >> 29);
}

}  // namespace qkv::inline ops
