#include "ops/attention/softmax.hpp"

#include "ops/kinds/move.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {
namespace {

// The fraction of a line's weights that the sink leaves. Before it the line's sum is 1 / most,
// where `most` is its largest weight, since e^(top − top) is 1. All of it if everything is hidden.
double share_left(double most, double top, double sink) {
  return top == -infinity ? 1 : 1 / (1 + most * std::exp(sink - top));
}

// The weight that each row gives to its sink.
Matrix given_away(const MatrixView& weights) {
  const Matrix total = sums(weights, Along::rows);
  return xt::where(xt::equal(total, 0.0), 0.0, 1 - total);
}

// The weights with the sink's as the first or the last column.
enum class At { front, back };
Tensor with_column(const Tensor& weights, At at) {
  std::vector<Axis> axes = weights.axes;
  axes.back() = {.name = axes.back().name, .size = axes.back().size + 1};
  Tensor wider = uninitialised(std::move(axes));
  const std::size_t first = at == At::front ? 1 : 0;
  const std::size_t sink = at == At::front ? 0 : weights.columns();
  for (std::size_t m = 0; !wider.values.empty() && m < wider.matrices(); ++m) {
    MutableMatrixView to = wider.mutable_matrix(m);
    xt::view(to, xt::all(), xt::range(first, first + weights.columns())) = weights.matrix(m);
    xt::view(to, xt::all(), xt::range(sink, sink + 1)) = given_away(weights.matrix(m));
  }
  return wider;
}

Versions scaled_sinks(const StepView& step) {
  const std::size_t d_k = step.operand().dot_width;
  if (step.inputs.size() < 2 || d_k == 0) return {};
  return {
      with_numbers(step.operand(1), step.operand(1).array() / std::sqrt(static_cast<double>(d_k)))};
}

// The sink's weight as the last column, as the first, or as the first with the last one cut off.
Versions sinks_kept(const StepView& step) {
  if (step.inputs.size() < 2 || is_columnwise(call_of(step))) return {};
  const Tensor weights = softmax_operation.compute(call_of(step));
  const Tensor before = with_column(weights, At::front);
  Block but_last = Block::of(before);
  but_last.columns.to = weights.columns();
  return {with_column(weights, At::back), before,
          block_of(before, uninitialised_like(weights), but_last)};
}

// The weights of a line of scores; zeros if everything is hidden.
void softmax_of_line(std::span<const double> scores, std::span<double> weights) {
  const double top = max_of(scores);
  std::ranges::transform(scores, weights.begin(), [top](double x) { return power(x, top); });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight = total == 0 ? weight : weight / total;
}

Tensor softmax_of_rows(const Call& call, Tensor weights) {
  const bool is_large = weights.values.size() > small_tensor_limit;
  return by_rows(call, std::move(weights), is_large ? 4 : 16,
                 [&](const Operands& of, std::span<double> cells) {
                   thread_local Scratch scratch;
                   const std::span<const double> scores = of.row(0, scratch);
                   softmax_of_row(scores, cells, is_large);
                   if (has_sinks(call))
                     share_with_sink(scores, cells, sink_of(call, of.at().matrix));
                 });
}

struct Softmax {
  static std::string code_of(const Call& call) {
    if (!has_sinks(call)) {
      return "e = np.exp({0} - {0}.max({keep})); {=}e / e.sum({keep})\ntorch.softmax({0}, {dim})";
    }
    return fmt::format(
        "e = {{np}}.exp({{0}}); {{=}}e / (e.sum({{keep}}) + {{np}}.exp({{1}}).reshape({}))",
        call.inputs[0]->rank() < 3 ? "1, 1" : "-1, 1, 1");
  }

  static Form form(const Call& call) {
    if (!has_sinks(call)) return form_of_lines(call, "softmax of ", " of {0}");
    Form form = form_of_lines(call, "softmax of ", " of {0}, with the sink of its head, {1}");
    form.operands.push_back("1 inner");
    form.shares_heads = true;
    return form;
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = index_in_line(c);
    Sink<N> sink;
    if (has_sinks(*c.call)) sink = number_of_head(c);
    if constexpr (std::is_same_v<N, Decimal>) {
      if (line(i).value() == -infinity) return 0.0;  // whatever the sum is
      if (sink) return Decimal::unknown();
      if (is_alone(c, -infinity)) return 1.0;
      if (!line(i).is_exact()) return line(i);
    }
    return softmax_cell(line, i, sink);
  }

  // The same two corners for all cells of a line, with each e^x computed once. If the sum vanishes
  // beside the top, the range is 0, or from 0 to 1 unless everything is hidden.
  static auto corners_of_line(const Cell<Interval>& c) {
    std::vector<Interval> powers = numbers_of(line_of(c));
    double top = -infinity;
    for (const Interval x : powers) top = nan_max(top, x.high);
    for (Interval& x : powers) x = {power(x.low, top), power(x.high, top)};
    return [powers, others = of_others(powers, 0.0, std::plus<>{}),
            all = top == -infinity ? 0.0 : 1.0](const Cell<Interval>& at) -> Interval {
      const std::size_t i = index_in_line(at);
      const double least = powers[i].low + others[i].high;
      const double most = powers[i].high + others[i].low;
      return {least == 0 ? 0 : powers[i].low / least, most == 0 ? all : powers[i].high / most};
    };
  }

