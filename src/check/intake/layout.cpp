#include "check/intake/layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/intake/step_names.hpp"
#include "check/tolerance/precision.hpp"

namespace qkv::inline check {
namespace {

bool has_square_heads_of(const Tensor& tensor) {
  return tensor.leading_axes() > 0 && tensor.matrices() > 1 &&
         tensor.axes[tensor.leading_axes() - 1].size == tensor.rows();
}

// True for the two shapes that hold the tensor's heads after its rows.
bool has_heads_inside(const SubmittedArray& submitted, const Tensor& tensor) {
  const Shape shape = without_leading_ones(submitted.shape);
  const auto is = [&](HeadLayout layout) {
    return shape == without_leading_ones(shape_with_heads(layout, tensor.shape()));
  };
  return is(HeadLayout::inside) || is(HeadLayout::side_by_side);
}

}  // namespace

Shape shape_with_heads(HeadLayout layout, Shape shape) {
  const std::size_t columns = shape.back();
  const std::size_t rows = shape[shape.size() - 2];
  const std::size_t heads = shape[shape.size() - 3];
  shape.resize(shape.size() - 3);
  switch (layout) {
    case HeadLayout::inside: shape.insert(shape.end(), {rows, heads, columns}); break;
    case HeadLayout::side_by_side: shape.insert(shape.end(), {rows, heads * columns}); break;
    case HeadLayout::stacked: shape.insert(shape.end(), {heads * rows, columns}); break;
  }
  return shape;
}

Numerals with_axes_swapped(std::span<const Numeral> cells, std::size_t first, std::size_t second,
                           std::size_t inner) {
  Numerals result(cells.size());
  if (cells.empty()) return result;
  const std::size_t outer = cells.size() / (first * second * inner);
  auto to = view_as<4>(result, {outer, second, first, inner});
  xt::noalias(to) = xt::transpose(view_as<4>(cells, {outer, first, second, inner}), {0, 2, 1, 3});
  return result;
}

void move_heads_first(const Trace& trace, const Layout& layout,
                      std::vector<SubmittedArray>& submitted) {
  for (SubmittedArray& matrix : submitted) {
    const Tensor& tensor = trace.at(matrix.name);
    const bool whole = matrix.in_one_file && matrix.cells.size() == tensor.values.size();
    if (tensor.rank() < 3 || !whole || trace.token_layout != TokenLayout::rows) continue;
    const bool inside = matrix.fits ? layout.square_heads_inside && has_square_heads_of(tensor)
                                    : has_heads_inside(matrix, tensor);
    if (!inside) continue;
    matrix.cells = NumeralCells(with_axes_swapped(matrix.cells.span(), tensor.rows(),
                                                  tensor.axes[tensor.leading_axes() - 1].size,
                                                  tensor.columns()));
    matrix.shape = tensor.shape();
    matrix.fits = true;
    matrix.heads_inside = true;
  }
}

bool has_square_heads(const Trace& trace, const std::vector<SubmittedArray>& submitted) {
  return std::ranges::any_of(submitted, [&](const SubmittedArray& one) {
    return one.fits && one.in_one_file && has_square_heads_of(trace.at(one.name));
  });
}

double rounded(double x, int decimals) {
  constexpr double whole_anyway = 1e15;
  const double power = std::pow(10.0, decimals);
  return std::abs(x) * power < whole_anyway ? std::round(x * power) / power : x;
}

void snap_to_decimals(SubmittedArray& submitted) {
  submitted.rounded_to = rounded_decimals(submitted.cells.span(), submitted.precision);
  if (!submitted.rounded_to || submitted.precision == Precision::float64) return;
  Numerals cells = submitted.cells.copy();
  for (Numeral& cell : cells) cell.value = rounded(cell.value, *submitted.rounded_to);
  submitted.cells = NumeralCells(std::move(cells));
}

namespace {

constexpr Numeral blank_cell{.value = std::numeric_limits<double>::quiet_NaN(), .left_out = true};

// True for a row or column of as many numbers as the wanted row or column.
bool is_one_line(const Shape& shape, const Shape& wanted) {
  const auto length = [](const Shape& s) {
    std::size_t count = 1;
    for (const std::size_t size : s) count *= size;
    return count;
  };
  const auto is_line = [&](const Shape& s) {
    return std::find(s.begin(), s.end(), length(s)) != s.end();
  };
  return length(shape) == length(wanted) && is_line(shape) && is_line(wanted);
}

struct Piece {
  Shape shape;
  NumeralCells cells;
  std::size_t earlier_bad = 0;  ///< number of unreadable texts in earlier pieces
  bool may_lie = true;          ///< one line may be a row or a column
  bool has_one_axis = false;
};

Piece inside_piece(const SubmittedFile& file, const Tensor& tensor, TokenLayout token_layout,
                   const Layout& layout) {
  const std::span<const Numeral> cells = file.written.cells;
  Piece piece{.shape = without_leading_ones(file.written.shape, tensor.rank()),
              .cells = NumeralCells(cells)};
  // A batch of one may omit its axis.
  if (file.leading.empty() && tensor.rank() > 2 &&
      piece.shape == without_leading_ones(tensor.shape(), 2)) {
    piece.shape = tensor.shape();
  }
  // If tokens are columns, a column of tokens is not read as a row.
  piece.has_one_axis = piece.shape.size() < 2;
  piece.may_lie = !layout.transposed || piece.has_one_axis;
  if (piece.has_one_axis && tensor.rank() >= 2) piece.shape.insert(piece.shape.begin(), 1);
  const bool lies =
      is_shown_transposed(tensor, token_layout) != (layout.transposed && tensor.rank() >= 2);
  if (!lies || piece.shape.size() < 2) return piece;
  std::size_t& rows = piece.shape[piece.shape.size() - 2];
  std::size_t& columns = piece.shape.back();
  piece.cells = NumeralCells(with_axes_swapped(cells, rows, columns, 1));
  std::swap(rows, columns);
  return piece;
}

// Takes a step from a single file.
void take_whole(Piece piece, const Tensor& tensor, SubmittedArray& submitted) {
  const bool is_same = piece.shape == tensor.shape();
  submitted.in_one_file = true;
  submitted.fits = is_same || (piece.may_lie && is_one_line(piece.shape, tensor.shape()));
  submitted.lies_across = submitted.fits && !is_same && !piece.has_one_axis;
  submitted.shape = submitted.fits ? tensor.shape() : std::move(piece.shape);
  submitted.cells = std::move(piece.cells);
}

// Takes a step from one file per matrix; missing matrices are blank. Wrong sizes keep their places
// if all are the same; else the first wrong one represents them all.
void take_pieces(std::vector<Piece>& pieces, const std::vector<std::size_t>& places,
                 const Tensor& tensor, SubmittedArray& submitted) {
  const Shape right = {tensor.rows(), tensor.columns()};
  const auto fits = [&](const Piece& piece) {
    return piece.shape == right || (piece.may_lie && is_one_line(piece.shape, right));
  };
  const auto misfit = std::find_if_not(pieces.begin(), pieces.end(), fits);
  submitted.fits = misfit == pieces.end();
  const Shape matrix = submitted.fits ? right : misfit->shape;
  const auto alike = [&](const Piece& piece) { return submitted.fits || piece.shape == matrix; };
  if (!std::all_of(pieces.begin(), pieces.end(), alike)) {
    submitted.shape = misfit->shape;
    submitted.cells = std::move(misfit->cells);
    return;
  }
  submitted.shape = tensor.shape();
  submitted.shape.resize(tensor.leading_axes());
  submitted.shape.insert(submitted.shape.end(), matrix.begin(), matrix.end());
  const std::size_t size = pieces.front().cells.size();
  Numerals cells(tensor.matrices() * size, blank_cell);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto place = cells.begin() + static_cast<std::ptrdiff_t>(places[k] * size);
    std::ranges::transform(pieces[k].cells, place, [&](Numeral cell) {
      if (cell.bad_text > 0)
        cell.bad_text = static_cast<std::uint16_t>(cell.bad_text + pieces[k].earlier_bad);
      return cell;
    });
  }
  submitted.cells = NumeralCells(std::move(cells));
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    if (std::find(places.begin(), places.end(), m) == places.end())
      submitted.missing_matrices.push_back(m);
  }
}

