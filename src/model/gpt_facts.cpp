#include "model/gpt.hpp"

#include <algorithm>
#include <iterator>

#include "model/config_rules.hpp"

namespace qkv {
namespace {

constexpr ConfigRule rules[] = {
    {"activation_function"},
    {"bias"},
    {"block_size"},
    {"layer_norm_epsilon"},
    {"model_type"},
    {"n_embd"},
    {"n_head"},
    {"n_inner"},
    {"n_layer"},
    {"n_positions"},
    {"scale_attn_by_inverse_layer_idx", "false",
     "qkv does not divide scores by the layer's number, too"},
    {"scale_attn_weights", "true", "qkv divides scores by √d_k"},
    {"tie_word_embeddings"},
    {"vocab_size"},
};

// What config.json calls the model must be one of these: others have some of the tensors, too.
void refuse_other_types(const Facts& facts) {
  const auto* told = find_fact(facts, "model_type");
  if (!told || !told->second.is_configured) return;
  const std::string& type = told->second.text;
  const bool is_known = std::ranges::any_of(
      families(), [&](const Family& family) { return !family.kin && family.name == type; });
  // minGPT's own configuration has gpt-mini and the like, which are sizes.
  if (!is_known && !type.starts_with("gpt-")) {
    refuse_fact(*told,
                "its tensors are named as those of gpt2, mingpt and nanogpt are, and qkv "
                "knows no other model with such tensors");
  }
}

}  // namespace

void refuse_other_gpt(const Facts& facts) {
  refuse_other_types(facts);
  refuse_unknown_config(facts, rules, "a GPT-2");
}

void refuse_other_ties(const Weights& weights, const Facts& facts, const Architecture& model) {
  const auto* told = find_fact(facts, "tie_word_embeddings");
  if (!told) return;
  const bool ties = flag_fact(facts, told->first, true);
  const SafetensorsEntry* head = weights.find(model.unembedding);
  const SafetensorsEntry* table = weights.find(model.token_table);
  if (!ties && head == table) {
    refuse_fact(*told, "there is no lm_head.weight that would make the logits then");
  }
  if (ties && head != table && (head->dtype != table->dtype || head->data != table->data)) {
    refuse_fact(*told, "there is a lm_head.weight of its own; set it to false if that is to count");
  }
}

std::string gpt_gelu(const Facts& facts, const Family& family) {
  struct Activation {
    std::string_view name, form;
  };
  constexpr Activation known[] = {{"gelu", "erf"},       {"gelu_python", "erf"},
                                  {"gelu_new", "tanh"},  {"gelu_pytorch_tanh", "tanh"},
                                  {"gelu_fast", "tanh"}, {"gelu_accurate", "tanh"}};
  const auto* found = find_fact(facts, "activation_function");
  if (!found) return std::string(family.gelu);
  const auto* activation = std::ranges::find(known, found->second.text, &Activation::name);
  if (activation != std::end(known)) return std::string(activation->form);
  refuse_fact(*found, "qkv knows gelu and gelu_new");
}

}  // namespace qkv
