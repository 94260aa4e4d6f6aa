#include "lesson/model/model_table.hpp"

#include <fmt/format.h>

#include "lesson/file/own_directory.hpp"
#include "model/model_files.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view keys[] = {"file",  "family",     "layers",
                                     "heads", "vocabulary", "tokenizer"};

// A whole number above 0.
std::optional<std::size_t> count_under(const toml::table& table, std::string_view key,
                                       TomlReader& reader) {
  const auto number = reader.whole(table, key);
  if (number && *number > 0) return static_cast<std::size_t>(*number);
  if (number) reader.fault(*table.get(key), fmt::format("{} must be 1 or more", key));
  return {};
}

// Where the model's files lie, as the lesson names it.
std::filesystem::path folder_of(const std::filesystem::path& path, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path named = name;
  return std::filesystem::is_directory(path, ignored) ? named : named.parent_path();
}

// The file, or the directory, that the lesson names. What else a model is read from stands beside
// it, and must not be a link that leads out either.
std::filesystem::path file_beside(const std::filesystem::path& directory, const std::string& name) {
  constexpr std::string_view siblings[] = {"config.json",   "tokenizer.json", "vocab.json",
                                           "merges.txt",    "encoder.json",   "vocab.bpe",
                                           model_index_name};
  const std::filesystem::path path = file_of_lesson(directory, name);
  const std::filesystem::path near = folder_of(path, name);
  std::error_code ignored;
  for (const std::string_view sibling : siblings) {
    if (std::filesystem::exists(directory / near / sibling, ignored)) {
      file_of_lesson(directory, (near / sibling).string());
    }
  }
  return path;
}

// The same of a model, whose weights may be files that its directory has or its index lists.
std::filesystem::path model_beside(const std::filesystem::path& directory,
                                   const std::string& name) {
  const std::filesystem::path path = file_beside(directory, name);
  for (const std::filesystem::path& weights : model_files(path, name).weights) {
    file_of_lesson(directory, (folder_of(path, name) / weights.filename()).string());
  }
  return path;
}

}  // namespace

std::optional<Model> read_model_table(const toml::table& table, const LessonFiles& files,
                                      const std::vector<std::string>& vocabulary,
                                      TomlReader& reader) {
  reader.refuse_unknown_keys(table, keys, "[model]");
  const auto file = reader.text(table, "file");
  if (!file) {
    if (!table.contains("file")) {
      reader.fault(table, "[model] needs the model's file: write file = \"model.safetensors\"");
    }
    return {};
  }
  ModelChoice choice;
  choice.where = *file;
  choice.built_in = files.built_in(*file);
  choice.architecture.family = reader.text(table, "family");
  choice.architecture.heads = count_under(table, "heads", reader);
  choice.layers = count_under(table, "layers", reader);
  if (!table.contains("tokenizer")) choice.tokeniser.vocabulary = vocabulary;
  if (table.contains("vocabulary")) {
    choice.tokeniser.vocabulary =
        reader.texts(table, "vocabulary").value_or(std::vector<std::string>{});
  }
  const auto tokenizer = reader.text(table, "tokenizer");
  try {
    if (!choice.built_in) choice.file = model_beside(files.directory, *file);
    if (tokenizer) choice.tokeniser.tokenizer = file_beside(files.directory, *tokenizer);
    return read_model(choice);
  } catch (const InputError& error) {
    reader.fault(*table.get("file"), error.what());
    return {};
  }
}

}  // namespace qkv
