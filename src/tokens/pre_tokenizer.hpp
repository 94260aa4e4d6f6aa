#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/regex.hpp"

namespace qkv::inline tokens {

/// How a text is prepared and cut into the words whose pieces are joined.
struct Cutting {
  /// Where a blank, or the mark for one, is put before the text.
  enum class Start { as_it_is, once, unless_there, always };
  enum class Words { gpt2, patterns, at_blanks, none };

  bool composes = false;   ///< letters and their accents become one character, as Unicode's NFC
  std::string blank = {};  ///< what stands for a blank: "▁"; empty: itself
  Start start = Start::as_it_is;
  Words words = Words::gpt2;
  std::vector<std::shared_ptr<const CutPattern>> patterns = {};  ///< one after the other
};

/// Cuts texts so.
class Cutter {
 public:
  explicit Cutter(Cutting cutting) : cutting_(std::move(cutting)) {}

  /// The words of a part of the text, the first part or a later one (added tokens stand between).
  /// Throws InputError where it is not UTF-8.
  std::vector<std::string> words(std::string_view text, bool is_first) const;

  /// A token's letters with blanks where their mark stands.
  std::string with_blanks(std::string_view letters) const;

 private:
  std::string prepared(std::string_view text, bool is_first) const;

  Cutting cutting_;
};

}  // namespace qkv::inline tokens
