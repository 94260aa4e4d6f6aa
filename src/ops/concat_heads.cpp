#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/only_reshaped.hpp"
#include "ops/other_heads.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr OptionRule concat_options[] = {
    {.name = "heads",
     .says = "how many heads there are to join, as a check",
     .numbers = OptionRule::Numbers::whole},
};

bool joins_one_tensor(const Call& call) { return call.inputs.size() == 1; }

std::size_t heads_in(const Tensor& tensor) { return tensor.axes[tensor.leading_axes() - 1].size; }

void check_operands(const Call& call) {
  const Tensor& first = *call.inputs[0];
  const std::size_t leading = first.leading_axes();
  const bool has_heads = leading > 0 && first.axes[leading - 1].name != "batch";
  if (joins_one_tensor(call) && !has_heads) {
    throw InputError(
        fmt::format("{}: {} ({}) has no axis of heads; write of = [\"context_1\", "
                    "\"context_2\"] to join several matrices",
                    call.step, call.names[0], shape_text(first.shape())));
  }
  for (std::size_t k = 1; k < call.inputs.size(); ++k) {
    const Tensor& other = *call.inputs[k];
    if (other.rows() == first.rows() && other.matrices() == first.matrices() &&
        other.rank() == first.rank()) {
      continue;
    }
    throw InputError(fmt::format(
        "{}: {} ({}) and {} ({}) don't have the same rows to put side by side", call.step,
        call.names[0], shape_text(first.shape()), call.names[k], shape_text(other.shape())));
  }
  const auto heads =
      static_cast<double>(joins_one_tensor(call) ? heads_in(first) : call.inputs.size());
  if (const double said = call.options->number("heads", heads); said != heads) {
    throw InputError(
        fmt::format("{}: heads is {}, but {} has {}", call.step, said, call.names[0], heads));
  }
}

// The columns of several matrices keep their names where every one of them has names of its own.
std::vector<std::string> joined_labels(const Call& call) {
  std::vector<std::string> labels;
  for (const Tensor* part : call.inputs) {
    const Axis& columns = part->axes.back();
    if (columns.labels.size() != columns.size) return {};
    labels.insert(labels.end(), columns.labels.begin(), columns.labels.end());
  }
  return labels;
}

struct ConcatHeads {
  static Form form(const Call& call) {
    std::string formula = "the heads of {0} side by side";
    if (!joins_one_tensor(call)) {
      formula = "{0}";
      for (std::size_t k = 1; k < call.inputs.size(); ++k) formula += fmt::format(" | {{{}}}", k);
    }
    return {{"row column"}, "row column", formula, formula};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (joins_one_tensor(*c.call)) {
      const Tensor& heads = c.input(0);
      const std::size_t head = c.column / heads.columns();
      return c.of(0, c.matrix * heads_in(heads) + head)(c.row, c.column % heads.columns());
    }
    std::size_t column = c.column;
    std::size_t k = 0;
    while (column >= c.input(k).columns()) column -= c.input(k++).columns();
    return c.of(k, c.matrix)(c.row, column);
  }

  static Tensor compute(const Call& call) {
    check_operands(call);
    std::vector<Axis> axes = call.inputs[0]->axes;
    std::size_t width = 0;
    if (joins_one_tensor(call)) {
      width = heads_in(*call.inputs[0]) * axes.back().size;
      axes.erase(axes.end() - 3);
    } else {
      if (axes.size() == 1) axes.insert(axes.begin(), Axis{.name = "", .size = 1});
      for (const Tensor* head : call.inputs) width += head->columns();
    }
    std::vector<std::string> labels;
    if (!joins_one_tensor(call)) labels = joined_labels(call);
    axes.back() = {.name = "h·" + axes.back().name, .size = width, .labels = std::move(labels)};
    Tensor joined = unwritten(std::move(axes));
    if (joins_one_tensor(call)) {
      put(xt::transpose(call.inputs[0]->array<4>(), {0, 2, 1, 3}), joined.values.write());
    } else {
      put_side_by_side(call.inputs, joined);
    }
    return joined;
  }

