#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {
namespace {

double positive_part(double x) { return x <= 0 ? 0.0 : x; }  // nan stays nan
Interval positive_part(Interval x) { return {std::max(0.0, x.low), std::max(0.0, x.high)}; }
Expression positive_part(const Expression& x) {
  return Expression::of(Expression::Kind::maximum, {0.0, x});
}

using Relu = CellFunction<"max(0, {0})", [](const auto& x) { return positive_part(x); }>;

// dX = dY where X > 0, else 0.
template <class N>
N if_positive(const N& change, const N& x) {
  if constexpr (std::is_same_v<N, Interval>) {
    return x.low > 0 ? change : x.high <= 0 ? Interval(0.0) : hull(0.0, change);
  } else {
    if (std::isnan(as_double(x))) return x;
    return as_double(x) > 0 ? change : N(0.0);
  }
}

struct GradRelu
    : CellwiseGradient<"{0}, 0 where {1} ≤ 0",
                       [](const auto& change, const auto& x) { return if_positive(change, x); },
                       Role::self> {
  static constexpr std::string_view code = "{0} * ({1} > 0)";
  static constexpr GradientWords words{"Back through ReLU",
                                       "Where the number was kept, its gradient stays as it is. "
                                       "Where it became 0, the gradient is 0.",
                                       "A column that is 0 for every token has gradient 0."};
};

constexpr std::string_view look_up_function = "Which function does this step name?";
constexpr Mistake activation_mistakes[] = {
    {"activation.other", "ReLU was taken here.", look_up_function, Instead{&relu_operation}},
    {"activation.other", "SiLU was taken here: x / (1 + e^(−x)).", look_up_function,
     Instead{&silu_operation}},
    {"activation.other", "x / (1 + e^(−1.702 x)) was taken here.", look_up_function, quick_gelu},
    {"activation.other", "GELU was taken here; in a GELU step, its other form (tanh or erf).",
     look_up_function, Instead{&gelu_operation}},
    other_factor_taken,
};

constexpr std::string_view forms[] = {"tanh", "erf"};
constexpr OptionRule gelu_options[] = {
    {.name = "form",
     .help = "GPT-2's approximation with tanh, or the exact one with the error function",
     .list = forms},
};

bool is_exact(const Call& call) { return call.options->word("form", "tanh") == "erf"; }

// x · Φ(x), where Φ is the share of a normal distribution below x (Hendrycks and Gimpel, 2016, with
// their approximation by tanh).
template <class N>
N under_tanh(const N& x) {
  const N slope = std::sqrt(2 / std::numbers::pi);
  return slope * (x + N(0.044715) * x * x * x);
}

template <class N>
N gelu(const N& x, bool exact) {
  using std::erf;
  using std::tanh;
  const N half = 0.5;
  const N one = 1.0;
  if (exact) return half * x * (one + erf(x / N(std::numbers::sqrt2)));
  return half * x * (one + tanh(under_tanh(x)));
}

// The same for a long row: tanh of eight numbers at a time.
void gelu_long_row(std::span<const double> x, std::span<double> cells) {
  std::ranges::transform(x, cells.begin(), under_tanh<double>);
  tanh_row(cells);
  for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = 0.5 * x[j] * (1 + cells[j]);
}

// Falls to one minimum, then rises: extremes are at the ends or at the minimum.
Interval gelu(Interval x, bool exact) {
  return range_with_turns(x, {exact ? -0.7517915246935645 : -0.7524614220710162},
                          [&](double at) { return gelu(at, exact); });
}

struct Gelu : FixedForm<"GELU({0})"> {
  static std::string code_of(const Call& call) {
    return is_exact(call)
               ? "0.5 * {0} * (1 + {erf}({0} / 2 ** 0.5))"
               : "0.5 * {0} * (1 + {np}.tanh((2 / {np}.pi) ** 0.5 * ({0} + 0.044715 * {0} "
                 "** 3)))";
  }

  static auto cell(const auto& c) { return gelu(c(0)(c.row, c.column), is_exact(*c.call)); }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const bool exact = is_exact(*of.at().call);
    if (!exact && of.is_large()) return gelu_long_row(of.row(0), cells);
    std::ranges::transform(of.row(0), cells.begin(), [&](double x) { return gelu(x, exact); });
  }
};

