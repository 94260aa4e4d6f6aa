#include "model/model_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/files/read_file.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view single_name = "model.safetensors";
constexpr std::size_t largest_index = std::size_t{64} << 20;

bool is_there(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Which tensor is in which file, as the index says. A file's name leads out of no directory.
std::map<std::string, std::string> weight_map(const Path& index, const std::string& where) {
  const auto json = nlohmann::json::parse(read_bytes(index, largest_index), nullptr, false);
  const auto found = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_object() || found->empty()) {
    refuse(where,
           "this is no index of a model's files: it has no weight_map, which says in which "
           "file each tensor is");
  }
  std::map<std::string, std::string> listed;
  for (const auto& [tensor, file] : found->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || Path(name).filename() != Path(name)) {
      refuse(where, fmt::format("weight_map: {} is not in a file beside the index; its value must "
                                "be the file's name alone",
                                printable(tensor)));
    }
    listed[tensor] = name;
  }
  return listed;
}

ModelFiles from_index(const Path& index, const std::string& where) {
  ModelFiles files{
      .weights = {}, .directory = index.parent_path(), .listed = weight_map(index, where)};
  std::set<std::string> names;
  for (const auto& [tensor, file] : files.listed) names.insert(file);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    files.weights.push_back(files.directory / name);
    if (!is_there(files.weights.back())) missing.push_back(printable(name));
  }
  if (missing.empty()) return files;
  refuse(where,
         fmt::format("the index lists {} {}, and {} not beside it: {}; fetch the model whole",
                     names.size(), names.size() == 1 ? "file" : "files",
                     missing.size() == 1 ? "one is" : fmt::format("{} are", missing.size()),
                     some_of(missing)));
}

// What a directory without weights has instead, told as what it is.
std::string_view other_weights(const std::vector<std::string>& names) {
  struct Other {
    std::string_view ending, says;
  };
  constexpr Other others[] = {
      {".gguf", "it has GGUF files, as llama.cpp reads them; qkv reads .safetensors files"},
      {".bin",
       "it has PyTorch's own files (.bin); write the tensors out with "
       "safetensors.torch.save_file"},
      {".pth",
       "it has PyTorch's own files (.pth); write the tensors out with "
       "safetensors.torch.save_file"},
      {".pt",
       "it has PyTorch's own files (.pt); write the tensors out with "
       "safetensors.torch.save_file"},
  };
  for (const Other& other : others) {
    const auto ends = [&](const std::string& name) { return name.ends_with(other.ending); };
    if (std::ranges::any_of(names, ends)) return other.says;
  }
  return "a model's directory has model.safetensors, or model.safetensors.index.json and the files "
         "that it lists";
}

ModelFiles from_directory(const Path& directory, const std::string& where) {
  if (is_there(directory / model_index_name)) {
    return from_index(directory / model_index_name, (Path(where) / model_index_name).string());
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(
           directory, std::filesystem::directory_options::skip_permission_denied)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  std::vector<std::string> weights;
  std::ranges::copy_if(names, std::back_inserter(weights),
                       [](const std::string& name) { return name.ends_with(".safetensors"); });
  if (std::ranges::find(weights, single_name) != weights.end()) {
    weights = {std::string(single_name)};
  }
  if (weights.empty()) {
    refuse(where, fmt::format("there is no .safetensors file in this directory: {}",
                              other_weights(names)));
  }
  if (weights.size() > 1) {
    refuse(where, fmt::format("there are {} .safetensors files in this directory and no {} to say "
                              "which belong together; name one of them, or fetch the index",
                              weights.size(), model_index_name));
  }
  return {.weights = {directory / weights.front()}, .directory = directory, .listed = {}};
}

}  // namespace

bool is_model_index(const std::string& path) { return path.ends_with("safetensors.index.json"); }

ModelFiles model_files(const Path& path, const std::string& where) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return from_directory(path, where);
  if (path.extension() == ".json") return from_index(path, where);
  return {.weights = {path}, .directory = path.parent_path(), .listed = {}};
}

}  // namespace qkv
