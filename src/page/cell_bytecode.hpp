#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "trace/cell_reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// A cell of a tensor: its matrix, row and column, and the place of each among those shown. In a
/// large matrix without its middle, row 504 may be in place 8.
struct ShownCell {
  std::array<std::size_t, 3> index = {};
  std::array<std::size_t, 3> place = {};
};

/// How a value varies over cells: an affine function, `linear[0] + linear[1]·matrix + linear[2]·row
/// + linear[3]·column`, or else a table by as few of the three indices as possible.
struct IndexMap {
  std::array<double, 4> linear = {};
  unsigned by = 0;            ///< bits of the table's indices: 1 matrix, 2 row, 4 column; 0: affine
  std::vector<double> table;  ///< by the places of those indices, the column's fastest

  bool operator==(const IndexMap&) const = default;
  bool is_same_everywhere() const;
};

/// Returns the index map that gives exactly `values[i]` for each `cells[i]`; at worst a table by
/// all three indices. `extents`: how many matrices, rows and columns are shown.
IndexMap index_map_of(std::span<const double> values, std::span<const ShownCell> cells,
                      const std::array<std::size_t, 3>& extents);

/// Returns the value of the map at a cell.
double value_at(const IndexMap& index_map, const ShownCell& cell,
                const std::array<std::size_t, 3>& extents);

/// One term of an arithmetic that many cells share.
struct BytecodeTerm {
  Expression::Kind kind = Expression::Kind::number;
  std::vector<std::size_t> parts;  ///< by their index in the form; always earlier ones
  std::size_t operand = 0;         ///< of a cell: the operand that it is read from
  CellPlace::Chosen chosen = CellPlace::Chosen::by_place;  ///< of a cell: why this cell
  std::vector<IndexMap> varying;  ///< of a cell: matrix, row, column; of a number: its value
};

/// An arithmetic that many cells share; its last term is the result.
using BytecodeForm = std::vector<BytecodeTerm>;

/// Bytecode for every shown cell of a step, grouped by expression shape. Most steps have one form
/// that varies by row and column; a mask has two. Forms are found by comparing the cells'
/// expressions, without knowledge of the operation. They give exactly the terms of `expression_of`,
/// factors in the written order.
struct CellBytecode {
  std::array<std::size_t, 3> extents = {};  ///< shown matrices, rows, columns
  std::vector<BytecodeForm> forms;
  IndexMap which;  ///< the form of each cell
};

/// A function call; functions of one argument leave the second 0.
struct FunctionCall {
  Expression::Kind kind = Expression::Kind::exponential;
  std::array<double, 2> arguments = {};

  bool operator==(const FunctionCall&) const = default;
  struct Hash {
    std::size_t operator()(const FunctionCall& call) const;
  };
};

/// What the page must include: the cells that are read, and functions that browsers lack or round.
struct BytecodeInputs {
  std::unordered_map<FunctionCall, double, FunctionCall::Hash> functions;
  std::map<std::string, std::vector<bool>, std::less<>> cells;  ///< of each tensor, row-major
};

/// Returns the bytecode of a step for `cells`, and adds its inputs to `needs`.
CellBytecode bytecode_of(const Trace& trace, const Step& step, const std::vector<ShownCell>& cells,
                         const std::array<std::size_t, 3>& extents, BytecodeInputs& needs);

}  // namespace qkv::inline page