  static Tensor compute(const Call& call) {
    if (has_sinks(call)) require_one_per_head(call, "sinks");
    const Values& scores = call.inputs[0]->values;
    constexpr std::size_t long_row = std::size_t{1} << 14;  // over a vocabulary: few rows are read
    if (!has_sinks(call) && !is_columnwise(call) && call.inputs[0]->columns() > long_row &&
        scores.are_stored() && all_finite(scores)) {
      Tensor rows = frame_of(call, form(call));
      rows.values = Values::lazy(scores, rows.columns(), [](auto, std::span<double> line) {
        softmax_of_row(line, line, true);
      });
      return rows;
    }
    Call other = call;
    other.inputs.resize(1);
    Tensor weights = output_of(other, form(other));
    if (!is_columnwise(call)) return softmax_of_rows(call, std::move(weights));
    const Tensor transposed_scores = transposed(as_matrix(*call.inputs[0]));
    other.inputs = call.inputs;
    other.inputs[0] = &transposed_scores;
    return transposed(softmax_of_rows(other, transposed(weights)));
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    if (has_sinks(call)) return {};
    return range_by_lines(call, operands, result, corners_of_line);
  }

  // The arithmetic does not show why these weights are zeros.
  static std::string remark(const CellBase& c) {
    const Line<double> line = line_of(Cell<double>{c});
    return largest(line) == -infinity
               ? "hidden: no key is left for this query, so all its weights are 0"
               : "";
  }

  // The three steps of a softmax by hand, each with its own operation.
  static std::vector<Intermediate> intermediates(const Call& call) {
    if (has_sinks(call)) return {};  // the sum is of more than these powers
    Call stride = call;
    Tensor shifted = result_of(shift_operation, stride);
    stride.inputs = {&shifted};
    Tensor raised_up = result_of(exp_operation, stride);
    return {{"minus the largest", &shift_operation, std::move(shifted)},
            {"e to that power", &exp_operation, std::move(raised_up)}};
  }
};

Versions not_normalised(const StepView& step) {
  const Along along = along_of(call_of(step));
  const auto below_top = [&](const MatrixView& s) -> Matrix {
    return xt::vectorize(static_cast<double (*)(double, double)>(power))(s, maxima(s, along));
  };
  const auto powers = [](const MatrixView& s) -> Matrix { return xt::exp(s); };
  return {by_matrix(step.operand(), powers), by_matrix(step.operand(), below_top)};
}

// e^0 taken as 0, of the scores or of what is left below each row's largest. A row without any
// other power has nothing to divide by: it stays at 0.
Versions of_zero_powers(const StepView& step) {
  const Along along = along_of(call_of(step));
  const auto version = [&](double of_largest) {
    return by_matrix(step.operand(), [&](const MatrixView& s) -> Matrix {
      const Matrix below = xt::where(xt::isinf(s), s, s - of_largest * finite(maxima(s, along)));
      return shares(xt::where(xt::equal(below, 0.0), 0.0, xt::exp(below)), along);
    });
  };
  if (!has_zeros(step.operand())) return {version(1)};
  return {version(0), version(1)};
}

// The powers of a cell in all heads, divided by their sum.
Versions over_heads(const StepView& step) {
  const Tensor& scores = step.operand();
  const std::size_t heads =
      scores.leading_axes() == 0 ? 1 : scores.axes[scores.leading_axes() - 1].size;
  return by_heads(scores, heads, [](const Matrix& s) -> Matrix {
    const auto powers = xt::vectorize(static_cast<double (*)(double, double)>(power));
    return shares(powers(s, maxima(s, Along::columns)), Along::columns);
  });
}

// A causal mask where the lesson has none.
Versions masked_scores(const StepView& step) {
  if (upstream(&step, mask_operation)) return {};
  return causally_masked_either_way(step.operand());
}

constexpr Mistake softmax_mistakes[] = {
    {"softmax.columns",
     "Softmax went along the wrong axis: columns in place of rows, or the reverse.",
     "The attention weights of one query sum to 1.", With{"axis"}},
    {"softmax.whole", "Softmax went over the whole matrix at once.",
     "Every query has its own sum to divide by.",
     [](const Operands& of) -> Matrix {
       const Matrix powers = xt::exp(of(0));
       return powers / total(powers);
     }},
    {"softmax.no-exp", "The scores were divided by their plain sum, without e^x.",
     "First e to the power of each score, then divide.",
     [](const Operands& of) { return shares(finite(of(0)), along_of(of)); }},
    {"softmax.not-normalised", "The powers of e were not divided by their sum.",
     "The attention weights of one query sum to 1.", not_normalised},
    {"softmax.base-2", "2 was raised to the scores instead of e.", "e ≈ 2.718.",
     Operand{0, times_ln_2}},
    {"softmax.base-2", "10 was raised to the scores instead of e.", "e ≈ 2.718.",
     Operand{0, times_ln_10}},
    unscaled("Softmax takes the scaled scores."),
    unmasked("Hidden keys get weight 0."),
    {"softmax.mask-after", "Weights were set to 0 after softmax, so the rows no longer sum to 1.",
     "Hide first, then softmax.", masked_afterwards},
    {"softmax.heads", "Softmax went over the heads.",
     "The attention weights of one query sum to 1 in each head.", over_heads},
    {"softmax.negative", "The scores went in with the wrong sign: e^(−x).",
     "A larger score gets a larger weight.", Operand{0, negated}},
    {"softmax.zero-power", "e^0 was taken as 0.", "Any number to the power of 0 is 1.",
     of_zero_powers, zeros_evidence},
    hidden_taken_as_0,
    {"sink.skipped", "The sink was left out of the sum.", "It is one more term of each row's sum.",
     SkipOperand{1}},
    {"sink.scaled", "The sink was divided by √d_k, as scores are.",
     "The sink is a score already: it is not scaled.", Operand{1, scaled_sinks}},
    {"sink.in-values", "The sink was kept as a column of its own.",
     "It is part of the sum, and gets no column.", sinks_kept},
    needless_mask(Operand{0, masked_scores}),
    other_heads,
};

}  // namespace

