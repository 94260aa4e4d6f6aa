#pragma once

#include <string>
#include <string_view>

#include "render/walk.hpp"

namespace qkv {

/// What is shown of a tensor, where the rest of it is to be found, and what it was before somebody
/// changed the lesson.
struct Exhibit {
  const Tensor& tensor;
  std::string whole;
  const Tensor* before = nullptr;  ///< nullptr where it is the same, or can't be compared
};

/// A given or a step of the lesson. The trace must outlive it.
Exhibit exhibit_of(const Lesson& lesson, const Trace& trace, std::string_view name,
                   const WalkLook& look);

/// How to see a matrix whole: the command, or the key.
std::string way_to_whole(const Lesson& lesson, const Trace& trace, std::string_view name,
                         const WalkLook& look);

/// Its matrices, each under its name, as far as there is room; of more than four the first two and
/// the last.
std::string tensor_text(const Exhibit& exhibit, const Trace& trace, const WalkLook& look);

/// The same of a step's result; weights have dots as well, and what the dots mean stands below.
std::string result_matrix_text(const Exhibit& exhibit, const Trace& trace, bool weights,
                               const WalkLook& look);

}  // namespace qkv
