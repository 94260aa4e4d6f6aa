#include "ops/attention/score.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/tiles/tiles.hpp"

namespace qkv {
namespace {

struct TileWeights {
  static Form form(const Call&) { return {{"query key", "query 1"}, "query key", "e^({0} − {1})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return power(c(0)(c.row, c.column), c(1)(c.row, 0));
  }
};

std::vector<Tensor> with_pairs(const Source& step, double (*formula)(double score, double top)) {
  const Call call = call_of(step);
  return {by_operands(call, *step.tensor, [&](const Operands& of) -> Matrix {
    return xt::vectorize(formula)(of(0), of(1));
  })};
}

// The step with the maximum of the tile alone.
std::vector<Tensor> by_own_max(const Source& step) {
  if (!scores_behind(step).before) return {};
  const Tensor top = by_operands(call_of(step), *step.inputs[1]->tensor,
                                 [](const Operands& of) { return tops(of(0)); });
  Call call = call_of(step);
  call.inputs[1] = &top;
  return {step.operation->compute(call)};
}

std::vector<Tensor> max_not_updated(const Source& step) {
  std::vector<Tensor> versions = weights_by_old_max(step);
  for (Tensor& one : by_own_max(step)) versions.push_back(std::move(one));
  return versions;
}

std::vector<Tensor> normalised(const Source& step) {
  return {by_matrix(*step.tensor, [](const MatrixView& p) { return shares(p, Along::rows); })};
}

double power_of_2(double score, double top) {
  return score == -infinity ? 0 : std::exp2(score - top);
}
std::vector<Tensor> base_2(const Source& step) { return with_pairs(step, power_of_2); }

double difference(double score, double top) { return score == -infinity ? 0 : score - top; }
std::vector<Tensor> no_exp(const Source& step) { return with_pairs(step, difference); }

double without_top(double score, double) { return std::exp(score); }
std::vector<Tensor> unshifted(const Source& step) { return with_pairs(step, without_top); }

constexpr Mistake tile_weights_mistakes[] = {
    {"flash.max-not-updated", "The maximum before the tile, or that of the tile alone, was taken.",
     "Subtract the largest score so far, the tile's included.", max_not_updated},
    {"flash.max-not-updated", "No maximum was subtracted.",
     "Subtract the largest score so far before e is raised.", unshifted},
    {"flash.normalised-each-tile", "The tile's weights were divided by their sum.",
     "Only in the end everything is divided once.", normalised},
    {"softmax.base-2", "2 was raised to the numbers instead of e.", "e ≈ 2.718.", base_2},
    {"softmax.no-exp", "The differences were left as they are, without e^x.",
     "e to the power of each.", no_exp},
    {"softmax.unscaled", "The scores went in before they were scaled.", "Scaling comes before e^x.",
     unscaled},
    {"softmax.unmasked", "The mask was ignored.", "e to the power of -inf is 0.", unmasked},
};

// P = e^(S − m): dS = dP ∘ P, and m gets what all lose.
struct ToTileScores {
  static Form form(const Call&) { return {{"query key"}, "query key", "{0} ∘ {2}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * c(first_need)(c.row, c.column);
  }
};

struct ToTileMax {
  static Form form(const Call&) {
    return {{"query key", "query 1", "query key"},
            "query key",
            "−row sums of {0} ∘ {2}",
            "−column sums of {0} ∘ {2}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return N(0.0) - c(arriving)(c.row, c.column) * c(first_need)(c.row, c.column);
  }
};

constinit const Operation tile_to_scores = gradient_of<Gradient<ToTileScores>>({
    .title = "Back through the tile's powers",
    .says = "e^x climbs as steeply as it is high: the gradient is multiplied by the power itself.",
    .notice = "A hidden score gets 0.",
});

constinit const Operation tile_to_max = gradient_of<Gradient<ToTileMax>>({
    .title = "Back to the maximum",
    .says = "The maximum is subtracted from all scores of its row: it gets what they get together, "
            "with the other sign.",
    .notice = "In the end the maximum cancels out: its gradients sum to 0.",
});

WayBack back_through_tile(const Use& use) {
  return {use.operand == 0 ? &tile_to_scores : &tile_to_max, {WayBack::result}};
}

}  // namespace

constinit const Operation tile_weights_operation = operation_of<TileWeights>({
    .name = "tile_weights",
    .title = "e to each score of the tile, less the maximum so far",
    .says = "As softmax does, but with the largest score so far instead of that of the whole row, "
            "which nothing has seen yet. These are no weights yet: what they sum to is known only "
            "after the last tile.",
    .notice = "None is above 1, and 1 stands where the maximum so far is.",
    .operands = R"(["S", "m"])",
    .fewest = 2,
    .most = 2,
    .least = 0,
    .mistakes = tile_weights_mistakes,
    .way_back = back_through_tile,
});

}  // namespace qkv
