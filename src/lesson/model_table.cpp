#include "lesson/model_table.hpp"

#include <fmt/format.h>

#include "lesson/own_directory.hpp"
#include "tensor/error.hpp"

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
  choice.tokeniser.vocabulary = vocabulary;
  if (table.contains("vocabulary")) {
    choice.tokeniser.vocabulary =
        reader.texts(table, "vocabulary").value_or(std::vector<std::string>{});
  }
  const auto tokenizer = reader.text(table, "tokenizer");
  try {
    choice.file =
        choice.built_in ? std::filesystem::path(*file) : file_of_lesson(files.directory, *file);
    if (tokenizer) choice.tokeniser.tokenizer = file_of_lesson(files.directory, *tokenizer);
    return read_model(choice);
  } catch (const InputError& error) {
    reader.fault(*table.get("file"), error.what());
    return {};
  }
}

}  // namespace qkv
