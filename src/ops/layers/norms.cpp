#include "ops/heads/head_axis.hpp"

#include "ops/kinds/line.hpp"
#include "ops/layers/norms.hpp"

namespace qkv::inline ops {
namespace {

/// Returns the cell's number, normalised with its row of the first operand.
template <class N>
N normed_cell(const Cell<N>& c, Norm norm) {
  const auto x = c(0);
  const auto number = [&](std::size_t j) { return x(c.row, j); };
  return RowNorm<N>(x.columns, number, norm, eps_of(*c.call))(number(c.column));
}

/// Computes a row of the first operand, normalised, times the gain and plus the bias of layer norm.
template <Norm norm>
void fill_normed_row(const Operands& of, std::span<double> cells) {
  const auto x = of.row(0);
  const auto gain = of.row(1);
  const double offset = offset_of(*of.at().call);
  const RowNorm<double> row = row_norm(x, norm, eps_of(*of.at().call));
  for (std::size_t j = 0; j < x.size(); ++j) cells[j] = row(x[j]) * (offset + gain[j]);
  if (norm == Norm::layer) std::ranges::transform(cells, of.row(2), cells.begin(), std::plus());
}

/// How a norm is computed, by a mistake in its place.
struct NormVariant {
  double eps, offset;
  bool gain = true, bias = true;
  double centre = 1;  ///< 0: the mean is not subtracted
  double around = 1;  ///< 0: the squares are not those of the distances from the mean
  Along along = Along::rows;
  double (*count)(double width) = [](double width) { return width; };  ///< divides their sum
  double (*divisor)(double squares, double eps) = [](double squares, double epsilon) {
    return std::sqrt(squares + epsilon);
  };
};
constexpr auto less_one = [](NormVariant& v) {
  v.count = [](double width) { return std::max(1.0, width - 1); };
};

NormVariant right_norm(const Call& call) {
  NormVariant v{.eps = eps_of(call), .offset = offset_of(call)};
  v.bias = call.inputs.size() == 3;
  if (!v.bias) v.centre = v.around = 0;  // RMS norm has neither a bias nor a mean
  return v;
}

Tensor with_norm_variant(const Call& call, const NormVariant& v) {
  return by_matrix(*call.inputs[0], [&](const MatrixView& m) {
    const Matrix x = m;
    const auto width = static_cast<double>(x.shape(v.along == Along::rows ? 1 : 0));
    const Matrix mean = sums(x, v.along) / width;
    const Matrix far = x - v.around * mean;
    const Matrix square = sums(far * far, v.along) / v.count(width);
    const Matrix divisor = xt::vectorize(v.divisor)(square, v.eps);
    Matrix result = (x - v.centre * mean) / divisor;
    if (v.gain) result = result * (call.inputs[1]->matrix(0) + v.offset);
    if (v.bias) result = result + call.inputs[2]->matrix(0);
    return result;
  });
}

template <auto... changes>
constexpr auto normed_with = with_parameters<right_norm, with_norm_variant, changes...>;

/// Bounds of one cell, (x_i - mean) / √(variance + ε), over a box of rows: each x within `radius`
/// of `middle`. Interval arithmetic treats mean and variance as independent of x and is many times
/// too wide. By the mean value theorem the cell moves by at most the sum of |slope| · radius, with
/// the slopes ∂cell_i/∂x_j = (δ_ij - 1/n - cell_i · cell_j / n) / √(…).
class LayerNormBounds {
 public:
  LayerNormBounds(std::vector<Interval> row, double eps) : row_(std::move(row)), eps_(eps) {
    double squares = 0;
    for (const Interval& x : row_) {
      middle_.push_back(x.low + (x.high - x.low) / 2);
      radius_.push_back((x.high - x.low) / 2);
      sum_.low += x.low;
      sum_.high += x.high;
      squares += radius_.back() * radius_.back();
    }
    // A row's deviation changes by at most the root mean square of its changes.
    const RowNorm<double> middle = row_norm(middle_, Norm::layer, eps_);
    mean_ = middle.mean;
    deviation_ = middle.root;
    const double change = std::sqrt(squares / width());
    root_ = {std::max(std::sqrt(eps_), deviation_ - change), deviation_ + change};
    for (std::size_t j = 0; j < row_.size(); ++j) cells_.push_back(cell_bounds(j));
  }

