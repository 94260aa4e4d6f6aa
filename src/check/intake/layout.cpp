#include "check/intake/layout.hpp"

#include <numeric>

#include "check/tolerance/cell_tolerance.hpp"

namespace qkv::inline check {
namespace {

bool may_have_heads_inside(const Tensor& tensor) {  // of a shape that does not tell
  return tensor.leading_axes() > 0 && tensor.matrices() > 1 &&
         tensor.axes[tensor.leading_axes() - 1].size == tensor.rows();
}

constexpr Numeral blank_cell{.value = std::numeric_limits<double>::quiet_NaN(), .left_out = true};

// True for a row or column of as many numbers as the wanted row or column.
bool is_one_line(const Shape& shape, const Shape& wanted) {
  const auto length = [](const Shape& s) {
    return std::accumulate(s.begin(), s.end(), std::size_t{1}, std::multiplies<>());
  };
  const auto is_line = [&](const Shape& s) { return contains(s, length(s)); };
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
  Piece piece{.shape = without_leading_ones(file.written.shape, tensor.rank()),
              .cells = file.written.cells};
  // If tokens are columns, a column of tokens is not read as a row.
  piece.has_one_axis = piece.shape.size() < 2;
  piece.may_lie = !layout.transposed || piece.has_one_axis || tensor.rank() < 2;
  if (piece.has_one_axis && tensor.rank() >= 2) piece.shape.insert(piece.shape.begin(), 1);
  const bool lies =
      is_shown_transposed(tensor, token_layout) != (layout.transposed && tensor.rank() >= 2);
  if (lies && piece.shape.size() >= 2) {
    std::size_t& rows = piece.shape[piece.shape.size() - 2];
    std::size_t& columns = piece.shape.back();
    piece.cells = with_axes_swapped(piece.cells, rows, columns, 1);
    std::swap(rows, columns);
  }
  // A batch of one may omit its axis.
  const bool is_whole = file.leading.empty() && tensor.rank() > 2;
  if (is_whole && piece.shape == without_leading_ones(tensor.shape(), 2)) {
    piece.shape = tensor.shape();
  }
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
// if all are the same, and their number; else the first wrong one represents them all.
void take_pieces(std::vector<Piece>& pieces, const std::vector<std::size_t>& places,
                 const Tensor& tensor, SubmittedArray& submitted) {
  const Shape right = {tensor.rows(), tensor.columns()};
  const auto fits = [&](const Piece& piece) {
    return piece.shape == right || (piece.may_lie && is_one_line(piece.shape, right));
  };
  const auto misfit = std::ranges::find_if_not(pieces, fits);
  submitted.fits = misfit == pieces.end();
  const Shape matrix = submitted.fits ? right : misfit->shape;
  const auto alike = [&](const Piece& piece) { return submitted.fits || piece.shape == matrix; };
  if (!std::ranges::all_of(pieces, alike)) {
    submitted.shape = misfit->shape;
    submitted.cells = std::move(misfit->cells);
    return;
  }
  submitted.shape = tensor.shape();
  submitted.shape.resize(tensor.leading_axes());
  submitted.shape.insert(submitted.shape.end(), matrix.begin(), matrix.end());
  const bool has_own_heads = !submitted.fits && tensor.leading_axes() == 1;
  const std::size_t matrices = has_own_heads ? std::ranges::max(places) + 1 : tensor.matrices();
  if (has_own_heads) submitted.shape.front() = matrices;
  const std::size_t size = pieces.front().cells.size();
  Numerals cells(matrices * size, blank_cell);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto place = cells.begin() + static_cast<std::ptrdiff_t>(places[k] * size);
    std::ranges::transform(pieces[k].cells, place, [&](Numeral cell) {
      if (cell.bad_text > 0)
        cell.bad_text = static_cast<std::uint16_t>(cell.bad_text + pieces[k].earlier_bad);
      return cell;
    });
  }
  resolve_precision(cells);  // a head's fractions are as precise as the other heads' numbers
  submitted.cells = std::move(cells);
  for (std::size_t m = 0; m < matrices; ++m) {
    if (!contains(places, m)) submitted.missing_matrices.push_back(m);
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
    submitted.is_arranged = file.is_arranged;
    submitted.is_named_inside =
        file.written.heads_inside && !file.is_arranged && may_have_heads_inside(tensor);
    // Of different types the first in the list is the coarsest; digits are coarser than any.
    submitted.precision = std::min(submitted.precision, file.written.precision);
    Piece piece = inside_piece(file, tensor, trace.token_layout, layout);
    piece.earlier_bad = submitted.bad_texts.size();
    submitted.bad_texts.insert(submitted.bad_texts.end(), file.written.bad_texts.begin(),
                               file.written.bad_texts.end());
    if (file.leading.empty()) {
      take_whole(std::move(piece), tensor, submitted);
      return submitted;
    }
    pieces.push_back(std::move(piece));
    places.push_back(matrix_index_of(file, tensor));
  }
  take_pieces(pieces, places, tensor, submitted);
  return submitted;
}

// Makes a question mark or a dash, which stands for a number to come, a blank.
void clear_placeholders(ParsedArray& written) {
  if (written.bad_texts.empty()) return;
  for (Numeral& cell : written.cells.to_write()) {
    if (cell.bad_text == 0) continue;
    const std::string_view text = written.bad_texts[cell.bad_text - 1U];
    if (stands_for_blank(text)) cell = {.value = cell.value, .left_out = text != "?"};
  }
}

// Returns where each of the step's labels stands in the file; empty unless the file has them all.
// Equal labels keep their order.
std::vector<std::size_t> places_of(const std::vector<std::string>& wanted,
                                   const std::vector<std::string>& written) {
  if (wanted.size() != written.size()) return {};
  std::multimap<std::string_view, std::size_t> left;
  for (std::size_t k = 0; k < written.size(); ++k) left.emplace(written[k], k);
  const std::size_t none = written.size();
  std::vector<std::size_t> places(wanted.size(), none);
  const auto take = [&](std::size_t i, std::string_view label) {
    const auto first = left.lower_bound(label);
    if (places[i] != none || first == left.end() || first->first != label) return;
    places[i] = first->second;
    left.erase(first);
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) take(i, wanted[i]);
  // " cat" without quotes has lost its blank.
  for (std::size_t i = 0; i < wanted.size(); ++i) take(i, trimmed(wanted[i]));
  return contains(places, none) ? std::vector<std::size_t>() : places;
}

// Returns how badly a file of one head's size fits a head, from 0 to 1 a cell on average, in cells
// where heads differ; in all cells if none do.
double misfit(const ParsedArray& written, std::span<const double> all, std::size_t head) {
  const std::size_t size = written.cells.size();
  const double finest = finest_unit(written);
  double apart = 0, misfit = 0, cells = 0, misfit_of_all = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double truth = all[head * size + i];
    bool tells = false;
    for (std::size_t k = i; k < all.size(); k += size) tells = tells || all[k] != truth;
    const Numeral cell = written.cells[i];
    if (cell.is_blank()) continue;
    const double units = std::abs(cell.value - truth) / (2 * unit_of(written, finest, cell));
    const double off = cell.value == truth ? 0 : std::min(1.0, units);
    cells += 1;
    misfit_of_all += off;
    if (!tells) continue;
    apart += 1;
    misfit += off;
  }
  if (apart > 0) return misfit / apart;
  return cells > 0 ? misfit_of_all / cells : 1;
}

// Returns how far a file's numbers are from a head's, relative to their size. The rounding of
// earlier steps moves them by some units, but not by much.
double relative_distance(const ParsedArray& written, std::span<const double> right) {
  double squares = 0, size = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double gap = written.cells[i].value - right[i];
    if (!std::isfinite(gap)) continue;
    squares += gap * gap;
    size += right[i] * right[i];
  }
  return size > 0 ? std::sqrt(squares / size) : infinity;
}

