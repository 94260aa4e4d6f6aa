#include "terminal/walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exposition/exposition.hpp"
#include "terminal/exhibit.hpp"
#include "terminal/worked_cell.hpp"
#include "terminal/wrapped_arithmetic.hpp"
#include "text/number.hpp"
#include "text/visible.hpp"
#include "text/width.hpp"
#include "text/wrapped.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_prose = 76;

std::string bold(const std::string& text, const WalkLook& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

// Lines two blanks further in.
std::string inset(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line.empty() ? "\n" : "  " + line + "\n";
  return text;
}

// Writes what is told, each piece with the blank line that parts it from the next.
class WalkWriter {
 public:
  WalkWriter(const std::string& lesson, const Trace* trace, const WalkLook& look)
      : lesson_(lesson), trace_(trace), look_(look) {}

  std::string operator()(const LessonTitle& title) const {
    std::string text;
    for (const std::string& line : wrapped(title.text, look_.width)) {
      text += bold(line, look_) + "\n";
    }
    return text;
  }

  // On one line where there is room.
  std::string operator()(const StepTitle& step) const {
    const std::string name = fmt::format("{}/{}  {}", step.number, step.of, step.name);
    const std::string title = visible(step.title);
    const std::string line = bold(name, look_);
    if (width(name) + 2 + width(title) <= look_.width)
      return fmt::format("{}  {}\n\n", line, title);
    return line + "\n" + indented(title, look_) + "\n";
  }

  std::string operator()(const Words& words) const {
    const std::string text = indented(introduced(words), look_);
    switch (words.role) {
      case Words::Role::said: return text + "\n";
      case Words::Role::changed:
      case Words::Role::questions: return "\n" + text;
      default: return text;
    }
  }

  std::string operator()(const Formula& formula) const {
    return indented(formula_text(formula), look_) + "\n";
  }

  std::string operator()(const Exhibit& exhibit) const {
    const std::string matrices =
        exhibit_text(exhibit, trace_->convention, way_to_whole(exhibit), look_);
    switch (exhibit.role) {
      case Exhibit::Role::given:
        return fmt::format("  given: {} ({})\n{}\n", exhibit.title, exhibit.shape, matrices);
      case Exhibit::Role::on_the_way:
        return fmt::format("  on the way: {}\n{}\n", exhibit.title, matrices);
      case Exhibit::Role::result: break;
    }
    const std::string title = fmt::format("  {} ({})", exhibit.title, exhibit.shape);
    return bold(title, look_) + "\n" + matrices + (look_.began ? "" : "\n");
  }

  std::string operator()(const UnshownGivens& givens) const {
    return indented("given, not shown: " + givens.names, look_) + "\n";
  }

  std::string operator()(const Changes& changes) const {
    return inset(wrapped_arithmetic(visible(changes.text), look_.width - 2)) + "\n";
  }

  std::string operator()(const WorkedCell& worked) const {
    return worked_cell_text(lesson_, *trace_, worked.cell, look_);
  }

 private:
  // How to see a matrix whole: the command, or the key.
  std::string way_to_whole(const Exhibit& exhibit) const {
    if (look_.reader == Reader::has_keys) {
      return exhibit.step ? "press e, then the arrows and Tab" : "press x to write it to a file";
    }
    const std::string lesson = visible(lesson_);
    return exhibit.step ? fmt::format("qkv export {} --step {} -o -", lesson, exhibit.step->name)
                        : fmt::format("qkv export {} -o DIR", lesson);
  }

  const std::string& lesson_;
  const Trace* trace_;
  const WalkLook& look_;
};

bool has_role(const Told& told, Words::Role role) {
  const Words* words = std::get_if<Words>(&told);
  return words && words->role == role;
}

}  // namespace

std::string indented(const std::vector<Passage>& passages, const WalkLook& look) {
  return inset(wrapped(passages, std::min(look.width, widest_prose + 2) - 2));
}

std::string indented(std::string_view prose, const WalkLook& look) {
  return indented(passages_of(prose), look);
}

std::string worked_text(const CellArithmetic& worked, const WalkLook& look, std::size_t indent) {
  std::string text;
  std::string start = worked.cell;
  for (const std::string& line : worked.lines) {
    const std::size_t room = std::max(look.width, indent + 12) - indent - 2;
    std::size_t in = indent;
    for (const std::string& piece :
         wrapped_arithmetic(visible(fmt::format("{} = {}", start, line)), room)) {
      text += std::string(in, ' ') + piece + "\n";
      in = indent + 2;
    }
    start.clear();
  }
  if (!worked.remark.empty()) {
    for (const std::string& line :
         wrapped(worked.remark, std::max(look.width, indent + 12) - indent)) {
      text += std::string(indent, ' ') + line + "\n";
    }
  }
  return text;
}

std::string lesson_heading(const Lesson& lesson, const WalkLook& look) {
  return written(opening_of(lesson), WalkWriter(lesson.asked, nullptr, look));
}

std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkLook& look) {
  const Exposition told =
      told_of(lesson, trace, step, {.digits = look.digits, .head = look.head, .began = look.began});
  const WalkWriter writer(lesson.asked, &trace, look);
  // What an exponent in the numbers means is said before the words about them.
  const auto asides = std::find_if(told.begin(), told.end(), [](const Told& piece) {
    return has_role(piece, Words::Role::notice) || has_role(piece, Words::Role::questions);
  });
  const bool notices = asides != told.end() && has_role(*asides, Words::Role::notice);
  const std::string numbers = written({told.begin(), asides}, writer);
  const std::string words = written({asides, told.end()}, writer);
  const std::string legend =
      exponent_legend(numbers + (notices ? std::visit(writer, *asides) : std::string()));
  if (legend.empty()) return numbers + words;
  return numbers + indented(legend, look) + (notices ? "\n" : "") + words;
}

}  // namespace qkv
