#include "terminal/exhibit.hpp"

#include <fmt/format.h>

#include <span>

#include "exposition/selection.hpp"
#include "tensor/change.hpp"
#include "tensor/parallel.hpp"
#include "terminal/grid.hpp"
#include "terminal/lines.hpp"
#include "terminal/pattern_glyphs.hpp"
#include "text/escape.hpp"
#include "text/width.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

// Of a tensor with more matrices than this, the walk shows the first two and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t few_matrices = 3;

std::string left_out(const Grid& shown, const std::string& whole) {
  const std::string rows = hidden_text("row", shown.rows, "–");
  const std::string columns = hidden_text("column", shown.columns, "–");
  if (rows.empty() && columns.empty()) return {};
  const std::string_view both = rows.empty() || columns.empty() ? "" : " and ";
  return fmt::format("{}{}{} not shown; all of it: {}", rows, both, columns, whole);
}

// One row-major matrix of an exhibit as people see it: laid out as `shown` is.
struct ShownMatrix {
  std::size_t rows, columns;
  const Tensor& tensor;
  std::size_t first;               ///< the place of its first number in the tensor
  const Tensor* before = nullptr;  ///< none where nothing has changed
  MatrixLabels labels;

  std::span<const double> row(std::size_t row) const {
    return tensor.values.part(first + row * columns, columns);
  }
  double before_at(std::size_t row, std::size_t column) const {
    return before->values[first + row * columns + column];
  }
  /// Nothing where there are more than a lesson shows: they need not be there.
  std::span<const double> all() const {
    const std::size_t count = rows * columns;
    return count > teaching_numbers ? std::span<const double>() : tensor.values.part(first, count);
  }
};

// It as text, with what that leaves out.
struct MatrixText {
  std::string text;
  std::string hidden = {};  ///< part of the text; empty where everything shows
};

MatrixText numbers_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  GridLook style{.width = look.width,
                 .digits = look.digits,
                 .colour = look.colour && look.picture != Picture::numbers};
  if (sheet.before) {
    style.mark = [&](std::size_t row, std::size_t column) {
      return differs(sheet.row(row)[column], sheet.before_at(row, column)) ? Mark::changed
                                                                           : Mark::none;
    };
  }
  const RowAt row_at = [&](std::size_t row) { return sheet.row(row); };
  const Grid lines =
      grid(sheet.rows, sheet.columns, row_at, {sheet.labels.rows, sheet.labels.columns}, style);
  std::string hidden = left_out(lines, whole);
  if (!hidden.empty()) hidden = indented(hidden, look);
  return {lines.text + hidden, hidden};
}

// The dots by themselves; empty where there are none, or no room for them.
std::string dots_text(const Dots& dotted, const std::vector<std::string>& row_labels,
                      const WalkLook& look) {
  if (dotted.rows.empty()) return {};
  const std::string text = dots_below(dotted, row_labels);
  if (widest_of(lines_of(text)) > look.width) return {};
  return text;
}

// Numbers, or where the reader wants dots and they fit, dots.
MatrixText matrix_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  if (look.picture != Picture::dots) return numbers_text(sheet, whole, look);
  const Dots dotted = signed_dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string alone = dots_text(dotted, sheet.labels.rows, look);
  return alone.empty() ? numbers_text(sheet, whole, look) : MatrixText{alone};
}

// A matrix of weights: its numbers, and its dots on the right of them, or below.
MatrixText weights_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  const Dots dotted = dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string below = dots_text(dotted, sheet.labels.rows, look);
  if (look.picture == Picture::dots && !below.empty()) return {below};
  MatrixText numbers = numbers_text(sheet, whole, look);
  if (dotted.rows.empty() || look.picture == Picture::numbers) return numbers;
  const std::string beside = dots_beside(numbers.text, dotted, look.width);
  numbers.text = beside.empty() ? numbers.text + below : beside;
  return numbers;
}

// The ids of a batch: each sentence under its own words.
std::string sentences_text(const Tensor& ids, const std::string& whole, const WalkLook& look) {
  const std::size_t columns = ids.columns();
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    const ShownMatrix sheet{.rows = 1,
                            .columns = columns,
                            .tensor = ids,
                            .first = b * columns,
                            .labels = labels_of_sentence(ids, b)};
    text += matrix_text(sheet, whole, look).text;
  }
  return text;
}

// What is hidden of every matrix alike is said once, below the last.
void say_once(std::string& text, const std::string& remark) {
  if (remark.empty()) return;
  for (std::size_t at = text.find(remark); at != text.rfind(remark); at = text.find(remark)) {
    text.erase(at, remark.size());
  }
}

// Those of the head that is looked at; where there are no heads, or all are wanted, all of them.
std::vector<std::size_t> wanted_matrices(const Tensor& tensor, std::optional<std::size_t> wish) {
  std::vector<std::size_t> wanted;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::optional<std::size_t> head = head_of(tensor, m);
    if (!wish || !head || head == wish) wanted.push_back(m);
  }
  return wanted;
}

std::string text_of(const Exhibit& exhibit, Convention convention, const std::string& whole,
                    const WalkLook& look, decltype(&matrix_text) one_matrix) {
  const Tensor& tensor = *exhibit.tensor;
  if (words_differ_by_row(tensor)) return sentences_text(tensor, whole, look);
  // A large matrix is copied only where it must be turned over.
  const bool turned = is_turned(tensor, convention);
  const Tensor over = turned ? transposed(tensor) : Tensor{};
  const Tensor over_before = turned && exhibit.before ? transposed(*exhibit.before) : Tensor{};
  const Tensor& shown = turned ? over : tensor;
  const Tensor* before = turned && exhibit.before ? &over_before : exhibit.before.get();
  const std::vector<std::size_t> wanted = wanted_matrices(tensor, exhibit.head);
  const std::size_t count = wanted.size();
  const Selection selection = first_and_last(count > most_matrices ? few_matrices : count, count);
  std::string text, hidden;
  for (std::size_t place = 0; place < selection.shown(); ++place) {
    if (selection.starts_after_hidden(place)) {
      text += indented(fmt::format("… {} more, {} to {}; all of them: {}", selection.hidden(),
                                   matrix_name(tensor, wanted[selection.first_hidden() - 1]),
                                   matrix_name(tensor, wanted[count - 2]), whole),
                       look);
    }
    const std::size_t m = wanted[selection[place]];
    if (tensor.matrices() > 1) text += "  " + matrix_name(tensor, m) + "\n";
    MatrixText sheet = one_matrix({.rows = shown.rows(),
                                   .columns = shown.columns(),
                                   .tensor = shown,
                                   .first = m * shown.rows() * shown.columns(),
                                   .before = before,
                                   .labels = own_labels(tensor, m, convention)},
                                  whole, look);
    text += sheet.text;
    hidden = std::move(sheet.hidden);
  }
  say_once(text, hidden);
  return text;
}

}  // namespace

std::string exhibit_text(const Exhibit& exhibit, Convention convention, const std::string& whole,
                         const WalkLook& look) {
  const bool is_result = exhibit.role == Exhibit::Role::result;
  const bool weights = is_result && exhibit.step->operation->makes_weights;
  const std::string text =
      text_of(exhibit, convention, whole, look, weights ? weights_text : matrix_text);
  const bool has_dots = text.find("│") != std::string::npos;  // the edges of their rows
  if (!is_result || !has_dots) return text;
  return text + indented(std::string(weights ? dots_legend() : signed_dots_legend()), look);
}

}  // namespace qkv
