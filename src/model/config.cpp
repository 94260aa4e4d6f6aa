#include <nlohmann/json.hpp>

#include "model/architecture.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"

namespace qkv::inline model {
namespace {

// Entries of any Hugging Face configuration that do not affect the numbers: training, storage and
// sampling.
// clang-format off
constexpr std::string_view idle[] = {
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_flash_attn_2_enabled",
    "_name_or_path", "architectures", "attention_dropout", "attn_implementation", "attn_pdrop",
    "auto_map", "begin_suppress_tokens", "bos_token_id", "cache_implementation",
    "chunk_size_feed_forward", "decoder_start_token_id", "diversity_penalty", "do_sample",
    "dropout", "dtype", "early_stopping", "embd_pdrop", "eos_token_id",
    "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "gradient_checkpointing", "head_dropout", "hidden_dropout",
    "initializer_range", "is_composition", "is_decoder", "is_llama_config", "keep_n",
    "length_penalty", "max_length", "max_position_embeddings", "max_sequence_length", "min_length",
    "model_max_length", "n_ctx", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_past",
    "output_scores", "pad_token_id", "predict_special_tokens", "prefix", "pretraining_tp",
    "problem_type", "remove_invalid_values", "reorder_and_upcast_attn", "repetition_penalty",
    "resid_pdrop", "return_dict", "return_dict_in_generate", "rope_interleaved", "sep_token_id",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "suppress_tokens", "temperature", "tf_legacy_loss", "tokenizer_class",
    "top_k", "top_p", "torch_dtype", "torchscript", "transformers_version", "typical_p",
    "unk_token_id", "unsloth_fixed", "unsloth_version", "use_bfloat16", "use_cache"};
// clang-format on

// The same, for entries that are objects.
constexpr std::string_view idle_objects[] = {"id2label.", "label2id.", "task_specific_params.",
                                             "auto_map.", "transformers.js_config."};

// And objects whose entries are read.
constexpr std::string_view read_objects[] = {"rope_scaling", "rope_parameters"};

constexpr ConfigRule common[] = {
    {"add_cross_attention", "false", "qkv does not do attention to a second text"},
    {"bad_words_ids", "null", "qkv forbids no words"},
    {"cross_attention_hidden_size", "null", "qkv does not do attention to a second text"},
    {"encoder_no_repeat_ngram_size", "0", "qkv has no encoder"},
    {"is_encoder_decoder", "false", "qkv has no encoder"},
    {"pruned_heads", "{}", "qkv reads models whose heads are all there"},
    {"quantization_config", "null",
     "qkv reads F64, F32, F16 and BF16: write the model out unquantised"},
    {"tie_encoder_decoder", "false", "qkv has no encoder"},
    {"family"},
    {"source"},
    {"vocabulary"},
};

const ConfigRule* rule_of(std::string_view key, std::span<const ConfigRule> rules) {
  const ConfigRule* rule = find_by(rules, key, &ConfigRule::key);
  return rule ? rule : find_by(common, key, &ConfigRule::key);
}

// "rope_scaling.factor" is checked where its object is read; rules name only the object.
std::string_view object_of(std::string_view key) { return key.substr(0, key.find('.')); }

using Json = nlohmann::json;

// Adds the values of a JSON object as texts; nested names get the object's name before them.
void add_object(const Json& object, const std::string& before, const std::string& where,
                Config& config) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before + key;
    if (value.is_object() && before.empty() && !value.empty()) {
      add_object(value, name + ".", where, config);
      continue;
    }
    config.try_emplace(
        name,
        ConfigEntry{value.is_string() ? value.get<std::string>() : value.dump(), where, true});
  }
}

void add_config(const std::filesystem::path& path, Config& config) {
  if (!std::filesystem::is_regular_file(status_at(path))) return;
  constexpr std::size_t largest_config = std::size_t{1} << 20;
  const std::string bytes = read_bytes(path, largest_config);
  const auto json = Json::parse(bytes, nullptr, false);
  const std::string where = printable(path.string());
  if (!json.is_object() && bytes.starts_with("version https://git-lfs")) {
    refuse(where,
           "this is a pointer of Git LFS, which stands for a file that was not fetched: fetch "
           "it with git lfs pull");
  }
  if (!json.is_object()) refuse(where, "this is not a JSON object; correct or remove the file");
  add_object(json, "", where, config);
}

}  // namespace

