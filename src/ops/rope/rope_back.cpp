#include "ops/rope/rope_back.hpp"

#include <cmath>

#include "ops/kinds/gradient.hpp"
#include "ops/rope/rotation.hpp"

namespace qkv {
namespace {

// The step's own call with the gradient in the rows' place: what is turned is turned back.
Call forward(const Call& call) {
  Call there = call;
  there.inputs = {call.inputs[arriving]};
  there.names = {call.names[arriving]};
  if (call.inputs.size() > first_need) {
    there.inputs.push_back(call.inputs[first_need]);
    there.names.push_back(call.names[first_need]);
  }
  return there;
}

// A rotation's transpose is the turn by the opposite angle.
struct RopeBack {
  static Form form(const Call& call) {
    const bool are_given = call.inputs.size() > first_need;
    return {{"row column", "row column", "row inner"},
            "row column",
            are_given ? "{0}, its pairs turned back by {2}"
                      : "each row of {0}, its pairs turned back by position · base^(−2i/width)",
            are_given ? ""
                      : "each column of {0}, its pairs turned back by position · base^(−2i/width)"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward(*c.call);
    const RopeOptions rope = RopeOptions::of(there);
    const auto change = c(arriving);
    const N own = change(c.row, c.column);
    if (c.column >= rope.width) return own;
    const PairPlace place = pair_place(rope.pairing, rope.width, c.column);
    const N partner = change(c.row, place.partner);
    if (rope.are_given()) {
      return by_given(own, partner, c(first_need)(c.row, place.pair), place.is_first);
    }
    const double position = rope.first + static_cast<double>(c.row);
    if constexpr (std::is_same_v<N, Decimal>) {  // cosines have no last decimal but at 0
      return position == 0 && rope.stretch() == 1 ? own : Decimal::unknown();
    } else {
      using Angle = std::conditional_t<std::is_same_v<N, Expression>, Expression, double>;
      const N result =
          turned_back(own, partner, rope.angle<Angle>(position, place.pair), place.is_first);
      return rope.stretch() == 1 ? result : result * N(rope.stretch());
    }
  }

  // y₁·cos θ + y₂·sin θ, or y₂·cos θ − y₁·sin θ.
  template <class N, class Angle>
  static N turned_back(const N& own, const N& partner, const Angle& angle, bool is_first) {
    using std::cos;
    using std::sin;
    const N straight = own * N(cos(angle));
    const N across = partner * N(sin(angle));
    return is_first ? straight + across : straight - across;
  }

  template <class N>
  static N by_given(const N& own, const N& partner, const N& angle, bool is_first) {
    if constexpr (std::is_same_v<N, Interval>) {
      return turned_range(own, partner, angle, !is_first);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      return angle.value() == 0 ? own : Decimal::unknown();
    } else {
      return turned_back(own, partner, angle, is_first);
    }
  }

  static Tensor compute(const Call& call, Tensor whole) {
    const Call there = forward(call);
    Rotation rotation = Rotation::of(RopeOptions::of(there));
    rotation.times = -rotation.times;
    return turned(there, std::move(whole), rotation);
  }
};

// Where angles are given, a pair's own moves it along its circle: dθ = dY_2 · Y_1 − dY_1 · Y_2.
struct ToAngles {
  static Form form(const Call&) {
    return {{"row column", "row inner", "row column"},
            "row inner",
            "of each pair {0}₂ · {2}₁ − {0}₁ · {2}₂"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    Call there = *c.call;
    there.inputs = {c.call->inputs[first_need], c.call->inputs[own_operand]};
    there.names = {c.call->names[first_need], c.call->names[own_operand]};
    const RopeOptions rope = RopeOptions::of(there);
    const auto change = c(arriving);
    const auto turned = c(first_need);
    const bool halves = rope.pairing == Pairing::halves;
    const std::size_t first = halves ? c.column : 2 * c.column;
    const std::size_t second = halves ? c.column + rope.width / 2 : first + 1;
    return change(c.row, second) * turned(c.row, first) -
           change(c.row, first) * turned(c.row, second);
  }
};

std::vector<Tensor> not_turned(const Source& step) { return {step.operand()}; }

std::vector<Tensor> turned_on(const Source& step) {
  const Call there = forward(call_of(step));
  return {turned(there, *step.tensor, Rotation::of(RopeOptions::of(there)))};
}

constexpr Mistake rope_back_mistakes[] = {
    {"rope.skipped", "The gradient was not turned back.",
     "What was turned on the way there is turned back by the same angle.", not_turned},
    {"rope.sign", "The gradient was turned on instead of back.", "Back is the other way round: −θ.",
     turned_on},
};

constinit const Operation rope_back = gradient_of<Gradient<RopeBack>>({
    .title = "Turn the gradient back",
    .says =
        "Each pair was turned by its position's angle; its gradient is turned back by the same.",
    .notice = "No pair changes its length.",
    .mistakes = rope_back_mistakes,
});

constinit const Operation rope_to_angles = gradient_of<Gradient<ToAngles>>({
    .title = "Back to the angles",
    .says = "A larger angle moves its pair along the circle: what the loss gains is the gradient "
            "along that way.",
    .notice = "A pair at the centre has no way to go.",
    .mistakes = {},
});

}  // namespace

WayBack back_through_rope(const Use& use) {
  if (use.operand == 1) return {&rope_to_angles, {WayBack::result}};
  WayBack way{&rope_back};
  if (use.operands == 2) way.needs = {1};
  return way;
}

}  // namespace qkv
