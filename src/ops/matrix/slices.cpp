#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

constexpr OptionRule take_options[] = {
    {.name = "rows", .says = "which rows are taken", .span = true, .turned_name = "columns"},
    {.name = "columns", .says = "which columns are taken", .span = true, .turned_name = "rows"},
    {.name = "heads", .says = "which heads are taken", .span = true},
};

// Counted from 0, the last one not included.
struct Taken {
  std::size_t from = 0;
  std::size_t to = 0;

  std::size_t size() const { return to - from; }
};

Taken taken_of(const Call& call, std::string_view option, std::size_t all) {
  const OptionValue* value = call.options->find(option);
  if (!value) return {0, all};
  const OptionSpan& span = std::get<OptionSpan>(*value);
  if (span[1] > static_cast<double>(all)) {
    refuse(call, fmt::format("{} = [{}, {}], but {} has {}", option, span[0], span[1],
                             operand_text(call, 0), all));
  }
  return {static_cast<std::size_t>(span[0]) - 1, static_cast<std::size_t>(span[1])};
}

// What is taken along each axis.
struct TakenPart {
  Taken heads, rows, columns;

  explicit TakenPart(const Call& call)
      : heads(taken_of(call, "heads", heads_of(*call.inputs[0]))),
        rows(taken_of(call, "rows", call.inputs[0]->rows())),
        columns(taken_of(call, "columns", call.inputs[0]->columns())) {}

  // The operand's matrix that one of the result is cut from.
  std::size_t matrix(const Tensor& all, std::size_t m) const {
    return m / heads.size() * heads_of(all) + heads.from + m % heads.size();
  }
};

// The axis with the names of what is left of it; a batch's words differ by sentence and go.
Axis cut(Axis axis, const Taken& taken) {
  if (taken.size() == axis.size) return axis;
  const bool has_names = axis.labels.size() == axis.size;
  std::vector<std::string> labels;
  for (std::size_t i = taken.from; has_names && i < taken.to; ++i) labels.push_back(axis.labels[i]);
  return {.name = axis.name, .size = taken.size(), .labels = std::move(labels)};
}

struct Take {
  static Form form(const Call& call) {
    std::string what;
    for (const OptionRule& rule : take_options) {
      const OptionValue* value = call.options->find(rule.name);
      if (!value) continue;
      const OptionSpan& span = std::get<OptionSpan>(*value);
      const bool turns = call.convention == Convention::columns && !rule.turned_name.empty();
      what += fmt::format("{}{} {} to {}", what.empty() ? "" : ", ",
                          turns ? rule.turned_name : rule.name, span[0], span[1]);
    }
    return {{"row column"}, "row column", (what.empty() ? "all" : what) + " of {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const TakenPart part(*c.call);
    const auto all = c.of(0, part.matrix(c.input(0), c.matrix));
    return all(part.rows.from + c.row, part.columns.from + c.column);
  }

  static Tensor compute(const Call& call) {
    const TakenPart part(call);
    const Tensor& all = *call.inputs[0];
    std::vector<Axis> axes = as_matrix(all).axes;
    axes.back() = cut(axes.back(), part.columns);
    axes[axes.size() - 2] = cut(axes[axes.size() - 2], part.rows);
    if (has_heads(all)) axes[axes.size() - 3] = cut(axes[axes.size() - 3], part.heads);
    if (!has_heads(all) && call.options->has("heads")) {
      refuse_without_heads(call, " to take some of");
    }
    Tensor result = unwritten(std::move(axes));
    result.dot_width = all.dot_width;
    for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
      const MatrixView whole = all.matrix(part.matrix(all, m));
      xt::noalias(result.write_matrix(m)) = xt::view(whole, xt::range(part.rows.from, part.rows.to),
                                                     xt::range(part.columns.from, part.columns.to));
    }
    return result;
  }
};

// What was taken gets its gradient, what stayed behind gets 0.
struct TakeBack {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "{0} where it was taken from, else 0"};
  }

  static Call forward(const Call& call) {
    Call there = call;
    there.inputs = {call.inputs[own_operand]};
    there.names = {call.names[own_operand]};
    return there;
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward(*c.call);
    const TakenPart part(there);
    const std::size_t heads = heads_of(*c.output);
    const std::size_t head = c.matrix % heads;
    const auto is_in = [](const Taken& taken, std::size_t i) {
      return taken.from <= i && i < taken.to;
    };
    if (!is_in(part.heads, head) || !is_in(part.rows, c.row) || !is_in(part.columns, c.column)) {
      return 0.0;
    }
    const std::size_t matrix = c.matrix / heads * part.heads.size() + head - part.heads.from;
    return c.of(arriving, matrix)(c.row - part.rows.from, c.column - part.columns.from);
  }

  static Tensor compute(const Call& call) {
    Tensor whole = gradient_frame(call);
    const TakenPart part(forward(call));
    Shape due = whole.shape();
    due.back() = part.columns.size();
    due[due.size() - 2] = part.rows.size();
    if (has_heads(whole)) due[due.size() - 3] = part.heads.size();
    require_arriving(call, due);
    std::ranges::fill(whole.values.write(), 0.0);
    const Tensor& change = *call.inputs[arriving];
    for (std::size_t m = 0; !change.values.empty() && m < change.matrices(); ++m) {
      auto to = whole.write_matrix(part.matrix(whole, m));
      xt::noalias(xt::view(to, xt::range(part.rows.from, part.rows.to),
                           xt::range(part.columns.from, part.columns.to))) = change.matrix(m);
    }
    return whole;
  }
};

constinit const Operation take_back = gradient_of<TakeBack>({
    .title = "Back to what a part was taken of",
    .says =
        "The part that was taken gets its gradients; what stayed behind has no part in the loss.",
    .notice = "The zeros stand where nothing was taken.",
});

WayBack back_through_take(const Use&) { return {&take_back}; }

}  // namespace

constinit const Operation take_operation = operation_of<Take>({
    .name = "take",
    .title = "Take a part",
    .says = "Some rows, columns or heads go on by themselves; the others stay behind.",
    .notice = "No number changes.",
    .operands = R"(["X"])",
    .options = take_options,
    .way_back = back_through_take,
});

}  // namespace qkv
