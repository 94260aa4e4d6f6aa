#include "tokens/pre_tokenizer.hpp"

#include <cstdlib>

#include "text/error.hpp"
#include "text/unicode.hpp"
#include "tokens/words.hpp"

namespace qkv::inline tokens {
namespace {

void refuse_no_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    at += bytes;
  }
}

std::string composed(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (!text.empty()) {
    const bool is_there = text.starts_with(from);
    result += is_there ? to : text.substr(0, 1);
    text.remove_prefix(is_there ? from.size() : 1);
  }
  return result;
}

std::vector<std::string> cut_before(std::string_view text, std::string_view mark) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t at = text.find(mark, 1); at != text.npos; at = text.find(mark, at + 1)) {
    words.emplace_back(text.substr(begin, at - begin));
    begin = at;
  }
  if (begin < text.size()) words.emplace_back(text.substr(begin));
  return words;
}

}  // namespace

std::string PreTokenizer::prepared(std::string_view text, bool is_first) const {
  using PrependScheme = PreTokenizerConfig::PrependScheme;
  std::string result = config_.normalises_nfc ? composed(text) : std::string(text);
  const std::string blank = config_.blank.empty() ? " " : config_.blank;
  if (!config_.blank.empty()) result = replaced(result, " ", blank);
  const bool prepends_blank =
      config_.start == PrependScheme::always ||
      (config_.start == PrependScheme::unless_there && !result.starts_with(blank)) ||
      (config_.start == PrependScheme::once && is_first && !result.starts_with(blank));
  return prepends_blank ? blank + result : result;
}

std::vector<std::string> PreTokenizer::words(std::string_view text, bool is_first) const {
  using Words = PreTokenizerConfig::Words;
  refuse_no_text(text);
  const std::string whole = prepared(text, is_first);
  if (config_.words == Words::at_blanks) return cut_before(whole, config_.blank);
  if (config_.words == Words::none) return {whole};
  if (config_.words == Words::gpt2) {
    const std::vector<std::string_view> words = gpt2_words(whole);
    return {words.begin(), words.end()};
  }
  std::vector<std::string_view> pieces = {whole};
  for (const auto& pattern : config_.patterns) {
    std::vector<std::string_view> smaller;
    for (const std::string_view piece : pieces) {
      for (const std::string_view part : pattern->pieces(piece)) smaller.push_back(part);
    }
    pieces = std::move(smaller);
  }
  return {pieces.begin(), pieces.end()};
}

std::string PreTokenizer::with_blanks(std::string_view letters) const {
  return config_.blank.empty() ? std::string(letters) : replaced(letters, config_.blank, " ");
}

}  // namespace qkv::inline tokens
