#include "model/architecture.hpp"

#include "text/strings.hpp"

namespace qkv::inline model {
namespace {

// Hugging Face's entry, which is also an option of `rope`.
struct Part {
  std::string_view key;
  bool is_needed = false;
  double otherwise = 0;  ///< Hugging Face's default; 0: none
};

// A scaling, whose name is also a value of `rope`'s option unless it is "default".
struct Scaling {
  std::string_view name;
  std::span<const Part> parts;
  bool has_length = false;  ///< depends on the length of the texts in training
};

constexpr Part factor[] = {{"factor", true}};
constexpr Part llama3[] = {{"factor", true}, {"low_freq_factor", true}, {"high_freq_factor", true}};
constexpr Part yarn[] = {
    {"factor", true}, {"beta_fast", false, 32}, {"beta_slow", false, 1}, {"attention_factor"}};
constexpr Scaling scalings[] = {
    {"default", {}},          {"linear", factor},   {"dynamic", factor, true},
    {"llama3", llama3, true}, {"yarn", yarn, true},
};

// Returns the object that holds the entries: under its older or its newer name.
std::string object_of(const Config& config) {
  const auto has = [&](std::string_view object) {
    return std::ranges::any_of(config,
                               [&](const auto& fact) { return fact.first.starts_with(object); });
  };
  return has("rope_parameters.") ? "rope_parameters." : "rope_scaling.";
}

// Duplicate entries must agree, and the objects must be objects.
void refuse_what_contradicts(const Config& config, const std::string& object) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const auto* fact = find_entry(config, name);
    if (fact && fact->second.text != "{}") {
      refuse_entry(*fact, "it must be an object, such as {\"rope_type\": \"default\"}");
    }
  }
  const auto older = config.lower_bound("rope_scaling.");
  if (object == "rope_parameters." && older != config.end() &&
      older->first.starts_with("rope_scaling.")) {
    refuse_entry(*older, "rope_parameters is there, too; only one of the two can be");
  }
  const std::pair<std::string, std::string> twice[] = {{object + "rope_type", object + "type"},
                                                       {object + "rope_theta", "rope_theta"}};
  for (const auto& [name, other] : twice) {
    const auto* one = find_entry(config, name);
    const auto* two = find_entry(config, other);
    if (!one || !two || one->second.text == two->second.text) continue;
    if (one->second.is_configured && !two->second.is_configured) continue;  // it counts first
    const bool is_number = other == "rope_theta";
    if (is_number && positive_number(config, name) == positive_number(config, other)) continue;
    refuse_entry(*one, fmt::format("{} is {}; only one of the two can be", other,
                                   printable(two->second.text)));
  }
}

const Scaling& scaling_of(const Config& config, const std::string& object) {
  const auto* entry = find_entry(config, object + "rope_type");
  if (!entry) entry = find_entry(config, object + "type");
  if (!entry) {
    for (const auto& [key, fact] : config) {
      if (!key.starts_with(object) || key == object + "rope_theta") continue;
      throw InputError("{}: {} is there, and no {}rope_type to say which scaling it is", fact.where,
                       printable(key), object);
    }
    return scalings[0];
  }
  if (const auto* known = find_by(scalings, entry->second.text, &Scaling::name)) return *known;
  refuse_entry(*entry, fmt::format("qkv knows the scalings {}",
                                   fmt::join(NameViews(scalings, &Scaling::name), ", ")));
}

void refuse_unknown_parts(const Config& config, const std::string& object, const Scaling& scaling) {
  for (const Config::value_type& fact : config) {
    if (!fact.first.starts_with(object) || fact.second.text == "null") continue;
    const std::string_view key = std::string_view(fact.first).substr(object.size());
    const bool is_part = contains(scaling.parts, key, &Part::key);
    const bool is_shared = key == "rope_type" || key == "type" || key == "rope_theta" ||
                           key == "partial_rotary_factor";
    const bool is_length =
        key == "original_max_position_embeddings" && scaling.has_length;  // idle in "dynamic"
    const bool is_mean = key == "truncate" || key == "mscale" || key == "mscale_all_dim";
    if (is_part || is_shared || is_length || (is_mean && scaling.name == "yarn")) continue;
    refuse_entry(fact,
                 fmt::format("the scaling \"{}\" has no such entry that qkv knows; take it out "
                             "if it changes no number",
                             scaling.name));
  }
}

