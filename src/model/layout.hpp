#pragma once

#include <string>

#include "model/recipe_writer.hpp"

namespace qkv {

/// The steps of LLaMA's kind, behind token_ids and before the logits: RMS norms, rotary positions,
/// keys and values that heads share, a gated MLP.
class LlamaLayout {
 public:
  explicit LlamaLayout(RecipeWriter& writer)
      : writer_(writer), size_(writer.size()), parts_(*size_.llama), kin_(*size_.family->kin) {}

  void embeddings();
  void layer(std::size_t number);
  std::string norm_of_the_readout();  ///< the step that the logits are made of

 private:
  void attention(std::size_t window);
  void mlp();
  void projection(const std::string& name, const std::string& file, std::size_t heads);
  void turned(const std::string& name);
  void add(const std::string& name, const std::string& proposal, const std::string& norm_after,
           const std::string& gain, const std::string& file);
  void norm(const std::string& name, const std::string& input, const std::string& gain,
            const std::string& file, Axis width);

  RecipeWriter& writer_;
  const Architecture& size_;
  const LlamaParts& parts_;
  const LlamaKin& kin_;
  std::string file_;  // how the file begins the names of this layer
};

}  // namespace qkv
