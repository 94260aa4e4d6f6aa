#include "ops/attention/softmax.hpp"
#include "ops/kinds/product.hpp"

// Attention in tiles (Dao and others, FlashAttention, 2022; Milakov and Gimelshein, 2018). A tile
// is the scores of a few keys; the results before it are rescaled if it has a larger score.

namespace qkv::inline ops {
namespace {

// True if this is the first tile. Otherwise the step continues the results of earlier tiles.
bool is_first_tile(const Call& call) { return call.inputs.size() < 2; }

struct RunningMax {
  static std::string code_of(const Call& call) {
    return is_first_tile(call) ? "{0}.{amax}({keep})" : "{np}.maximum({0}, {1}.{amax}({keep}))";
  }

  static Form form(const Call& call) {
    const std::size_t tile = call.inputs.size() - 1;
    if (call.inputs[tile]->columns() == 0) {
      refuse(call, operand_text(call, tile) + " has no scores");
    }
    if (is_first_tile(call)) {
      return with_columns({{"query key"}, "query 1", "the largest of each row of {0}"});
    }
    return with_columns(
        {{"query 1", "query key"}, "query 1", "the largest of {0} and each row of {1}"});
  }

  // The maximum before, then the scores of the tile.
  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t before = c.call->inputs.size() - 1;
    const auto scores = c(before);
    return nan_max_of<N>(before + scores.columns, [&](std::size_t t) {
      return t < before ? c(0)(c.row, 0) : scores(c.row, t - before);
    });
  }
};

// The maximum before, or that of the tile alone.
Versions not_updated(const StepView& step) {
  if (step.inputs.size() < 2) return {};
  Call tile = call_of(step);
  tile.inputs.erase(tile.inputs.begin());
  return {step.operand(), step.operation->compute(tile)};
}

constexpr Mistake running_max_mistakes[] = {
    {"flash.max-not-updated", "The maximum before and that of the tile were not compared.",
     "The larger of the two is the maximum so far.", not_updated},
};

// The gradient goes to the largest score or to the maximum before; equal ones share it.
struct GradScoresSoFar {
  static constexpr GradientWords words{
      "Back to the largest score",
      "Only the largest score so far is in the result. If the tile has it, it gets the gradient.",
      "In the end the maximum cancels out: its gradients sum to 0."};

  static bool has_before(const Call& call) { return call.inputs.size() > saved_other; }

  static std::string code_of(const Call& call) {
    const std::string_view code =
        "t = {1}.{amax}({keep}); m = {1} == t; {=}{0} * m / m.sum({keep})";
    return std::string(code) + (has_before(call) ? " * ((t > {2}) + (t == {2}) / 2)" : "");
  }

  static Form form(const Call& call) {
    return {{"query 1", "query key", "query 1"},
            "query key",
            has_before(call) ? "{0}, where {1} is largest, and above {2}"
                             : "{0}, where {1} is largest"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> scores{c(self), c.row, false};
    N change = c(grad_output)(c.row, 0);
    if (has_before(*c.call)) {
      change = max_backward(change, nan_max_of<N>(scores.size(), scores), c(saved_other)(c.row, 0));
    }
    return line_max_backward(change, scores, c.column);
  }
};

struct GradMaximumBefore : FixedForm<"{0}, where {1} is above all of {2}", "query 1", "query 1",
                                     "query 1", "query key"> {
  static constexpr GradientWords words{
      "Back to the maximum before",
      "Where the maximum did not rise, the earlier maximum gets the gradient.",
      "0 where the tile has a larger score."};
  static constexpr Role needs[] = {Role::other};

  static constexpr std::string_view code =
      "t = {2}.{amax}({keep}); {=}{0} * (({1} > t) + ({1} == t) / 2)";

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> scores{c(saved_other), c.row, false};
    return max_backward(c(grad_output)(c.row, 0), c(self)(c.row, 0),
                        nan_max_of<N>(scores.size(), scores));
  }
};

BackwardRule running_max_backward(const OperandRef& use) {
  if (use.operands == 2 && use.operand == 0) return rule_of<GradMaximumBefore>(use);
  BackwardRule rule = rule_of<GradScoresSoFar>(use);
  if (use.operands == 2) rule.saved = {Role{0}};
  return rule;
}

// e^(m_old − m) of a row, from the operands that hold the two.
template <class N>
N factor(const Cell<N>& c, std::size_t then, std::size_t now) {
  return power(c(then)(c.row, 0), c(now)(c.row, 0));
}

// That of the sum or output before, from operands 1 and 2. It is 0 if everything was hidden before.
template <class N>
N rescaling(const Cell<N>& c) {
  if constexpr (std::is_same_v<N, Interval>) {
    if (c.call->inputs[1] == c.call->inputs[2]) return 1.0;
  }
  return factor(c, 1, 2);
}

// X = e^(m_old − m) · X_before + what the tile adds; `axes` are those of X.
template <FormulaText axes>
struct GradBefore : FixedForm<"{0} ∘ e^({2} − {3})", axes, axes, axes, "query 1", "query 1"> {
  static constexpr GradientWords words{
      "Back to the result before the tile",
      "It was rescaled to the new maximum. Its gradient is multiplied by the same factor.",
      "Where the maximum did not rise, the gradient stays as it is."};
  static constexpr Role needs[] = {Role{1}, Role{2}};

