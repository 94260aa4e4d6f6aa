#include "lesson/file/tables.hpp"

#include "formats/handwork/csv.hpp"

namespace qkv::inline lesson {
namespace {

constexpr std::string_view keys_of_all_steps[] = {"name", "op",     "of",      "title",
                                                  "say",  "notice", "try",     "answer",
                                                  "cell", "show",   "general", "marks"};

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

Place TomlReader::place(const toml::node& node) {
  const toml::source_position& begin = node.source().begin;
  return {begin.line, begin.column};
}

std::nullopt_t TomlReader::fault(const toml::node& at, std::string message) {
  faults_.push_back({place(at), std::move(message)});
  return std::nullopt;
}

void TomlReader::refuse_unknown_keys(const toml::table& table,
                                     std::span<const std::string_view> known,
                                     std::string_view what) {
  for (const auto& [key, value] : table) {
    if (contains(known, key.str())) continue;
    const toml::source_position& begin = key.source().begin;
    const std::string otherwise = fmt::format("it has {}", fmt::join(known, ", "));
    faults_.push_back({{begin.line, begin.column},
                       fmt::format("{} has no \"{}\"; {}", what, key.str(),
                                   did_you_mean(key.str(), known, otherwise))});
  }
}

const toml::table* TomlReader::table(const toml::table& document, std::string_view key,
                                     std::string_view example) {
  const toml::node* node = document.get(key);
  if (node && !node->is_table()) fault(*node, "write [{}] with {} below it", key, example);
  return node ? node->as_table() : nullptr;
}

std::nullopt_t TomlReader::mismatch(const toml::table& table, std::string_view key,
                                    std::string_view wanted) {
  return fault(*table.get(key), "{} must be {}", key, wanted);
}

template <class Value>
std::optional<Value> TomlReader::one(const toml::table& table, std::string_view key,
                                     std::string_view wanted) {
  if (const auto* value = table.get_as<Value>(key)) return value->get();
  if (table.contains(key)) mismatch(table, key, wanted);
  return {};
}

std::optional<std::string> TomlReader::text(const toml::table& table, std::string_view key) {
  return one<std::string>(table, key, "text in quotes");
}

std::optional<bool> TomlReader::flag(const toml::table& table, std::string_view key) {
  return one<bool>(table, key, "true or false");
}

std::optional<std::int64_t> TomlReader::whole(const toml::table& table, std::string_view key) {
  return one<std::int64_t>(table, key, "a whole number");
}

std::optional<std::vector<std::string>> TomlReader::texts(const toml::table& table,
                                                          std::string_view key) {
  const toml::node* node = table.get(key);
  if (!node) return {};
  const toml::array* array = node->as_array();
  if (!array || !(array->empty() || array->is_homogeneous<std::string>())) {
    return mismatch(table, key, "a list of texts: [\"the\", \"cat\"]");
  }
  return mapped(*array, [](const toml::node& text) { return text.as_string()->get(); });
}

std::optional<Shape> TomlReader::shape(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (!node) return {};
  Shape shape;
  const auto add = [&](const toml::node& size) {
    const auto* whole = size.as_integer();
    if (!whole || whole->get() < 0) return false;
    shape.push_back(static_cast<std::size_t>(whole->get()));
    return true;
  };
  const toml::array* sizes = node->as_array();
  const bool good =
      sizes ? !sizes->empty() && std::all_of(sizes->begin(), sizes->end(), add) : add(*node);
  if (!good) return mismatch(table, key, "a size or a list of sizes: [4, 3]");
  try {
    element_count(shape, key);
  } catch (const InputError& error) {
    return fault(*node, error.what());
  }
  return shape;
}

Prose TomlReader::prose(const toml::table& table, std::string_view key) {
  const auto written = text(table, key);
  if (!written) return {};
  const toml::node& node = *table.get(key);
  const auto breaks = std::count(written->begin(), written->end(), '\n');
  const toml::source_region& source = node.source();
  // TOML drops a line break right after """: the text then begins on the next line.
  const bool begins_below =
      source.end.line == source.begin.line + static_cast<toml::source_index>(breaks) + 1;
  return {*written, begins_below ? Place{source.begin.line + 1, 1} : place(node)};
}

bool TomlReader::collect(const toml::node& node, std::size_t depth, ParsedArray& into) {
  const toml::array* array = node.as_array();
  if (!array) {
    const auto* whole = node.as_integer();
    if (whole != nullptr && loses_precision(whole->get())) {
      fault(node, "value: " + refusal(NumeralError::rounded, fmt::to_string(whole->get())));
      return false;
    }
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || std::isnan(*value)) {
      fault(node, "value: this is not a number; write one as in 0.5");
      return false;
    }
    if (depth != into.shape.size()) {
      fault(node, "value: a number stands where a row of {} was expected", into.shape.back());
      return false;
    }
    into.cells.to_write().push_back(parse_numeral(fmt::format("{}", *value)).numeral);
    return true;
  }
  if (depth >= into.shape.size()) {
    fault(node, "value: a list stands where a number was expected");
    return false;
  }
  if (array->size() != into.shape[depth]) {
    fault(node, "value: this row has {} {}, the one before it has {}", array->size(),
          array->size() == 1 ? "entry" : "entries", into.shape[depth]);
    return false;
  }
  for (const toml::node& part : *array) {
    if (!collect(part, depth + 1, into)) return false;
  }
  return true;
}

std::optional<ParsedArray> TomlReader::numbers(const toml::node& node) {
  if (const auto* text = node.as_string()) return read_printed_text(text->get(), "value");
  ParsedArray result;
  const toml::node* first = &node;
  while (const toml::array* array = first->as_array()) {
    result.shape.push_back(array->size());
    if (array->empty()) break;
    first = array->get(0);
  }
  if (!collect(node, 0, result)) return {};
  if (result.shape.empty()) result.shape = {1};
  return result;
}

void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader) {
  std::vector<std::string_view> known(std::begin(keys_of_all_steps), std::end(keys_of_all_steps));
  known.insert(known.end(), own.begin(), own.end());
  reader.refuse_unknown_keys(table, known, fmt::format("a step with op {}", operation));
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
  constexpr std::size_t longest = 100;  // it is part of a file's name, too
  if (name->size() > longest)
    return reader.fault(at, "this name has {} letters; write at most {}", name->size(), longest);
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