template <class N>
N slope(const N& x, bool exact) {
  using std::erf;
  using std::exp;
  using std::tanh;
  const N half = 0.5;
  const N one = 1.0;
  if (exact) {
    return half * (one + erf(x / N(std::numbers::sqrt2))) +
           x * exp(x * x / N(-2.0)) / N(std::sqrt(2 * std::numbers::pi));
  }
  const N t = tanh(under_tanh(x));
  const N inner = N(std::sqrt(2 / std::numbers::pi)) * (one + N(3 * 0.044715) * x * x);
  return half * (one + t) + half * x * (one - t * t) * inner;
}

// Falls, rises and falls again, steepest where x² is about 2: extremes are at the ends or there.
Interval slope(Interval x, bool exact) {
  const double steepest = exact ? std::numbers::sqrt2 : 1.4185040087908283;
  return range_with_turns(x, {-steepest, steepest}, [&](double at) { return slope(at, exact); });
}

struct GradGelu {
  static constexpr GradientWords words{
      "Back through GELU",
      "The gradient is multiplied by the slope of GELU at each number. The slope is nearly 1 for "
      "large numbers, nearly 0 for large negative ones, and a little below 0 in between.",
      "Where is the slope negative?"};

  static std::string code_of(const Call& call) {
    return is_exact(call)
               ? "{0} * (0.5 * (1 + {erf}({1} / 2 ** 0.5)) + {1} * {np}.exp(-{1} ** 2 / 2) / (2 * "
                 "{np}.pi) ** 0.5)"
               : "t = {np}.tanh((2 / {np}.pi) ** 0.5 * ({1} + 0.044715 * {1} ** 3)); {=}{0} * (0.5 "
                 "* (1 + t) + 0.5 * {1} * (1 - t ** 2) * (2 / {np}.pi) ** 0.5 * (1 + 0.134145 * "
                 "{1} "
                 "** 2))";
  }

  static Form form(const Call& call) {
    return {{"row column"},
            "row column",
            is_exact(call) ? "{0} ∘ (Φ({1}) + {1} · φ({1}))" : "{0} ∘ GELU′({1})"};
  }

  static auto cell(const auto& c) {
    return c(grad_output)(c.row, c.column) * slope(c(self)(c.row, c.column), is_exact(*c.call));
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const bool exact = is_exact(*of.at().call);
    std::ranges::transform(of.row(grad_output), of.row(self), cells.begin(),
                           [&](double change, double x) { return change * slope(x, exact); });
  }
};

// The other form's derivative, and each form's with the other's share.
Versions mixed_forms(const StepView& step) {
  const bool exact = is_exact(call_of(step));
  Versions versions(3, step.operand(grad_output));
  const auto share = [](double at, bool with_erf) {
    return 0.5 * (1 + (with_erf ? std::erf(at / std::numbers::sqrt2) : std::tanh(under_tanh(at))));
  };
  for (std::size_t i = 0; i < versions[0].values.size(); ++i) {
    const double at = step.operand(self).values[i];
    const double between = share(at, exact) - share(at, !exact);
    const double slopes[] = {slope(at, !exact), slope(at, !exact) + between,
                             slope(at, exact) - between};
    for (std::size_t v = 0; v < 3; ++v) versions[v].values.mutable_span()[i] *= slopes[v];
  }
  return versions;
}

constexpr Mistake gelu_backward_mistakes[] = {
    {"gelu-backward.mixed-forms", "The slope is that of GELU's other form, or of both in part.",
     "Take the derivative of the form that the step has: tanh or erf.", mixed_forms},
};

// nan where there is no logarithm or root.
double logarithm(double x) { return x > 0 ? std::log(x) : std::nan(""); }
Interval logarithm(Interval x) { return x.high > 0 ? log(x) : everything; }
template <class N>
N logarithm(const N& x) {
  return log(x);
}

Interval root(Interval x) { return x.high >= 0 ? sqrt(x) : everything; }
template <class N>
N root(const N& x) {
  using std::sqrt;
  return sqrt(x);
}

using Log = CellFunction<"ln {0}", [](const auto& x) { return logarithm(x); }>;
using Sqrt = CellFunction<"√{0}", [](const auto& x) { return root(x); }>;
using Sigmoid = CellFunction<"1 / (1 + e^(−{0}))", [](const auto& x) { return sigmoid(x); }>;
using Tanh = CellFunction<"tanh {0}", [](const auto& x) {
  using std::tanh;
  return tanh(x);
}>;

// The sigmoid's derivative, y · (1 − y) of its result y, which is largest in the middle.
template <class N>
N share_slope(const N& y) {
  return y * (N(1.0) - y);
}
Interval share_slope(Interval y) { return range_with_turns(y, {0.5}, share_slope<double>); }

