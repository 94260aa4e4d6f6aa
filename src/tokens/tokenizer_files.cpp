#include "tokens/tokens.hpp"

#include <nlohmann/json.hpp>

#include "text/strings.hpp"

namespace qkv::inline tokens {

namespace {

using Json = nlohmann::json;
using PrependScheme = PreTokenizer::PrependScheme;

// The value of the key, or null.
const Json& member(const Json& object, std::string_view key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

// The part's "type", or "none".
std::string type_of(const Json& part) {
  const Json& type = part.is_object() ? member(part, "type") : part;
  return type.is_string() ? type.get<std::string>() : "none";
}

// The boolean value of the key, or `otherwise`.
bool flag(const Json& object, std::string_view key, bool otherwise) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// Throws InputError with what the file has and what qkv reads.
[[noreturn]] void refuse_tokenizer(std::string_view what) {
  throw InputError(
      "tokenizer: {}; qkv reads byte-pair encodings: of bytes, cut as GPT-2, Llama 3 and Qwen cut, "
      "and SentencePiece's, of characters",
      what);
}

// Returns the parts of a sequence, or the part itself.
std::vector<const Json*> parts_of(const Json& part, std::string_view list) {
  if (part.is_null()) return {};
  if (type_of(part) != "Sequence" || !member(part, list).is_array()) return {&part};
  return mapped(member(part, list), [](const Json& one) { return &one; });
}

std::string text_under(const Json& part, std::string_view key) {
  const Json& text = member(part, key);
  return text.is_string() ? text.get<std::string>() : "";
}

void read_normalizer(const Json& part, PreTokenizer& pre_tokenizer) {
  const std::string type = type_of(part);
  if (type == "NFC") {
    pre_tokenizer.normalises_nfc = true;
  } else if (type == "Prepend" && !text_under(part, "prepend").empty()) {
    pre_tokenizer.blank = text_under(part, "prepend");
    pre_tokenizer.start = PrependScheme::always;
  } else if (type == "Replace" && text_under(member(part, "pattern"), "String") == " " &&
             !text_under(part, "content").empty()) {
    const std::string content = text_under(part, "content");
    if (!pre_tokenizer.blank.empty() && pre_tokenizer.blank != content) {
      refuse_tokenizer("its normalizer has two marks for a blank");
    }
    pre_tokenizer.blank = content;
  } else {
    refuse_tokenizer(fmt::format("its normalizer is {}", type));
  }
}

void read_byte_level(const Json& part, PreTokenizer& pre_tokenizer) {
  if (flag(part, "add_prefix_space", true)) {
    pre_tokenizer.start = PrependScheme::unless_there;
    if (!pre_tokenizer.patterns.empty())
      refuse_tokenizer("its pre_tokenizer puts a blank before each piece that it has cut");
  }
  if (!flag(part, "use_regex", true)) return;
  if (!pre_tokenizer.patterns.empty()) refuse_tokenizer("its pre_tokenizer cuts twice");
  pre_tokenizer.patterns = {gpt2_pattern()};
}

void read_metaspace(const Json& part, PreTokenizer& pre_tokenizer) {
  const std::string replacement = text_under(part, "replacement");
  if (replacement.empty()) refuse_tokenizer("its pre_tokenizer Metaspace has no replacement");
  const std::string scheme = text_under(part, "prepend_scheme");
  pre_tokenizer.blank = replacement;
  pre_tokenizer.splits_at_blanks = flag(part, "split", true);
  if (scheme == "never" || (scheme.empty() && !flag(part, "add_prefix_space", true))) return;
  pre_tokenizer.start = scheme == "first" ? PrependScheme::once : PrependScheme::unless_there;
}

void read_split(const Json& part, PreTokenizer& pre_tokenizer) {
  const Json& pattern = member(part, "pattern");
  const bool is_plain = !flag(part, "invert", false);
  // If blanks are replaced by a mark, there are none to split at.
  if (is_plain && text_under(pattern, "String") == " " && !pre_tokenizer.blank.empty()) return;
  if (text_under(pattern, "Regex").empty() || text_under(part, "behavior") != "Isolated" ||
      !is_plain) {
    refuse_tokenizer("its pre_tokenizer is a Split of another kind than an isolated pattern");
  }
  pre_tokenizer.patterns.emplace_back(text_under(pattern, "Regex"));
}

// Reads the normalizer and the pre_tokenizer. Throws InputError for unknown parts.
void read_pre_tokenizer(const Json& tokenizer, BpeFiles& files) {
  PreTokenizer& pre_tokenizer = files.settings.pre_tokenizer;
  for (const Json* part : parts_of(member(tokenizer, "normalizer"), "normalizers")) {
    read_normalizer(*part, pre_tokenizer);
  }
  const Json& cut = member(tokenizer, "pre_tokenizer");
  files.settings.by_characters = true;
  for (const Json* part : parts_of(cut, "pretokenizers")) {
    const std::string type = type_of(*part);
    if (type == "ByteLevel") {
      files.settings.by_characters = false;
      read_byte_level(*part, pre_tokenizer);
    } else if (type == "Metaspace") {
      read_metaspace(*part, pre_tokenizer);
    } else if (type == "Split" && files.settings.by_characters) {
      read_split(*part, pre_tokenizer);
    } else {
      refuse_tokenizer(fmt::format("its pre_tokenizer is {}", type));
    }
  }
  if (pre_tokenizer.splits_at_blanks && !pre_tokenizer.patterns.empty()) {
    refuse_tokenizer("its pre_tokenizer cuts twice");
  }
  if (files.settings.by_characters && pre_tokenizer.blank.empty()) {
    refuse_tokenizer(fmt::format("its pre_tokenizer is {}", type_of(cut)));
  }
}

Json parsed(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw InputError("{} is not a JSON object", what);
  return json;
}

std::unordered_map<std::string, double> ids_from(const Json& vocab) {
  std::unordered_map<std::string, double> ids;
  ids.reserve(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_unsigned()) {
      throw InputError("vocab: the id of \"{}\" is not a whole number", token);
    }
    ids.emplace(token, id.get<double>());
  }
  return ids;
}

std::pair<std::string, std::string> merge_of(std::string_view line) {
  const std::vector<std::string_view> pieces = split(line, ' ');
  if (pieces.size() == 2) return {std::string(pieces[0]), std::string(pieces[1])};
  throw InputError("merges: \"{}\" is not two pieces with a blank between them", line);
}

// Older files write a merge as "Ġ t", newer ones as ["Ġ", "t"].
std::pair<std::string, std::string> merge_of(const Json& merge) {
  if (merge.is_string()) return merge_of(std::string_view(merge.get_ref<const std::string&>()));
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  throw InputError("tokenizer: a merge is not two pieces");
}

// Refuses settings that change the merges in a way that qkv does not implement.
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

// Adds one token of a template, such as <s>. Its id is listed in special_tokens.
void add_template_token(const Json& part, const Json& listed, std::vector<AddedToken>& tokens) {
  const Json& name = member(member(part, "SpecialToken"), "id");
  const Json& token = name.is_string() ? member(listed, name.get<std::string>()) : name;
  const Json& ids = member(token, "ids");
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_unsigned()) {
    refuse_tokenizer("its post_processor has a token without an id");
  }
  tokens.push_back({.text = name.get<std::string>(), .id = ids[0].get<double>()});
}

// A template such as <s> $A adds tokens before or after the text.
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
                         is_behind ? files.settings.after : files.settings.before);
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
                   .strips_left = flag(token, "lstrip", false),
                   .strips_right = flag(token, "rstrip", false),
                   .normalised = flag(token, "normalized", false)};
  if (added.text.empty()) throw InputError("tokenizer: an added token is empty");
  if (flag(token, "single_word", false)) {
    refuse_tokenizer(fmt::format("its added token {} has single_word = true", added.text));
  }
  return added;
}

}  // namespace

BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt) {
  BpeFiles files{.ids = ids_from(parsed(vocab_json, "vocab")), .merges = {}};
  files.settings.pre_tokenizer.patterns = {gpt2_pattern()};
  for (std::string_view line : split(merges_txt, '\n')) {
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
  for (const Json& token : member(json, "added_tokens"))
    files.settings.added.push_back(added_token(token));
  read_pre_tokenizer(json, files);
  read_template(member(json, "post_processor"), files);
  files.settings.ignore_merges = flag(model, "ignore_merges", false);
  files.settings.byte_fallback = flag(model, "byte_fallback", false);
  files.settings.fuse_unknown = flag(model, "fuse_unk", false);
  if (const Json& unknown = member(model, "unk_token"); unknown.is_string()) {
    files.unknown = unknown.get<std::string>();
  }
  return files;
}

}  // namespace qkv::inline tokens
