#include "check/grading/distinct.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "text/error.hpp"

namespace qkv {
namespace {

// A lesson's matrices as mistakes look at them. They point at each other, so it stays where it is.
class Sources {
 public:
  explicit Sources(const Trace& trace) : all_(trace.givens.size() + trace.steps.size()) {
    std::map<std::string_view, const Source*> known;
    std::size_t i = 0;
    for (const Given& given : trace.givens) {
      all_[i] = {.name = given.name, .tensor = &given.tensor, .environment = &trace.environment};
      known.emplace(given.name, &all_[i++]);
    }
    for (const Step& step : trace.steps) {
      all_[i] = {.name = step.name,
                 .tensor = &step.output,
                 .operation = step.operation,
                 .options = &step.options,
                 .environment = &trace.environment};
      for (const std::string& input : step.of) all_[i].inputs.push_back(known.at(input));
      known.emplace(step.name, &all_[i++]);
    }
    for (Source& source : all_) source.all = all_;
  }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  std::span<const Source> steps(const Trace& trace) const {
    return std::span(all_).subspan(trace.givens.size());
  }

 private:
  std::vector<Source> all_;
};

// What a learner who makes the mistake gets: one form of it.
struct Version {
  std::string_view id;
  Tensor numbers;
};

std::vector<Version> versions_of(const Source& step) {
  std::vector<Version> versions;
  for (const Mistake& mistake : step.operation->mistakes) {
    try {
      for (Tensor& made : mistake.compute(step)) versions.push_back({mistake.id, std::move(made)});
    } catch (const InputError&) {  // impossible with these shapes
    }
  }
  return versions;
}

bool look_alike(const Tensor& a, const Tensor& b, double unit) {
  if (a.values.size() != b.values.size() || a.rows() != b.rows() || a.columns() != b.columns()) {
    return false;
  }
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i];
    const double y = b.values[i];
    const bool alike = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= unit;
    if (!alike) return false;
  }
  return true;
}

void add_once(std::vector<Indistinct>& found, Indistinct one) {
  const bool known = std::any_of(found.begin(), found.end(), [&](const Indistinct& other) {
    return other.step == one.step && other.id == one.id && other.other == one.other;
  });
  if (!known) found.push_back(std::move(one));
}

enum class Pairs { left_out, included };

std::vector<Indistinct> find(const Trace& trace, double unit, Pairs pairs) {
  const Sources sources(trace);
  std::vector<Indistinct> found;
  for (const Source& step : sources.steps(trace)) {
    const std::string name(step.name);
    const std::vector<Version> versions = versions_of(step);
    for (std::size_t v = 0; v < versions.size(); ++v) {
      const Version& version = versions[v];
      if (look_alike(version.numbers, *step.tensor, unit)) add_once(found, {name, version.id, {}});
      for (std::size_t w = 0; pairs == Pairs::included && w < v; ++w) {
        if (versions[w].id == version.id) continue;
        if (!look_alike(version.numbers, versions[w].numbers, unit)) continue;
        add_once(found, {name, version.id, versions[w].id});
      }
    }
  }
  return found;
}

}  // namespace

std::vector<Indistinct> indistinct_mistakes(const Trace& trace, double unit) {
  return find(trace, unit, Pairs::included);
}

std::vector<Indistinct> invisible_mistakes(const Trace& trace, double unit) {
  return find(trace, unit, Pairs::left_out);
}

}  // namespace qkv