void refuse_unknown_config(const Config& config, std::span<const ConfigRule> rules,
                           std::string_view kind) {
  for (const Config::value_type& fact : config) {
    const std::string& key = fact.first;  // Clang 14 can't capture structured bindings
    const auto& entry = fact.second;
    const ConfigRule* rule = rule_of(key, rules);
    if (!rule && key.find('.') != key.npos) {
      rule = rule_of(object_of(key), rules);
      const bool is_read = contains(read_objects, object_of(key));
      if (rule && rule->only.empty() && !is_read) refuse_entry(fact, "qkv knows no such object");
    }
    if (rule && (rule->only.empty() || entry.text == rule->only || entry.text == "null")) continue;
    if (rule) refuse_entry(fact, rule->why);
    const auto opens = [&](std::string_view object) { return key.starts_with(object); };
    const bool is_idle =
        contains(idle, key) || std::ranges::any_of(idle_objects, opens) || entry.text == "null";
    if (is_idle || !entry.is_configured) continue;
    const std::string near = suggest(key, {rules, &ConfigRule::key});
    throw InputError("{}: qkv does not know what {} = {} does to {}{}", entry.where, printable(key),
                     printable(entry.text), kind,
                     near.empty() ? "; take it out if it changes none of the model's numbers"
                                  : fmt::format("; did you mean \"{}\"?", near));
  }
}

Config config_of(const Weights& weights, const std::optional<std::filesystem::path>& directory) {
  Config config;
  if (directory) add_config(*directory / "config.json", config);
  const bool is_configured = !config.empty();
  for (const auto& [name, text] : weights.metadata()) {
    if (!is_configured || name == "family" || name == "vocabulary" || name == "n_head")
      config.try_emplace(name, ConfigEntry{text, weights.where()});
  }
  return config;
}

const Config::value_type* find_entry(const Config& config, std::string_view name) {
  const auto found = config.find(name);
  return found == config.end() || found->second.text == "null" ? nullptr : &*found;
}

std::optional<std::size_t> positive_integer(const Config& config, std::string_view name) {
  const auto* found = find_entry(config, name);
  if (!found) return {};
  const auto number = parse_number<std::size_t>(found->second.text);
  if (number && *number > 0) return number;
  refuse_entry(*found, "it must be a whole number above 0");
}

std::optional<double> positive_number(const Config& config, std::string_view name) {
  const auto* found = find_entry(config, name);
  if (!found) return {};
  const NumeralResult number = parse_numeral(found->second.text);
  const double value = number.numeral.value;
  if (number.fault == NumeralError::none && value > 0 && std::isfinite(value)) return value;
  refuse_entry(*found, "it must be a number above 0");
}

bool flag_entry(const Config& config, std::string_view name, bool otherwise) {
  const auto* found = find_entry(config, name);
  if (!found) return otherwise;
  if (found->second.text == "true") return true;
  if (found->second.text == "false") return false;
  refuse_entry(*found, "it must be true or false");
}

std::optional<std::vector<std::string>> strings_in(std::string_view json) {
  const auto list = Json::parse(json, nullptr, false);
  const auto is_word = [](const Json& word) { return word.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_word)) return {};
  return list.get<std::vector<std::string>>();
}

std::optional<std::vector<std::string>> string_list(const Config& config, std::string_view name) {
  const auto* found = find_entry(config, name);
  if (!found) return {};
  if (auto list = strings_in(found->second.text)) return list;
  refuse_entry(*found, "it must be a list of words");
}

void require_entry(const Config& config, std::string_view name, std::size_t expected,
                   std::string_view why) {
  const auto stated = positive_integer(config, name);
  if (stated && *stated != expected) refuse_entry(*find_entry(config, name), why);
}

void require_sizes(const Config& config, std::string_view file, std::span<const ConfigSize> sizes) {
  for (const ConfigSize& size : sizes) {
    require_entry(config, size.name, size.expected,
                  fmt::format("{} has {} {}: the file and its config.json must be one model's",
                              file, size.expected, size.what));
  }
}

void refuse_entry(const Config::value_type& fact, std::string_view why) {
  const auto& [name, entry] = fact;
  throw InputError("{}: {} is {}; {}", entry.where, printable(name), printable(entry.text), why);
}

std::string activation_of(const Config::value_type& entry) {
  struct Activation {
    std::string_view name, form;
  };
  constexpr Activation known[] = {
      {"silu", "silu"},      {"swish", "silu"},         {"relu", "relu"},
      {"gelu", "erf"},       {"gelu_python", "erf"},    {"gelu_new", "tanh"},
      {"gelu_fast", "tanh"}, {"gelu_accurate", "tanh"}, {"gelu_pytorch_tanh", "tanh"}};
  const auto* found = find_by(known, entry.second.text, &Activation::name);
  if (found) return std::string(found->form);
  refuse_entry(entry, "qkv knows relu, gelu, gelu_new, and in a gate silu");
}

}  // namespace qkv::inline model
