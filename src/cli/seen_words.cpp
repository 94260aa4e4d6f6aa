#include "cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/escape.hpp"
#include "text/wrapping.hpp"

namespace qkv {
namespace {

constexpr std::size_t least_room = 20;
constexpr std::size_t margin = 2;

// Words behind a head, their further lines below the first one.
std::string hung(std::string head, const std::string& words, std::size_t indent,
                 std::size_t width) {
  std::string text;
  head.resize(std::max(head.size(), indent), ' ');
  for (const std::string& line : wrapped(words, std::max(width, indent + least_room) - indent)) {
    text += head + with_plain_blanks(line) + "\n";
    head.assign(indent, ' ');
  }
  return text;
}

std::string introduction(const SeenThrough& seen, const std::string& number) {
  if (!seen.steps.empty()) {
    return fmt::format(
        "Through these cells the loss sees {0}. Behind each: how much it gains for every 1 that "
        "{0} "
        "gains.",
        number);
  }
  if (seen.left_out == 0) {
    return fmt::format("The loss does not see {}: no cell on the way to it moves with it.", number);
  }
  return fmt::format(
      "Through which cells the loss sees {} is not told: what lies in between, {} steps, is too "
      "large to be kept.",
      number, seen.left_out);
}

}  // namespace

std::string seen_words(const SeenThrough& seen, const Trace& trace, int digits, std::size_t width) {
  const std::string number =
      visible(reference_text(seen.cell, trace.at(seen.cell.name), trace.convention));
  std::string text = "\n" + hung("", introduction(seen, number), margin, width);
  std::size_t widest = 0;
  for (const SeenStep& step : seen.steps) widest = std::max(widest, step.name.size());
  for (const SeenStep& step : seen.steps) {
    text += hung(std::string(2 * margin, ' ') + visible(step.name),
                 visible(seen_text(step, trace, digits)), widest + 3 * margin, width);
  }
  if (!seen.steps.empty() && seen.left_out > 0) {
    text += hung(
        "", fmt::format("Between them are {} more steps, too large to be kept.", seen.left_out),
        margin, width);
  }
  return text;
}

}  // namespace qkv
