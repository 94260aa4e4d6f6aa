#include "directory.hpp"
#include "lesson/library.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "trace/trace.hpp"

namespace qkv::fuzz {
namespace {

// A matrix and the file that is to take its place, a zero byte between them.
void call(std::string_view bytes) {
  static const OwnDirectory directory;
  const std::vector<std::string_view> files = parts(bytes, 2);
  directory.put("other.csv", files[1]);
  const LoadedLesson& lesson = *small_lesson();
  Recipe recipe = lesson.lesson.recipe;
  recipe.givens = lesson.trace.givens;
  const std::string change =
      std::string(files[0]) + "=" + (directory.path() / "other.csv").string();
  patch_matrix(recipe, change, lesson.trace);
  evaluate_all(recipe);
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
