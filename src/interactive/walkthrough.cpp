#include "interactive/walkthrough.hpp"

namespace qkv::inline interactive {
namespace {

constexpr int max_digits = 17;

using SharedLesson = std::shared_ptr<const LoadedLesson>;

SharedLesson changed(const SharedLesson& loaded, const std::string& change) {
  try {
    return std::make_shared<const LoadedLesson>(with_cell_set(loaded, change));
  } catch (const InputError& error) {  // the user did not type --set
    std::string_view message = error.what();
    constexpr std::string_view option = "--set ";
    if (message.starts_with(option)) message.remove_prefix(option.size());
    throw InputError(message);
  }
}

// Names the steps whose numbers differ.
std::string changed_text(const Trace& before, const Trace& after) {
  const auto has_changed = [&](const Step& step) {
    const Tensor* other = before.find(step.name);
    return !other || differs(step.output, *other);
  };
  const auto steps = filtered(after.steps, has_changed, &Step::name);
  if (steps.empty()) return "no step changes";
  constexpr std::size_t most = 8;
  const std::size_t shown = steps.size() <= most ? steps.size() : most - 1;
  std::string text = fmt::format("changed: {}", fmt::join(std::span(steps).first(shown), ", "));
  if (shown < steps.size()) text += fmt::format(" and {} more", steps.size() - shown);
  return text;
}

// The cell named in full; if it has no head, that of the given matrix.
CellReference resolve_in_matrix(const std::string& written, const Walkthrough& walk,
                                std::size_t matrix) {
  ReferenceText text = parse_reference(written);
  const Tensor& tensor = walk.trace().at(text.name);
  if (tensor.leading_axes() > 0 && text.indices.size() + tensor.leading_axes() == tensor.rank()) {
    const auto leading = mapped(leading_index(tensor, matrix < tensor.matrices() ? matrix : 0),
                                [](std::size_t place) { return std::to_string(place + 1); });
    text.indices.insert(text.indices.begin(), leading.begin(), leading.end());
  }
  return resolve(text, walk.trace());
}

// Goes on with other numbers; returns what changes.
std::string take_numbers(Walkthrough& walk, SharedLesson after) {
  const std::string text = changed_text(walk.trace(), after->trace);
  walk.now = std::move(after);
  walk.map = std::make_shared<const LessonMap>(map_of(walk.trace()));
  return text;
}

// False for vectors and a batch's sentences: they may be token ids.
bool may_be_edited(const Given* given) {
  const Tensor& tensor = given->tensor;
  return tensor.rank() >= 2 && !tensor.values.empty() &&
         tensor.axes.back().labels.size() <= tensor.columns();
}

}  // namespace

std::size_t step_index(const Trace& trace, std::string_view text) {
  text = trimmed(text);
  const auto number = parse_number<std::size_t>(text);
  if (!number) return static_cast<std::size_t>(&trace.step_at(text) - trace.steps.data());
  // Steps keep their numbers in the whole lesson, though the trace may lack some.
  const auto found = std::ranges::find(trace.steps, *number, &Step::number);
  if (found != trace.steps.end()) return static_cast<std::size_t>(found - trace.steps.begin());
  throw InputError("there is no step {}; they count from 1 to {}", *number,
                   trace.steps.back().number);
}

Walkthrough walkthrough(LoadedLesson loaded, StepRange step_range, WalkStyle style) {
  const auto lesson = std::make_shared<const LoadedLesson>(std::move(loaded));
  const std::size_t first = step_range.first;
  return {.baseline = lesson,
          .now = lesson,
          .map = std::make_shared<const LessonMap>(map_of(lesson->trace)),
          .step_range = std::move(step_range),
          .first_lesson = lesson->lesson.name,
          .at = first,
          .style = std::move(style)};
}

std::string lesson_intro(const Walkthrough& walk, std::size_t width) {
  return lesson_heading(walk.now->lesson, style_of(walk, width)) + "\n";
}

WalkStyle style_of(const Walkthrough& walk, std::size_t width) {
  WalkStyle style = walk.style;
  style.width = width;
  style.reader = InputMode::keys;
  style.baseline = walk.own();
  style.map = walk.map.get();
  return style;
}

std::optional<std::size_t> next_step_index(const Walkthrough& walk) {
  const std::vector<std::size_t>& only = walk.step_range.only;
  if (!only.empty()) {
    const auto next = std::ranges::upper_bound(only, walk.at);
    return next == only.end() ? std::nullopt : std::optional(*next);
  }
  return walk.at < walk.step_range.last ? std::optional(walk.at + 1) : std::nullopt;
}

bool step_back(Walkthrough& walk) {
  if (walk.at == 0) return false;
  const std::vector<std::size_t>& only = walk.step_range.only;
  const auto here = std::ranges::lower_bound(only, walk.at);
  walk.at = here == only.begin() ? walk.at - 1 : *(here - 1);
  return true;
}

std::string next_lesson(const Walkthrough& walk) {
  const auto course = built_in_lessons();
  const auto here =
      std::ranges::find(course, std::string_view(walk.now->lesson.name), &BuiltInLesson::name);
  const bool is_last = walk.at + 1 == walk.trace().steps.size() && !next_step_index(walk);
  return !is_last || course.end() - here < 2 ? std::string() : std::string(here[1].name);
}

Walkthrough in_next_lesson(const Walkthrough& walk) {
  const std::string name = next_lesson(walk);
  LoadedLesson loaded = load_lesson(name);
  loaded.lesson.asked = name;
  const StepRange all{.first = 0, .last = loaded.trace.steps.size() - 1};
  WalkStyle style = walk.style;
  style.head.reset();
  Walkthrough next = walkthrough(std::move(loaded), all, std::move(style));
  next.first_lesson = walk.first_lesson;
  return next;
}

std::string at_last_step(const Walkthrough& walk) {
  const std::string next = next_lesson(walk);
  return fmt::format("That was the last step: {}b goes back, q quits.",
                     next.empty() ? "" : fmt::format("n goes on to the lesson {}, ", next));
}

void go_to(Walkthrough& walk, std::string_view step) {
  const std::size_t place = step_index(walk.trace(), step);
  walk.step_range.last = std::max(walk.step_range.last, place);
  walk.at = place;
}

std::string set_cell(Walkthrough& walk, const std::string& change) {
  const std::string text = take_numbers(walk, changed(walk.now, change));
  walk.set.push_back(change);
  return fmt::format("{}; {}; u undoes it", trimmed(change), text);
}

std::string undo(Walkthrough& walk) {
  if (walk.set.empty()) return "nothing to undo: s sets a value";
  SharedLesson before = walk.baseline;
  for (std::size_t i = 0; i + 1 < walk.set.size(); ++i) before = changed(before, walk.set[i]);
  const std::string text = take_numbers(walk, std::move(before));
  const std::string last = walk.set.back();
  walk.set.pop_back();
  return fmt::format("undone: {}; {}", trimmed(last), text);
}

std::string more_digits(Walkthrough& walk, int more) {
  walk.style.digits = std::clamp(walk.style.digits + more, 0, max_digits);
  return pluralise(static_cast<std::size_t>(walk.style.digits), "decimal");
}

std::string next_picture(Walkthrough& walk) {
  constexpr std::pair<Picture, std::string_view> changes[] = {
      {Picture::glyphs,
       "dots: the larger the number, the larger the dot; ○ is below 0, blank is 0"},
      {Picture::numbers, "numbers only"},
      {Picture::heatmap, "heatmap: the larger the number, the darker"}};
  const auto& [next, message] = changes[static_cast<std::size_t>(walk.style.picture)];
  walk.style.picture = next;
  const bool shaded = walk.style.picture == Picture::heatmap && !walk.style.colour;
  return shaded ? "numbers, with dots beside weights (a heatmap needs colour)"
                : std::string(message);
}

std::string answers(const Walkthrough& walk) {
  const auto passages = [&](Prose StepText::*text) {
    return passages_of(
        prose_of(walk.now->lesson, walk.trace(), walk.step(), text, walk.style.digits));
  };
  const auto asked = passages(&StepText::questions);
  const auto answered = passages(&StepText::answers);
  std::vector<std::string> questions;  // each stands before its commands
  for (std::size_t i = 0; i + 1 < asked.size(); ++i) {
    const bool leads = asked[i + 1].kind == Passage::Kind::code;
    if (leads && asked[i].kind != Passage::Kind::code) questions.push_back(asked[i].on_one_line());
  }
  std::string text;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    const std::string question = questions.size() == answered.size() ? questions[i] + "\n   " : "";
    text += fmt::format("{}{}. {}{}", text.empty() ? "" : "\n", i + 1, question,
                        answered[i].on_one_line());
  }
  return text.empty() ? "This step asks nothing; the questions are at the lesson's end." : text;
}

