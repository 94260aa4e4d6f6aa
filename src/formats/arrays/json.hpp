#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/handwork/numeral.hpp"
#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The matrices in a JSON text: nested arrays of numbers of any rank are one matrix without a name;
/// an object of them, {"Q": [[1, 2]], "K": …}, is one for each of its names. Decimals stay as
/// written; null, "" and NaN are blank, infinities are written "inf", "-inf", or as Python writes
/// them. `where` opens every message. Throws InputError: text that is no JSON (with line and
/// column), rows that differ in length, a name that stands twice, arrays nested too deep.
/// Objects in objects join their names with a dot ({"h0": {"Q": …}} is h0.Q), but for those that
/// only wrap the others, {"steps": …}; entries of a list, [{"step": "Q", "values": …}], count, too.
std::vector<NamedArray> read_json(std::string_view text, const std::string& where,
                                  OnBadCell on_bad_cell = OnBadCell::refused);

/// Writes an object of nested lists, one for each tensor, under their names (which are letters,
/// digits, _ and dots): the shortest digits that read back to the same double, or so many decimals;
/// infinities as the strings "inf" and "-inf", NaN as null.
void write_json(const std::vector<NamedTensor>& tensors, std::optional<int> digits,
                const Sink& sink);

}  // namespace qkv::inline formats
