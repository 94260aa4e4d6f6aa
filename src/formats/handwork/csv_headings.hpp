#pragma once

#include <array>
#include <optional>
#include <string>

#include "formats/handwork/csv_layout.hpp"

namespace qkv::csv {

/// Whether a cell is neither blank nor a number.
bool is_text(const Field& field);

/// The text of a table that is ruled with |, as Markdown and people write it ("the | -0.5 -0.5"),
/// with tabs between its cells and its lines where they were; nothing where it is none.
std::optional<std::string> without_rules(std::string_view text);

/// Takes lines that are no rows out of a table of `stacked` matrices of the `expected` size: a
/// title over them all or over each, and names over plain rows, which become labels. Rows that
/// begin with a name and have no names over them are marked so.
void settle_headings(Table& table, std::array<std::size_t, 2> expected, std::size_t stacked);

}  // namespace qkv::csv
