#include "ops/attention/mask.hpp"

#include <cmath>

#include "ops/attention/visible_keys.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

std::size_t sentence_of(const CellBase& c) {
  const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
  return c.input(1).rows() == 1 || index.empty() ? 0 : index.front();
}

// The number of the second operand that decides on the cell: its key's id, or 1 to keep it.
double deciding(const CellBase& c, std::string_view kind) {
  const Tensor& numbers = c.input(1);
  if (kind == "padding") return numbers.at(0, sentence_of(c), c.column);
  return numbers.at(c.matching(1), numbers.rows() == 1 ? 0 : c.row, c.column);
}

// Whether the key is padding: its id is the pad's, or its token is.
bool is_padding(const CellBase& c) {
  const double* pad = c.call->options->if_number("pad");
  if (pad) return deciding(c, "padding") == *pad;
  const std::string_view word = c.call->options->word("pad", "<pad>");
  return c.input(1).axes.back().label(c.column, sentence_of(c)) == word;
}

bool is_hidden(const CellBase& c, std::string_view kind) {
  if (goes_by_place(kind)) return !seen_by_place(*c.call, kind)(c.row).has(c.column);
  return kind == "padding" ? is_padding(c) : deciding(c, kind) == 0;
}

// Where one matrix of the result is such, in its first rows.
template <class Is>
Flags cells_that(CellBase at, std::size_t rows, const Is& is) {
  const std::string_view kind = mask_kind(*at.call);
  Flags cells = xt::zeros<bool>({rows, at.output->columns()});
  for (at.row = 0; at.row < rows; ++at.row) {
    for (at.column = 0; at.column < at.output->columns(); ++at.column) {
      cells(at.row, at.column) = is(at, kind);
    }
  }
  return cells;
}

Flags cells_hidden(const CellBase& at, std::size_t rows) {
  return cells_that(at, rows,
                    [](const CellBase& c, std::string_view kind) { return is_hidden(c, kind); });
}

}  // namespace

std::string_view mask_kind(const Call& call) {
  return call.options->word("kind", call.inputs.size() == 2 ? "given" : "causal");
}

bool is_hidden(const CellBase& c) { return is_hidden(c, mask_kind(*c.call)); }

Flags hidden_by_mask(const CellBase& at) {
  const std::string_view kind = mask_kind(*at.call);
  if (!goes_by_place(kind)) {
    return cells_hidden(at, at.output->rows());
  }
  const SeenByPlace seen = seen_by_place(*at.call, kind);
  Flags hidden = xt::ones<bool>({at.output->rows(), at.output->columns()});
  for (std::size_t i = 0; i < at.output->rows(); ++i) {
    const SeenKeys keys = seen(i);
    for (std::size_t j = keys.from; j < keys.to; ++j) hidden(i, j) = false;
  }
  return hidden;
}

Flags undecided_cells(const CellBase& at) {
  return cells_that(at, at.output->rows(), [](const CellBase& c, std::string_view kind) {
    return std::isnan(deciding(c, kind));
  });
}

HiddenCells::HiddenCells(const Call& call, const Tensor& result) {
  const bool by_sentence = mask_kind(call) == "padding";
  rows_ = by_sentence || call.inputs[1]->rows() == 1 ? 1 : result.rows();
  CellBase at{.call = &call, .output = &result};
  for (; at.matrix < result.matrices(); ++at.matrix) {
    const std::size_t mask = by_sentence ? sentence_of(at) : at.matching(1);
    mask_of_.push_back(mask);
    if (!masks_.contains(mask)) masks_.emplace(mask, cells_hidden(at, rows_));
  }
}

void HiddenCells::hide(const RowPart& at) const {
  const Flags& hidden = masks_.at(mask_of_[at.matrix]);
  const std::size_t row = rows_ == 1 ? 0 : at.row;
  for (std::size_t j = 0; j < at.cells.size(); ++j) {
    if (hidden(row, at.first + j)) at.cells[j] = -infinity;
  }
}

}  // namespace qkv
