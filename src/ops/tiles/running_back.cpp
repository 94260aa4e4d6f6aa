#include "ops/tiles/running.hpp"

#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/product_back.hpp"
#include "ops/numbers/functions.hpp"

namespace qkv {
namespace {

// e^(m_old − m) of a row, from the operands that hold the two.
template <class N>
N factor(const Cell<N>& c, std::size_t then, std::size_t now) {
  return power(c(then)(c.row, 0), c(now)(c.row, 0));
}

// X = e^(m_old − m) · X_before + what the tile adds; the axes are those of X.
template <class Axes>
struct ToBefore {
  static Form form(const Call&) {
    return {{Axes::of, Axes::of, "query 1", "query 1"}, Axes::of, "{0} ∘ e^({2} − {3})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * factor(c, first_need, first_need + 1);
  }
};

// The maximum before it gets what its factor would gain, the new one loses that.
template <class Axes, bool is_before>
struct ToMaximum {
  static Form form(const Call&) {
    const std::string_view rows = is_before ? "row sums of {0} ∘ {3} ∘ e^({1} − {2})"
                                            : "−row sums of {0} ∘ {3} ∘ e^({2} − {1})";
    const std::string_view columns = is_before ? "column sums of {0} ∘ {3} ∘ e^({1} − {2})"
                                               : "−column sums of {0} ∘ {3} ∘ e^({2} − {1})";
    return {{Axes::of, "query 1", "query 1", Axes::of},
            Axes::of,
            std::string(rows),
            std::string(columns)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N change =
        c(arriving)(c.row, c.column) * c(first_need + 1)(c.row, c.column) *
        (is_before ? factor(c, own_operand, first_need) : factor(c, first_need, own_operand));
    return is_before ? change : N(0.0) - change;
  }
};

struct OfSum {
  static constexpr std::string_view of = "query 1";
};

struct OfOutput {
  static constexpr std::string_view of = "query d_v";
};

template <class Axes>
constexpr Operation to_before = gradient_of<Gradient<ToBefore<Axes>>>({
    .title = "Back to what was found before",
    .says = "It was rescaled to the new maximum, and its gradient is, too, by the same factor.",
    .notice = "Where the maximum did not rise, the gradient passes as it is.",
});

template <class Axes>
constexpr Operation to_maximum_before = gradient_of<Gradient<ToMaximum<Axes, true>>>({
    .title = "Back to the maximum before",
    .says = "The factor e^(m_old − m) grows with the old maximum, as fast as it is large: the "
            "gradients times what was rescaled are added up.",
    .notice = "In the end the maximum cancels out: its gradients sum to 0.",
});

template <class Axes>
constexpr Operation to_new_maximum = gradient_of<Gradient<ToMaximum<Axes, false>>>({
    .title = "Back to the new maximum",
    .says = "The factor e^(m_old − m) shrinks with the new maximum, as fast as it is large: the "
            "gradients times what was rescaled are added up, with the other sign.",
    .notice = "In the end the maximum cancels out: its gradients sum to 0.",
});

// What was added up gets the sum's gradient.
struct ToTile {
  static Form form(const Call&) {
    return {{"query 1", "query key"}, "query key", "{0}, the same for each key"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, 0);
  }
};

constinit const Operation sum_to_tile = gradient_of<Gradient<ToTile>>({
    .title = "Back to the tile's weights",
    .says = "Each of them was added to the sum: all get its gradient.",
    .notice = "The same in the whole row.",
});

// What the tile adds to the output is P·V: dP = dO·Vᵀ, dV = Pᵀ·dO.
struct ToWeightsOfTile {
  static constexpr std::string_view axes[] = {"query d_v", "query key", "key d_v"};
  static constexpr Factor left{arriving, false}, right{first_need, true};
};

struct ToValuesOfTile {
  static constexpr std::string_view axes[] = {"query d_v", "key d_v", "query key"};
  static constexpr Factor left{first_need, true}, right{arriving, false};
};

constinit const Operation output_to_weights = product_gradient<ToWeightsOfTile>({
    .title = "Back to the tile's weights",
    .says = "How much the loss would change if a query took more of a value: the gradient of its "
            "output times that value, feature by feature, added up.",
    .notice = "The tile's keys alone are needed.",
});

constinit const Operation output_to_values = product_gradient<ToValuesOfTile>({
    .title = "Back to the tile's values",
    .says = "A value went to every query, as often as its weight said. The gradients come back by "
            "the same weights and are added up.",
    .notice = "A value that no query looked at gets 0.",
});

// To what was found before, to the maximum before and to the new one: the first three operands.
template <class Axes>
WayBack back_through_rescaling(std::size_t operand) {
  if (operand == 0) return {&to_before<Axes>, {1, 2}};
  if (operand == 1) return {&to_maximum_before<Axes>, {2, 0}};
  return {&to_new_maximum<Axes>, {1, 0}};
}

}  // namespace

WayBack back_through_running_sum(const Use& use) {
  if (use.operand + 1 == use.operands) return {&sum_to_tile};
  return back_through_rescaling<OfSum>(use.operand);
}

WayBack back_through_running_output(const Use& use) {
  if (use.operand + 1 == use.operands) return {&output_to_values, {use.operands - 2}};
  if (use.operand + 2 == use.operands) return {&output_to_weights, {use.operands - 1}};
  return back_through_rescaling<OfOutput>(use.operand);
}

}  // namespace qkv
