#include "terminal/grid.hpp"
#include "text/unicode.hpp"
#include "verdicts/verdicts.hpp"

namespace qkv::inline verdicts {
namespace {

struct VerdictSign {
  Verdict verdict;
  std::string_view sign;
  std::string_view meaning;
};

constexpr VerdictSign marks[] = {
    {Verdict::correct, "✓", "right"},
    {Verdict::rounding, "≈", "right except for rounding"},
    {Verdict::carried, "→", "follows from an earlier mistake"},
    {Verdict::undecided, "?", "undecided"},
    {Verdict::wrong, "✗", "wrong"},
    {Verdict::blank, "·", "blank"},
};

using Lines = std::vector<std::size_t>;

// Selects at most `most` of the lines: those with errors first, then those at the beginning.
template <class IsWrong>
Lines selected_lines(Lines lines, std::size_t most, const IsWrong& is_wrong) {
  if (lines.size() <= most) return lines;
  std::stable_partition(lines.begin(), lines.end(), is_wrong);
  lines.resize(most);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Rows and columns are in display order.
class MarkedGrid {
 public:
  MarkedGrid(const StepReport& step, const Trace& own, std::size_t index)
      : step_(step),
        index_(index),
        is_transposed_(is_shown_transposed(step.written, own.token_layout)),
        rows_(is_transposed_ ? step.written.columns() : step.written.rows()),
        columns_(is_transposed_ ? step.written.rows() : step.written.columns()),
        labels_(own_labels(step.written, index, own.token_layout)),
        asked_rows_(lines_asked(rows_, columns_, [&](auto r, auto c) { return place(r, c); })),
        asked_columns_(lines_asked(columns_, rows_, [&](auto c, auto r) { return place(r, c); })) {}

  std::string text(std::size_t width, std::size_t max_rows) const {
    // The marks of a block only repeat where it is.
    constexpr std::size_t max_marked_cells = 200;
    if (step_.region && step_.cells.wrong > max_marked_cells)
      max_rows = std::min<std::size_t>(max_rows, 8);
    const Lines rows = selected_lines(
        asked_rows_, max_rows, [&](std::size_t r) { return wrong_cells({r}, asked_columns_) > 0; });
    const std::size_t left = max_width(mapped(rows, [&](std::size_t r) { return row_label(r); }));
    const std::size_t cell_width = widest_cell(rows);
    const std::size_t room = width > left + 4 ? width - left - 4 : 1;
    const Lines columns =
        selected_lines(asked_columns_, std::max<std::size_t>(1, room / (cell_width + 2)),
                       [&](std::size_t c) { return wrong_cells(asked_rows_, {c}) > 0; });
    std::vector<std::vector<std::string>> lines(1, {""});
    for (const std::size_t c : columns)
      lines.front().push_back(padded_left(column_label(c) + " ", cell_width));
    for (const std::size_t r : rows) {
      lines.push_back({row_label(r)});
      for (const std::size_t c : columns)
        lines.back().push_back(padded_left(cell(r, c), cell_width));
    }
    return indented_lines(lines_of(aligned_columns(lines, {0})), 4) + left_out(rows, columns);
  }

 private:
  std::size_t place(std::size_t r, std::size_t c) const {
    return (index_ * step_.written.rows() + (is_transposed_ ? c : r)) * step_.written.columns() +
           (is_transposed_ ? r : c);
  }
  // All lines; without those that a sheet for a part left blank as a whole.
  template <class Place>
  Lines lines_asked(std::size_t count, std::size_t length, const Place& at) const {
    return places_where(count, [&](std::size_t k) {
      bool has_number = step_.left_out == 0;
      for (std::size_t n = 0; n < length; ++n)
        has_number = has_number || step_.verdicts[at(k, n)] != Verdict::blank;
      return has_number;
    });
  }
  std::size_t wrong_cells(const Lines& rows, const Lines& columns) const {
    std::size_t count = 0;
    for (const std::size_t r : rows) {
      for (const std::size_t c : columns)
        count += step_.verdicts[place(r, c)] == Verdict::wrong ? 1 : 0;
    }
    return count;
  }
  // Nothing, an unreadable text or a number, and the sign of the verdict.
  std::string cell(std::size_t r, std::size_t c) const {
    const std::size_t i = place(r, c);
    const std::string sign(verdict_sign(step_.verdicts[i]));
    const auto found = step_.bad_texts.find(i);
    if (found != step_.bad_texts.end()) return shortened(sanitise_label(found->second), 12) + sign;
    if (step_.verdicts[i] == Verdict::blank) return sign;
    return learner_number(step_.written.values[i], step_.digits) + sign;
  }

  std::string row_label(std::size_t r) const { return fitted_label(labels_.rows, r, 12); }
  std::string column_label(std::size_t c) const { return fitted_label(labels_.columns, c, 12); }

  std::size_t widest_cell(const Lines& rows) const {
    std::size_t widest = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      for (const std::size_t r : rows) widest = std::max(widest, width(cell(r, c)));
      widest = std::max(widest, width(column_label(c)) + 1);
    }
    return widest;
  }

  std::string left_out(const Lines& rows, const Lines& columns) const {
    std::vector<std::string> parts;
    const auto tell = [&](std::size_t count, std::string_view what) {
      if (count > 0) parts.push_back(pluralise(count, what));
    };
    tell(asked_columns_.size() - columns.size(), "column");
    tell(asked_rows_.size() - rows.size(), "row");
    tell(wrong_cells(asked_rows_, asked_columns_) - wrong_cells(rows, columns), "wrong cell");
    if (parts.empty()) return {};
    return fmt::format("    … {} not shown\n", fmt::join(parts, ", "));
  }

  const StepReport& step_;
  std::size_t index_;
  bool is_transposed_;
  std::size_t rows_;
  std::size_t columns_;
  MatrixLabels labels_;
  Lines asked_rows_, asked_columns_;
};

}  // namespace

std::string learner_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  // A double holds 15 digits of what the learner wrote; 9.7 is not 9.6999999999999993.
  const int most = std::numeric_limits<double>::digits10 - 1 - leading_place(value);
  return brief(value, std::clamp(digits, 1, std::max(1, most)));
}

std::string_view verdict_sign(Verdict verdict) {
  const VerdictSign* found = find_by(marks, verdict, &VerdictSign::verdict);
  return found ? found->sign : "✗";  // another shape is wrong, too
}

std::string verdict_legend(const StepReport& step, const CheckStyle& style) {
  std::string text;
  std::string line;
  for (const VerdictSign& mark : marks) {
    const bool is_shown = mark.verdict == Verdict::blank ? step.is_unfinished()
                                                         : contains(step.verdicts, mark.verdict);
    if (!is_shown) continue;
    const std::string one = fmt::format("{} {}", mark.sign, mark.meaning);
    if (!line.empty() && width(line) + 3 + width(one) > style.width) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "  " : "   ") + one;
  }
  return text + line + "\n";
}

std::string marked_grid(const StepReport& step, const Trace& own, std::size_t index,
                        const CheckStyle& style, std::size_t max_rows) {
  return MarkedGrid(step, own, index).text(style.width, max_rows);
}

}  // namespace qkv::inline verdicts
