#include "ops/line.hpp"

#include "ops/rows.hpp"

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
      kernel(std::span(from.values).subspan(i, width), std::span(turned.values).subspan(i, width));
    }
    output.values = transposed(turned).values;
    return output;
  }
  const std::size_t rows = output.rows();
  const std::size_t width = output.columns();
  constexpr std::size_t operations = 4;
  row_by_row(output, operations, [&](std::size_t matrix, std::size_t row, std::span<double> cells) {
    thread_local Room room;
    kernel(operand.values.look((matrix * rows + row) * width, width, room), cells);
  });
  return output;
}

Range range_by_line(const Call& call, const Bounds& operand, const Tensor& result,
                    void (*kernel)(const LineBounds&)) {
  const bool down = goes_down(call);
  const Tensor low = down ? transposed(*operand.low) : *operand.low;
  const Tensor high = down ? transposed(*operand.high) : *operand.high;
  Range range{down ? transposed(result) : result, down ? transposed(result) : result};
  const std::size_t width = range.low.columns();
  for (std::size_t i = 0; i < low.values.size(); i += width) {
    kernel({std::span(low.values).subspan(i, width), std::span(high.values).subspan(i, width),
            std::span(range.low.values).subspan(i, width),
            std::span(range.high.values).subspan(i, width)});
  }
  if (down) range = {transposed(range.low), transposed(range.high)};
  return range;
}

std::vector<double> sums_of_others(std::span<const double> line) {
  std::vector<double> sums(line.size());
  double before = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    sums[i] = before;
    before += line[i];
  }
  double after = 0;
  for (std::size_t i = line.size(); i-- > 0;) {
    sums[i] += after;
    after += line[i];
  }
  return sums;
}

}  // namespace qkv