  static auto cell(const auto& c) {
    return c(grad_output)(c.row, c.column) * factor(c, saved(0), saved(1));
  }
};

// The maximum before gets the gradient of its factor. The rule saves the new one, and what was
// found before.
template <FormulaText axes, FormulaText formula = "row sums of {0} ∘ {3} ∘ e^({1} − {2})">
struct GradOldMaximum : FormByRows<formula, axes, axes, "query 1", "query 1", axes> {
  static constexpr GradientWords words{
      "Back to the maximum before",
      "The derivative of the factor e^(m_old − m) is the factor itself. So the gradients are "
      "multiplied by what was rescaled, and added up.",
      "In the end the maximum cancels out: its gradients sum to 0."};
  static constexpr Role needs[] = {Role{2}, Role{0}};

  static auto cell(const auto& c) { return rescaled(c) * factor(c, self, saved(0)); }

  static auto rescaled(const auto& c) {
    return c(grad_output)(c.row, c.column) * c(saved(1))(c.row, c.column);
  }
};

// The new maximum gets minus that.
template <FormulaText axes>
struct GradNewMaximum : GradOldMaximum<axes, "−row sums of {0} ∘ {3} ∘ e^({2} − {1})"> {
  static constexpr GradientWords words{
      "Back to the new maximum",
      "The derivative of the factor e^(m_old − m) by m is the factor with the other sign. So the "
      "gradients are multiplied by what was rescaled, and subtracted.",
      "In the end the maximum cancels out: its gradients sum to 0."};
  static constexpr Role needs[] = {Role{1}, Role{0}};

  static auto cell(const auto& c) {
    return 0.0 - GradNewMaximum::rescaled(c) * factor(c, saved(0), self);
  }
};

// Each term of the sum gets the sum's gradient.
struct GradTile : FixedForm<"{0}, the same for each key", "query key", "query 1", "query key"> {
  static constexpr GradientWords words{
      "Back to the tile's weights", "Each of them was added to the sum, so all get its gradient.",
      "It is the same in the whole row."};

  static constexpr std::string_view code = "{0} * {np}.ones_like({1})";

  static auto cell(const auto& c) { return c(grad_output)(c.row, 0); }
};

// The tile adds P·V to the output.
constexpr GradientWords tile_weights_words{
    "Back to the tile's weights",
    "This says how much the loss would change if a query took more of a value. It is the dot "
    "product of the output's gradient and that value.",
    "Only the tile's own values are needed."};

constexpr GradientWords tile_values_words{
    "Back to the tile's values",
    "A value went to every query, times an attention weight. So its gradient is the sum of the "
    "queries' gradients, times the same weights.",
    "A value that no query looked at gets 0."};

/// The backward rule of running_sum: to the sum and the maximum before, the new one and the tile.
BackwardRule running_sum_backward(const OperandRef& use) {
  if (use.operands == 1) return rule_of<GradTile>(use);
  return backward_by<GradBefore<"query 1">, GradOldMaximum<"query 1">, GradNewMaximum<"query 1">,
                     GradTile>(use);
}

/// The same of running_output, whose tile has weights and values.
BackwardRule running_output_backward(const OperandRef& use) {
  const Role weights{use.operands - 2};
  const Role values{use.operands - 1};
  if (Role{use.operand} == values)
    return {&gradient_operation<GradSecond<WeightsTimesValues, tile_values_words>>, {weights}};
  if (Role{use.operand} == weights)
    return {&gradient_operation<GradFirst<WeightsTimesValues, tile_weights_words>>, {values}};
  return backward_by<GradBefore<"query d_v">, GradOldMaximum<"query d_v">,
                     GradNewMaximum<"query d_v">>(use);
}

struct RunningSum {
  static std::string code_of(const Call& call) {
    return is_first_tile(call) ? "{0}.sum({keep})" : "{np}.exp({1} - {2}) * {0} + {3}.sum({keep})";
  }

