#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// What lists a model's files where there are several.
inline constexpr std::string_view model_index_name = "model.safetensors.index.json";

/// Where a trained model's files are: its weights in one file or in several, and the directory of
/// what else is said of it.
struct ModelFiles {
  std::vector<std::filesystem::path> weights;  ///< in the order of their names
  std::filesystem::path directory;
  std::map<std::string, std::string> listed;  ///< the index: which file has which tensor; or empty
};

/// The files that `path` names: a .safetensors file, a model.safetensors.index.json, or a directory
/// with one of them. `where` opens messages. Throws InputError where there is none, where a
/// directory has several, and where files lack that an index lists.
ModelFiles model_files(const std::filesystem::path& path, const std::string& where);

/// Whether the name is that of an index of several files.
bool is_model_index(const std::string& path);

}  // namespace qkv
