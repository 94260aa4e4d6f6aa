#include "exposition/formula.hpp"

#include <fmt/format.h>

#include <utility>

namespace qkv {
namespace {

constexpr std::string_view transposition = "ᵀ";

FormulaPiece operand_piece(const Trace& trace, const std::string& name, bool transposed) {
  const Tensor& tensor = trace.at(name);
  Shape shape = tensor.shape();
  if (is_turned(tensor, trace.convention) != transposed && shape.size() > 1) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return {.text = name, .is_operand = true, .transposed = transposed, .shape = shape_text(shape)};
}

std::vector<FormulaPiece> pieces_of(const Trace& trace, const Step& step) {
  const Form form = step.operation->form(trace.call(step));
  const bool turned = trace.convention == Convention::columns && !form.turned.empty();
  const std::string& formula = turned ? form.turned : form.formula;
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
    const bool transposed = formula.compare(end + 1, transposition.size(), transposition) == 0;
    pieces.push_back(operand_piece(trace, step.of.at(k), transposed));
    i = end + (transposed ? transposition.size() : 0);
  }
  if (!text.empty()) pieces.push_back({.text = text});
  return pieces;
}

}  // namespace

Formula formula_of(const Trace& trace, const Step& step) {
  return {.pieces = pieces_of(trace, step),
          .result = step.name,
          .result_shape = shown_shape(step.output, trace.convention)};
}

std::string formula_text(const Formula& formula) {
  std::string text;
  for (const FormulaPiece& piece : formula.pieces) {
    text += piece.text;
    if (piece.is_operand) text += fmt::format("{} ({})", piece.transposed ? "ᵀ" : "", piece.shape);
  }
  return fmt::format("{} → {} ({})", text, formula.result, formula.result_shape);
}

}  // namespace qkv
