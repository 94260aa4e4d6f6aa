#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// The axes that each name of a form stands for in this call.
using Bindings = std::map<std::string, Axis, std::less<>>;

/// Fits the operands to the form: the same axis name must have the same size everywhere. Throws
/// InputError naming the axis, both sizes and both operands, as in
/// `scores: d_k is 2 in Q (7×2) but 3 in K (7×3)`.
Bindings bind(const Call& call, const Form& form);

/// The result of a call without its numbers: its axes as those of `output_of`.
Tensor frame_of(const Call& call, const Form& form);

/// A tensor with the form's output axes, its cells yet to be written: the axes' labels come from
/// the operands, and the leading axes repeat as NumPy's do (sizes equal, 1, or missing). Throws
/// InputError as `bind`.
Tensor output_of(const Call& call, const Form& form);

/// The leading axes that all operands share by NumPy's rule, and by the form's where heads may be
/// shared. Throws InputError where they do not fit.
std::vector<Axis> leading_axes(const Call& call, const Form& form);

/// The two axis names of "query d_k".
std::pair<std::string_view, std::string_view> axis_names(std::string_view matrix);

/// An axis called `row`, `column` or `inner` in a form takes the name that the operand's own axis
/// has.
bool is_placeholder(std::string_view axis);

}  // namespace qkv::inline ops
