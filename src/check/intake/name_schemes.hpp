#pragma once

#include "formats/format.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// A name map "theirs=ours". Each may contain one *, which stands for the same text without a dot.
struct NameMap {
  std::string theirs;
  std::string ours;
};

/// How the names of a program's arrays are understood.
struct NameOptions {
  std::optional<std::string> scheme = {};  ///< without one, whichever explains most of them
  std::vector<NameMap> maps = {};          ///< the most specific first
};

/// A name as a map gives it, and which map.
struct MappedName {
  std::size_t map = 0;
  std::string name;
};

/// Returns what the first map that matches makes of a name; nothing if none matches.
std::optional<MappedName> mapped(const std::vector<NameMap>& maps, std::string_view name);

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
