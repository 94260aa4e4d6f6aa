#include "model/architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "formats/numeral.hpp"
#include "text/error.hpp"
#include "text/nearest.hpp"
#include "text/number_in.hpp"

namespace qkv {
namespace {

using Storage = Family::Storage;

constexpr Family known_families[] = {
    {"gpt2", "Hugging Face's GPT-2: weights in × out", Storage::in_out, "tanh"},
    {"mingpt", "minGPT: weights out × in, GELU by tanh", Storage::out_in, "tanh"},
    {"nanogpt", "nanoGPT: weights out × in, exact GELU", Storage::out_in, "erf"},
};

// The numbers of heads that models of these sizes were published with.
struct KnownSize {
  std::size_t layers, d_model, heads;
};
constexpr KnownSize known_sizes[] = {
    {12, 768, 12}, {24, 1024, 16}, {36, 1280, 20}, {48, 1600, 25},  // GPT-2
    {8, 512, 16},                                                   // gopher-44m
    {6, 192, 6},   {4, 128, 4},    {3, 48, 3},                      // minGPT's own
};
constexpr std::size_t usual_head = 64;

// The prefixes that programs put before a model's own names.
constexpr std::string_view prefixes[] = {"transformer.", "", "model.transformer.",
                                         "module.transformer.", "_orig_mod.transformer."};

// What a layer's tensors are called, and which of them are buffers that hold no weights.
constexpr std::string_view parts[] = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};
constexpr std::string_view buffers[] = {"attn.bias", "attn.masked_bias"};

std::string read_prefix(const Weights& weights) {
  for (const std::string_view prefix : prefixes) {
    if (weights.find(std::string(prefix) + "wte.weight")) return std::string(prefix);
  }
  std::vector<std::string> met;
  constexpr std::size_t enough = 4;
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (met.size() < enough) met.push_back(printable(entry.name));
  }
  throw InputError(fmt::format(
      "{}: this is no GPT that qkv knows: there is no transformer.wte.weight or wte.weight, but "
      "{}; it reads the tensors of minGPT, nanoGPT and Hugging Face's GPT-2",
      weights.where(),
      met.empty() ? "no tensor at all" : fmt::format("{}, …", fmt::join(met, ", "))));
}

