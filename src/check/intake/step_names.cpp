#include "check/intake/step_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "formats/files/file_stem.hpp"
#include "text/error.hpp"
#include "text/lowercase.hpp"
#include "trace/backward.hpp"

namespace qkv {
namespace {

constexpr std::string_view all_digits = "0123456789";
constexpr std::string_view separators = " ._-(";

struct AxisWord {
  std::string_view word;
  std::string_view axis;
};
constexpr AxisWord axis_words[] = {
    {"head", "head"}, {"batch", "batch"}, {"h", "head"}, {"b", "batch"}};

// The lesson's name for it: the same, or the only one that is nearly the same.
std::optional<std::string> name_in_lesson(std::string_view name, const Trace& trace) {
  if (trace.find(name)) return std::string(name);
  const std::string loose = loose_name(name);
  // Thousands of files may be held against thousands of names: most begin with another letter.
  const auto may_be = [&](std::string_view known) {
    const bool is_gradient = loose.starts_with('d');  // "X.grad", too
    return !loose.empty() && (is_gradient || ascii_lowercase(known.front()) == loose.front());
  };
  std::optional<std::string> found;
  for (const std::string_view known : names_in(trace)) {
    if (!may_be(known) || loose_name(known) != loose) continue;
    if (found) return {};
    found = std::string(known);
  }
  return found;
}

std::string_view without_last(std::string_view text, std::string_view characters) {
  const std::size_t last = text.find_last_not_of(characters);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// Takes "head 2" and the like off the end of `text`; nothing where it does not end so.
std::optional<std::pair<std::string, std::size_t>> take_place(std::string_view& text) {
  const std::string_view whole = text.substr(0, text.size() - (text.ends_with(')') ? 1 : 0));
  const std::string_view before = without_last(whole, all_digits);
  const std::string_view number = whole.substr(before.size());
  std::size_t value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc()) {
    return {};
  }
  const std::string_view word = without_last(before, separators);
  for (const AxisWord& axis : axis_words) {
    if (!loose_name(word).ends_with(axis.word)) continue;
    text = without_last(word.substr(0, word.size() - axis.word.size()), separators);
    return std::pair(std::string(axis.axis), value);
  }
  return {};
}

// The stem with places that are not written as an export writes them.
std::optional<FileStem> loose_stem(std::string_view text, const Trace& trace) {
  FileStem stem;
  while (const auto place = take_place(text)) {
    stem.places.insert(stem.places.begin(), *place);
    const FileStem rest = file_stem(text);
    const auto name = name_in_lesson(rest.name, trace);
    if (!name || !rest.places.empty()) continue;
    stem.name = *name;
    return stem;
  }
  return {};
}

[[noreturn]] void refuse_places(const std::string& name, const Tensor& tensor,
                                const std::string& file) {
  throw InputError(fmt::format("{}: {} is {}, so its files are named {}{}", file, name,
                               tensor.leading_axes() == 0 ? "one matrix" : "several matrices",
                               example_file(name, tensor),
                               tensor.leading_axes() == 0 ? "" : " and so on"));
}

// Axes go by their names where the file says them all, else by their order.
std::vector<std::size_t> leading_of(const FileStem& stem, const std::string& name,
                                    const Tensor& tensor, const std::string& file) {
  if (stem.places.empty()) return {};
  if (stem.places.size() != tensor.leading_axes()) refuse_places(name, tensor, file);
  std::vector<std::size_t> leading;
  for (std::size_t a = 0; a < tensor.leading_axes(); ++a) {
    const Axis& axis = tensor.axes[a];
    const auto named = std::find_if(stem.places.begin(), stem.places.end(),
                                    [&](const auto& place) { return place.first == axis.name; });
    const auto& [word, number] = named == stem.places.end() ? stem.places[a] : *named;
    if (number < 1 || number > axis.size) {
      throw InputError(fmt::format("{}: there is no {} {}; {} has 1 to {}", file, word, number,
                                   name, axis.size));
    }
    leading.push_back(number - 1);
  }
  return leading;
}

}  // namespace

std::string loose_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (separators.find(c) != std::string_view::npos) continue;
    result += ascii_lowercase(c);
  }
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
    if (ascii_lowercase(known.front()) != loose[1]) continue;  // most, of thousands
    if (loose_name(gradient_name(known)) == loose) return known;
  }
  return {};
}

std::vector<std::string_view> names_in(const Trace& trace) {
  std::vector<std::string_view> names;
  for (const Given& given : trace.givens) names.push_back(given.name);
  for (const Step& step : trace.steps) names.push_back(step.name);
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
  } else if (const auto nearly = loose_stem(without_copy(stem), trace)) {
    parts = *nearly;
  } else {
    return {};
  }
  return StepName{parts.name, leading_of(parts, parts.name, trace.at(parts.name), file)};
}

}  // namespace qkv
