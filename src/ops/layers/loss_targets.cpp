#include "ops/layers/cross_entropy.hpp"

#include "ops/kinds/formula.hpp"
#include "ops/options.hpp"

namespace qkv {

std::string_view reduction_of(const Call& call) { return call.options->word("reduction", "mean"); }

bool are_ids(const Call& call) {
  const Tensor& logits = *call.inputs[0];
  const Tensor& targets = *call.inputs[1];
  if (targets.rank() == 1) return true;
  const bool is_one_a_sentence = targets.rank() + 1 == logits.rank() &&
                                 targets.rows() == logits.axes[logits.rank() - 3].size &&
                                 targets.columns() == logits.rows();
  return is_one_a_sentence || (targets.columns() == 1 && logits.columns() != 1);
}

bool are_in_a_column(const Call& call) { return call.inputs[1]->rank() >= call.inputs[0]->rank(); }

std::size_t id_of(const CellBase& c, std::size_t row) {
  const Tensor& targets = c.input(1);
  const std::size_t rows = c.input(0).rows();
  const std::size_t first = are_in_a_column(*c.call)        ? c.matching(1) * rows
                            : targets.values.size() == rows ? 0
                                                            : c.matching(0) * rows;
  return static_cast<std::size_t>(targets.values[first + row]);
}

std::string_view axes_of_targets(const Call& call) {
  if (!are_ids(call)) return "token vocabulary";
  if (are_in_a_column(call)) return "token 1";
  return call.inputs[1]->rank() < 2 ? "1 token" : "batch token";
}

std::vector<Tensor> scaled(const Source& step, double factor) {
  return {with_numbers(*step.tensor, step.tensor->array() * factor)};
}

}  // namespace qkv
