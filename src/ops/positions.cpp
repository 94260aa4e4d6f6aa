#include <fmt/format.h>

#include <cmath>

#include "ops/catalogue.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view methods[] = {"sinusoidal", "learned"};
constexpr OptionRule positions_options[] = {
    {.name = "method",
     .says = "sines and cosines of the position, or the first rows of a learned table",
     .list = methods},
    {.name = "base",
     .says = "the largest wave is this many times as long as the shortest",
     .numbers = OptionRule::Numbers::positive},
};

bool is_learned(const Call& call) {
  return call.options->word("method", call.inputs.size() == 2 ? "learned" : "sinusoidal") ==
         "learned";
}

void check_operands(const Call& call) {
  if (is_learned(call) != (call.inputs.size() == 2)) {
    throw InputError(fmt::format("{}: {}", call.step,
                                 is_learned(call)
                                     ? "learned positions need their table: of = [\"token_"
                                       "embeddings\", \"position_table\"]"
                                     : "sinusoidal positions take no table: of = [\"token_"
                                       "embeddings\"]"));
  }
  if (!is_learned(call)) return;
  const Tensor& tokens = *call.inputs[0];
  const Tensor& table = *call.inputs[1];
  if (table.rank() == 2 && table.columns() == tokens.columns() && table.rows() < tokens.rows()) {
    throw InputError(fmt::format(
        "{}: there are {} tokens, and {} ({}) has rows for {} positions only; take a shorter text",
        call.step, tokens.rows(), call.names[1], shape_text(table.shape()), table.rows()));
  }
  if (table.rank() != 2 || table.columns() != tokens.columns()) {
    throw InputError(
        fmt::format("{}: {} ({}) must have at least {} rows, one for each position, of {} columns, "
                    "like {} ({})",
                    call.step, call.names[1], shape_text(table.shape()), tokens.rows(),
                    tokens.columns(), call.names[0], shape_text(tokens.shape())));
  }
}

struct Positions {
  static Form form(const Call& call) {
    if (is_learned(call)) {
      return {{"token d_model", "position d_model"},
              "token d_model",
              "the first rows of {1}, one for each row of {0}",
              "the first columns of {1}, one for each column of {0}"};
    }
    return {{"token d_model"},
            "token d_model",
            "sines and cosines of the position, one row for each row of {0}",
            "sines and cosines of the position, one column for each column of {0}"};
  }

  // Vaswani et al. (2017), section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) the
  // cosine of the same angle; positions count from 0.
  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_learned(*c.call)) return c.of(1, 0)(c.row, c.column);
    using std::cos;
    using std::pow;
    using std::sin;
    const auto width = static_cast<double>(c.output->columns());
    const auto even = static_cast<double>(c.column - c.column % 2);
    const double base = c.call->options->number("base", 10000);
    const auto position = static_cast<double>(c.row);
    if constexpr (std::is_same_v<N, Expression>) {
      const Expression angle =
          Expression(position) / pow(Expression(base), Expression(even) / Expression(width));
      return c.column % 2 == 0 ? sin(angle) : cos(angle);
    } else {
      const double angle = position / pow(base, even / width);
      return c.column % 2 == 0 ? sin(angle) : cos(angle);
    }
  }

  static Tensor compute(const Call& call) {
    check_operands(call);
    const Tensor& tokens = *call.inputs[0];
    Axis rows =
        tokens.rank() < 2 ? Axis{.name = "token", .size = 1} : tokens.axes[tokens.rank() - 2];
    if (rows.labels.size() > rows.size) rows.labels.clear();  // the sentences' words are not shared
    return cell_by_cell(call, unwritten({std::move(rows), tokens.axes.back()}), cell<double>);
  }
};

// The sinusoidal table with the angle and the wave of each cell chosen by `wave(row, column,
// width)`.
struct Wave {
  double position;
  double exponent;
  bool cosine;
};

