#include "ops/attention/score.hpp"

#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv {
namespace {

// The result of one link of the chain with another first operand.
Tensor again(const Source& link, const Tensor& first) {
  Call call = call_of(link);
  call.inputs[0] = &first;
  return link.operation->compute(call);
}

}  // namespace

std::vector<Tensor> without(const Source& step, const Operation& skipped) {
  std::vector<const Source*> links = {&step};
  while (links.back()->operation != &skipped) {
    const Source& link = *links.back();
    if (link.inputs.empty() || link.operation == &score_operation) return {};
    links.push_back(link.inputs[0]);
  }
  if (links.size() < 2) return {};
  Tensor result = links.back()->operand();
  links.pop_back();
  for (; !links.empty(); links.pop_back()) result = again(*links.back(), result);
  return {std::move(result)};
}

std::vector<Tensor> unscaled(const Source& step) { return without(step, scale_operation); }
std::vector<Tensor> unmasked(const Source& step) { return without(step, mask_operation); }

std::vector<Tensor> hidden_afterwards(const Source& step) {
  const Source* masked = behind(&step, mask_operation);
  std::vector<Tensor> results = without(step, mask_operation);
  for (Tensor& result : results) {  // a mask for each head makes several of one matrix
    Call call = call_of(step);
    call.inputs = {masked->tensor, &result};
    result = by_operands(call, *step.tensor, [](const Operands& of) -> Matrix {
      return xt::where(xt::isinf(of(0)), 0.0, of(1));
    });
  }
  return results;
}

Flags seen_up_to(const MatrixView& scores, int ahead) {
  return xt::tril(xt::ones<bool>({scores.shape(0), scores.shape(1)}), ahead);
}

Tensor hidden_ahead(const Tensor& scores, std::size_t first) {
  return by_matrix(scores, [&](const MatrixView& s) -> Matrix {
    return xt::where(seen_up_to(s, static_cast<int>(first)), s, -infinity);
  });
}

std::vector<Tensor> hidden_ahead_either_way(const Tensor& scores) {
  std::vector<Tensor> results = {hidden_ahead(scores, 0)};
  if (1 < scores.rows() && scores.rows() < scores.columns()) {
    results.push_back(hidden_ahead(scores, scores.columns() - scores.rows()));
  }
  return results;
}

std::vector<Tensor> hidden_for_nothing(const Source& step) {
  return hidden_ahead_either_way(*step.tensor);
}

std::vector<Tensor> along_other_axis(const Source& step) {
  Call call = call_of(step);
  Options turned = *call.options;
  const bool down = turned.word("axis", "rows") == "columns";
  turned.set("axis", std::string(down ? "rows" : "columns"));
  call.options = &turned;
  return {step.operation->compute(call)};
}

}  // namespace qkv
