#include "ops/heads/head_axis.hpp"

#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/move.hpp"

namespace qkv::inline ops {
namespace {

struct SumHeads : FixedForm<"the sum of {0} over the heads"> {
  static constexpr std::string_view code = "{0}.sum(-3)";

  static auto cell(const auto& c) { return summed_heads(c, 0, head_count(c.input(0))); }

  static Tensor compute(const Call& call) {
    refuse_without_heads(call, " to add over");
    AxisRoles axes(*call.inputs[0]);
    axes.heads.reset();
    return cell_by_cell(call, uninitialised(axes.all()), evaluated<SumHeads, double>);
  }
};

constexpr Mistake sum_heads_mistakes[] = {
    {"heads.averaged", "The heads' proposals were averaged instead of added.",
     "Every head adds its whole change.",
     [](const StepView& step) -> Versions {
       const Tensor sum = SumHeads::compute(call_of(step));
       return {with_numbers(sum, sum.array() / static_cast<double>(head_count(step.operand())))};
     }},
};

// Every head was added, so each gets the whole gradient.
struct GradHeads : OwnCells, FixedForm<"{0}, the same for each head"> {
  static constexpr GradientWords words{
      "Back to each head", "All heads were added up, so each gets the whole gradient of the sum.",
      "All heads get the same."};

  static constexpr std::string_view code = "{0}[..., None, :, :] * {np}.ones_like({1})";

  static auto cell(const auto& c) { return copied_head(c, grad_output, head_count(c.input(self))); }
};

constexpr OptionRule switch_off_options[] = {
    {.name = "head",
     .help = "which head is switched off; the first is 1",
     .numbers = OptionRule::Numbers::whole,
     .required = true},
};

struct SwitchOff : FixedForm<"{0}, with 0 in the head that is off"> {
  static std::string code_of(const Call& call) {
    return fmt::format("{{0}} * ({{arange {}}} != {})[:, None, None]", head_count(*call.inputs[0]),
                       head_of(call) - 1);
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto head = static_cast<double>(c.matrix % head_count(c.input(0)) + 1);
    return head == head_of(*c.call) ? N(0.0) : c(0)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    refuse_without_heads(call, " to switch one off");
    const Tensor& all = *call.inputs[0];
    const double head = head_of(call);
    if (head < 1 || head > static_cast<double>(head_count(all))) {
      refuse(call, fmt::format("there is no head {} in {}; its heads are 1 to {}", head,
                               call.names[0], head_count(all)));
    }
    return cell_by_cell(call, uninitialised(all.axes), evaluated<SwitchOff, double>);
  }

 private:
  static double head_of(const Call& call) { return call.options->number("head", 1); }
};

// The head that is off has gradient 0.
struct GradOthers : SwitchOff, OwnCells {
  static constexpr GradientWords words{
      "Back to the heads that are on",
      "The head that was switched off does not change the loss, so its gradient is 0.",
      "The gradients of the other heads stay as they are."};
};

// The tensor with each row repeated `times` times in succession.
Tensor with_tokens_repeated(const Tensor& tensor, std::size_t times) {
  AxisRoles axes(tensor);
  axes.rows = {.name = axes.rows.name, .size = axes.rows.size * times};
  Tensor result = uninitialised(axes.all());
  if (result.values.empty()) return result;
  xt::noalias(result.mutable_array()) = xt::repeat(tensor.array(), times, 1);
  return result;
}

// Wrong ways to make `heads` heads of fewer: 1, 2, 1, 2, then 1, 1, 1, 1, then the tokens repeated.
using HeadSharing = Tensor (*)(const Tensor& shared, std::size_t heads);

Tensor tile_heads(const Tensor& shared, std::size_t heads) {
  const std::size_t few = head_count(shared);
  return with_heads(shared, heads, [&](std::size_t head) { return head % few; });
}

Tensor first_head_repeated(const Tensor& shared, std::size_t heads) {
  return with_heads(shared, heads, [](std::size_t) { return std::size_t{0}; });
}

Tensor reshaped_tokens(const Tensor& shared, std::size_t heads) {
  const Tensor longer = with_tokens_repeated(shared, heads / head_count(shared));
  return reshape_only(longer, tile_heads(shared, heads));
}

constexpr OptionRule repeat_options[] = {
    {.name = "times",
     .help = "how many query heads share a head: each is repeated so many times",
     .numbers = OptionRule::Numbers::whole,
     .required = true},
};

std::size_t times_of(const Call& call) {
  constexpr double most = 4096;
  const double times = call.options->number("times", 1);
  if (times < 1 || times > most) {
    refuse(call, fmt::format("each head is repeated at least once, and at most {} times, not {}",
                             most, times));
  }
  return static_cast<std::size_t>(times);
}

struct RepeatKv {
  static std::string code_of(const Call& call) {
    return fmt::format("np.repeat({{0}}, {0}, axis=-3)\n{{0}}.repeat_interleave({0}, dim=-3)",
                       times_of(call));
  }

