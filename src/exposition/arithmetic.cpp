#include "exposition/arithmetic.hpp"

#include <fmt/format.h>

#include "exposition/cell_notation.hpp"
#include "ops/cell.hpp"

namespace qkv {
namespace {

CellBase place_of(const Call& call, const Step& step, const CellReference& cell) {
  return {&call, &step.output, cell.matrix, cell.row, cell.column};
}

}  // namespace

Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell) {
  const Call call = trace.call(step);
  return step.operation->cell.expression({place_of(call, step, cell)});
}

bool writes_weight_first(const Trace& trace, const Step& step) {
  return trace.convention == Convention::columns &&
         !step.operation->form(trace.call(step)).turned.empty();
}

CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticLook& look) {
  const Tensor& tensor = trace.at(cell.name);
  CellArithmetic result{.cell = reference_text(cell, tensor, trace.convention),
                        .value = tensor.at(cell.matrix, cell.row, cell.column),
                        .lines = {}};
  if (look.notation == Notation::latex) result.cell = latex_cell(result.cell);
  const Step* step = trace.find_step(cell.name);
  if (!step) {
    result.lines = {fmt::format("{}", result.value)};
    return result;
  }
  const Expression expression = expression_of(trace, *step, cell);
  const Call call = trace.call(*step);
  if (step->operation->remark) {
    result.remark = step->operation->remark(place_of(call, *step, cell));
  }
  const CellNotation notation{
      .look = look,
      .weight_first = writes_weight_first(trace, *step),
      .name = [&](const CellPlace& place) {
        return reference_text(
            {std::string(call.names[place.operand]), place.matrix, place.row, place.column},
            *call.inputs[place.operand], trace.convention);
      }};
  for (std::size_t stage = 0; stage <= expression.strides() + 1; ++stage) {
    std::string line = written_at(stage, expression, notation);
    if (result.lines.empty() || line != result.lines.back())
      result.lines.push_back(std::move(line));
  }
  return result;
}

}  // namespace qkv