// Sets a number that the scaling needs or has a default for.
void set_part(const Config& config, const std::string& object, const Scaling& scaling,
              const Part& part, Options& options) {
  const std::string key = object + std::string(part.key);
  const auto value = positive_number(config, key);
  if (value || part.otherwise > 0) {
    options.set(std::string(part.key), value.value_or(part.otherwise));
  } else if (part.is_needed && !(scaling.name == "yarn" && config.contains(key))) {
    throw InputError("{}: the scaling \"{}\" needs {}", config.lower_bound(object)->second.where,
                     scaling.name, key);
  }
}

// The length of the texts in training. The library reads no other entry for "dynamic" than
// max_position_embeddings.
void set_length(const Config& config, const std::string& object, const Scaling& scaling,
                double longest, Options& options) {
  auto length = positive_integer(config, object + "original_max_position_embeddings");
  if (!length || scaling.name == "dynamic") {
    length = positive_integer(config, "max_position_embeddings");
  }
  options.set("original_length", length ? static_cast<double>(*length) : longest);
}

// Sets what only yarn has: a factor of null is that of the lengths; mscale and mscale_all_dim say
// what cosines and sines are multiplied by, unless attention_factor does, or one of them is 0.
void set_yarn(const Config& config, const std::string& object, double longest, Options& options) {
  if (!options.has("factor")) {
    options.set("factor", positive_number(config, "max_position_embeddings").value_or(longest) /
                              options.number("original_length", longest));
  }
  if (!flag_entry(config, object + "truncate", true)) options.set("truncate", false);
  const auto scale_of = [&](const char* key) {
    const auto* found = find_entry(config, object + key);
    const bool is_none = found && found->second.text.find_first_not_of("0.") == std::string::npos;
    return is_none ? std::nullopt : positive_number(config, object + key);
  };
  const auto mean = scale_of("mscale");
  const auto of_all = scale_of("mscale_all_dim");
  if (options.has("attention_factor") || !mean || !of_all) return;
  const double growth = 0.1 * std::log(std::max(1.0, options.number("factor", 1)));
  options.set("attention_factor", (growth * *mean + 1) / (growth * *of_all + 1));
}

void refuse_partial_rotation(const Config& config, const std::string& object) {
  for (const std::string& before : {object, std::string()}) {
    const std::string name = before + "partial_rotary_factor";
    if (positive_number(config, name).value_or(1) == 1) continue;
    refuse_entry(*find_entry(config, name),
                 "in the models that qkv reads all of a head's columns turn");
  }
}

/// Returns the options of `rope`: its base (`rope_theta`) and the scaling of long texts
/// (`rope_scaling`, or both in `rope_parameters`), as Hugging Face defines them. Without
/// max_position_embeddings the texts in training had `longest` tokens. Throws InputError for
/// unknown scalings and unknown entries of one.
Options rotary_options(const Config& config, double longest) {
  const std::string object = object_of(config);
  refuse_what_contradicts(config, object);
  const Scaling& scaling = scaling_of(config, object);
  refuse_unknown_parts(config, object, scaling);
  refuse_partial_rotation(config, object);
  constexpr double usual_base = 10000;
  Options options;
  options.set("pairing", std::string("halves"));
  options.set("base", positive_number(config, object + "rope_theta")
                          .value_or(positive_number(config, "rope_theta").value_or(usual_base)));
  if (scaling.name == "default") return options;
  options.set("scaling", std::string(scaling.name));
  for (const Part& part : scaling.parts) set_part(config, object, scaling, part, options);
  if (scaling.has_length) set_length(config, object, scaling, longest, options);
  if (scaling.name == "yarn") set_yarn(config, object, longest, options);
  return options;
}

