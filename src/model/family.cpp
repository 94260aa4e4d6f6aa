#include "model/architecture.hpp"

namespace qkv {
namespace {

using Storage = Family::Storage;
using Windows = LlamaKin::Windows;

constexpr LlamaKin llama{};
constexpr LlamaKin mistral{.windows = Windows::all};
constexpr LlamaKin qwen2{.has_biases = true, .windows = Windows::late};
constexpr LlamaKin qwen3{.norms_queries_and_keys = true, .windows = Windows::late};
constexpr LlamaKin gemma{
    .unit_offset = true, .scales_embeddings = true, .ties = true, .gate = "tanh"};
constexpr LlamaKin gemma2{.unit_offset = true,
                          .scales_embeddings = true,
                          .norms_after = true,
                          .caps = true,
                          .ties = true,
                          .windows = Windows::alternating,
                          .gate = "tanh"};

// Names of LLaMA's kind are those that config.json has as model_type.
constexpr Family known_families[] = {
    {"gpt2", "Hugging Face's GPT-2: weights in × out", Storage::in_out, "tanh"},
    {"mingpt", "minGPT: weights out × in, GELU by tanh", Storage::out_in, "tanh"},
    {"nanogpt", "nanoGPT: weights out × in, exact GELU", Storage::out_in, "erf"},
    {"llama", "LLaMA 1 to 3", Storage::out_in, "", &llama},
    {"mistral", "Mistral: sliding windows", Storage::out_in, "", &mistral},
    {"qwen2", "Qwen2: biases of queries, keys and values", Storage::out_in, "", &qwen2},
    {"qwen3", "Qwen3: norms of queries and keys", Storage::out_in, "", &qwen3},
    {"gemma", "Gemma 1: GELU, norms with 1 + gain", Storage::out_in, "", &gemma},
    {"gemma2", "Gemma 2: norms after each part, caps", Storage::out_in, "", &gemma2},
};

}  // namespace

std::span<const Family> families() { return known_families; }

}  // namespace qkv
