#include "ops/bpe.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "tensor/error.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

enum class Kind { letter, digit, blank, mark };

struct Character {
  Kind kind;
  std::size_t bytes;
};

// As \p{L}, \p{N} and \s of the pattern see them.
Kind kind_of(utf8proc_int32_t code) {
  if ((code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f) || code == 0x85) {
    return Kind::blank;
  }
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return Kind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return Kind::digit;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return Kind::blank;
    default: return Kind::mark;
  }
}

Character character_at(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
  return {kind_of(code), static_cast<std::size_t>(bytes)};
}

// How long the run of that kind is at the start of the text.
std::size_t run_of(std::string_view text, Kind kind) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character next = character_at(text.substr(length));
    if (next.kind != kind) break;
    length += next.bytes;
  }
  return length;
}

std::size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// Blanks go alone, but the last one before a word goes with the word (if it is a plain blank).
std::size_t blanks(std::string_view text) {
  const std::size_t run = run_of(text, Kind::blank);
  if (run == text.size()) return run;
  std::size_t last = 0;
  for (std::size_t at = 0; at < run; at += character_at(text.substr(at)).bytes) last = at;
  return last == 0 ? run : last;
}

std::size_t word_length(std::string_view text) {
  if (const std::size_t length = contraction(text)) return length;
  const std::size_t blank = text.front() == ' ' && text.size() > 1 ? 1 : 0;
  const Kind kind = character_at(text.substr(blank)).kind;
  if (kind == Kind::blank) return blanks(text);
  return blank + run_of(text.substr(blank), kind);
}

// GPT-2 writes every byte as a visible character: printable ones as themselves, the others from
// U+0100 on.
std::array<std::string, 256> byte_letters() {
  std::array<std::string, 256> letters;
  utf8proc_int32_t spare = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                           (byte >= 0xae && byte <= 0xff);
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(printable ? byte : spare++, bytes);
    letters[static_cast<std::size_t>(byte)].assign(reinterpret_cast<const char*>(bytes),
                                                   static_cast<std::size_t>(length));
  }
  return letters;
}

const std::array<std::string, 256>& letters() {
  static const std::array<std::string, 256> all = byte_letters();
  return all;
}

Json parsed(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    throw InputError(fmt::format("{} is not a JSON object", what));
  }
  return json;
}

std::unordered_map<std::string, double> ids_from(const Json& vocab) {
  std::unordered_map<std::string, double> ids;
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_unsigned()) {
      throw InputError(fmt::format("vocab: the id of \"{}\" is not a whole number", token));
    }
    ids.emplace(token, id.get<double>());
  }
  return ids;
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, word_length(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

void BytePairEncoder::add_merge(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.starts_with("#version")) return;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
    throw InputError(
        fmt::format("merges: \"{}\" is not two pieces with a blank between them", line));
  }
  ranks_.emplace(line, ranks_.size());
}

BytePairEncoder::BytePairEncoder(std::string_view vocab_json, std::string_view merges_txt)
    : ids_(ids_from(parsed(vocab_json, "vocab"))) {
  while (!merges_txt.empty()) {
    const std::size_t end = std::min(merges_txt.find('\n'), merges_txt.size());
    add_merge(merges_txt.substr(0, end));
    merges_txt.remove_prefix(std::min(end + 1, merges_txt.size()));
  }
}

BytePairEncoder::BytePairEncoder(std::string_view tokenizer_json) {
  const Json json = parsed(tokenizer_json, "tokenizer");
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object() || !model->contains("vocab") ||
      !model->contains("merges") || !(*model)["vocab"].is_object() ||
      !(*model)["merges"].is_array()) {
    throw InputError("tokenizer: it has no model with vocab and merges; only BPE can be read");
  }
  ids_ = ids_from((*model)["vocab"]);
  for (const Json& merge : (*model)["merges"]) {
    if (merge.is_string()) {
      add_merge(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      add_merge(merge[0].get<std::string>() + ' ' + merge[1].get<std::string>());
    } else {
      throw InputError("tokenizer: a merge is not two pieces");
    }
  }
}

// Joins the pair of the lowest rank, everywhere, until none is left.
std::vector<std::string> BytePairEncoder::merged(std::vector<std::string> pieces) const {
  while (pieces.size() > 1) {
    std::optional<std::size_t> best;
    std::pair<std::string, std::string> pair;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const auto rank = ranks_.find(pieces[i] + ' ' + pieces[i + 1]);
      if (rank == ranks_.end() || (best && rank->second >= *best)) continue;
      best = rank->second;
      pair = {pieces[i], pieces[i + 1]};
    }
    if (!best) break;
    std::vector<std::string> joined;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool here =
          i + 1 < pieces.size() && pieces[i] == pair.first && pieces[i + 1] == pair.second;
      joined.push_back(here ? pieces[i] + pieces[i + 1] : pieces[i]);
      if (here) ++i;
    }
    pieces = std::move(joined);
  }
  return pieces;
}

std::vector<BpeToken> BytePairEncoder::encode(std::string_view text) const {
  std::vector<BpeToken> tokens;
  for (std::string_view word : gpt2_words(text)) {
    std::vector<std::string> pieces;
    for (const char byte : word) pieces.push_back(letters()[static_cast<unsigned char>(byte)]);
    for (const std::string& piece : merged(std::move(pieces))) {
      const auto id = ids_.find(piece);
      if (id == ids_.end()) {
        throw InputError(fmt::format("the vocabulary has no \"{}\", which the text needs", piece));
      }
      // As many bytes as the piece has letters stand at the start of what is left of the word.
      std::size_t bytes = 0;
      for (const char c : piece) bytes += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
      tokens.push_back({id->second, std::string(word.substr(0, bytes))});
      word.remove_prefix(bytes);
    }
  }
  return tokens;
}

}  // namespace qkv
