#include "ops/numbers/expression.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace qkv::inline ops {
namespace {

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

double Expression::evaluate(Kind kind, std::span<const double> parts) {
  return evaluated(kind, parts.size(), [&](std::size_t i) { return parts[i]; });
}

Expression::Expression(Kind kind, double value, const CellPlace& place)
    : kind_(kind), value_(value), place_(place) {
  if (!observer) {
    node_ = std::make_shared<const Node>();
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
  std::vector<const Expression*> places;
  places.reserve(parts.size());
  for (const Expression& part : parts) places.push_back(&part);
  return {kind, Parts(places)};
}

Expression::Expression(Kind kind, Parts parts) : kind_(kind) {
  value_ = evaluated(kind, parts.size(), [&](std::size_t i) { return parts[i]->value_; });
  if (!observer) {
    Node node;
    for (const Expression* part : parts) {
      node.parts.push_back(*part);
      node.strides = std::max(node.strides, part->strides() + 1);
    }
    node_ = std::make_shared<const Node>(std::move(node));
    return;
  }
  digests_.own = digests_.in_sum = static_cast<std::uint64_t>(kind);
  for (const Expression* part : parts) {
    const std::uint64_t in_sum = part->digests_.in_sum;
    const std::uint64_t own = is_long(parts.size()) ? in_sum : part->digests_.own;
    digests_.own = ExpressionDigests::mixed(digests_.own, own);
    digests_.in_sum = ExpressionDigests::mixed(digests_.in_sum, in_sum);
  }
  if (rounds_alike(kind)) return;
  const std::array arguments = {parts.front()->value_, parts.back()->value_};
  observer->on_function(kind, std::span(arguments).first(parts.size()), value_);
}

ExpressionDigests::ExpressionDigests() { observer = this; }
ExpressionDigests::~ExpressionDigests() { observer = nullptr; }

std::uint64_t ExpressionDigests::mixed(std::uint64_t digest, std::uint64_t next) {
  digest = (digest ^ next) * 0x9e3779b97f4a7c15ULL + 1;
  return digest ^ (digest >> 29);
}

}  // namespace qkv::inline ops
