#include "ops/heads/head_axis.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/layers/norms.hpp"
#include "ops/rope/rotation.hpp"

namespace qkv::inline ops {
namespace {

Rotation rotation_of(const Call& call) { return Rotation(RopeOptions::of(call)); }

Tensor rotated_by(const Call& call, const Rotation& rotation) {
  return rotated(call, output_of(call, rope_operation.form(call)), rotation);
}

template <auto... changes>
constexpr auto rotated_with = with_parameters<rotation_of, rotated_by, changes...>;

Pairing other(Pairing pairing) {
  return pairing == Pairing::halves ? Pairing::interleaved : Pairing::halves;
}

// Radians taken for degrees, as by a calculator in the wrong mode, or converted without need.
constexpr double degree = std::numbers::pi / 180;

template <int by>
bool move(Rotation& r) {
  r.first += by;
  return !r.are_given();
}

// Another exponent than 2i for pair i.
template <int slope, int start>
bool change_exponent(Rotation& r) {
  for (std::size_t i = 0; i < r.inv_freq.size(); ++i) {
    const double pair = static_cast<double>(i);
    const double more = slope * pair + start - 2 * pair;
    r.inv_freq(i) *= std::pow(r.base, -more / static_cast<double>(r.width));
  }
  return !r.are_given();
}

// Angles that are not scaled, or scaled the other way; the factor of cosines may be left out alone.
enum class Scaled { not_at_all, the_other_way, not_the_cosines };

template <Scaled scaled, bool without_factor>
bool change_scaling(Rotation& r) {
  if (r.scaling == RopeOptions::Scaling::none) return false;
  if (without_factor && std::exchange(r.attention_factor, 1) == 1) return false;
  auto plain = static_cast<const RopeOptions&>(r);
  plain.scaling = RopeOptions::Scaling::none;
  const Vector unscaled = Rotation(plain).inv_freq;
  if (scaled == Scaled::not_at_all) r.inv_freq = unscaled;
  if (scaled == Scaled::the_other_way) r.inv_freq = unscaled * unscaled / r.inv_freq;
  return true;
}

Versions all_columns(const StepView& step) {
  if (!step.options->has("width")) return {};
  return {with_option(step, "width", static_cast<double>(step.operand().columns()))};
}

Versions twice(const StepView& step) { return {rope_operation.compute(call_of(step))}; }

// All heads side by side, as before the split, rotated as one row.
Versions before_split(const StepView& step) {
  const Tensor& x = step.operand();
  const std::size_t heads = head_count(x);
  if (step.inputs.size() == 2 || heads < 2) return {};
  const auto work = [](const Operation& operation, const Tensor& on, const Options& options) {
    return operation.compute({.step = "", .inputs = {&on}, .names = {""}, .options = &options});
  };
  Options wide = *step.options;
  wide.set("width", static_cast<double>(heads * x.columns()));
  const Options cut = Options::of("heads", static_cast<double>(heads));
  return {work(split_heads_operation,
               work(rope_operation, work(concat_heads_operation, x, {}), wide), cut)};
}

// The norm of queries and keys before their rotation; only a split may stand in between.
Versions norm_skipped(const StepView& step) {
  for (const StepView* at = step.inputs[0]; at->operation; at = at->inputs[0]) {
    if (at->operation == &rms_norm_operation || at->operation == &layer_norm_operation) {
      return without_upstream(step, *at->operation);
    }
    if (at->operation != &split_heads_operation) break;
  }
  return {};
}

// Positions from the number of rows that the cache keeps, after older ones were dropped.
Versions by_rows_kept(const StepView& step) {
  Versions results;
  for (const StepView& later : step.all) {
    if (later.operation != &append_operation) continue;
    const auto kept = static_cast<double>(later.operand().rows());
    if (kept == step.options->number("first", 0) || kept == 0) continue;
    results.push_back(with_option(step, "first", kept));
  }
  return results;
}

constexpr Mistake rope_mistakes[] = {
    {"rope.pairing", "Other columns were paired: neighbours for the two halves, or the reverse.",
     "Which columns does the lesson turn together?", With{"pairing"}},
    {"rope.mixed-layout", "The angles stand in the order of the other pairing.",
     "Both columns of a pair turn by the same angle.",
     rotated_with<[](Rotation& r) { r.table = other(r.table); }>},
    {"rope.sign", "The pairs were turned backwards.", "x₁·cos θ − x₂·sin θ, x₂·cos θ + x₁·sin θ.",
     rotated_with<[](Rotation& r) { r.times = -1; }>},
    {"rope.sin-cos-swapped", "Sine and cosine have changed places.",
     "A number is multiplied by the cosine, its partner by the sine.",
     rotated_with<[](Rotation& r) { r.sin_cos_swapped = true; }>},
    {"rope.offset", "Each row was turned by the position before or after its own.",
     "At which position does the first row stand?", rotated_with<move<1>, move<-1>>},
    {"rope.exponent", "The exponent of the angle is not 2i/width.",
     "Pairs count from 0: the first turns by the position itself.",
     // i, i + 1, 4i or 2(i + 1)
     rotated_with<change_exponent<1, 0>, change_exponent<1, 1>, change_exponent<4, 0>,
                  change_exponent<2, 2>>},
    {"rope.base", "The angles are powers of another base.", "Which base does the lesson take?",
     With{"base", 10000.0, 500000.0, 1000000.0}},
    {"rope.scaling", "The angles were not scaled as the lesson says.",
     "A longer text has smaller angles: they are divided.",
     rotated_with<
         change_scaling<Scaled::not_at_all, false>, change_scaling<Scaled::the_other_way, false>,
         change_scaling<Scaled::not_the_cosines, true>, change_scaling<Scaled::not_at_all, true>>},
    {"rope.width", "All columns were turned, where only some should be.",
     "The columns after `width` stay as they are.", all_columns},
    {"rope.skipped", "Nothing was turned.", "Turn queries and keys before they meet.", Skip{}},
    {"rope.twice", "The rows were turned twice.", "Turn once.", Operand{0, twice}},
    {"rope.before-split", "The whole row was turned before it was cut into heads.",
     "Each head turns by the same angles: cut first.", before_split},
    {"rope.degrees", "Degrees were taken for radians.", "Sine and cosine take radians.",
     rotated_with<[](Rotation& r) { r.times = degree; },
                  [](Rotation& r) { r.times = 1 / degree; }>},
    {qk_norm_skipped.id, qk_norm_skipped.says, qk_norm_skipped.hint, norm_skipped},
    {"qk-norm.after-rope", "The norm came after the turn.",
     "Normalise first, then turn: the gain is each feature's own.",
     Exchange{{&rms_norm_operation, &layer_norm_operation}}},
    {"cache.position-restarted", "The rows were turned as if the text began with them.",
     "A new token comes after all earlier ones.", With{"first", 0.0}},
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

// Returns the range of x₁·cos θ ∓ x₂·sin θ over all numbers of the intervals.
Interval rotated_range(Interval own, Interval partner, Interval angle, bool is_first) {
  Interval range{infinity, -infinity};
  for (const double x : {own.low, own.high}) {
    for (const double y : {partner.low, partner.high}) {
      // x·cos θ − y·sin θ is r·cos(θ + φ): extremes are at the angle's ends, or where θ + φ is k·π.
      const double other = is_first ? y : -y;
      const double size = std::hypot(x, y);
      const double phase = std::atan2(other, x);
      const auto at = [&](double a) { return x * std::cos(a) - other * std::sin(a); };
      range = hull(range, hull(at(angle.low), at(angle.high)));
      const auto passes = [&](double extreme) {
        const double full = 2 * std::numbers::pi;
        const double next = extreme + full * std::ceil((angle.low + phase - extreme) / full);
        return next <= angle.high + phase;
      };
      if (passes(0)) range.high = std::max(range.high, size);
      if (passes(std::numbers::pi)) range.low = std::min(range.low, -size);
    }
  }
  return range;
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
  if constexpr (std::is_same_v<N, Decimal>) {  // cosines are exact only at 0
    return position == 0 && rope.attention_factor == 1 ? own : Decimal::unknown();
  } else {
    using Angle = std::conditional_t<std::is_same_v<N, Expression>, Expression, double>;
    const N result =
        rotated_number(own, partner, rope.angle<Angle>(position, place.pair), subtracts);
    return rope.attention_factor == 1 ? result : result * N(rope.attention_factor);
  }
}

// The columns of the first and of the second number of each pair, as slices.
std::pair<std::string, std::string> code_of_pairs(const RopeOptions& rope) {
  if (rope.pairing == Pairing::halves) {
    return {fmt::format(":{}", rope.width / 2), fmt::format("{}:{}", rope.width / 2, rope.width)};
  }
  return {fmt::format("0:{}:2", rope.width), fmt::format("1:{}:2", rope.width)};
}

// The code of a rotation; `sign` turns it back.
std::string code_of_rotation(const Call& call, const RopeOptions& rope, const std::string& given,
                             std::string_view sign) {
  const Tensor& rows = *call.inputs[0];
  const auto [first, second] = code_of_pairs(rope);
  std::string angles = given;
  if (!rope.are_given()) {
    std::string turns =
        fmt::format("{} ** (-{{arange 0, {}, 2}} / {})", rope.base, rope.width, rope.width);
    if (rope.scaling != RopeOptions::Scaling::none) {
      const Vector all = Rotation(rope).inv_freq;
      turns = fmt::format("{{array [{}]}}", fmt::join(all.begin(), all.end(), ", "));
    }
    angles = fmt::format("{{arange {}, {}}}[:, None] * {}", rope.first,
                         rope.first + static_cast<double>(rows.rows()), turns);
  }
  const double factor = rope.attention_factor;
  const std::string by = factor == 1 ? "" : fmt::format("{} * ", factor);
  std::string turned = "x * c - y * s, y * c + x * s";
  const std::string rest =
      rope.width == rows.columns() ? "" : fmt::format(", {{r0}}[..., {}:]", rope.width);
  if (rope.pairing == Pairing::interleaved) {
    turned = fmt::format("{{np}}.stack([{}], {{axis}}=-1).reshape({}{}, {})", turned,
                         code_leading(rows), rows.rows(), rope.width);
  }
  const bool joins = rope.pairing == Pairing::halves || !rest.empty();
  return fmt::format(
      "a = {}; c, s = {}{{np}}.cos(a), {}{}{{np}}.sin(a); x, y = {{r0}}[..., {}], "
      "{{r0}}[..., {}]; {{=}}{}",
      angles, by, sign, by, first, second,
      joins ? fmt::format("{{cat}}([{}{}], {{axis}}=-1)", turned, rest) : turned);
}

// A rotation's transpose is the rotation by the opposite angle.
struct GradRotated {
  static constexpr GradientWords words{"Turn the gradient back",
                                       "Each pair was turned by the angle of its position. Its "
                                       "gradient is turned back by the same angle.",
                                       "No pair changes its length."};

  static std::string code_of(const Call& call) {
    return code_of_rotation(call, RopeOptions::of(forward(call)), "{r2}", "-");
  }

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
    Rotation rotation = rotation_of(there);
    rotation.times = -rotation.times;
    return rotated(there, std::move(whole), rotation);
  }
};

// A given angle moves its pair along a circle: dθ = dY_2 · Y_1 − dY_1 · Y_2.
struct GradAngles : FixedForm<"of each pair {0}₂ · {2}₁ − {0}₁ · {2}₂", "row inner", "row column",
                              "row inner", "row column"> {
  static constexpr GradientWords words{"Back to the angles",
                                       "A larger angle moves its pair along a circle. The gradient "
                                       "in that direction is the gradient of the angle.",
                                       "A pair (0, 0) does not move, so its angle has gradient 0."};
  static constexpr Role needs[] = {Role::output};

  static std::string code_of(const Call& call) {
    const RopeOptions rope = RopeOptions::of(forward_call(call, {saved_output, self}));
    const auto [first, second] = code_of_pairs(rope);
    return fmt::format("{{r0}}[..., {1}] * {{r2}}[..., {0}] - {{r0}}[..., {0}] * {{r2}}[..., {1}]",
                       first, second);
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

Versions rotated_forward(const StepView& step) {
  const Call there = forward(call_of(step));
  return {rotated(there, *step.tensor, rotation_of(there))};
}

constexpr Mistake rope_backward_mistakes[] = {
    {"rope.skipped", "The gradient was not turned back.",
     "What was turned in the forward pass is turned back by the same angle.", Skip{}},
    {"rope.sign", "The gradient was turned further instead of back.",
     "Turn it the other way: by −θ.", rotated_forward},
};

/// The backward rule of rope: to the rows, and to the angles if those are given.
BackwardRule rope_backward(const OperandRef& use) {
  BackwardRule rule =
      backward_by<WithMistakes<GradRotated, rope_backward_mistakes>, GradAngles>(use);
  if (use.operand == 0 && use.operands == 2) rule.saved = {Role{1}};
  return rule;
}

using Numbers = OptionRule::Numbers;

constexpr std::string_view pairings[] = {"interleaved", "halves"};
constexpr OptionRule rope_options[] = {
    {.name = "pairing",
     .help = "which columns turn together: neighbours, or those of the two halves",
     .list = pairings},
    {.name = "base",
     .help = "the slowest pair turns nearly this many times as slowly as the first",
     .numbers = Numbers::positive},
    {.name = "first", .help = "the position of the first row", .numbers = Numbers::whole},
    {.name = "width", .help = "how many columns turn", .numbers = Numbers::whole},
    {.name = "scaling",
     .help = "what makes angles smaller for longer texts",
     .list = RopeOptions::scalings},
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
    {.name = "truncate",
     .help = "whether yarn rounds its first and last pair to whole numbers; true if not written",
     .flag = true},
    {.name = "attention_factor",
     .help = "what cosines and sines are multiplied by, for yarn",
     .numbers = Numbers::positive},
};

struct Rope {
  static std::string code_of(const Call& call) {
    return code_of_rotation(call, RopeOptions::of(call), "{r1}", "");
  }

  static Form form(const Call& call) {
    const double first = call.options->number("first", 0);
    const std::string by_position =
        fmt::format("each row of {{0}}, pairs {} turned by position{} · base^(−2i/width)",
                    call.options->word("pairing", "interleaved") == "halves" ? "across its halves"
                                                                             : "of neighbours",
                    first == 0 ? "" : fmt::format(" (from {})", first));
    Form form =
        with_columns({{"row column", "row inner"},
                      "row column",
                      call.inputs.size() == 2 ? "{0}, its pairs turned by {1}" : by_position});
    form.shares_heads = true;
    return form;
  }

  // Su and others (2021), "RoFormer": a pair of columns is rotated by its position's angle.
  static auto cell(const auto& c) { return rotated_cell(c, RopeOptions::of(*c.call), 1, false); }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    if (call.inputs.size() == 2) return {};
    const auto rope_table = std::make_shared<const RopeTable>(
        RopeTable::of_positions(rotation_of(call), call.inputs[0]->rows()));
    const auto rotate = [rope_table](const RowPart& row) {
      rope_table->rotate(row.row, row.cells);
    };
    return InPlaceKernel{frame_of(call, form(call)), rotate};
  }

  static Tensor compute(const Call& call) { return rotated_by(call, rotation_of(call)); }
};

// Returns the error that angles in single precision cause in a cell: 2^-22 times its position and
// the larger magnitude of its pair.
double angle_error(const Call& call, const Tensor& result, std::size_t cell) {
  const RopeOptions rope = RopeOptions::of(call);
  const std::size_t column = cell % result.columns();
  if (rope.are_given() || column >= rope.width) return 0;
  const double position = rope.first + static_cast<double>(cell / result.columns() % result.rows());
  const std::size_t partner = pair_place(rope.pairing, rope.width, column).partner;
  const std::span<const double> numbers = result.values;
  const double other = numbers[cell - column + partner];
  return 0x1p-22 * std::abs(position) * std::max(std::abs(numbers[cell]), std::abs(other));
}

}  // namespace

constinit const Operation rope_operation = operation_of<Rope>({
    .name = "rope",
    .title = "Turn each pair of features by its position (RoPE)",
    .says =
        "The features are taken in pairs. Each pair is turned by an angle that grows with the "
        "token's position: the first pair fast, the last one slowly. The dot product of a query "
        "and a key that are both turned depends on their distance, not on where they stand.",
    .notice = "No pair changes its length; a token at position 0 stays as it is.",
    .operands = R"(["Q"] or ["Q", "angles"])",
    .options = rope_options,
    .single_precision_error = angle_error,
    .mistakes = rope_mistakes,
    .backward = rope_backward,
});

}  // namespace qkv::inline ops
