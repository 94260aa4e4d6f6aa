#pragma once

#include "text/prelude.hpp"

#include <nlohmann/json_fwd.hpp>

namespace qkv::inline text {

/// Returns a number as JSON. JSON lacks infinities and NaN: they are "inf", "-inf" and "nan".
nlohmann::ordered_json json_number(double value);

/// Appends a number in JSON by the same rule: with so many decimals, or with the shortest digits
/// that read back to the same double.
void append_json_number(std::string& text, double value, std::optional<int> digits = {});

/// Returns a file of JSON, indented, with a line break at its end. It is safe on a terminal, as
/// `sanitise_json` says. Bytes that are not UTF-8 are replaced.
std::string json_document(const nlohmann::ordered_json& json);

}  // namespace qkv::inline text
