#include "interactive/frame.hpp"

#include "interactive/stepper.hpp"

namespace qkv::inline interactive {
namespace {

constexpr std::size_t room_to_type = 16;  // that a prompt leaves for input

std::string longest_fitting(const std::vector<std::string_view>& texts, std::size_t columns) {
  const auto fits = [&](std::string_view text) { return width(text) <= columns; };
  const auto found = std::ranges::find_if(texts, fits);
  return truncated_line(found == texts.end() ? texts.back() : *found, columns);
}

std::string changes_note(const Walkthrough& walk) {
  return fmt::format("Changed: {} ({})", fmt::join(walk.set, " "),
                     walk.style.picture == Picture::glyphs
                         ? "u undoes; h shows numbers, where * marks those that differ"
                         : "* marks numbers that differ, u undoes");
}

// Synchronised updates: terminals without them ignore the sequences.
constexpr std::string_view begin_update = "\x1b[?2026h";
constexpr std::string_view end_update = "\x1b[?2026l";
constexpr std::string_view hide_cursor = "\x1b[?25l";
constexpr std::string_view show_cursor = "\x1b[?25h";

}  // namespace

std::string Stepper::text() {
  if (view_ == View::keys) return help();
  if (view_ == View::message) return sanitise_prose(message_) + "\n";
  if (view_ == View::summary) return quiz_->summary(walk_, window_.columns);
  if (quiz_ && quiz_->is_open()) return quiz_->question(walk_, window_);
  const WalkStyle look = style_of(walk_, window_.columns);
  std::string text;
  if (walk_.at == walk_.step_range.first) text = lesson_intro(walk_, window_.columns);
  if (!walk_.set.empty()) text += indented(changes_note(walk_), look) + "\n";
  return text + step_text(walk_.now->lesson, walk_.trace(), walk_.step(), look);
}

std::vector<std::string> Stepper::page() {
  std::vector<std::string> lines = page_lines(text(), window_.columns);
  walk_.trace().drop_cache();
  return lines;
}

std::vector<std::string> Stepper::body(std::size_t rows) {
  std::vector<std::string> lines =
      view_ == View::cell ? cell_view(walk_, *cell_, {rows, window_.columns}) : page();
  scroll_ = std::min(scroll_, lines.size() - std::min(lines.size(), rows));
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(scroll_));
  return lines;
}

// In a quiz the cell in question, where it leaves room; the page always names it.
std::string Stepper::prompt_label() const {
  constexpr std::string_view labels[] = {
      "", "go to step: ", "cell: ", "set: ", "export to directory: ", "answer: "};
  if (prompt_ == Prompt::answer) {
    const std::string cell = sanitise(quiz_->prompt(walk_));
    if (width(cell) + room_to_type <= window_.columns) return cell;
  }
  return std::string(labels[static_cast<std::size_t>(prompt_)]);
}

// Help for filling in the prompt.
std::vector<std::string> Stepper::hint() const {
  const auto joined = [](const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, " "));
  };
  std::string text;
  const Trace& trace = walk_.trace();
  if (prompt_ == Prompt::step) {
    text = "a number or a name (Tab completes it): " +
           joined(names_with_prefix(trace.steps, line_.text));
  } else if (prompt_ == Prompt::cell && !walk_.step().output.values.empty()) {
    const std::string head = matrix_name(walk_.step().output, last_matrix());
    text = fmt::format(
        "row,column{}; Enter alone (or an arrow) takes {}", head.empty() ? "" : " in " + head,
        reference_text(resolve_cell(walk_, ""), walk_.step().output, trace.token_layout));
  } else if (prompt_ == Prompt::change) {
    const auto names = names_with_prefix(trace.givens, line_.text.substr(0, line_.text.find('[')));
    const std::string example = example_change(walk_);
    text = "a given's cell and its value" + (example.empty() ? "" : ", as in " + example) +
           " (a step: qkv run --set); given: " +
           joined(names.empty() ? names_with_prefix(trace.givens, "") : names);
  } else if (prompt_ == Prompt::directory) {
    text = "every matrix as CSV, with all its digits; Esc leaves it";
  } else if (prompt_ == Prompt::answer) {
    text = longest_fitting({"Enter answers; s skips, q quits, ↓ ↑ scroll", "s skips, q quits, ↓ ↑",
                            "s skips, q quits ↓↑"},
                           window_.columns);
  }
  return broken_lines(sanitise(text), window_.columns);
}

std::vector<std::string> Stepper::notes(std::size_t most) const {
  if (has_overlay()) return {};
  std::vector<std::string> lines = broken_lines(sanitise_prose(message_), window_.columns);
  if (prompt_ != Prompt::nothing) {
    std::vector<std::string> help = hint();
    // An error in the typed line goes before how to write one.
    if (!lines.empty() && lines.size() + help.size() > most) {
      help.clear();
      most = std::max(most, window_.rows - std::min<std::size_t>(window_.rows, 2));
    }
    std::ranges::move(help, std::back_inserter(lines));
  }
  if (lines.size() > most) {
    lines.resize(most);
    if (most > 0) lines.back() = truncated_line(lines.back() + " ……", window_.columns);
  }
  return lines;
}