  static void put_side_by_side(const std::vector<const Tensor*>& parts, Tensor& joined) {
    std::size_t from = 0;
    for (const Tensor* part : parts) {
      const std::size_t to = from + part->columns();
      for (std::size_t m = 0; !part->values.empty() && m < joined.matrices(); ++m) {
        MatrixToWrite whole = joined.write_matrix(m);
        xt::noalias(xt::view(whole, xt::all(), xt::range(from, to))) = part->matrix(m);
      }
      from = to;
    }
  }
};

// Column j of head k is number j · heads + k of its row.
std::vector<Tensor> interleaved(const Source& step) {
  const Call call = call_of(step);
  if (!joins_one_tensor(call)) return {};
  Tensor joined = ConcatHeads::compute(call);
  put(xt::transpose(call.inputs[0]->array<4>(), {0, 2, 3, 1}), joined.values.write());
  return {std::move(joined)};
}

// x.reshape(n, h·d_v) in one go: the rows of head 1 fill the first tokens' rows.
std::vector<Tensor> only_reshaped(const Source& step) {
  const Call call = call_of(step);
  if (!joins_one_tensor(call)) return {};
  return {counted_off(*call.inputs[0], ConcatHeads::compute(call))};
}

std::vector<Tensor> joined_in_reverse(const Source& step) {
  Call call = call_of(step);
  std::reverse(call.inputs.begin(), call.inputs.end());
  if (!joins_one_tensor(call)) return {ConcatHeads::compute(call)};
  const Tensor& heads = *call.inputs[0];
  const Tensor reversed = with_numbers(heads, xt::flip(heads.array<4>(), 1));
  call.inputs = {&reversed};
  return {ConcatHeads::compute(call)};
}

// The heads added up; nothing where they have different shapes.
std::optional<Tensor> sum_of_heads(const Call& call) {
  if (joins_one_tensor(call)) return sum_heads_operation.compute(call);
  Tensor sum = *call.inputs[0];
  for (const Tensor* other : std::span(call.inputs).subspan(1)) {
    if (other->shape() != sum.shape()) return {};
    sum = with_numbers(sum, sum.array() + other->array());
  }
  return sum;
}

std::vector<Tensor> summed(const Source& step) {
  std::optional<Tensor> sum = sum_of_heads(call_of(step));
  if (!sum) return {};
  return {std::move(*sum)};
}

std::vector<Tensor> averaged(const Source& step) {
  const Call call = call_of(step);
  const std::optional<Tensor> sum = sum_of_heads(call);
  if (!sum) return {};
  const std::size_t heads = joins_one_tensor(call) ? heads_in(*call.inputs[0]) : call.inputs.size();
  return {with_numbers(*sum, sum->array() / static_cast<double>(heads))};
}

constexpr Mistake concat_heads_mistakes[] = {
    {"heads.interleaved", "The columns of the heads were dealt out in turn.",
     "First all columns of head 1, then all of head 2.", interleaved},
    {"heads.interleaved",
     "The numbers were counted off row by row, head after head (a reshape alone).",
     "A token's row holds what every head found for it: put the tokens before the heads, then "
     "join.",
     only_reshaped},
    {"heads.reversed", "The heads were joined in reverse order.", "Head 1 comes first.",
     joined_in_reverse},
    {"heads.summed", "The heads were added up instead of put side by side.",
     "Joining keeps every column.", summed},
    {"heads.averaged", "The heads were averaged instead of put side by side.",
     "Joining keeps every column.", averaged},
    {"heads.other", took_another_head, which_head, with_other_heads},
};

}  // namespace

constinit const Operation concat_heads_operation{
    .name = "concat_heads",
    .title = "Put the heads side by side",
    .says =
        "What the heads found is written next to each other, head 1 first: each token has one "
        "long row again.",
    .notice = "No number changes; the first columns are head 1's.",
    .operands = R"(["context"] or ["context_1", "context_2"])",
    .fewest = 1,
    .most = 1024,
    .options = concat_options,
    .form = ConcatHeads::form,
    .compute = ConcatHeads::compute,
    .cell = readings_of<ConcatHeads>(),
    .mistakes = concat_heads_mistakes,
};

}  // namespace qkv
