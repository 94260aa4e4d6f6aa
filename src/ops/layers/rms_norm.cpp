#include "ops/kinds/line.hpp"
#include "ops/layers/norms.hpp"

namespace qkv::inline ops {
namespace {

constexpr OptionRule rms_norm_options[] = {
    {.name = "eps",
     .help = "what is added to the mean square, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::not_negative},
    {.name = "unit_offset",
     .help = "whether 1 is added to the gain first, as Gemma does",
     .flag = true},
};

template <class N>
N factor(const Cell<N>& c) {
  const N gain = c(1)(0, c.column);
  return offset_of(*c.call) == 0 ? gain : N(1.0) + gain;
}

// A normalised cell, from its number and the sum of the squares of the others in its row.
double normed(double x, double others, double width, double eps) {
  if (x == 0) return 0;  // even if the whole row and eps are 0
  return x / std::sqrt((x * x + others) / width + eps);
}

// Rises with its own number; larger squares beside it bring it nearer to 0. So each end is at a
// corner.
Interval normed(Interval x, Interval others, double width, double eps) {
  return {normed(x.low, x.low < 0 ? others.low : others.high, width, eps),
          normed(x.high, x.high < 0 ? others.high : others.low, width, eps)};
}

struct RmsNorm {
  static std::string code_of(const Call& call) {
    return fmt::format("{{r0}} / {{np}}.sqrt(({{r0}} ** 2).mean({{keep}}) + {}) * {}", eps_of(call),
                       offset_of(call) == 0 ? "{r1}" : "(1 + {r1})");
  }

  static Form form(const Call& call) {
    const std::string_view gain = offset_of(call) == 0 ? "{1}" : "(1 + {1})";
    return with_columns(
        {{"row column", "1 column"},
         "row column",
         fmt::format("each row of {{0}} / √(the mean of its squares + ε) · {}", gain)});
  }

  // The interval of each cell of a row: the sum of squares is computed once per row.
  static auto cells_of_line(const Cell<Interval>& c) {
    std::vector<Interval> squares = numbers_of(line_of(c));
    for (Interval& x : squares) x = squared(x);
    return [others = of_others(squares, 0.0, std::plus<>{})](const Cell<Interval>& at) {
      return normed(at(0)(at.row, at.column), others[at.column], static_cast<double>(others.size()),
                    eps_of(*at.call)) *
             factor(at);
    };
  }

  // Zhang and Sennrich (2019): layer norm without the mean and without the bias.
  static auto cell(const auto& c) { return normed_cell(c, Norm::rms) * factor(c); }

  static constexpr auto fill_row = fill_normed_row<Norm::rms>;
};

constexpr Mistake rms_norm_mistakes[] = {
    qk_norm_skipped,
    {"rms-norm.mean-subtracted", "The mean was subtracted first, as layer norm does.",
     "RMS norm leaves the mean where it is.",
     normed_with<[](NormVariant& v) { v.centre = v.around = 1; },
                 [](NormVariant& v) { v.centre = 1; }>},
    {"rms-norm.no-gain", "The gain was left out.", "After dividing comes · gain.",
     normed_with<[](NormVariant& v) { v.gain = false; }>},
    {"rms-norm.unit-offset",
     "1 was added to the gain where the lesson adds none, or the other way round.",
     "Is the gain stored as it is, or less 1?", With{"unit_offset"}},
    {"rms-norm.eps", "Another ε was taken, or it was added to the root.",
     "Divide by √(mean square + ε), with the lesson's own ε.",
     normed_with<[](NormVariant& v) {
       v.divisor = [](double s, double eps) { return std::sqrt(s) + eps; };
     },
                 [](NormVariant& v) { return std::exchange(v.eps, 1e-5) != 1e-5; },
                 [](NormVariant& v) { return std::exchange(v.eps, 1e-6) != 1e-6; }>},
    {"rms-norm.sum", "It was divided by the root of the sum of the squares.",
     "The root of their mean: divide the sum by the width first.",
     normed_with<[](NormVariant& v) { v.count = [](double) { return 1.0; }; }>},
    {"rms-norm.sample-variance", "The sum of the squares was divided by the width less 1.",
     "Divide by the number of the row's cells.", normed_with<less_one>},
    {"rms-norm.squared", "It was divided by the mean square itself.",
     "Take its root before dividing.",
     normed_with<[](NormVariant& v) { v.divisor = [](double s, double eps) { return s + eps; }; }>},
    {"rms-norm.columns", "The columns were normalised instead of the rows.",
     "Each token is normalised by itself.",
     normed_with<[](NormVariant& v) { v.along = Along::columns; }>},
};

}  // namespace

constinit const Operation rms_norm_operation = operation_of<RmsNorm>({
    .name = "rms_norm",
    .title = "Normalise each row (RMS norm)",
    .says =
        "Each row is divided by the root of the mean of its squares (root mean square: RMS). Then "
        "each column is multiplied by a learned gain. No mean is subtracted and no bias added.",
    .notice = "Rows that differ only in size give the same result; signs stay.",
    .operands = R"(["X", "gain"])",
    .options = rms_norm_options,
    .zero_division_hint = "a row of zeros needs an eps above 0",
    .mistakes = rms_norm_mistakes,
    .backward = rms_norm_backward,
});

}  // namespace qkv::inline ops