bool has_sinks(const Call& call) { return call.inputs.size() == 2; }

double sink_of(const Call& call, std::size_t matrix) {
  return call.inputs[1]->values[matrix % head_count(*call.inputs[0])];
}

void share_with_sink(std::span<const double> scores, std::span<double> weights, double sink) {
  const double left = share_left(max_of(weights), max_of(scores), sink);
  for (double& weight : weights) weight *= left;
}

Versions times_ln_2(const StepView& step) { return multiplied_by(step, std::numbers::ln2); }
Versions times_ln_10(const StepView& step) { return multiplied_by(step, std::numbers::ln10); }
Versions negated(const StepView& step) {
  const auto x = step.operand().array();
  return {with_numbers(step.operand(), xt::where(xt::isinf(x), x, -x))};
}

Versions hidden_as_0(const StepView& step) {
  if (all_finite(step.operand().values)) return {};
  return {by_matrix(step.operand(), finite)};
}

Versions sinks_in_values(const StepView& step) {
  const StepView* weights = upstream(step.inputs[0], softmax_operation);
  if (!weights || weights->inputs.size() < 2 || is_columnwise(call_of(*weights))) return {};
  Versions results;
  for (const std::size_t key : {std::size_t{0}, step.operand().columns() - 1}) {
    results.push_back(by_matrix(step.operand(), [&](const MatrixView& w) -> Matrix {
      Matrix given = w;
      xt::view(given, xt::all(), xt::range(key, key + 1)) += given_away(w);
      return given;
    }));
  }
  return results;
}

template <class N>
N softmax_cell(const Line<N>& line, std::size_t i, const Sink<N>& sink) {
  N top = largest(line);
  if (as_double(top) == -infinity) return 0.0;
  if (sink && as_double(*sink) > as_double(top)) top = *sink;
  return power(line(i), top) / sum<N>(line.size() + (sink ? 1 : 0), [&](std::size_t j) {
           return power(j < line.size() ? line(j) : *sink, top);
         });
}

// A softmax rises with its own score and falls with every other. Its extremes are at two corners:
// own score highest and others lowest, and the reverse.
template <>
Interval softmax_cell(const Line<Interval>& line, std::size_t i, const Sink<Interval>& sink) {
  const auto corner = [&](bool own_high) {
    std::vector<double> scores = bounds_of(line, !own_high);
    scores[i] = own_high ? line(i).high : line(i).low;
    Sink<double> other;
    if (sink) other = own_high ? sink->low : sink->high;
    return softmax_cell(Line<double>{{scores, 1, scores.size()}, 0, false}, i, other);
  };
  return {corner(false), corner(true)};
}

template double softmax_cell(const Line<double>&, std::size_t, const Sink<double>&);
template Expression softmax_cell(const Line<Expression>&, std::size_t, const Sink<Expression>&);
template Decimal softmax_cell(const Line<Decimal>&, std::size_t, const Sink<Decimal>&);

void softmax_of_row(std::span<const double> scores, std::span<double> weights, bool is_large) {
  if (!is_large || !softmax_row(scores, weights)) softmax_of_line(scores, weights);
}

constinit const Operation softmax_operation = operation_of<Softmax>({
    .name = "softmax",
    .title = "Make the attention weights",
    .says =
        "Softmax subtracts the row's largest number from each, raises e to the results, and "
        "divides by their sum. The subtraction changes no weight. A hidden score gets the weight "
        "0, every other a positive one. Each row sums to 1, its sink's weight included; a row "
        "that is all hidden stays 0.",
    .notice = "Which weight is the largest for each query, and by how much?",
    .operands = R"(["scores"] or ["scores", "sinks"])",
    .options = line_options,
    .makes_weights = true,
    .needs_heads = [](std::size_t operands, const Options&) { return operands == 2; },
    .mistakes = softmax_mistakes,
    .backward = softmax_backward,
});

}  // namespace qkv::inline ops
