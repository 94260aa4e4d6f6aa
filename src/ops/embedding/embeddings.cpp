#include <stdexcept>

#include "ops/kinds/move.hpp"

namespace qkv::inline ops {
namespace {

bool has_row(const Tensor& table, double id) {
  return id >= 0 && id < static_cast<double>(table.rows()) && id == std::floor(id);
}

// The id of a row of the result; ids run through the batch and its tokens.
std::size_t id_of(const CellBase& c) {
  const std::size_t place = c.matrix * c.output->rows() + c.row;
  const double id = c.input(0).values[place];
  if (!has_row(c.input(1), id)) throw std::logic_error("a cell of an id that has no row");
  return static_cast<std::size_t>(id);
}

void check_ids(const Call& call) {
  const Tensor& ids = *call.inputs[0];
  const Tensor& table = *call.inputs[1];
  if (table.rank() != 2) {
    refuse(call, fmt::format("{} must be a matrix, one row for each id", operand_text(call, 1)));
  }
  for (std::size_t i = 0; i < ids.values.size(); ++i) {
    const double id = ids.values[i];
    if (has_row(table, id)) continue;
    const std::string_view label =
        ids.axes.back().label(i % ids.columns(), i / std::max<std::size_t>(1, ids.columns()));
    refuse(call, fmt::format("token {}{} has id {}, but {} has rows for ids 0 to {}", i + 1,
                             label.empty() ? "" : fmt::format(" ({})", label), id, call.names[1],
                             static_cast<long>(table.rows()) - 1));
  }
}

struct Embed
    : FormByRows<"the rows of {1} that {0} picks", "token d_model", "1 token", "id d_model"> {
  static constexpr std::string_view code = "{r1}[{0}{int}]";

  static auto cell(const auto& c) { return c.of(1, 0)(id_of(c), c.column); }

  static Tensor compute(const Call& call) {
    check_ids(call);
    std::vector<Axis> axes = call.inputs[0]->axes;  // [batch token] → [batch token d_model]
    axes.back().name = "token";
    if (axes.size() == 2) axes.front().name = "batch";
    axes.push_back(call.inputs[1]->axes.back());
    if (axes.back().name.empty()) axes.back().name = "d_model";
    return by_rows(
        call, uninitialised(std::move(axes)), 1, [](const Operands& of, std::span<double> cells) {
          thread_local Scratch scratch;
          const Tensor& table = of.at().input(1);
          const std::size_t first = table.index(0, id_of(of.at()), 0);
          std::ranges::copy(table.values.read(first, cells.size(), scratch), cells.begin());
        });
  }
};

// The rows as written where they are others of a small table, in full.
Versions other_rows(const StepView& step) {
  constexpr std::size_t most = 64;
  const Tensor& table = step.operand(1);
  const std::size_t width = table.columns();
  if (!step.written || step.written->values.size() != step.tensor->values.size()) return {};
  if (table.rows() > most) return {};
  Tensor result = *step.tensor;
  for (std::size_t at = 0; at < result.values.size(); at += width) {
    const auto own = std::span<const double>(step.written->values).subspan(at, width);
    for (std::size_t id = 0; id < table.rows(); ++id) {
      const auto row = std::span<const double>(table.values).subspan(id * width, width);
      if (!std::ranges::equal(own, row)) continue;
      std::ranges::copy(row, result.values.mutable_span().begin() + std::ptrdiff_t(at));
    }
  }
  return {result};
}

constexpr Mistake embed_mistakes[] = {
    {"embed.other-row",
     "This is another row of {1}.",
     "Which id has this token?",
     other_rows,
     {.is_fitted = true, .copies = true}},
};

// Each token's gradient goes to the table's row that it looked up; a repeated row gets the sum.
struct GradTable : OwnCells,
                   FormByRows<"the rows of {0}, added up where {2} has the same number",
                              "id d_model", "token d_model", "id d_model", "1 token"> {
  static constexpr GradientWords words{
      "Back to the table",
      "Each token's gradient goes to the row of the table that it took. If a token occurs twice, "
      "both gradients are added up.",
      "The rows of words that are not in the text get 0."};
  static constexpr Role needs[] = {Role::other};

  static constexpr std::string_view code =
      "(np.arange({r1}.shape[0])[:, None] == {2}.reshape(-1)) @ {r0}.reshape(-1, {r0}.shape[-1])\n"
      "torch.zeros_like({r1}).index_add(0, {2}.long().flatten(), {r0}.reshape(-1, {r0}.shape[-1]))";

  template <class N>
  static N cell(const Cell<N>& c) {
    const Values& ids = c.input(saved_other).values;
    const std::size_t length = c.input(grad_output).rows();
    const auto is_read = [&](std::size_t i) { return ids[i] == static_cast<double>(c.row); };
    const std::vector<std::size_t> places = places_where(ids.size(), is_read);
    return sum<N>(places.size(), [&](std::size_t t) {
      return c.of(grad_output, places[t] / length)(places[t] % length, c.column);
    });
  }

  static Tensor compute(const Call& call) {
    Tensor result = empty_gradient(call);
    const std::span<double> cells = result.values.mutable_span();
    std::ranges::fill(cells, 0.0);
    const std::size_t width = result.columns();
    const std::span<const double> rows(call.inputs[grad_output]->values);
    std::size_t from = 0;
    for (const double id : call.inputs[saved_other]->values) {
      if (!has_row(result, id)) refuse(call, "an id has no row in the table");
      double* to = cells.data() + static_cast<std::size_t>(id) * width;
      for (std::size_t j = 0; j < width; ++j) to[j] += rows[from++];
    }
    return result;
  }
};

constexpr std::string_view position_methods[] = {"sinusoidal", "learned"};
constexpr OptionRule positions_options[] = {
    {.name = "method",
     .help = "sines and cosines of the position, or the first rows of a learned table",
     .list = position_methods},
    {.name = "base",
     .help = "the largest wave is this many times as long as the shortest",
     .numbers = OptionRule::Numbers::positive},
};

bool is_learned(const Call& call) {
  return call.options->word("method", call.inputs.size() == 2 ? "learned" : "sinusoidal") ==
         "learned";
}

void check_position_operands(const Call& call) {
  if (is_learned(call) != (call.inputs.size() == 2)) {
    refuse(call, is_learned(call)
                     ? "learned positions need their table: of = [\"token_embeddings\", "
                       "\"position_table\"]"
                     : "sinusoidal positions take no table: of = [\"token_embeddings\"]");
  }
  if (!is_learned(call)) return;
  const Tensor& tokens = *call.inputs[0];
  const Tensor& table = *call.inputs[1];
  const bool is_as_wide = table.rank() == 2 && table.columns() == tokens.columns();
  if (is_as_wide && table.rows() < tokens.rows()) {
    refuse(call, fmt::format("there are {} tokens, and {} has rows for {} positions only; take a "
                             "shorter text",
                             tokens.rows(), operand_text(call, 1), table.rows()));
  }
  if (!is_as_wide) {
    refuse(call, fmt::format("{} must have at least {} rows, one for each position, of {} columns, "
                             "like {}",
                             operand_text(call, 1), tokens.rows(), tokens.columns(),
                             operand_text(call, 0)));
  }
}

// A sinusoidal table: row p stands for position p + first; column j is the sine, or the cosine, of
// position / base^(exponent / width).
struct Sinusoid {
  double base;
  std::size_t first = 0;
  std::size_t times = 2, shared = 2;  // so many columns share an exponent, which is a multiple
  bool is_swapped = false;            // cosines come before sines
  bool is_halved = false;             // all sines stand first
};

Sinusoid sinusoid_of(const Call& call) { return {.base = call.options->number("base", 10000)}; }

// What a column divides positions by: base^(exponent / width).
template <class N>
N slowness_of(const Sinusoid& wave, std::size_t column, std::size_t width) {
  using std::pow;
  const auto number = [](std::size_t count) -> N { return static_cast<double>(count); };
  const std::size_t exponent =
      wave.is_halved ? 2 * (column % (width - width / 2)) : wave.times * (column / wave.shared);
  return pow(N(wave.base), number(exponent) / number(width));
}

template <class N>
N wave_at(const Sinusoid& wave, std::size_t row, std::size_t column, std::size_t width,
          const N& slowness) {
  using std::cos;
  using std::sin;
  const bool is_second = wave.is_halved ? column >= width - width / 2 : column % 2 != 0;
  const N angle = N(static_cast<double>(row + wave.first)) / slowness;
  return is_second == wave.is_swapped ? sin(angle) : cos(angle);
}

Tensor with_waves(Tensor table, const Sinusoid& wave) {
  const std::size_t width = table.columns();
  const std::vector<double> slowness =
      mapped_places(width, [&](std::size_t j) { return slowness_of<double>(wave, j, width); });
  const std::span<double> cells = table.values.mutable_span();
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = wave_at(wave, i / width, i % width, width, slowness[i % width]);
  return table;
}

struct Positions {
  static std::string code_of(const Call& call) {
    const Tensor& tokens = *call.inputs[0];
    if (is_learned(call)) return fmt::format("{{r1}}[:{}]", tokens.rows());
    return fmt::format(
        "a = {{arange {0}}}[:, None] / {2} ** ({{arange {1}}} // 2 * 2 / {1}); "
        "{{=}}{{np}}.where({{arange {1}}} % 2 == 0, {{np}}.sin(a), {{np}}.cos(a)){{rows}}",
        tokens.rows(), tokens.columns(), call.options->number("base", 10000));
  }

