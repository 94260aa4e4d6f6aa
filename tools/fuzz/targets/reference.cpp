#include "trace/trace.hpp"

#include "lessons.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  const Trace& trace = small_lesson()->trace;
  const CellReference cell = find_cell(bytes, trace);
  const Tensor& tensor = trace.at(cell.name);
  law(cell.matrix < tensor.matrices() && cell.row < tensor.rows() && cell.column < tensor.columns(),
      "the cell is in the matrix");
  const CellReference again = find_cell(reference_text(cell, tensor, trace.token_layout), trace);
  law(again.name == cell.name && again.matrix == cell.matrix && again.row == cell.row &&
          again.column == cell.column,
      "a cell's own name names it");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 512};

}  // namespace qkv::fuzz
