#include "lesson/file/tables.hpp"

namespace qkv::inline lesson {
namespace {

constexpr std::string_view keys_of_all_steps[] = {"name", "op",     "of",      "title",
                                                  "say",  "notice", "try",     "answer",
                                                  "cell", "show",   "general", "marks"};

// Adds a fault for every key that is neither common to all steps nor one of this operation.
void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader) {
  std::vector<std::string_view> known(std::begin(keys_of_all_steps), std::end(keys_of_all_steps));
  known.insert(known.end(), own.begin(), own.end());
  reader.refuse_unknown_keys(table, known, fmt::format("a step with op {}", operation));
}

constexpr std::string_view backward_keys[] = {"of", "from", "wanted"};

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

bool agrees(const Numeral& printed, double value, int decimals, bool exact) {
  if (std::isnan(printed.value)) return true;  // left blank: nothing was printed
  if (std::isinf(printed.value) || std::isinf(value)) return printed.value == value;
  const int place = printed.scientific ? printed.decimals : decimals;
  const double half = exact && !printed.scientific ? 0 : 0.5 * std::pow(10.0, -place);
  const double noise = 1e-9 * half + 1e-12 * std::max(1.0, std::abs(value));
  return std::abs(printed.value - value) <= half + noise;
}

std::optional<OptionValue> option_value(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  if (const auto* real = node.as_floating_point()) return real->get();
  const auto* list = node.as_array();
  if (!list || list->size() != 2) return {};
  const auto from = (*list)[0].value<double>();
  const auto to = (*list)[1].value<double>();
  if (!from || !to) return {};
  return OptionSpan{*from, *to};
}

std::optional<double> read_marks(const toml::table& table, TomlReader& reader) {
  const toml::node* node = table.get("marks");
  if (!node) return {};
  constexpr double most = 1e6;
  const auto marks = node->value<double>();
  const bool is_sum = marks && *marks >= 0 && *marks <= most &&
                      std::abs(*marks * 100 - std::round(*marks * 100)) < 1e-6;
  if (node->is_number() && is_sum) return marks;
  return reader.fault(*node,
                      "marks must be a number from 0 to 1000000 with at most two decimals, such "
                      "as marks = 7");
}

constexpr std::string_view largest_keyword = "largest";

// Returns whether the walk shows the whole matrix; false also for "largest" numbers only.
bool read_show(const toml::table& table, TomlReader& reader) {
  const toml::node* node = table.get("show");
  if (!node) return true;
  if (const auto flag = node->value_exact<bool>()) return *flag;
  if (node->value_exact<std::string_view>() != largest_keyword) {
    reader.fault(*node, "show must be true, false or \"largest\", for the last row's five largest");
  }
  return false;
}

}  // namespace

std::optional<BackwardSpec> read_backward(const toml::table& table, TomlReader& reader) {
  reader.refuse_unknown_keys(table, backward_keys, "[backward]");
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

std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader) {
  constexpr std::string_view own_keys[] = {"through", "to"};
  refuse_unknown_step_keys(table, own_keys, backward_name, reader);
  const auto through = reader.text(table, "through");
  const auto to = reader.text(table, "to");
  if (!through || !to || of.size() != 1) {
    return reader.fault(table,
                        "a backward step takes the gradient that arrives, the step that it goes "
                        "back through and what that was made of: of = [\"d_scores\"], through = "
                        "\"scores\", to = \"Q\"");
  }
  try {
    return backward_step(recipe, name, std::move(of.front()), *through, *to);
  } catch (const InputError& error) {
    return reader.fault(table, error.what());
  }
}

std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader) {
  constexpr std::string_view keys[] = {"of", "value", "source"};
  reader.refuse_unknown_keys(table, keys, "an [[expect]]");
  const auto of = reader.text(table, "of");
  const toml::node* value = table.get("value");
  if (!of || !value) {
    return reader.fault(table, "an [[expect]] needs of = \"scores\" and value = \"\"\"[[…]]\"\"\"");
  }
  if (!names.is_declared(*of)) {
    names.require(*table.get("of"), *of, reader);
    return {};
  }
  Expectation expectation{.of = *of,
                          .value = {},
                          .source = reader.text(table, "source").value_or(""),
                          .place = TomlReader::place(*value)};
  try {
    auto numbers = reader.numbers(*value);
    if (!numbers) return {};
    expectation.value = *std::move(numbers);
    return expectation;
  } catch (const InputError& error) {
    return reader.fault(*value, error.what());
  }
}

