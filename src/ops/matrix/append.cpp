#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

struct Append {
  static Form form(const Call&) {
    return {{"row column", "inner column"},
            "row column",
            "the rows of {0}, then those of {1}",
            "the columns of {0}, then those of {1}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto past = c(0);
    if (c.row < past.rows) return past(c.row, c.column);
    return c(1)(c.row - past.rows, c.column);
  }

  // The names of all rows, where each has one.
  static Axis rows_of(const Tensor& past, const Tensor& added) {
    Axis rows = past.row_axis();
    const Axis more = added.row_axis();
    std::vector<std::string> labels;
    if (rows.labels.size() == rows.size && more.labels.size() == more.size) {
      labels.assign(rows.labels.begin(), rows.labels.end());
      labels.insert(labels.end(), more.labels.begin(), more.labels.end());
    }
    return {.name = rows.name.empty() ? more.name : rows.name,
            .size = rows.size + more.size,
            .labels = std::move(labels)};
  }

  static Tensor compute(const Call& call) {
    const Form all = form(call);
    std::vector<Axis> axes = leading_axes(call, all);
    axes.push_back(rows_of(*call.inputs[0], *call.inputs[1]));
    axes.push_back(bind(call, all).find("column")->second);
    Tensor result = unwritten(std::move(axes));
    CellBase at{.call = &call, .output = &result};
    for (; !result.values.empty() && at.matrix < result.matrices(); ++at.matrix) {
      const std::span<double> cells = result.write_cells(at.matrix);
      const std::span<const double> past = call.inputs[0]->cells(at.matching(0));
      std::ranges::copy(past, cells.begin());
      std::ranges::copy(call.inputs[1]->cells(at.matching(1)), cells.subspan(past.size()).begin());
    }
    return result;
  }
};

// The result with each row from `first` on being the one that `taken` says.
template <class Taken>
Tensor with_rows(const Source& step, std::size_t first, Taken taken) {
  return by_matrix(Append::compute(call_of(step)), [&](const MatrixView& all) -> Matrix {
    Matrix rows = all;
    for (std::size_t t = first; t < all.shape(0); ++t) {
      xt::view(rows, t, xt::all()) = xt::view(all, taken(t), xt::all());
    }
    return rows;
  });
}

// Row t has the numbers of row t − 1: all of them, or the new ones alone.
std::vector<Tensor> stale(const Source& step) {
  const std::size_t past = step.operand().rows();
  const auto before = [](std::size_t t) { return t - 1; };
  std::vector<Tensor> results;
  if (past > 0) results.push_back(with_rows(step, past, before));
  results.push_back(with_rows(step, 1, before));
  return results;
}

// The new rows, or the newest one, left out or zeros.
std::vector<Tensor> not_appended(const Source& step) {
  const Tensor all = Append::compute(call_of(step));
  const std::size_t past = step.operand().rows();
  std::vector<Tensor> results;
  for (const std::size_t kept : {past, all.rows() == 0 ? 0 : all.rows() - 1}) {
    std::vector<Axis> axes = all.axes;
    Axis& rows = axes[axes.size() - 2];
    rows = {.name = rows.name, .size = kept};
    Tensor shorter = unwritten(std::move(axes));
    Tensor zeroed = all;
    for (std::size_t m = 0; !all.values.empty() && m < all.matrices(); ++m) {
      const std::span<const double> first = all.cells(m).first(kept * all.columns());
      if (kept > 0) std::ranges::copy(first, shorter.write_cells(m).begin());
      std::ranges::fill(zeroed.write_cells(m).subspan(first.size()), 0.0);
    }
    results.push_back(std::move(shorter));
    results.push_back(std::move(zeroed));
  }
  return results;
}

constexpr Mistake append_mistakes[] = {
    {"cache.stale",
     "A row holds the numbers of the one before it.",
     "Each new token brings a row of its own.",
     stale,
     {.zeros = true}},
    {"cache.not-appended",
     "The newest row is missing, or was left at 0.",
     "The new rows stand below those that were there.",
     not_appended,
     {.zeros = true}},
    other_heads,
};

// The rows that stood first go back to the past, the others to what was new.
template <bool is_new>
struct AppendBack {
  static Form form(const Call&) {
    return {{"token column", "row column"},
            "row column",
            is_new ? "the last rows of {0}" : "the first rows of {0}",
            is_new ? "the last columns of {0}" : "the first columns of {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto change = c(arriving);
    const std::size_t first = is_new ? change.rows - c.input(own_operand).rows() : 0;
    return change(first + c.row, c.column);
  }
};

constinit const Operation append_to_past = gradient_of<Gradient<AppendBack<false>>>({
    .title = "Back to the rows of before",
    .says = "The rows stood first, as they were: they get their own gradients.",
    .notice = "No number changes.",
    .mistakes = cellwise_back_mistakes<AppendBack<false>>,
});

constinit const Operation append_to_new = gradient_of<Gradient<AppendBack<true>>>({
    .title = "Back to the rows that were new",
    .says = "The rows stood last, as they were: they get their own gradients.",
    .notice = "No number changes.",
    .mistakes = cellwise_back_mistakes<AppendBack<true>>,
});

WayBack back_through_append(const Use& use) {
  return {use.operand == 0 ? &append_to_past : &append_to_new};
}

}  // namespace

constinit const Operation append_operation = operation_of<Append>({
    .name = "append",
    .title = "Append the new tokens to the cache",
    .says = "What was worked out for earlier tokens does not change when another one comes: it is "
            "kept, and the new token's numbers are put behind it. That is the key/value cache.",
    .notice = "What was there before is as it was.",
    .operands = R"(["past_K", "K_new"])",
    .fewest = 2,
    .most = 2,
    .mistakes = append_mistakes,
    .way_back = back_through_append,
});

}  // namespace qkv
