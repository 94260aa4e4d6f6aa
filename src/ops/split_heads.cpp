#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/only_reshaped.hpp"
#include "ops/rows.hpp"
#include "tensor/error.hpp"

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
    const Tensor& whole = *call.inputs[0];
    const bool rows = cuts_rows(call);
    row_by_row(parts, 1, [&](std::size_t matrix, std::size_t row, std::span<double> cells) {
      const std::size_t head = matrix % heads;
      const std::size_t from = rows ? (head * parts.rows() + row) * cells.size()
                                    : row * whole.columns() + head * cells.size();
      std::copy_n(whole.matrix(matrix / heads).begin() + static_cast<std::ptrdiff_t>(from),
                  cells.size(), cells.begin());
    });
    return parts;
  }
};

// Writes every cell of the heads from the column (or row) of the whole that `place` names.
template <class Place>
std::vector<Tensor> cut_by(const Source& step, Place place) {
  const Call call = call_of(step);
  Tensor result = SplitHeads::compute(call);
  const std::size_t heads = result.axes[result.leading_axes() - 1].size;
  const bool rows = cuts_rows(call);
  const std::size_t width = rows ? result.rows() : result.columns();
  for (std::size_t m = 0; m < result.matrices(); ++m) {
    const std::span<double> cells = result.matrix(m);
    for (std::size_t i = 0; i < result.rows(); ++i) {
      for (std::size_t j = 0; j < result.columns(); ++j) {
        const std::size_t from = place(m % heads, rows ? i : j, heads, width);
        cells[i * result.columns() + j] =
            step.inputs[0]->tensor->at(m / heads, rows ? from : i, rows ? j : from);
      }
    }
  }
  return {std::move(result)};
}

std::vector<Tensor> interleaved(const Source& step) {
  return cut_by(step, [](std::size_t head, std::size_t i, std::size_t heads, std::size_t) {
    return i * heads + head;
  });
}

std::vector<Tensor> reversed(const Source& step) {
  return cut_by(step, [](std::size_t head, std::size_t i, std::size_t heads, std::size_t width) {
    return (heads - 1 - head) * width + i;
  });
}

std::vector<Tensor> only_reshaped(const Source& step) {
  const Call call = call_of(step);
  if (cuts_rows(call)) return {};  // is right so
  return {counted_off(*call.inputs[0], SplitHeads::compute(call))};
}

constexpr Mistake split_heads_mistakes[] = {
    {"heads.interleaved", "The features were dealt out in turn instead of cut into blocks.",
     "Head 1 takes the first block of columns, whole.", interleaved},
    {"heads.interleaved", only_reshaped_into_heads, cut_columns_into_heads, only_reshaped},
    {"heads.reversed", "The heads stand in reverse order.", "Head 1 takes the first block.",
     reversed},
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
