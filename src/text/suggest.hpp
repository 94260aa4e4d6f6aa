#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qkv::inline text {

/// The known name that `wanted` was probably meant to be, for "did you mean"; empty where none is
/// near. Near is: the same but for capitals; about one typing slip for every three characters (a
/// letter wrong, missing, too many, or two exchanged); or the only name with `wanted` in it. Of
/// thousands of names the first hundreds are looked at, and what has hundreds of letters is no
/// slip. Example: among "softmax" and "score", "sofmtax" means "softmax".
std::string suggest(std::string_view wanted, std::span<const std::string_view> names);
std::string suggest(std::string_view wanted, std::span<const std::string> names);

/// What follows a name that nothing has: `did you mean "softmax"?`; where none is near `otherwise`,
/// or if that is not said `there are softmax, score`.
std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> names,
                         std::string_view otherwise = {});
std::string did_you_mean(std::string_view wanted, std::span<const std::string> names,
                         std::string_view otherwise = {});

/// The names with commas between them; of more than 24 the first 16 and how many there are besides.
std::string abbreviated_list(std::span<const std::string_view> names);
std::string abbreviated_list(std::span<const std::string> names);

}  // namespace qkv::inline text
