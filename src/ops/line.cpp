#include "ops/line.hpp"

namespace qkv {
bool goes_down(const Call& call) { return call.options->word("axis", "rows") == "columns"; }

Tensor line_by_line(const Call& call, Tensor output,
                    void (*kernel)(std::span<const double>, std::span<double>)) {
  const Tensor& operand = *call.inputs[0];
  if (goes_down(call)) {
    Tensor turned = transposed(output);
    const Tensor from = transposed(operand);
    const std::size_t width = turned.columns();
    for (std::size_t i = 0; i < turned.values.size(); i += width) {
      kernel(std::span(from.values).subspan(i, width),
             std::span(turned.values).subspan(i, width));
    }
    output.values = transposed(turned).values;
    return output;
  }
  const std::size_t width = output.columns();
  for (std::size_t i = 0; i < output.values.size(); i += width) {
    kernel(std::span(operand.values).subspan(i, width),
           std::span(output.values).subspan(i, width));
  }
  return output;
}

}  // namespace qkv
