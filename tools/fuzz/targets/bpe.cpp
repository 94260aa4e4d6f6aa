#include "tokens/tokens.hpp"

#include <algorithm>

#include "target.hpp"

namespace qkv::fuzz {
namespace {

// vocab.json, merges.txt and a text, a zero byte between them; without the vocabulary,
// tokenizer.json and a text.
BytePairEncoder encoder_of(std::string_view vocabulary, std::string_view merges) {
  return BytePairEncoder(merges.empty() ? bpe_files(vocabulary) : bpe_files(vocabulary, merges));
}

// Of other characters a token may hold a part, and tokenizer.json may add tokens that take blanks.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void call(std::string_view bytes) {
  const std::vector<std::string_view> files = parts(bytes, 3);
  std::string words;
  for (const std::string_view word : gpt2_pattern().pieces(files[2])) words += word;
  law(words == files[2], "the words are the text");

  std::string tokens;
  for (const BpeToken& token : encoder_of(files[0], files[1]).encode(files[2])) {
    tokens += token.text;
  }
  const bool may_differ = files[1].empty() || !is_plain(files[2]);
  law(may_differ || tokens == files[2], "the tokens are the text");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 2048};

}  // namespace qkv::fuzz