using Windows = FamilyTraits::Windows;

// Entries that only some families use are errors in the others, unless they are off.
void refuse_idle_entries(const Config& config, const Family& family) {
  const auto only_for = [&](std::string_view name, bool is_known) {
    const auto* entry = find_entry(config, name);
    if (entry && !is_known && entry->second.text != "false") {
      refuse_entry(*entry,
                   fmt::format("{} has no such entry; take it out if it changes none of the "
                               "model's numbers",
                               family.name));
    }
  };
  const FamilyTraits& traits = *family.traits;
  for (const std::string_view name :
       {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar"}) {
    only_for(name, traits.caps);
  }
  only_for("sliding_window_size", traits.windows != Windows::none);
  only_for("use_sliding_window", traits.windows == Windows::late);
  only_for("max_window_layers", traits.windows == Windows::late);
  only_for("mlp_bias", family.name == "llama");
  only_for("attention_bias", family.name != "mistral");
}

// Returns how many keys a query sees in a layer with a window; 0: no windows.
std::size_t window_of(const Config& config, const FamilyTraits& traits) {
  if (traits.windows == Windows::none) return 0;
  if (traits.windows == Windows::late && !flag_entry(config, "use_sliding_window", false)) return 0;
  if (config.contains("sliding_window") && !find_entry(config, "sliding_window")) return 0;
  constexpr std::size_t usual = 4096;
  const std::size_t width = positive_integer(config, "sliding_window").value_or(usual);
  require_entry(config, "sliding_window_size", width, "it must be what sliding_window is");
  return width;
}

bool has_window(const FamilyTraits& traits, std::size_t layer, std::size_t first_late) {
  switch (traits.windows) {
    case Windows::all: return true;
    case Windows::late: return layer >= first_late;
    case Windows::alternating: return layer % 2 == 0;
    case Windows::none: break;
  }
  return false;
}

std::vector<std::size_t> windows_of(const Config& config, const FamilyTraits& traits,
                                    std::size_t layers) {
  const std::size_t width = window_of(config, traits);
  constexpr std::size_t usual_late = 28;
  const auto* entry = find_entry(config, "max_window_layers");
  const bool from_the_first = entry && entry->second.text == "0";
  const std::size_t late =
      from_the_first ? 0 : positive_integer(config, "max_window_layers").value_or(usual_late);
  const auto types = string_list(config, "layer_types");
  if (types && types->size() != layers) {
    refuse_entry(*find_entry(config, "layer_types"),
                 fmt::format("it must have a word for each of the {} layers", layers));
  }
  std::vector<std::size_t> windows;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    bool slides = width > 0 && has_window(traits, layer, late);
    if (types) {
      slides = (*types)[layer] == "sliding_attention";
      if ((!slides && (*types)[layer] != "full_attention") || (slides && width == 0)) {
        refuse_entry(*find_entry(config, "layer_types"),
                     slides ? "no sliding_window says how many keys a query sees"
                            : "a layer is full_attention or sliding_attention");
      }
    }
    windows.push_back(slides ? width : 0);
  }
  return windows;
}

// Returns the gate's activation: "silu", "relu", or a form of GELU.
std::string gate_of(const Config& config, const FamilyTraits& traits) {
  // Only Gemma reads hidden_activation. Its hidden_act says "gelu" but means the tanh form.
  const bool is_gemma = traits.gate != "silu";
  if (const auto* entry = find_entry(config, is_gemma ? "hidden_activation" : "hidden_act")) {
    return activation_of(*entry);
  }
  const auto* act = find_entry(config, "hidden_act");
  if (act && !act->second.text.starts_with("gelu")) refuse_entry(*act, "Gemma's gate is GELU");
  return std::string(traits.gate);
}

// Returns a cap. null switches it off.
std::optional<double> cap_of(const Config& config, std::string_view name, double usual) {
  return config.contains(name) ? positive_number(config, name) : usual;
}

