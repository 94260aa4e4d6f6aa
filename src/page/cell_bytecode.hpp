#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// Which cell of a tensor: its matrix, row and column, and the place of each among those shown
/// (where a large matrix loses its middle, row 504 is in place 8).
struct ShownCell {
  std::array<std::size_t, 3> index = {};
  std::array<std::size_t, 3> place = {};
};

/// How a number changes from cell to cell, in few words: `linear[0] + linear[1]·matrix +
/// linear[2]·row + linear[3]·column`; or, where that is not so, a table by as few of the three as
/// will do.
struct IndexMap {
  std::array<double, 4> linear = {};
  unsigned by = 0;            ///< 1 matrix, 2 row, 4 column, added up; 0: the linear form holds
  std::vector<double> table;  ///< by the places of those, the column's fastest

  bool operator==(const IndexMap&) const = default;
  bool is_same_everywhere() const;
};

/// The pattern that gives exactly `values[i]` for each `cells[i]`. `extents`: how many matrices,
/// rows and columns are shown. Always finds one, at worst a table by all three.
IndexMap index_map_of(std::span<const double> values, std::span<const ShownCell> cells,
                      const std::array<std::size_t, 3>& extents);

/// What the pattern says of a cell.
double value_at(const IndexMap& index_map, const ShownCell& cell,
                const std::array<std::size_t, 3>& extents);

/// One term of an arithmetic that many cells share.
struct BytecodeTerm {
  Expression::Kind kind = Expression::Kind::number;
  std::vector<std::size_t> parts;  ///< by their place in the arithmetic, always earlier ones
  std::size_t operand = 0;         ///< of a cell: which operand it is read from
  CellPlace::Chosen chosen = CellPlace::Chosen::by_place;  ///< of a cell: why this one
  std::vector<IndexMap> varying;  ///< of a cell: matrix, row, column; of a number: its value
};

/// An arithmetic that many cells share: its last term is the result.
using BytecodeForm = std::vector<BytecodeTerm>;

/// How every shown cell of a step is worked out. The cells of a step mostly have one form, with
/// other rows and columns; a mask has two. Found by comparing the cells' own arithmetic, so that
/// nothing needs to be known of the operation: the program gives exactly the terms of
/// `expression_of`, factors in the order in which they are written.
struct CellBytecode {
  std::array<std::size_t, 3> extents = {};  ///< how many matrices, rows, columns are shown
  std::vector<BytecodeForm> forms;
  IndexMap which;  ///< the form of each cell
};

/// A function and what it is taken of; those of one argument leave the second 0.
struct FunctionCall {
  Expression::Kind kind = Expression::Kind::exponential;
  std::array<double, 2> arguments = {};

  bool operator==(const FunctionCall&) const = default;
  struct Hash {
    std::size_t operator()(const FunctionCall& call) const;
  };
};

/// What a page must bring along so that it can work the arithmetic out by itself: the values of
/// functions that a browser lacks or rounds otherwise, by kind and arguments, and which cells are
/// read.
struct BytecodeInputs {
  std::unordered_map<FunctionCall, double, FunctionCall::Hash> functions;
  std::map<std::string, std::vector<bool>, std::less<>> cells;  ///< of each tensor, row-major
};

/// The program of a step for `cells`; adds what it reads to `needs`.
CellBytecode bytecode_of(const Trace& trace, const Step& step, const std::vector<ShownCell>& cells,
                         const std::array<std::size_t, 3>& extents, BytecodeInputs& needs);

}  // namespace qkv::inline page
