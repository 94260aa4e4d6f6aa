#include "ops/kinds/move.hpp"

namespace qkv::inline ops {
namespace {

struct Append
    : FormByRows<"the rows of {0}, then those of {1}", "row column", "row column", "inner column"> {
  // Leading axes that one operand lacks repeat.
  static std::string code_of(const Call& call) {
    const std::string leading = code_leading(frame_of(call, form(call)));
    std::string parts;
    for (std::size_t k = 0; k < 2; ++k) {
      const Tensor& part = *call.inputs[k];
      parts += k == 0 ? "" : ", ";
      parts += code_leading(part) == leading
                   ? fmt::format("{{r{}}}", k)
                   : fmt::format("{{np}}.broadcast_to({{r{}}}, ({}{}, {}))", k, leading,
                                 part.rows(), part.columns());
    }
    return fmt::format("{{cat}}([{}], {{axis}}=-2)", parts);
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto past = c(0);
    if (c.row < past.rows) return past(c.row, c.column);
    return c(1)(c.row - past.rows, c.column);
  }

  static Tensor compute(const Call& call) {
    AxisRoles axes(frame_of(call, form(call)));
    const Axis past = call.inputs[0]->row_axis();
    const Axis added = call.inputs[1]->row_axis();
    axes.rows = joined(past.name.empty() ? added.name : past.name, {past, added});
    return cell_by_cell(call, uninitialised(axes.all()), evaluated<Append, double>);
  }
};

// The result with row `taken(row)` in place of each row from `first` on.
template <class Taken>
Tensor with_rows(const StepView& step, std::size_t first, Taken taken) {
  return by_matrix(Append::compute(call_of(step)), [&](const MatrixView& all) -> Matrix {
    Matrix rows = all;
    for (std::size_t t = first; t < all.shape(0); ++t) {
      xt::view(rows, t, xt::all()) = xt::view(all, taken(t), xt::all());
    }
    return rows;
  });
}

// Row t has the numbers of row t − 1: for all rows, or only for the new ones.
Versions stale(const StepView& step) {
  const std::size_t past = step.operand().rows();
  const auto before = [](std::size_t t) { return t - 1; };
  Versions results;
  if (past > 0) results.push_back(with_rows(step, past, before));
  results.push_back(with_rows(step, 1, before));
  return results;
}

// The new rows, or the newest one, left out or set to 0.
Versions not_appended(const StepView& step) {
  const Tensor all = Append::compute(call_of(step));
  const std::size_t past = step.operand().rows();
  Versions results;
  for (const std::size_t kept : {past, all.rows() == 0 ? 0 : all.rows() - 1}) {
    Block first = Block::of(all);
    first.rows.to = kept;
    AxisRoles axes(all);
    axes.rows = {.name = axes.rows.name, .size = kept};
    results.push_back(block_of(all, uninitialised(axes.all()), first));
    const std::span<double> left = results.emplace_back(all).values.mutable_span();
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!first.rows.has(i / all.columns() % all.rows())) left[i] = 0;
    }
  }
  return results;
}

constexpr Mistake append_mistakes[] = {
    {"cache.stale", "A row holds the numbers of the one before it.",
     "Each new token brings a row of its own.", stale, zeros_evidence},
    {"cache.not-appended", "The newest row is missing, or was left at 0.",
     "The new rows come after those that were there.", not_appended, zeros_evidence},
    other_heads,
};

// The gradient of the first rows goes to the past, that of the others to the new rows.
template <bool is_new>
struct AppendBackward {
  static std::string code_of(const Call& call) {
    const std::size_t rows = call.inputs[self]->rows();
    const std::size_t all = call.inputs[grad_output]->rows();
    return fmt::format("{{r0}}[..., {}:{}, :]", is_new ? all - rows : 0, is_new ? all : rows);
  }

  static Form form(const Call&) {
    return with_columns({{"token column", "row column"},
                         "row column",
                         is_new ? "the last rows of {0}" : "the first rows of {0}"});
  }

  static Block block(const Tensor& change, const Tensor& own) {
    Block block = Block::of(change);
    (is_new ? block.rows.from : block.rows.to) = is_new ? change.rows() - own.rows() : own.rows();
    return block;
  }

  static auto cell(const auto& c) {
    return block_cell(c, grad_output, block(c.input(grad_output), c.input(self)));
  }
};

constexpr GradientWords past_words{
    "Back to the earlier rows",
    "These rows came first, unchanged: they get the gradients of their own places.",
    "The numbers are only copied."};

constexpr GradientWords new_rows_words{
    "Back to the new rows",
    "These rows came last, unchanged: they get the gradients of their own places.",
    "The numbers are only copied."};

constexpr OptionRule take_options[] = {
    {.name = "rows", .help = "which rows are taken", .span = true, .swapped_name = "columns"},
    {.name = "columns", .help = "which columns are taken", .span = true, .swapped_name = "rows"},
    {.name = "heads", .help = "which heads are taken", .span = true},
};

