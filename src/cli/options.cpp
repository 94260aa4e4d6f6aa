#include "cli/options.hpp"

namespace qkv::inline cli {
CLI::Validator one_of(const std::vector<std::string>& choices) {
  const auto check = [choices](const std::string& wanted) -> std::string {
    if (contains(choices, wanted)) return {};
    return fmt::format("\"{}\" is not possible; {}", wanted, did_you_mean(wanted, choices));
  };
  return {check, fmt::format("{{{}}}", fmt::join(choices, ","))};
}

namespace {

// Returns an error message, or nothing if the text is "theirs=ours".
std::string name_map_error(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto stars = std::ranges::count(text.substr(0, equals), '*');
  if (std::ranges::count(text, '*') > 2 * stars) {
    return fmt::format("\"{}\" has more * after the = than before it; each stands for one of those",
                       text);
  }
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size()) return {};
  return fmt::format(
      "\"{}\" maps no name; write theirs=ours, as in att=scores, or name an existing file of these",
      text);
}

// A map, or the path of a file of maps.
std::string check_name_map(const std::string& text) {
  const bool is_file =
      text.find('=') == std::string::npos && std::filesystem::exists(status_at(text));
  return is_file ? std::string() : name_map_error(text);
}

NameMap name_map(std::string_view text) {
  const std::size_t equals = text.find('=');
  return {.theirs = std::string(trimmed(text.substr(0, equals))),
          .ours = std::string(trimmed(text.substr(equals + 1)))};
}

// Reads a map from each line of a file; # starts a comment.
void add_maps_of(const std::string& file, std::vector<NameMap>& maps) {
  const std::string lines = read_bytes(file);
  std::size_t number = 0;
  for (const std::string_view line : split(without_byte_order_mark(lines), '\n')) {
    ++number;
    const std::string_view map = trimmed(line.substr(0, line.find('#')));
    if (map.empty()) continue;
    if (const std::string why = name_map_error(map); !why.empty())
      refuse(fmt::format("{}:{}", file, number), why);
    maps.push_back(name_map(map));
  }
}

// An error message, or empty if the text is a list of ids.
std::string check_id_list(const std::string& text) {
  for (const std::string_view word : split(text, ',')) {
    const auto id = parse_number<std::uint32_t>(trimmed(word));
    if (!id)
      return fmt::format("\"{}\" is not an id; write whole numbers with commas: 3,1,4", word);
  }
  return {};
}

std::string check_targets(const std::string& text) {
  const std::string fault = trimmed(text) == "next" ? "" : check_id_list(text);
  return fault.empty() ? fault : fault + ", or next";
}

std::vector<std::size_t> ids_in(const std::string& list) {
  return mapped(split(list, ','), [](std::string_view word) {
    return parse_number<std::size_t>(trimmed(word)).value();
  });
}

// What a model's files may not tell.
void add_model_settings(CLI::App& app, ModelSettings& settings) {
  add_value(app, "--tokenizer", settings.tokenizer, "PATH",
            "The model's tokenizer.json, or the directory of vocab.json and merges.txt")
      ->check(check_path);
  // CLI11's delimiter would drop an empty token, which is refused when it is read.
  const auto read_words = [&words = settings.vocabulary](const std::vector<std::string>& lists) {
    for (const std::string& list : lists) {
      for (const std::string_view word : split(list, ',')) words.emplace_back(word);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--vocabulary", read_words, "The model's tokens in the order of their ids, from 0: A,B,C")
      ->type_name("LIST")
      ->allow_extra_args(false);
  add_number(app, "--model-heads", settings.heads, count_from(1),
             "Heads of a layer, if the model's file does not say");
  const auto names = mapped<std::string>(families(), &Family::name);
  add_value(app, "--family", settings.family, "NAME",
            fmt::format("The model's family, if the file does not say: {}", fmt::join(names, ", ")))
      ->check(one_of(names));
}

}  // namespace

void add_name_options(CLI::App& app, NameChoice& choice) {
  const std::vector<std::string> schemes = scheme_names();
  add_value(app, "--map", choice.maps, "THEIRS=OURS",
            "Rename arrays: THEIRS=OURS, or a file of such lines; * stands for text without a dot")
      ->check(check_name_map);
  add_value(app, "--names", choice.scheme, "SCHEME",
            fmt::format("The scheme of the arrays' names: {} (found automatically)",
                        fmt::join(schemes, ", ")))
      ->check(one_of(schemes));
}

NameOptions names_of(const NameChoice& choice) {
  NameOptions names{.scheme = choice.scheme};
  for (const std::string& text : choice.maps) {
    if (text.find('=') == std::string::npos) {
      add_maps_of(text, names.maps);
    } else {
      names.maps.push_back(name_map(text));
    }
  }
  std::map<std::string, std::string> ours;
  std::erase_if(names.maps, [&](const NameMap& map) {
    const auto [first, is_new] = ours.try_emplace(map.theirs, map.ours);
    if (is_new || first->second == map.ours) return !is_new;
    throw InputError("--map: {} is mapped twice, to {} and to {}; keep one of them", map.theirs,
                     first->second, map.ours);
  });
  std::ranges::stable_sort(names.maps, std::greater(), [](const NameMap& map) {
    return std::pair(map.theirs.find('*') == std::string::npos, map.theirs.size());
  });
  return names;
}

CLI::Range count_from(std::int64_t fewest) {
  return {fewest, std::int64_t{std::numeric_limits<std::uint32_t>::max()}};
}

CLI::Range decimals() { return {0, 17}; }

std::string check_path(const std::string& name) {
  return name.empty() ? "the name is empty; write the path of a file or a directory" : "";
}

std::string check_step(const std::string& name) {
  return name.empty() ? "the name is empty; write a step's name or its number" : "";
}

std::string placeholder(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  const std::string type = option.get_type_name();
  return option.get_type_size() == 0 ? "" : type.substr(0, type.find(':'));
}

void add_lesson_options(CLI::App& app, LessonSelection& choice) {
  app.add_option("LESSON", choice.name,
                 "A lesson's name, or a lesson file; leave it out with --model")
      ->required();
  app.add_option("--text", choice.changes.text,
                 "Another sentence of words that the lesson knows (qkv lessons LESSON lists them)");
  add_value(app, "--set", choice.changes.set, "CELL=VALUE",
            "Override a cell: 'W_Q[head 1,1,2]=0.5'; 'W_V[head 1,*,*]=0' sets all of head 1. Later "
            "steps are recomputed. It also sets a step's option: Q_rope.pairing=halves");
  add_value(app, "--patch", choice.changes.patch, "NAME=FILE",
            "Replace a given or a step by a file's numbers: context=other.npy");
  add_model_options(app, choice);
}

void add_model_options(CLI::App& app, LessonSelection& choice) {
  app.option_defaults()->group(model_group);
  add_value(app, "--model", choice.model, "FILE",
            "A trained model instead of a lesson: its .safetensors, index or directory")
      ->check(check_path);
  const auto read_ids = [&ids = choice.changes.ids](const std::string& list) {
    ids = ids_in(list);
  };
  app.add_option_function<std::string>("--ids", read_ids, "Token ids instead of a text: 3,1,4")
      ->type_name("LIST")
      ->check(check_id_list);
  const auto read_targets = [&targets = choice.settings.targets](const std::string& list) {
    const bool next_tokens = trimmed(list) == "next";
    targets = {next_tokens, next_tokens ? std::vector<std::size_t>() : ids_in(list)};
  };
  app.add_option_function<std::string>(
         "--targets", read_targets,
         "Also run the backward pass: the target id for each token (4,1,2), or next (the text's "
         "own next tokens); adds the loss and every gradient")
      ->type_name("LIST")
      ->check(check_targets);
  add_number(app, "--continue", choice.settings.new_tokens, CLI::Range(1, 1024),
             "Let the model add N tokens to the text first, each time the likeliest");
  add_model_settings(app, choice.settings);
  app.option_defaults()->group("Options");
}

std::string shell_words(const LessonSelection& lesson) {
  const bool is_plain = lesson.model.empty() || is_model_file(lesson.name);
  std::string words = (is_plain ? "" : "--model ") + shell_word(lesson.name);
  if (lesson.changes.text) words += " --text " + shell_word(*lesson.changes.text);
  if (lesson.changes.ids) words += fmt::format(" --ids {}", fmt::join(*lesson.changes.ids, ","));
  for (const std::string& change : lesson.changes.set) words += " --set " + shell_word(change);
  for (const std::string& change : lesson.changes.patch) words += " --patch " + shell_word(change);
  const ModelSettings& model = lesson.settings;
  if (model.tokenizer) words += " --tokenizer " + shell_word(*model.tokenizer);
  if (!model.vocabulary.empty()) {
    words += " --vocabulary " + shell_word(fmt::to_string(fmt::join(model.vocabulary, ",")));
  }
  if (model.heads) words += fmt::format(" --model-heads {}", *model.heads);
  if (const auto& targets = model.targets) {
    words += " --targets ";
    words += targets->next_tokens ? "next" : fmt::to_string(fmt::join(targets->ids, ","));
  }
  if (model.new_tokens > 0) words += fmt::format(" --continue {}", model.new_tokens);
  if (model.family) words += " --family " + shell_word(*model.family);
  return words;
}

LoadedLesson load(const LessonSelection& choice, const RequestedSteps& wanted) {
  const bool is_lesson = choice.model.empty() && !is_model_file(choice.name);
  const std::size_t new_tokens = choice.settings.new_tokens;
  ModelSettings continue_only;
  continue_only.new_tokens = new_tokens;
  const auto refuse_if = [](bool is_wrong, std::string_view why) {
    if (is_wrong) throw InputError(why);
  };
  refuse_if(is_lesson && choice.settings.targets,
            "--targets requires --model FILE; a lesson says in its [backward] where its gradients "
            "begin");
  refuse_if(choice.settings.targets && new_tokens > 0,
            "write either --targets or --continue, not both");
  refuse_if(is_lesson && choice.settings != continue_only,
            "--tokenizer, --vocabulary, --model-heads and --family require --model FILE; a lesson "
            "has them in its [model]");
  refuse_if(is_lesson && choice.changes.ids,
            "--ids requires --model FILE; a lesson reads its text");
  refuse_if(choice.changes.ids && choice.changes.text,
            "write either --text or --ids; the model reads one of the two");
  LoadedLesson loaded = !is_lesson
                            ? load_model(choice.name, choice.changes, choice.settings, wanted)
                        : new_tokens > 0 ? continue_lesson(choice.name, choice.changes, new_tokens)
                                         : load_lesson(choice.name, choice.changes, wanted);
  loaded.lesson.asked = shell_words(choice);
  return loaded;
}

void add_step_options(CLI::App& app, StepChoice& choice) {
  CLI::Option* step =
      add_value(app, "--step", choice.steps, "STEP", "Only this step (name or number; repeatable)");
  CLI::Option* from = add_value(app, "--from", choice.from, "STEP", "Start at this step");
  CLI::Option* to = add_value(app, "--to", choice.to, "STEP", "Stop after this step");
  for (CLI::Option* option : {step, from, to}) option->check(check_step);
  for (CLI::Option* option : {from, to}) option->excludes(step);
}

StepRange range_of(const Trace& trace, const StepChoice& choice, StepRange all) {
  if (!choice.from.empty()) all.first = step_index(trace, choice.from);
  if (!choice.to.empty()) all.last = step_index(trace, choice.to);
  if (all.first <= all.last) return all;
  throw InputError("--from {} comes after --to {}; exchange them", choice.from, choice.to);
}

void add_head_option(CLI::App& app, std::optional<std::size_t>& head) {
  add_number(app, "--head", head, count_from(1), "Only this head; the first is 1");
}

std::optional<std::size_t> head_from(std::optional<std::size_t> number, const Trace& trace) {
  if (!number) return {};
  std::size_t most = 0;
  for (const Step& step : trace.steps) {
    for (const Axis& axis : step.output.axes) {
      if (axis.name == "head") most = std::max(most, axis.size);
    }
  }
  if (most == 0 && *number == 1) return {};  // the only head has no axis of its own
  if (*number <= most) return *number - 1;
  throw InputError(most == 0
                       ? "--head: this lesson has no more than one head; leave --head out"
                       : fmt::format("--head {}: the heads count from 1 to {}", *number, most));
}

void add_part_options(CLI::App& app, PartChoice& choice) {
  add_step_options(app, choice);
  add_number(app, "--head", choice.head, count_from(1),
             "Leave out the other heads, and the steps without heads");
  add_value(app, "--row", choice.row, "TOKEN",
            "Ask for this token's row only: its label or its number")
      ->check([](const std::string& row) -> std::string {
        return row.empty() ? "the token is empty; write its label or its number" : "";
      });
}

WorksheetRequest worksheet_request(const PartChoice& choice, const Trace& trace) {
  WorksheetRequest request{.head = head_from(choice.head, trace), .row = choice.row};
  for (const std::string& step : choice.steps) request.steps.push_back(step_index(trace, step));
  if (choice.from.empty() && choice.to.empty()) return request;
  const StepRange range = range_of(trace, choice, {.first = 0, .last = trace.steps.size() - 1});
  for (std::size_t s = range.first; s <= range.last; ++s) request.steps.push_back(s);
  return request;
}

void add_digits_option(CLI::App& app, int& digits) {
  add_number(app, "--digits", digits, decimals(), "Decimals to show (4)");
}

}  // namespace qkv::inline cli
