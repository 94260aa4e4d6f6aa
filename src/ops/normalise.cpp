#include "ops/catalogue.hpp"
#include "ops/line.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

// A row of zeros has nothing to share out and stays as it is.
double share(double x, double total) { return total == 0 && x == 0 ? 0 : x / total; }

struct Normalise {
  static Form form(const Call& call) {
    const bool down = goes_down(call);
    return {{"row column"}, "row column",
            down ? "{0} / the sum of each column" : "{0} / the sum of each row",
            down ? "{0} / the sum of each row" : "{0} / the sum of each column"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, Interval>) {
      return range(line, i);
    } else {
      const N total = sum<N>(line.size(), [&](std::size_t j) { return line(j); });
      if constexpr (std::is_same_v<N, double>) {
        return share(line(i), total);
      } else {
        return line(i) / total;
      }
    }
  }

  // x / (x + rest) is monotone in x and in the rest as long as the sum is not 0: four corners.
  static Interval range(const Line<Interval>& line, std::size_t i) {
    const Interval own = line(i);
    Interval rest = 0.0;
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (j != i) rest = rest + line(j);
    }
    const Interval total = own + rest;
    if (total.low == 0 && total.high == 0) return own.low == 0 && own.high == 0 ? own : everything;
    if (total.low <= 0 && total.high >= 0) return everything;
    const auto [low, high] = std::minmax(
        {own.low / (own.low + rest.low), own.low / (own.low + rest.high),
         own.high / (own.high + rest.low), own.high / (own.high + rest.high)});
    return {low, high};
  }

  static void normalise_line(std::span<const double> from, std::span<double> to) {
    double total = 0;
    for (const double x : from) total += x;
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = share(from[i], total);
  }

  static Tensor compute(const Call& call) {
    return line_by_line(call, output_of(call, form(call)), normalise_line);
  }
};

}  // namespace

constinit const Operation normalise_operation{
    .name = "normalise",
    .title = "Divide each row by its sum",
    .says = "Every number is divided by the sum of its row, so that each row becomes shares of 1.",
    .notice = "Each row sums to 1.",
    .options = line_options,
    .form = Normalise::form,
    .compute = Normalise::compute,
    .cell = readings_of<Normalise>(),
};

}  // namespace qkv
