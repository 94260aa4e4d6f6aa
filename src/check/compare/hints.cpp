#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/compare/compare.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/strings.hpp"

namespace qkv::inline check {
namespace {

// Which of some steps each of them follows from, itself included; they stand in the lesson's order.
std::vector<std::vector<bool>> ancestors_of(const std::vector<const Step*>& steps) {
  std::map<std::string_view, std::size_t> places;
  std::vector<std::vector<bool>> ancestors;
  for (const Step* step : steps) {
    std::vector<bool> own(steps.size());
    own[ancestors.size()] = true;
    for (const std::string& input : step->of) {
      const auto place = places.find(input);
      if (place == places.end()) continue;
      const std::vector<bool>& before = ancestors[place->second];
      for (std::size_t i = 0; i < before.size(); ++i) own[i] = own[i] || before[i];
    }
    places.emplace(step->name, ancestors.size());
    ancestors.push_back(std::move(own));
  }
  return ancestors;
}

// Returns the step that leaves the fewest to search, whether it agrees or not.
std::string halving_step(const std::vector<const Step*>& steps) {
  std::string best;
  std::size_t most = 0;
  const auto ancestors = ancestors_of(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto before = static_cast<std::size_t>(std::ranges::count(ancestors[i], true));
    const std::size_t left_out = std::min(before, steps.size() + 1 - before);
    if (left_out < most) continue;
    most = left_out;
    best = steps[i]->name;
  }
  return best;
}

}  // namespace

std::optional<Bisection> bisect(const Comparison& comparison, const Trace& trace) {
  if (!comparison.first) return {};
  const ComparedStep& first = comparison.steps[*comparison.first];
  const Step* last = trace.find_step(first.name);
  if (last == nullptr || is_missing(first.agreement)) return {};
  std::set<std::string_view> submitted;
  for (const ComparedStep& step : comparison.steps) {
    if (!is_missing(step.agreement)) submitted.insert(step.name);
  }
  Bisection result{.differs = first.name};
  std::set<std::string_view> needed = {last->name};
  std::vector<const Step*> missing;
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    if (!needed.contains(step->name)) continue;
    if (&*step != last && submitted.contains(step->name)) {
      if (result.agrees.empty()) result.agrees = step->name;
      continue;
    }
    if (&*step != last) missing.insert(missing.begin(), &*step);
    needed.insert(step->of.begin(), step->of.end());
  }
  for (const Step* step : missing) result.not_submitted.push_back(step->name);
  result.dump = halving_step(missing);
  return result;
}

std::vector<std::string> suggested_maps(const Comparison& comparison, bool ours_is_actual) {
  constexpr std::size_t most = 16;                                    // arrays that are looked up
  std::map<std::size_t, std::vector<const ComparedMatrix*>> missing;  // by their number of cells
  std::vector<const ComparedMatrix*> unknown;
  for (const ComparedStep& step : comparison.steps) {
    if (!is_missing(step.agreement)) continue;
    const ComparedMatrix* matrix = step.actual != nullptr ? step.actual : step.desired;
    if ((step.actual != nullptr) == ours_is_actual) {
      missing[matrix->tensor.values.size()].push_back(matrix);
    } else if (unknown.size() < most && step.name.find_first_of("*=") == std::string::npos) {
      unknown.push_back(matrix);
    }
  }
  std::vector<std::string> maps;
  for (const ComparedMatrix* theirs : unknown) {
    auto& candidates = missing[theirs->tensor.values.size()];
    const auto fit = [&](const ComparedMatrix* ours) { return likeness_of(*ours, *theirs); };
    const auto found = std::ranges::max_element(candidates, {}, fit);
    if (found == candidates.end() || fit(*found) == Likeness::none) continue;
    maps.push_back(fmt::format("{}={}", theirs->name, (*found)->name));
    candidates.erase(found);  // another array is another step
  }
  return maps;
}

std::string map_options(const std::vector<std::string>& maps) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, maps.size()); ++i) {
    text += fmt::format("{}--map {}", i == 0 ? "" : " ", printable(shell_word(maps[i])));
  }
  return text + (maps.size() > most ? " …" : "");
}

}  // namespace qkv::inline check
