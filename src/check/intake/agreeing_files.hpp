#pragma once

#include "check/intake/submission.hpp"

namespace qkv {

/// Whether two files of a step hold the same numbers, as far as both speak of them and to the
/// digits that each was written with. `tensor` is the step's.
bool agree(const HandedFile& one, const HandedFile& other, const Tensor& tensor);

}  // namespace qkv