Indices taken_of(const Call& call, std::size_t k, std::string_view option, std::size_t all) {
  const OptionValue* value = call.options->find(option);
  if (!value) return {0, all};
  const OptionSpan& span = std::get<OptionSpan>(*value);
  if (span[1] > static_cast<double>(all)) {
    refuse(call, fmt::format("{} = [{}, {}], but {} has {}", option, span[0], span[1],
                             operand_text(call, k), all));
  }
  return {static_cast<std::size_t>(span[0]) - 1, static_cast<std::size_t>(span[1])};
}

// The block that is taken of operand `k`.
Block taken_block(const Call& call, std::size_t k = 0) {
  const Tensor& all = *call.inputs[k];
  return {taken_of(call, k, "heads", head_count(all)), taken_of(call, k, "rows", all.rows()),
          taken_of(call, k, "columns", all.columns())};
}

// The axis with the labels that remain; a batch's labels differ by sentence and are dropped.
Axis cut(Axis axis, const Indices& taken) {
  if (taken.size() == axis.size) return axis;
  const bool has_names = axis.labels.size() == axis.size;
  std::vector<std::string> labels;
  for (std::size_t i = taken.from; has_names && i < taken.to; ++i) labels.push_back(axis.labels[i]);
  return {.name = axis.name, .size = taken.size(), .labels = std::move(labels)};
}

// A block's place among the last axes of a tensor, as code.
std::string code_of_block(const Tensor& whole, const Block& block) {
  const auto slice = [](Indices of) { return fmt::format("{}:{}", of.from, of.to); };
  const std::string heads = has_heads(whole) ? ", " + slice(block.heads) : "";
  return fmt::format("[...{}, {}, {}]", heads, slice(block.rows), slice(block.columns));
}

struct Take {
  static std::string code_of(const Call& call) {
    return "{r0}" + code_of_block(*call.inputs[0], taken_block(call));
  }

  static Form form(const Call& call) {
    std::string what;
    for (const OptionRule& rule : take_options) {
      const OptionValue* value = call.options->find(rule.name);
      if (!value) continue;
      const auto [from, to] = std::get<OptionSpan>(*value);
      const bool is_plain = call.token_layout == TokenLayout::rows || rule.swapped_name.empty();
      const std::string name(is_plain ? rule.name : rule.swapped_name);
      what += (what.empty() ? "" : ", ") +
              (from == to ? fmt::format("{} {}", name.substr(0, name.size() - 1), from)
                          : fmt::format("{} {} to {}", name, from, to));
    }
    return {{"row column"}, "row column", (what.empty() ? "all" : what) + " of {0}"};
  }

  static auto cell(const auto& c) { return block_cell(c, 0, taken_block(*c.call)); }

  static Tensor compute(const Call& call) {
    const Block part = taken_block(call);
    const Tensor& all = *call.inputs[0];
    AxisRoles axes(all);
    axes.columns = cut(axes.columns, part.columns);
    axes.rows = cut(axes.rows, part.rows);
    if (axes.heads && has_heads(all)) axes.heads = cut(*axes.heads, part.heads);
    if (!has_heads(all) && call.options->has("heads")) {
      refuse_without_heads(call, " to take some of");
    }
    Tensor result = uninitialised(axes.all());
    result.dot_width = all.dot_width;
    return block_of(all, std::move(result), part);
  }
};

// Cells that were taken get their gradient, all others 0.
struct GradTaken : OwnCells, FixedForm<"{0} where it was taken from, else 0"> {
  static constexpr GradientWords words{
      "Back to the whole matrix",
      "The part that was taken gets its gradients. The rest does not change the loss.",
      "The zeros are where nothing was taken."};

  static std::string code_of(const Call& call) {
    return fmt::format("g = {{np}}.zeros_like({{r1}}); g{} = {{r0}}; {{=}}g",
                       code_of_block(*call.inputs[self], taken_block(call, self)));
  }

  static auto cell(const auto& c) {
    return padded_cell(c, grad_output, taken_block(*c.call, self));
  }
};

}  // namespace

constinit const Operation append_operation = operation_of<Append>({
    .name = "append",
    .title = "Add the new rows to the cache",
    .says = "The rows of earlier tokens do not change when a new token comes. So they are kept, "
            "and the new token's row is put after them. That is the key/value cache.",
    .notice = "The earlier rows are the same as before.",
    .operands = R"(["past_K", "K_new"])",
    .mistakes = append_mistakes,
    .backward = backward_by<Repeated<WithWords<AppendBackward<false>, past_words>>,
                            Repeated<WithWords<AppendBackward<true>, new_rows_words>>>,
});

constinit const Operation take_operation = operation_of<Take>({
    .name = "take",
    .title = "Take a part",
    .says = "Some rows, columns or heads are taken out of the matrix.",
    .notice = "The numbers are only copied.",
    .operands = R"(["X"])",
    .options = take_options,
    .needs_heads = [](std::size_t, const Options& options) { return options.has("heads"); },
    .backward = backward_by<GradTaken>,
});

}  // namespace qkv::inline ops