std::string disagreement(const Expectation& expectation, const Trace& trace) {
  const Tensor tensor = as_shown(trace.at(expectation.of), trace.token_layout);
  const ParsedArray& printed = expectation.value;
  // A vector may be printed as a matrix of one row, or the reverse.
  if (without_leading_ones(printed.shape) != without_leading_ones(tensor.shape())) {
    return fmt::format("{} is {}, but {} was published{}", expectation.of,
                       shape_text(tensor.shape()), shape_text(printed.shape),
                       expectation.source.empty() ? "" : " (" + expectation.source + ")");
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
                       printed.cells[i].value,
                       expectation.source.empty() ? "" : " (" + expectation.source + ")");
  }
  return {};
}

Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader) {
  refuse_unknown_step_keys(table, NameViews(operation.options, &OptionRule::name), operation.name,
                           reader);
  Options options;
  for (const OptionRule& rule : operation.options) {
    const toml::node* node = table.get(rule.name);
    if (!node && rule.required) reader.fault(table, "this step needs {}: {}", rule.name, rule.help);
    if (!node) continue;
    auto value = option_value(*node);
    const std::string wrong =
        value ? complaint(rule, *value)
              : fmt::format("{} must be {}", rule.name, rule.span ? choices(rule) : "one value");
    if (!wrong.empty()) {
      reader.fault(*node, wrong);
      continue;
    }
    const std::string name(rule.name);
    try {
      constexpr std::size_t largest = std::size_t{64} << 20;  // a vocabulary is a few megabytes
      if (rule.file) {
        const auto path = file_of_lesson(context.directory, std::get<std::string>(*value));
        options.set_contents(name, read_bytes(path, largest));
      }
    } catch (const InputError& error) {
      reader.fault(*node, error.what());
    }
    options.set(name, std::move(*value));
  }
  return operation.options_for_layout(std::move(options), context.token_layout);
}

StepText read_step_text(const toml::table& table, TomlReader& reader) {
  return {.place = TomlReader::place(*table.get("name")),
          .title = reader.text(table, "title").value_or(""),
          .cell = reader.prose(table, "cell"),
          .works_cell = !table["cell"].value_or(std::string_view(" ")).empty(),
          .show = read_show(table, reader),
          .largest = table["show"].value_or(std::string_view()) == largest_keyword,
          .general = reader.flag(table, "general").value_or(false),
          .say = reader.prose(table, "say"),
          .notice = reader.prose(table, "notice"),
          .marks = read_marks(table, reader),
          .questions = reader.prose(table, "try"),
          .answers = reader.prose(table, "answer")};
}

void LessonNames::declare(const toml::table& document) {
  for (const std::string_view key : {"given", "step"}) {
    const toml::array* tables = document.get(key) ? document.get(key)->as_array() : nullptr;
    for (std::size_t i = 0; tables && i < tables->size(); ++i) {
      const toml::table* table = tables->get(i)->as_table();
      const toml::node* name = table ? table->get("name") : nullptr;
      if (name && name->is_string()) all_.add(name->as_string()->get());
    }
  }
}

void LessonNames::add(const std::string& name) {
  all_.add(name);
  met_.add(name);
}

std::optional<std::string> LessonNames::take(const toml::table& table, std::string_view what,
                                             TomlReader& reader) {
  if (!table.contains("name")) {
    return reader.fault(table, "this {} has no name; write name = \"Q\"", what);
  }
  const auto name = reader.text(table, "name");
  if (!name) return {};
  const toml::node& at = *table.get("name");
  if (!is_name(*name)) {
    return reader.fault(at, "\"{}\" can't be a name; use letters, digits and _, a letter first",
                        *name);
  }
  if (met_.contains(*name)) {
    return reader.fault(at, "\"{}\" is there already; givens and steps share one set of names",
                        *name);
  }
  met_.add(*name);
  return name;
}

void LessonNames::require(const toml::node& at, const std::string& name, TomlReader& reader) const {
  if (met_.contains(name)) return;
  if (all_.contains(name)) {
    reader.fault(
        at, "\"{}\" is made by this step or a later one; a step can only use what stands above it",
        name);
    return;
  }
  const std::string otherwise = met_.all().empty() ? "write it as a [[given]] first"
                                                   : "there are " + abbreviated_list(met_.all());
  reader.fault(at, "nothing is named \"{}\"; {}", name, did_you_mean(name, met_.all(), otherwise));
}

}  // namespace qkv::inline lesson
