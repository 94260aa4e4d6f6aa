#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// The call's axis for each axis name of a form.
using Bindings = std::map<std::string, Axis, std::less<>>;

/// Matches the operands with the form: the same axis name must have the same size everywhere.
/// Throws InputError naming the axis, both sizes and both operands, as in
/// `scores: d_k is 2 in Q (7×2) but 3 in K (7×3)`
Bindings bind(const Call& call, const Form& form);

/// Returns the axes of a call's result as `output_of` does, without values.
Tensor frame_of(const Call& call, const Form& form);

/// Returns a tensor with the form's output axes, uninitialised, with the operands' labels. Leading
/// axes broadcast as in NumPy (sizes equal, 1, or missing). Throws InputError as `bind`.
Tensor output_of(const Call& call, const Form& form);

/// Returns the operands' leading axes, broadcast as in NumPy, or shared if the form shares heads.
/// Throws InputError if they do not fit.
std::vector<Axis> leading_axes(const Call& call, const Form& form);

/// Returns the two axis names of "query d_k".
std::pair<std::string_view, std::string_view> axis_names(std::string_view matrix);

/// True for `row`, `column` and `inner`: these take the name of the operand's own axis.
bool is_placeholder(std::string_view axis);

}  // namespace qkv::inline ops
