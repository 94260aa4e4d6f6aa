#include "interactive/way_back.hpp"

#include <fmt/format.h>

#include "text/escape.hpp"

namespace qkv {
namespace {

constexpr int usual_digits = 4;

// The steps that are left: all from here on, or those that were asked for.
std::string steps_left(const Walkthrough& walk) {
  if (walk.stretch.only.empty()) return walk.at == 0 ? "" : " --from " + walk.step().name;
  std::string words;
  for (const std::size_t place : walk.stretch.only) {
    if (place >= walk.at) words += " --step " + walk.trace().steps[place].name;
  }
  return words.empty() ? " --from " + walk.step().name : words;
}

}  // namespace

std::string way_back(const Walkthrough& walk, const std::optional<Quiz>& quiz,
                     std::string_view options) {
  const bool is_asked = quiz && quiz->is_open();
  const bool is_over = !next_place(walk) && !is_asked;
  const bool has_moved = walk.at != walk.began_at || (quiz && quiz->answered() > 0);
  if (walk.set.empty() && (is_over || !has_moved)) return {};
  std::string words = visible(walk.now->lesson.asked);
  words.append(options);
  if (walk.head) words += fmt::format(" --head {}", *walk.head + 1);
  if (walk.digits != usual_digits) words += fmt::format(" --digits {}", walk.digits);
  return fmt::format("To go on from here: qkv run {}{}\n", words, steps_left(walk));
}

}  // namespace qkv
