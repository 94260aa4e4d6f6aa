#include "terminal/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "exposition/exposition.hpp"
#include "terminal/exhibit.hpp"
#include "terminal/worked_cell.hpp"
#include "terminal/wrapped_arithmetic.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/width.hpp"
#include "text/wrapping.hpp"

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
    return bold(title, look_) + "\n" + matrices + way_to(*exhibit.step) + (look_.began ? "" : "\n");
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
  // The command that shows what lies on the way to the result, where something does.
  std::string way_to(const Step& step) const {
    if (look_.way || !step.operation->parts) return {};
    return indented(fmt::format("the numbers on the way to it: qkv run {} --step {} --way",
                                visible(lesson_), step.name),
                    look_);
  }

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

// What comes last has no blank line below it.
std::string ended(std::string text) {
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

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

std::string worked_text(const CellArithmetic& worked, const WalkLook& look, std::size_t indent,
                        const std::string& names_at) {
  constexpr std::size_t few_lines = 3;
  const std::size_t room = std::max(look.width, indent + 12) - indent;
  const auto below = [&](const std::vector<std::string>& lines, std::size_t further) {
    std::string text;
    std::size_t in = indent;
    for (const std::string& line : lines) {
      text += std::string(in, ' ') + line + "\n";
      in = indent + further;
    }
    return text;
  };
  std::string text;
  std::string start = worked.cell;
  bool named = true;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    const std::vector<std::string> lines =
        wrapped_arithmetic(visible(fmt::format("{} = {}", start, worked.lines[k])), room - 2);
    named = named &&
            !(k == 0 && worked.lines.size() > 1 && !names_at.empty() && lines.size() > few_lines);
    if (k == 0 && !named) {
      text += below({visible(worked.cell)}, 2);
    } else {
      text += below(lines, 2);
    }
    start.clear();
  }
  if (!worked.remark.empty()) text += below(wrapped(worked.remark, room), 0);
  if (!named) text += below(wrapped("its cells by name: " + names_at, room), 0);
  return text;
}

std::string lesson_heading(const Lesson& lesson, const WalkLook& look) {
  return written(opening_of(lesson), WalkWriter(lesson.asked, nullptr, look));
}

std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkLook& look) {
  const std::span<const Topic> topics =
      look.way ? std::span<const Topic>(whole_walk) : std::span<const Topic>(short_walk);
  const Exposition told =
      told_of(lesson, trace, step,
              {.topics = topics, .digits = look.digits, .head = look.head, .began = look.began});
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
  if (legend.empty()) return ended(numbers + words);
  return ended(numbers + indented(legend, look) + (notices ? "\n" : "") + words);
}

}  // namespace qkv
