#include "cli/shell_word.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

namespace qkv {

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_words(const LessonChoice& lesson) {
  std::string words = shell_word(lesson.name);
  if (lesson.changes.text) words += " --text " + shell_word(*lesson.changes.text);
  for (const std::string& change : lesson.changes.set) words += " --set " + shell_word(change);
  const ModelSettings& model = lesson.settings;
  if (model.tokenizer) words += " --tokenizer " + shell_word(*model.tokenizer);
  if (!model.vocabulary.empty()) {
    words += " --vocabulary " + shell_word(fmt::to_string(fmt::join(model.vocabulary, ",")));
  }
  if (model.heads) words += fmt::format(" --model-heads {}", *model.heads);
  if (model.family) words += " --family " + shell_word(*model.family);
  return words;
}

}  // namespace qkv
