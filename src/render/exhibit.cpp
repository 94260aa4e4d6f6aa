#include "render/exhibit.hpp"

#include <fmt/format.h>

#include <span>

#include "render/dots.hpp"
#include "render/grid.hpp"
#include "render/text.hpp"
#include "tensor/change.hpp"
#include "tensor/parallel.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

// Of a tensor with more matrices than this, the walk shows the first two and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t first_matrices = 2;

std::string hidden_text(const Grid& shown, const std::string& whole) {
  const auto span = [](std::size_t first, std::size_t count, std::string_view what) {
    return count == 1 ? fmt::format("{} {}", what, first)
                      : fmt::format("{}s {}–{}", what, first, first + count - 1);
  };
  std::string what;
  if (shown.hidden_rows > 0) what = span(shown.first_hidden_row, shown.hidden_rows, "row");
  if (shown.hidden_columns > 0) {
    what += what.empty() ? "" : " and ";
    what += span(shown.first_hidden_column, shown.hidden_columns, "column");
  }
  return what.empty() ? "" : fmt::format("{} not shown; all of it: {}", what, whole);
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
  std::string hidden = hidden_text(lines, whole);
  if (!hidden.empty()) hidden = indented(hidden, look);
  return {lines.text + hidden, hidden};
}

// The dots by themselves; empty where there are none, or no room for them.
std::string dots_text(const Dots& dotted, const std::vector<std::string>& row_labels,
                      const WalkLook& look) {
  if (dotted.rows.empty()) return {};
  const std::string text = dots_below(dotted, row_labels);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (width(std::string_view(text).substr(at, end - at)) > look.width) return {};
    at = end + 1;
  }
  return text;
}

// Numbers, or where the reader wants dots and they fit, dots.
MatrixText matrix_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  if (look.picture != Picture::dots) return numbers_text(sheet, whole, look);
  const Dots dotted = signed_dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string alone = dots_text(dotted, sheet.labels.rows, look);
  return alone.empty() ? numbers_text(sheet, whole, look) : MatrixText{alone};
}

// What a terminal gives columns to. Shaded cells have blanks at their end that plain ones lack, so
// a grid drawn again without colour would not do.
std::string without_colour(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
    } else {
      i = text.find('m', i);
    }
  }
  return plain;
}

// A matrix of weights: its numbers, and its dots on the right of them, or below.
MatrixText weights_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  const Dots dotted = dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string below = dots_text(dotted, sheet.labels.rows, look);
  if (look.picture == Picture::dots && !below.empty()) return {below};
  MatrixText numbers = numbers_text(sheet, whole, look);
  if (dotted.rows.empty() || look.picture == Picture::numbers) return numbers;
  const std::string beside =
      dots_beside(numbers.text, without_colour(numbers.text), dotted, look.width);
  numbers.text = beside.empty() ? numbers.text + below : beside;
  return numbers;
}

// The ids of a batch: each sentence under its own words.
std::string sentences_text(const Exhibit& exhibit, const WalkLook& look) {
  const Tensor& ids = exhibit.tensor;
  const std::size_t columns = ids.columns();
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    MatrixLabels labels{{fmt::format("batch {}", b + 1)}, {}};
    for (std::size_t i = 0; i < columns; ++i) {
      labels.columns.emplace_back(ids.axes.back().label(i, b));
    }
    const ShownMatrix sheet{.rows = 1,
                            .columns = columns,
                            .tensor = ids,
                            .first = b * columns,
                            .labels = std::move(labels)};
    text += matrix_text(sheet, exhibit.whole, look).text;
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
std::vector<std::size_t> wanted_matrices(const Tensor& tensor, const WalkLook& look) {
  std::vector<std::size_t> wanted;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::optional<std::size_t> head = head_of(tensor, m);
    if (!look.head || !head || head == look.head) wanted.push_back(m);
  }
  return wanted;
}

std::string text_of(const Exhibit& exhibit, const Trace& trace, const WalkLook& look,
                    decltype(&matrix_text) one_matrix) {
  const Tensor& tensor = exhibit.tensor;
  if (tensor.rank() == 2 && tensor.axes[1].labels.size() > tensor.columns()) {
    return sentences_text(exhibit, look);
  }
  // A large matrix is copied only where it must be turned over.
  const bool turned = is_turned(tensor, trace.convention);
  const Tensor over = turned ? transposed(tensor) : Tensor{};
  const Tensor over_before = turned && exhibit.before ? transposed(*exhibit.before) : Tensor{};
  const Tensor& shown = turned ? over : tensor;
  const Tensor* before = turned && exhibit.before ? &over_before : exhibit.before;
  const std::vector<std::size_t> wanted = wanted_matrices(tensor, look);
  const std::size_t count = wanted.size();
  std::string text, hidden;
  for (std::size_t w = 0; w < count; ++w) {
    if (count > most_matrices && w == first_matrices) {
      text += indented(fmt::format("… {} more, {} to {}; all of them: {}",
                                   count - first_matrices - 1, matrix_name(tensor, wanted[w]),
                                   matrix_name(tensor, wanted[count - 2]), exhibit.whole),
                       look);
      w = count - 1;
    }
    const std::size_t m = wanted[w];
    if (tensor.matrices() > 1) text += "  " + matrix_name(tensor, m) + "\n";
    MatrixText sheet = one_matrix({.rows = shown.rows(),
                                   .columns = shown.columns(),
                                   .tensor = shown,
                                   .first = m * shown.rows() * shown.columns(),
                                   .before = before,
                                   .labels = own_labels(tensor, m, trace.convention)},
                                  exhibit.whole, look);
    text += sheet.text;
    hidden = std::move(sheet.hidden);
  }
  say_once(text, hidden);
  return text;
}

}  // namespace

std::string way_to_whole(const Lesson& lesson, const Trace& trace, std::string_view name,
                         const WalkLook& look) {
  const bool is_step = trace.find_step(name) != nullptr;
  if (look.reader == Reader::has_keys) {
    return is_step ? "press e, then the arrows and Tab" : "press x to write it to a file";
  }
  return is_step ? fmt::format("qkv export {} --step {} -o -", visible(lesson.asked), name)
                 : fmt::format("qkv export {} -o DIR", visible(lesson.asked));
}

Exhibit exhibit_of(const Lesson& lesson, const Trace& trace, std::string_view name,
                   const WalkLook& look) {
  const Tensor& tensor = trace.at(name);
  const Tensor* before = look.began ? look.began->find(name) : nullptr;
  const bool marked = before && comparable(tensor, *before) && differs(tensor, *before);
  return {tensor, way_to_whole(lesson, trace, name, look), marked ? before : nullptr};
}

std::string tensor_text(const Exhibit& exhibit, const Trace& trace, const WalkLook& look) {
  return text_of(exhibit, trace, look, matrix_text);
}

std::string result_matrix_text(const Exhibit& exhibit, const Trace& trace, bool weights,
                               const WalkLook& look) {
  const std::string text = text_of(exhibit, trace, look, weights ? weights_text : matrix_text);
  const bool has_dots = text.find("│") != std::string::npos;  // the edges of their rows
  if (!has_dots) return text;
  return text + indented(std::string(weights ? dots_legend() : signed_dots_legend()), look);
}

}  // namespace qkv
