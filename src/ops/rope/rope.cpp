#include <cmath>
#include <memory>

#include "ops/catalogue.hpp"
#include "ops/result.hpp"
#include "ops/rope/rope.hpp"
#include "ops/rope/rope_back.hpp"
#include "ops/rope/rotation.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

using Numbers = OptionRule::Numbers;

constexpr std::string_view pairings[] = {"interleaved", "halves"};
constexpr std::string_view scalings[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3"};
constexpr OptionRule rope_options[] = {
    {.name = "pairing",
     .says = "which columns turn together: neighbours, or those of the two halves",
     .list = pairings},
    {.name = "base",
     .says = "the slowest pair turns nearly this many times as slowly as the first",
     .numbers = Numbers::positive},
    {.name = "first", .says = "the position of the first row", .numbers = Numbers::whole},
    {.name = "width", .says = "how many columns turn", .numbers = Numbers::whole},
    {.name = "scaling", .says = "what makes angles smaller for longer texts", .list = scalings},
    {.name = "factor",
     .says = "how many times as long the texts are, for scaling",
     .numbers = Numbers::positive},
    {.name = "original_length",
     .says = "the longest text of the training, for scaling",
     .numbers = Numbers::positive},
    {.name = "low_freq_factor",
     .says = "pairs with fewer turns in that text are divided, for llama3",
     .numbers = Numbers::positive},
    {.name = "high_freq_factor",
     .says = "pairs with more turns in that text are kept, for llama3",
     .numbers = Numbers::positive},
    {.name = "beta_fast",
     .says = "pairs with more turns in that text are kept, for yarn",
     .numbers = Numbers::positive},
    {.name = "beta_slow",
     .says = "pairs with fewer turns in that text are divided, for yarn",
     .numbers = Numbers::positive},
};

// x₁·cos θ − x₂·sin θ, or x₂·cos θ + x₁·sin θ.
template <class N, class Angle>
N turned_cell(const N& own, const N& partner, const Angle& angle, bool is_first) {
  using std::cos;
  using std::sin;
  const N straight = own * N(cos(angle));
  const N across = partner * N(sin(angle));
  return is_first ? straight - across : straight + across;
}

struct Rope {
  static Form form(const Call& call) {
    const bool are_given = call.inputs.size() == 2;
    return {
        .operands = {"row column", "row inner"},
        .output = "row column",
        .formula = are_given ? "{0}, its pairs turned by {1}"
                             : "each row of {0}, its pairs turned by position · base^(−2i/width)",
        .turned =
            are_given ? "" : "each column of {0}, its pairs turned by position · base^(−2i/width)",
        .shares_heads = true};
  }

  // Su and others (2021), "RoFormer": a pair of columns is turned by its position's angle.
  template <class N>
  static N cell(const Cell<N>& c) {
    const RopeOptions rope = RopeOptions::of(*c.call);
    const auto x = c(0);
    const N own = x(c.row, c.column);
    if (c.column >= rope.width) return own;
    const PairPlace place = pair_place(rope.pairing, rope.width, c.column);
    const N partner = x(c.row, place.partner);
    if (rope.are_given()) return by_given(own, partner, c(1)(c.row, place.pair), place.is_first);
    const double position = rope.first + static_cast<double>(c.row);
    return by_position(own, partner, rope, position, place);
  }

  template <class N>
  static N by_given(const N& own, const N& partner, const N& angle, bool is_first) {
    if constexpr (std::is_same_v<N, Interval>) {
      return turned_range(own, partner, angle, is_first);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      return angle.value() == 0 ? own : Decimal::unknown();
    } else {
      return turned_cell(own, partner, angle, is_first);
    }
  }

  template <class N>
  static N by_position(const N& own, const N& partner, const RopeOptions& rope, double position,
                       const PairPlace& place) {
    const double stretch = rope.stretch();
    if constexpr (std::is_same_v<N, Decimal>) {  // cosines have no last decimal but at 0
      return position == 0 && stretch == 1 ? own : Decimal::unknown();
    } else {
      using Angle = std::conditional_t<std::is_same_v<N, Expression>, Expression, double>;
      const Angle angle = rope.angle<Angle>(position, place.pair);
      const N result = turned_cell(own, partner, angle, place.is_first);
      return stretch == 1 ? result : result * N(stretch);
    }
  }

  static std::optional<InPlace> in_place(const Call& call) {
    if (call.inputs.size() == 2) return {};
    const auto wheel =
        std::make_shared<const Wheel>(Rotation::of(RopeOptions::of(call)), call.inputs[0]->rows());
    const auto turn = [wheel](const RowPart& row) { wheel->turn(row.row, row.cells); };
    return InPlace{frame_of(call, form(call)), turn};
  }

  static Tensor compute(const Call& call) {
    const RopeOptions options = RopeOptions::of(call);
    return turned(call, output_of(call, form(call)), Rotation::of(options));
  }
};

}  // namespace

constinit const Operation rope_operation = operation_of<Rope>({
    .name = "rope",
    .title = "Turn each pair of features by the position (RoPE)",
    .says = "The features are taken in pairs, and each pair is turned, as the hand of a clock, by "
            "an angle that grows with the token's position: the first pair fast, the last one "
            "slowly. What a query and a key that are turned so have in common depends on how far "
            "apart they stand, not on where.",
    .notice = "No pair changes its length; a token at position 0 stays as it is.",
    .operands = R"(["Q"] or ["Q", "angles"])",
    .fewest = 1,
    .most = 2,
    .options = rope_options,
    .mistakes = rope_mistakes,
    .way_back = back_through_rope,
});

}  // namespace qkv
