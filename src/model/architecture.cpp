#include "model/architecture.hpp"

#include <fmt/format.h>

#include "model/families.hpp"
#include "model/llama_architecture.hpp"
#include "model/tensor_names.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

// The prefixes that programs put before a model's own names.
constexpr std::string_view gpt_prefixes[] = {"transformer.", "", "model.transformer.",
                                             "module.transformer.", "_orig_mod.transformer."};
constexpr std::string_view llama_prefixes[] = {"model.", ""};

}  // namespace

Architecture architecture_of(const Weights& weights, const Facts& facts,
                             const ArchitectureChoice& choice) {
  for (const std::string_view prefix : gpt_prefixes) {
    if (weights.find(std::string(prefix) + "wte.weight")) {
      return gpt_architecture(weights, facts, choice, std::string(prefix));
    }
  }
  for (const std::string_view prefix : llama_prefixes) {
    if (weights.find(std::string(prefix) + "embed_tokens.weight")) {
      return llama_architecture(weights, facts, choice, std::string(prefix));
    }
  }
  throw InputError(
      fmt::format("{}: this is no model that qkv knows: there is no transformer.wte.weight or "
                  "wte.weight and no "
                  "model.embed_tokens.weight, but {}; it reads the tensors of minGPT, nanoGPT and "
                  "Hugging Face's "
                  "GPT-2, LLaMA, Mistral, Qwen2, Qwen3, Gemma and Gemma 2 (of several files give "
                  "the directory, "
                  "or the index)",
                  weights.where(), names_met(weights)));
}

}  // namespace qkv
