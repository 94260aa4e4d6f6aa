#pragma once

#include <nlohmann/json.hpp>

#include "trace/reference.hpp"

namespace qkv::inline verdicts {

/// JSON has no infinities and no NaN: they are the strings "inf", "-inf" and "nan".
nlohmann::ordered_json json_number(double value);

/// Where a cell stands, as people count: its head and batch, its row and its column.
nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 Convention convention);

}  // namespace qkv::inline verdicts
