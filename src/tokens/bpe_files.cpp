#include "tokens/bpe_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/error.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

Json parsed(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    throw InputError(fmt::format("{} is not a JSON object", what));
  }
  return json;
}

std::unordered_map<std::string, double> ids_from(const Json& vocab) {
  std::unordered_map<std::string, double> ids;
  ids.reserve(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_unsigned()) {
      throw InputError(fmt::format("vocab: the id of \"{}\" is not a whole number", token));
    }
    ids.emplace(token, id.get<double>());
  }
  return ids;
}

std::pair<std::string, std::string> merge_of(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
    throw InputError(
        fmt::format("merges: \"{}\" is not two pieces with a blank between them", line));
  }
  return {std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

// Older files write a merge as "Ġ t", newer ones as ["Ġ", "t"].
std::pair<std::string, std::string> merge_of(const Json& merge) {
  if (merge.is_string()) return merge_of(std::string_view(merge.get_ref<const std::string&>()));
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  throw InputError("tokenizer: a merge is not two pieces");
}

[[noreturn]] void refuse(std::string_view what) {
  throw InputError(
      fmt::format("tokenizer: {}; only GPT-2's kind can be read: byte-level BPE that "
                  "changes nothing of the text",
                  what));
}

const Json& member(const Json& object, std::string_view key) {
  static const Json nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string type_of(const Json& part) {
  const Json& type = part.is_object() ? member(part, "type") : part;
  return type.is_string() ? type.get<std::string>() : "none";
}

bool flag(const Json& object, std::string_view key, bool otherwise) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// What changes the pairs or their order; GPT-2's model has none of them.
void refuse_other_models(const Json& model) {
  if (!model.is_object()) refuse("it has no model");
  if (const Json& type = member(model, "type"); !type.is_null() && type != "BPE") {
    refuse(fmt::format("its model is {}", type_of(model)));
  }
  if (!member(model, "vocab").is_object() || !member(model, "merges").is_array()) {
    refuse("its model has no vocab with merges");
  }
  for (const std::string_view key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"}) {
    const Json& value = member(model, key);
    const bool is_off = value.is_null() || value == false || value == 0 ||
                        (value.is_string() && value.get_ref<const std::string&>().empty());
    if (is_off) continue;
    refuse(fmt::format("its model has {} = {}", key,
                       value.is_primitive() ? value.dump() : value.type_name()));
  }
}

void refuse_other_cuts(const Json& cut) {
  if (type_of(cut) != "ByteLevel") refuse(fmt::format("its pre_tokenizer is {}", type_of(cut)));
  if (!flag(cut, "use_regex", true)) refuse("its pre_tokenizer has use_regex = false");
}

// A template such as <s> $A adds tokens; one that is the text alone adds none.
bool adds_tokens(const Json& after) {
  const std::string type = type_of(after);
  if (type == "none" || type == "ByteLevel") return false;
  const Json& single = member(after, "single");
  if (type != "TemplateProcessing" || !single.is_array()) return true;
  return std::any_of(single.begin(), single.end(),
                     [](const Json& part) { return !part.contains("Sequence"); });
}

AddedToken added_token(const Json& token) {
  if (!token.is_object() || !member(token, "content").is_string() ||
      !member(token, "id").is_number_unsigned()) {
    throw InputError("tokenizer: an added token has no content and id");
  }
  AddedToken added{.text = token["content"].get<std::string>(),
                   .id = token["id"].get<double>(),
                   .takes_blanks_before = flag(token, "lstrip", false),
                   .takes_blanks_after = flag(token, "rstrip", false)};
  if (added.text.empty()) throw InputError("tokenizer: an added token is empty");
  if (flag(token, "single_word", false)) {
    refuse(fmt::format("its added token {} has single_word = true", added.text));
  }
  return added;
}

}  // namespace

BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt) {
  BpeFiles files{.ids = ids_from(parsed(vocab_json, "vocab")), .merges = {}};
  while (!merges_txt.empty()) {
    const std::size_t end = std::min(merges_txt.find('\n'), merges_txt.size());
    std::string_view line = merges_txt.substr(0, end);
    merges_txt.remove_prefix(std::min(end + 1, merges_txt.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) files.merges.push_back(merge_of(line));
  }
  return files;
}

BpeFiles bpe_files(std::string_view tokenizer_json) {
  const Json json = parsed(tokenizer_json, "tokenizer");
  const Json& model = member(json, "model");
  refuse_other_models(model);
  if (const std::string type = type_of(member(json, "normalizer")); type != "none") {
    refuse(fmt::format("its normalizer is {}", type));
  }
  const Json& cut = member(json, "pre_tokenizer");
  refuse_other_cuts(cut);
  if (adds_tokens(member(json, "post_processor"))) {
    refuse(fmt::format("its post_processor, {}, adds tokens", type_of(json["post_processor"])));
  }
  BpeFiles files{.ids = ids_from(member(model, "vocab")), .merges = {}};
  for (const Json& merge : member(model, "merges")) files.merges.push_back(merge_of(merge));
  for (const Json& token : member(json, "added_tokens")) files.added.push_back(added_token(token));
  files.adds_blank = flag(cut, "add_prefix_space", true);
  return files;
}

}  // namespace qkv
