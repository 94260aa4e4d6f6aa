#pragma once

#include <string>
#include <string_view>

#include "check/check.hpp"
#include "verdicts/checked.hpp"

namespace qkv {

/// "1 cell", "2 cells"
std::string plural(std::size_t count, std::string_view thing);

/// A learner's number as it was written, or nearly: with the decimals of its matrix.
std::string written_number(double value, int digits);

/// The mark of a verdict: ✓ ≈ → ✗ ·
std::string_view sign_of(Verdict verdict);

/// What the marks behind the numbers mean, on as many lines as it takes.
std::string legend(const CheckLook& look);

/// One matrix of a step as the learner has it, with a mark behind each number. Where it is too
/// large for the screen, lines with something wrong go first, and what is left out is told. `own`
/// is the lesson with the learner's numbers.
std::string marked_grid(const StepReport& step, const Trace& own, std::size_t index,
                        const CheckLook& look);

}  // namespace qkv
