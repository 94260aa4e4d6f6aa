#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
#include "tensor/tensor.hpp"

namespace qkv {
namespace {

bool has_row(const Tensor& table, double id) {
  return id >= 0 && id < static_cast<double>(table.rows()) && id == std::floor(id);
}

// The id that a row of the result looks up: the ids count through batch and tokens alike.
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

struct Embed {
  static Form form(const Call&) {
    return {{"1 token", "id d_model"}, "token d_model", "the rows of {1} that {0} names"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c.of(1, 0)(id_of(c), c.column);
  }

  static Tensor compute(const Call& call) {
    check_ids(call);
    std::vector<Axis> axes = call.inputs[0]->axes;  // [batch token] → [batch token d_model]
    axes.back().name = "token";
    if (axes.size() == 2) axes.front().name = "batch";
    axes.push_back(call.inputs[1]->axes.back());
    if (axes.back().name.empty()) axes.back().name = "d_model";
    Tensor result = unwritten(std::move(axes));
    const Values& table = call.inputs[1]->values;
    const std::size_t width = result.columns();
    double* row = result.values.write().data();
    Scratch scratch;
    for (const double id : call.inputs[0]->values) {
      row = std::ranges::copy(table.read(static_cast<std::size_t>(id) * width, width, scratch), row)
                .out;
    }
    return result;
  }
};

// Each token's gradient goes back to the row that it fetched; a row fetched twice gets both.
struct EmbedBack {
  static Form form(const Call&) {
    return {{"token d_model", "id d_model", "1 token"},
            "id d_model",
            "the rows of {0}, added up where {2} names the same"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Values& ids = c.input(first_need).values;
    const std::size_t length = c.input(arriving).rows();
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == static_cast<double>(c.row)) places.push_back(i);
    }
    return sum<N>(places.size(), [&](std::size_t t) {
      return c.of(arriving, places[t] / length)(places[t] % length, c.column);
    });
  }

  static Tensor compute(const Call& call) {
    Shape due = call.inputs[first_need]->shape();
    due.push_back(call.inputs[own_operand]->columns());
    require_arriving(call, due);
    Tensor result = gradient_frame(call);
    const std::span<double> cells = result.values.write();
    std::ranges::fill(cells, 0.0);
    const std::size_t width = result.columns();
    const std::span<const double> rows(call.inputs[arriving]->values);
    std::size_t from = 0;
    for (const double id : call.inputs[first_need]->values) {
      if (!has_row(result, id)) refuse(call, "an id has no row in the table");
      double* to = cells.data() + static_cast<std::size_t>(id) * width;
      for (std::size_t j = 0; j < width; ++j) to[j] += rows[from++];
    }
    return result;
  }
};

constinit const Operation embed_back = gradient_of<EmbedBack>({
    .title = "Back to the table",
    .says =
        "Each token's gradient goes to the row of the table that it fetched. A word that stands "
        "twice in the text adds up both.",
    .notice = "The rows of words that are not in the text get 0.",
});

WayBack back_through_embed(const Use& use) {
  if (use.operand == 0) return {};  // ids name a row, they are no numbers
  return {&embed_back, {0}};
}

}  // namespace

constinit const Operation embed_operation = operation_of<Embed>({
    .name = "embed",
    .title = "Look up each token's embedding",
    .says =
        "The table has a list of numbers for each id. Each token fetches the list of its id: from "
        "here on a token is a list of numbers.",
    .notice = "The same token always fetches the same numbers, wherever it stands.",
    .operands = R"(["token_ids", "table"])",
    .fewest = 2,
    .most = 2,
    .by_ids = true,
    .way_back = back_through_embed,
});

}  // namespace qkv
