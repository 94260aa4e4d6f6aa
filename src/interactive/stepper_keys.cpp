#include "interactive/stepper_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/strings.hpp"
#include "text/wrapping.hpp"

namespace qkv::inline interactive {

// A key of the decoder: a letter, or a kind.
struct Press {
  constexpr Press() = default;
  constexpr Press(char c) : kind(Key::Kind::text), letter(c) {}
  constexpr Press(Key::Kind one) : kind(one) {}

  Key::Kind kind = Key::Kind::unknown;
  char letter = 0;
};

namespace {

using Kind = Key::Kind;

template <class... Keys>
constexpr std::array<Press, 3> on(Keys... keys) {
  return {Press(keys)...};
}

bool is(const Press& press, const Key& key) {
  if (press.kind != key.kind || press.kind == Kind::unknown) return false;
  return key.kind != Kind::text || key.text == std::string_view(&press.letter, 1);
}

}  // namespace

struct StepperKeys::Binding {
  std::array<Press, 3> presses;
  Action does = nullptr;
  std::string_view keys = {};   // in the help; empty if the row above covers it
  std::string_view help = {};   // the help's description
  std::string_view brief = {};  // for the status line
};

std::span<const StepperKeys::Binding> StepperKeys::of_step() {
  static constexpr Binding rows[] = {
      {on(Kind::enter, ' '), &Stepper::read_on, "Enter, Space",
       "reads on: the rest of the step, then the next one", "Enter next"},
      {on(Kind::right), &Stepper::next_step, "→", "the next step at once"},
      {on('n'), &Stepper::go_on, "n", "the same; after the last step the next lesson"},
      {on('b', Kind::left, 'p'), &Stepper::previous_step, "b, ←", "the step before", "b back"},
      {on('g'), &Stepper::ask_step, "g", "goes to a step, by number or name", "g go"},
      {on('e'), &Stepper::ask_cell, "e", "explains a cell; then the arrows move from cell to cell",
       "e explain"},
      {on('a'), &Stepper::show_answers, "a", "answers the questions at the lesson's end",
       "a answers"},
      {on(Kind::down, 'j'), &Stepper::scroll_down, "↓ ↑, j k", "scroll by a line"},
      {on(Kind::up, 'k'), &Stepper::scroll_up},
      {on(Kind::page_down), &Stepper::page_down, "PgDn PgUp", "scroll by a screen"},
      {on(Kind::page_up), &Stepper::page_up},
      {on(Kind::home), &Stepper::to_top, "Home End", "the step's beginning, its end"},
      {on(Kind::end), &Stepper::to_end},
  };
  return rows;
}

std::span<const StepperKeys::Binding> StepperKeys::of_cell() {
  static constexpr Binding rows[] = {
      {on(Kind::left), &Stepper::left, "← → ↑ ↓", "the cell beside, above, below", "arrows move"},
      {on(Kind::right), &Stepper::right},
      {on(Kind::up), &Stepper::up},
      {on(Kind::down), &Stepper::down},
      {on(Kind::tab), &Stepper::next_matrix, "Tab, Shift-Tab",
       "the same cell in the next head or sentence, in the one before", "Tab next head"},
      {on(Kind::back_tab), &Stepper::previous_matrix},
      {on(Kind::page_down), &Stepper::far_down, "PgDn PgUp", "ten rows down, up"},
      {on(Kind::page_up), &Stepper::far_up},
      {on(Kind::home), &Stepper::row_start, "Home End", "the first and the last cell of the row"},
      {on(Kind::end), &Stepper::row_end},
      {on('j'), &Stepper::scroll_down, "j k", "scroll, where not all fits"},
      {on('k'), &Stepper::scroll_up},
      {on(Kind::escape, 'e', Kind::enter), &Stepper::leave_cell, "Esc, e, Enter",
       "back to the step", "e leave"},
      {on(' '), &Stepper::leave_cell},
      {on('g'), &Stepper::ask_step},
      {on('b'), &Stepper::leave_cell},
  };
  return rows;
}

std::span<const StepperKeys::Binding> StepperKeys::of_both() {
  static constexpr Binding rows[] = {
      {on('?'), &Stepper::show_keys, "?", "these keys", "? keys"},
      {on('q'), &Stepper::quit, "q", "quits", "q quit"},
      {on('s'), &Stepper::ask_change, "s",
       "sets a given's cell; numbers that change are marked with *", "s set"},
      {on('u'), &Stepper::take_back, "u", "undoes the last change"},
      {on('+', '='), &Stepper::more, "+ -", "more decimals, fewer", "+ - digits"},
      {on('-', '_'), &Stepper::fewer},
      {on('h'), &Stepper::picture, "h", "heatmap, dots or numbers only", "h heatmap/dots"},
      {on('c'), &Stepper::code, "c", "the lines of NumPy and PyTorch, or not", "c code"},
      {on('x'), &Stepper::ask_directory, "x", "exports every matrix to a directory", "x export"},
  };
  return rows;
}

StepperKeys::Action StepperKeys::action(const Key& key, bool in_cell) {
  for (const auto& table : {in_cell ? of_cell() : of_step(), of_both()}) {
    for (const Binding& binding : table) {
      const auto pressed = [&](const Press& press) { return is(press, key); };
      if (std::any_of(binding.presses.begin(), binding.presses.end(), pressed)) return binding.does;
    }
  }
  return nullptr;
}

std::string StepperKeys::help(std::size_t columns) {
  constexpr std::size_t widest = 14;
  struct Section {
    std::string_view title;
    std::span<const Binding> rows;
  };
  const Section parts[] = {
      {"Keys", of_step()},
      {"", of_both()},
      {"While a cell is explained", of_cell()},
      {"While typing: Enter takes it, Esc leaves it, Tab completes names", {}}};
  // In a narrow window the description goes below the key.
  const bool narrow = columns < widest + 24;
  const std::string before(narrow ? 4 : widest + 4, ' ');
  const std::size_t room = std::max(columns, before.size() + 8) - before.size();
  std::string text;
  for (const Section& part : parts) {
    if (!part.title.empty()) {
      text += text.empty() ? "" : "\n";
      for (const std::string& line : wrapped(part.title, std::max<std::size_t>(columns, 8))) {
        text += line + "\n";
      }
    }
    for (const Binding& row : part.rows) {
      if (row.keys.empty()) continue;
      std::string start = "  " + padded_right(row.keys, widest) + "  ";
      if (narrow) text += fmt::format("  {}\n", row.keys);
      for (const std::string& line : wrapped(row.help, room)) {
        text += (narrow ? before : start) + line + "\n";
        start = before;
      }
    }
  }
  return text;
}

std::string StepperKeys::status(const StatusLine& what, std::size_t columns) {
  std::vector<std::string_view> own, common;
  for (const Binding& row : what.in_cell ? of_cell() : of_step()) {
    const bool idle = (row.does == &Stepper::next_matrix && !what.has_heads) ||
                      (row.does == &Stepper::show_answers && !what.has_answers);
    if (!row.brief.empty() && !idle) own.push_back(row.brief);
  }
  for (const Binding& row : of_both()) {
    if (!row.brief.empty()) common.push_back(row.brief);
  }
  if (!what.in_cell && !what.at_end.empty()) own.front() = what.at_end;
  if (!what.in_cell && what.hidden > 0) own.front() = "Enter more";
  // In order of importance: how to go on, how to get help, how to quit.
  std::vector<std::string_view> wanted = {own[0], common[0], common[1]};
  wanted.insert(wanted.end(), own.begin() + 1, own.end());
  wanted.insert(wanted.end(), common.begin() + 2, common.end());
  std::size_t needed = 0;
  for (std::size_t i = 0; i < 3; ++i) needed += 2 + width(wanted[i]);
  std::string text = fmt::format("{} {}", what.number, what.name);
  if (what.hidden > 0) text += fmt::format(" ({} more)", what.hidden);
  if (width(text) + needed > columns) {
    text = what.hidden > 0 ? fmt::format("{} ↓{}", what.number, what.hidden) : what.number;
  }
  for (const std::string_view brief : wanted) {
    if (width(text) + 2 + width(brief) > columns) break;
    text.append("  ").append(brief);
  }
  return shortened(text, columns);
}

}  // namespace qkv::inline interactive
