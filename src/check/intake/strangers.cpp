#include "check/intake/strangers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check/intake/layout.hpp"
#include "check/intake/step_names.hpp"
#include "text/suggest.hpp"
#include "trace/labels.hpp"

namespace qkv {

void refuse_stranger(Stranger kind, std::string_view name, const std::string& place,
                     const Trace& trace, Submission& submission) {
  const auto example = [&](const std::string& step) {
    return kind == Stranger::file ? example_file(step, trace.at(step))
                                  : fmt::format("\"{}\"", step);
  };
  const std::vector<std::string_view> names = names_in(trace);
  if (const auto of = name_of_gradient(name, trace)) {
    submission.notes.push_back(fmt::format(
        "{} fits no step of this lesson; is it the gradient of {}? --gradients judges it, where "
        "numbers flow from there to the loss",
        place, *of));
    return;
  }
  const std::string near = nearest(name, names);
  submission.notes.push_back(
      fmt::format("{} fits no step of this lesson; {}", place,
                  near.empty() ? fmt::format("{} is named after its step, as in {}",
                                             kind == Stranger::file ? "a file" : "an array",
                                             example(trace.steps.back().name))
                               : fmt::format("did you mean {}?", example(near))));
}

ByShape by_shape(const Trace& trace) {
  ByShape names;
  for (const std::string_view name : names_in(trace)) {
    const Tensor& tensor = trace.at(name);
    Shape shown = tensor.shape();
    if (is_turned(tensor, trace.convention)) std::swap(shown.back(), shown[shown.size() - 2]);
    names[without_leading_ones(shown)].push_back(name);
  }
  return names;
}

std::string only_one_of(const Shape& shape, const ByShape& names, const Trace& trace,
                        const Submission& submission) {
  const auto alike = names.find(without_leading_ones(shape));
  if (alike == names.end()) return {};
  std::string_view found;
  for (const std::string_view name : alike->second) {
    const bool is_there = std::ranges::any_of(
        submission.files, [&](const HandedFile& file) { return file.name == name; });
    if (is_there) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return trace.find_step(found) ? std::string(found) : std::string();
}

}  // namespace qkv
