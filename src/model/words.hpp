#pragma once

#include <span>
#include <string_view>

namespace qkv::inline model {

/// The words of one of a model's steps; they live as long as the program.
struct ModelWords {
  std::string_view title;
  std::string_view say;
  std::string_view notice;
};

/// The words of one step, by its name without the layer.
struct StepWords {
  std::string_view step;
  ModelWords words;
};

/// GPT-2's kind, or LLaMA's, some of whose steps need other words.
enum class ModelKind { gpt, llama };

/// What is said of a model's step, by its name without the layer: "scores" for `h3.scores`.
/// Throws std::logic_error where the table has no such step.
const ModelWords& model_words(std::string_view step, ModelKind kind);

/// The steps that only LLaMA's kind has, and those that are told in another way there.
std::span<const StepWords> llama_words();

}  // namespace qkv::inline model