const SafetensorsEntry& matrix(const Weights& weights, const std::string& name) {
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

// The layers that the names tell of must be 0, 1, 2, …, each tensor one that such a layer has.
std::size_t count_layers(const Weights& weights, const std::string& prefix) {
  std::set<std::size_t> layers;
  const std::string start = prefix + "h.";
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (!entry.name.starts_with(start)) continue;
    const std::string_view rest = std::string_view(entry.name).substr(start.size());
    const std::size_t dot = rest.find('.');
    const auto layer = number_in<std::size_t>(rest.substr(0, dot));
    const std::string_view part = dot == rest.npos ? "" : rest.substr(dot + 1);
    const bool known = std::ranges::find(parts, part) != std::end(parts) ||
                       std::ranges::find(buffers, part) != std::end(buffers);
    if (!layer || !known) {
      throw InputError(fmt::format("{}: no layer of a GPT-2 has a tensor {}; the layers have {}",
                                   weights.where(), printable(entry.name), fmt::join(parts, ", ")));
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

// What was asked for, or the file says. Of those that store weights out × in, nanoGPT alone can do
// without biases, those of its norms included.
std::optional<Fact> wanted_family(const Weights& weights, const Architecture& model,
                                  const Facts& facts, const ArchitectureChoice& choice,
                                  Storage storage) {
  if (choice.family) return Fact{*choice.family, {}};
  if (const auto fact = facts.find("family"); fact != facts.end()) {
    return fact->second;
  }
  const bool has_biases = weights.find(model.prefix + "h.0.ln_1.bias") != nullptr;
  if (storage == Storage::in_out || has_biases) return {};
  return Fact{"nanogpt", {}};
}

const Family& family_of(const Weights& weights, const Architecture& model, const Facts& facts,
                        const ArchitectureChoice& choice) {
  const std::string first = model.prefix + "h.0.attn.c_attn.weight";
  const Shape& shape = matrix(weights, first).shape;
  const Shape in_out{model.d_model, 3 * model.d_model};
  const bool is_in_out = shape == in_out;
  if (!is_in_out && shape != Shape{3 * model.d_model, model.d_model}) {
    throw InputError(fmt::format(
        "{}: {} must be {} or {}, since {}wte.weight has rows of {}, and "
        "is {}",
        weights.where(), first, shape_text(in_out), shape_text({3 * model.d_model, model.d_model}),
        model.prefix, model.d_model, shape_text(shape)));
  }
  const Storage storage = is_in_out ? Storage::in_out : Storage::out_in;
  const std::optional<Fact> wanted = wanted_family(weights, model, facts, choice, storage);
  std::vector<std::string_view> names;
  for (const Family& family : known_families) {
    names.push_back(family.name);
    if (wanted ? family.name == wanted->text : family.storage == storage) {
      if (family.storage == storage) return family;
      throw InputError(fmt::format("{}: this is no {}: its {} is stored {}", weights.where(),
                                   family.name, first, is_in_out ? "in × out" : "out × in"));
    }
  }
  throw InputError(fmt::format("{}{}there is no family \"{}\" of models; {}", wanted->where,
                               wanted->where.empty() ? "" : ": ", printable(wanted->text),
                               did_you_mean(wanted->text, names)));
}

std::size_t heads_of(const Weights& weights, const Architecture& model, const Facts& facts,
                     const ArchitectureChoice& choice) {
  std::size_t heads = choice.heads.value_or(whole_fact(facts, "n_head").value_or(0));
  for (const KnownSize& known : known_sizes) {
    const bool fits = known.layers == model.layers && known.d_model == model.d_model;
    if (heads == 0 && fits) heads = known.heads;
  }
  if (heads == 0 && model.d_model % usual_head == 0) heads = model.d_model / usual_head;
  if (heads == 0) {
    throw InputError(fmt::format(
        "{}: nothing in the file tells how many heads the model has (d_model is {}); write "
        "--model-heads 4, or heads = 4 in the lesson's [model]",
        weights.where(), model.d_model));
  }
  if (heads > model.d_model || model.d_model % heads != 0) {
    throw InputError(fmt::format("{}: d_model is {}, which can't be shared out among {} heads",
                                 weights.where(), model.d_model, heads));
  }
  return heads;
}

// Every tensor's shape follows from the sizes. In a file of nn.Linear a bias may be missing, then
// in every layer.
void check_tensors(const Weights& weights, const Architecture& model) {
  const std::size_t d = model.d_model;
  const bool out_in = model.family->storage == Storage::out_in;
  const auto linear = [&](std::size_t in, std::size_t out) {
    return out_in ? Shape{out, in} : Shape{in, out};
  };
  const std::map<std::string_view, Shape> shapes = {
      {"ln_1.weight", {d}},
      {"ln_1.bias", {d}},
      {"attn.c_attn.weight", linear(d, 3 * d)},
      {"attn.c_attn.bias", {3 * d}},
      {"attn.c_proj.weight", linear(d, d)},
      {"attn.c_proj.bias", {d}},
      {"ln_2.weight", {d}},
      {"ln_2.bias", {d}},
      {"mlp.c_fc.weight", linear(d, model.d_mlp)},
      {"mlp.c_fc.bias", {model.d_mlp}},
      {"mlp.c_proj.weight", linear(model.d_mlp, d)},
      {"mlp.c_proj.bias", {d}},
  };
  const std::string first = model.prefix + "h.0.";
  for (std::size_t layer = 0; layer < model.layers; ++layer) {
    for (const std::string_view part : parts) {
      const std::string name = fmt::format("{}h.{}.{}", model.prefix, layer, part);
      const bool spared =
          out_in && part.ends_with(".bias") && weights.find(first + std::string(part)) == nullptr;
      if (!spared || weights.find(name)) weights.checked(name, shapes.at(part));
    }
  }
  weights.checked(model.prefix + "ln_f.weight", {d});
  if (!out_in || weights.find(model.prefix + "ln_f.bias")) {
    weights.checked(model.prefix + "ln_f.bias", {d});
  }
  weights.checked(model.prefix + "wpe.weight", {model.positions, d});
  weights.checked(model.unembedding, {model.vocabulary, d});
}

// What would change the logits and has no place in them must not be passed over.
void refuse_other_readout(const Weights& weights) {
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (!entry.name.ends_with("lm_head.bias")) continue;
    throw InputError(fmt::format("{}: no GPT-2 has a tensor {}: its logits are norm · Wᵀ alone",
                                 weights.where(), printable(entry.name)));
  }
}

std::string unembedding_of(const Weights& weights, const std::string& prefix) {
  constexpr std::string_view trunk = "transformer.";
  std::string own = prefix.ends_with(trunk) ? prefix.substr(0, prefix.size() - trunk.size()) : "";
  own += "lm_head.weight";
  return weights.find(own) ? own : prefix + "wte.weight";
}

// What Hugging Face's configuration can say that makes it another computation than the one that is
// laid out here.
void refuse_other_attention(const Facts& facts) {
  struct Unlike {
    std::string_view key, value, why;
  };
  constexpr Unlike unlike[] = {
      {"scale_attn_by_inverse_layer_idx", "true",
       "qkv does not divide scores by the layer's number, too"},
      {"scale_attn_weights", "false", "qkv divides scores by √d_k"},
      {"add_cross_attention", "true", "qkv does not do attention to a second text"},
  };
  for (const auto& [key, value, why] : unlike) {
    const auto found = facts.find(key);
    if (found != facts.end() && found->second.text == value) refuse_fact(*found, why);
  }
}

// By the names that Hugging Face gives them.
std::string gelu_of(const Facts& facts, const Family& family) {
  struct Activation {
    std::string_view name, form;
  };
  constexpr Activation known[] = {{"gelu", "erf"},       {"gelu_python", "erf"},
                                  {"gelu_new", "tanh"},  {"gelu_pytorch_tanh", "tanh"},
                                  {"gelu_fast", "tanh"}, {"gelu_accurate", "tanh"}};
  const auto found = facts.find("activation_function");
  if (found == facts.end()) return std::string(family.gelu);
  const auto* activation = std::ranges::find(known, found->second.text, &Activation::name);
  if (activation != std::end(known)) return std::string(activation->form);
  refuse_fact(*found, "qkv knows gelu and gelu_new");
}

}  // namespace

std::span<const Family> families() { return known_families; }

Architecture architecture_of(const Weights& weights, const Facts& facts,
                             const ArchitectureChoice& choice) {
  Architecture model;
  model.prefix = read_prefix(weights);
  const Shape& table = matrix(weights, model.prefix + "wte.weight").shape;
  model.vocabulary = table[0];
  model.d_model = table[1];
  model.positions = matrix(weights, model.prefix + "wpe.weight").shape[0];
  model.layers = count_layers(weights, model.prefix);
  model.family = &family_of(weights, model, facts, choice);
  const Shape& mlp = matrix(weights, model.prefix + "h.0.mlp.c_fc.weight").shape;
  model.d_mlp = mlp[model.family->storage == Storage::out_in ? 0 : 1];
  model.unembedding = unembedding_of(weights, model.prefix);
  model.heads = heads_of(weights, model, facts, choice);
  model.gelu = gelu_of(facts, *model.family);
  model.eps = positive_fact(facts, "layer_norm_epsilon", model.eps);
  refuse_other_attention(facts);
  refuse_other_readout(weights);
  check_tensors(weights, model);
  return model;
}

}  // namespace qkv
