#include <iterator>
#include <memory>

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/rope/rotation.hpp"

namespace qkv::inline ops {
namespace {

// The step's result with a change to its rotation.
template <class Change>
Tensor with_rotation(const StepView& step, Change change) {
  const Call call = call_of(step);
  Rotation rotation = Rotation::of(RopeOptions::of(call));
  change(rotation);
  return rotated(call, output_of(call, rope_operation.form(call)), rotation);
}

template <auto... changes>
std::vector<Tensor> rotated_by(const StepView& step) {
  return {with_rotation(step, changes)...};
}

bool are_given(const StepView& step) { return step.inputs.size() == 2; }

// The same with a change to its options; empty if the angles are given.
template <class Change>
std::vector<Tensor> with_options(const StepView& step, Change change) {
  if (are_given(step)) return {};
  Options options = *step.options;
  change(options);
  Call call = call_of(step);
  call.options = &options;
  return {rope_operation.compute(call)};
}

Pairing other(Pairing pairing) {
  return pairing == Pairing::halves ? Pairing::interleaved : Pairing::halves;
}

// Radians taken for degrees, as by a calculator in the wrong mode, or converted without need.
constexpr double degree = std::numbers::pi / 180;

std::vector<Tensor> offset(const StepView& step) {
  if (are_given(step)) return {};
  return {with_rotation(step, [](Rotation& r) { r.first += 1; }),
          with_rotation(step, [](Rotation& r) { r.first -= 1; })};
}

// i, i + 1, 4i or 2(i + 1) instead of 2i: the exponent of each pair.
std::vector<Tensor> exponent(const StepView& step) {
  std::vector<Tensor> results;
  if (are_given(step)) return results;
  const RopeOptions rope = RopeOptions::of(call_of(step));
  const auto add = [&](double slope, double start) {
    results.push_back(with_rotation(step, [&](Rotation& r) {
      for (std::size_t i = 0; i < r.inv_freq.size(); ++i) {
        const double pair = static_cast<double>(i);
        const double more = slope * pair + start - 2 * pair;
        r.inv_freq(i) *= std::pow(rope.base, -more / static_cast<double>(r.width));
      }
    }));
  };
  add(1, 0);
  add(1, 1);
  add(4, 0);
  add(2, 2);
  return results;
}

std::vector<Tensor> other_base(const StepView& step) {
  std::vector<Tensor> results;
  for (const double base : {10000.0, 500000.0, 1000000.0}) {
    if (step.options->number("base", 10000) == base) continue;
    std::ranges::move(with_options(step, [&](Options& o) { o.set("base", base); }),
                      std::back_inserter(results));
  }
  return results;
}

std::vector<Tensor> other_scaling(const StepView& step) {
  if (are_given(step)) return {};
  const RopeOptions expected = RopeOptions::of(call_of(step));
  if (expected.scaling == RopeOptions::Scaling::none) return {};
  RopeOptions plain = expected;
  plain.scaling = RopeOptions::Scaling::none;
  const Vector unscaled = Rotation::of(plain).inv_freq;
  std::vector<Tensor> results = {
      with_rotation(step, [&](Rotation& r) { r.inv_freq = unscaled; }),
      with_rotation(step, [&](Rotation& r) { r.inv_freq = unscaled * unscaled / r.inv_freq; })};
  if (expected.attention_factor() == 1) return results;
  results.push_back(with_rotation(step, [&](Rotation& r) { r.attention_factor = 1; }));
  results.push_back(with_rotation(step, [&](Rotation& r) {
    r.attention_factor = 1;
    r.inv_freq = unscaled;
  }));
  return results;
}

std::vector<Tensor> all_columns(const StepView& step) {
  if (!step.options->has("width")) return {};
  const auto width = static_cast<double>(step.operand().columns());
  return with_options(step, [&](Options& o) { o.set("width", width); });
}

std::vector<Tensor> skipped(const StepView& step) {
  return {by_operands(call_of(step), rope_operation.compute(call_of(step)),
                      [](const Operands& of) -> Matrix { return of(0); })};
}

std::vector<Tensor> twice(const StepView& step) {
  return {with_operand(step, 0, rope_operation.compute(call_of(step)))};
}

// All heads side by side, as before the split, rotated as one row.
std::vector<Tensor> before_split(const StepView& step) {
  const Tensor& x = step.operand();
  const std::size_t heads = head_count(x);
  if (are_given(step) || heads < 2) return {};
  const auto work = [](const Operation& operation, const Tensor& on, const Options& options) {
    return operation.compute({.step = "", .inputs = {&on}, .names = {""}, .options = &options});
  };
  Options wide = *step.options;
  wide.set("width", static_cast<double>(heads * x.columns()));
  Options cut;
  cut.set("heads", static_cast<double>(heads));
  return {work(split_heads_operation,
               work(rope_operation, work(concat_heads_operation, x, {}), wide), cut)};
}

// The norm of queries and keys before their rotation, and the steps in between; else nullptr.
const StepView* norm_before(const StepView& step, std::vector<const StepView*>& between) {
  for (const StepView* at = step.inputs[0]; at->operation; at = at->inputs[0]) {
    if (at->operation == &rms_norm_operation || at->operation == &layer_norm_operation) return at;
    if (at->operation != &split_heads_operation) return nullptr;
    between.push_back(at);
  }
  return nullptr;
}

std::vector<Tensor> norm_skipped(const StepView& step) {
  std::vector<const StepView*> between = {&step};
  const StepView* norm = norm_before(step, between);
  if (!norm) return {};
  Tensor x = norm->operand();
  for (; !between.empty(); between.pop_back()) x = with_operand(*between.back(), 0, x);
  return {std::move(x)};
}

std::vector<Tensor> norm_after(const StepView& step) {
  std::vector<const StepView*> between;
  const StepView* norm = norm_before(step, between);
  if (!norm || !between.empty()) return {};
  return {with_operand(*norm, 0, with_operand(step, 0, norm->operand()))};
}

std::vector<Tensor> from_zero(const StepView& step) {
  if (step.options->number("first", 0) == 0) return {};
  return with_options(step, [](Options& o) { o.set("first", 0.0); });
}

// Positions from the number of rows that the cache keeps, after older ones were dropped.
std::vector<Tensor> by_rows_kept(const StepView& step) {
  std::vector<Tensor> results;
  for (const StepView& later : step.all) {
    if (later.operation != &append_operation) continue;
    const auto kept = static_cast<double>(later.operand().rows());
    if (kept == step.options->number("first", 0) || kept == 0) continue;
    std::ranges::move(with_options(step, [&](Options& o) { o.set("first", kept); }),
                      std::back_inserter(results));
  }
  return results;
}

constexpr Mistake rope_mistakes[] = {
    {"rope.pairing", "Other columns were paired: neighbours for the two halves, or the reverse.",
     "Which columns does the lesson turn together?",
     rotated_by<[](Rotation& r) { r.pairs = r.table = other(r.pairs); }>},
    {"rope.mixed-layout", "The angles stand in the order of the other pairing.",
     "Both columns of a pair turn by the same angle.",
     rotated_by<[](Rotation& r) { r.table = other(r.table); }>},
    {"rope.sign", "The pairs were turned backwards.", "x₁·cos θ − x₂·sin θ, x₂·cos θ + x₁·sin θ.",
     rotated_by<[](Rotation& r) { r.times = -1; }>},
    {"rope.sin-cos-swapped", "Sine and cosine have changed places.",
     "A number is multiplied by the cosine, its partner by the sine.",
     rotated_by<[](Rotation& r) { r.sin_cos_swapped = true; }>},
    {"rope.offset", "Each row was turned by the position before or after its own.",
     "At which position does the first row stand?", offset},
    {"rope.exponent", "The exponent of the angle is not 2i/width.",
     "Pairs count from 0: the first turns by the position itself.", exponent},
    {"rope.base", "The angles are powers of another base.", "Which base does the lesson take?",
     other_base},
    {"rope.scaling", "The angles were not scaled as the lesson says.",
     "A longer text has smaller angles: they are divided.", other_scaling},
    {"rope.width", "All columns were turned, where only some should be.",
     "The columns behind `width` stay as they are.", all_columns},
    {"rope.skipped", "Nothing was turned.", "Turn queries and keys before they meet.", skipped},
    {"rope.twice", "The rows were turned twice.", "Turn once.", twice},
    {"rope.before-split", "The whole row was turned before it was cut into heads.",
     "Each head turns by the same angles: cut first.", before_split},
    {"rope.degrees", "Degrees were taken for radians.", "Sine and cosine are of radians.",
     rotated_by<[](Rotation& r) { r.times = degree; }, [](Rotation& r) { r.times = 1 / degree; }>},
    {"qk-norm.skipped", "The norm before the turn was left out.",
     "Queries and keys are normalised before they are turned.", norm_skipped},
    {"qk-norm.after-rope", "The norm came after the turn.",
     "Normalise first, then turn: the gain is each feature's own.", norm_after},
    {"cache.position-restarted", "The rows were turned as if the text began with them.",
     "A new token stands behind all those before it.", from_zero},
    {"cache.evicted-position", "The rows were turned by the number of rows that the cache keeps.",
     "Rows that were dropped still count: the position is the token's own.", by_rows_kept},
};

// The forward call with the output's gradient in place of the rows.
Call forward(const Call& call) {
  if (call.inputs.size() == 2) return forward_call(call, {grad_output});
  return forward_call(call, {grad_output, saved_other});
}

// x₁·cos θ − x₂·sin θ if it `subtracts`, or x₂·cos θ + x₁·sin θ.
template <class N, class Angle>
N rotated_number(const N& own, const N& partner, const Angle& angle, bool subtracts) {
  using std::cos;
  using std::sin;
  const N straight = own * N(cos(angle));
  const N across = partner * N(sin(angle));
  return subtracts ? straight - across : straight + across;
}

template <class N>
N by_given_angle(const N& own, const N& partner, const N& angle, bool subtracts) {
  if constexpr (std::is_same_v<N, Interval>) {
    return rotated_range(own, partner, angle, subtracts);
  } else if constexpr (std::is_same_v<N, Decimal>) {
    return angle.value() == 0 ? own : Decimal::unknown();
  } else {
    return rotated_number(own, partner, angle, subtracts);
  }
}

// A cell of the first operand, its pair rotated or rotated back; operand `angles` has the angles if
// they are given.
template <class N>
N rotated_cell(const Cell<N>& c, const RopeOptions& rope, std::size_t angles, bool is_back) {
  const auto x = c(0);
  const N own = x(c.row, c.column);
  if (c.column >= rope.width) return own;
  const PairPlace place = pair_place(rope.pairing, rope.width, c.column);
  const N partner = x(c.row, place.partner);
  const bool subtracts = place.is_first != is_back;
  if (rope.are_given()) {
    return by_given_angle(own, partner, c(angles)(c.row, place.pair), subtracts);
  }
  const double position = rope.first + static_cast<double>(c.row);
  const double attention_factor = rope.attention_factor();
  if constexpr (std::is_same_v<N, Decimal>) {  // cosines are exact only at 0
    return position == 0 && attention_factor == 1 ? own : Decimal::unknown();
  } else {
    using Angle = std::conditional_t<std::is_same_v<N, Expression>, Expression, double>;
    const N result =
        rotated_number(own, partner, rope.angle<Angle>(position, place.pair), subtracts);
    return attention_factor == 1 ? result : result * N(attention_factor);
  }
}

// A rotation's transpose is the rotation by the opposite angle.
struct GradRotated {
  static constexpr GradientWords words{
      "Turn the gradient back",
      "Each pair was turned by its position's angle; its gradient is turned back by the same.",
      "No pair changes its length."};

