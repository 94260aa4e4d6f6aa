#include "model/recipe_writer.hpp"

#include <fmt/format.h>

#include "model/words.hpp"
#include "ops/catalogue.hpp"

namespace qkv {

Options one_word(std::string option, std::string word) {
  Options options;
  options.set(std::move(option), std::move(word));
  return options;
}

RecipeWriter::RecipeWriter(Model& model, const Weights& weights, const Tokeniser& tokeniser)
    : model_(model), weights_(weights), tokeniser_(tokeniser) {
  model.recipe.environment.vocabulary = tokeniser.vocabulary;
}

void RecipeWriter::begin_layer(std::size_t number) { layer_ = fmt::format("h{}.", number); }

std::string RecipeWriter::given(const std::string& name, Tensor tensor) {
  model_.recipe.givens.push_back({layer_ + name, std::move(tensor)});
  return name;
}

void RecipeWriter::step(const std::string& name, const Operation& operation,
                        std::vector<std::string> of, Options options) {
  for (std::string& operand : of) {
    if (operand != stream_) operand.insert(0, layer_);
  }
  model_.recipe.steps.push_back({layer_ + name, &operation, std::move(of), std::move(options)});
  model_.words.push_back(model_words(name, size().llama ? ModelKind::llama : ModelKind::gpt));
}

void RecipeWriter::add(const std::string& name, const std::string& proposal) {
  step(name, add_operation, {stream_, proposal});
  flow_on(name);
}

void RecipeWriter::table(const std::string& name, const std::string& file, Axis rows,
                         bool of_tokens) {
  const Axis width{"d_model", size().d_model};
  if (of_tokens) rows.labels = tokeniser_.labels;
  const Shape shape{rows.size, width.size};
  given(name, {.axes = {std::move(rows), width}, .values = weights_.values(file, shape)});
}

void RecipeWriter::linear(const std::string& name, const std::string& input,
                          const std::string& weight, const StoredLinear& stored) {
  const auto& [file, in, out] = stored;
  const bool out_in = size().family->storage == Family::Storage::out_in;
  const Shape shape = out_in ? Shape{out.size, in.size} : Shape{in.size, out.size};
  Values values = weights_.values(file + ".weight", shape,
                                  {.lines = in.size,
                                   .width = out.size,
                                   .line_step = out_in ? 1 : out.size,
                                   .cell_step = out_in ? in.size : 1});
  std::vector<std::string> of = {
      input, given("W_" + weight, {.axes = {in, out}, .values = std::move(values)})};
  if (weights_.find(file + ".bias")) of.push_back(vector("b_" + weight, file + ".bias", out));
  step(name, project_operation, std::move(of));
}

std::string RecipeWriter::vector(const std::string& name, const std::string& file, Axis axis) {
  const std::size_t size = axis.size;
  return given(name, {.axes = {std::move(axis)}, .values = weights_.values(file, {size})});
}

}  // namespace qkv
