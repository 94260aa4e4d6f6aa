#pragma once

#include "trace/trace.hpp"

namespace qkv {

/// The axes that givens of such names have as a rule.
void name_as_usual(Trace& trace);

/// The first step that uses a given tells what its axes count, where its name does not. Its leading
/// axis counts sentences where it is data that meets weights without heads, or is yet to be cut
/// into heads; else it counts heads, as where it meets numbers that its heads share or have each,
/// or is called Q, K or V: their norms have a gain for all heads.
void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens);

/// What is left: heads, and tokens where no step uses a given.
void name_unused(Trace& trace, const AxisLabels& tokens);

}  // namespace qkv
