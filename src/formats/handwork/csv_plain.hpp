#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"

namespace qkv::csv {

/// Reads a file of nothing but numbers and commas in one go, many times as fast as the careful way;
/// nothing where anything else occurs, or where the first row and column might be labels.
std::optional<Written> read_plain_numbers(std::string_view text, const std::string& where);

/// The same where nobody asks how many digits each number had; nothing where one is nan, either.
std::optional<Tensor> read_plain_matrix(std::string_view text, const std::string& where);

}  // namespace qkv::csv
