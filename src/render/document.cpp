#include "render/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "formats/numeral.hpp"
#include "render/changes.hpp"
#include "render/step_words.hpp"
#include "render/text.hpp"
#include "render/walk.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

using Parts = std::vector<DocumentPart>;

// ---------------------------------------------------------------- words

constexpr std::string_view code_margin = "    ";

// Takes a lesson's prose apart: a blank line ends a paragraph, "- " begins an item, four blanks
// make a line code; any other line break is a blank.
class ProseReader {
 public:
  explicit ProseReader(Parts& parts) : parts_(parts) {}

  void read(std::string_view prose) {
    while (!prose.empty()) {
      const std::size_t end = std::min(prose.find('\n'), prose.size());
      line(prose.substr(0, end));
      prose.remove_prefix(std::min(end + 1, prose.size()));
    }
    close();
  }

 private:
  using Kind = DocumentProse::Kind;

  void line(std::string_view text) {
    if (trimmed(text).empty()) return close();
    if (text.starts_with(code_margin)) return add(Kind::code, text.substr(4), "\n");
    if (text.starts_with("- ")) {
      close();
      return add(Kind::item, trimmed(text.substr(2)), " ");
    }
    add(open_.kind == Kind::item && !open_.text.empty() ? Kind::item : Kind::paragraph,
        trimmed(text), " ");
  }

  void add(Kind kind, std::string_view text, std::string_view between) {
    if (open_.kind != kind) close();
    open_.kind = kind;
    open_.text += open_.text.empty() ? "" : between;
    open_.text += text;
  }

  void close() {
    if (!open_.text.empty()) parts_.emplace_back(std::move(open_));
    open_ = {};
  }

  Parts& parts_;
  DocumentProse open_;
};

void add_prose(Parts& parts, const std::string& prose) {
  ProseReader(parts).read(visible_prose(prose));
}

// ---------------------------------------------------------------- matrices

std::vector<std::string> safe_labels(const std::vector<std::string>& labels) {
  std::vector<std::string> safe;
  for (const std::string& label : labels) safe.push_back(visible_label(label));
  return safe;
}

DocumentTable table_of(std::size_t rows, std::size_t columns, std::span<const double> values,
                       const MatrixLabels& labels, const DocumentLook& look) {
  DocumentTable table{.title = {}, .row_labels = {}, .columns = {}, .rows = {}};
  if (look.labels) {
    table.row_labels = safe_labels(labels.rows);
    table.columns = safe_labels(labels.columns);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = values.subspan(i * columns, columns);
    table.rows.emplace_back(row.begin(), row.end());
  }
  table.style = style_for(values, look.digits);
  return table;
}

// The ids of a batch, each sentence under its own words.
void add_sentences(Parts& parts, const Tensor& ids, const DocumentLook& look) {
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    MatrixLabels labels{{fmt::format("batch {}", b + 1)}, {}};
    for (std::size_t i = 0; i < ids.columns(); ++i) {
      labels.columns.emplace_back(ids.axes.back().label(i, b));
    }
    const auto row = std::span(ids.values).subspan(b * ids.columns(), ids.columns());
    parts.emplace_back(table_of(1, ids.columns(), row, labels, look));
  }
}

void add_tensor(Parts& parts, const Tensor& tensor, Convention convention,
                const DocumentLook& look) {
  if (tensor.values.empty()) {
    parts.emplace_back(
        DocumentProse{.kind = DocumentProse::Kind::paragraph, .text = "It holds no numbers."});
    return;
  }
  if (tensor.values.size() > most_cells_in_document) {
    parts.emplace_back(DocumentProse{
        .kind = DocumentProse::Kind::paragraph,
        .text = fmt::format("Its {} numbers are too many for a page; qkv export writes them as csv "
                            "or npy.",
                            tensor.values.size())});
    return;
  }
  const bool words_by_row =
      tensor.rank() == 2 && tensor.axes.back().labels.size() > tensor.columns();
  if (words_by_row) return add_sentences(parts, tensor, look);
  const Tensor shown = as_shown(tensor, convention);
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    DocumentTable table = table_of(shown.rows(), shown.columns(), shown.matrix(m),
                                   full_labels(tensor, m, convention), look);
    if (shown.matrices() > 1) table.title = matrix_name(tensor, m);
    parts.emplace_back(std::move(table));
  }
}

