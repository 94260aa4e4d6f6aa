#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "page/pattern.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// One term of an arithmetic that many cells share.
struct ProgramTerm {
  Expression::Kind kind = Expression::Kind::number;
  std::vector<std::size_t> parts;  ///< by their place in the arithmetic, always earlier ones
  std::size_t operand = 0;         ///< of a cell: which operand it is read from
  CellPlace::Chosen chosen = CellPlace::Chosen::by_place;  ///< of a cell: why this one
  std::vector<Pattern> varying;  ///< of a cell: matrix, row, column; of a number: its value
};

/// An arithmetic that many cells share: its last term is the result.
using ProgramForm = std::vector<ProgramTerm>;

/// How every shown cell of a step is worked out. The cells of a step mostly have one form, with
/// other rows and columns; a mask has two. Found by comparing the cells' own arithmetic, so that
/// nothing needs to be known of the operation: the program gives exactly the terms of
/// `expression_of`, factors in the order in which they are written.
struct CellProgram {
  std::array<std::size_t, 3> extents = {};  ///< how many matrices, rows, columns are shown
  std::vector<ProgramForm> forms;
  Pattern which;  ///< the form of each cell
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
struct ProgramNeeds {
  std::unordered_map<FunctionCall, double, FunctionCall::Hash> functions;
  std::map<std::string, std::vector<bool>, std::less<>> cells;  ///< of each tensor, row-major
};

/// The program of a step for `cells`; adds what it reads to `needs`.
CellProgram program_of(const Trace& trace, const Step& step, const std::vector<ShownCell>& cells,
                       const std::array<std::size_t, 3>& extents, ProgramNeeds& needs);

}  // namespace qkv
