#include "ops/kinds/move.hpp"

namespace qkv::inline ops {
namespace {

constexpr OptionRule concat_options[] = {
    {.name = "heads",
     .help = "how many heads there are to join, as a check",
     .numbers = OptionRule::Numbers::whole},
};

bool joins_one_tensor(const Call& call) { return call.inputs.size() == 1; }

std::size_t heads_in(const Call& call) {
  return joins_one_tensor(call) ? head_count(*call.inputs[0]) : call.inputs.size();
}

void check_joined_operands(const Call& call) {
  const Tensor& first = *call.inputs[0];
  if (joins_one_tensor(call)) {
    refuse_without_heads(call,
                         "; write of = [\"context_1\", \"context_2\"] to join several matrices");
  }
  for (std::size_t k = 1; k < call.inputs.size(); ++k) {
    const Tensor& other = *call.inputs[k];
    if (other.rows() == first.rows() && other.matrices() == first.matrices() &&
        other.rank() == first.rank()) {
      continue;
    }
    refuse(call, fmt::format("{} and {} don't have the same rows to put side by side",
                             operand_text(call, 0), operand_text(call, k)));
  }
  const auto heads = static_cast<double>(heads_in(call));
  if (const double said = call.options->number("heads", heads); said != heads) {
    refuse(call, fmt::format("heads is {}, but {} has {}", said, call.names[0], heads));
  }
}

// Returns `heads` with a block of the columns in each head.
Tensor cut_into_heads(const Tensor& joined, Tensor heads) {
  const auto [batch, h, n, d] = heads.array<4>().shape();
  put(xt::transpose(view_as<4>(joined.values, {batch, n, h, d}), {0, 2, 1, 3}),
      heads.values.mutable_span());
  return heads;
}

// Returns a cell of the heads that operand `k` was cut into, by its columns from `first` on or
// rows.
enum class CutAxis { columns, rows };
template <class N>
N cut_cell(const Cell<N>& c, std::size_t k, CutAxis axis, std::size_t first = 0) {
  const std::size_t heads = c.output->matrices() / c.input(k).matrices();
  const std::size_t head = c.matrix % heads;
  const auto whole = c.of(k, c.matrix / heads);
  return axis == CutAxis::rows ? whole(head * c.output->rows() + c.row, c.column)
                               : whole(c.row, first + head * c.output->columns() + c.column);
}

// Returns a cell of the heads of operand `k` joined again.
template <class N>
N joined_cell(const Cell<N>& c, std::size_t k, CutAxis axis) {
  const Tensor& parts = c.input(k);
  const bool rows = axis == CutAxis::rows;
  const std::size_t head = rows ? c.row / parts.rows() : c.column / parts.columns();
  const auto part = c.of(k, c.matrix * head_count(parts) + head);
  return rows ? part(c.row % parts.rows(), c.column) : part(c.row, c.column % parts.columns());
}

// The code that cuts a tensor into heads, and that puts its heads together.
std::string code_of_cut(const Tensor& whole, std::size_t heads, CutAxis axis) {
  const std::string leading = code_leading(whole);
  if (axis == CutAxis::rows) {
    return fmt::format("{{r0}}.reshape({}{}, {}, {})", leading, heads, whole.rows() / heads,
                       whole.columns());
  }
  return fmt::format("{{r0}}.reshape({}{}, {}, {}).swapaxes(-3, -2)", leading, whole.rows(), heads,
                     whole.columns() / heads);
}

std::string code_of_joined(const Tensor& parts, CutAxis axis) {
  std::string leading = code_leading(parts);
  leading.erase(leading.rfind(' ', leading.size() - 2) + 1);  // but for the heads
  const std::size_t heads = parts.axes[parts.rank() - 3].size;
  const bool rows = axis == CutAxis::rows;
  return fmt::format("{{r0}}{}.reshape({}{}, {})", rows ? "" : ".swapaxes(-3, -2)", leading,
                     parts.rows() * (rows ? heads : 1), parts.columns() * (rows ? 1 : heads));
}

struct ConcatHeads {
  static std::string code_of(const Call& call) {
    if (joins_one_tensor(call)) return code_of_joined(*call.inputs[0], CutAxis::columns);
    std::string all;
    for (std::size_t k = 0; k < call.inputs.size(); ++k)
      all += fmt::format("{}{{{}}}", k == 0 ? "" : ", ", k);
    return fmt::format("{{cat}}([{}], {{dim}})", all);
  }