  static Form form(const Call& call) {
    if (is_first_tile(call)) {
      return with_columns({{"query key"}, "query 1", "the sum of each row of {0}"});
    }
    return with_columns({{"query 1", "query 1", "query 1", "query key"},
                         "query 1",
                         "e^({1} − {2}) · {0} + the sum of each row of {3}"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto weights = c(c.call->inputs.size() - 1);
    const N tile = sum<N>(weights.columns, [&](std::size_t t) { return weights(c.row, t); });
    return is_first_tile(*c.call) ? tile : rescaling(c) * c(0)(c.row, 0) + tile;
  }
};

// The tile's weights: the last operand of running_sum, and before the values of running_output.
const StepView& weights_of(const StepView& step) {
  return *step.inputs[step.inputs.size() > 3 ? 3 : 0];
}

// What the tile adds, from these weights.
Tensor tile_of(const StepView& step, const Tensor& weights) {
  Call call = call_of(step);
  if (call.inputs.size() > 3) call.inputs.erase(call.inputs.begin(), call.inputs.begin() + 3);
  call.inputs.front() = &weights;
  return step.operation->compute(call);
}

// What a cell is made of: the result before, both maxima and what the tile adds.
struct Update {
  double before, then, now, tile;
};

// The right formula of a cell, and wrong ones.
double right(Update u) { return power(u.then, u.now) * u.before + u.tile; }
double not_rescaled(Update u) { return u.before + u.tile; }
double rescaled_twice(Update u) { return squared(power(u.then, u.now)) * u.before + u.tile; }
double rescaled_backwards(Update u) { return right({u.before, u.now, u.then, u.tile}); }
double tile_rescaled(Update u) { return right({u.tile, u.then, u.now, u.before}); }

// The step's result from what `tile` adds; empty for the first tile.
Versions combined(const StepView& step, const Tensor& tile, double (*formula)(Update)) {
  Call call = call_of(step);
  if (call.inputs.size() < 4) return {};
  call.inputs = {call.inputs[0], call.inputs[1], call.inputs[2], &tile};
  return {by_operands(call, *step.tensor, [&](const Operands& of) -> Matrix {
    const auto cell = [&](double before, double then, double now, double added) {
      return formula({before, then, now, added});
    };
    return xt::vectorize(cell)(of(0), of(1), of(2), of(3));
  })};
}

template <double (*formula)(Update)>
Versions with_tile(const StepView& step) {
  return combined(step, tile_of(step, *weights_of(step).tensor), formula);
}

// The result from weights computed with the maximum before the tile.
Versions max_not_updated(const StepView& step) {
  const Versions weights = weights_by_old_max(weights_of(step));
  if (weights.empty()) return {};
  return combined(step, tile_of(step, weights.front()), not_rescaled);
}

constexpr Mistake running_sum_mistakes[] = {
    {"flash.sum-not-rescaled", "The sum so far was not rescaled to the new maximum.",
     "e^(m_old − m) times the sum before, then add the tile's.", with_tile<not_rescaled>},
    {"flash.rescaled-twice", "The sum so far was rescaled twice.",
     "Multiply it once by e^(m_old − m).", with_tile<rescaled_twice>},
    {"flash.rescaled-backwards", "The sum so far was multiplied by e^(m − m_old).",
     "The maximum rises, so what came before shrinks.", with_tile<rescaled_backwards>},
    {"flash.rescaled-backwards", "The tile's sum was rescaled instead of the one before.",
     "What came before shrinks; the tile has the new maximum already.", with_tile<tile_rescaled>},
    {"flash.max-not-updated", "The tile's weights were made with the maximum before it.",
     "The largest score so far, the tile's included.", max_not_updated},
};

bool goes_on(const Call& call) { return call.inputs.size() > 2; }

struct RunningOutput {
  static Form form(const Call& call) {
    if (!goes_on(call)) return {{"query key", "key d_v"}, "query d_v", "{0} · {1}", "{1} · {0}"};
    const std::string rescaled = "e^({1} − {2}) · {0} + ";
    return {{"query d_v", "query 1", "query 1", "query key", "key d_v"},
            "query d_v",
            rescaled + "{3} · {4}",
            rescaled + "{4} · {3}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t count = c.call->inputs.size();
    const N tile = product_cell(c, {count - 2, false}, {count - 1, false});
    return goes_on(*c.call) ? rescaling(c) * c(0)(c.row, c.column) + tile : tile;
  }
};

Tensor divided(const Tensor& numbers, const Tensor& column) {
  Call call{.step = "divided", .inputs = {&numbers, &column}, .names = {"O", "l"}};
  return by_operands(call, numbers, [](const Operands& of) -> Matrix {
    return xt::vectorize(share)(of(0), of(1));
  });
}

// The running sum of the same weights.
const StepView* sum_beside(const StepView& step) {
  for (const StepView& other : step.all) {
    const bool is_sum = other.operation == &running_sum_operation;
    if (is_sum && other.inputs.back() == &weights_of(step)) return &other;
  }
  return nullptr;
}

// The tile divided by its own sum, or everything so far by the sum so far.
Versions normalised_each_tile(const StepView& step) {
  const Tensor& weights = *weights_of(step).tensor;
  const Tensor shares_of_tile =
      by_matrix(weights, [](const MatrixView& p) { return shares(p, Along::rows); });
  const Tensor tile = tile_of(step, shares_of_tile);
  Versions versions = combined(step, tile, right);
  if (!goes_on(call_of(step))) versions.push_back(tile);
  const StepView* total = sum_beside(step);
  if (!total || !goes_on(call_of(step))) return versions;
  versions.push_back(divided(*step.tensor, *total->tensor));
  if (total->inputs.size() < 4) return versions;
  const Tensor scaled =
      by_operands(call_of(step), *step.inputs[0]->tensor, [&](const Operands& of) -> Matrix {
        return of(0) * total->operand(0).matrix(of.at().matrix_index(1));
      });
  versions.push_back(divided(with_operand(step, 0, scaled), *total->tensor));
  return versions;
}

constexpr Mistake running_output_mistakes[] = {
    {"flash.output-not-rescaled", "The output so far was not rescaled to the new maximum.",
     "e^(m_old − m) times the output before, then add the tile's.", with_tile<not_rescaled>},
    {"flash.rescaled-twice", "The output so far was rescaled twice.",
     "Multiply it once by e^(m_old − m).", with_tile<rescaled_twice>},
    {"flash.rescaled-backwards", "The output so far was multiplied by e^(m − m_old).",
     "The maximum rises, so what came before shrinks.", with_tile<rescaled_backwards>},
    {"flash.rescaled-backwards", "The tile's output was rescaled instead of the one before.",
     "What came before shrinks; the tile has the new maximum already.", with_tile<tile_rescaled>},
    {"flash.normalised-each-tile", "It was divided by a sum at this tile.",
     "Divide once, after the last tile.", normalised_each_tile},
    {"flash.max-not-updated", "The tile's weights were made with the maximum before it.",
     "The largest score so far, the tile's included.", max_not_updated},
};

}  // namespace

constinit const Operation running_max_operation = operation_of<RunningMax>({
    .name = "running_max",
    .title = "Take the largest score of each row so far",
    .says = "Attention in tiles works with a few keys at a time. For each query we keep the "
            "largest score so far: the tile's largest, or the one from before if that is larger.",
    .notice = "From tile to tile it can only rise.",
    .operands = R"(["S"] or ["m", "S"])",
    .mistakes = running_max_mistakes,
    .backward = running_max_backward,
});

constinit const Operation running_sum_operation = operation_of<RunningSum>({
    .name = "running_sum",
    .title = "Add the tile to the sum so far",
    .says = "The sum so far was made with the old maximum. It is multiplied by e^(old maximum − "
            "new maximum), as if the new one had been known from the start. Then the tile's "
            "numbers are added.",
    .notice = "Where the maximum did not rise, the factor is 1.",
    .operands = R"(["P"] or ["l", "m_old", "m", "P"])",
    .least = 0,
    .mistakes = running_sum_mistakes,
    .backward = running_sum_backward,
});

constinit const Operation running_output_operation = operation_of<RunningOutput>({
    .name = "running_output",
    .title = "Add the tile's values to the output so far",
    .says = "The output so far was made with the old maximum. It is multiplied by e^(old maximum − "
            "new maximum), then the tile's values are added, each times its weight. After the last "
            "tile the output is divided by the sum, and plain attention's result is left.",
    .notice = "After a tile is added, it is not needed again.",
    .operands = R"(["P", "V"] or ["O", "m_old", "m", "P", "V"])",
    .mistakes = running_output_mistakes,
    .backward = running_output_backward,
});

}  // namespace qkv::inline ops
