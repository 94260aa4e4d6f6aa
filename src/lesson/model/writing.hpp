#pragma once

#include <map>
#include <string>

#include "trace/trace.hpp"

namespace qkv {

/// What a model needs to write on: keys and values of all tokens so far, so that one token more
/// costs the work of one row. Example: `Writing writing(recipe, trace); writing.after(7)` is the
/// last row of probabilities that the longer text would have.
class Writing {
 public:
  /// `trace` has the model's givens, and of the recipe's steps at least those of `cached_steps`
  /// and `probabilities`; it must outlive this.
  Writing(const Recipe& recipe, const Trace& trace);

  /// The row of probabilities behind the text and this token, which belongs to the text from here
  /// on. Throws InputError where the text is longer than the model has positions.
  const Tensor& after(double id);

 private:
  Tensor row_of(const StepRecipe& step, double id);
  Tensor position_row(const StepRecipe& step) const;
  const Tensor& operand(const std::string& name) const;
  const Tensor& with_past(const std::string& name);

  std::vector<StepRecipe> steps_;  // to the probabilities
  const Trace& trace_;
  Environment environment_;
  std::size_t position_;                             // of the next token, from 0
  std::map<std::string, Tensor, std::less<>> rows_;  // of the token that is read: each step's
  std::map<std::string, Tensor, std::less<>> past_;  // keys and values with a row for each token
};

/// The steps whose rows of past tokens are needed for the next one: keys and values.
std::vector<std::string> cached_steps(const Recipe& recipe);

/// The likeliest of the last row; of several as likely the first.
std::size_t likeliest(const Tensor& probabilities);

}  // namespace qkv
