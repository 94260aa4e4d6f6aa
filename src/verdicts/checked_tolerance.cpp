#include "verdicts/checked_tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "verdicts/marked_grid.hpp"

namespace qkv {
namespace {

// What the tolerance goes by, in words.
std::string measure_text(const StepReport& step) {
  const std::string decimals =
      plural(static_cast<std::size_t>(std::max(step.digits, 0)), "decimal");
  switch (step.measure) {
    case Measure::decimals: return "you wrote " + decimals;
    case Measure::exponents: return "you wrote powers of ten, fractions or roots";
    case Measure::whole:
    case Measure::rounded: return "you wrote whole numbers";
    case Measure::elsewhere:
      return fmt::format("you wrote whole numbers here, {} elsewhere", decimals);
    case Measure::bfloat16: return "bfloat16 numbers";
    case Measure::float16: return "float16 numbers";
    case Measure::float32: return "float32 numbers";
    case Measure::float64: return "float64 numbers";
    case Measure::copied: return "a given is copied";
    case Measure::asked: return decimals + " asked for";
  }
  throw std::logic_error("a tolerance goes by nothing known");
}

}  // namespace

std::string tolerance_text(const StepReport& step) {
  const std::string how = measure_text(step);
  if (step.measure == Measure::whole || step.measure == Measure::copied) {
    return how + ": a cell is right if it is exact";
  }
  const std::string unit = fmt::format("{:.2g}", step.unit);
  if (step.measure == Measure::exponents) {
    return fmt::format("{}: a cell is right within one in its last digit, {} at most", how, unit);
  }
  return fmt::format("{}: a cell is right within {}", how, unit);
}

}  // namespace qkv
