#pragma once

#include <string>
#include <string_view>

namespace qkv::csv {

/// A label as a cell: in quotes where RFC 4180 asks for it, and where a reader might take a mark
/// inside for a separator or drop a blank at the ends; after an apostrophe where a spreadsheet
/// would run it as a formula. Example: `=1+1` is written `'=1+1`.
std::string label_cell(std::string_view label);

/// The label in a cell, without the apostrophe that guards it.
std::string label_of(std::string_view cell);

}  // namespace qkv::csv