  static Form form(const Call& call) {
    return {{"row column"},
            "row column",
            fmt::format("each head of {{0}}, {} times", call.options->number("times", 1))};
  }

  static auto cell(const auto& c) { return copied_head(c, 0, times_of(*c.call)); }

  static Tensor compute(const Call& call) {
    refuse_without_heads(call, " to repeat");
    return repeat_interleaved(*call.inputs[0], head_count(*call.inputs[0]) * times_of(call));
  }
};

// The shared heads, those of a product's second operand or of repeat_kv, dealt out wrongly; empty
// if they are not shared.
template <HeadSharing dealing>
Versions dealt(const StepView& step) {
  const bool repeats = step.operation == &repeat_kv_operation;
  const Tensor& shared = step.operand(repeats ? 0 : 1);
  const std::size_t few = head_count(shared);
  const std::size_t heads = repeats ? few * times_of(call_of(step)) : head_count(step.operand());
  if (few < 2 || heads <= few || heads % few != 0) return {};
  return {dealing(shared, heads)};
}

Versions tokens_repeated(const StepView& step) {
  Versions results = dealt<reshaped_tokens>(step);
  const std::size_t times = times_of(call_of(step));
  if (times > 1) results.push_back(with_tokens_repeated(step.operand(), times));
  return results;
}

constexpr Mistake repeat_mistakes[] = {
    {"gqa.tiled", tiled_heads.says, tiled_heads.hint, tiled_groups},
    {"gqa.first-only", first_head_only.says, first_head_only.hint, first_head_of_groups},
    {"gqa.tokens-repeated", repeated_tokens.says, repeated_tokens.hint, tokens_repeated},
    other_heads,
};

// The gradient of a head: the sum over its copies.
struct GradGroup : OwnCells, FixedForm<"the sums of {0} over each group of heads"> {
  static constexpr GradientWords words{
      "Back to the head that the group shares",
      "Every copy of a head has a gradient. Those of a group are added up.",
      "There are as many heads as before they were repeated."};

  static std::string code_of(const Call& call) {
    const Tensor& own = *call.inputs[self];
    const std::string sizes = code_list(own.shape());
    const std::size_t heads = sizes.rfind(", ", sizes.rfind(", ") - 1);
    return fmt::format("{{r0}}.reshape({}, {}{}).sum(-3)", sizes.substr(0, heads), times_of(call),
                       sizes.substr(heads));
  }

  static auto cell(const auto& c) { return summed_heads(c, grad_output, times_of(*c.call)); }
};

Versions one_copy_only(const StepView& step) {
  const Call call = call_of(step);
  const std::size_t times = times_of(call);
  Versions results;
  for (std::size_t t = 0; times > 1 && t < times; ++t) {
    results.push_back(with_heads(step.operand(grad_output), head_count(step.operand(self)),
                                 [&](std::size_t head) { return head * times + t; }));
  }
  return results;
}

constexpr Mistake repeat_backward_mistakes[] = {
    {"backward.heads-not-summed", "One copy's gradient stands for the whole group.",
     "Each query head of the group sends a gradient back: add them up.", one_copy_only},
};

}  // namespace

constinit const Operation sum_heads_operation = operation_of<SumHeads>({
    .name = "sum_heads",
    .title = "Add up the heads",
    .says = "Each head proposes a change to every token's row. The changes are added.",
    .notice = "This equals joining the heads and multiplying by the whole of W_O.",
    .operands = R"(["changes"])",
    .needs_heads = has_axis_of_heads,
    .mistakes = sum_heads_mistakes,
    .backward = backward_by<GradHeads>,
});

constinit const Operation switch_off_operation = operation_of<SwitchOff>({
    .name = "switch_off",
    .title = "Switch one head off",
    .says = "All numbers of one head become 0; the other heads stay. What the model can't do "
            "without the head shows what the head is for.",
    .notice = "Only one head has changed.",
    .operands = R"(["context"])",
    .options = switch_off_options,
    .needs_heads = has_axis_of_heads,
    .backward = backward_by<GradOthers>,
});

bool has_heads(const Tensor& tensor) {
  const std::size_t leading = tensor.leading_axes();
  return leading > 0 && tensor.axes[leading - 1].name != "batch";
}

std::size_t head_count(const Tensor& tensor) {
  return has_heads(tensor) ? tensor.axes[tensor.leading_axes() - 1].size : 1;
}

void refuse_without_heads(const Call& call, std::string_view what) {
  if (has_heads(*call.inputs[0])) return;
  refuse(call, fmt::format("{} has no axis of heads{}", operand_text(call, 0), what));
}

void require_one_per_head(const Call& call, std::string_view what) {
  const std::size_t heads = head_count(*call.inputs[0]);
  if (call.inputs[1]->values.size() == heads) return;
  refuse(call, fmt::format("{} must be a vector of {} {}, one for each head of {}",
                           operand_text(call, 1), heads, what, operand_text(call, 0)));
}

Tensor with_heads(const Tensor& tensor, std::size_t heads,
                  const std::function<std::size_t(std::size_t)>& taken) {
  const std::size_t few = head_count(tensor);
  AxisRoles axes(tensor);
  axes.heads = Axis{.name = axes.heads ? axes.heads->name : "head", .size = heads};
  Tensor result = uninitialised(axes.all());
  result.dot_width = tensor.dot_width;
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    std::ranges::copy(tensor.cells(m / heads * few + taken(m % heads)),
                      result.mutable_cells(m).begin());
  }
  return result;
}

