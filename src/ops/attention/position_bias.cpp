#include <bit>

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {
namespace {

using Numbers = OptionRule::Numbers;

constexpr OptionRule relative_bias_options[] = {
    {.name = "max_distance",
     .help = "tokens this far apart, or farther, share the last bucket",
     .numbers = Numbers::positive},
    {.name = "bidirectional",
     .help = "whether later keys have buckets of their own: the second half of the table",
     .flag = true},
};

// Raffel and others (2020), T5: half of the buckets hold one distance each. The others hold ever
// more, up to the largest distance.
struct PositionBuckets {
  std::size_t count;  // for one direction
  bool both;
  double most;
  std::size_t first;  // the key that belongs to the first query

  explicit PositionBuckets(const Call& call)
      : count(call.inputs[1]->rows()),
        both(call.options->flag("bidirectional", false)),
        most(call.options->number("max_distance", 128)),
        first(first_query(call)) {
    if (both) count /= 2;
  }

  std::size_t of(std::size_t row, std::size_t key) const {
    const std::size_t query = row + first;
    const bool is_later = key > query;
    const std::size_t far = is_later ? (both ? key - query : 0) : query - key;
    return of_distance(far) + (both && is_later ? count : 0);
  }

  std::size_t of_distance(std::size_t far) const {
    const std::size_t exact = count / 2;
    if (far < exact) return far;
    if (static_cast<double>(far) >= most) return count - 1;  // most keys of a long text
    const auto least = static_cast<double>(exact);
    const double share = std::log(static_cast<double>(far) / least) / std::log(most / least);
    const double more = share * static_cast<double>(count - exact);
    return std::min(count - 1, exact + static_cast<std::size_t>(more));
  }
};

void check_table(const Call& call) {
  const Tensor& table = *call.inputs[1];
  const std::size_t heads = head_count(*call.inputs[0]);
  const std::size_t least = call.options->flag("bidirectional", false) ? 4 : 2;
  if (table.rank() != 2 || table.columns() != heads || table.rows() < least) {
    refuse(call, fmt::format("{} must have a row for each bucket, at least {}, and a column for "
                             "each of the {} heads of {}",
                             operand_text(call, 1), least, heads, operand_text(call, 0)));
  }
  const std::size_t exact = PositionBuckets(call).count / 2;
  if (PositionBuckets(call).most <= static_cast<double>(exact)) {
    refuse(call,
           fmt::format("max_distance must be above {}, the buckets of one distance each", exact));
  }
}

// The code of how far all keys are behind all queries.
std::string code_of_gaps(const Call& call) {
  const std::size_t first = first_query(call);
  return fmt::format("{{arange {}, {}}}[:, None] - {{arange {}}}", first,
                     first + call.inputs[0]->rows(), call.inputs[0]->columns());
}

// The code of `b`, the buckets of all queries and keys.
std::string code_of_buckets(const Call& call) {
  const PositionBuckets buckets(call);
  const std::size_t exact = buckets.count / 2;
  return fmt::format(
      "q = {0}; d = {1}; b = ({{np}}.where(d < {2}, d, {2} + ({{np}}.log(d.clip(1) / {2}) / {3} * "
      "{4}){{int}}).clip(0, {5}){6}){{int}}; ",
      code_of_gaps(call), buckets.both ? "abs(q)" : "q.clip(0)", exact,
      std::log(buckets.most / static_cast<double>(exact)), buckets.count - exact, buckets.count - 1,
      buckets.both ? fmt::format(" + {} * (q < 0)", buckets.count) : "");
}

struct RelativeBias {
  static std::string code_of(const Call& call) {
    return code_of_buckets(call) + "{=}{r0} + " +
           (call.inputs[0]->rank() < 3 ? "{r1}[b][..., 0]" : "{np}.moveaxis({r1}[b], -1, -3)");
  }

  static Form form(const Call&) {
    return {.operands = {"query key", "bucket head"},
            .output = "query key",
            .formula = "{0} + {1}, by distance",
            .shares_heads = true};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t bucket = PositionBuckets(*c.call).of(c.row, c.column);
    return c(0)(c.row, c.column) + c.of(1, 0)(bucket, c.matrix % head_count(c.input(0)));
  }

  // Adds to each cell of a row the head's bias for the key's distance.
  static std::optional<InPlaceKernel> in_place(const Call& call) {
    check_table(call);
    const auto add = [buckets = PositionBuckets(call), table = *call.inputs[1]](const RowPart& at) {
      for (std::size_t j = 0; j < at.cells.size(); ++j) {
        const std::size_t bucket = buckets.of(at.row, at.first + j);
        at.cells[j] += table.at(0, bucket, at.matrix % table.columns());
      }
    };
    return InPlaceKernel{frame_of_scores(call, form(call)), add, true};
  }
};

// The gradient of a table's number: the sum over all scores that it was added to.
struct GradDistances : OwnCells,
                       FixedForm<"the sums of {0} by bucket and head", "bucket head", "query key",
                                 "bucket head", "query key"> {
  static constexpr GradientWords words{"Back to the table of distances",
                                       "A number of the table was added to all scores of its "
                                       "distance, so its gradient is the sum of theirs.",
                                       "Distances that do not occur in the text get 0."};
  static constexpr Role needs[] = {Role::other};

  static std::string code_of(const Call& call) {
    const Call there = forward_call(call, {saved_other, self});
    return code_of_buckets(there) + fmt::format(
                                        "{{=}}{{np}}.stack([({{r0}} * (b == k)).reshape(-1, {}, "
                                        "{}).sum((0, 2)) for k in range({})])",
                                        call.inputs[self]->columns(),
                                        there.inputs[0]->rows() * there.inputs[0]->columns(),
                                        call.inputs[self]->rows());
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward_call(*c.call, {saved_other, self});
    const PositionBuckets buckets(there);
    const Tensor& change = c.input(grad_output);
    const std::size_t heads = head_count(*there.inputs[0]);
    std::vector<CellBase> places;
    CellBase at{.call = c.call, .output = &change};
    for (at.matrix = c.column; at.matrix < change.matrices(); at.matrix += heads) {
      for (at.row = 0; at.row < change.rows(); ++at.row) {
        for (at.column = 0; at.column < change.columns(); ++at.column) {
          if (buckets.of(at.row, at.column) == c.row) places.push_back(at);
        }
      }
    }
    return sum<N>(places.size(), [&](std::size_t t) {
      return c.of(grad_output, places[t].matrix)(places[t].row, places[t].column);
    });
  }
};

constexpr GradientWords biased_words{
    "Back to the scores before the bias",
    "The number that was added does not depend on the score, so the gradient stays as it is.",
    "The same numbers."};

constexpr OptionRule alibi_options[] = {align_option};

// The exponent of 2 in the slope of head k of h, k from 0. It is −8(k + 1)/h as in the paper if h
// is a power of two; else the slopes of the next lower power, then every other one of its double.
struct SlopePower {
  double upper, lower;

  double value() const { return std::exp2(upper / lower); }
};

SlopePower slope_power(std::size_t k, std::size_t heads) {
  const std::size_t power = std::bit_floor(heads);
  const auto place = static_cast<double>(k < power ? k + 1 : 2 * (k - power) + 1);
  return {-8 * place, static_cast<double>(k < power ? power : 2 * power)};
}

bool are_given(const Call& call) { return call.inputs.size() == 2; }

// The factor of a slope: the distance of the key from the query. The distance from an end of the
// keys is equivalent under a causal mask.
struct Distance {
  std::size_t first;  // the key that belongs to the first query
  std::optional<double> end;

  explicit Distance(const Call& call) : first(first_query(call)) {
    const std::string_view word = call.options->word(alibi_counted, "");
    if (word == "first") end = 0;
    if (word == "last") end = static_cast<double>(call.inputs[0]->columns()) - 1;
  }

  double operator()(std::size_t row, std::size_t key) const {
    const auto at = static_cast<double>(key);
    return end ? *end - at : std::abs(static_cast<double>(row + first) - at);
  }
};

std::vector<double> slopes_of(const Call& call) {
  const std::size_t heads = head_count(*call.inputs[0]);
  return mapped_places(heads, [&](std::size_t k) {
    return are_given(call) ? call.inputs[1]->values[k] : slope_power(k, heads).value();
  });
}

struct Alibi {
  static std::string code_of(const Call& call) {
    std::string slopes = "{1}";
    if (!are_given(call)) slopes = fmt::format("{{array [{}]}}", fmt::join(slopes_of(call), ", "));
    return fmt::format("{{r0}} - {}.reshape({}) * abs({})", slopes,
                       call.inputs[0]->rank() < 3 ? "1, 1" : "-1, 1, 1", code_of_gaps(call));
  }

  static Form form(const Call& call) {
    return {.operands = {"query key", "1 inner"},
            .output = "query key",
            .formula = are_given(call) ? "{0} − {1} · distance" : "{0} − slope · distance",
            .shares_heads = true};
  }

  // Press, Smith and Lewis (2022): a penalty that grows with the distance, steeper in some heads.
  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t heads = head_count(c.input(0));
    const std::size_t head = c.matrix % heads;
    const N far = Distance(*c.call)(c.row, c.column);
    const N score = c(0)(c.row, c.column);
    if (are_given(*c.call)) return score - number_of_head(c) * far;
    const SlopePower power = slope_power(head, heads);
    if constexpr (std::is_same_v<N, Expression>) {
      return score - pow(N(2.0), N(power.upper) / N(power.lower)) * far;
    } else {
      return score - N(power.value()) * far;
    }
  }

  // Subtracts from each cell of a row the head's slope times the key's distance.
  static std::optional<InPlaceKernel> in_place(const Call& call) {
    if (are_given(call)) require_one_per_head(call, "slopes");
    Tensor frame = frame_of_scores(call, form(call));
    const auto subtract = [distance = Distance(call), slopes = slopes_of(call)](const RowPart& at) {
      const double slope = slopes[at.matrix % slopes.size()];
      for (std::size_t j = 0; j < at.cells.size(); ++j) {
        at.cells[j] -= slope * distance(at.row, at.first + j);
      }
    };
    return InPlaceKernel{std::move(frame), subtract, true};
  }
};

// The step's result with other slopes, or another sign.
template <class Slope>
Tensor with_each(const StepView& step, Slope slope) {
  Call call = call_of(step);
  std::vector<double> slopes = slopes_of(call);
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    slopes[k] = slope(static_cast<double>(k), slopes[k]);
  }
  const Tensor given = tensor_of({slopes.size()}, Values(slopes));
  call.inputs = {call.inputs[0], &given};
  call.names = {call.names[0], "slopes"};
  return alibi_operation.compute(call);
}

