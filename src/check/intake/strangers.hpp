#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "check/intake/submission.hpp"

namespace qkv {

/// A file fits nothing by its name, or an array in one by its key.
enum class Stranger { file, array };

/// Notes that nothing is known of that name, and what it may have meant.
void refuse_stranger(Stranger kind, std::string_view name, const std::string& place,
                     const Trace& trace, Submission& submission);

/// The givens and steps by their shapes as they are shown, leading axes of size 1 aside.
using ByShape = std::map<Shape, std::vector<std::string_view>>;
ByShape by_shape(const Trace& trace);

/// The only step of a shape that is not there yet; empty where there is none, or several.
std::string only_one_of(const Shape& shape, const ByShape& names, const Trace& trace,
                        const Submission& submission);

}  // namespace qkv
