#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

constexpr std::string_view cut_axes[] = {"columns", "rows"};
constexpr OptionRule split_options[] = {
    {.name = "heads",
     .says = "how many heads to cut the matrix into",
     .numbers = OptionRule::Numbers::whole,
     .required = true},
    {.name = "axis",
     .says = "cut the columns (the features), or the rows (as W_O is cut into its heads)",
     .list = cut_axes,
     .turns = true},
};

bool cuts_rows(const Call& call) { return call.options->word("axis", "columns") == "rows"; }

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
  static Form form(const Call& call) {
    const double heads = call.options->number("heads", 1);
    return {.operands = {"row column"},
            .output = "row column",
            .formula = fmt::format("{{0}}, cut into {} head{}", heads, heads == 1 ? "" : "s"),
            .makes_heads = true};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t heads = heads_of(*c.output);
    const std::size_t head = c.matrix % heads;
    const auto whole = c.of(0, c.matrix / heads);
    return cuts_rows(*c.call) ? whole(head * c.output->rows() + c.row, c.column)
                              : whole(c.row, head * c.output->columns() + c.column);
  }

  static Tensor compute(const Call& call) {
    const std::size_t heads = count_of_heads(call);
    std::vector<Axis> axes = as_matrix(*call.inputs[0]).axes;
    Axis& cut = cuts_rows(call) ? axes[axes.size() - 2] : axes.back();
    // The labels of the cut axis go on only where every head has the same ones, so they go.
    cut = {.name = cut.name, .size = cut.size / heads};
    axes.insert(axes.end() - 2, Axis{.name = "head", .size = heads});
    Tensor parts = unwritten(std::move(axes));
    if (cuts_rows(call)) return counted_off(*call.inputs[0], std::move(parts));
    const auto [batch, h, n, d] = parts.array<4>().shape();
    put(xt::transpose(seen_as<4>(call.inputs[0]->values, {batch, n, h, d}), {0, 2, 1, 3}),
        parts.values.write());
    return parts;
  }
};

// Feature j of head k is column j · heads + k; row i of head k is row i · heads + k.
std::vector<Tensor> interleaved(const Source& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  const auto [batch, h, n, d] = right.array<4>().shape();
  const Values& whole = step.operand().values;
  if (cuts_rows(call_of(step))) {
    return {with_numbers(right, xt::transpose(seen_as<4>(whole, {batch, n, h, d}), {0, 2, 1, 3}))};
  }
  return {with_numbers(right, xt::transpose(seen_as<4>(whole, {batch, n, d, h}), {0, 3, 1, 2}))};
}

std::vector<Tensor> reversed(const Source& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  return {with_numbers(right, xt::flip(right.array<4>(), 1))};
}

std::vector<Tensor> only_reshaped(const Source& step) {
  const Call call = call_of(step);
  if (cuts_rows(call)) return {};  // is right so
  return {counted_off(step.operand(), SplitHeads::compute(call))};
}

// Every head is one of them, or the one after it.
std::vector<Tensor> another_head(const Source& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  const std::size_t heads = heads_of(right);
  if (heads < 2 || heads > most_other_heads || right.values.empty()) return {};
  std::vector<Tensor> results;
  for (std::size_t head = 0; head < heads; ++head) {
    results.push_back(with_heads(right, [&](std::size_t) { return head; }));
  }
  if (heads > 2) {
    results.push_back(with_heads(right, [&](std::size_t head) { return (head + 1) % heads; }));
  }
  return results;
}

constexpr Mistake split_heads_mistakes[] = {
    {"heads.interleaved", "The features were dealt out in turn instead of cut into blocks.",
     "Head 1 takes the first block of columns, whole.", interleaved},
    {"heads.interleaved", only_reshaped_into_heads, cut_columns_into_heads, only_reshaped},
    {"heads.reversed", "The heads stand in reverse order.", "Head 1 takes the first block.",
     reversed},
    {"heads.other", other_heads.says, other_heads.hint, another_head},
};

// The gradients of the heads, put together again as they were cut.
struct SplitHeadsBack {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "the heads of {0}, put together"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Tensor& parts = c.input(arriving);
    const std::size_t heads = heads_of(parts);
    const bool rows = cuts_rows(*c.call);
    const std::size_t head = rows ? c.row / parts.rows() : c.column / parts.columns();
    const auto part = c.of(arriving, c.matrix * heads + head);
    return rows ? part(c.row % parts.rows(), c.column) : part(c.row, c.column % parts.columns());
  }

  static Tensor compute(const Call& call) {
    Tensor whole = gradient_frame(call);
    const auto heads = static_cast<std::size_t>(call.options->number("heads", 1));
    Shape due = whole.shape();
    due[due.size() - (cuts_rows(call) ? 2 : 1)] /= heads;
    due.insert(due.end() - 2, heads);
    require_arriving(call, due);
    const Tensor& parts = *call.inputs[arriving];
    const bool rows = cuts_rows(call);
    return by_rows(call, std::move(whole), 1, [&](const Operands& of, std::span<double> cells) {
      const CellBase& at = of.at();
      const std::size_t row = rows ? at.row % parts.rows() : at.row;
      for (std::size_t head = 0; head < (rows ? 1 : heads); ++head) {
        const std::size_t from = at.matrix * heads + (rows ? at.row / parts.rows() : head);
        std::ranges::copy(parts.cells(from).subspan(row * parts.columns(), parts.columns()),
                          cells.subspan(head * parts.columns()).begin());
      }
    });
  }
};

constinit const Operation split_heads_back = gradient_of<SplitHeadsBack>({
    .title = "Back from the heads",
    .says = "Each head's gradient goes to the features that the head was cut from.",
    .notice = "No number changes; only where it stands.",
});

WayBack back_through_split_heads(const Use&) { return {&split_heads_back}; }

}  // namespace

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
    .way_back = back_through_split_heads,
});

}  // namespace qkv