  Interval range(std::size_t i) const {
    if (!std::isfinite(root_.high) || root_.low <= 0) return cells_[i];
    std::vector<double> mosts(row_.size()), leasts(row_.size());
    const auto add_move = [most = mosts.data(), least = leasts.data(), cells = cells_.data(),
                           radius = radius_.data(), own = cells_[i], root = root_,
                           n = width()](std::size_t j, double self) {
      const Interval s = slope(own, cells[j], root, n, self);
      most[j] = std::max(std::abs(s.low), std::abs(s.high)) * radius[j];
      least[j] = std::max(s.low, -s.high) * radius[j];  // negative if the sign is uncertain
    };
    for (std::size_t j = 0; j < row_.size(); ++j) add_move(j, 0);
    add_move(i, 1);
    const double most = std::reduce(mosts.begin(), mosts.end());
    const double least = std::reduce(leasts.begin(), leasts.end());
    Interval safe = meet(cells_[i], {centre(i) - most, centre(i) + most});
    constexpr double near = 1.4;  // 1.5 is allowed
    if (most <= near * least) return safe;
    return meet(safe, search_range(i));
  }

 private:
  double width() const { return static_cast<double>(row_.size()); }
  double centre(std::size_t i) const { return (middle_[i] - mean_) / deviation_; }

  // No cell is farther from 0 than √(n - 1).
  Interval cell_bounds(std::size_t i) const {
    const Interval own = row_[i];
    const Interval others{sum_.low - own.low, sum_.high - own.high};
    const double n = width();
    const Interval above{own.low * (1 - 1 / n) - others.high / n,
                         own.high * (1 - 1 / n) - others.low / n};
    const double most = std::sqrt(n - 1);
    return meet(above / root_, {-most, most});
  }

  // In plain arithmetic, which vectorises: it is called for each pair of a row's cells.
  static Interval slope(Interval x, Interval y, Interval root, double n, double self) {
    const double least = std::min(std::min(x.low * y.low, x.low * y.high),
                                  std::min(x.high * y.low, x.high * y.high));
    const double most = std::max(std::max(x.low * y.low, x.low * y.high),
                                 std::max(x.high * y.low, x.high * y.high));
    const double low = self - (1 + most) / n;
    const double high = self - (1 + least) / n;
    return {low / (low < 0 ? root.low : root.high), high / (high < 0 ? root.high : root.low)};
  }

  // For boxes so wide that slopes change sign: a coordinate search from the middle for a local
  // extreme, with a fifth added in case it missed a higher one.
  Interval search_range(std::size_t i) const {
    const double up = extreme_value(i, 1) - centre(i);
    const double down = centre(i) - extreme_value(i, -1);
    constexpr double to_be_safe = 1.2;
    return {centre(i) - to_be_safe * down, centre(i) + to_be_safe * up};
  }

  double extreme_value(std::size_t i, double way) const {
    constexpr int most_rounds = 30;
    double best = way * centre(i);
    for (const bool from_corner : {false, true}) {
      std::vector<double> x;
      double sum = 0;  // of differences from the mean: those lose no digits
      double squares = 0;
      for (std::size_t j = 0; j < row_.size(); ++j) {
        const double corner = (j == i) == (way > 0) ? row_[j].high : row_[j].low;
        x.push_back((from_corner ? corner : middle_[j]) - mean_);
        sum += x[j];
        squares += x[j] * x[j];
      }
      // The cell's height if x_j is `tried`, in constant time.
      const auto height_with = [&](std::size_t j, double tried) {
        const double mean = (sum - x[j] + tried) / width();
        const double square = (squares - x[j] * x[j] + tried * tried) / width();
        const double own = j == i ? tried : x[i];
        return way * (own - mean) / std::sqrt(std::max(0.0, square - mean * mean) + eps_);
      };
      double height = height_with(i, x[i]);
      for (int round = 0; round < most_rounds; ++round) {
        const double before = height;
        for (std::size_t j = 0; j < x.size(); ++j) {
          double chosen = x[j];
          for (const double tried : {row_[j].low, row_[j].high, middle_[j]}) {
            const double there = height_with(j, tried - mean_);
            if (there <= height) continue;
            height = there;
            chosen = tried - mean_;
          }
          sum += chosen - x[j];
          squares += chosen * chosen - x[j] * x[j];
          x[j] = chosen;
        }
        if (height <= before) break;
      }
      best = std::max(best, height);
    }
    return way * best;
  }

