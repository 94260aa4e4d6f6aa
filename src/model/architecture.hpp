#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/facts.hpp"
#include "model/weights.hpp"

namespace qkv {

/// How a program stores a GPT: what sets its files apart from another's.
struct Family {
  /// How the weight of a linear map lies in the file: as Conv1D does, or as nn.Linear does.
  enum class Storage { in_out, out_in };

  std::string_view name;
  std::string_view says;
  Storage storage;
  std::string_view gelu;  ///< which form its GELU has: "tanh" or "erf"
};

/// All that are known; the first that fits a file is taken where nothing says which it is.
std::span<const Family> families();

/// What a person says of the model, in place of what its file tells.
struct ArchitectureChoice {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
};

/// The sizes of a decoder-only transformer with its norms before attention and MLP, as its tensors'
/// names and shapes tell them.
struct Architecture {
  const Family* family = nullptr;
  std::string prefix;  ///< before every tensor's name but lm_head's: "transformer."
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t d_model = 0;
  std::size_t d_mlp = 0;
  std::size_t positions = 0;  ///< the longest text, in tokens
  std::size_t vocabulary = 0;
  std::string gelu = "tanh";
  double eps = 1e-5;
  std::string unembedding;  ///< the tensor's whole name; the token table's own where they are tied

  std::size_t d_k() const { return d_model / heads; }
};

/// Recognises the model. Throws InputError for a file of another family (with the names that were
/// met), for a tensor that is missing, has another shape, or that no such model has, and where
/// nothing tells how many heads there are.
Architecture architecture_of(const Weights& weights, const Facts& facts,
                             const ArchitectureChoice& choice);

}  // namespace qkv
