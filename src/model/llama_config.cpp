#include "model/llama_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/rotary_facts.hpp"

namespace qkv {
namespace {

using Windows = LlamaKin::Windows;

constexpr ConfigRule rules[] = {
    {"attention_bias"},
    {"attn_logit_softcapping"},
    {"final_logit_softcapping"},
    {"head_dim"},
    {"hidden_act"},
    {"hidden_activation"},
    {"hidden_size"},
    {"intermediate_size"},
    {"layer_types"},
    {"max_window_layers"},
    {"mlp_bias"},
    {"model_type"},
    {"num_attention_heads"},
    {"num_hidden_layers"},
    {"num_key_value_heads"},
    {"partial_rotary_factor"},
    {"query_pre_attn_scalar"},
    {"rms_norm_eps"},
    {"rope_parameters"},
    {"rope_scaling"},
    {"rope_theta"},
    {"sliding_window"},
    {"sliding_window_size"},
    {"tie_word_embeddings"},
    {"use_bidirectional_attention", "false", "qkv hides what comes later"},
    {"use_mrope", "false", "qkv turns queries and keys by one position a token"},
    {"use_sliding_window"},
    {"vocab_size"},
};

// Entries that only some of the families look at; the others must not have them, or not so.
void refuse_idle_entries(const Facts& facts, const Family& family) {
  const auto only_for = [&](std::string_view name, bool is_known) {
    const auto* told = find_fact(facts, name);
    if (told && !is_known && told->second.text != "false") {
      refuse_fact(*told, fmt::format("{} has no such entry; take it out if it changes none of the "
                                     "model's numbers",
                                     family.name));
    }
  };
  const LlamaKin& kin = *family.kin;
  for (const std::string_view name :
       {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar"}) {
    only_for(name, kin.caps);
  }
  const bool has_windows = kin.windows != Windows::none;
  for (const std::string_view name : {"sliding_window", "sliding_window_size"}) {
    only_for(name, has_windows);
  }
  only_for("use_sliding_window", kin.windows == Windows::late);
  only_for("max_window_layers", kin.windows == Windows::late);
  only_for("mlp_bias", family.name == "llama");
  only_for("attention_bias", !kin.has_biases && family.name != "mistral");
}

// How many keys a query sees in a layer with a window; 0: no layer has one.
std::size_t window_of(const Facts& facts, const LlamaKin& kin) {
  if (kin.windows == Windows::none) return 0;
  if (kin.windows == Windows::late && !flag_fact(facts, "use_sliding_window", false)) return 0;
  const auto stated = facts.find("sliding_window");
  if (stated != facts.end() && stated->second.text == "null") return 0;
  constexpr std::size_t usual = 4096;
  const std::size_t width = whole_fact(facts, "sliding_window").value_or(usual);
  require_fact(facts, "sliding_window_size", width, "it must be what sliding_window is");
  return width;
}

bool has_window(const LlamaKin& kin, std::size_t layer, std::size_t first_late) {
  switch (kin.windows) {
    case Windows::all: return true;
    case Windows::late: return layer >= first_late;
    case Windows::alternating: return layer % 2 == 0;
    case Windows::none: break;
  }
  return false;
}

std::vector<std::size_t> windows_of(const Facts& facts, const LlamaKin& kin, std::size_t layers) {
  const std::size_t width = window_of(facts, kin);
  constexpr std::size_t usual_late = 28;
  const auto* told = find_fact(facts, "max_window_layers");
  const bool from_the_first = told && told->second.text == "0";
  const std::size_t late =
      from_the_first ? 0 : whole_fact(facts, "max_window_layers").value_or(usual_late);
  const auto types = words_fact(facts, "layer_types");
  if (types && types->size() != layers) {
    refuse_fact(*find_fact(facts, "layer_types"),
                fmt::format("it must have a word for each of the {} layers", layers));
  }
  std::vector<std::size_t> windows;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    bool slides = width > 0 && has_window(kin, layer, late);
    if (types) {
      slides = (*types)[layer] == "sliding_attention";
      if ((!slides && (*types)[layer] != "full_attention") || (slides && width == 0)) {
        refuse_fact(*find_fact(facts, "layer_types"),
                    slides ? "no sliding_window says how many keys a query sees"
                           : "a layer is full_attention or sliding_attention");
      }
    }
    windows.push_back(slides ? width : 0);
  }
  return windows;
}

// What lets the gate through: SiLU, or a form of GELU.
std::string gate_of(const Facts& facts, const LlamaKin& kin) {
  struct Activation {
    std::string_view name, gate;
  };
  constexpr Activation known[] = {{"silu", "silu"},     {"swish", "silu"},
                                  {"gelu", "erf"},      {"gelu_python", "erf"},
                                  {"gelu_new", "tanh"}, {"gelu_pytorch_tanh", "tanh"}};
  const auto* told = find_fact(facts, "hidden_activation");
  // Gemma's own hidden_act says "gelu" and means the form with tanh; hidden_activation says so.
  const bool is_gemma = kin.gate != "silu";
  if (!told && !is_gemma) told = find_fact(facts, "hidden_act");
  if (!told) {
    const auto* act = find_fact(facts, "hidden_act");
    if (act && !act->second.text.starts_with("gelu")) refuse_fact(*act, "Gemma's gate is GELU");
    return std::string(kin.gate);
  }
  const auto* found = std::ranges::find(known, told->second.text, &Activation::name);
  if (found != std::end(known)) return std::string(found->gate);
  refuse_fact(*told, "qkv knows silu, gelu and gelu_pytorch_tanh");
}

// A cap, which null switches off.
std::optional<double> cap_of(const Facts& facts, std::string_view name, double usual) {
  if (const auto stated = facts.find(name); stated != facts.end())
    return positive_fact(facts, name);
  return usual;
}

}  // namespace

std::span<const ConfigRule> llama_rules() { return rules; }

LlamaParts llama_parts(const Facts& facts, const Family& family, std::size_t layers) {
  refuse_idle_entries(facts, family);
  const LlamaKin& kin = *family.kin;
  const bool has_biases = flag_fact(facts, "attention_bias", false);
  LlamaParts parts;
  parts.rope = rotary_options(facts);
  parts.windows = windows_of(facts, kin, layers);
  parts.has_biases = has_biases || kin.has_biases;
  parts.has_output_bias = has_biases;
  parts.has_mlp_biases = flag_fact(facts, "mlp_bias", false);
  parts.gate = gate_of(facts, kin);
  if (!kin.caps) return parts;
  constexpr double usual_scalar = 256;
  constexpr double usual_score_cap = 50;
  constexpr double usual_logit_cap = 30;
  parts.score_divisor = std::sqrt(positive_fact(facts, "query_pre_attn_scalar", usual_scalar));
  parts.score_cap = cap_of(facts, "attn_logit_softcapping", usual_score_cap);
  parts.logit_cap = cap_of(facts, "final_logit_softcapping", usual_logit_cap);
  return parts;
}

}  // namespace qkv