std::string toggle_code(Walkthrough& walk) {
  walk.style.code = !walk.style.code;
  return walk.style.code ? "with the lines of NumPy and PyTorch" : "without code";
}

CellReference resolve_cell(const Walkthrough& walk, std::string_view text, std::size_t matrix) {
  text = trimmed(text);
  const Step& step = walk.step();
  if (step.output.values.empty()) throw InputError("{} has no cells", step.name);
  if (text.empty()) {
    return in_head(cell_of(walk.now->lesson, walk.trace(), step), walk.trace(), walk.style.head);
  }
  std::string cell(text);
  if (cell.find('[') == cell.npos) cell = fmt::format("[{}]", cell);
  if (cell.starts_with('[')) cell.insert(0, step.name);
  return resolve_in_matrix(cell, walk, matrix);
}

std::string example_change(const Walkthrough& walk) {
  const Trace& trace = walk.trace();
  if (trace.givens.empty()) return {};
  std::vector<const Given*> givens = new_givens_of(trace, walk.step());  // the nearest first
  for (const Given& given : trace.givens) givens.push_back(&given);
  const auto found = std::ranges::find_if(givens, may_be_edited);
  const Given& given = found != givens.end() ? **found : trace.givens.front();
  if (given.tensor.values.empty()) return {};
  const CellReference cell{.name = given.name,
                           .column = std::min<std::size_t>(1, given.tensor.columns() - 1)};
  return reference_text(cell, given.tensor, trace.token_layout) + "=0.5";
}

}  // namespace qkv::inline interactive