  static Form form(const Call& call) {
    if (is_learned(call)) {
      return with_columns({{"token d_model", "position d_model"},
                           "token d_model",
                           "row 1 of {1} for the first row of {0}, row 2 for the second, …"});
    }
    return with_columns({{"token d_model"},
                         "token d_model",
                         "sines and cosines of the position, one row for each row of {0}"});
  }

  // Vaswani et al. (2017), section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) the
  // cosine of the same angle; positions count from 0.
  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_learned(*c.call)) return c.of(1, 0)(c.row, c.column);
    // Sines are not exact decimals, and positions are exact: only terms are evaluated as N.
    using Number = std::conditional_t<std::is_same_v<N, Expression>, Expression, double>;
    const Sinusoid wave = sinusoid_of(*c.call);
    const std::size_t width = c.output->columns();
    return wave_at(wave, c.row, c.column, width, slowness_of<Number>(wave, c.column, width));
  }

  static Tensor compute(const Call& call) {
    check_position_operands(call);
    const Tensor& tokens = *call.inputs[0];
    Axis rows = tokens.row_axis();
    if (tokens.rank() < 2) rows.name = "token";
    if (rows.labels.size() > rows.size) rows.labels = {};  // labels differ by sentence
    Tensor result = uninitialised({std::move(rows), tokens.axes.back()});
    if (result.values.empty()) return result;
    const Block first_rows = Block::of(result);
    if (is_learned(call)) return block_of(*call.inputs[1], std::move(result), first_rows);
    return with_waves(std::move(result), sinusoid_of(call));
  }
};