  static Form form(const Call& call) {
    if (joins_one_tensor(call)) {
      return {{"row column"},
              "row column",
              "the heads of {0} side by side",
              "the heads of {0} on top of each other"};
    }
    std::string formula = "{0}";
    for (std::size_t k = 1; k < call.inputs.size(); ++k) formula += fmt::format(" | {{{}}}", k);
    return {{"row column"}, "row column", formula, formula};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (joins_one_tensor(*c.call)) return joined_cell(c, 0, CutAxis::columns);
    std::size_t column = c.column;
    std::size_t k = 0;
    while (column >= c.input(k).columns()) column -= c.input(k++).columns();
    return c.of(k, c.matrix)(c.row, column);
  }

  static Tensor compute(const Call& call) {
    check_joined_operands(call);
    const Tensor& first = *call.inputs[0];
    AxisRoles axes(first);
    axes.columns = {.name = "h·" + axes.columns.name};
    if (joins_one_tensor(call)) {
      axes.heads.reset();
      axes.columns.size = head_count(first) * first.columns();
      Tensor joined = uninitialised(axes.all());
      put(xt::transpose(first.array<4>(), {0, 2, 1, 3}), joined.values.mutable_span());
      return joined;
    }
    const auto columns_of = [](const Tensor* head) { return head->axes.back(); };
    axes.columns = joined(axes.columns.name, mapped(call.inputs, columns_of));
    return cell_by_cell(call, uninitialised(axes.all()), evaluated<ConcatHeads, double>);
  }
};

// Column j of head k becomes column j · heads + k of its row.
Versions joined_interleaved(const StepView& step) {
  const Call call = call_of(step);
  if (!joins_one_tensor(call)) return {};
  Tensor joined = ConcatHeads::compute(call);
  put(xt::transpose(call.inputs[0]->array<4>(), {0, 2, 3, 1}), joined.values.mutable_span());
  return {std::move(joined)};
}

// x.reshape(n, h·d_v) alone: the rows of head 1 fill the first tokens' rows.
Versions joined_by_reshape(const StepView& step) {
  const Call call = call_of(step);
  if (!joins_one_tensor(call)) return {};
  return {reshape_only(*call.inputs[0], ConcatHeads::compute(call))};
}

Versions joined_in_reverse(const StepView& step) {
  Call call = call_of(step);
  if (joins_one_tensor(call)) {
    const Tensor& heads = step.operand();
    return {with_operand(step, 0, with_numbers(heads, xt::flip(heads.array<4>(), 1)))};
  }
  std::reverse(call.inputs.begin(), call.inputs.end());
  return {ConcatHeads::compute(call)};
}

Versions summed(const StepView& step) {
  const Call call = call_of(step);
  if (joins_one_tensor(call)) {
    const Tensor sum = sum_heads_operation.compute(call);
    const Tensor repeated = with_numbers(
        step.operand(), xt::view(sum.array(), xt::all(), xt::newaxis(), xt::all(), xt::all()) +
                            0.0 * step.operand().array<4>());
    return {sum, with_operand(step, 0, repeated)};
  }
  Tensor sum = *call.inputs[0];
  for (const Tensor* other : std::span(call.inputs).subspan(1)) {
    if (other->shape() != sum.shape()) return {};
    sum = with_numbers(sum, sum.array() + other->array());
  }
  return {std::move(sum)};
}

Versions averaged(const StepView& step) {
  const auto heads = static_cast<double>(heads_in(call_of(step)));
  Versions results = summed(step);
  for (Tensor& sum : results) sum = with_numbers(sum, sum.array() / heads);
  return results;
}

constexpr Mistake concat_heads_mistakes[] = {
    {"heads.interleaved", "The columns of the heads were dealt out in turn.",
     "First all columns of head 1, then all of head 2.", joined_interleaved},
    {"heads.interleaved",
     "The numbers were counted off row by row, head after head (a reshape alone).",
     "A token's row holds what every head found for it: put the tokens before the heads, then "
     "join.",
     joined_by_reshape},
    {"heads.reversed", "The heads were joined in reverse order.", "Head 1 comes first.",
     joined_in_reverse},
    {"heads.summed", "The heads were added up instead of put side by side.",
     "Joining keeps every column.", summed},
    {"heads.averaged", "The heads were averaged instead of put side by side.",
     "Joining keeps every column.", averaged},
    other_heads,
};

// Each head gets the gradient of its own columns.
struct GradJoined : OwnCells, FormByRows<"the columns of {0} that are {1}'s"> {
  static constexpr GradientWords words{
      "Back to the heads", "The heads were joined, so each gets the gradients of its own columns.",
      "No number changes; only where it stands."};

