#include "check/intake/step_names.hpp"

#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline check {
namespace {

constexpr std::string_view all_digits = "0123456789";
constexpr std::string_view separators = " ._-(";

// What file names may call an axis.
constexpr std::pair<std::string_view, std::string_view> axis_words[] = {
    {"head", "head"}, {"batch", "batch"}, {"h", "head"}, {"b", "batch"}};

// Returns the lesson's name for it: the same, or the only similar one.
std::optional<std::string> name_in_lesson(std::string_view name, const Trace& trace) {
  if (trace.find(name)) return std::string(name);
  const std::string loose = loose_name(name);
  // Thousands of files may be compared with thousands of names; most differ in the first letter.
  const auto may_be = [&](std::string_view known) {
    const bool is_gradient = loose.starts_with('d');  // "X.grad", too
    return !loose.empty() && (is_gradient || ascii_lowercase(known.front()) == loose.front());
  };
  const auto found = filtered(names_in(trace), [&](std::string_view known) {
    return may_be(known) && loose_name(known) == loose;
  });
  return found.size() == 1 ? std::optional<std::string>(found.front()) : std::nullopt;
}

std::string_view without_last(std::string_view text, std::string_view characters) {
  const std::size_t last = text.find_last_not_of(characters);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// Takes "head 2" and the like off the end of `text`; empty if there is none.
std::optional<std::pair<std::string, std::size_t>> take_place(std::string_view& text) {
  const std::string_view whole = text.substr(0, text.size() - (text.ends_with(')') ? 1 : 0));
  const std::string_view before = without_last(whole, all_digits);
  const std::string_view number = whole.substr(before.size());
  const auto value = parse_number<std::size_t>(number);
  if (!value) return {};
  const std::string_view words = without_last(before, separators);
  for (const auto& [word, axis] : axis_words) {
    if (!loose_name(words).ends_with(word)) continue;
    text = without_last(words.substr(0, words.size() - word.size()), separators);
    return std::pair(std::string(axis), *value);
  }
  return {};
}

// Parses a stem with indices in another form than an export's.
std::optional<FileStem> loose_stem(std::string_view text, const Trace& trace) {
  FileStem stem;
  constexpr std::size_t most = 8;  // of an array's axes, however long its name is
  while (const auto place = stem.places.size() < most ? take_place(text) : std::nullopt) {
    stem.places.insert(stem.places.begin(), *place);
    const FileStem rest = file_stem(text);
    const auto name = name_in_lesson(rest.name, trace);
    if (!name || !rest.places.empty()) continue;
    stem.name = *name;
    return stem;
  }
  return {};
}

// Axes are matched by name if the file names them all, else by order.
std::vector<std::size_t> leading_of(const FileStem& stem, const std::string& name,
                                    const Tensor& tensor, const std::string& file) {
  if (stem.places.empty()) return {};
  if (stem.places.size() != tensor.leading_axes()) {
    const bool is_one = tensor.leading_axes() == 0;
    throw InputError("{}: {} is {}, so its files are named {}{}", file, name,
                     is_one ? "one matrix" : "several matrices", example_file(name, tensor),
                     is_one ? "" : " and so on");
  }
  std::vector<std::size_t> leading;
  for (std::size_t a = 0; a < tensor.leading_axes(); ++a) {
    const Axis& axis = tensor.axes[a];
    const auto named =
        std::ranges::find(stem.places, axis.name, &std::pair<std::string, std::size_t>::first);
    const auto& [word, number] = named == stem.places.end() ? stem.places[a] : *named;
    if (number < 1 || number > axis.size) {
      throw InputError("{}: there is no {} {}; {} has 1 to {}", file, word, number, name,
                       axis.size);
    }
    leading.push_back(number - 1);
  }
  return leading;
}

}  // namespace

std::string loose_name(std::string_view name) {
  std::string result = ascii_lowercase(std::string(name));
  std::erase_if(result, [](char c) { return separators.find(c) != std::string_view::npos; });
  constexpr std::string_view gradient = "grad";
  if (result.size() <= gradient.size()) return result;
  if (result.starts_with(gradient)) return "d" + result.substr(gradient.size());
  if (result.ends_with(gradient)) return "d" + result.substr(0, result.size() - gradient.size());
  return result;
}

std::optional<std::string_view> name_of_gradient(std::string_view name, const Trace& trace) {
  const std::string loose = loose_name(name);
  if (loose.size() < 2 || loose.front() != 'd') return {};
  for (const std::string_view known : names_in(trace)) {
    if (ascii_lowercase(known.front()) != loose[1]) continue;  // rules out most of thousands
    if (loose_name(gradient_name(known)) == loose) return known;
  }
  return {};
}

bool is_of_given(std::string_view name, const Trace& trace) {
  return trace.given_names.contains(name_of_gradient(name, trace).value_or(name));
}

std::vector<std::string_view> names_in(const Trace& trace) {
  NameViews names(trace.givens, &Given::name);
  names.add(trace.steps, &Step::name);
  return names;
}

std::string example_file(const std::string& name, const Tensor& tensor) {
  std::string places;
  for (std::size_t a = 0; a < tensor.leading_axes(); ++a)
    places += "." + tensor.axes[a].name + "-1";
  return name + places + ".csv";
}

std::optional<StepName> step_name(std::string_view stem, const Trace& trace,
                                  const std::string& file) {
  FileStem parts = file_stem(stem);
  if (const auto name = name_in_lesson(parts.name, trace)) {
    parts.name = *name;
  } else if (const auto nearly = loose_stem(strip_copy_suffix(stem), trace)) {
    parts = *nearly;
  } else {
    return {};
  }
  return StepName{parts.name, leading_of(parts, parts.name, trace.at(parts.name), file)};
}

}  // namespace qkv::inline check
