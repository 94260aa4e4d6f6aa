#include "model/architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/number.hpp"
#include "text/suggest.hpp"

namespace qkv::inline model {
namespace {

using Storage = Family::Storage;
using Windows = FamilyTraits::Windows;

constexpr FamilyTraits llama_traits{.longest = 2048};
constexpr FamilyTraits mistral{.windows = Windows::all, .longest = 131072};
constexpr FamilyTraits qwen2{.has_biases = true, .windows = Windows::late};
constexpr FamilyTraits qwen3{.norms_queries_and_keys = true, .windows = Windows::late};
constexpr FamilyTraits gemma{
    .unit_offset = true, .scales_embeddings = true, .ties = true, .longest = 8192, .gate = "tanh"};
constexpr FamilyTraits gemma2{.unit_offset = true,
                              .scales_embeddings = true,
                              .norms_after = true,
                              .caps = true,
                              .ties = true,
                              .windows = Windows::alternating,
                              .longest = 8192,
                              .gate = "tanh"};

// The names of LLaMA's relatives are their model_type in config.json.
constexpr Family known_families[] = {
    {"gpt2", Storage::in_out, "tanh"},              // Hugging Face's GPT-2: weights in × out
    {"mingpt", Storage::out_in, "tanh"},            // minGPT: weights out × in, GELU by tanh
    {"nanogpt", Storage::out_in, "erf"},            // nanoGPT: weights out × in, exact GELU
    {"llama", Storage::out_in, "", &llama_traits},  // LLaMA 1 to 3
    {"mistral", Storage::out_in, "", &mistral},     // Mistral: sliding windows
    {"qwen2", Storage::out_in, "", &qwen2},         // Qwen2: biases of queries, keys and values
    {"qwen3", Storage::out_in, "", &qwen3},         // Qwen3: norms of queries and keys
    {"gemma", Storage::out_in, "", &gemma},         // Gemma 1: GELU, norms with 1 + gain
    {"gemma2", Storage::out_in, "", &gemma2},       // Gemma 2: norms after each part, caps
};

}  // namespace

std::span<const Family> families() { return known_families; }

const SafetensorsEntry& matrix_of(const Weights& weights, const std::string& name) {
  const SafetensorsEntry* entry = weights.find(name);
  if (entry == nullptr) {
    throw InputError(fmt::format("{}: there is no tensor {}", weights.where(), name));
  }
  if (entry->shape.size() != 2 || entry->shape[0] == 0 || entry->shape[1] == 0) {
    throw InputError(
        fmt::format("{}: {} must be a matrix, and is {}", weights.where(), name,
                    entry->shape.empty() ? "a single number" : shape_text(entry->shape)));
  }
  return *entry;
}

std::size_t count_layers(const Weights& weights, const std::string& start,
                         const LayerNames& names) {
  std::set<std::size_t> layers;
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (!entry.name.starts_with(start)) continue;
    const std::string_view rest = std::string_view(entry.name).substr(start.size());
    const std::size_t dot = rest.find('.');
    const auto layer = parse_number<std::size_t>(rest.substr(0, dot));
    const std::string_view part = dot == rest.npos ? "" : rest.substr(dot + 1);
    const bool is_known =
        std::ranges::count(names.parts, part) + std::ranges::count(names.buffers, part) > 0;
    if (!layer || !is_known) {
      throw InputError(fmt::format("{}: no layer of a {} has a tensor {}; the layers have {}",
                                   weights.where(), names.kind, printable(entry.name),
                                   fmt::join(names.parts, ", ")));
    }
    layers.insert(*layer);
  }
  if (layers.empty() || *layers.rbegin() + 1 != layers.size()) {
    std::size_t missing = 0;
    while (layers.contains(missing)) ++missing;
    throw InputError(fmt::format("{}: there is no layer {} (no tensor {}{}.…)", weights.where(),
                                 missing, start, missing));
  }
  return layers.size();
}

void refuse_unknown_tensors(const Weights& weights, const std::string& start, std::string_view kind,
                            std::span<const std::string> known) {
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (entry.name.starts_with(start) || std::ranges::find(known, entry.name) != known.end()) {
      continue;
    }
    const auto ends_alike = [&](const std::string& name) {
      return entry.name.ends_with("." + name) || name.ends_with("." + entry.name);
    };
    const auto near = std::ranges::find_if(known, ends_alike);
    throw InputError(fmt::format(
        "{}: no {} whose tensors begin with \"{}\" has a tensor {}{}", weights.where(), kind,
        start.substr(0, start.find_last_of('.', start.size() - 2) + 1), printable(entry.name),
        near == known.end() ? fmt::format("; outside its layers it has {}", fmt::join(known, ", "))
                            : fmt::format("; name it {}", *near)));
  }
}

namespace {

// The first few tensor names, for messages.
std::string names_met(const Weights& weights) {
  std::vector<std::string> met;
  constexpr std::size_t enough = 4;
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (met.size() < enough) met.push_back(printable(entry.name));
  }
  return met.empty() ? "no tensor at all" : fmt::format("{}, …", fmt::join(met, ", "));
}

// Prefixes that programs put before the tensor names.
constexpr std::string_view gpt_prefixes[] = {"transformer.", "", "model.transformer.",
                                             "module.transformer.", "_orig_mod.transformer."};
constexpr std::string_view llama_prefixes[] = {"model.", ""};

}  // namespace

Architecture architecture_of(const Weights& weights, const Config& config,
                             const ArchitectureChoice& choice) {
  for (const std::string_view prefix : gpt_prefixes) {
    if (weights.find(std::string(prefix) + "wte.weight")) {
      return gpt_architecture(weights, config, choice, std::string(prefix));
    }
  }
  for (const std::string_view prefix : llama_prefixes) {
    if (weights.find(std::string(prefix) + "embed_tokens.weight")) {
      return llama_architecture(weights, config, choice, std::string(prefix));
    }
  }
  throw InputError(
      fmt::format("{}: this is no model that qkv knows: there is no transformer.wte.weight or "
                  "wte.weight and no model.embed_tokens.weight, but {}; it reads the tensors of "
                  "minGPT, nanoGPT and Hugging Face's GPT-2, LLaMA, Mistral, Qwen2, Qwen3, Gemma "
                  "and Gemma 2 (of several files give the directory, or the index)",
                  weights.where(), names_met(weights)));
}

}  // namespace qkv::inline model
