#pragma once

#include <nlohmann/json.hpp>

#include "verdicts/checked.hpp"

namespace qkv {

/// Where the wrong cells of a step are; null where they fill no block.
nlohmann::ordered_json region_json(const StepReport& step, const Trace& own, Answers answers);

/// The mistakes that make a step's wrong numbers, best first.
nlohmann::ordered_json mistakes_json(const StepReport& step);

}  // namespace qkv
