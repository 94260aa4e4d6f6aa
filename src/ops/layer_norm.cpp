#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule layer_norm_options[] = {
    {.name = "eps",
     .says = "what is added to the variance, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::any},
};

struct LayerNorm {
  static Form form(const Call&) {
    return {{"row column", "1 column", "1 column"},
            "row column",
            "(each row of {0} − its mean) / √(its variance + ε) · {1} + {2}",
            "(each column of {0} − its mean) / √(its variance + ε) · {1} + {2}"};
  }

  // Ba, Kiros and Hinton (2016): the variance is divided by the width, not by the width less one.
  template <class N>
  static N cell(const Cell<N>& c) {
    using std::sqrt;
    const auto x = c(0);
    const N width = static_cast<double>(x.columns);
    const N eps = c.call->options->number("eps", 1e-5);
    const N mean = sum<N>(x.columns, [&](std::size_t t) { return x(c.row, t); }) / width;
    const N variance = sum<N>(x.columns, [&](std::size_t t) {
                         const N difference = x(c.row, t) - mean;
                         return difference * difference;
                       }) / width;
    return (x(c.row, c.column) - mean) / sqrt(variance + eps) * c(1)(0, c.column) +
           c(2)(0, c.column);
  }

  static void normalise(std::span<double> row, double eps) {
    const auto width = static_cast<double>(row.size());
    double mean = 0;
    for (const double x : row) mean += x;
    mean /= width;
    double variance = 0;
    for (const double x : row) variance += (x - mean) * (x - mean);
    variance /= width;
    for (double& x : row) x = (x - mean) / std::sqrt(variance + eps);
  }

  static Tensor compute(const Call& call) {
    Tensor result = output_of(call, form(call));
    CellBase at{.call = &call, .output = &result};
    const std::size_t width = result.columns();
    const double eps = call.options->number("eps", 1e-5);
    for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
      const auto from = call.inputs[0]->matrix(at.matching(0));
      const auto gain = call.inputs[1]->matrix(at.matching(1));
      const auto bias = call.inputs[2]->matrix(at.matching(2));
      const auto to = result.matrix(at.matrix);
      std::copy(from.begin(), from.end(), to.begin());
      for (std::size_t i = 0; i < to.size(); i += width) {
        normalise(to.subspan(i, width), eps);
        for (std::size_t j = 0; j < width; ++j) to[i + j] = to[i + j] * gain[j] + bias[j];
      }
    }
    return result;
  }
};

}  // namespace

constinit const Operation layer_norm_operation{
    .name = "layer_norm",
    .title = "Bring each token to mean 0 and variance 1",
    .says = "From each row its mean is subtracted, and the rest is divided by its standard deviation "
            "(the root of the mean square). Then a learned gain and bias for each feature.",
    .notice = "Rows that differed only in size or offset come out alike.",
    .fewest = 3,
    .most = 3,
    .options = layer_norm_options,
    .form = LayerNorm::form,
    .compute = LayerNorm::compute,
    .cell = readings_of<LayerNorm>(),
};

}  // namespace qkv
