#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/options.hpp"
#include "cli/screen.hpp"
#include "formats/files/write_file.hpp"
#include "interactive/stepper.hpp"
#include "terminal/model_views.hpp"

namespace qkv::inline cli {
namespace {

// True if standard input and output are terminals.
bool is_terminal() { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO); }

/// Where the last walk on a terminal was left: a lesson of the course and a step.
struct Bookmark {
  std::string lesson;
  std::string step = {};
};

// The file in the user's state directory; empty if the user has none.
std::filesystem::path bookmark_file() {
  const auto directory = [](const char* variable) {
    const char* value = std::getenv(variable);
    const std::filesystem::path path = value ? value : "";
    return path.is_absolute() ? path : std::filesystem::path();
  };
  std::filesystem::path state = directory("XDG_STATE_HOME");
  if (state.empty() && !directory("HOME").empty()) state = directory("HOME") / ".local" / "state";
  return state.empty() ? state : state / "qkv" / "walk";
}

// The file may hold anything: only names of the course count.
std::optional<Bookmark> read_bookmark() {
  constexpr std::size_t largest = 1024;
  try {
    std::istringstream words(read_bytes(bookmark_file(), largest));
    Bookmark found;
    words >> found.lesson >> found.step;
    const auto course = built_in_lessons();
    if (!contains(course, found.lesson, &BuiltInLesson::name)) return {};
    const Recipe recipe = find_lesson(found.lesson).lesson.recipe;
    const std::string& first = recipe.steps.front().name;
    if (!step_in(recipe, found.step)) found.step = first;
    const bool is_start = found.lesson == course.front().name && found.step == first;
    if (is_start) return {};  // a walk begins there in any case
    return found;
  } catch (const InputError&) {
    return {};  // there is none, or it cannot be read
  }
}

// Remembers where to go on, for unchanged lessons of the course. What cannot be written is lost.
void write_bookmark(const Walkthrough& walk) {
  const std::filesystem::path file = bookmark_file();
  const Lesson& lesson = walk.now->lesson;
  const bool is_unchanged = walk.set.empty() && lesson.asked == lesson.name;
  if (file.empty() || !is_unchanged || !is_terminal()) return;
  const std::string next = next_lesson(walk);
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  try {
    write_atomically(
        file, next.empty() ? fmt::format("{} {}\n", lesson.name, walk.step().name) : next + "\n");
  } catch (const InputError&) {
    return;
  }
}

std::string export_all(const LoadedLesson& loaded, const std::string& directory) {
  return export_to_directory(export_plan(loaded.lesson, loaded.trace, {}), directory);
}

// A line of standard input, without its end; nothing at the end of input.
std::optional<std::string> read_line() {
  char* bytes = nullptr;
  std::size_t size = 0;
  const ssize_t length = getline(&bytes, &size, stdin);
  std::optional<std::string> line;
  if (length >= 0) line.emplace(bytes, static_cast<std::size_t>(length));
  std::free(bytes);
  if (line && line->ends_with('\n')) line->pop_back();
  return line;
}

// Says how to go on, and remembers it. In a later lesson the options of the first do not hold.
void finish(const SteppingSession& session, const std::string& options) {
  const Walkthrough& walk = session.walk();
  const bool is_first = walk.now->lesson.name == walk.first_lesson;
  print_error(resume_command(walk, session.quiz(), is_first ? options : ""));
  write_bookmark(walk);
}

auto place_of(const SteppingSession& session) {
  return std::pair(session.walk().now, session.walk().at);
}

// A terminal echoes its input; input from a pipe is printed after its prompt instead.
void run_plain(Walkthrough walk, std::optional<Quiz> quiz, const std::string& options,
               std::size_t columns) {
  PlainStepper stepper(std::move(walk), std::move(quiz), export_all, columns);
  print(stepper.begin());
  const bool seen = isatty(STDIN_FILENO);
  while (!stepper.is_over()) {
    print(stepper.prompt());
    flush_output();
    const auto line = read_line();
    const auto before = place_of(stepper);
    if (!line || !seen) print(line ? sanitise(*line) + "\n" : "\n");
    print(line ? stepper.answer(*line) : stepper.end());
    if (place_of(stepper) != before) write_bookmark(stepper.walk());  // Ctrl-C may end it
  }
  finish(stepper, options);
}

void run_full_screen(Walkthrough walk, std::optional<Quiz> quiz, const std::string& options) {
  Stepper stepper(std::move(walk), std::move(quiz), export_all);
  WindowSize window{.rows = 0, .columns = 0};
  {
    Screen screen;
    while (!stepper.is_over()) {
      const WindowSize size = screen.size();
      if (size != window) stepper.resize(window = size);
      screen.draw(stepper.frame());
      const auto before = place_of(stepper);
      // Keys that arrive faster than frames are all pressed before the next frame.
      for (auto key = screen.wait(); key && !stepper.is_over(); key = screen.next()) {
        stepper.press(*key);
      }
      if (place_of(stepper) != before) write_bookmark(stepper.walk());
    }
  }
  if (stepper.quiz()) print(stepper.quiz()->summary(stepper.walk(), window.columns));
  finish(stepper, options);
}

struct RunOptions : StepChoice {
  const CLI::Option* lesson_argument = nullptr;
  LessonSelection lesson;
  int digits = 4;
  std::optional<std::size_t> layer;  ///< from 0, as in a model's weight names
  std::optional<std::size_t> head;   ///< from 1
  bool pause = false;
  bool no_pause = false;
  bool plain = false;
  bool intermediates = false;
  bool code = false;
  bool quiz = false;
  bool lens = false;
  bool answers = false;
  std::uint32_t seed = 0;
};

StepRange layer_of(const Trace& trace, std::size_t layer) {
  const auto places_in = [&](std::size_t wanted) {
    return places_where(trace.steps.size(), [&](std::size_t s) {
      return is_in_layer(trace.steps[s].name, fmt::format("h{}", wanted));
    });
  };
  const std::vector<std::size_t> places = places_in(layer);
  if (!places.empty()) return {places.front(), places.back(), places};
  std::size_t layers = 0;
  while (!places_in(layers).empty()) ++layers;
  throw InputError(
      layers == 0 ? "--layer is for models, and this lesson has no layers; leave it out"
                  : fmt::format("--layer {}: the layers count from 0 to {}", layer, layers - 1));
}

StepRange requested_range(const Trace& trace, const RunOptions& options) {
  if (!options.steps.empty()) {
    std::set<std::size_t> places;  // in the lesson's order
    for (const std::string& name : options.steps) places.insert(step_index(trace, name));
    return {*places.begin(), *places.rbegin(), {places.begin(), places.end()}};
  }
  const StepRange all{.first = 0, .last = trace.steps.size() - 1};
  return range_of(trace, options, options.layer ? layer_of(trace, *options.layer) : all);
}

// Pauses are for a terminal; a request for one step prints just that step.
bool pauses(const RunOptions& options) {
  if (options.pause || options.quiz) return true;
  return !options.no_pause && options.steps.empty() && is_terminal();
}

void print_all(const LoadedLesson& loaded, const RunOptions& options, const StepRange& step_range,
               WalkStyle look) {
  const LessonMap map = map_of(loaded.trace);
  look.map = &map;
  look.baseline = loaded.own ? &loaded.own->trace : nullptr;
  look.answers = options.answers;
  if (options.steps.empty()) {
    print(lesson_heading(loaded.lesson, look) + "\n");
  } else if (options.lesson.settings.new_tokens > 0) {
    print(indented(sanitise(loaded.lesson.summary), look) + "\n");
  } else if (loaded.lesson.changed) {
    print(indented(std::string(changed_notice), look) + "\n");
  }
  for (std::size_t s = step_range.first; s <= step_range.last; ++s) {
    if (!step_range.only.empty() && !std::ranges::binary_search(step_range.only, s)) continue;
    print(step_text(loaded.lesson, loaded.trace, loaded.trace.steps[s], look));
    loaded.trace.drop_cache();
    if (s < step_range.last) print("\n");
  }
}

// The command-line words to keep when the session is resumed.
std::string kept_options(const RunOptions& options) {
  std::string words;
  if (options.plain) words += " --plain";
  if (options.quiz) words += " --quiz";
  if (options.seed > 0) words += fmt::format(" --seed {}", options.seed);
  if (options.layer) words += fmt::format(" --layer {}", *options.layer);
  if (!options.to.empty()) words += " --to " + shell_word(options.to);
  return words;
}

// Without a lesson, offers to go on where the last walk was left. False: the user quits.
bool offer_bookmark(RunOptions& options) {
  const bool is_bare = options.lesson_argument->empty() && options.from.empty() &&
                       options.to.empty() && !options.layer && !options.lens &&
                       options.lesson.model.empty() &&
                       shell_words(options.lesson) == options.lesson.name;
  if (!is_bare || !pauses(options) || !is_terminal()) return true;
  const std::optional<Bookmark> left = read_bookmark();
  if (!left) return true;
  print(fmt::format("Last time you were in the lesson {}, at {}.\n", left->lesson, left->step));
  std::optional<std::string> answer;
  do {
    print(fmt::format("Enter goes on there, n and Enter starts {}, q and Enter quits: ",
                      options.lesson.name));
    flush_output();
    answer = read_line();
    if (!answer || trimmed(*answer) == "q") return false;
    if (trimmed(*answer) == "n") return true;
  } while (!trimmed(*answer).empty());
  options.lesson.name = left->lesson;
  options.from = left->step;
  return true;
}

int run(const RunOptions& chosen, const CommonOptions& common) {
  RunOptions options = chosen;
  if (!offer_bookmark(options)) return 0;
  const Terminal output = output_terminal(common.colour);
  if (options.lens) {  // instead of the walk
    constexpr std::size_t guesses = 5;
    const LoadedLesson loaded = load(options.lesson);
    print(logit_lens_text(loaded.lesson, logit_lens(loaded, guesses),
                          {.width = output.width, .digits = options.digits}));
    return 0;
  }
  RequestedSteps wanted = options.steps;
  if (options.layer) wanted = {fmt::format("h{}.*", *options.layer)};
  LoadedLesson loaded = load(options.lesson, wanted);
  for (const std::string& step : options.steps) {
    loaded.lesson.texts[loaded.trace.steps[step_index(loaded.trace, step)].number - 1].show = true;
  }
  WalkStyle look{{.digits = options.digits,
                  .intermediates = options.intermediates,
                  .code = options.code,
                  .head = head_from(options.head, loaded.trace)}};
  look.width = output.width;
  look.colour = output.colour;
  const StepRange step_range = requested_range(loaded.trace, options);
  if (!pauses(options)) {
    print_all(loaded, options, step_range, look);
    return 0;
  }
  look.colour = output.colour && (!options.plain || common.colour == ColourMode::always);
  if (options.plain) look.picture = Picture::numbers;  // glyphs are noise to a screen reader
  Walkthrough walk = walkthrough(std::move(loaded), step_range, look);
  std::optional<Quiz> quiz;
  if (options.quiz) quiz.emplace(options.seed);
  if (!options.plain && is_terminal() && can_draw_on(STDOUT_FILENO)) {
    run_full_screen(std::move(walk), std::move(quiz), kept_options(options));
  } else {
    run_plain(std::move(walk), std::move(quiz), kept_options(options), output.width);
  }
  return 0;
}

void declare(CLI::App& app, RunOptions& options) {
  add_lesson_options(app, options.lesson);
  options.lesson_argument = app.get_option("LESSON")->required(false);
  options.lesson.name = std::string(built_in_lessons().front().name);
  add_step_options(app, options);
  add_number(app, "--layer", options.layer, count_from(0),
             "Only this layer of a model; the first is 0")
      ->group(model_group)
      ->excludes("--step");
  add_head_option(app, options.head);
  app.add_flag("--intermediates", options.intermediates,
               "Also show intermediate matrices, such as softmax's differences and powers");
  app.add_flag("--code", options.code,
               "Show the lines of NumPy and PyTorch that perform each step");
  app.add_flag("--way", options.intermediates)->group("");  // an older name, hidden
  app.add_flag("--answers", options.answers, "Also print the answers to the questions at the end");
  add_digits_option(app, options.digits);
  app.add_flag("--pause", options.pause, "Go step by step, also without a terminal");
  app.add_flag("--no-pause", options.no_pause, "Print everything at once")->excludes("--pause");
  app.add_flag("--lens", options.lens,
               "Logit lens: the likeliest tokens after each layer of a model, instead of the walk")
      ->group(model_group);
  app.add_flag("--plain", options.plain, "Step line by line, for screen readers");
  app.add_flag("--quiz", options.quiz, "Ask for one cell of each step before it is shown")
      ->excludes("--no-pause");
  add_number(app, "--seed", options.seed, count_from(0), "Ask for other cells (0)")
      ->needs("--quiz");
}

}  // namespace

constinit const Command run_command{
    .name = "run",
    .summary = "walks a lesson: every matrix with its shape and an explanation",
    .examples =
        "  qkv run the-fat-cat                     at a terminal: by steps, ? lists keys\n"
        "  qkv run the-fat-cat --quiz              asks for one cell of each step first\n"
        "  qkv run the-fat-cat --no-pause | less   all of it\n"
        "  qkv run the-fat-cat --step scores --digits 2\n"
        "  qkv run the-fat-cat --text \"the cat sat\"\n"
        "  qkv run the-fat-cat --set 'W_Q[1,2]=0.5' --from Q\n"
        "  qkv run my-lesson.toml\n"
        "  qkv run --model model.safetensors --text \"…\" --layer 0 --head 2\n",
    .setup = set_up_command<RunOptions, declare, run>,
};

}  // namespace qkv::inline cli
