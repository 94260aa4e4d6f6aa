#include "ops/heads/grouped_queries.hpp"

#include "ops/code.hpp"
#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/move.hpp"

namespace qkv::inline ops {
namespace {

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
     .help = "how many query heads share a head: each is repeated so many times in a row",
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
    const std::size_t times = times_of(call);
    return fmt::format("np.repeat({{0}}, {0}, axis=-3)\n{{0}}.repeat_interleave({0}, dim=-3)",
                       times);
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

// `heads` heads of fewer, dealt out wrongly; empty if they are not shared.
Versions dealt(HeadSharing dealing, const Tensor& shared, std::size_t heads) {
  const std::size_t few = head_count(shared);
  if (few < 2 || heads <= few || heads % few != 0) return {};
  return {dealing(shared, heads)};
}

template <HeadSharing dealing>
Versions repeated_by(const StepView& step) {
  return dealt(dealing, step.operand(), head_count(step.operand()) * times_of(call_of(step)));
}

Versions tokens_repeated(const StepView& step) {
  Versions results = repeated_by<reshaped_tokens>(step);
  const std::size_t times = times_of(call_of(step));
  if (times > 1) results.push_back(with_tokens_repeated(step.operand(), times));
  return results;
}

constexpr Mistake repeat_mistakes[] = {
    {"gqa.tiled", tiled_heads.says, tiled_heads.hint, repeated_by<tile_heads>},
    {"gqa.first-only", first_head_only.says, first_head_only.hint,
     repeated_by<first_head_repeated>},
    {"gqa.tokens-repeated", repeated_tokens.says, repeated_tokens.hint, tokens_repeated},
    other_heads,
};

// The gradient of a head: the sum over its copies.
struct GradGroup : OwnCells {
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

  static Form form(const Call&) {
    return {{"row column"}, "row column", "the sums of {0} over each group of heads"};
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

constinit const Operation repeat_kv_operation = operation_of<RepeatKv>({
    .name = "repeat_kv",
    .title = "Repeat each head for its group of query heads",
    .says = "There are fewer heads of keys and values than of queries: a group of query heads "
            "shares one. Here each head is repeated once for each member of its group, in a row.",
    .notice = "Neighbours are equal: heads 1 and 2 of a group of two are the same.",
    .operands = R"(["K"])",
    .options = repeat_options,
    .mistakes = repeat_mistakes,
    .backward = backward_by<WithMistakes<GradGroup, repeat_backward_mistakes>>,
});

Tensor repeat_interleaved(const Tensor& shared, std::size_t heads) {
  const std::size_t times = heads / std::max<std::size_t>(head_count(shared), 1);
  return with_heads(shared, heads, [&](std::size_t head) { return head / times; });
}

Versions tiled_groups(const StepView& step) {
  return dealt(tile_heads, step.operand(1), head_count(step.operand(0)));
}

Versions first_head_of_groups(const StepView& step) {
  return dealt(first_head_repeated, step.operand(1), head_count(step.operand(0)));
}

Versions tokens_of_groups(const StepView& step) {
  return dealt(reshaped_tokens, step.operand(1), head_count(step.operand(0)));
}

}  // namespace qkv::inline ops
