#pragma once

#include <string>

#include "model/recipe_writer.hpp"

namespace qkv {

/// The steps of GPT-2's kind, behind token_ids and before the logits: learned positions, layer
/// norms, GELU.
class GptLayout {
 public:
  explicit GptLayout(RecipeWriter& writer) : writer_(writer), size_(writer.size()) {}

  void embeddings();
  void layer(std::size_t number);
  std::string norm_of_the_readout();  ///< the step that the logits are made of

 private:
  void attention();
  void mlp();
  void projection(const std::string& name, std::size_t part);
  void norm(const std::string& name, const std::string& gain, const std::string& bias,
            const std::string& file);

  RecipeWriter& writer_;
  const Architecture& size_;
  std::string file_;  // how the file begins the names of this layer
};

}  // namespace qkv
