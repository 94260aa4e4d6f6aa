#pragma once

#include <string_view>
#include <vector>

#include "ops/cell.hpp"
#include "ops/mistake.hpp"

namespace qkv {

/// What happens to the rows' losses: "mean", "sum" or "none".
std::string_view reduction_of(const Call& call);

/// Whether the targets, the second operand, are ids rather than shares: a vector, one vector a
/// sentence, or one column.
bool are_ids(const Call& call);
bool are_in_a_column(const Call& call);

/// The target of a row: of all rows of a batch, or of each sentence alike.
std::size_t id_of(const CellBase& c, std::size_t row);

/// The axes of the targets, as a form says them.
std::string_view axes_of_targets(const Call& call);

/// The step's own numbers, each times a factor.
std::vector<Tensor> scaled(const Source& step, double factor);

}  // namespace qkv
