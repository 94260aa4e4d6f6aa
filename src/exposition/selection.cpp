#include "exposition/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qkv {

std::size_t Selection::first_hidden() const {
  if (hidden() == 0) return 0;
  std::size_t place = 0;
  while (place < shown() && indices[place] == place) ++place;
  return place + 1;
}

std::string hidden_text(std::string_view what, const Selection& selection, std::string_view to) {
  if (selection.hidden() == 0) return {};
  const std::size_t first = selection.first_hidden();
  if (selection.hidden() == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {}{}{}", what, first, to, first + selection.hidden() - 1);
}

Selection selected(std::size_t shown, std::size_t count) {
  Selection selection{.indices = {}, .count = count};
  const std::size_t front = shown - shown / 2;
  for (std::size_t place = 0; place < shown; ++place) {
    selection.indices.push_back(place < front ? place : count - shown + place);
  }
  return selection;
}

Selection first_and_last(std::size_t shown, std::size_t count) {
  Selection selection = stretch(0, shown, count);
  if (shown > 0) selection.indices.back() = count - 1;
  return selection;
}

Selection stretch(std::size_t first, std::size_t shown, std::size_t count) {
  Selection selection{.indices = {}, .count = count};
  for (std::size_t i = 0; i < shown; ++i) selection.indices.push_back(first + i);
  return selection;
}

Selection selected_rows(std::size_t rows, std::size_t most) {
  if (rows <= std::max<std::size_t>(most, 2)) return selected(rows, rows);
  return selected(std::max<std::size_t>(most, 3) - 1, rows);
}

Selection rows_around(std::size_t focus, std::size_t rows, std::size_t most) {
  const std::size_t shown = std::clamp<std::size_t>(most, 1, rows);
  const std::size_t before = std::min(focus, shown / 2);
  return stretch(std::min(focus - before, rows - shown), shown, rows);
}

}  // namespace qkv