template <class Choose>
Tensor waves(const Source& step, Choose choose) {
  const Call call = call_of(step);
  Tensor result = Positions::compute(call);
  const double base = call.options->number("base", 10000);
  const std::size_t width = result.columns();
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const Wave wave = choose(i / width, i % width, width);
    const double angle = wave.position / std::pow(base, wave.exponent);
    result.values[i] = wave.cosine ? std::cos(angle) : std::sin(angle);
  }
  return result;
}

double even_share(std::size_t j, std::size_t width) {
  return static_cast<double>(j - j % 2) / static_cast<double>(width);
}

std::vector<Tensor> from_one(const Source& step) {
  const Call call = call_of(step);
  if (!is_learned(call)) {
    return {waves(step, [](std::size_t i, std::size_t j, std::size_t width) {
      return Wave{static_cast<double>(i + 1), even_share(j, width), j % 2 == 1};
    })};
  }
  Tensor result = Positions::compute(call);
  const Tensor& table = *call.inputs[1];
  if (table.rows() < result.rows() + 1) return {};
  const auto first = table.values.begin() + static_cast<std::ptrdiff_t>(table.columns());
  std::copy(first, first + static_cast<std::ptrdiff_t>(result.values.size()),
            result.values.begin());
  return {std::move(result)};
}

std::vector<Tensor> sin_cos_swapped(const Source& step) {
  if (is_learned(call_of(step))) return {};
  return {waves(step, [](std::size_t i, std::size_t j, std::size_t width) {
    return Wave{static_cast<double>(i), even_share(j, width), j % 2 == 0};
  })};
}

// i, j or 2j where 2i belongs, j being the column and i the pair of columns.
std::vector<Tensor> exponent(const Source& step) {
  if (is_learned(call_of(step))) return {};
  const auto with = [&](auto share) {
    return waves(step, [&](std::size_t i, std::size_t j, std::size_t width) {
      const auto part = static_cast<double>(share(j));
      return Wave{static_cast<double>(i), part / static_cast<double>(width), j % 2 == 1};
    });
  };
  return {with([](std::size_t j) -> std::size_t { return j / 2; }),
          with([](std::size_t j) -> std::size_t { return j; }),
          with([](std::size_t j) -> std::size_t { return 2 * j; }),
          with([](std::size_t j) -> std::size_t { return j / 2 * 4; })};
}

std::vector<Tensor> halves(const Source& step) {
  if (is_learned(call_of(step))) return {};
  return {waves(step, [](std::size_t i, std::size_t j, std::size_t width) {
    const std::size_t sines = (width + 1) / 2;
    const std::size_t pair = j < sines ? j : j - sines;
    return Wave{static_cast<double>(i), even_share(2 * pair, width), j >= sines};
  })};
}

constexpr Mistake positions_mistakes[] = {
    {"positions.from-one", "The positions were counted from 1.", "The first position is 0.",
     from_one},
    {"positions.sin-cos-swapped", "Sine and cosine have changed places.",
     "Columns 1, 3, 5, … are sines.", sin_cos_swapped},
    {"positions.exponent", "The exponent is not 2i/d.",
     "Two columns share an exponent: 0/d, 0/d, 2/d, 2/d, 4/d, …", exponent},
    {"positions.halves", "All sines stand first, then all cosines.",
     "Sines and cosines take turns.", halves},
};

}  // namespace

constinit const Operation positions_operation{
    .name = "positions",
    .title = "Say where each token stands",
    .says =
        "Attention by itself does not see order. So each position gets a vector of its own, to "
        "be added to the token that stands there.",
    .notice = "No two rows are the same: every position can be told from every other.",
    .operands = R"(["E"] or ["E", "table"])",
    .fewest = 1,
    .most = 2,
    .options = positions_options,
    .form = Positions::form,
    .compute = Positions::compute,
    .cell = readings_of<Positions>(),
    .mistakes = positions_mistakes,
};

}  // namespace qkv
