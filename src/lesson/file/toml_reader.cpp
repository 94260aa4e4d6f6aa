#include "lesson/file/tables.hpp"

#include "formats/handwork/csv.hpp"
#include "text/unicode.hpp"

namespace qkv::inline lesson {
namespace {

constexpr std::size_t deepest_key = 16;

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

std::optional<Fault> bad_byte_in(std::string_view toml) {
  Place place;
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t length = utf8_length(toml.substr(at));
    if (length == 0) {
      return Fault{place, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                                      static_cast<unsigned char>(toml[at]))};
    }
    place = toml[at] == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    at += length;
  }
  return {};
}

std::optional<Fault> too_deep_key_in(std::string_view toml) {
  constexpr std::string_view ends_a_key = "=,[]{}\n";
  std::size_t dots = 0;
  for (std::size_t at = 0; at < toml.size(); at = end_of_token(toml, at)) {
    if (toml[at] == '.' && ++dots == deepest_key) {
      return Fault{place_of(toml, at),
                   fmt::format("this key has more than {} parts; a lesson's keys have one, as in "
                               "name = \"Q\"",
                               deepest_key)};
    }
    if (ends_a_key.find(toml[at]) != ends_a_key.npos) dots = 0;
  }
  return {};
}

}  // namespace

std::optional<Fault> prescreen_toml(std::string_view toml) {
  const auto bad = bad_byte_in(toml);
  return bad ? bad : too_deep_key_in(toml);
}

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
  bool good = true;
  if (const toml::array* sizes = node->as_array()) {
    for (const toml::node& size : *sizes) good = good && add(size);
    good = good && !sizes->empty();
  } else {
    good = add(*node);
  }
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

}  // namespace qkv::inline lesson
