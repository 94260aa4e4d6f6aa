#pragma once

#include <vector>

#include "ops/mistake.hpp"

namespace qkv {

/// The step where an operand's heads are taken for each other: all are one of them, or each is the
/// one beside it. Nothing where no operand has several heads.
std::vector<Tensor> with_other_heads(const Source& step);

inline constexpr std::string_view took_another_head =
    "Another head's numbers were taken: each head works on its own.";
inline constexpr std::string_view which_head = "Which head stands behind each number?";

}  // namespace qkv
