#include "model/architecture.hpp"
#include "text/strings.hpp"

namespace qkv::inline model {
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

// config.json's model_type must be one of these: other models have some of the same tensors.
void refuse_other_types(const Config& config) {
  const auto* entry = find_entry(config, "model_type");
  if (!entry || !entry->second.is_configured) return;
  const std::string& type = entry->second.text;
  const bool is_known = std::ranges::any_of(
      families(), [&](const Family& family) { return !family.traits && family.name == type; });
  // minGPT's own configuration has gpt-mini and the like, which are sizes.
  if (!is_known && !type.starts_with("gpt-")) {
    refuse_entry(*entry,
                 "its tensors are named as those of gpt2, mingpt and nanogpt are, and qkv "
                 "knows no other model with such tensors");
  }
}

/// Returns the tensor of the logits: the token table also where it is stored twice. Throws
/// InputError if config.json and the tensors disagree.
std::string unembedding_of(const Weights& weights, const Config& config,
                           const std::string& token_table, const std::string& readout) {
  const auto* entry = find_entry(config, "tie_word_embeddings");
  const bool ties = flag_entry(config, "tie_word_embeddings", true);
  const SafetensorsEntry* head = weights.find(readout);
  const SafetensorsEntry* table = weights.find(token_table);
  if (!head && !ties)
    refuse_entry(*entry, "there is no lm_head.weight that would make the logits then");
  if (!head || (ties && head->dtype == table->dtype && head->data == table->data))
    return token_table;
  if (ties && entry) {
    refuse_entry(*entry,
                 "there is a lm_head.weight of its own; set it to false if that is to count");
  }
  return readout;
}

/// Returns the activation: "relu", or a form of GELU.
std::string gpt_activation(const Config& config, const Family& family) {
  const auto* entry = find_entry(config, "activation_function");
  if (!entry) return std::string(family.gelu);
  const std::string activation = activation_of(*entry);
  if (activation == "silu")
    refuse_entry(*entry, "qkv knows relu, gelu, gelu_new, and in a gate silu");
  return activation;
}

using Storage = Family::Storage;

// The published numbers of heads of models of these sizes.
struct KnownSize {
  std::size_t layers, d_model, heads;
};
constexpr KnownSize known_sizes[] = {
    {12, 768, 12}, {24, 1024, 16}, {36, 1280, 20}, {48, 1600, 25},  // GPT-2
    {8, 512, 16},                                                   // gopher-44m
    {6, 192, 6},   {4, 128, 4},    {3, 48, 3},                      // minGPT's own
};
constexpr std::size_t usual_head = 64;

// The names of a layer's tensors, and of its buffers, which hold no weights.
constexpr std::string_view layer_parts[] = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};
constexpr std::string_view buffers[] = {"attn.bias", "attn.masked_bias"};

constexpr LayerNames layer_names{"GPT-2", layer_parts, buffers};

// The family that was chosen or is in the file. Of out × in families only nanoGPT may lack biases,
// also in its norms.
std::optional<ConfigEntry> wanted_family(const Weights& weights, const Architecture& model,
                                         const Config& config, const ArchitectureChoice& choice,
                                         Storage storage) {
  if (choice.family) return ConfigEntry{*choice.family, {}};
  constexpr std::string_view families_of_types[] = {"mingpt", "nanogpt"};
  const auto* entry = find_entry(config, "family");
  const auto* type = find_entry(config, "model_type");
  const bool type_tells = type && contains(families_of_types, type->second.text);
  // config.json counts before metadata. Its gpt2 tells no more than how weights are stored: minGPT
  // and nanoGPT have that model_type, too.
  const bool type_counts =
      type && type->second.is_configured && (type_tells || storage == Storage::in_out);
  if (entry && (entry->second.is_configured || !type_counts)) return entry->second;
  if (type_tells) return type->second;
  const bool has_biases = weights.find(model.prefix + "h.0.ln_1.bias") != nullptr;
  if (storage == Storage::in_out || has_biases) return {};
  return ConfigEntry{"nanogpt", {}};
}

