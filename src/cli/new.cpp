#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <memory>

#include "check/distinct.hpp"
#include "cli/command.hpp"
#include "cli/option_list.hpp"
#include "cli/sync_option.hpp"
#include "cli/values.hpp"
#include "formats/write_file.hpp"
#include "lesson/new_lesson.hpp"
#include "text/error.hpp"
#include "text/visible.hpp"

namespace qkv {
namespace {

struct NewOptions {
  std::string file;
  NewLesson wishes;
  bool force = false;
};

// A mistake shows where it is off by more than two units of the third decimal.
std::size_t hidden_at_three_decimals(const Trace& trace) {
  constexpr double unit = 0.002;
  return indistinct_mistakes(trace, unit).size();
}

// A name that a shell and a lesson file take as it stands; others keep the usual one.
bool is_plain(const std::string& file) {
  return std::all_of(file.begin(), file.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

int run(const NewOptions& options) {
  std::error_code ignored;
  if (options.file != "-" && !options.force && std::filesystem::exists(options.file, ignored)) {
    throw InputError(fmt::format(
        "{} is there already; name another file, or add --force to replace it", options.file));
  }
  NewLesson wishes = options.wishes;
  if (options.file != "-" && is_plain(options.file)) wishes.file = options.file;
  const std::string lesson = new_lesson(wishes, hidden_at_three_decimals);
  if (options.file == "-") {
    print(lesson);
    return 0;
  }
  write_whole(options.file, lesson);
  const std::string file = visible(options.file);
  tell(fmt::format("{} is written; now try\n  qkv run {}\n", file, file));
  return 0;
}

template <class Size>
void add_size(OptionList& app, const std::string& name, Size& size, Size fewest, Size most,
              const std::string& says) {
  app.add_option(name, size, whole_number(fewest, most),
                 fmt::format("{}, {} to {} ({})", says, fewest, most, size));
}

std::function<int()> set_up_new(OptionList& app, const Common&) {
  const auto options = std::make_shared<NewOptions>();
  app.add_argument(options->file, a_file(), "The lesson file to write; - for the screen")
      ->required();
  NewLesson& wishes = options->wishes;
  app.add_option("--seed", wishes.seed, whole_number(0, std::numeric_limits<std::uint32_t>::max()),
                 "Other numbers (0); the same seed gives the same lesson");
  add_size(app, "--tokens", wishes.tokens, fewest_tokens, most_tokens, "How many tokens");
  add_size(app, "--d-model", wishes.d_model, smallest_d_model, largest_d_model,
           "The width of an embedding");
  add_size(app, "--heads", wishes.heads, std::size_t{1}, most_heads, "How many heads");
  app.add_flag("--causal", wishes.causal, "No token looks at later ones");
  app.add_flag("--force", options->force, "Replace the file if it is there");
  add_sync_option(app);
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command new_command{
    .name = "new",
    .summary = "writes a small lesson with numbers fit for hand work",
    .examples =
        "  qkv new by-hand.toml\n"
        "  qkv new exam.toml --seed 7 --causal          another lesson for each seed\n"
        "  qkv new wide.toml --tokens 5 --d-model 8 --heads 2\n",
    .setup = set_up_new,
    .files = FileUse::writes,
};

}  // namespace qkv