// Replaces "Enter next" on the last step.
std::string_view Stepper::at_end() const {
  if (next_step_index(walk_)) return {};
  if (quiz_) return "Enter result";
  return next_lesson(walk_).empty() ? "last step" : "n next lesson";
}

std::string Stepper::status(std::size_t hidden) const {
  const std::string line =
      has_overlay()
          ? longest_fitting(
                hidden > 0
                    ? std::vector<std::string_view>{"Space or Enter scrolls, q quits, any "
                                                    "other key goes back",
                                                    "Space scrolls, q quits", "Space scrolls"}
                    : std::vector<std::string_view>{"q quits, any other key goes back",
                                                    "q quits, else back", "any key: back"},
                window_.columns)
          : position_and_keys(hidden);
  return walk_.style.colour ? fmt::format("\x1b[7m{}\x1b[0m", padded_right(line, window_.columns))
                            : line;
}

// The input line; what does not fit scrolls out on the left.
void Stepper::add_prompt(Frame& frame) const {
  const std::size_t columns = window_.columns;
  const std::string label =
      truncated_line(prompt_label(), columns - std::min(columns / 2, room_to_type));
  const std::size_t room = columns - std::min(columns, width(label) + 1);
  std::string before = sanitise(line_.text.substr(0, line_.cursor));
  while (width(before) > room) before.erase(0, std::max<std::size_t>(1, utf8_length(before)));
  const std::string typed = before + sanitise(line_.text.substr(line_.cursor));
  const bool shaded = walk_.style.colour && line_.selected;
  frame.lines.push_back(label + (shaded ? fmt::format("\x1b[7m{}\x1b[0m", typed) : typed));
  frame.cursor = CursorPlace{frame.lines.size() - 1, width(label) + width(before)};
}

Frame Stepper::frame() {
  if (window_.rows == 0 || window_.columns == 0) return {};
  std::vector<std::string> below = notes(window_.rows / 2);
  const std::size_t rows = window_.rows - 1 - std::min(window_.rows - 1, below.size());
  shown_rows_ = rows;
  Frame frame{.lines = body(rows)};
  const std::size_t hidden = frame.lines.size() - std::min(frame.lines.size(), rows);
  frame.lines.resize(rows);
  for (std::string& line : below) frame.lines.push_back(std::move(line));
  if (prompt_ == Prompt::nothing) {
    frame.lines.push_back(status(hidden));
  } else {
    add_prompt(frame);
  }
  for (std::string& line : frame.lines) line = truncated_line(line, window_.columns);
  return frame;
}

std::vector<std::string> broken_lines(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    for (std::string& piece : wrapped_arithmetic(line, columns)) lines.push_back(std::move(piece));
  }
  return lines;
}

std::vector<std::string> page_lines(std::string_view text, std::size_t columns) {
  constexpr std::size_t fewest = 12;  // columns that are worth using
  std::vector<std::string> lines;
  for (std::string& line : lines_of(text)) {
    std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", indent);  // after a label, as in "NumPy    e = …"
    if (gap < columns / 4) indent = std::min(line.find_first_not_of(' ', gap), line.size());
    const bool fits = display_width(line) <= columns || line.find('\x1b') != std::string::npos;
    if (fits || columns < indent + fewest) {
      lines.push_back(std::move(line));
      continue;
    }
    std::string before = line.substr(0, indent);
    for (const std::string& piece : broken_lines(line.substr(indent), columns - indent - 2)) {
      lines.push_back(before + piece);
      before.assign(indent + 2, ' ');
    }
  }
  return lines;
}

std::string truncated_line(std::string_view line, std::size_t columns) {
  if (display_width(line) <= columns) return std::string(line);
  if (line.find('\x1b') == std::string_view::npos) return shortened(line, columns);
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const bool is_colour = line[at] == '\x1b';
    const std::size_t end =
        is_colour ? end_of_escape(line, at) : std::min(line.find('\x1b', at), line.size());
    const std::string_view piece = line.substr(at, end - at);
    const std::size_t used = is_colour ? 0 : width(piece);
    if (!is_colour && used >= columns) {
      // Keep room for the …: the line is truncated in any case.
      text += shortened(std::string(piece) + "……", columns);
      break;
    }
    text += piece;
    columns -= used;
    at = end;
  }
  return text.append(sgr::reset);
}

std::string frame_bytes(const Frame& frame, WindowSize size) {
  std::string bytes = std::string(begin_update) + std::string(hide_cursor);
  for (std::size_t row = 0; row < size.rows; ++row) {
    const std::string_view line =
        row < frame.lines.size() ? std::string_view(frame.lines[row]) : std::string_view();
    bytes += fmt::format("\x1b[{};1H{}", row + 1, line);
    // Erasing after the last column would erase the last character, too.
    if (display_width(line) < size.columns) bytes += "\x1b[0m\x1b[K";
  }
  if (frame.cursor) {
    bytes +=
        fmt::format("\x1b[{};{}H{}", frame.cursor->row + 1, frame.cursor->column + 1, show_cursor);
  }
  return bytes.append(end_update);
}

}  // namespace qkv::inline interactive
