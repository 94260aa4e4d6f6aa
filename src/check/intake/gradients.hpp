#pragma once

#include <string>
#include <vector>

#include "lesson/library.hpp"

namespace qkv {

/// The lesson with the gradients of all steps and givens behind its own steps, so that a submission
/// that has them can be judged; a lesson that walks back already is left as it is. They begin at
/// its loss, a last step of one number, or one that is called loss or is a cross-entropy. Without
/// one they begin at the last step whose gradient was handed in (d_output, grad_output,
/// output.grad), and that is taken as it is. Throws InputError where nothing was, where that has
/// not the step's shape or a number is missing in it, and where several paths were handed in, which
/// might begin at several.
LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths);

}  // namespace qkv
