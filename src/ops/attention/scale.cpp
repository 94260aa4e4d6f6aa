#include "ops/attention/softmax.hpp"
#include "ops/kinds/cellwise.hpp"
#include "text/number.hpp"

namespace qkv::inline ops {
namespace {

constexpr OptionRule softcap_options[] = {
    {.name = "cap",
     .help = "the limit of the scores on both sides of 0, such as 50",
     .numbers = OptionRule::Numbers::positive,
     .required = true},
};

double cap_of(const Call& call) { return call.options->number("cap", 1); }

double capped(double x, double cap) { return cap * std::tanh(x / cap); }

struct Softcap {
  static Form form(const Call& call) {
    const std::string cap = fmt::format("{}", cap_of(call));
    return {{"row column"}, "row column", fmt::format("{} · tanh({{0}} / {})", cap, cap)};
  }

  // Gemma 2 (2024), section 2: logits soft-capping.
  template <class N>
  static N cell(const Cell<N>& c) {
    const double cap = cap_of(*c.call);
    const N x = c(0)(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval>) {  // monotone
      return {capped(x.low, cap), capped(x.high, cap)};
    } else {
      using std::tanh;
      return N(cap) * tanh(x / N(cap));
    }
  }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    return cellwise_kernel(frame_of_scores(call, form(call)),
                           [cap = cap_of(call)](double x) { return capped(x, cap); });
  }
};

// A later mask applied before the cap: minus infinity becomes −cap.
Versions after_mask(const StepView& step) {
  Versions results;
  for (const StepView& later : step.all) {
    if (later.operation != &mask_operation || upstream(&later, softcap_operation) != &step)
      continue;
    if (later.tensor->shape() != step.tensor->shape()) continue;
    results.push_back(with_operand(step, 0, with_operand(later, 0, step.operand())));
  }
  return results;
}

constexpr Mistake softcap_mistakes[] = {
    {"softcap.skipped", "The scores were not capped.", "cap · tanh(score / cap).", Skip{}},
    {"softcap.clipped", "The scores were cut off at the cap.",
     "tanh bends them towards the cap, all of them a little.",
     [](const Cell<double>& c) {
       return std::clamp(c(0)(c.row, c.column), -cap_of(*c.call), cap_of(*c.call));
     }},
    {"softcap.after-mask", "The mask came first, so -cap stands where -inf should be.",
     "First cap, then hide.", after_mask},
};

// dX = dY ∘ (1 − (Y / cap)²).
struct GradCapped {
  static constexpr GradientWords words{
      "Back through the cap",
      "A score close to 0 hardly changed, and neither does its gradient. The closer a score came "
      "to the cap, the less of its gradient is left.",
      "No number is further from 0 than the gradient that it comes from."};
  static constexpr Role needs[] = {Role::output};

  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("{{0}} ∘ (1 − ({{2}} / {})²)", cap_of(call))};
  }

  static auto cell(const auto& c) {
    const auto share = c(saved_output)(c.row, c.column) / cap_of(*c.call);
    return c(grad_output)(c.row, c.column) * (1.0 - squared(share));
  }
};

constexpr std::string_view divisors[] = {"sqrt(d_k)", "d_k", "sqrt(N)"};
constexpr OptionRule scale_options[] = {
    {.name = "by",
     .help = "what to divide by; N may be any number, as in \"sqrt(64)\"; 1/sqrt(N) multiplies",
     .list = divisors,
     .any_word = true,
     .numbers = OptionRule::Numbers::any},
};

// What the step divides by, or multiplies by: `inside`, or its square root.
struct Divisor {
  double inside = 1;
  bool root = true;
  bool multiplies = false;

  double factor() const { return root ? std::sqrt(inside) : inside; }
  double value() const { return multiplies ? 1 / factor() : factor(); }
  bool is_one() const { return !root && inside == 1; }
};

// Parses "sqrt(N)", "1/sqrt(N)" or "N".
std::optional<Divisor> written_divisor(std::string_view word) {
  const bool multiplies = word.starts_with("1/sqrt(");
  if (multiplies) word.remove_prefix(2);
  const bool root = word.starts_with("sqrt(") && word.ends_with(")");
  if (root) word = word.substr(5, word.size() - 6);
  const auto value = parse_number<double>(word);
  if (!value || !(*value > 0) || !std::isfinite(*value)) return {};
  return Divisor{*value, root, multiplies};
}

// The width of the queries behind the scores, or of the operand if it is the queries.
double query_width(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  if (scores.dot_width != 0) return static_cast<double>(scores.dot_width);
  if (scores.axes.back().name == "key") {
    refuse(call, fmt::format("{} comes from no queries, so d_k is not known; write what to divide "
                             "by: by = \"sqrt(64)\"",
                             call.names[0]));
  }
  return static_cast<double>(scores.columns());
}

