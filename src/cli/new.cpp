#include "check/grading/advice.hpp"
#include "cli/options.hpp"
#include "formats/files/write_file.hpp"
#include "lesson/generate/new_lesson.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

struct NewOptions {
  std::string file;
  std::string style = "classic";
  std::uint32_t seed = 0;
  std::optional<std::size_t> tokens, d_model, heads, key_heads;
  bool causal = false;
  bool force = false;
};

// True if a lesson's words can name the file; for others they keep the default.
bool can_be_told(const std::string& file) {
  return file.find_first_of("\"'\\{}`") == file.npos && sanitise(file) == file;
}

// Each key head must serve equally many query heads.
void refuse_groups(const NewOptions& options, std::size_t heads) {
  if (!options.key_heads) return;
  if (options.style != "llama") {
    throw InputError(
        "--kv-heads: heads share keys in --style llama only; add that, or leave --kv-heads out");
  }
  if (heads % *options.key_heads == 0) return;
  const auto fitting =
      places_where(heads + 1, [&](std::size_t k) { return k > 0 && heads % k == 0; });
  throw InputError("--kv-heads: {} heads of queries can't share {} of keys evenly; write one of {}",
                   heads, *options.key_heads, fmt::join(fitting, ", "));
}

NewLesson wishes_of(const NewOptions& options) {
  const auto style = options.style == "llama" ? LessonStyle::llama : LessonStyle::classic;
  NewLesson request = default_lesson(style);
  request.seed = options.seed;
  request.tokens = options.tokens.value_or(request.tokens);
  request.d_model = options.d_model.value_or(request.d_model);
  request.heads = options.heads.value_or(request.heads);
  request.causal = request.causal || options.causal;
  refuse_groups(options, request.heads);
  request.key_heads = options.key_heads.value_or(0);
  if (options.file != "-" && can_be_told(options.file)) request.file = shell_word(options.file);
  return request;
}

int run(const NewOptions& options, const CommonOptions&) {
  if (options.file != "-") refuse_unless_file(options.file);
  if (options.file != "-" && !options.force && std::filesystem::exists(status_at(options.file))) {
    throw InputError("{} exists; name another file, or replace it with --force", options.file);
  }
  // An error is visible if it exceeds two units of the third decimal.
  const std::string lesson = new_lesson(wishes_of(options), [](const Trace& trace) {
    return indistinguishable_mistakes(trace, 0.002).size();
  });
  if (options.file == "-") {
    print(lesson);
    return 0;
  }
  write_atomically(options.file, lesson);
  print_error(fmt::format("{} is written; now try\n  qkv run {}\n", sanitise(options.file),
                          sanitise(shell_word(options.file))));
  return 0;
}

// A size with a default for each style.
void add_size(CLI::App& app, const std::string& name, std::optional<std::size_t>& size,
              std::size_t NewLesson::*member, int fewest, int most, const std::string& help) {
  const std::size_t usual = default_lesson(LessonStyle::classic).*member;
  const std::size_t of_llama = default_lesson(LessonStyle::llama).*member;
  add_number(app, name, size, CLI::Range(fewest, most),
             fmt::format("{}, {} to {} ({}; llama: {})", help, fewest, most, usual, of_llama));
}

void declare(CLI::App& app, NewOptions& options) {
  app.add_option("FILE", options.file, "The lesson file to write; - for the screen")
      ->check(check_path)
      ->required();
  add_value(app, "--style", options.style, "STYLE",
            "classic: attention alone; llama: a whole block with RMSNorm, rotary positions,\n"
            "heads that share keys, SwiGLU and residuals (classic)")
      ->check(one_of({"classic", "llama"}));
  add_number(app, "--seed", options.seed, count_from(0),
             "Other numbers (0); the same seed gives the same lesson");
  add_size(app, "--tokens", options.tokens, &NewLesson::tokens, fewest_tokens, most_tokens,
           "How many tokens");
  add_size(app, "--d-model", options.d_model, &NewLesson::d_model, smallest_d_model,
           largest_d_model, "The width of an embedding");
  add_size(app, "--heads", options.heads, &NewLesson::heads, 1, most_heads, "How many heads");
  add_number(app, "--kv-heads", options.key_heads, CLI::Range(1, int{most_heads}),
             "How many heads of keys and values they share, in --style llama (half of them)");
  app.add_flag("--causal", options.causal, "No token looks at later ones, as always in llama");
  app.add_flag("--force", options.force, "Replace the file if it exists");
  add_sync_option(app);
}

}  // namespace

constinit const Command new_command{
    .name = "new",
    .summary = "writes a small lesson with numbers fit for hand work",
    .examples =
        "  qkv new by-hand.toml\n"
        "  qkv new exam.toml --seed 7 --causal          another lesson for each seed\n"
        "  qkv new wide.toml --tokens 5 --d-model 8 --heads 2\n"
        "  qkv new block.toml --style llama             a whole block, as models have it\n",
    .setup = set_up_command<NewOptions, declare, run>,
};

}  // namespace qkv::inline cli
