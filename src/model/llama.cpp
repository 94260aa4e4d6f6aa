#include "model/architecture.hpp"
#include "text/strings.hpp"

namespace qkv::inline model {
namespace {

// clang-format off
constexpr std::string_view llama_tensors[] = {
    "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.q_proj.bias",
    "self_attn.k_proj.weight", "self_attn.k_proj.bias", "self_attn.v_proj.weight",
    "self_attn.v_proj.bias", "self_attn.o_proj.weight", "self_attn.o_proj.bias",
    "self_attn.q_norm.weight", "self_attn.k_norm.weight", "post_attention_layernorm.weight",
    "pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight", "mlp.gate_proj.weight",
    "mlp.gate_proj.bias", "mlp.up_proj.weight", "mlp.up_proj.bias", "mlp.down_proj.weight",
    "mlp.down_proj.bias"};
// clang-format on
constexpr std::string_view llama_buffers[] = {
    "self_attn.rotary_emb.inv_freq"};  // determined by the base

std::map<std::string, Shape> llama_shapes(const Architecture& model) {
  const FamilyTraits& traits = *model.family->traits;
  const LlamaParts& llama = *model.llama;
  const std::size_t d = model.d_model;
  const std::size_t queries = model.heads * model.head_width;
  const std::size_t keys = llama.key_heads * model.head_width;
  std::map<std::string, Shape> shapes = {{"input_layernorm.weight", {d}},
                                         {"post_attention_layernorm.weight", {d}}};
  const auto linear = [&](const std::string& name, std::size_t in, std::size_t out, bool bias) {
    shapes[name + ".weight"] = {out, in};
    if (bias) shapes[name + ".bias"] = {out};
  };
  linear("self_attn.q_proj", d, queries, llama.has_biases);
  linear("self_attn.k_proj", d, keys, llama.has_biases);
  linear("self_attn.v_proj", d, keys, llama.has_biases);
  linear("self_attn.o_proj", queries, d, llama.has_output_bias);
  linear("mlp.gate_proj", d, model.d_mlp, llama.has_mlp_biases);
  linear("mlp.up_proj", d, model.d_mlp, llama.has_mlp_biases);
  linear("mlp.down_proj", model.d_mlp, d, llama.has_mlp_biases);
  if (traits.norms_queries_and_keys) {
    shapes["self_attn.q_norm.weight"] = shapes["self_attn.k_norm.weight"] = {model.head_width};
  }
  if (traits.norms_after) {
    shapes["pre_feedforward_layernorm.weight"] = shapes["post_feedforward_layernorm.weight"] = {d};
  }
  return shapes;
}

// Explains why a layer of this family has no such tensor, and what to do.
std::string why_none(std::string_view part, const Architecture& model) {
  if (part.ends_with(".bias")) {
    const bool of_mlp = part.starts_with("mlp.");
    return fmt::format("a bias that {} has only where config.json says {} = true",
                       model.family->name, of_mlp ? "mlp_bias" : "attention_bias");
  }
  return fmt::format("which no layer of {} has; is it a model of another family?",
                     model.family->name);
}

void check_llama_tensors(const Weights& weights, const Architecture& model) {
  const auto shapes = llama_shapes(model);
  for (std::size_t layer = 0; layer < model.layers; ++layer) {
    const std::string start = fmt::format("{}layers.{}.", model.prefix, layer);
    for (const auto& [part, shape] : shapes) weights.checked(start + part, shape);
    for (const std::string_view part : llama_tensors) {
      const std::string name = start + std::string(part);
      if (shapes.contains(std::string(part)) || !weights.find(name)) continue;
      throw InputError("{}: there is {}, {}", weights.where(), name, why_none(part, model));
    }
  }
  weights.checked(model.prefix + "norm.weight", {model.d_model});
  weights.checked(model.unembedding, {model.vocabulary, model.d_model});
  const std::string own[] = {model.token_table, model.prefix + "norm.weight", "lm_head.weight",
                             model.prefix + "rotary_emb.inv_freq"};  // determined by the base
  refuse_unknown_tensors(weights, model.prefix + "layers.", model.family->name, own);
}

const Family& family_of(const Weights& weights, const Config& config,
                        const ArchitectureChoice& choice) {
  const auto* entry = find_entry(config, "family");
  const auto* type = find_entry(config, "model_type");
  const bool type_counts =
      type && type->second.is_configured && entry && !entry->second.is_configured;
  if (!entry || type_counts) entry = type;
  const auto names = filtered(families(), &Family::traits, &Family::name);
  if (!choice.family && !entry) {
    throw InputError(
        "{}: no config.json beside it has a model_type, which says which model this is: fetch it "
        "too, or write --family with one of {}",
        weights.where(), fmt::join(names, ", "));
  }
  const std::string& wanted = choice.family ? *choice.family : entry->second.text;
  for (const Family& family : families()) {
    if (family.traits && family.name == wanted) return family;
  }
  if (!choice.family) {
    refuse_entry(*entry, fmt::format("of the models with such tensors qkv knows {}",
                                     fmt::join(names, ", ")));
  }
  throw InputError("{}: this is no {}: its tensors are named as those of {} are", weights.where(),
                   printable(wanted), fmt::join(names, ", "));
}

// Returns the tensor of the logits: the token table if the model ties them.
std::string unembedding_of(const Weights& weights, const Config& config,
                           const Architecture& model) {
  const std::string own = "lm_head.weight";
  const SafetensorsEntry* head = weights.find(own);
  const SafetensorsEntry* table = weights.find(model.token_table);
  const bool is_stated = find_entry(config, "tie_word_embeddings") != nullptr;
  const bool ties = flag_entry(config, "tie_word_embeddings", model.family->traits->ties);
  if (!ties && !head && !is_stated && !find_entry(config, "model_type")) return model.token_table;
  if (!ties || !head) return ties ? model.token_table : own;
  if (head->dtype == table->dtype && head->data == table->data) return model.token_table;
  throw InputError(
      "{}: there is a lm_head.weight of its own, and tie_word_embeddings is true{}: only one of "
      "the two can be; set it to false in config.json if the tensor is to count",
      weights.where(), is_stated ? "" : fmt::format(" for {}", model.family->name));
}

void count_heads(const Weights& weights, const Config& config, const ArchitectureChoice& choice,
                 Architecture& model) {
  const std::string first = model.prefix + "layers.0.self_attn.";
  const std::size_t queries = matrix_of(weights, first + "q_proj.weight").shape[0];
  const std::size_t keys = matrix_of(weights, first + "k_proj.weight").shape[0];
  const auto stated = positive_integer(config, "num_attention_heads");
  model.heads = choice.heads.value_or(stated.value_or(0));
  if (model.heads == 0) {
    throw InputError(
        "{}: the number of heads is not known (queries are {} wide): it is num_attention_heads in "
        "config.json, or write --model-heads",
        weights.where(), queries);
  }
  model.head_width = positive_integer(config, "head_dim")
                         .value_or(std::max<std::size_t>(1, queries / model.heads));
  const auto require_rows = [&](std::string_view part, std::size_t rows, std::size_t heads) {
    if (heads * model.head_width == rows) return;
    throw InputError("{}: {}{}.weight has {} rows, and {} heads of {} have {}", weights.where(),
                     first, part, rows, heads, model.head_width, heads * model.head_width);
  };
  require_rows("q_proj", queries, model.heads);
  model.llama->key_heads = positive_integer(config, "num_key_value_heads")
                               .value_or(std::max<std::size_t>(1, keys / model.head_width));
  if (model.head_width % 2 != 0) {
    throw InputError(
        "{}: a head is {} columns wide, and columns turn in pairs; is head_dim, or the number of "
        "heads, what it was trained with?",
        weights.where(), model.head_width);
  }
  require_rows("k_proj", keys, model.llama->key_heads);
  if (model.heads % model.llama->key_heads == 0) return;
  throw InputError("{}: {} heads of queries can't share {} heads of keys evenly", weights.where(),
                   model.heads, model.llama->key_heads);
}

void refuse_other_llama_sizes(const Config& config, const Weights& weights,
                              const Architecture& model) {
  const ConfigSize sizes[] = {
      {"num_hidden_layers", model.layers, model.layers == 1 ? "layer" : "layers"},
      {"hidden_size", model.d_model, "numbers a token (d_model)"},
      {"intermediate_size", model.d_mlp, "columns in its MLP"},
      {"vocab_size", model.vocabulary, "tokens in its vocabulary"}};
  require_sizes(config, weights.where(), sizes);
}

}  // namespace

Architecture llama_architecture(const Weights& weights, const Config& config,
                                const ArchitectureChoice& choice, const std::string& prefix) {
  Architecture model;
  model.family = &family_of(weights, config, choice);
  refuse_unknown_config(config, llama_rules(), model.family->name);
  model.prefix = prefix;
  model.token_table = prefix + "embed_tokens.weight";
  const Shape& table = matrix_of(weights, model.token_table).shape;
  model.vocabulary = table[0];
  model.d_model = table[1];
  model.layers =
      count_layers(weights, prefix + "layers.", {model.family->name, llama_tensors, llama_buffers});
  model.d_mlp = matrix_of(weights, prefix + "layers.0.mlp.gate_proj.weight").shape[0];
  refuse_other_llama_sizes(config, weights, model);
  model.llama = llama_parts(config, *model.family, model.layers);
  count_heads(weights, config, choice, model);
  constexpr double usual_eps = 1e-6;
  model.eps = positive_number(config, "rms_norm_eps").value_or(usual_eps);
  model.activation = model.llama->gate;
  model.unembedding = unembedding_of(weights, config, model);
  check_llama_tensors(weights, model);
  return model;
}

}  // namespace qkv::inline model
