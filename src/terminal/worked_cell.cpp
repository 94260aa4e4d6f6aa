#include "terminal/worked_cell.hpp"

#include <fmt/format.h>

#include <vector>

#include "exposition/arithmetic.hpp"
#include "terminal/wrapped_arithmetic.hpp"
#include "text/escape.hpp"
#include "text/shell_word.hpp"
#include "text/wrapping.hpp"

namespace qkv {
namespace {

constexpr std::size_t most_terms = 9;
constexpr std::size_t most_names = 4;
// Arithmetic that takes more lines of the screen than this, a stage or all, is left to `explain`.
constexpr std::size_t longest_stage = 6;
// So are names that would keep the numbers off for more lines than this.
constexpr std::size_t longest_names = 4;
constexpr std::size_t longest_cell = 14;

std::vector<std::string> arithmetic_lines(const CellArithmetic& worked, std::size_t k,
                                          const WalkLook& look) {
  return wrapped_arithmetic(
      visible(fmt::format("{} = {}", k == 0 ? worked.cell : "", worked.lines[k])), look.width - 6);
}

// Of arithmetic that is too long to read the first stages go, all but the names'. Whether any did.
bool leave_out_long_stages(std::vector<std::vector<std::string>>& stages) {
  const auto length = [&] {
    std::size_t lines = 0;
    for (const auto& stage : stages) lines += stage.size();
    return lines;
  };
  const std::size_t before = length();
  for (std::size_t k = 1; k < stages.size(); ++k) {
    if (stages[k].size() > longest_stage || length() > longest_cell) stages[k].clear();
  }
  return length() != before;
}

}  // namespace

std::string worked_cell_text(const std::string& lesson, const Trace& trace,
                             const CellReference& cell, const WalkLook& look) {
  const CellArithmetic worked =
      arithmetic_of(trace, cell, {.digits = look.digits, .most_terms = most_terms});
  if (worked.lines.size() < 2) return {};
  std::vector<std::vector<std::string>> stages;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    stages.push_back(arithmetic_lines(worked, k, look));
    if (k == 0 && stages[k].size() > longest_names) {
      const ArithmeticLook names{.digits = look.digits, .most_terms = most_names};
      stages[k] = arithmetic_lines(arithmetic_of(trace, cell, names), k, look);
    }
  }
  const bool unnamed = stages[0].size() > longest_names;
  if (unnamed) stages[0] = {visible(worked.cell)};
  const bool left_out = leave_out_long_stages(stages);
  std::string text = "  One cell:\n";
  for (const std::vector<std::string>& lines : stages) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += (i == 0 ? "    " : "      ") + lines[i] + "\n";
    }
  }
  if (left_out || unnamed) {
    const std::string command =
        fmt::format("qkv explain {} {}", visible(lesson), shell_word(visible(worked.cell)));
    const std::string way =
        look.reader == Reader::has_keys ? "press e and write the cell" : command;
    const std::string where = left_out ? "Longer lines are left out; all of them: " + way
                                       : "its cells by name: " + command;
    for (const std::string& line : wrapped(where, look.width - 2)) text += "  " + line + "\n";
  }
  return text + "\n";
}

}  // namespace qkv