Tensor waved(const Call& call, const Sinusoid& wave) {
  return with_waves(Positions::compute(call), wave);
}

template <auto... changes>
Versions waved_with(const StepView& step) {
  if (is_learned(call_of(step))) return {};
  return with_parameters<sinusoid_of, waved, changes...>(step);
}

Versions from_one(const StepView& step) {
  const Call call = call_of(step);
  if (!is_learned(call)) return waved_with<[](Sinusoid& wave) { wave.first = 1; }>(step);
  Call moved = call;
  const Tensor table = by_matrix(*call.inputs[1], [](const MatrixView& m) -> Matrix {
    return xt::roll(m, -1, 0);  // what would stand behind its last row is not known
  });
  moved.inputs[1] = &table;
  return {Positions::compute(moved)};
}

template <std::size_t times, std::size_t shared>
void change_exponent(Sinusoid& wave) {
  wave.times = times;
  wave.shared = shared;
}

constexpr Mistake positions_mistakes[] = {
    {"positions.from-one", "The positions were counted from 1.", "The first position is 0.",
     from_one},
    {"positions.sin-cos-swapped", "Sine and cosine have changed places.",
     "Columns 1, 3, 5, … are sines.", waved_with<[](Sinusoid& wave) { wave.is_swapped = true; }>},
    {"positions.exponent", "The exponent is not 2i/d.",
     "Two columns share an exponent: 0/d, 0/d, 2/d, 2/d, 4/d, …",
     waved_with<change_exponent<1, 2>, change_exponent<1, 1>, change_exponent<2, 1>,
                change_exponent<4, 2>>},
    {"positions.halves", "All sines stand first, then all cosines.",
     "Sines and cosines take turns.", waved_with<[](Sinusoid& wave) { wave.is_halved = true; }>},
};

// The first rows of a learned table get the gradients; its other rows were not used.
struct GradPositions : OwnCells,
                       FormByRows<"the rows of {0}, then 0", "position d_model", "token d_model",
                                  "position d_model"> {
  static constexpr GradientWords words{"Back to the table of positions",
                                       "Each position's gradient goes to its own row of the table.",
                                       "Rows beyond the text's length get 0."};

  static constexpr std::string_view code =
      "{cat}([{r0}, {np}.zeros_like({r1})[{r0}.shape[-2]:]], {axis}=-2)";

  static auto cell(const auto& c) {
    return padded_cell(c, grad_output, Block::of(c.input(grad_output)));
  }
};

}  // namespace

constinit const Operation embed_operation = operation_of<Embed>({
    .name = "embed",
    .title = "Look up the token embeddings",
    .says = "The table has a row of numbers for each id. Each token takes the row of its id, its "
            "embedding.",
    .notice = "The same token always has the same numbers, wherever it stands.",
    .operands = R"(["token_ids", "table"])",
    .takes_ids = true,
    .mistakes = embed_mistakes,
    .backward = backward_by<NoGradient, GradTable>,
});

constinit const Operation positions_operation = operation_of<Positions>({
    .name = "positions",
    .title = "Make the position embeddings",
    .says = "Attention by itself does not see order. So each position has a row of its own, which "
            "will be added to the token that stands there.",
    .notice = "Positions that have the same numbers can't be told apart.",
    .operands = R"(["E"] or ["E", "table"])",
    .options = positions_options,
    .shape_only = true,
    .mistakes = positions_mistakes,
    .backward = backward_by<NoGradient, GradPositions>,
});

}  // namespace qkv::inline ops
