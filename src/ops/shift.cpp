#include <algorithm>
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/line.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

// x minus the top of its line; equal infinities differ by nothing, and what is hidden stays hidden.
double below(double x, double top) {
  if (x == -infinity) return x;
  return x == top ? 0 : x - top;
}

struct Shift {
  static Form form(const Call& call) {
    const bool down = goes_down(call);
    return {{"row column"},
            "row column",
            down ? "{0} − the largest of each column" : "{0} − the largest of each row",
            down ? "{0} − the largest of each row" : "{0} − the largest of each column"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, double>) {
      return below(line(i), largest(line));
    } else if constexpr (std::is_same_v<N, Interval>) {
      return corners(line, i);
    } else {
      const Expression top = largest(line);
      const Expression difference = line(i) - top;
      // Infinity less infinity is no arithmetic: what the row makes of it stands there instead.
      return std::isnan(difference.value()) ? Expression(below(line(i).value(), top.value()))
                                            : difference;
    }
  }

  // Rises with its own number (up to 0) and falls with every other: the range ends at two corners.
  static Interval corners(const Line<Interval>& line, std::size_t i) {
    double low_top = line(i).high;
    double high_top = line(i).low;
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (j == i) continue;
      low_top = std::max(low_top, line(j).low);
      high_top = std::max(high_top, line(j).high);
    }
    return {below(line(i).low, high_top), below(line(i).high, low_top)};
  }

  // The same for a whole line: the largest of the others is the largest, or the second largest.
  static void bounds(const LineBounds& line) {
    const auto top_of_others = [](std::span<const double> numbers) {
      const auto first = std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
      double second = -infinity;
      for (std::ptrdiff_t j = 0; j < std::ssize(numbers); ++j) {
        if (j != first) second = std::max(second, numbers[static_cast<std::size_t>(j)]);
      }
      return [=](std::size_t i) {
        return static_cast<std::ptrdiff_t>(i) == first ? second
                                                       : numbers[static_cast<std::size_t>(first)];
      };
    };
    const auto low = top_of_others(line.low);
    const auto high = top_of_others(line.high);
    for (std::size_t i = 0; i < line.low.size(); ++i) {
      line.result_low[i] = below(line.low[i], std::max(line.low[i], high(i)));
      line.result_high[i] = below(line.high[i], std::max(line.high[i], low(i)));
    }
  }

  static void shift_line(std::span<const double> from, std::span<double> to) {
    if (from.empty()) return;
    const double top = *std::max_element(from.begin(), from.end());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = below(from[i], top);
  }

  static std::optional<InPlace> in_place(const Call& call) {
    if (goes_down(call)) return {};
    const auto work = [](std::size_t, std::size_t, std::span<double> cells) {
      shift_line(cells, cells);
    };
    return InPlace{frame_of(call, form(call)), work};
  }

  static Tensor compute(const Call& call) {
    return line_by_line(call, output_of(call, form(call)), shift_line);
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return range_by_line(call, operands[0], result, bounds);
  }
};

std::vector<Tensor> of_whole(const Source& step) {
  Tensor result = *step.inputs[0]->tensor;
  for (std::size_t m = 0; m < result.matrices(); ++m) {
    const auto matrix = result.matrix(m);
    Shift::shift_line(step.inputs[0]->tensor->matrix(m), matrix);
  }
  return {std::move(result)};
}

constexpr Mistake shift_mistakes[] = {
    {"softmax.columns", "The largest number was taken along the wrong axis.",
     "Softmax takes all keys of one query.", along_other_axis},
    {"softmax.whole", "The largest number of the whole matrix was subtracted.",
     "Every query has a largest number of its own.", of_whole},
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Scaling comes before softmax.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "What is hidden stays -inf.", unmasked},
};

}  // namespace

constinit const Operation shift_operation{
    .name = "shift",
    .title = "Subtract the largest number of each row",
    .says =
        "The largest number of each row is subtracted from the whole row. Softmax gives the same "
        "weights either way, but e to the power of 0 or less can never grow too large.",
    .notice = "Each row now has 0 as its largest number.",
    .operands = R"(["scores"])",
    .options = line_options,
    .form = Shift::form,
    .compute = Shift::compute,
    .in_place = Shift::in_place,
    .cell = readings_of<Shift>(),
    .range = Shift::range,
    .mistakes = shift_mistakes,
};

}  // namespace qkv
