#pragma once

#include <optional>

#include "lesson/file/toml_reader.hpp"
#include "lesson/lesson.hpp"
#include "model/model.hpp"

namespace qkv {

/// Reads a lesson's [model] table and the model that it names: `file`, beside the lesson; if wanted
/// `family`, `layers` (the first so many), `heads`, and `vocabulary` or `tokenizer`. Nothing, and a
/// fault, where the table or the model is wrong.
/// `vocabulary` is the lesson's own, which the model's tokens are where the table says nothing.
std::optional<Model> read_model_table(const toml::table& table, const LessonFiles& files,
                                      const std::vector<std::string>& vocabulary,
                                      TomlReader& reader);

}  // namespace qkv
