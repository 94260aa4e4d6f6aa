#include "page/ways.hpp"

#include "ops/result.hpp"

namespace qkv {
namespace {

constexpr char apart = '\n';

void add_way(Trace& result, const Trace& trace, const Step& step) {
  std::string before = step.of.empty() ? "" : step.of.front();
  for (Part& part : step.operation->parts(trace.call(step))) {
    std::string name = way_name(step.name, part.title);
    result.add(Step{.name = name,
                    .operation = part.operation,
                    .of = {std::move(before)},
                    .options = step.options,
                    .output = std::move(part.tensor)});
    before = std::move(name);
  }
}

}  // namespace

std::string way_name(std::string_view step, std::string_view title) {
  return std::string(step).append(1, apart).append(title);
}

std::string_view shown_name(std::string_view name) {
  return name.substr(name.find(apart) + 1);  // of npos: all of it
}

Trace with_ways(const Lesson& lesson, const Trace& trace) {
  Trace result;
  result.convention = trace.convention;
  result.environment = trace.environment;
  result.length = trace.length;
  for (const Given& given : trace.givens) result.add(given);
  for (const Step& step : trace.steps) {
    if (step.operation->parts && lesson.texts[step.number - 1].show) add_way(result, trace, step);
    result.add(step);
  }
  return result;
}

}  // namespace qkv