Divisor divisor_of(const Call& call) {
  if (const double* by = call.options->if_number("by")) {
    if (*by == 0) refuse(call, "by is 0, and nothing can be divided by 0");
    if (!std::isfinite(*by)) refuse(call, fmt::format("by is {}; write a finite number", *by));
    return {*by, false};
  }
  const std::string_view word = call.options->word("by", "sqrt(d_k)");
  if (word == "d_k") return {query_width(call), false};
  if (word == "sqrt(d_k)") return {query_width(call), true};
  if (const auto written = written_divisor(word)) return *written;
  refuse(call,
         fmt::format(
             "by is \"{}\"; write \"sqrt(d_k)\", \"d_k\", \"sqrt(64)\", \"1/sqrt(64)\" or a number "
             "above 0",
             word));
}

// A division by 1 is left out.
std::string scaling_text(const Divisor& by) {
  if (by.is_one()) return "{0}";
  return fmt::format("{{0}} {} {}{}", by.multiplies ? "·" : "/", by.root ? "√" : "", by.inside);
}

// The cell of the first operand, scaled.
template <class N>
N scaled(const Cell<N>& c, const Divisor& by) {
  using std::sqrt;
  const N x = c(0)(c.row, c.column);
  if (by.is_one()) return x;
  const N inside = by.inside;
  const N factor = by.root ? N(sqrt(inside)) : inside;
  return by.multiplies ? x * factor : x / factor;
}

struct Scale {
  static Form form(const Call& call) {
    return {{"row column"}, "row column", scaling_text(divisor_of(call))};
  }

  static auto cell(const auto& c) { return scaled(c, divisor_of(*c.call)); }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    const Divisor by = divisor_of(call);
    const Tensor frame = frame_of_scores(call, form(call));
    if (by.multiplies)
      return cellwise_kernel(frame, [factor = by.factor()](double x) { return x * factor; });
    return cellwise_kernel(frame, [divisor = by.factor()](double x) { return x / divisor; });
  }

  static auto cells_of_line(const Cell<Interval>& c) {
    return [x = c(0), divisor = divisor_of(*c.call).value()](const Cell<Interval>& at) {
      return x(at.row, at.column) / divisor;
    };
  }
};

// True for scores that are divided by √d_k, which most of the mistakes are about.
bool divides_scores(const Call& call) {
  const Divisor by = divisor_of(call);
  const std::size_t d_k = call.inputs[0]->dot_width;
  return d_k != 0 && by.root && by.inside == static_cast<double>(d_k);
}

template <bool of_scores>
Versions multiplied(const StepView& step) {
  const Call call = call_of(step);
  if (divides_scores(call) != of_scores) return {};
  return multiplied_by(step, divisor_of(call).value());
}

// Where the step divides by √d_k, or by something else.
template <bool of_root>
Versions by_d(const StepView& step) {
  const Tensor& scores = step.operand();
  const auto d_k = static_cast<double>(scores.dot_width != 0 ? scores.dot_width : scores.columns());
  const bool divides_by_root = divisor_of(call_of(step)).value() == std::sqrt(d_k);
  if (divides_by_root != of_root || (!of_root && scores.dot_width == 0)) return {};
  return multiplied_by(step, 1 / d_k);
}

Versions by_root_of(const StepView& step, std::size_t number) {
  return multiplied_by(step, 1 / std::sqrt(static_cast<double>(number)));
}

// By the root of a number that is not known to be another than d_k.
Versions by_other_root(const StepView& step, std::size_t number) {
  const bool is_d_k = number == step.operand().dot_width && !divides_scores(call_of(step));
  return is_d_k ? Versions() : by_root_of(step, number);
}

Versions by_sqrt_d_model(const StepView& step) {
  const StepView* queries = upstream(step.inputs[0], project_operation);
  const Tensor& scores = step.operand();
  // Without a projection of the queries, one head has no other width than d_k.
  if (scores.dot_width == 0 || (!queries && scores.matrices() == 1)) return {};
  const std::size_t d_model =
      queries ? queries->operand().columns() : scores.matrices() * scores.dot_width;
  return d_model == 0 ? Versions() : by_other_root(step, d_model);
}

// Where nothing is left to divide by, since the queries were scaled, or where the step divides by
// something else.
template <bool of_scaled>
Versions by_sqrt_d(const StepView& step) {
  const Call call = call_of(step);
  const std::size_t d_k = step.operand().dot_width;
  const bool is_scaled = divisor_of(call).value() == 1;
  return d_k == 0 || is_scaled != of_scaled || divides_scores(call) ? Versions()
                                                                    : by_root_of(step, d_k);
}

Versions by_sqrt_n(const StepView& step) {
  const Tensor& scores = step.operand();
  if (scores.dot_width == 0 && scores.axes.back().name != "key") return {};
  Versions results = by_other_root(step, scores.columns());
  if (scores.rows() != scores.columns())
    std::ranges::move(by_other_root(step, scores.rows()), std::back_inserter(results));
  return results;
}

