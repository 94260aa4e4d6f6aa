#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qkv::inline text {

/// Returns the known name that `wanted` probably means, or an empty string. It is equal but for
/// capitals, about one edit per three characters away, or the only name that contains `wanted`. An
/// edit is a wrong, missing or extra letter, or two swapped. Searches the first 500 names, and only
/// for up to 500 bytes. Example: among "softmax" and "score", "sofmtax" means "softmax".
std::string suggest(std::string_view wanted, std::span<const std::string_view> names);
std::string suggest(std::string_view wanted, std::span<const std::string> names);

/// Returns the remedy for an unknown name: `did you mean "softmax"?`. If no name is close, returns
/// `otherwise`, or by default `there are softmax, score`.
std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> names,
                         std::string_view otherwise = {});
std::string did_you_mean(std::string_view wanted, std::span<const std::string> names,
                         std::string_view otherwise = {});

/// Joins names with commas. Of more than 24 it lists 16 and the number of the rest.
std::string abbreviated_list(std::span<const std::string_view> names);
std::string abbreviated_list(std::span<const std::string> names);

}  // namespace qkv::inline text
