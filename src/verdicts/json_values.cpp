#include "verdicts/json_values.hpp"

#include <cmath>

#include "trace/labels.hpp"

namespace qkv {

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 Convention convention) {
  const bool turned = is_turned(tensor, convention);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const std::vector<std::size_t> leading = leading_index(tensor, cell.matrix);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    json[tensor.axes[a].name.empty() ? "head" : tensor.axes[a].name] = leading[a] + 1;
  }
  json["row"] = (turned ? cell.column : cell.row) + 1;
  json["column"] = (turned ? cell.row : cell.column) + 1;
  return json;
}

}  // namespace qkv