// The root, rounded to one, two or three decimals.
Versions by_rounded_root(const StepView& step) {
  const Divisor by = divisor_of(call_of(step));
  Versions results;
  if (by.multiplies) return results;
  for (const double power : {10.0, 100.0, 1000.0}) {
    const double rounded = std::round(power * by.value()) / power;
    if (!by.root || rounded == 0 || std::abs(rounded - by.value()) < 1e-6) continue;
    std::ranges::move(multiplied_by(step, 1 / rounded), std::back_inserter(results));
  }
  return results;
}

constexpr Mistake scale_mistakes[] = {
    {"scale.skipped", "The scores were not divided by √d_k.", "Divide every score.",
     Skip{divides_scores}},
    {"scale.skipped", "{0} was not scaled: this step is {formula}.", "Scale every number.",
     Skip{[](const Call& call) { return !divides_scores(call); }}},
    {"scale.by-d", "The scores were divided by d_k, not by its root.",
     "Take the root of d_k first.", by_d<true>},
    {"scale.by-d", "{0} was divided by d_k: this step is {formula}.",
     "d_k is the width of a query.", by_d<false>},
    {"scale.by-d", "The scores were divided by √d_k once more: in all, by d_k.",
     "Divide once: the queries or the scores.", by_sqrt_d<true>},
    {"scale.by-sqrt-d", "The scores were divided by √d_k: this step is {formula}.",
     "What does this lesson divide by?", by_sqrt_d<false>},
    {"scale.by-sqrt-d-model", "The scores were divided by √d_model instead of √d_k.",
     "d_k is the width of a query, not of an embedding.", by_sqrt_d_model},
    {"scale.multiplied", "The scores were multiplied by √d_k instead of divided.",
     "Scaling makes the scores smaller.", multiplied<true>},
    {"scale.multiplied", "{0} was scaled the other way: this step is {formula}.",
     "It matters whether one multiplies or divides.", multiplied<false>},
    {"scale.by-sqrt-n", "The scores were divided by √n, the root of the number of tokens.",
     "d_k is the width of a query.", by_sqrt_n},
    {"scale.rounded-root",
     "The root was rounded before the division.",
     "Keep all digits of the root, and round the result.",
     by_rounded_root,
     {.least = 2}},
    needless_mask(),
};

// Programs may divide the queries, at any step from their projection to the scores.
constexpr const Operation* before_scores[] = {&score_operation, &project_operation};

constexpr EquivalentPlacement on_the_queries{
    .upstream = before_scores,
    .there = [](const Call& call) { return Options::of("by", divisor_of(call).value()); },
    .here = [] { return Options::of("by", 1.0); },
};

// Y = S / c: dS = dY / c.
struct GradScaled {
  static constexpr std::size_t operations = 1;
  static constexpr GradientWords words{
      "Back through the scale",
      "Each number was divided or multiplied by the same number, and so is its gradient.",
      "The number is the one of the forward pass."};

  static Divisor divisor(const Call& call) { return divisor_of(forward_call(call, {self})); }

  static Form form(const Call& call) {
    return {{"row column", "row column"}, "row column", scaling_text(divisor(call))};
  }

  static auto cell(const auto& c) { return scaled(c, divisor(*c.call)); }

  static void fill_row(const Operands& of, std::span<double> cells) {
    thread_local Scratch scratch;
    const double by = divisor(*of.at().call).value();
    std::ranges::transform(of.row(grad_output, scratch), cells.begin(),
                           [&](double change) { return change / by; });
  }
};

template <int power>
double divided_again(const Cell<double>& c) {
  return c(grad_output)(c.row, c.column) / std::pow(GradScaled::divisor(*c.call).value(), power);
}

constexpr Mistake scale_backward_mistakes[] = {
    gradient_unscaled(Skip{}),
    {"backward.scale-twice", "The gradient was divided twice.",
     "Scale it once, as the scores were.", divided_again<2>},
    {"scale.multiplied", "The gradient was multiplied where it is to be divided.",
     "The scores were divided; so is their gradient.", divided_again<-1>},
};

}  // namespace

constinit const Operation softcap_operation = operation_of<Softcap>({
    .name = "softcap",
    .title = "Cap the scores",
    .says = "Each score s becomes cap · tanh(s / cap). Large scores come close to the cap and none "
            "exceeds it: a low cap keeps one key from getting nearly all of the attention. Small "
            "scores hardly change.",
    .notice = "Signs and order stay; the larger a score, the more it shrinks.",
    .operands = R"(["scores"])",
    .options = softcap_options,
    .mistakes = softcap_mistakes,
    .backward = backward_by<GradCapped>,
});

constinit const Operation scale_operation = operation_of<Scale>({
    .name = "scale",
    .title = "Scale the scores",
    .says = "Every score is divided by the same number; the formula has it. A sum of d_k products "
            "grows like √d_k. Without the division softmax would give nearly all to one key.",
    .notice = "A divisor above 1 keeps the order within each row; only the gaps shrink.",
    .operands = R"(["scores"])",
    .options = scale_options,
    .equivalent_placement = on_the_queries,
    .mistakes = scale_mistakes,
    .backward = backward_by<WithMistakes<GradScaled, scale_backward_mistakes>>,
});

}  // namespace qkv::inline ops