Versions by_heads(const Tensor& tensor, std::size_t heads, Matrix (*formula)(const Matrix&)) {
  if (heads < 2) return {};
  Tensor result = uninitialised_like(tensor);
  const std::size_t size = heads * tensor.rows() * tensor.columns();
  const std::array shape = {heads, tensor.rows() * tensor.columns()};
  for (std::size_t first = 0; first < tensor.values.size(); first += size) {
    xt::noalias(view_as<2>(result.values.mutable_span().subspan(first, size), shape)) =
        formula(view_as<2>(tensor.values.part(first, size), shape));
  }
  return {std::move(result)};
}

Versions one_head_in_all(const Tensor& tensor, std::size_t most) {
  const std::size_t heads = head_count(tensor);
  if (heads < 2 || heads > most_other_heads || tensor.values.empty()) return {};
  return mapped_places(std::min(heads, most), [&](std::size_t head) {
    return with_heads(tensor, heads, [head](std::size_t) { return head; });
  });
}

Versions with_other_heads(const StepView& step) {
  constexpr std::size_t many_numbers = std::size_t{1} << 18;  // then only the first one is tried
  const auto& known = step.operation->mistakes;
  const bool has_reversed = contains(known, "heads.reversed", &Mistake::id);
  const bool makes_heads = step.operation == &split_heads_operation;
  Versions results;
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const Tensor all = makes_heads ? step.operation->compute(call_of(step)) : step.operand(k);
    const std::size_t heads = head_count(all);
    Versions others = one_head_in_all(all, all.values.size() > many_numbers ? 1 : heads);
    if (others.empty()) continue;
    const auto add_neighbours = [&](std::size_t next) {
      const auto taken = [&](std::size_t head) { return (head + next) % heads; };
      others.push_back(with_heads(all, heads, taken));
    };
    // Two heads that change places are in reverse order.
    if (heads > 2 || !has_reversed) add_neighbours(1);
    if (heads > 2) add_neighbours(heads - 1);
    for (Tensor& other : others) {
      results.push_back(makes_heads ? std::move(other) : with_operand(step, k, other));
    }
  }
  return results;
}

Versions transposed_side_by_side(const Tensor& heads) {
  const std::size_t count = heads.matrices(), width = heads.columns();
  if (count < 2 || count * width != heads.rows()) return {};
  Tensor result = uninitialised_like(heads);
  const auto blocks = view_as<4>(heads.values, {count, count, width, width});
  put(xt::transpose(blocks, {1, 0, 3, 2}), result.values.mutable_span());
  return {std::move(result)};
}

Tensor dealt_out_to_heads(const Tensor& joined, const Tensor& heads) {
  const auto [batch, h, n, d] = heads.array<4>().shape();
  const auto columns = view_as<4>(joined.values, {batch, n, d, h});
  return with_numbers(heads, xt::transpose(columns, {0, 3, 1, 2}));
}

Tensor reshape_only(const Tensor& numbers, const Tensor& shape) {
  return {.axes = shape.axes, .values = numbers.values, .dot_width = shape.dot_width};
}

constinit const Operation repeat_kv_operation = operation_of<RepeatKv>({
    .name = "repeat_kv",
    .title = "Repeat each head for its group of query heads",
    .says = "There are fewer heads of keys and values than of queries: a group of query heads "
            "shares one. Here each head is repeated once for each member of its group.",
    .notice = "Neighbours are equal: heads 1 and 2 of a group of two are the same.",
    .operands = R"(["K"])",
    .options = repeat_options,
    .needs_heads = has_axis_of_heads,
    .mistakes = repeat_mistakes,
    .backward = backward_by<WithMistakes<GradGroup, repeat_backward_mistakes>>,
});

Tensor repeat_interleaved(const Tensor& shared, std::size_t heads) {
  const std::size_t times = heads / std::max<std::size_t>(head_count(shared), 1);
  return with_heads(shared, heads, [&](std::size_t head) { return head / times; });
}

Versions tiled_groups(const StepView& step) { return dealt<tile_heads>(step); }
Versions first_head_of_groups(const StepView& step) { return dealt<first_head_repeated>(step); }
Versions tokens_of_groups(const StepView& step) { return dealt<reshaped_tokens>(step); }

}  // namespace qkv::inline ops