// ---------------------------------------------------------------- the walk

bool wanted(const std::string& name, const DocumentLook& look) {
  return look.only.empty() ||
         std::find(look.only.begin(), look.only.end(), name) != look.only.end();
}

void add_heading(Parts& parts, int level, const std::string& text) {
  parts.emplace_back(DocumentHeading{level, visible(text)});
}

void add_given(Parts& parts, const Given& given, Convention convention, const DocumentLook& look) {
  add_heading(parts, 3,
              fmt::format("Given: {} ({})", given.name, shown_shape(given.tensor, convention)));
  add_tensor(parts, given.tensor, convention, look);
}

// Those that the lesson leaves out are only named, unless somebody asks for them.
void add_givens(Parts& parts, const Lesson& lesson, const Trace& trace,
                const std::vector<const Given*>& givens, const DocumentLook& look) {
  std::string unshown;
  for (const Given* given : givens) {
    if (!wanted(given->name, look)) continue;
    if (!look.only.empty() || is_shown(lesson, *given)) {
      add_given(parts, *given, trace.convention, look);
    } else {
      unshown += fmt::format("{}{} ({})", unshown.empty() ? "Given, not shown: " : ", ",
                             given->name, shown_shape(given->tensor, trace.convention));
    }
  }
  if (!unshown.empty()) add_prose(parts, unshown + ".");
}

// The givens that no step has used before this one.
std::vector<const Given*> new_givens(const Trace& trace, const Step& step,
                                     std::set<std::string>& shown) {
  std::vector<const Given*> givens;
  for (const Given& given : trace.givens) {
    const bool used = std::find(step.of.begin(), step.of.end(), given.name) != step.of.end();
    if (used && shown.insert(given.name).second) givens.push_back(&given);
  }
  return givens;
}

void add_step_words(Parts& parts, const Lesson& lesson, const Trace& trace, const Step& step,
                    const DocumentLook& look) {
  add_heading(parts, 2, fmt::format("{}. {}: {}", step.number, step.name, title_of(lesson, step)));
  parts.emplace_back(DocumentFormula{visible(formula_text(trace, step))});
  add_prose(parts, said_of(lesson, trace, step, look.digits));
}

void add_step_numbers(Parts& parts, const Lesson& lesson, const Trace& trace, const Step& step,
                      const DocumentLook& look) {
  if (step.operation->parts) {
    for (const Part& part : step.operation->parts(trace.call(step))) {
      add_heading(parts, 3, fmt::format("On the way: {}", part.title));
      add_tensor(parts, part.tensor, trace.convention, look);
    }
  }
  add_heading(parts, 3,
              fmt::format("{} ({})", step.name, shown_shape(step.output, trace.convention)));
  add_tensor(parts, step.output, trace.convention, look);
  if (step.output.values.empty()) return;
  parts.emplace_back(DocumentArithmetic{cell_of(lesson, trace, step)});
}

}  // namespace

std::vector<DocumentPart> document_of(const Lesson& lesson, const Trace& trace,
                                      const DocumentLook& look) {
  Parts parts;
  add_heading(parts, 1, lesson.title);
  add_prose(parts, lesson.summary);
  if (!lesson.source.empty()) add_prose(parts, "Numbers from: " + lesson.source);
  if (trace.convention == Convention::columns) {
    add_prose(parts, "Here a token is a column: keys run down, queries across.");
  }
  if (lesson.changed) add_prose(parts, std::string(changed_words));
  std::set<std::string> shown;
  for (const Step& step : trace.steps) {
    const bool whole = wanted(step.name, look);
    if (whole) add_step_words(parts, lesson, trace, step, look);
    add_givens(parts, lesson, trace, new_givens(trace, step, shown), look);
    if (!whole) continue;
    const bool shows = lesson.texts[step.number - 1].show || !look.only.empty();
    if (shows) add_step_numbers(parts, lesson, trace, step, look);
    const std::string notice = noticed_of(lesson, trace, step, look.digits);
    if (!notice.empty()) add_prose(parts, "Notice: " + notice);
    const std::string questions = questions_of(lesson, trace, step, look.digits);
    if (!questions.empty()) add_prose(parts, "Try:\n\n" + questions);
  }
  return parts;
}

}  // namespace qkv
