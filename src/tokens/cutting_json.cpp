#include "tokens/cutting_json.hpp"

#include <fmt/format.h>

#include "text/error.hpp"

namespace qkv::tokenizer_json {
namespace {

using Json = nlohmann::json;
using Start = Cutting::Start;
using Words = Cutting::Words;

// A part by itself, or each of a sequence.
std::vector<const Json*> parts_of(const Json& part, std::string_view list) {
  if (part.is_null()) return {};
  if (type_of(part) != "Sequence" || !member(part, list).is_array()) return {&part};
  std::vector<const Json*> parts;
  for (const Json& one : member(part, list)) parts.push_back(&one);
  return parts;
}

std::string text_under(const Json& part, std::string_view key) {
  const Json& text = member(part, key);
  return text.is_string() ? text.get<std::string>() : "";
}

void read_normalizer(const Json& part, Cutting& cutting) {
  const std::string type = type_of(part);
  if (type == "NFC") {
    cutting.composes = true;
  } else if (type == "Prepend" && !text_under(part, "prepend").empty()) {
    cutting.blank = text_under(part, "prepend");
    cutting.start = Start::always;
  } else if (type == "Replace" && text_under(member(part, "pattern"), "String") == " " &&
             !text_under(part, "content").empty()) {
    const std::string content = text_under(part, "content");
    if (!cutting.blank.empty() && cutting.blank != content) {
      refuse_tokenizer("its normalizer has two marks for a blank");
    }
    cutting.blank = content;
  } else {
    refuse_tokenizer(fmt::format("its normalizer is {}", type));
  }
}

void read_byte_level(const Json& part, Cutting& cutting) {
  if (flag(part, "add_prefix_space", true)) cutting.start = Start::unless_there;
  if (!flag(part, "use_regex", true)) return;
  if (!cutting.patterns.empty()) refuse_tokenizer("its pre_tokenizer cuts twice");
  cutting.words = Words::gpt2;
}

void read_metaspace(const Json& part, Cutting& cutting) {
  const std::string replacement = text_under(part, "replacement");
  if (replacement.empty()) refuse_tokenizer("its pre_tokenizer Metaspace has no replacement");
  const std::string scheme = text_under(part, "prepend_scheme");
  cutting.blank = replacement;
  cutting.words = flag(part, "split", true) ? Words::at_blanks : Words::none;
  if (scheme == "never" || (scheme.empty() && !flag(part, "add_prefix_space", true))) return;
  cutting.start = scheme == "first" ? Start::once : Start::unless_there;
}

void read_split(const Json& part, Cutting& cutting) {
  const Json& pattern = member(part, "pattern");
  const bool is_plain = !flag(part, "invert", false);
  // Where a mark stands for each blank there is none to cut at.
  if (is_plain && text_under(pattern, "String") == " " && !cutting.blank.empty()) return;
  if (text_under(pattern, "Regex").empty() || text_under(part, "behavior") != "Isolated" ||
      !is_plain) {
    refuse_tokenizer("its pre_tokenizer is a Split of another kind than an isolated pattern");
  }
  cutting.words = Words::patterns;
  cutting.patterns.push_back(std::make_shared<const CutPattern>(text_under(pattern, "Regex")));
}

}  // namespace

const Json& member(const Json& object, std::string_view key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
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

void refuse_tokenizer(std::string_view what) {
  throw InputError(fmt::format(
      "tokenizer: {}; qkv reads byte-pair encodings: of bytes, cut as GPT-2, Llama 3 and Qwen cut, "
      "and SentencePiece's, of characters",
      what));
}

void read_cutting(const Json& tokenizer, BpeFiles& files) {
  Cutting& cutting = files.cutting;
  cutting.words = Words::none;
  for (const Json* part : parts_of(member(tokenizer, "normalizer"), "normalizers")) {
    read_normalizer(*part, cutting);
  }
  const Json& cut = member(tokenizer, "pre_tokenizer");
  files.by_characters = true;
  for (const Json* part : parts_of(cut, "pretokenizers")) {
    const std::string type = type_of(*part);
    if (type == "ByteLevel") {
      files.by_characters = false;
      read_byte_level(*part, cutting);
    } else if (type == "Metaspace") {
      read_metaspace(*part, cutting);
    } else if (type == "Split") {
      read_split(*part, cutting);
    } else {
      refuse_tokenizer(fmt::format("its pre_tokenizer is {}", type));
    }
  }
  if (files.by_characters && cutting.blank.empty()) {
    refuse_tokenizer(fmt::format("its pre_tokenizer is {}", type_of(cut)));
  }
}

}  // namespace qkv::tokenizer_json
