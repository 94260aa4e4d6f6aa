#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/only_reshaped.hpp"
#include "ops/other_heads.hpp"
#include "text/error.hpp"

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
     .turns = OptionRule::Turns::with_convention},
};

bool cuts_rows(const Call& call) { return call.options->word("axis", "columns") == "rows"; }

std::size_t heads_of(const Call& call) {
  const double heads = call.options->number("heads", 1);
  const Tensor& whole = *call.inputs[0];
  const std::size_t width = cuts_rows(call) ? whole.rows() : whole.columns();
  if (heads < 1 || heads > static_cast<double>(width) || width % static_cast<std::size_t>(heads)) {
    throw InputError(fmt::format("{}: the {} {} of {} ({}) can't be cut into {} equal heads",
                                 call.step, width, cuts_rows(call) ? "rows" : "columns",
                                 call.names[0], shape_text(whole.shape()), heads));
  }
  return static_cast<std::size_t>(heads);
}

std::size_t head_of(const CellBase& c) {
  return c.matrix % c.output->axes[c.output->leading_axes() - 1].size;
}

// The labels of the cut axis go on only where every head has the same ones, so they go.
Axis shortened(const Axis& axis, std::size_t heads) {
  return {.name = axis.name, .size = axis.size / heads};
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
    const std::size_t heads = c.output->axes[c.output->leading_axes() - 1].size;
    const auto whole = c.of(0, c.matrix / heads);
    const std::size_t head = head_of(c);
    return cuts_rows(*c.call) ? whole(head * c.output->rows() + c.row, c.column)
                              : whole(c.row, head * c.output->columns() + c.column);
  }

  static Tensor compute(const Call& call) {
    const std::size_t heads = heads_of(call);
    std::vector<Axis> result = call.inputs[0]->axes;
    if (result.size() == 1) result.insert(result.begin(), Axis{.name = "", .size = 1});
    Axis& cut = cuts_rows(call) ? result[result.size() - 2] : result.back();
    cut = shortened(cut, heads);
    result.insert(result.end() - 2, Axis{.name = "head", .size = heads});
    Tensor parts = unwritten(std::move(result));
    if (cuts_rows(call)) return counted_off(*call.inputs[0], std::move(parts));
    const auto [batch, n, d] = sizes_of(parts);
    put(xt::transpose(seen_as<4>(call.inputs[0]->values, {batch, n, heads, d}), {0, 2, 1, 3}),
        parts.values.write());
    return parts;
  }

  // How often the leading axes before the heads repeat, rows, and columns.
  static std::array<std::size_t, 3> sizes_of(const Tensor& parts) {
    const std::size_t heads = parts.axes[parts.leading_axes() - 1].size;
    return {parts.matrices() / heads, parts.rows(), parts.columns()};
  }
};

// Feature j of head k is column j · heads + k.
std::vector<Tensor> interleaved(const Source& step) {
  const Call call = call_of(step);
  const Tensor right = SplitHeads::compute(call);
  const auto [batch, n, d] = SplitHeads::sizes_of(right);
  const std::size_t heads = heads_of(call);
  const Values& whole = call.inputs[0]->values;
  if (cuts_rows(call)) {
    return {
        with_numbers(right, xt::transpose(seen_as<4>(whole, {batch, n, heads, d}), {0, 2, 1, 3}))};
  }
  return {
      with_numbers(right, xt::transpose(seen_as<4>(whole, {batch, n, d, heads}), {0, 3, 1, 2}))};
}

std::vector<Tensor> reversed(const Source& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  return {with_numbers(right, xt::flip(right.array<4>(), 1))};
}

std::vector<Tensor> only_reshaped(const Source& step) {
  const Call call = call_of(step);
  if (cuts_rows(call)) return {};  // is right so
  return {counted_off(*call.inputs[0], SplitHeads::compute(call))};
}

// Every head is one of them, or the one after it.
std::vector<Tensor> another_head(const Source& step) {
  const Tensor right = SplitHeads::compute(call_of(step));
  const std::size_t heads = heads_of(call_of(step));
  constexpr std::size_t most_heads = 16;
  if (heads < 2 || heads > most_heads || right.values.empty()) return {};
  std::vector<Tensor> results;
  const auto add = [&](const std::function<std::size_t(std::size_t)>& taken) {
    Tensor other = unwritten(right.axes);
    for (std::size_t m = 0; m < right.matrices(); ++m) {
      xt::noalias(other.write_matrix(m)) = right.matrix(m - m % heads + taken(m % heads));
    }
    results.push_back(std::move(other));
  };
  for (std::size_t head = 0; head < heads; ++head) add([head](std::size_t) { return head; });
  if (heads > 2) add([heads](std::size_t head) { return (head + 1) % heads; });
  return results;
}

constexpr Mistake split_heads_mistakes[] = {
    {"heads.interleaved", "The features were dealt out in turn instead of cut into blocks.",
     "Head 1 takes the first block of columns, whole.", interleaved},
    {"heads.interleaved", only_reshaped_into_heads, cut_columns_into_heads, only_reshaped},
    {"heads.reversed", "The heads stand in reverse order.", "Head 1 takes the first block.",
     reversed},
    {"heads.other", took_another_head, which_head, another_head},
};

}  // namespace

constinit const Operation split_heads_operation{
    .name = "split_heads",
    .title = "Cut the features into heads",
    .says =
        "The columns are cut into equal blocks, one for each head. Each head goes on with its own "
        "few features, as if the others were not there.",
    .notice = "No number changes; only where it stands.",
    .operands = R"(["Q_all"])",
    .options = split_options,
    .form = SplitHeads::form,
    .compute = SplitHeads::compute,
    .cell = readings_of<SplitHeads>(),
    .mistakes = split_heads_mistakes,
};

}  // namespace qkv
