#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ops/attention/position_bias.hpp"
#include "ops/attention/visible_keys.hpp"
#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule alibi_options[] = {align_option};

// The power of 2 that is the slope of head k, from 0, of h: the paper's −8(k + 1)/h where h is a
// power of two; else the slopes of the next lower one and, of twice as many heads, every other.
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

// What a slope is multiplied by: how far the key is from the query; or from an end of the keys,
// which is as good under a causal mask.
struct Distance {
  enum class Counted { from_query, from_first, from_last };

  Counted counted = Counted::from_query;
  std::size_t first;  // the key that belongs to the first query
  std::size_t keys;

  explicit Distance(const Call& call) : first(first_query(call)), keys(call.inputs[0]->columns()) {
    const std::string_view word = call.options->word(alibi_counted, "");
    if (word == "first") counted = Counted::from_first;
    if (word == "last") counted = Counted::from_last;
  }

  double operator()(std::size_t row, std::size_t key) const {
    const auto at = static_cast<double>(key);
    switch (counted) {
      case Counted::from_first: return -at;
      case Counted::from_last: return static_cast<double>(keys) - 1 - at;
      case Counted::from_query: break;
    }
    return std::abs(static_cast<double>(row + first) - at);
  }
};

// Each head's slope.
std::vector<double> slopes_of(const Call& call) {
  const std::size_t heads = heads_of(*call.inputs[0]);
  std::vector<double> slopes;
  for (std::size_t k = 0; k < heads; ++k) {
    slopes.push_back(are_given(call) ? call.inputs[1]->values[k] : slope_power(k, heads).value());
  }
  return slopes;
}

void check_slopes(const Call& call) {
  const std::size_t heads = heads_of(*call.inputs[0]);
  if (!are_given(call) || call.inputs[1]->values.size() == heads) return;
  refuse(call, fmt::format("{} must be a vector of {} slopes, one for each head of {}",
                           operand_text(call, 1), heads, operand_text(call, 0)));
}

struct Alibi {
  static Form form(const Call& call) {
    return {.operands = {"query key", "1 inner"},
            .output = "query key",
            .formula = are_given(call) ? "{0} − {1} · distance" : "{0} − slope · distance",
            .shares_heads = true};
  }

  // Press, Smith and Lewis (2022): a penalty that grows with the distance, steeper in some heads.
  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t heads = heads_of(c.input(0));
    const std::size_t head = c.matrix % heads;
    const N far = Distance(*c.call)(c.row, c.column);
    const N score = c(0)(c.row, c.column);
    if (are_given(*c.call)) return score - c.of(1, 0)(0, head) * far;
    const SlopePower power = slope_power(head, heads);
    if constexpr (std::is_same_v<N, Expression>) {
      return score - pow(N(2.0), N(power.upper) / N(power.lower)) * far;
    } else {
      return score - N(power.value()) * far;
    }
  }

  static Tensor frame(const Call& call) {
    check_slopes(call);
    Tensor result = frame_of(call, form(call));
    result.dot_width = call.inputs[0]->dot_width;
    return result;
  }

  // What each row loses: its head's slope times how far each key is.
  static auto penalty(const Call& call) {
    return [distance = Distance(call), slopes = slopes_of(call)](const RowPart& at) {
      const double slope = slopes[at.matrix % slopes.size()];
      for (std::size_t j = 0; j < at.cells.size(); ++j) {
        at.cells[j] -= slope * distance(at.row, at.first + j);
      }
    };
  }

  static std::optional<InPlace> in_place(const Call& call) {
    return InPlace{frame(call), penalty(call), true};
  }

  static Tensor compute(const Call& call) {
    Tensor result = unwritten_like(frame(call));
    const auto work = penalty(call);
    return by_rows(call, std::move(result), 2, [&](const Operands& of, std::span<double> cells) {
      std::ranges::copy(of.row(0), cells.begin());
      work({of.at().matrix, of.at().row, 0, cells});
    });
  }
};

