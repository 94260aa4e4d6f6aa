#include "lesson/library.hpp"
#include "lesson/prose.hpp"
#include "text/unicode.hpp"

namespace qkv::inline lesson {
namespace {

bool agrees(const Numeral& printed, double value, int decimals, bool exact) {
  if (std::isnan(printed.value)) return true;  // left blank: nothing was printed
  if (std::isinf(printed.value) || std::isinf(value)) return printed.value == value;
  const int place = printed.scientific ? printed.decimals : decimals;
  const double half = exact && !printed.scientific ? 0 : 0.5 * std::pow(10.0, -place);
  const double noise = 1e-9 * half + 1e-12 * std::max(1.0, std::abs(value));
  return std::abs(printed.value - value) <= half + noise;
}

// Describes where the trace does not reproduce a published matrix to its printed digits; empty if
// it does. The tolerance is half a unit of the last digit in the matrix; in e-notation, in the
// number. Integers must be exact if the lesson's are integers. Throws InputError if the matrix is
// not in the trace. Example: `scores[2,3] is 1.2345, published as 1.24 (page 7)`.
std::string disagreement(const Expectation& expectation, const Trace& trace) {
  const Tensor tensor = as_shown(trace.at(expectation.of), trace.token_layout);
  const ParsedArray& printed = expectation.value;
  const std::string source =
      expectation.source.empty() ? "" : fmt::format(" ({})", expectation.source);
  // A vector may be printed as a matrix of one row, or the reverse.
  if (without_leading_ones(printed.shape) != without_leading_ones(tensor.shape())) {
    return fmt::format("{} is {}, but {} was published{}", expectation.of,
                       shape_text(tensor.shape()), shape_text(printed.shape), source);
  }
  int decimals = 0;
  for (const Numeral& cell : printed.cells) {
    if (!cell.scientific) decimals = std::max<int>(decimals, cell.decimals);
  }
  const bool exact = decimals == 0 && std::all_of(tensor.values.begin(), tensor.values.end(),
                                                  [](double x) { return x == std::round(x); });
  for (std::size_t i = 0; i < printed.cells.size(); ++i) {
    if (agrees(printed.cells[i], tensor.values[i], decimals, exact)) continue;
    const CellReference cell = cell_at(expectation.of, tensor, i);
    return fmt::format("{} is {}, published as {}{}",
                       reference_text(cell, tensor, TokenLayout::rows), tensor.values[i],
                       printed.cells[i].value, source);
  }
  return {};
}

// Of a lesson that is not `whole`, only what no faulty step can explain is reported.
void lint_prose(const Prose& prose, const Trace& trace, bool whole, const NameIndex& declared,
                std::vector<Fault>& faults) {
  const auto is_of_faulty_step = [&](const ProseFault& fault) {
    const bool is_made = fault.matrix.starts_with(gradient_name("")) || contains(fault.matrix, '.');
    return fault.matrix.empty() || declared.contains(fault.matrix) || is_made;
  };
  std::vector<ProseFault> found = prose_faults(prose.text, trace);  // in the order of their places
  const std::string_view text = prose.text;
  const std::size_t open = text.rfind('{');
  if (open != text.npos && text.find('}', open) == text.npos &&
      !text.substr(0, open).ends_with('{'))
    found.push_back({open, "no } follows this {; write {{ for a brace", ""});
  std::size_t lines = 0, looked_at = 0;
  for (const ProseFault& fault : found) {
    if (!whole && is_of_faulty_step(fault)) continue;
    for (; looked_at < fault.offset; ++looked_at) lines += text[looked_at] == '\n' ? 1 : 0;
    faults.push_back(
        {{prose.place.line + lines, lines == 0 ? prose.place.column : 1}, fault.message});
  }
}

// Commands and tables are not wrapped, so they must fit a terminal of 80 columns.
void lint_width(const Prose& prose, std::vector<Fault>& faults) {
  constexpr std::size_t widest = 78;  // the walk indents prose by two
  std::size_t line = prose.place.line - 1;
  for (const std::string_view text : split(prose.text, '\n')) {
    const std::size_t characters = code_point_count(text);
    ++line;
    if (!text.starts_with("    ") || contains(text, '{') || characters <= widest) continue;
    faults.push_back({{line, 1},
                      fmt::format("this line is {} characters long and can't be broken; with more "
                                  "than {} it doesn't fit into 80 columns",
                                  characters, widest),
                      Fault::Kind::advice});
  }
}

// Advises against a title that stands twice, in a lesson that writes titles of its own.
void lint_titles(const Lesson& lesson, std::vector<Fault>& faults) {
  const auto has_own = [](const StepText& text) { return !text.title.empty(); };
  if (std::ranges::none_of(lesson.texts, has_own)) return;
  std::map<std::string, std::size_t> first;  // the step with each title
  for (std::size_t s = 0; s < lesson.texts.size(); ++s) {
    const StepText& text = lesson.texts[s];
    const StepRecipe& step = lesson.recipe.steps[s];
    if (text.is_made) continue;
    const std::string title = title_of(lesson, s + 1);
    const auto [found, is_new] = first.emplace(title, s);
    // A model's steps all stand at the same place, with the model's own titles.
    if (is_new || text.place == lesson.texts[found->second].place) continue;
    faults.push_back(
        {text.place,
         fmt::format("{} and {} have the title \"{}\"; write title = \"…\": what "
                     "{} makes",
                     lesson.recipe.steps[found->second].name, step.name, title, step.name),
         Fault::Kind::advice});
  }
}

// The names of tokens must fit the rows of a matrix that has no names of its own.
void lint_tokens(const AxisLabels& tokens, const Trace& trace, std::vector<Fault>& faults) {
  const auto has_them = [&](const Tensor& tensor) {
    return std::ranges::find(tensor.axes, tokens, &Axis::labels) != tensor.axes.end();
  };
  if (tokens.empty() || std::ranges::any_of(trace.givens, has_them, &Given::tensor)) return;
  if (std::ranges::any_of(trace.steps, has_them, &Step::output)) return;
  faults.push_back({{},
                    fmt::format("tokens has {}, but no matrix shows them; write a name for each of "
                                "its rows, or leave tokens out",
                                pluralise(tokens.size(), "name"))});
}

// The cell to explain must belong to its step.
void lint_cell(const Prose& cell, const std::string& step, const Trace& trace,
               std::vector<Fault>& faults) {
  if (cell.text.empty()) return;
  try {
    const CellReference found = find_cell(cell.text, trace);
    if (found.name == step) return;
    faults.push_back({cell.place, fmt::format("{} is not a cell of {}; write one of its own, as in "
                                              "cell = \"{}[1,1]\"",
                                              cell.text, step, step)});
  } catch (const InputError& error) {
    faults.push_back({cell.place, error.what()});
  }
}

// Evaluates the steps as far as memory allows.
Evaluation evaluated(const Recipe& recipe, std::vector<Fault>& faults) {
  try {
    return evaluate_all(recipe);
  } catch (const std::bad_alloc&) {
    if (faults.empty()) faults.push_back({{}, out_of_memory()});
    return {};
  }
}

}  // namespace

std::vector<Fault> lint(const ParsedLesson& reading) {
  const Lesson& lesson = reading.lesson;
  std::vector<Fault> faults = reading.faults;
  const Evaluation evaluation = evaluated(lesson.recipe, faults);
  for (const StepFault& fault : evaluation.faults) {
    faults.push_back({lesson.texts[fault.step].place, fault.message});
  }
  // If a step is missing, what names it can't be checked.
  const bool whole = faults.empty();
  for (std::size_t s = 0; s < std::min(lesson.texts.size(), lesson.recipe.steps.size()); ++s) {
    const StepText& text = lesson.texts[s];
    for (const Prose* prose : {&text.say, &text.notice, &text.questions, &text.answers}) {
      lint_prose(*prose, evaluation.trace, whole, reading.declared, faults);
      lint_width(*prose, faults);
    }
    if (!text.answers.text.empty() && text.questions.text.empty()) {
      faults.push_back(
          {text.answers.place, "this answer has no questions; write try = \"…\" above it"});
    }
    if (whole) lint_cell(text.cell, lesson.recipe.steps[s].name, evaluation.trace, faults);
    if (text.say.text.empty() && !text.is_made) {
      faults.push_back({text.place,
                        fmt::format("{} has no words of its own; write say = \"…\"",
                                    lesson.recipe.steps[s].name),
                        Fault::Kind::advice});
    }
  }
  if (whole) lint_titles(lesson, faults);
  if (whole) lint_tokens(lesson.recipe.tokens, evaluation.trace, faults);
  for (const Expectation& expectation : lesson.expectations) {
    if (!evaluation.trace.find(expectation.of)) continue;  // its step's own fault is reported
    const std::string wrong = disagreement(expectation, evaluation.trace);
    if (!wrong.empty()) faults.push_back({expectation.place, wrong});
  }
  std::ranges::stable_sort(faults, {}, &Fault::place);
  return faults;
}

}  // namespace qkv::inline lesson