// Puts the rows, or the columns, in the order of the step's labels, and reports labels that the
// step does not have; over a line that the lesson does not name they are the learner's own, unless
// they are its numbers. A transposed matrix has the labels of `other`.
void sort_by_labels(SubmittedFile& file, std::string_view line, const std::vector<std::string>& own,
                    const std::vector<std::string>& other, bool are_named,
                    std::vector<std::string>& notes) {
  const bool are_rows = line == "row";
  auto& written = are_rows ? file.written.row_labels : file.written.column_labels;
  std::vector<std::size_t> places = places_of(own, written);
  if (places.empty()) places = places_of(other, written);
  std::set<std::string_view> known(own.begin(), own.end());
  known.insert(other.begin(), other.end());
  std::vector<std::string> unknown;
  for (const std::string& label : written) {
    const bool is_known = !are_named || label.empty() || !places.empty() || known.contains(label);
    if (!is_known) unknown.push_back(printable(label));
  }
  if (!unknown.empty()) {
    notes.push_back(fmt::format("{}: {} of this lesson has no {} called {}", file.file, file.name,
                                line, abbreviated_list(unknown)));
  }
  if (std::ranges::is_sorted(places)) return;
  const std::size_t columns = file.written.shape[1];
  file.written.cells = file.written.cells.runs(file.written.cells.size(), 1, [&](std::size_t i) {
    return are_rows ? places[i / columns] * columns + i % columns
                    : i - i % columns + places[i % columns];
  });
  notes.push_back(fmt::format(
      "{}: its {}s are in another order than the lesson's; they were put in order by their "
      "labels",
      file.file, line));
  written.clear();
}