  static std::string code_of(const Call& call) {
    const Tensor& own = *call.inputs[self];
    if (own.matrices() != call.inputs[grad_output]->matrices()) {
      return code_of_cut(*call.inputs[grad_output], head_count(own), CutAxis::columns);
    }
    const std::size_t first = first_column(call);
    return fmt::format("{{r0}}[..., {}:{}]", first, first + own.columns());
  }

  // The joined column at which the operand begins: after the matrices before it.
  static std::size_t first_column(const Call& call) {
    std::size_t first = 0;
    for (std::size_t k = saved(0); k < call.inputs.size(); ++k) first += call.inputs[k]->columns();
    return first;
  }

  static auto cell(const auto& c) {
    return cut_cell(c, grad_output, CutAxis::columns, first_column(*c.call));
  }

  // One tensor of heads, as in a model, is cut out whole; one of several matrices cell by cell.
  static Tensor compute(const Call& call) {
    const Tensor& joined = *call.inputs[grad_output];
    Tensor part = empty_gradient(call);
    if (part.matrices() != joined.matrices()) return cut_into_heads(joined, std::move(part));
    return cell_by_cell(call, std::move(part), evaluated<GradJoined, double>);
  }
};

// The rule saves the matrices before the operand: they determine its first column.
BackwardRule concat_heads_backward(const OperandRef& use) {
  BackwardRule rule = rule_of<GradJoined>(use);
  for (std::size_t k = 0; k < use.operand; ++k) rule.saved.push_back(Role{k});
  return rule;
}

constexpr std::string_view cut_axes[] = {"columns", "rows"};
constexpr OptionRule split_options[] = {
    {.name = "heads",
     .help = "how many heads to cut the matrix into",
     .numbers = OptionRule::Numbers::whole,
     .required = true},
    {.name = "axis",
     .help = "cut the columns (the features), or the rows (as W_O is cut into its heads)",
     .list = cut_axes,
     .swaps_with_layout = true},
};

CutAxis cut_axis(const Call& call) {
  return call.options->word("axis", "columns") == "rows" ? CutAxis::rows : CutAxis::columns;
}

bool cuts_rows(const Call& call) { return cut_axis(call) == CutAxis::rows; }

std::size_t count_of_heads(const Call& call) {
  const double heads = call.options->number("heads", 1);
  const Tensor& whole = *call.inputs[0];
  const std::size_t width = cuts_rows(call) ? whole.rows() : whole.columns();
  if (heads < 1 || heads > static_cast<double>(width) || width % static_cast<std::size_t>(heads)) {
    refuse(call, fmt::format("the {} {} of {} can't be cut into {} equal heads", width,
                             cuts_rows(call) ? "rows" : "columns", operand_text(call, 0), heads));
  }
  return static_cast<std::size_t>(heads);
}

struct SplitHeads {
  static std::string code_of(const Call& call) {
    return code_of_cut(*call.inputs[0], count_of_heads(call), cut_axis(call));
  }

