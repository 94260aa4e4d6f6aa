#include "ops/kinds/line.hpp"
#include "ops/layers/norm_backward.hpp"

namespace qkv::inline ops {
namespace {

constexpr OptionRule rms_norm_options[] = {
    {.name = "eps",
     .help = "what is added to the mean square, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::not_negative},
    {.name = "unit_offset",
     .help = "whether the gain is stored less 1, as Gemma does: multiplied is 1 + gain",
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

  // Zhang and Sennrich (2019): layer norm without the mean and without the bias.
  template <class N>
  static N cell(const Cell<N>& c) {
    const auto x = c(0);
    const N own = x(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval>) {
      Interval others = 0.0;
      for (std::size_t t = 0; t < x.columns; ++t) {
        if (t != c.column) others = others + square(x(c.row, t));
      }
      return normed(own, others, static_cast<double>(x.columns), eps_of(*c.call)) * factor(c);
    } else {
      const N squares = sum<N>(x.columns, [&](std::size_t t) { return x(c.row, t) * x(c.row, t); });
      const N width = static_cast<double>(x.columns);
      return own / root_of(squares / width + N(eps_of(*c.call))) * factor(c);
    }
  }

  // The interval of each cell of a row: the sum of squares is computed once per row.
  static auto cells_of_row(const Cell<Interval>& c) {
    const auto x = c(0);
    MatrixRange squares{Matrix::from_shape({1, x.columns}), Matrix::from_shape({1, x.columns})};
    for (std::size_t j = 0; j < x.columns; ++j) {
      const Interval one = square(x(c.row, j));
      squares.low(0, j) = one.low;
      squares.high(0, j) = one.high;
    }
    return [x, low = leave_one_out_sums(squares.low, Along::rows),
            high = leave_one_out_sums(squares.high, Along::rows)](const Cell<Interval>& at) {
      const Interval others{low(0, at.column), high(0, at.column)};
      return normed(x(at.row, at.column), others, static_cast<double>(x.columns),
                    eps_of(*at.call)) *
             factor(at);
    };
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return range_by_rows(call, operands, result, cells_of_row);
  }

  static Tensor compute(const Call& call) {
    const double eps = eps_of(call);
    const double offset = offset_of(call);
    constexpr std::size_t operations = 8;
    return by_rows(call, output_of(call, form(call)), operations,
                   [&](const Operands& of, std::span<double> cells) {
                     const std::array width = {cells.size()};
                     const auto x = view_as<1>(of.row(0), width);
                     const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
                     const double root = root_of(squares / static_cast<double>(cells.size()) + eps);
                     auto result = view_as<1>(cells, width);
                     xt::noalias(result) = x / root * (offset + view_as<1>(of.row(1), width));
                   });
  }
};

// How an RMS norm is computed, by a mistake in its place.
struct RmsVariant {
  double eps;
  double offset;  // what is added to the gain
  bool gain = true;
  Along along = Along::rows;
  bool centred = false;  // the mean is subtracted from the numbers
  bool squares_centred = false;
  bool summed = false;  // the squares are added up, not averaged
  double (*divisor)(double squares, double epsilon) = [](double squares, double epsilon) {
    return std::sqrt(squares + epsilon);
  };
};

RmsVariant right_rms(const Call& call) { return {.eps = eps_of(call), .offset = offset_of(call)}; }

Tensor with_rms_variant(const Call& call, const RmsVariant& v) {
  return by_operands(call, RmsNorm::form(call), [&](const Operands& of) {
    const Matrix own = of(0);
    const Matrix centred = own - means(own);
    const Matrix& x = v.centred ? centred : own;
    const Matrix& squared = v.squares_centred ? centred : own;
    const Matrix squares = squared * squared;
    const Matrix all = v.summed ? sums(squares, v.along) : means(squares, v.along);
    Matrix result = x / xt::vectorize(v.divisor)(all, v.eps);
    if (v.gain) result = result * (of(1) + v.offset);
    return result;
  });
}

template <auto... changes>
constexpr auto rms_with = with_parameters<right_rms, with_rms_variant, changes...>;

constexpr Mistake rms_norm_mistakes[] = {
    {"rms-norm.mean-subtracted", "The mean was subtracted first, as layer norm does.",
     "RMS norm leaves the mean where it is.",
     rms_with<[](RmsVariant& v) { v.centred = v.squares_centred = true; },
              [](RmsVariant& v) { v.centred = true; }>},
    {"rms-norm.no-gain", "The gain was left out.", "After dividing comes · gain.",
     rms_with<[](RmsVariant& v) { v.gain = false; }>},
    {"rms-norm.unit-offset",
     "1 was added to the gain where the lesson adds none, or the other way round.",
     "Is the gain stored as it is, or less 1?", With{"unit_offset"}},
    {"rms-norm.eps", "Another ε was taken, or it was added to the root.",
     "Divide by √(mean square + ε), with the lesson's own ε.",
     rms_with<[](RmsVariant& v) {
       v.divisor = [](double s, double eps) { return std::sqrt(s) + eps; };
     },
              [](RmsVariant& v) { return std::exchange(v.eps, 1e-5) != 1e-5; },
              [](RmsVariant& v) { return std::exchange(v.eps, 1e-6) != 1e-6; }>},
    {"rms-norm.sum", "It was divided by the root of the sum of the squares.",
     "The root of their mean: divide the sum by the width first.",
     rms_with<[](RmsVariant& v) { v.summed = true; }>},
    {"rms-norm.squared", "It was divided by the mean square itself.",
     "Take its root before dividing.",
     rms_with<[](RmsVariant& v) { v.divisor = [](double s, double eps) { return s + eps; }; }>},
    {"rms-norm.columns", "The columns were normalised instead of the rows.",
     "Each token is normalised by itself.",
     rms_with<[](RmsVariant& v) { v.along = Along::columns; }>},
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
