#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"
#include "model/weights.hpp"

namespace qkv {

/// One matrix of weights as a program stores it, and the axes that it has here, in × out.
struct StoredLinear {
  std::string file;  ///< the tensor's name without ".weight"
  Axis in;
  Axis out;
};

/// Writes a model down step by step. Names within a layer have its number before them: "h0.Q".
class RecipeWriter {
 public:
  RecipeWriter(Model& model, const Weights& weights, const Tokeniser& tokeniser);

  const Architecture& size() const { return model_.architecture; }
  const Weights& weights() const { return weights_; }
  const std::string& stream() const { return stream_; }  ///< the step that holds it as it is now

  void begin_layer(std::size_t number);
  void end_layer() { layer_.clear(); }

  /// Returns the short name, by which the layer's own steps call it.
  std::string given(const std::string& name, Tensor tensor);

  /// Operands are names of this layer, but for the stream, whose name is whole already.
  void step(const std::string& name, const Operation& operation, std::vector<std::string> of,
            Options options = {});

  /// The step that holds the stream from here on.
  void flow_on(const std::string& name) { stream_ = layer_ + name; }

  /// The stream and what a part of the layer proposes.
  void add(const std::string& name, const std::string& proposal);

  /// A table with a row for each place along `rows`; of tokens with their words.
  void table(const std::string& name, const std::string& file, Axis rows, bool of_tokens);

  /// A linear map, with a bias where the file has one.
  void linear(const std::string& name, const std::string& input, const std::string& weight,
              const StoredLinear& stored);

  /// The vector of that name in the file, as a given.
  std::string vector(const std::string& name, const std::string& file, Axis axis);

 private:
  Model& model_;
  const Weights& weights_;
  const Tokeniser& tokeniser_;
  std::string layer_;  // "h0."; empty outside the layers
  std::string stream_;
};

/// The one option of a step.
Options one_word(std::string option, std::string word);

}  // namespace qkv