Versions other_slopes(const StepView& step) {
  const auto heads = static_cast<double>(head_count(step.operand()));
  Versions results = {with_each(step, [](double, double) { return 1.0; })};
  if (step.inputs.size() == 2) return results;
  results.push_back(with_each(step, [&](double k, double) { return std::exp2(-8 * k / heads); }));
  results.push_back(with_each(step, [](double k, double) { return std::exp2(-(k + 1)); }));
  if (!std::has_single_bit(head_count(step.operand()))) {
    results.push_back(
        with_each(step, [&](double k, double) { return std::exp2(-8 * (k + 1) / heads); }));
  }
  return results;
}

constexpr Mistake alibi_mistakes[] = {
    {"alibi.sign", "The penalty was added instead of subtracted.", "Farther keys get lower scores.",
     [](const StepView& step) -> Versions {
       return {with_each(step, [](double, double slope) { return -slope; })};
     }},
    {"alibi.slopes",
     "The slopes are not 2^(−8k/h): the heads were counted from 0, or the slopes left out.",
     "Heads count from 1; the last one's slope is 2^(−8).", other_slopes},
};

// The gradient of a slope: minus the sum of its head's score gradients times their distances.
struct GradSlopes : OwnCells,
                    FixedForm<"−the sum of {0} ∘ distance, by head", "1 inner", "query key",
                              "1 inner", "query key"> {
  static constexpr GradientWords words{
      "Back to the slopes",
      "A steeper slope lowers each score of its head by the distance of the two tokens. So the "
      "gradients are multiplied by the distances and added up, with the other sign.",
      "One number for each head."};
  static constexpr Role needs[] = {Role::other};

  static std::string code_of(const Call& call) {
    const Call there = forward_call(call, {saved_other});
    return fmt::format("-({{r0}} * abs({})).reshape(-1, {}, {}).sum((0, 2))[None]",
                       code_of_gaps(there), head_count(*there.inputs[0]),
                       there.inputs[0]->rows() * there.inputs[0]->columns());
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward_call(*c.call, {saved_other});
    const Distance distance(there);
    const Tensor& change = c.input(grad_output);
    const std::size_t heads = head_count(*there.inputs[0]);
    const std::size_t columns = change.columns();
    const std::size_t size = change.rows() * columns;
    const std::size_t batches = change.matrices() / heads;
    const std::size_t head = flat_index(c);
    return N(0.0) - sum<N>(batches * size, [&](std::size_t t) {
             const std::size_t i = t % size / columns;
             const std::size_t j = t % columns;
             return c.of(grad_output, t / size * heads + head)(i, j) * N(distance(i, j));
           });
  }
};

