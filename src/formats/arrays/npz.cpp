#include "formats/arrays/npz.hpp"

#include <fmt/format.h>

#include <unordered_set>

#include "formats/arrays/npy.hpp"
#include "formats/arrays/zip.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr ZipWords words = {
    .kind = ".npz file",
    .make = "save the arrays with numpy.savez",
    .again = "save the arrays again with numpy.savez",
    .plainly = "save the arrays with numpy.savez or numpy.savez_compressed",
};
constexpr std::string_view array_extension = ".npy";

}  // namespace

std::vector<NamedWritten> read_npz(std::string_view bytes, const std::string& where,
                                   std::size_t limit) {
  const std::vector<ZipEntry> entries = zip_entries(bytes, where, words);
  if (entries.empty()) refuse(where, "there are no arrays in it");
  std::size_t total = 0;
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(array_extension)) {
      refuse(where, printable(entry.name) + " is no .npy array: save the arrays with numpy.savez");
    }
    total += entry.unpacked;
    if (total > limit) {
      refuse(where,
             fmt::format("its arrays have more than {} bytes, the most that is read", limit));
    }
  }
  std::vector<NamedWritten> arrays;
  std::unordered_set<std::string> names;
  for (const ZipEntry& entry : entries) {
    std::string name = entry.name.substr(0, entry.name.size() - array_extension.size());
    if (!names.insert(name).second) {
      refuse(where, fmt::format("two arrays are named {}: {}", printable(name), words.again));
    }
    const std::string place = fmt::format("{}, {}", where, printable(name));
    arrays.push_back({std::move(name), read_npy(unpacked(entry, where, words), place)});
  }
  return arrays;
}

}  // namespace qkv