const Family& family_of(const Weights& weights, const Architecture& model, const Config& config,
                        const ArchitectureChoice& choice) {
  const std::string first = model.prefix + "h.0.attn.c_attn.weight";
  const Shape& shape = matrix_of(weights, first).shape;
  const Shape in_out{model.d_model, 3 * model.d_model};
  const bool is_in_out = shape == in_out;
  if (!is_in_out && shape != Shape{3 * model.d_model, model.d_model}) {
    throw InputError("{}: {} must be {} or {}, since {}wte.weight has rows of {}, and is {}",
                     weights.where(), first, shape_text(in_out),
                     shape_text({3 * model.d_model, model.d_model}), model.prefix, model.d_model,
                     shape_text(shape));
  }
  const Storage storage = is_in_out ? Storage::in_out : Storage::out_in;
  const std::optional<ConfigEntry> wanted = wanted_family(weights, model, config, choice, storage);
  std::vector<std::string_view> names;
  for (const Family& family : families()) {
    if (family.traits) continue;
    names.push_back(family.name);
    if (wanted ? family.name == wanted->text : family.storage == storage) {
      if (family.storage == storage) return family;
      throw InputError("{}: this is no {}: its {} is stored {}", weights.where(), family.name,
                       first, is_in_out ? "in × out" : "out × in");
    }
  }
  throw InputError("{}{}there is no family \"{}\" of GPT-2's kind; {}", wanted->where,
                   wanted->where.empty() ? "" : ": ", printable(wanted->text),
                   did_you_mean(wanted->text, names));
}

std::size_t head_count(const Weights& weights, const Architecture& model, const Config& config,
                       const ArchitectureChoice& choice) {
  std::size_t heads = choice.heads.value_or(positive_integer(config, "n_head").value_or(0));
  for (const KnownSize& known : known_sizes) {
    const bool fits = known.layers == model.layers && known.d_model == model.d_model;
    if (heads == 0 && fits) heads = known.heads;
  }
  if (heads == 0 && model.d_model % usual_head == 0) heads = model.d_model / usual_head;
  if (heads == 0) {
    throw InputError(
        "{}: the file does not say how many heads the model has (d_model is {}); write "
        "--model-heads 4, or heads = 4 in the lesson's [model]",
        weights.where(), model.d_model);
  }
  if (heads > model.d_model || model.d_model % heads != 0) {
    throw InputError("{}: d_model is {}, which can't be shared out among {} heads", weights.where(),
                     model.d_model, heads);
  }
  return heads;
}

// The shapes of `layer_parts`, in their order.
std::vector<Shape> shapes_of(const Architecture& model) {
  const std::size_t d = model.d_model;
  const auto linear = [&](std::size_t in, std::size_t out) {
    return model.family->storage == Storage::out_in ? Shape{out, in} : Shape{in, out};
  };
  return {{d}, {d}, linear(d, 3 * d),       {3 * d},       linear(d, d),           {d},
          {d}, {d}, linear(d, model.d_mlp), {model.d_mlp}, linear(model.d_mlp, d), {d}};
}

// Returns the name of the first bias; empty if the model has none, as in nanoGPT.
std::string first_bias(const Weights& weights, const Architecture& model) {
  for (const SafetensorsEntry& entry : weights.tensors()) {
    const bool is_buffer = std::ranges::any_of(
        buffers, [&](std::string_view buffer) { return entry.name.ends_with(buffer); });
    if (entry.name.starts_with(model.prefix) && entry.name.ends_with(".bias") && !is_buffer &&
        !entry.name.ends_with("lm_head.bias")) {
      return entry.name;
    }
  }
  return {};
}

// If only some kinds of bias exist, the others were lost in a conversion.
void check_bias(const Weights& weights, const std::string& name, const Shape& shape,
                const std::string& sibling, const std::string& of_the_first_layer) {
  if (weights.find(name) || sibling.empty() || weights.find(of_the_first_layer)) {
    weights.checked(name, shape);
    return;
  }
  throw InputError(
      "{}: there is no tensor {}, which must be {}, though there is {}: a GPT has all of its "
      "biases or none; convert the model again, with all of its tensors",
      weights.where(), name, shape_text(shape), printable(sibling));
}