SubmittedArray put_together(const std::string& name, const Submission& submission,
                            const Trace& trace, const Layout& layout) {
  const Tensor& tensor = trace.at(name);
  SubmittedArray submitted{.name = name, .shape = {}, .cells = {}};
  std::vector<Piece> pieces;
  std::vector<std::size_t> places;
  for (const SubmittedFile& file : submission.files) {
    if (file.name != name) continue;
    if (pieces.empty()) submitted.precision = file.written.precision;
    // Of different types the first in the list is the coarsest; digits are coarser than any.
    submitted.precision = std::min(submitted.precision, file.written.precision);
    Piece piece = inside_piece(file, tensor, trace.token_layout, layout);
    piece.earlier_bad = submitted.bad_texts.size();
    submitted.bad_texts.insert(submitted.bad_texts.end(), file.written.bad_texts.begin(),
                               file.written.bad_texts.end());
    if (file.leading.empty()) {
      submitted.values = file.written.values;
      take_whole(std::move(piece), tensor, submitted);
      return submitted;
    }
    pieces.push_back(std::move(piece));
    places.push_back(matrix_index_of(file, tensor));
  }
  take_pieces(pieces, places, tensor, submitted);
  return submitted;
}

}  // namespace

Shape without_leading_ones(Shape shape, std::size_t rank) {
  while (shape.size() > std::max<std::size_t>(1, rank) && shape.front() == 1) {
    shape.erase(shape.begin());
  }
  return shape;
}

std::size_t matrix_index_of(const SubmittedFile& file, const Tensor& tensor) {
  std::size_t index = 0;
  for (std::size_t a = 0; a < file.leading.size(); ++a) {
    index = index * tensor.axes[a].size + file.leading[a];
  }
  return index;
}

std::vector<SubmittedArray> normalise_layout(const Submission& submission, const Trace& trace,
                                             const Layout& layout) {
  std::vector<SubmittedArray> all;
  for (const std::string_view name : names_in(trace)) {
    const bool is_there = std::any_of(submission.files.begin(), submission.files.end(),
                                      [&](const SubmittedFile& file) { return file.name == name; });
    if (!is_there) continue;
    all.push_back(put_together(std::string(name), submission, trace, layout));
    snap_to_decimals(all.back());
  }
  return all;
}

}  // namespace qkv::inline check