constexpr GradientWords lowered_words{
    "Back to the scores before the penalty",
    "The penalty does not depend on the score, so the gradient stays as it is.",
    "The same numbers."};

}  // namespace

constinit const Operation relative_bias_operation = operation_of<RelativeBias>({
    .name = "relative_bias",
    .title = "Add a number for each distance (relative bias)",
    .says = "To each score a learned number is added, which depends on the distance between query "
            "and key. Each small distance has a number of its own. Large distances share one, in "
            "buckets that get wider.",
    .notice = "The same number is added to all cells of a diagonal.",
    .operands = R"(["scores", "table"])",
    .options = relative_bias_options,
    .needs_heads = has_axis_of_heads,
    .backward = backward_by<WithWords<IdentityBackward, biased_words>, GradDistances>,
});

constinit const Operation alibi_operation = operation_of<Alibi>({
    .name = "alibi",
    .title = "Lower the scores of far keys (ALiBi)",
    .says = "From each score a penalty is subtracted that grows with the distance between query "
            "and key. Each head has a slope of its own: some heads look far, others only near.",
    .notice = "A token's own score is the same as before.",
    .operands = R"(["scores"] or ["scores", "slopes"])",
    .options = alibi_options,
    .needs_heads = has_axis_of_heads,
    .mistakes = alibi_mistakes,
    .backward = backward_by<WithWords<IdentityBackward, lowered_words>, GradSlopes>,
});

}  // namespace qkv::inline ops
