#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline exposition {

/// What a worksheet does with a cell. Of a part of a lesson most cells are unused.
enum class CellUse : std::uint8_t { unused, given, asked };

/// Which cells a worksheet is to ask for; without any, all cells of all steps.
struct WorksheetRequest {
  std::vector<std::size_t> steps = {};   ///< by index in the trace
  std::optional<std::size_t> head = {};  ///< only what has heads, this one; from 0
  std::string row = {};                  ///< the token of a row, its label or its number from 1

  bool is_part() const { return !steps.empty() || head || !row.empty(); }
};

/// The cells of a worksheet. It gives the operands' cells that the arithmetic of an asked cell
/// reads, unless it asks for them, too; of the lesson's givens it gives whole matrices.
struct WorksheetCells {
  std::map<std::string, std::vector<CellUse>, std::less<>> uses;  ///< by tensor, row by row
  std::size_t asked = 0;                                          ///< how many cells it asks for
  Trace trace;  ///< the steps that it asks for; the results of others are givens

  /// Returns the uses of the cells of one matrix, in display layout.
  std::vector<CellUse> shown_uses(const std::string& name, const Tensor& tensor, std::size_t matrix,
                                  TokenLayout token_layout) const;
  /// True if the worksheet has a cell of the tensor with that use.
  bool has(const std::string& name, CellUse use) const;
};

/// Throws InputError if no step has the row, if its label stands at several rows, or if nothing is
/// left to ask for.
WorksheetCells worksheet_cells(const Trace& trace, const WorksheetRequest& request);

}  // namespace qkv::inline exposition
