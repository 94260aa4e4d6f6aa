#pragma once

#include <span>
#include <string_view>

#include "lesson/generate/new_lesson.hpp"
#include "lesson/generate/new_numbers.hpp"
#include "trace/recipe.hpp"

namespace qkv {

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, key_heads, d_k, d_ff = 0;
};

/// What is said of a step. Braces are live numbers; what stands in <> is put in by the writer.
struct Said {
  std::string_view step, say, notice;
  std::string_view questions = {};  ///< as they stand, not filled into lines
};

/// One kind of lesson that can be drawn.
struct NewStyle {
  std::string_view title, summary;
  LessonSizes (*sizes)(const NewLesson&);
  Recipe (*draw)(const NewLesson&, const LessonSizes&, Dice&);
  /// How much of a draw a person would rather not work with, or could not learn from.
  std::size_t (*nuisances)(const Trace&);
  std::span<const Said> words;       ///< of its own steps; the others have those of the classic
  std::string_view query, key;       ///< the steps whose rows are multiplied to scores
  std::size_t most_draws, patience;  ///< after how many draws one nuisance more will do
};

extern const NewStyle classic_style, llama_style;

/// The words of a sentence with as many of them as there are tokens, no word twice.
std::vector<std::string> sentence_of(std::size_t tokens);

/// One option of a step.
Options option(const std::string& name, OptionValue value);

}  // namespace qkv
