#include "lesson/file/tables.hpp"
#include "lesson/model/model_lesson.hpp"
#include "text/unicode.hpp"

namespace qkv::inline lesson {
namespace {

// Returns the end of the string or comment that starts at `at`; otherwise `at` + 1. An unclosed
// string ends with its line, or with the file if it may span lines. Each character is read once,
// since a file may be one line of megabytes.
std::size_t end_of_token(std::string_view toml, std::size_t at) {
  const char c = toml[at];
  if (c == '#') return std::min(toml.find('\n', at), toml.size());
  if (c != '"' && c != '\'') return at + 1;
  const std::string_view triple = c == '"' ? R"(""")" : "'''";
  const bool several_lines = toml.substr(at).starts_with(triple);
  const std::string_view quote = several_lines ? triple : triple.substr(0, 1);
  for (std::size_t i = at + quote.size(); i < toml.size(); ++i) {
    if (toml[i] == '\n' && !several_lines) return i;
    if (c == '"' && toml[i] == '\\') {
      ++i;
    } else if (toml[i] == c && toml.substr(i).starts_with(quote)) {
      return i + quote.size();
    }
  }
  return toml.size();
}

Place place_of(std::string_view toml, std::size_t at) {
  const std::string_view before = toml.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n')),
          .column = 1 + code_point_count(before.substr(line_start))};
}

// Checks TOML text for what toml++ reports wrongly or not at all. That is invalid UTF-8, and keys
// of very many parts (a.b.c has three): each is a nested table, so half a million would overflow
// the stack.
std::optional<Fault> prescreen_toml(std::string_view toml) {
  if (const std::size_t bad = first_bad_byte(toml); bad != toml.npos) {
    return Fault{place_of(toml, bad),
                 fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                             static_cast<unsigned char>(toml[bad]))};
  }
  constexpr std::size_t deepest_key = 16;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < toml.size(); at = end_of_token(toml, at)) {
    if (toml[at] == '.' && ++dots == deepest_key) {
      return Fault{place_of(toml, at),
                   fmt::format("this key has more than {} parts; a lesson's keys have one, as in "
                               "name = \"Q\"",
                               deepest_key)};
    }
    if (contains(std::string_view("=,[]{}\n"), toml[at])) dots = 0;  // the key ends
  }
  return {};
}

// from = { output = "d_output" }
std::optional<std::vector<std::pair<std::string, std::string>>> read_from(const toml::table& table,
                                                                          TomlReader& reader) {
  const toml::node& node = *table.get("from");
  std::vector<std::pair<std::string, std::string>> from;
  if (!node.is_table() || node.as_table()->empty()) {
    return reader.fault(
        node, "from says which given arrives at which step: from = { output = \"d_output\" }");
  }
  for (const auto& [step, given] : *node.as_table()) {
    if (!given.is_string()) {
      return reader.fault(given, "write the given's name: from = {{ {} = \"d_{}\" }}", step.str(),
                          step.str());
    }
    from.emplace_back(step.str(), given.as_string()->get());
  }
  return from;
}

// Reads a lesson's [backward] table; nothing, and faults, if it is invalid.
std::optional<BackwardSpec> read_backward(const toml::table& table, TomlReader& reader) {
  constexpr std::string_view keys[] = {"of", "from", "wanted"};
  reader.refuse_unknown_keys(table, keys, "[backward]");
  BackwardSpec backward;
  if (table.contains("of")) {
    const auto of = reader.text(table, "of");
    if (!of) return {};
    backward.of = *of;
  }
  if (table.contains("from")) {
    auto from = read_from(table, reader);
    if (!from) return {};
    backward.from = *std::move(from);
  }
  if (table.contains("wanted")) {
    auto wanted = reader.texts(table, "wanted");
    if (!wanted) return {};
    backward.wanted = *std::move(wanted);
  }
  if (!backward.of.empty() || !backward.from.empty()) return backward;
  return reader.fault(table,
                      "[backward] says where it begins: of = \"loss\", a step of one number, or "
                      "from = { output = \"d_output\" } with a gradient that is a [[given]]");
}

constexpr std::string_view lesson_keys[] = {
    "title",  "summary",    "source", "text", "tokens", "vocabulary", "model",
    "random", "convention", "given",  "step", "expect", "explains",   "backward"};

// Reads the parts of one lesson file in order; faults go to the reader.
struct LessonFile {
  const toml::table& document;
  const LessonFiles& files;
  ParsedLesson& result;
  Lesson& lesson = result.lesson;
  TomlReader reader = TomlReader(result.faults);
  GivenContext context = {};
  LessonNames names = {};
  std::size_t model_steps = 0;                   // number of steps from a model
  std::set<std::string, std::less<>> made = {};  // steps that the file does not define
  bool is_backward_built = false;

  void read() {
    context.directory = files.directory;
    reader.refuse_unknown_keys(document, lesson_keys, "a lesson");
    read_words();
    read_text();
    read_convention();
    read_random(document, context, reader);
    read_model();
    names.declare(document);
    result.declared = names.declared();
    each("given", [this](const toml::table& table) { read_one_given(table); });
    // Steps of a model that could not be read can't be checked.
    if (document.contains("model") && model_steps == 0) return;
    each("step", [this](const toml::table& table) { read_step(table); });
    build_backward();
    each("expect", [this](const toml::table& table) { read_expectation(table); });
    const toml::node* steps = document.get("step");
    const bool none = !steps || (steps->is_array() && steps->as_array()->empty());
    if (none && !document.contains("model")) {
      reader.fault(document, "the lesson has no steps; write [[step]] with name, op and of");
    }
  }

  void read_words() {
    lesson.title = reader.text(document, "title").value_or(lesson.name);
    lesson.summary = reader.text(document, "summary").value_or("");
    lesson.source = reader.text(document, "source").value_or("");
    lesson.explains = reader.texts(document, "explains").value_or(std::vector<std::string>{});
    for (const std::string& op : lesson.explains) known_operation(*document.get("explains"), op);
  }

  void read_text() {
    Environment& environment = lesson.recipe.environment;
    if (const toml::node* text = document.get("text")) {
      environment.batch = text->is_array();
      if (environment.batch) {
        environment.texts = reader.texts(document, "text").value_or(std::vector<std::string>{});
      } else if (const auto one = reader.text(document, "text")) {
        environment.texts = {*one};
      }
    }
    environment.vocabulary =
        reader.texts(document, "vocabulary").value_or(std::vector<std::string>{});
    lesson.recipe.tokens =
        mapped(reader.texts(document, "tokens").value_or(std::vector<std::string>{}), composed);
  }

  void read_convention() {
    const auto token_layout = reader.text(document, "convention");
    if (!token_layout || *token_layout == "rows") return;
    if (*token_layout == "columns") {
      lesson.recipe.token_layout = TokenLayout::columns;
      context.token_layout = TokenLayout::columns;
      return;
    }
    reader.fault(*document.get("convention"), "convention is \"rows\" or \"columns\", not \"{}\"",
                 *token_layout);
  }

  void read_model() {
    const toml::table* table = reader.table(document, "model", "file = \"model.safetensors\"");
    if (!table) return;
    if (lesson.recipe.environment.batch) {
      reader.fault(*document.get("text"), "a model reads one text: write text = \"…\"");
      return;
    }
    auto model = read_model_table(*table, files, lesson.recipe.environment.vocabulary, reader);
    if (!model) return;
    if (lesson.source.empty()) lesson.source = model->source;
    add_model(lesson, std::move(*model), TomlReader::place(*table));
    for (const Given& given : lesson.recipe.givens) names.add(given.name);
    for (const StepRecipe& step : lesson.recipe.steps) {
      names.add(step.name);
      made.insert(step.name);
    }
    model_steps = lesson.recipe.steps.size();
  }

  template <class Read>
  void each(std::string_view key, Read read) {
    const toml::node* node = document.get(key);
    if (!node) return;
    const toml::array* tables = node->as_array();
    const bool good = tables && (tables->empty() || tables->is_array_of_tables());
    if (!good) {
      reader.fault(*node, "write [[{}]] above each {}", key, key);
      return;
    }
    for (const toml::node& table : *tables) read(*table.as_table());
  }

  void read_one_given(const toml::table& table) {
    const auto name = names.take(table, "given", reader);
    std::optional<Given> given = read_given(table, context, reader);
    if (!reader.flag(table, "show").value_or(true) && name) lesson.unshown.push_back(*name);
    if (!name || !given) return;
    lesson.recipe.givens.push_back(std::move(*given));
    lesson.given_places.push_back(TomlReader::place(*table.get("name")));
  }

  const Operation* read_operation(const toml::table& table) {
    if (!table.contains("op")) {
      const std::string name = table["name"].value_or(std::string());
      if (!is_lost(name)) reader.fault(table, without_op(name));
      return nullptr;
    }
    const auto op = reader.text(table, "op");
    return op ? known_operation(*table.get("op"), *op) : nullptr;
  }

  std::string without_op(const std::string& name) const {
    if (name.starts_with(gradient_name("")) && document.contains("backward")) {
      return fmt::format("this step has no op, and no gradient has its name; {}",
                         did_you_mean(name, made));
    }
    if (model_steps == 0) return "this step has no op; write op = \"softmax\"";
    return fmt::format(
        "this step has no op, and the model has none of its name; its steps end with {}",
        lesson.recipe.steps[model_steps - 1].name);
  }

  const Operation* known_operation(const toml::node& place, const std::string& op) {
    if (op == backward_name) return nullptr;
    if (const Operation* operation = find_operation(op)) return operation;
    NameViews known(catalogue(), &Operation::name);
    known.push_back(backward_name);
    reader.fault(place, "there is no op \"{}\"; {}", op, did_you_mean(op, known));
    return nullptr;
  }

  // Returns the operands' names; adds a fault for each that is not defined before this step.
  std::vector<std::string> read_operands(const toml::table& table) {
    const toml::node* node = table.get("of");
    if (!node) return {};
    std::vector<std::string> of;
    if (const auto* one = node->as_string()) {
      of = {one->get()};
    } else if (auto several = reader.texts(table, "of")) {
      of = std::move(*several);
    }
    if (std::ranges::any_of(of, [&](const std::string& name) { return may_be_gradient(name); })) {
      build_backward();
    }
    for (const std::string& name : of) {
      if (!is_lost(name)) names.require(*node, name, reader);
    }
    return of;
  }

  // True if the lesson has no gradient of that name because of a fault that is already known.
  bool is_lost(const std::string& name) const {
    return !result.faults.empty() && document.contains("backward") && may_be_gradient(name);
  }

  bool may_be_gradient(const std::string& name) const {
    return name.starts_with(gradient_name("")) && !names.is_defined(name);
  }

  // Gradients come after the steps that do not use them.
  void build_backward() {
    if (std::exchange(is_backward_built, true)) return;
    const toml::table* table = reader.table(document, "backward", "of = \"loss\"");
    if (!table) return;
    const auto backward = read_backward(*table, reader);
    const bool is_whole = std::ranges::all_of(lesson.recipe.steps, &StepRecipe::operation);
    if (!backward || !is_whole) return;
    try {
      for (StepRecipe& step : backward_steps(lesson.recipe, *backward)) {
        names.add(step.name);
        made.insert(step.name);
        lesson.recipe.steps.push_back(std::move(step));
        StepText& text = lesson.texts.emplace_back();
        text.place = TomlReader::place(*table);
        text.is_made = true;
      }
    } catch (const InputError& error) {
      reader.fault(*table, error.what());
    }
  }

  // Reads the lesson's prose for a step that the file does not define: a model's step or a
  // gradient. Returns false for any other table.
  bool read_words_of_made(const toml::table& table) {
    const std::string name = table["name"].value_or(std::string());
    if (table.contains("op") || name.empty()) return false;
    if (may_be_gradient(name)) build_backward();
    if (!made.contains(name)) return false;
    constexpr std::string_view keys[] = {"name",   "title", "say",  "notice",  "try",
                                         "answer", "cell",  "show", "general", "marks"};
    reader.refuse_unknown_keys(table, keys, "the words for a step that is made");
    StepText& words = lesson.texts[step_index(lesson.recipe, name).value()];
    StepText own = read_step_text(table, reader);
    own.otherwise = words.otherwise;
    if (own.title.empty()) own.title = words.title;
    if (own.say.text.empty()) own.say.text = words.say.text;
    if (own.notice.text.empty()) own.notice.text = words.notice.text;
    words = std::move(own);
    return true;
  }

  void read_step(const toml::table& table) {
    if (read_words_of_made(table)) return;
    const bool goes_back = table["op"].value<std::string_view>() == backward_name;
    const Operation* operation = goes_back ? nullptr : read_operation(table);
    const std::size_t before = result.faults.size();
    std::vector<std::string> of = read_operands(table);  // before the step's own name is defined
    const auto name = names.take(table, "step", reader);
    if (!name) return;
    if (goes_back) return read_step_back(table, *name, std::move(of));
    StepRecipe step{*name, nullptr, std::move(of), {}};
    if (operation) prepare(step, *operation, table);
    if (result.faults.size() > before) step.operation = nullptr;
    lesson.recipe.steps.push_back(std::move(step));
    lesson.texts.push_back(read_step_text(table, reader));
  }

  // Sets the operation of a step, its operands and its options.
  void prepare(StepRecipe& step, const Operation& operation, const toml::table& table) {
    step.operation = &operation;
    step.of = operation.operands_for_layout(std::move(step.of), context.token_layout);
    step.options = read_step_options(table, operation, context, reader);
    try {
      require_operand_count(step);
    } catch (const InputError& error) {
      reader.fault(*table.get("name"), error.what());
    }
  }

  // Reads a step with op = "backward", and of, through and to.
  void read_step_back(const toml::table& table, const std::string& name,
                      std::vector<std::string> of) {
    constexpr std::string_view own_keys[] = {"through", "to"};
    refuse_unknown_step_keys(table, own_keys, backward_name, reader);
    const auto through = reader.text(table, "through");
    const auto to = reader.text(table, "to");
    if (!through || !to || of.size() != 1) {
      reader.fault(table,
                   "a backward step takes the gradient that arrives, the step that it goes "
                   "back through and what that was made of: of = [\"d_scores\"], through = "
                   "\"scores\", to = \"Q\"");
      return;
    }
    try {
      Recipe& recipe = lesson.recipe;
      recipe.steps.push_back(backward_step(recipe, name, std::move(of.front()), *through, *to));
      lesson.texts.push_back(read_step_text(table, reader));
    } catch (const InputError& error) {
      reader.fault(table, error.what());
    }
  }

  void read_expectation(const toml::table& table) {
    constexpr std::string_view keys[] = {"of", "value", "source"};
    reader.refuse_unknown_keys(table, keys, "an [[expect]]");
    const auto of = reader.text(table, "of");
    const toml::node* value = table.get("value");
    if (!of || !value) {
      reader.fault(table, "an [[expect]] needs of = \"scores\" and value = \"\"\"[[…]]\"\"\"");
      return;
    }
    if (!names.is_declared(*of)) return names.require(*table.get("of"), *of, reader);
    const std::string source = reader.text(table, "source").value_or("");
    try {
      const auto numbers = reader.numbers(*value);
      if (!numbers) return;
      lesson.expectations.push_back({*of, *numbers, source, TomlReader::place(*value)});
    } catch (const InputError& error) {
      reader.fault(*value, error.what());
    }
  }
};

// What to write instead of what TOML's parser does not understand: the first whose words are in its
// message.
constexpr std::pair<std::string_view, std::string_view> remedies[] = {
    {"cannot redefine",
     "write it once; above each further step stands [[step]], above a given [[given]]"},
    {"unicode scalar", "write four hexadecimal digits after \\u"},
    {"escape sequence", "write \\\\ for one \\, or put the text in single quotes"},
    {"string:", "end the text with its quote, or put \"\"\" around several lines"},
    {"value type", "put a text in quotes; write a number as in 0.5"},
    {"boolean", "write true or false"},
    {"integer:", "write a number as in 12 or 0.5"},
    {"floating-point", "write a number as in 12 or 0.5"},
    {"array:", "put commas between numbers and between rows, and end each [ with a ]"},
    {"table header", "write [[given]], [[step]] or [[expect]] on a line of its own"},
    {"expected a comment", "end the line after the value; write \\\" for a quote inside a text"},
    {"", "write name = value, with the value on the same line"},
};

}  // namespace

ParsedLesson read_lesson(std::string_view toml, const std::string& where,
                         const LessonFiles& files) {
  ParsedLesson result;
  result.lesson.where = where;
  result.lesson.asked = shell_word(where);
  result.lesson.name = std::filesystem::path(where).stem().string();
  if (auto fault = prescreen_toml(toml)) {
    result.faults.push_back(*std::move(fault));
    return result;
  }
  try {
    const toml::table document = toml::parse(toml, where);
    LessonFile{document, files, result}.read();
  } catch (const toml::parse_error& error) {
    const toml::source_position& begin = error.source().begin;
    const std::string_view what = error.description();
    const auto is_for = [&](const auto& one) { return what.find(one.first) != what.npos; };
    result.faults.push_back(
        {{begin.line, begin.column},
         fmt::format("{}; {}", what, std::ranges::find_if(remedies, is_for)->second)});
  }
  return result;
}

}  // namespace qkv::inline lesson