// Only out × in files may lack biases, and then all of them.
void check_tensors(const Weights& weights, const Architecture& model) {
  const std::vector<Shape> shapes = shapes_of(model);
  const std::string sibling = first_bias(weights, model);
  const bool has_biases = model.family->storage == Storage::in_out || !sibling.empty();
  for (std::size_t layer = 0; layer < model.layers; ++layer) {
    for (std::size_t p = 0; p < shapes.size(); ++p) {
      const std::string name = fmt::format("{}h.{}.{}", model.prefix, layer, layer_parts[p]);
      if (!name.ends_with(".bias")) {
        weights.checked(name, shapes[p]);
      } else if (has_biases) {
        check_bias(weights, name, shapes[p], sibling,
                   fmt::format("{}h.0.{}", model.prefix, layer_parts[p]));
      }
    }
  }
  const std::size_t d = model.d_model;
  const std::string last_norm = model.prefix + "ln_f.";
  weights.checked(last_norm + "weight", {d});
  if (has_biases) check_bias(weights, last_norm + "bias", {d}, sibling, "");
  weights.checked(model.prefix + "wpe.weight", {model.positions, d});
  weights.checked(model.unembedding, {model.vocabulary, d});
}

// A bias of the logits would be ignored silently.
void refuse_other_readout(const Weights& weights) {
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (!entry.name.ends_with("lm_head.bias")) continue;
    throw InputError("{}: no GPT-2 has a tensor {}: its logits are norm · Wᵀ alone",
                     weights.where(), printable(entry.name, longest_tensor_name));
  }
}

// Returns the name that lm_head.weight would have: next to the trunk.
std::string readout_of(const std::string& prefix) {
  constexpr std::string_view trunk = "transformer.";
  const bool has_trunk = prefix.ends_with(trunk);
  return (has_trunk ? prefix.substr(0, prefix.size() - trunk.size()) : "") + "lm_head.weight";
}

void refuse_other_sizes(const Config& config, const Weights& weights, const Architecture& model) {
  const ConfigSize sizes[] = {{"n_layer", model.layers, model.layers == 1 ? "layer" : "layers"},
                              {"n_embd", model.d_model, "numbers a token (d_model)"},
                              {"n_positions", model.positions, "positions"},
                              {"block_size", model.positions, "positions"},
                              {"vocab_size", model.vocabulary, "tokens in its vocabulary"},
                              {"n_inner", model.d_mlp, "columns in its MLP"}};
  require_sizes(config, weights.where(), sizes);
  const bool has_biases = !first_bias(weights, model).empty();
  if (flag_entry(config, "bias", has_biases) != has_biases) {
    refuse_entry(*find_entry(config, "bias"),
                 has_biases ? "the file has biases" : "the file has none");
  }
}

}  // namespace

Architecture gpt_architecture(const Weights& weights, const Config& config,
                              const ArchitectureChoice& choice, const std::string& prefix) {
  refuse_other_types(config);
  refuse_unknown_config(config, rules, "a GPT-2");
  Architecture model;
  model.prefix = prefix;
  model.token_table = prefix + "wte.weight";
  const Shape& table = matrix_of(weights, model.token_table).shape;
  model.vocabulary = table[0];
  model.d_model = table[1];
  model.positions = matrix_of(weights, model.prefix + "wpe.weight").shape[0];
  model.layers = count_layers(weights, model.prefix + "h.", layer_names);
  model.family = &family_of(weights, model, config, choice);
  const Shape& mlp = matrix_of(weights, model.prefix + "h.0.mlp.c_fc.weight").shape;
  model.d_mlp = mlp[model.family->storage == Storage::out_in ? 0 : 1];
  const std::string readout = readout_of(prefix);
  model.unembedding = unembedding_of(weights, config, model.token_table, readout);
  refuse_other_sizes(config, weights, model);
  model.heads = head_count(weights, model, config, choice);
  model.head_width = model.d_model / model.heads;
  model.activation = gpt_activation(config, *model.family);
  model.eps = positive_number(config, "layer_norm_epsilon").value_or(model.eps);
  refuse_other_readout(weights);
  check_tensors(weights, model);
  const std::string own[] = {model.token_table, prefix + "wpe.weight", prefix + "ln_f.weight",
                             prefix + "ln_f.bias", readout};
  refuse_unknown_tensors(weights, prefix + "h.", layer_names.kind, own);
  return model;
}

}  // namespace qkv::inline model