// clang-format off
constexpr ConfigRule llama_config_rules[] = {
    {"attention_bias"}, {"attn_logit_softcapping"}, {"final_logit_softcapping"}, {"head_dim"},
    {"hidden_act"}, {"hidden_activation"}, {"hidden_size"}, {"intermediate_size"}, {"layer_types"},
    {"max_window_layers"}, {"mlp_bias"}, {"model_type"}, {"num_attention_heads"},
    {"num_hidden_layers"}, {"num_key_value_heads"}, {"partial_rotary_factor"},
    {"query_pre_attn_scalar"}, {"rms_norm_eps"}, {"rope_parameters"}, {"rope_scaling"},
    {"rope_theta"}, {"sliding_window"}, {"sliding_window_size"}, {"tie_word_embeddings"},
    {"use_bidirectional_attention", "false", "qkv hides what comes later"},
    {"use_mrope", "false", "qkv turns queries and keys by one position a token"},
    {"use_sliding_window"}, {"vocab_size"}};

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

/// Returns the settings besides the sizes: biases, rotary positions, windows and caps. Throws
/// InputError for unknown values.
LlamaParts llama_parts(const Config& config, const Family& family, std::size_t layers) {
  refuse_idle_entries(config, family);
  const FamilyTraits& traits = *family.traits;
  // Qwen2 has the same biases whatever the entry says.
  const bool has_biases = !traits.has_biases && flag_entry(config, "attention_bias", false);
  LlamaParts parts;
  parts.rope = rotary_options(config, traits.longest);
  parts.windows = windows_of(config, traits, layers);
  parts.has_biases = has_biases || traits.has_biases;
  parts.has_output_bias = has_biases;
  parts.has_mlp_biases = flag_entry(config, "mlp_bias", false);
  if (!traits.caps) return parts;
  constexpr double usual_scalar = 256;
  constexpr double usual_score_cap = 50;
  constexpr double usual_logit_cap = 30;
  parts.score_divisor =
      std::sqrt(positive_number(config, "query_pre_attn_scalar").value_or(usual_scalar));
  parts.score_cap = cap_of(config, "attn_logit_softcapping", usual_score_cap);
  parts.logit_cap = cap_of(config, "final_logit_softcapping", usual_logit_cap);
  return parts;
}

}  // namespace

Architecture llama_architecture(const Weights& weights, const Config& config,
                                const ArchitectureChoice& choice, const std::string& prefix) {
  Architecture model;
  model.family = &family_of(weights, config, choice);
  refuse_unknown_config(config, llama_config_rules, model.family->name);
  model.prefix = prefix;
  model.token_table = prefix + "embed_tokens.weight";
  const Shape& table = matrix_of(weights, model.token_table).shape;
  model.vocabulary = table[0];
  model.d_model = table[1];
  model.layers =
      count_layers(weights, prefix + "layers.", {model.family->name, llama_tensors, llama_buffers});
  model.d_mlp = matrix_of(weights, prefix + "layers.0.mlp.gate_proj.weight").shape[0];
  const ConfigSize sizes[] = {
      {"num_hidden_layers", model.layers, model.layers == 1 ? "layer" : "layers"},
      {"hidden_size", model.d_model, "numbers a token (d_model)"},
      {"intermediate_size", model.d_mlp, "columns in its MLP"},
      {"vocab_size", model.vocabulary, "tokens in its vocabulary"}};
  require_sizes(config, weights.where(), sizes);
  model.llama = llama_parts(config, *model.family, model.layers);
  model.activation = gate_of(config, *model.family->traits);
  count_heads(weights, config, choice, model);
  constexpr double usual_eps = 1e-6;
  model.eps = positive_number(config, "rms_norm_eps").value_or(usual_eps);
  model.unembedding = unembedding_of(weights, config, model);
  check_llama_tensors(weights, model);
  return model;
}

}  // namespace qkv::inline model