struct GradLog : CellwiseGradient<"{0} / {1}", std::divides<>{}, Role::self> {
  static constexpr GradientWords words{
      "Back through the logarithm",
      "The derivative of ln x is 1/x, so the gradient is divided by the number.",
      "Small numbers get large gradients."};
};

struct GradSqrt
    : CellwiseGradient<"{0} / (2 · {2})",
                       [](const auto& change, const auto& root) { return change / (2.0 * root); },
                       Role::output> {
  static constexpr GradientWords words{
      "Back through the root",
      "The derivative of √x is 1/(2√x), so the gradient is divided by twice the root.",
      "Small numbers get large gradients."};
};

struct GradSigmoid
    : CellwiseGradient<"{0} ∘ {2} ∘ (1 − {2})",
                       [](const auto& change, const auto& y) { return change * share_slope(y); },
                       Role::output> {
  static constexpr GradientWords words{
      "Back through the sigmoid",
      "The derivative of the sigmoid σ is σ · (1 − σ), so the gradient is multiplied by that. It "
      "is largest where the sigmoid is a half.",
      "No gradient keeps more than a quarter of its size."};
};

struct GradTanh : CellwiseGradient<"{0} ∘ (1 − {2} ∘ {2})",
                                   [](const auto& change, const auto& y) {
                                     return change * (1.0 - squared(y));
                                   },
                                   Role::output> {
  static constexpr GradientWords words{
      "Back through tanh",
      "The derivative of tanh is 1 − tanh², so the gradient is multiplied by that. It is 1 at 0, "
      "and nearly 0 where tanh is close to 1 or -1.",
      "No number is further from 0 than the gradient that it comes from."};
};

}  // namespace

constinit const Operation relu_operation = operation_of<Relu>({
    .name = "relu",
    .title = "Apply ReLU",
    .says = "Negative numbers become 0; the others stay.",
    .notice = "How many numbers are not 0?",
    .operands = R"(["H"])",
    .mistakes = activation_mistakes,
    .backward = backward_by<GradRelu>,
    .code = "np.maximum({0}, 0)\n"
            "torch.relu({0})",
});

constinit const Operation gelu_operation = operation_of<Gelu>({
    .name = "gelu",
    .title = "Apply GELU",
    .says = "Large positive numbers hardly change, large negative ones become nearly 0, and in "
            "between the change is smooth.",
    .notice = "Compare with ReLU: small negative numbers do not become exactly 0.",
    .operands = R"(["H"])",
    .options = gelu_options,
    .mistakes = activation_mistakes,
    .backward = backward_by<WithMistakes<GradGelu, gelu_backward_mistakes>>,
});

constinit const Operation log_operation = operation_of<Log>({
    .name = "log",
    .title = "Take the natural logarithm of each number",
    .says =
        "The natural logarithm is the power to which e ≈ 2.718 must be raised to give the number. "
        "Only numbers above 0 have one: that of 1 is 0, those of smaller numbers are negative.",
    .notice = "A number ten times as large has a logarithm that is 2.3026 larger.",
    .operands = R"(["A"])",
    .undefined = "only numbers above 0 have a logarithm",
    .backward = backward_by<GradLog>,
});

constinit const Operation sqrt_operation = operation_of<Sqrt>({
    .name = "sqrt",
    .title = "Take the square root of each number",
    .says =
        "The square root, multiplied by itself, gives the number. Only numbers from 0 up have one.",
    .notice = "A number four times as large has a root twice as large.",
    .operands = R"(["A"])",
    .undefined = "only numbers from 0 up have a square root",
    .backward = backward_by<GradSqrt>,
});

constinit const Operation sigmoid_operation = operation_of<Sigmoid>({
    .name = "sigmoid",
    .title = "Apply the sigmoid",
    .says = "The sigmoid of x is 1 / (1 + e^(−x)). Large numbers come close to 1, large negative "
            "ones close to 0, and 0 becomes a half.",
    .notice = "The sigmoids of a number and of its negative sum to 1.",
    .operands = R"(["A"])",
    .backward = backward_by<GradSigmoid>,
});

constinit const Operation tanh_operation = operation_of<Tanh>({
    .name = "tanh",
    .title = "Apply tanh",
    .says = "tanh is the hyperbolic tangent: numbers close to 0 hardly change, large ones come "
            "close to 1 or -1.",
    .notice = "The sign stays.",
    .operands = R"(["A"])",
    .backward = backward_by<GradTanh>,
});

}  // namespace qkv::inline ops
