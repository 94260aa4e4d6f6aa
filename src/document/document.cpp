#include "document/document.hpp"

#include <fmt/format.h>

#include <span>

#include "exposition/exposition.hpp"
#include "text/escape.hpp"
#include "text/strings.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

using Parts = std::vector<DocumentPart>;

void add_passages(Parts& parts, std::vector<Passage> passages) {
  for (Passage& passage : passages) {
    if (!passage.on_one_line().empty()) parts.emplace_back(std::move(passage));
  }
}

void add_prose(Parts& parts, const std::string& prose) { add_passages(parts, passages_of(prose)); }

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
    const auto row = std::span(ids.values).subspan(b * ids.columns(), ids.columns());
    parts.emplace_back(table_of(1, ids.columns(), row, labels_of_sentence(ids, b), look));
  }
}

void add_tensor(Parts& parts, const Tensor& tensor, Convention convention,
                const DocumentLook& look) {
  if (tensor.values.empty()) {
    return add_prose(parts, "It holds no numbers.");
  }
  if (tensor.values.size() > most_cells_in_document) {
    return add_prose(
        parts, fmt::format("Its {} numbers are too many for a page; qkv export writes them as csv "
                           "or npy.",
                           tensor.values.size()));
  }
  if (words_differ_by_row(tensor)) return add_sentences(parts, tensor, look);
  const Tensor shown = as_shown(tensor, convention);
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    DocumentTable table = table_of(shown.rows(), shown.columns(), shown.cells(m),
                                   full_labels(tensor, m, convention), look);
    if (shown.matrices() > 1) table.title = matrix_name(tensor, m);
    parts.emplace_back(std::move(table));
  }
}

// Adds what is told to a document.
class DocumentWriter {
 public:
  DocumentWriter(Parts& parts, const Trace& trace, const DocumentLook& look)
      : parts_(parts), trace_(trace), look_(look) {}

  void operator()(const LessonTitle& title) const { heading(1, title.text); }

  void operator()(const StepTitle& step) const {
    heading(2, fmt::format("{}. {}: {}", step.number, step.name, step.title));
  }

  void operator()(const Words& words) const { add_passages(parts_, introduced(words)); }

  void operator()(const Formula& formula) const {
    parts_.emplace_back(DocumentFormula{visible(formula_text(formula))});
  }

  void operator()(const Exhibit& exhibit) const {
    const std::string sized = fmt::format("{} ({})", exhibit.title, exhibit.shape);
    switch (exhibit.role) {
      case Exhibit::Role::given: heading(3, "Given: " + sized); break;
      case Exhibit::Role::on_the_way: heading(3, "On the way: " + exhibit.title); break;
      case Exhibit::Role::result: heading(3, sized); break;
    }
    add_tensor(parts_, *exhibit.tensor, trace_.convention, look_);
  }

  void operator()(const UnshownGivens& givens) const {
    add_prose(parts_, fmt::format("Given, not shown: {}.", givens.names));
  }

  void operator()(const Changes& changes) const { add_prose(parts_, changes.text); }

  void operator()(const WorkedCell& worked) const {
    parts_.emplace_back(DocumentArithmetic{worked.cell});
  }

 private:
  void heading(int level, const std::string& text) const {
    parts_.emplace_back(DocumentHeading{level, visible(text)});
  }

  Parts& parts_;
  const Trace& trace_;
  const DocumentLook& look_;
};

}  // namespace

std::vector<DocumentPart> document_of(const Lesson& lesson, const Trace& trace,
                                      const DocumentLook& look) {
  Parts parts;
  const DocumentWriter writer(parts, trace, look);
  for (const Told& piece : opening_of(lesson)) std::visit(writer, piece);
  for (const Step& step : trace.steps) {
    const Telling telling{.digits = look.digits, .only = look.only};
    for (const Told& piece : told_of(lesson, trace, step, telling)) std::visit(writer, piece);
  }
  return parts;
}

}  // namespace qkv