// The step with other slopes, or another sign.
Tensor with_slopes(const Source& step, const std::vector<double>& slopes) {
  const Tensor given = tensor_of({slopes.size()}, Values(slopes));
  Call call = call_of(step);
  call.inputs = {call.inputs[0], &given};
  call.names = {call.names[0], "slopes"};
  return Alibi::compute(call);
}

template <class Slope>
Tensor with_each(const Source& step, Slope slope) {
  std::vector<double> slopes = slopes_of(call_of(step));
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    slopes[k] = slope(static_cast<double>(k), slopes[k]);
  }
  return with_slopes(step, slopes);
}

std::vector<Tensor> other_sign(const Source& step) {
  return {with_each(step, [](double, double slope) { return -slope; })};
}

std::vector<Tensor> other_slopes(const Source& step) {
  const auto heads = static_cast<double>(heads_of(step.operand()));
  std::vector<Tensor> results = {with_each(step, [](double, double) { return 1.0; })};
  if (step.inputs.size() == 2) return results;
  results.push_back(with_each(step, [&](double k, double) { return std::exp2(-8 * k / heads); }));
  results.push_back(with_each(step, [](double k, double) { return std::exp2(-(k + 1)); }));
  if (!std::has_single_bit(heads_of(step.operand()))) {
    results.push_back(
        with_each(step, [&](double k, double) { return std::exp2(-8 * (k + 1) / heads); }));
  }
  return results;
}

constexpr Mistake alibi_mistakes[] = {
    {"alibi.sign", "The penalty was added instead of subtracted.", "Farther keys get lower scores.",
     other_sign},
    {"alibi.slopes", "The slopes are not 2^(−8k/h): of heads counted from 0, or left out.",
     "Heads count from 1; the last one's slope is 2^(−8).", other_slopes},
};

// Each slope loses what its head's scores would gain, by their distances.
struct ToSlopes {
  static Form form(const Call&) {
    return {
        {"query key", "1 inner", "query key"}, "1 inner", "−the sum of {0} ∘ distance, by head"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    Call there = *c.call;
    there.inputs = {c.call->inputs[first_need]};
    const Distance distance(there);
    const Tensor& change = c.input(arriving);
    const std::size_t heads = heads_of(*there.inputs[0]);
    const std::size_t columns = change.columns();
    const std::size_t size = change.rows() * columns;
    const std::size_t batches = change.matrices() / heads;
    const std::size_t head = number_in_order(c);
    return N(0.0) - sum<N>(batches * size, [&](std::size_t t) {
             const std::size_t i = t % size / columns;
             const std::size_t j = t % columns;
             return c.of(arriving, t / size * heads + head)(i, j) * N(distance(i, j));
           });
  }

  static Tensor compute(const Call& call) {
    require_arriving(call, call.inputs[first_need]->shape());
    return cell_by_cell(call, gradient_frame(call), cell<double>);
  }
};

constinit const Operation alibi_to_scores = gradient_of<Gradient<PassBack>>({
    .title = "Back to the scores before the penalty",
    .says = "The penalty does not depend on the score: the gradient passes.",
    .notice = "The same numbers.",
});

constinit const Operation alibi_to_slopes = gradient_of<ToSlopes>({
    .title = "Back to the slopes",
    .says = "A steeper slope takes more from every score of its head, the further apart the two "
            "tokens are: the gradients times the distances are added up, with the other sign.",
    .notice = "One number for each head.",
});

WayBack back_through_alibi(const Use& use) {
  if (use.operand == 0) return {&alibi_to_scores};
  return {&alibi_to_slopes, {0}};
}

}  // namespace

constinit const Operation alibi_operation = operation_of<Alibi>({
    .name = "alibi",
    .title = "Lower the scores of far keys (ALiBi)",
    .says = "Each score loses a penalty that grows with the distance between query and key. Each "
            "head has a slope of its own: some look far, others only near.",
    .notice = "A token's own score is the same as before.",
    .operands = R"(["scores"] or ["scores", "slopes"])",
    .fewest = 1,
    .most = 2,
    .options = alibi_options,
    .mistakes = alibi_mistakes,
    .way_back = back_through_alibi,
});

}  // namespace qkv
