#pragma once

#include "exposition/selection.hpp"

namespace qkv::inline page {

/// Matrices with more cells (all heads together) go to CSV files instead, and the page says so.
inline constexpr std::size_t max_printed_cells = 4096;

enum class SheetKind { blank, key };

struct WorksheetStyle {
  int digits = 4;          ///< decimals of the givens
  std::string check = {};  ///< the command that checks the result
  std::string part = {};   ///< what it asks for, in words: "row cat, head 1"; empty for all
  SheetKind kind = SheetKind::blank;
};

/// Returns a worksheet as one HTML page for A4 or Letter paper, in black and white. After the text
/// come the steps that it asks for: number, name, title, explanation, formula with shapes, one cell
/// in names, what is given from here on, and a labelled grid with the asked cells empty. The key
/// has their numbers instead, and the arithmetic of each. Nothing is fetched or run.
std::string worksheet_page(const Lesson& lesson, const WorksheetCells& cells,
                           const WorksheetStyle& look);

}  // namespace qkv::inline page
