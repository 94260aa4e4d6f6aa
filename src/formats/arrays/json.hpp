#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.hpp"

namespace qkv::inline formats {

/// Returns the matrices in a JSON text. Nested arrays of numbers of any rank are one matrix without
/// a name; an object of them, {"Q": [[1, 2]], "K": …}, is one for each name. Names of nested
/// objects are joined with a dot ({"h0": {"Q": …}} is h0.Q), except for wrappers such as {"steps":
/// …}. Lists of entries are read, too: [{"step": "Q", "values": …}]. Decimals stay as written.
/// null and "" are blank; infinities are "inf", "-inf" or Python's spelling. Throws InputError
/// (prefix `where`): invalid JSON (with line and column), rows that differ in length, a repeated
/// name, arrays nested too deep, more numbers than are wanted.
std::vector<NamedArray> read_json(std::string_view text, const std::string& where,
                                  const ReadOptions& wanted = {});

/// Writes an object with one nested list per tensor; names are letters, digits, _ and dots. Numbers
/// have `digits` decimals, or the shortest digits that read back to the same double. Infinities and
/// NaN are the strings "inf", "-inf" and "nan".
void write_json(const std::vector<NamedTensor>& tensors, std::optional<int> digits,
                const Sink& sink);

}  // namespace qkv::inline formats
