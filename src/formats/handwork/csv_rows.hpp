#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "formats/handwork/csv_layout.hpp"

namespace qkv::csv {

/// What to do where commas are decimal marks and part the cells, too.
inline constexpr std::string_view decimal_commas_hint =
    "; if the commas are decimal commas, write points, or ; between the numbers";

/// Drops the rows that are no cells, blank ones and headings, and makes sure that the others are
/// there and equally long; `expected` is the size of the matrix, of which `stacked` may stand one
/// below the other. Throws InputError.
void settle_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected,
                 std::size_t stacked, const std::string& where);

}  // namespace qkv::csv