void sort_by_labels(SubmittedFile& file, const Trace& trace, std::vector<std::string>& notes) {
  if (file.written.shape.size() != 2) return;
  const Tensor& tensor = trace.at(file.name);
  const std::size_t index = matrix_index_of(file, tensor);
  const MatrixLabels own = own_labels(tensor, index, trace.token_layout);
  const MatrixLabels full = full_labels(tensor, index, trace.token_layout);
  sort_by_labels(file, "row", full.rows, full.columns, !own.rows.empty(), notes);
  sort_by_labels(file, "column", full.columns, full.rows, !own.columns.empty(), notes);
}

// A file with a single row that has a label of the step is that row; the others are left out.
void place_own_row(SubmittedFile& file, const Trace& trace, std::vector<std::string>& notes) {
  ParsedArray& written = file.written;
  const Tensor& tensor = trace.at(file.name);
  const auto [rows, columns] = shown_size(tensor, trace.token_layout);
  const MatrixLabels own = full_labels(tensor, matrix_index_of(file, tensor), trace.token_layout);
  const bool is_one = rows > 1 && written.shape == Shape{1, columns} &&
                      written.row_labels.size() == 1 &&
                      std::ranges::count(own.rows, written.row_labels[0]) == 1 &&
                      (tensor.matrices() == 1 || !file.leading.empty());
  if (!is_one) return;
  const auto row = std::ranges::find(own.rows, written.row_labels[0]) - own.rows.begin();
  Numerals cells(rows * columns, blank_cell);
  std::ranges::copy(written.cells, cells.begin() + row * static_cast<std::ptrdiff_t>(columns));
  notes.push_back(fmt::format("{}: taken for the row {} of {}", file.file,
                              printable(written.row_labels[0]), file.name));
  written.shape = {rows, columns};
  written.cells = std::move(cells);
  written.row_labels.clear();
}

// True if a file for all matrices of its step has the size of one.
bool is_one_of_many(const SubmittedFile& file, const Trace& trace) {
  const Tensor& tensor = trace.at(file.name);
  const auto [rows, columns] = shown_size(tensor, trace.token_layout);
  return tensor.matrices() > 1 && file.leading.empty() &&
         without_leading_ones(file.written.shape, 2) == Shape{rows, columns};
}

void take_for(std::size_t head, SubmittedFile& file, const Trace& trace,
              std::vector<std::string>& notes) {
  const Tensor& tensor = trace.at(file.name);
  const auto [rows, columns] = shown_size(tensor, trace.token_layout);
  file.leading = leading_index(tensor, head);
  file.written.shape = {rows, columns};
  notes.push_back(fmt::format("{}: it has the size of one matrix; taken for {} of {}", file.file,
                              matrix_name(tensor, head), file.name));
}

// If a file for all heads has the size of one, each head is tried.
void find_head(SubmittedFile& file, const Trace& trace, std::vector<std::string>& notes) {
  if (!is_one_of_many(file, trace)) return;
  const Tensor& tensor = trace.at(file.name);
  const Tensor shown = as_shown(tensor, trace.token_layout);
  const auto misfits = mapped_places(
      tensor.matrices(), [&](std::size_t m) { return misfit(file.written, shown.values, m); });
  auto best = std::ranges::min_element(misfits);
  const bool may_be_last_rows =
      tensor.rows() == tensor.matrices() && file.written.precision != Precision::digits;
  if (may_be_last_rows && misfit(file.written, last_rows(tensor).values, 0) < *best) return;
  if (*best > 0.5) {
    constexpr double near = 0.05, clearly = 5;  // a mistake moves numbers further
    const auto distances = mapped_places(tensor.matrices(), [&](std::size_t m) {
      return relative_distance(file.written, shown.cells(m));
    });
    const auto nearest = std::ranges::min_element(distances);
    const auto is_as_near = [&](double other) {  // and not equal, as repeated heads are
      return other != *nearest && other < clearly * *nearest;
    };
    if (*nearest > near || std::ranges::any_of(distances, is_as_near)) return;
    best = misfits.begin() + (nearest - distances.begin());
  }
  take_for(static_cast<std::size_t>(best - misfits.begin()), file, trace, notes);
}

