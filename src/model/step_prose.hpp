#pragma once

#include <string_view>

namespace qkv::inline model {

/// The prose of a step of a model, with static lifetime.
struct ModelWords {
  std::string_view title;
  std::string_view say;
  std::string_view notice;
};

/// Relatives of GPT-2 or of LLaMA, some of whose steps need other prose.
enum class ModelKind { gpt, llama };

/// Returns the prose of a step, by its name without the layer: "scores" for `h3.scores`. Throws
/// std::logic_error for an unknown step.
const ModelWords& model_words(std::string_view step, ModelKind kind);

}  // namespace qkv::inline model
