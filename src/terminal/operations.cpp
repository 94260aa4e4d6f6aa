#include "terminal/operations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/backward_rule.hpp"
#include "ops/catalogue.hpp"
#include "text/wrapping.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_text = 100;

// Lines after the first are set in a little further.
std::string put(const std::string& prose, std::size_t indent, std::size_t columns) {
  std::string text;
  std::size_t blanks = indent;
  for (const std::string& line : wrapped(prose, columns - indent - 4)) {
    text.append(blanks, ' ').append(line) += '\n';
    blanks = indent == 0 ? 0 : indent + 4;
  }
  return text;
}

std::string option_text(const OptionRule& rule, std::size_t columns) {
  return put(fmt::format("{} = {}: {}{}", rule.name, choices(rule), rule.says,
                         rule.required ? " (must be there)" : ""),
             6, columns);
}

}  // namespace

std::string operations_text(std::size_t columns) {
  columns = std::min(std::max<std::size_t>(columns, 40), widest_text);
  std::string text;
  for (const Operation* operation : catalogue()) {
    text += fmt::format("{:<12}  {}\n", operation->name, operation->title);
    if (!operation->operands.empty()) {
      text += put(fmt::format("of = {}", operation->operands), 6, columns);
    }
    for (const OptionRule& rule : operation->options) text += option_text(rule, columns);
  }
  text += fmt::format("{:<12}  {}\n", backward_name, "Take a gradient back through a step");
  text += put("of = [\"d_scores\"]", 6, columns);
  text += put("through = a step: which one it goes back through", 6, columns);
  text +=
      put("to = a given or a step: what that was made of (all at once: [backward])", 6, columns);
  return text + "\n" +
         put("A step is a table [[step]] with name, op, of, its options, and the words: title, "
             "say, "
             "notice. Of the words that an option may have, the first is taken where none is "
             "written; the names after of are examples.",
             0, columns);
}

}  // namespace qkv
