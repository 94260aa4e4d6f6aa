#include "tokens/tokenizer_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/error.hpp"
#include "tokens/cutting_json.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;
using namespace tokenizer_json;

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

// What changes the pairs or their order in a way that qkv does not know.
void refuse_other_models(const Json& model) {
  if (!model.is_object()) refuse_tokenizer("it has no model");
  if (const Json& type = member(model, "type"); !type.is_null() && type != "BPE") {
    refuse_tokenizer(fmt::format("its model is {}", type_of(model)));
  }
  if (!member(model, "vocab").is_object() || !member(model, "merges").is_array()) {
    refuse_tokenizer("its model has no vocab with merges");
  }
  for (const std::string_view key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& value = member(model, key);
    const bool is_off = value.is_null() || value == false || value == 0 ||
                        (value.is_string() && value.get_ref<const std::string&>().empty());
    if (is_off) continue;
    refuse_tokenizer(fmt::format("its model has {} = {}", key,
                                 value.is_primitive() ? value.dump() : value.type_name()));
  }
}

// One token of a template, <s>: its ids are listed beside it.
void add_template_token(const Json& part, const Json& listed, std::vector<AddedToken>& tokens) {
  const Json& name = member(member(part, "SpecialToken"), "id");
  const Json& token = name.is_string() ? member(listed, name.get<std::string>()) : name;
  const Json& ids = member(token, "ids");
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_unsigned()) {
    refuse_tokenizer("its post_processor has a token without an id");
  }
  tokens.push_back({.text = name.get<std::string>(), .id = ids[0].get<double>()});
}

// A template such as <s> $A adds tokens before the text, or behind it.
void read_template(const Json& after, BpeFiles& files) {
  const std::string type = type_of(after);
  if (type == "none" || type == "ByteLevel") return;
  if (type == "Sequence" && member(after, "processors").is_array()) {
    for (const Json& one : member(after, "processors")) read_template(one, files);
    return;
  }
  const Json& single = member(after, "single");
  if (type != "TemplateProcessing" || !single.is_array()) {
    refuse_tokenizer(fmt::format("its post_processor, {}, adds tokens", type));
  }
  bool is_behind = false;
  for (const Json& part : single) {
    if (part.is_object() && part.contains("Sequence")) {
      is_behind = true;
    } else {
      add_template_token(part, member(after, "special_tokens"),
                         is_behind ? files.after : files.before);
    }
  }
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
    refuse_tokenizer(fmt::format("its added token {} has single_word = true", added.text));
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
  BpeFiles files{.ids = ids_from(member(model, "vocab")), .merges = {}};
  for (const Json& merge : member(model, "merges")) files.merges.push_back(merge_of(merge));
  for (const Json& token : member(json, "added_tokens")) files.added.push_back(added_token(token));
  read_cutting(json, files);
  read_template(member(json, "post_processor"), files);
  files.takes_whole_words = flag(model, "ignore_merges", false);
  files.falls_back_to_bytes = flag(model, "byte_fallback", false);
  files.fuses_unknown = flag(model, "fuse_unk", false);
  if (const Json& unknown = member(model, "unk_token"); unknown.is_string()) {
    files.unknown = unknown.get<std::string>();
  }
  return files;
}

}  // namespace qkv
