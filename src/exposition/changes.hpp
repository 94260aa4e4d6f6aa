#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// What is said of a changed lesson before its steps.
inline constexpr std::string_view changed_words =
    "Steps whose numbers were changed are explained in general words.";

/// What a change of the lesson did to one step, in a line: how many cells, and the first of them
/// with what they were: `changed: 2 of 49 cells: [cat,fat] 4 → 8, [cat,mat] 1 → 2`.
/// Where the step is of another size, or belongs to other words, that is what it says.
std::string changes_text(const Step& step, const Trace& before, int digits);

/// The cell that changed the most; none where nothing did, or where the two can't be compared.
std::optional<CellReference> largest_change(const Step& step, const Trace& before);

}  // namespace qkv
