#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture.hpp"
#include "ops/options.hpp"
#include "tensor/axis.hpp"

namespace qkv {

/// What a person says of the tokens that a model reads.
struct TokeniserChoice {
  std::vector<std::string> vocabulary;             ///< one token for each id from 0; or
  std::optional<std::filesystem::path> tokenizer;  ///< tokenizer.json, or a directory with one, or
                                                   ///< with vocab.json and merges.txt
};

/// How the text is cut into the model's tokens: the options of `tokenise`, and the words, if they
/// are few enough to be listed.
struct Tokeniser {
  Options options;
  std::vector<std::string> vocabulary;  ///< for `tokenise`; empty for byte pairs
  AxisLabels labels = {};               ///< a text for each of the model's ids; empty: none known
};

/// The model's tokeniser: as chosen; else as the file's metadata say (`vocabulary`, a JSON list);
/// else from the tokenizer.json, or vocab.json and merges.txt, in the model's directory, if it has
/// one; else the letters
/// A, B, C, … where these are enough; else numbers: the text is then the ids themselves. Throws
/// InputError where a file that was named is none, or the words are more than the model has ids.
Tokeniser tokeniser_of(const Architecture& model, const Facts& facts,
                       const std::optional<std::filesystem::path>& directory,
                       const TokeniserChoice& choice);

}  // namespace qkv