// A hidden cell is far from one that is not; a number that cannot be read is near any.
double squared_distance(double x, double right) {
  constexpr double far = 1e3;
  if (x == right || (x <= finite_mask && right == -infinity)) return 0;
  return std::isnan(x - right) ? 0 : std::pow(std::min(std::abs(x - right), far), 2);
}

void sort_rows(std::vector<double>& cells, std::size_t width) {
  for (std::size_t i = 0; width > 0 && i < cells.size(); i += width) {
    std::ranges::sort(std::span(cells).subspan(i, width), [](double a, double b) {
      return std::strong_order(a, b) < 0;  // nan, too
    });
  }
}

// Returns by how much nearer numbers are to the right ones with heads and rows exchanged: -1 to 1.
double gain_with_heads_inside(const std::vector<double>& theirs, const std::vector<double>& right,
                              const Tensor& truth) {
  const std::size_t width = truth.columns(), heads = truth.rows();
  double as_it_is = 0, as_inside = 0;  // squared distances
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const std::size_t row = i / width % heads, head = i / width / heads % heads;
    const std::size_t other = i + (row - head) * (heads - 1) * width;  // unsigned: it may wrap
    as_it_is += squared_distance(theirs[i], right[i]);
    as_inside += squared_distance(theirs[i], right[other]);
  }
  const double both = as_it_is + as_inside;
  return both > 0 ? (as_it_is - as_inside) / both : 0;
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

bool has_head_layout(HeadLayout layout, const Shape& tensor, const Shape& written) {
  return without_leading_ones(written) == without_leading_ones(shape_with_heads(layout, tensor));
}

NumeralCells with_axes_swapped(const NumeralCells& cells, std::size_t first, std::size_t second,
                               std::size_t inner) {
  if (cells.empty()) return cells;  // an axis may have no places
  const std::size_t block = first * second;
  return cells.runs(cells.size() / inner, inner, [=](std::size_t k) {
    const std::size_t within = k % block;
    return (k - within + within % first * second + within / first) * inner;
  });
}

void move_heads_first(const Trace& trace, const Layout& layout,
                      std::vector<SubmittedArray>& submitted) {
  for (SubmittedArray& matrix : submitted) {
    const Tensor& tensor = trace.at(matrix.name);
    const bool whole = matrix.in_one_file && matrix.cells.size() == tensor.values.size();
    // With tokens as columns, only heads side by side are recognised: the sizes of three axes do
    // not say which are tokens and which are columns.
    const bool has_rows = trace.token_layout == TokenLayout::rows && !layout.transposed;
    if (tensor.rank() < 3 || !whole || !(has_rows || matrix.shape.size() == 2)) continue;
    const bool inside =
        matrix.fits ? matrix.is_named_inside || layout.heads_inside.contains(matrix.name)
                    : has_head_layout(HeadLayout::inside, tensor.shape(), matrix.shape) ||
                          has_head_layout(HeadLayout::side_by_side, tensor.shape(), matrix.shape);
    if (!inside) continue;
    matrix.cells = with_axes_swapped(matrix.cells, tensor.rows(),
                                     tensor.axes[tensor.leading_axes() - 1].size, tensor.columns());
    matrix.shape = tensor.shape();
    matrix.fits = true;
    matrix.heads_inside = true;
  }
}