  static Form form(const Call& call) {
    const double heads = call.options->number("heads", 1);
    return {.operands = {"row column"},
            .output = "row column",
            .formula = fmt::format("{{0}}, cut into {} head{}", heads, heads == 1 ? "" : "s"),
            .makes_heads = true};
  }

  static auto cell(const auto& c) { return cut_cell(c, 0, cut_axis(*c.call)); }

  static Tensor compute(const Call& call) {
    const std::size_t heads = count_of_heads(call);
    AxisRoles axes(*call.inputs[0]);
    Axis& cut = cuts_rows(call) ? axes.rows : axes.columns;
    // Labels are dropped: heads share the axis, but not its labels.
    cut = {.name = cut.name, .size = cut.size / heads};
    if (axes.heads) axes.outer.push_back(*axes.heads);
    axes.heads = Axis{.name = "head", .size = heads};
    Tensor parts = uninitialised(axes.all());
    if (cuts_rows(call)) return reshape_only(*call.inputs[0], parts);
    return cut_into_heads(*call.inputs[0], std::move(parts));
  }
};

// Feature j of head k is column j · heads + k; row i of head k is row i · heads + k.
Versions interleaved(const StepView& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  if (cuts_rows(call_of(step))) {
    const auto [batch, h, n, d] = right.array<4>().shape();
    const auto whole = view_as<4>(step.operand().values, {batch, n, h, d});
    return {with_numbers(right, xt::transpose(whole, {0, 2, 1, 3}))};
  }
  return {dealt_out_to_heads(step.operand(), right)};
}

Versions reversed(const StepView& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  return {with_numbers(right, xt::flip(right.array<4>(), 1))};
}

Versions only_reshaped(const StepView& step) {
  const Call call = call_of(step);
  if (cuts_rows(call)) return {};  // there a reshape is right
  return {reshape_only(step.operand(), SplitHeads::compute(call))};
}

constexpr Mistake split_heads_mistakes[] = {
    {"heads.interleaved", dealt_out_in_turn, first_block_first, interleaved},
    {"heads.interleaved", only_reshaped_into_heads, cut_columns_into_heads, only_reshaped},
    {"heads.reversed", "The heads stand in reverse order.", "Head 1 takes the first block.",
     reversed},
    other_heads,
};

// The gradients of the heads, joined as they were split.
struct GradSplit : OwnCells, FixedForm<"the heads of {0}, put together"> {
  static constexpr GradientWords words{
      "Back to the matrix of all heads",
      "Each head's gradient goes back to where the head was cut from.",
      "No number changes; only where it stands."};

  static std::string code_of(const Call& call) {
    return code_of_joined(*call.inputs[grad_output], cut_axis(call));
  }

  static auto cell(const auto& c) { return joined_cell(c, grad_output, cut_axis(*c.call)); }
};

}  // namespace

constinit const Operation concat_heads_operation = operation_of<ConcatHeads>({
    .name = "concat_heads",
    .title = "Join the heads",
    .says = "The heads' columns are put together, head 1 first. Each token has one long row again.",
    .notice = "No number changes; the first columns are head 1's.",
    .operands = R"(["context"] or ["context_1", "context_2"])",
    .max_operands = 1024,
    .options = concat_options,
    .needs_heads = [](std::size_t operands, const Options&) { return operands == 1; },
    .mistakes = concat_heads_mistakes,
    .backward = concat_heads_backward,
});

constinit const Operation split_heads_operation = operation_of<SplitHeads>({
    .name = "split_heads",
    .title = "Cut the features into heads",
    .says =
        "The columns are cut into equal blocks, one for each head. Each head goes on with its own "
        "few features, as if the others were not there.",
    .notice = "No number changes; only where it stands.",
    .operands = R"(["Q_all"])",
    .options = split_options,
    .mistakes = split_heads_mistakes,
    .backward = backward_by<GradSplit>,
});

}  // namespace qkv::inline ops
