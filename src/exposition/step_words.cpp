#include "exposition/exposition.hpp"

#include "lesson/model/predictions.hpp"
#include "lesson/prose.hpp"
#include "text/number.hpp"

namespace qkv::inline exposition {
namespace {

constexpr std::string_view transposition = "ᵀ";

std::vector<FormulaPiece> pieces_of(const Trace& trace, const Step& step) {
  const Form form = step.operation->form(trace.call(step));
  const bool by_columns =
      trace.token_layout == TokenLayout::columns && !form.formula_by_columns.empty();
  const std::string& formula = by_columns ? form.formula_by_columns : form.formula;
  std::vector<FormulaPiece> pieces;
  std::string text;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const std::size_t end = formula.find('}', i);
    if (formula[i] != '{' || end == std::string::npos) {
      text += formula[i];
      continue;
    }
    if (!text.empty()) pieces.push_back({.text = std::exchange(text, {})});
    const auto k = static_cast<std::size_t>(std::stoul(formula.substr(i + 1, end - i - 1)));
    const bool is_transposed = formula.compare(end + 1, transposition.size(), transposition) == 0;
    const Shape shape = shape_as_shown(trace.at(step.of.at(k)), trace.token_layout);
    pieces.push_back({.text = step.of[k],
                      .is_operand = true,
                      .transposed = is_transposed,
                      .shape = shape_text(is_transposed ? transposed(shape) : shape)});
    i = end + (is_transposed ? transposition.size() : 0);
  }
  if (!text.empty()) pieces.push_back({.text = text});
  return pieces;
}

// The first kept step that uses the matrix: the very first may have been released.
std::string_view first_user(const Trace& trace, std::string_view name) {
  const auto known = trace.first_consumers.find(name);
  if (known != trace.first_consumers.end() && trace.find_step(known->second)) return known->second;
  const auto first =
      std::ranges::find_if(trace.steps, [&](const Step& step) { return contains(step.of, name); });
  return first == trace.steps.end() ? std::string_view() : first->name;
}

// Requested decimals are padded, so that lists line up: 1.0000 is a rounded number.
std::string number_in_prose(double value, std::optional<int> wanted, int digits) {
  const std::string text = brief(value, wanted.value_or(digits));
  const bool plain = text.find_first_of("e,n") == std::string::npos && value != 0;
  return wanted && plain ? number(value, *wanted) : text;
}

}  // namespace

Formula formula_of(const Trace& trace, const Step& step) {
  return {.pieces = pieces_of(trace, step),
          .result = step.name,
          .result_shape = shown_shape(step.output, trace.token_layout)};
}

std::string formula_text(const Formula& formula) {
  std::string text;
  for (const FormulaPiece& piece : formula.pieces) {
    text += piece.text;
    if (piece.is_operand) text += fmt::format("{} ({})", piece.transposed ? "ᵀ" : "", piece.shape);
  }
  return fmt::format("{} → {} ({})", text, formula.result, formula.result_shape);
}

std::string prose_of(const Lesson& lesson, const Trace& trace, const Step& step,
                     Prose StepText::*text, int digits) {
  const std::string& own = (lesson.texts[step.number - 1].*text).text;
  if (!own.empty()) return fill_placeholders(own, trace, digits);
  if (text == &StepText::say) return words_for(step, step.operation->says, trace.token_layout);
  if (text == &StepText::notice) return words_for(step, step.operation->notice, trace.token_layout);
  return {};
}

std::string top_entries(const Step& step, TokenLayout token_layout, int digits) {
  constexpr std::size_t many = 5;
  const std::vector<Prediction> predictions = top_tokens(step.output, many);
  if (predictions.empty()) return {};
  const MatrixLabels labels = full_labels(step.output, step.output.matrices() - 1, token_layout);
  const bool rows = token_layout == TokenLayout::rows;
  const std::string last = rows ? labels.rows.back() : labels.columns.back();
  std::size_t widest = 0;
  for (const Prediction& prediction : predictions)
    widest = std::max(widest, width(prediction.word));
  std::string text =
      fmt::format("The {} largest of the {} numbers in the last {} (\"{}\"):\n", predictions.size(),
                  step.output.columns(), rows ? "row" : "column", last);
  for (const Prediction& prediction : predictions) {
    text += fmt::format("\n    {}  {}", padded_right(prediction.word, widest),
                        number(prediction.share, digits));
  }
  return text;
}

std::string fill_placeholders(std::string_view prose, const Trace& trace, int digits) {
  std::string text;
  for (const ProsePiece& piece : pieces_of(prose, trace)) {
    text += piece.text;
    if (!piece.number) continue;
    const std::string render = number_in_prose(*piece.number, piece.digits, digits);
    const bool after_sign = text.ends_with("· ") || text.ends_with("+ ") || text.ends_with("− ");
    text += after_sign && render.starts_with('-') ? "(" + render + ")" : render;
  }
  return text;
}

std::vector<const Given*> new_givens_of(const Trace& trace, const Step& step) {
  std::vector<const Given*> fresh;  // in the order of the formula
  for (const std::string& name : step.of) {
    const auto place = trace.given_names.place(name);
    const Given* given = place ? &trace.givens[*place] : nullptr;
    if (given && first_user(trace, name) == step.name && !contains(fresh, given))
      fresh.push_back(given);
  }
  return fresh;
}

}  // namespace qkv::inline exposition