std::set<std::string, std::less<>> nearer_with_heads_inside(
    const Trace& trace, const std::vector<SubmittedArray>& submitted, double least) {
  // The same step of all layers, or its gradient.
  const auto kind_of = [](std::string_view name) {
    const std::string_view step = name.substr(name.rfind('.') + 1);
    return std::pair(name.starts_with("d_"), step);
  };
  // Of each array -1 to 1, however wrong its numbers are.
  std::map<std::pair<bool, std::string_view>, double> gain;
  std::set<std::string> results;
  std::size_t squares = 0;
  bool is_shown = false;  // by an array whose sizes tell its axes apart
  for (const SubmittedArray& one : submitted) {
    const Tensor& truth = trace.at(one.name);
    const bool sizes_tell = one.heads_inside || one.is_arranged;
    is_shown = is_shown || sizes_tell;
    if (!one.fits || sizes_tell || !one.in_one_file || !may_have_heads_inside(truth)) continue;
    if (std::ranges::any_of(one.cells, &Numeral::is_blank)) continue;  // the last row alone, say
    // Scores often have their heads first, and so have their products with V (llama.cpp's kqv).
    const Step* const step = trace.find_step(one.name);
    const bool is_result = step && step->operation == &weighted_sum_operation;
    if (is_result) results.insert(one.name);
    squares += truth.axes.back().name == "key" || is_result ? 0 : 1;
    const Values written = one.cells.values();
    std::vector<double> theirs(written.begin(), written.end());
    std::vector<double> right(truth.values.begin(), truth.values.end());
    const double as_written = gain_with_heads_inside(theirs, right, truth);
    // The columns may be in another order, too.
    sort_rows(theirs, truth.columns());
    sort_rows(right, truth.columns());
    const double sorted = gain_with_heads_inside(theirs, right, truth);
    gain[kind_of(one.name)] += std::abs(sorted) > std::abs(as_written) ? sorted : as_written;
  }
  std::set<std::string, std::less<>> names;
  for (const SubmittedArray& one : submitted) {
    const auto [is_gradient, step] = kind_of(one.name);
    const double own = gain[{is_gradient, step}], other = gain[{!is_gradient, step}];
    // Gradients tell of steps, and the reverse, unless both say clearly that they differ.
    constexpr double clear = 0.9;
    const bool differ = own * other < 0 && std::min(std::abs(own), std::abs(other)) >= clear;
    const double all = differ ? own : own + other;
    if (all > least && !one.is_arranged) names.insert(one.name);
  }
  if (names.size() != 1 || is_shown) return names;
  // A lone one is a mistake if another square array has its heads first.
  if (squares + results.count(*names.begin()) > 1) names.clear();
  return names;
}

double rounded(double x, int decimals) {
  constexpr double whole_anyway = 1e15;
  const double power = std::pow(10.0, decimals);
  return std::abs(x) * power < whole_anyway ? std::round(x * power) / power : x;
}

void snap_to_decimals(SubmittedArray& submitted) {
  submitted.rounded_to = rounded_decimals(submitted.cells, submitted.precision);
  if (!submitted.rounded_to || submitted.precision == Precision::float64) return;
  for (Numeral& cell : submitted.cells.to_write())
    cell.value = rounded(cell.value, *submitted.rounded_to);
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
    if (!contains(submission.files, name, &SubmittedFile::name)) continue;
    all.push_back(put_together(std::string(name), submission, trace, layout));
    snap_to_decimals(all.back());
  }
  adopt_common_type(trace, all);
  return all;
}

std::array<std::size_t, 2> shown_size(const Tensor& tensor, TokenLayout token_layout) {
  std::array<std::size_t, 2> size = {tensor.rows(), tensor.columns()};
  if (is_shown_transposed(tensor, token_layout)) std::swap(size[0], size[1]);
  return size;
}

void part_stacked(SubmittedFile& file, const Trace& trace) {
  const Tensor& tensor = trace.at(file.name);
  ParsedArray& written = file.written;
  const auto [rows, columns] = shown_size(tensor, trace.token_layout);
  const std::size_t count = tensor.matrices();
  if (count < 2 || !file.leading.empty() || written.shape != Shape{count * rows, columns}) return;
  written.shape = shape_as_shown(tensor, trace.token_layout);
  written.row_labels.clear();
  written.remark =
      fmt::format("taken for all {} matrices of {}, one below the other", count, file.name);
}

void arrange_file(SubmittedFile& file, const Trace& trace, std::vector<std::string>& notes) {
  clear_placeholders(file.written);
  place_own_row(file, trace, notes);
  find_head(file, trace, notes);
  sort_by_labels(file, trace, notes);
}

void take_for_head_of_others(std::vector<SubmittedFile>& files, const Trace& trace,
                             std::vector<std::string>& notes) {
  std::map<std::size_t, std::set<std::size_t>> heads;  // by how many the step has
  for (const SubmittedFile& file : files) {
    const Tensor& tensor = trace.at(file.name);
    if (is_one_of_many(file, trace)) continue;
    heads[tensor.matrices()].insert(file.leading.empty() ? tensor.matrices()
                                                         : matrix_index_of(file, tensor));
  }
  for (SubmittedFile& file : files) {
    const std::size_t count = trace.at(file.name).matrices();
    const std::set<std::size_t>& others = heads[count];
    if (is_one_of_many(file, trace) && others.size() == 1 && !others.contains(count))
      take_for(*others.begin(), file, trace, notes);
  }
}

}  // namespace qkv::inline check
