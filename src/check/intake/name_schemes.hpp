#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// The names that `--names` takes: of the schemes of other programs, in the order of the table.
std::vector<std::string_view> scheme_names();

/// Gives arrays of another program the lesson's names, by the scheme that explains most of them, or
/// by the one called `wanted`. Arrays whose name is a step's, or is `mapped`, keep it. An array
/// that holds several steps side by side (c_attn: Q, K and V) is cut. Returns what to report, empty
/// if no scheme fits. Throws InputError if `wanted` is no scheme or explains no array.
std::string adopt_scheme(const std::optional<std::string>& wanted, const Trace& trace,
                         const std::function<bool(std::string_view)>& mapped,
                         std::vector<NamedArray>& arrays);

}  // namespace qkv::inline check
