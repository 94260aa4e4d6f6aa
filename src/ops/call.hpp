#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/convention.hpp"

namespace qkv {

class Options;

/// A text that is cut already: its ids, and what each stands for.
struct CutText {
  std::vector<double> ids;
  std::vector<std::string> words;
};

/// What a lesson gives beside its matrices: the texts to tokenise and the vocabulary, if it has
/// one.
struct Environment {
  std::vector<std::string> texts;
  bool batch = false;  ///< the texts were written as a list
  std::vector<std::string> vocabulary;
  std::optional<CutText> cut = {};  ///< in place of the texts
};

/// One step about to be worked out: its inputs by position, what they are called, its options.
struct Call {
  std::string_view step;
  std::vector<const Tensor*> inputs;
  std::vector<std::string_view> names;
  const Options* options = nullptr;
  const Environment* environment = nullptr;
  Convention convention = Convention::rows;  ///< how its operands' shapes are told
};

/// The shape rule and the formula of an operation, as they stand for one call.
struct Form {
  std::vector<std::string_view> operands;  ///< the axes of each operand's matrix: "query d_k"
  std::string_view output;                 ///< the axes of the result's matrix: "query key"
  std::string formula;                     ///< "{0} · {1}ᵀ", with the operands' names put in
  std::string turned = {};   ///< the same with tokens as columns; empty where it reads alike
  bool makes_heads = false;  ///< of what has none yet: a leading axis before it is a batch
  /// The second operand may have fewer heads than the first, each shared by as many neighbours.
  bool shares_heads = false;
};

/// "Q (7×2)", of operand `k`.
std::string operand_text(const Call& call, std::size_t k);

/// Throws InputError: the step's name, and what is wrong with the call.
[[noreturn]] void refuse(const Call& call, std::string_view what);

}  // namespace qkv