  static Form form(const Call& call) {
    const bool are_given = call.inputs.size() > 2;
    return with_columns(
        {{"row column", "row column", "row inner"},
         "row column",
         are_given ? "{0}, its pairs turned back by {2}"
                   : "each row of {0}, its pairs turned back by position · base^(−2i/width)"});
  }

  static auto cell(const auto& c) {
    return rotated_cell(c, RopeOptions::of(forward(*c.call)), saved_other, true);
  }

  static Tensor compute(const Call& call, Tensor whole) {
    const Call there = forward(call);
    Rotation rotation = Rotation::of(RopeOptions::of(there));
    rotation.times = -rotation.times;
    return rotated(there, std::move(whole), rotation);
  }
};

// A given angle moves its pair along a circle: dθ = dY_2 · Y_1 − dY_1 · Y_2.
struct GradAngles {
  static constexpr GradientWords words{
      "Back to the angles",
      "A larger angle moves its pair along the circle: what the loss gains is the gradient along "
      "that way.",
      "A pair at the centre has no way to go."};
  static constexpr Role needs[] = {Role::output};

  static Form form(const Call&) {
    return {{"row column", "row inner", "row column"},
            "row inner",
            "of each pair {0}₂ · {2}₁ − {0}₁ · {2}₂"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const RopeOptions rope = RopeOptions::of(forward_call(*c.call, {saved_output, self}));
    const auto change = c(grad_output);
    const auto rotated_pairs = c(saved_output);
    const bool halves = rope.pairing == Pairing::halves;
    const std::size_t first = halves ? c.column : 2 * c.column;
    const std::size_t second = halves ? c.column + rope.width / 2 : first + 1;
    return change(c.row, second) * rotated_pairs(c.row, first) -
           change(c.row, first) * rotated_pairs(c.row, second);
  }
};

std::vector<Tensor> rotated_forward(const StepView& step) {
  const Call there = forward(call_of(step));
  return {rotated(there, *step.tensor, Rotation::of(RopeOptions::of(there)))};
}

constexpr Mistake rope_backward_mistakes[] = {
    {"rope.skipped", "The gradient was not turned back.",
     "What was turned on the way there is turned back by the same angle.", first_operand},
    {"rope.sign", "The gradient was turned on instead of back.", "Back is the other way round: −θ.",
     rotated_forward},
};

/// The backward rule of rope: to the rows, and to the angles if those are given.
BackwardRule rope_backward(const OperandRef& use) {
  BackwardRule rule = backward_by<With<GradRotated, rope_backward_mistakes>, GradAngles>(use);
  if (use.operand == 0 && use.operands == 2) rule.saved = {Role{1}};
  return rule;
}

using Numbers = OptionRule::Numbers;

constexpr std::string_view pairings[] = {"interleaved", "halves"};
constexpr std::string_view scalings[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3"};
constexpr OptionRule rope_options[] = {
    {.name = "pairing",
     .help = "which columns turn together: neighbours, or those of the two halves",
     .list = pairings},
    {.name = "base",
     .help = "the slowest pair turns nearly this many times as slowly as the first",
     .numbers = Numbers::positive},
    {.name = "first", .help = "the position of the first row", .numbers = Numbers::whole},
    {.name = "width", .help = "how many columns turn", .numbers = Numbers::whole},
    {.name = "scaling", .help = "what makes angles smaller for longer texts", .list = scalings},
    {.name = "factor",
     .help = "how many times as long the texts are, for scaling",
     .numbers = Numbers::positive},
    {.name = "original_length",
     .help = "the longest text of the training, for scaling",
     .numbers = Numbers::positive},
    {.name = "low_freq_factor",
     .help = "pairs with fewer turns in that text are divided, for llama3",
     .numbers = Numbers::positive},
    {.name = "high_freq_factor",
     .help = "pairs with more turns in that text are kept, for llama3",
     .numbers = Numbers::positive},
    {.name = "beta_fast",
     .help = "pairs with more turns in that text are kept, for yarn",
     .numbers = Numbers::positive},
    {.name = "beta_slow",
     .help = "pairs with fewer turns in that text are divided, for yarn",
     .numbers = Numbers::positive},
};

struct Rope {
  static Form form(const Call& call) {
    const bool are_given = call.inputs.size() == 2;
    Form form = with_columns(
        {{"row column", "row inner"},
         "row column",
         are_given ? "{0}, its pairs turned by {1}"
                   : "each row of {0}, its pairs turned by position · base^(−2i/width)"});
    form.shares_heads = true;
    return form;
  }

  // Su and others (2021), "RoFormer": a pair of columns is rotated by its position's angle.
  static auto cell(const auto& c) { return rotated_cell(c, RopeOptions::of(*c.call), 1, false); }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    if (call.inputs.size() == 2) return {};
    const auto rope_table = std::make_shared<const RopeTable>(Rotation::of(RopeOptions::of(call)),
                                                              call.inputs[0]->rows());
    const auto rotate = [rope_table](const RowPart& row) {
      rope_table->rotate(row.row, row.cells);
    };
    return InPlaceKernel{frame_of(call, form(call)), rotate};
  }

  static Tensor compute(const Call& call) {
    const RopeOptions options = RopeOptions::of(call);
    return rotated(call, output_of(call, form(call)), Rotation::of(options));
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
    .options = rope_options,
    .single_precision_error = angle_error,
    .mistakes = rope_mistakes,
    .backward = rope_backward,
});

}  // namespace qkv::inline ops