  std::vector<Interval> row_;
  double eps_;
  std::vector<double> middle_, radius_;
  double mean_ = 0, deviation_ = 0;  // of the middle
  Interval sum_ = 0.0;
  Interval root_;                // √(variance + ε)
  std::vector<Interval> cells_;  // bounds of each cell, safe but wide
};

constexpr OptionRule layer_norm_options[] = {
    {.name = "eps",
     .help = "what is added to the variance, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::not_negative},
};

struct LayerNorm : FormByRows<"(each row of {0} − its mean) / √(its variance + ε) · {1} + {2}",
                              "row column", "row column", "1 column", "1 column"> {
  static std::string code_of(const Call& call) {
    return fmt::format(
        "c = {{r0}} - {{r0}}.mean({{keep}}); {{=}}c / {{np}}.sqrt((c ** 2).mean({{keep}}) "
        "+ {}) * {{r1}} + {{r2}}",
        eps_of(call));
  }

  static auto cells_of_line(const Cell<Interval>& c) {
    return [box = LayerNormBounds(numbers_of(line_of(c)), eps_of(*c.call)), gain = c(1),
            bias = c(2)](const Cell<Interval>& at) -> Interval {
      return box.range(at.column) * gain(0, at.column) + bias(0, at.column);
    };
  }

  static auto cell(const auto& c) {
    return normed_cell(c, Norm::layer) * c(1)(0, c.column) + c(2)(0, c.column);
  }

  static constexpr auto fill_row = fill_normed_row<Norm::layer>;
};

// PyTorch's own is up to 3.3 · 2^-24 · the row's mean off, before it is divided. A deviation below
// a thousandth of the mean excuses no more.
double mean_error(const Call& call, std::size_t cell) {
  const std::size_t width = call.inputs[0]->columns();
  const std::span<const double> row = call.inputs[0]->values.part(cell / width * width, width);
  const RowNorm<double> norm = row_norm(row, Norm::layer, eps_of(call));
  return 0x1p-22 * std::min(std::abs(norm.mean) / norm.root, 1000.0) *
         std::abs(call.inputs[1]->values[cell % width]);
}

constexpr Mistake layer_norm_mistakes[] = {
    qk_norm_skipped,
    norm_skipped,
    {"layer-norm.sample-variance", "The variance was divided by n - 1 instead of n.",
     "Layer norm divides the sum of squares by the whole width.", normed_with<less_one>},
    {"layer-norm.columns", "The columns were normalised instead of the rows.",
     "Each token is normalised by itself.",
     normed_with<[](NormVariant& v) { v.along = Along::columns; }>},
    {"layer-norm.no-gain", "The gain was left out.", "After dividing comes · gain + bias.",
     normed_with<[](NormVariant& v) { v.gain = false; },
                 [](NormVariant& v) {
                   v.gain = false;
                   v.bias = false;
                 }>},
    {"layer-norm.no-mean", "The mean was not subtracted.", "Subtract each row's mean first.",
     normed_with<[](NormVariant& v) { v.centre = 0; },
                 [](NormVariant& v) {
                   v.centre = 0;
                   v.around = 0;
                 }>},
    {"layer-norm.standard-deviation", "It was divided by the variance, or ε was added to the root.",
     "Divide by √(variance + ε).",
     normed_with<[](NormVariant& v) { v.divisor = [](double s, double eps) { return s + eps; }; },
                 [](NormVariant& v) { v.divisor = [](double s, double) { return s; }; },
                 [](NormVariant& v) {
                   v.divisor = [](double s, double eps) { return std::sqrt(s) + eps; };
                 }>},
};

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
    norm_skipped,
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

Versions unnormed_heads(const StepView& step) {
  const auto meets_others = [&](const StepView& later) {
    return (later.operation == &rope_operation || later.operation == &score_operation) &&
           contains(later.inputs, &step);
  };
  const bool is_of_heads = has_heads(step.operand()) && std::ranges::any_of(step.all, meets_others);
  return is_of_heads ? Versions{step.operand()} : Versions{};
}

Versions unnormed_rows(const StepView& step) {
  return unnormed_heads(step).empty() ? Versions{step.operand()} : Versions{};
}

constinit const Operation layer_norm_operation = operation_of<LayerNorm>({
    .name = "layer_norm",
    .title = "Normalise each row (layer norm)",
    .says =
        "Each row's mean is subtracted from it, and the row is divided by its standard deviation. "
        "Then each column is multiplied by a learned gain, and a learned bias is added.",
    .notice = "Rows that differ only in size or offset give the same result.",
    .operands = R"(["X", "gain", "bias"])",
    .options = layer_norm_options,
    .zero_division_hint = "a row whose numbers are all the same needs an eps above 0",
    .cancellation_error = mean_error,
    .mistakes = layer_norm_mistakes,
    .backward = layer_norm_backward,
});

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
