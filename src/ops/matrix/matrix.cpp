#include "ops/kinds/cellwise.hpp"

#include "ops/kinds/line.hpp"
#include "ops/kinds/move.hpp"
#include "ops/kinds/product.hpp"

// Matrix product, transpose, one number for each row or column (the largest, the sum, the mean),
// and blocks of rows, columns or heads that are appended or taken.

namespace qkv::inline ops {
namespace {

using Matmul = ProductMaths<RowsTimesColumns>;  // [row inner]·[inner column] → [row column]

constexpr GradientWords left_words{"Back to the left matrix",
                                   "The gradient of the left matrix is the product's gradient "
                                   "times the right matrix, transposed.",
                                   "It has the shape of the left matrix."};

constexpr GradientWords right_words{"Back to the right matrix",
                                    "The gradient of the right matrix is the left matrix, "
                                    "transposed, times the product's gradient.",
                                    "It has the shape of the right matrix."};

struct Transpose : FixedForm<"{0}ᵀ", "column row", "row column"> {
  static auto cell(const auto& c) { return c(0)(c.column, c.row); }

  static Tensor compute(const Call& call) {
    Tensor operand = as_matrix(*call.inputs[0]);
    operand.dot_width = 0;
    return transposed(operand);
  }
};

struct GradTransposed : Transpose, OwnCells {
  static constexpr GradientWords words{"Back through the transpose",
                                       "The gradient is transposed, as the matrix was.",
                                       "The same numbers, each in the place of its cell before."};
};

// An empty row has no largest number and no mean.
void refuse_empty(const Call& call) {
  const Tensor& numbers = *call.inputs[0];
  if ((is_columnwise(call) ? numbers.rows() : numbers.columns()) > 0) return;
  refuse(call, operand_text(call, 0) + " has no numbers to work with");
}

template <class N>
N sum_of(const Line<N>& line) {
  return sum<N>(line.size(), line);
}

// One number for each line.
template <FormulaText what>
struct RowStatistic {
  static Form form(const Call& call) {
    refuse_empty(call);
    Form form = form_of_lines(call, std::string(what.letters) + " ", " of {0}");
    form.output = is_columnwise(call) ? "1 column" : "row 1";
    return form;
  }
};

struct RowMax : RowStatistic<"the largest of"> {
  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return nan_max_of<N>(line.size(), line);
  }

  static constexpr std::string_view code = "{0}.{amax}({keep})";
};

struct RowSum : RowStatistic<"the sum of"> {
  static constexpr std::string_view code = "{0}.sum({keep})";

  static auto cell(const auto& c) { return sum_of(line_of(c)); }
};

struct RowMean : RowStatistic<"the mean of"> {
  static auto cell(const auto& c) {
    const auto line = line_of(c);
    return sum_of(line) / static_cast<double>(line.size());
  }

  static constexpr std::string_view code = "{0}.mean({keep})";
};

Form form_of_gradient(const Call& call, std::string formula) {
  return {
      {is_columnwise(call) ? "1 column" : "row 1", "row column"}, "row column", std::move(formula)};
}

struct GradMax {
  static constexpr GradientWords words{
      "Back to the largest of each row",
      "Only the largest number of a row is in the result. So it gets the gradient, and the others "
      "get 0. Several that are equally large share it.",
      "All numbers of a row but the largest have gradient 0."};

  static constexpr std::string_view code =
      "m = {1} == {1}.{amax}({keep}); {=}{0} * m / m.sum({keep})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, where {1} is largest"); }

  static auto cell(const auto& c) {
    return line_max_backward(repeated(c(grad_output), c), line_of(c, self), index_in_line(c));
  }
};

struct GradSum {
  static constexpr GradientWords words{
      "Back to the numbers of each row",
      "The sum changes by as much as each number does, so all get the gradient of the sum.",
      "It is the same in the whole row."};

  static constexpr std::string_view code = "{0} * {np}.ones_like({1})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, the same for all"); }
  static auto cell(const auto& c) { return repeated(c(grad_output), c); }
};

struct GradMean {
  static constexpr GradientWords words{
      "Back to the numbers of each row",
      "Each of the n numbers of a row changes the mean by 1/n, so each gets 1/n of its gradient.",
      "It is the same in the whole row."};

  static double count(const Call& call) {
    const Tensor& numbers = *call.inputs[self];
    return static_cast<double>(is_columnwise(call) ? numbers.rows() : numbers.columns());
  }

  static std::string code_of(const Call& call) {
    return fmt::format("{{0}} * {{np}}.ones_like({{1}}) / {}", count(call));
  }

  static Form form(const Call& call) {
    return form_of_gradient(call, fmt::format("{{0}} / {}", count(call)));
  }

  static auto cell(const auto& c) { return repeated(c(grad_output), c) / count(*c.call); }
};

struct Append
    : FormByRows<"the rows of {0}, then those of {1}", "row column", "row column", "inner column"> {
  // Leading axes that one operand lacks repeat.
  static std::string code_of(const Call& call) {
    const std::string leading = code_leading(frame_of(call, form(call)));
    const auto part = [&](std::size_t k) {
      const Tensor& rows = *call.inputs[k];
      return code_leading(rows) == leading ? fmt::format("{{r{}}}", k)
                                           : fmt::format("{{np}}.broadcast_to({{r{}}}, ({}{}, {}))",
                                                         k, leading, rows.rows(), rows.columns());
    };
    return fmt::format("{{cat}}([{}, {}], {{axis}}=-2)", part(0), part(1));
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

constinit const Operation matmul_operation = operation_of<Matmul>({
    .name = "matmul",
    .title = "Multiply two matrices",
    .says = "Each cell of the result is a row of the first matrix times a column of the second: "
            "multiply pair by pair, then add.",
    .notice = "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
              "of the left one.",
    .operands = R"(["A", "B"])",
    .reverses_operands = true,
    .backward = backward_by<GradFirst<RowsTimesColumns, left_words>,
                            GradSecond<RowsTimesColumns, right_words>>,
});

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Transpose the matrix",
    .says = "The first row becomes the first column, and so on.",
    .notice = "The numbers are the same; the two indices of each are exchanged.",
    .operands = R"(["A"])",
    .backward = backward_by<GradTransposed>,
});

constinit const Operation row_max_operation = operation_of<RowMax>({
    .name = "row_max",
    .title = "Take the largest number of each row",
    .says = "The largest number of each row is taken. The result is one column.",
    .notice = "In which column was each of them?",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMax>,
});

constinit const Operation row_sum_operation = operation_of<RowSum>({
    .name = "row_sum",
    .title = "Add up each row",
    .says = "The numbers of each row are added up. The result is one column.",
    .notice = "A row divided by its sum would sum to 1.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradSum>,
});

constinit const Operation row_mean_operation = operation_of<RowMean>({
    .name = "row_mean",
    .title = "Take the mean of each row",
    .says = "The numbers of each row are added up and divided by how many there are. The result is "
            "one column.",
    .notice = "Each mean lies between the smallest and the largest of its row.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMean>,
});

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
