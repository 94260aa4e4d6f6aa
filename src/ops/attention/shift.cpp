#include <algorithm>
#include <cmath>

#include "ops/attention/score.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

// x minus the top of its line; equal infinities differ by nothing, and what is hidden stays hidden.
double below(double x, double top) {
  if (x == -infinity) return x;
  return x == top ? 0 : x - top;
}

struct Shift {
  static Form form(const Call& call) { return form_of_lines(call, "{0} − the largest of ", ""); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, double>) {
      return below(line(i), largest(line));
    } else if constexpr (std::is_same_v<N, Interval>) {
      return corners(line, i);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      if (line(i).value() == -infinity) return line(i);
      // The only one that is seen is the largest, whatever it was rounded to.
      if (is_alone(c, -infinity)) return 0.0;
      return line(i).is_exact() ? line(i) - largest(line) : line(i);
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

  // The same for a whole matrix: the largest of the others is the largest, or the second largest.
  static MatrixRange bounds(const MatrixRange& x, Along along) {
    return {xt::vectorize(below)(x.low, xt::maximum(x.low, tops_of_others(x.high, along))),
            xt::vectorize(below)(x.high, xt::maximum(x.high, tops_of_others(x.low, along)))};
  }

  static Matrix tops_of_others(const Matrix& x, Along along) {
    const Matrix first = tops(x, along);
    const Matrix rest = xt::where(xt::equal(x, first), -infinity, x);
    const Matrix count = sums(xt::where(xt::equal(x, first), 1.0, 0.0), along);
    return xt::where(xt::equal(x, first) && xt::equal(count, 1.0), tops(rest, along), first);
  }

  static std::optional<InPlace> in_place(const Call& call) {
    if (goes_down(call)) return {};
    const auto work = [](const RowPart& row) {
      const std::span<double> cells = row.cells;
      if (cells.empty()) return;
      const double top = *std::max_element(cells.begin(), cells.end());
      for (double& cell : cells) cell = below(cell, top);
    };
    return InPlace{frame_of(call, form(call)), work};
  }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call), [&](const Operands& of) -> Matrix {
      return xt::vectorize(below)(of(0), tops(of(0), along_of(call)));
    });
  }

  static constexpr auto range = range_of_lines<bounds>;
};

Matrix of_whole(const Matrix& x, Along) {
  return xt::vectorize(below)(x, tops(tops(x), Along::columns));
}

constexpr Mistake shift_mistakes[] = {
    {"softmax.columns", "The largest number was taken along the wrong axis.",
     "Softmax takes all keys of one query.", along_other_axis},
    {"softmax.whole", "The largest number of the whole matrix was subtracted.",
     "Every query has a largest number of its own.", with_lines<of_whole>},
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Scaling comes before softmax.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "What is hidden stays -inf.", unmasked},
};

// What all numbers of a line lose goes to its largest: shared, where several are that.
struct ShiftBack {
  static Form form(const Call& call) {
    return {{"row column"},
            "row column",
            goes_down(call) ? "{0} − its column sum, where {1} is largest"
                            : "{0} − its row sum, where {1} is largest"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const bool down = goes_down(*c.call);
    const Line<N> change{c(arriving), down ? c.column : c.row, down};
    const Tensor& numbers = c.input(own_operand);
    const auto number = [&](std::size_t j) {
      return numbers.at(c.matching(own_operand), down ? j : c.row, down ? c.column : j);
    };
    const std::size_t i = place_in_line(c);
    const N all = sum<N>(change.size(), [&](std::size_t j) { return change(j); });
    if constexpr (std::is_same_v<N, Interval>) {
      const Line<N> own{c(own_operand), change.index, down};
      double low = -infinity;  // what the largest of the others may be
      double high = -infinity;
      for (std::size_t j = 0; j < own.size(); ++j) {
        if (j == i) continue;
        low = std::max(low, own(j).low);
        high = std::max(high, own(j).high);
      }
      if (own(i).high < low) return change(i);
      if (own(i).low > high) return change(i) - all;
      return hull(change(i), change(i) - all);
    }
    double top = number(0);
    for (std::size_t j = 1; j < change.size(); ++j) top = std::max(top, number(j));
    if (number(i) != top) return change(i);
    double as_large = 0;
    for (std::size_t j = 0; j < change.size(); ++j) as_large += number(j) == top ? 1 : 0;
    return as_large == 1 ? change(i) - all : change(i) - all / N(as_large);
  }
};

constinit const Operation shift_back = gradient_of<Gradient<ShiftBack>>({
    .title = "Back through the subtraction of the largest",
    .says = "The largest number was subtracted from its whole row, itself too: the sum of the "
            "row's gradients is subtracted from its own.",
    .notice = "Where a softmax followed, the row's gradients sum to 0, and nothing changes here.",
});

WayBack back_through_shift(const Use&) { return {&shift_back}; }

}  // namespace

constinit const Operation shift_operation = operation_of<Shift>({
    .name = "shift",
    .title = "Subtract the largest number of each row",
    .says =
        "The largest number of each row is subtracted from the whole row. Softmax gives the same "
        "weights either way, but e to the power of 0 or less can never grow too large.",
    .notice = "Each row now has 0 as its largest number.",
    .operands = R"(["scores"])",
    .options = line_options,
    .mistakes = shift_mistakes,
    .way_back = back_through_shift,
});

}  // namespace qkv
