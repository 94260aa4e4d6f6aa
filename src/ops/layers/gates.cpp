#include "ops/layers/gated.hpp"

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv {
namespace {

Tensor made_by(const Operation& operation, const Tensor& numbers, const Options& options = {}) {
  return operation.compute(
      {.step = operation.name, .inputs = {&numbers}, .names = {"gate"}, .options = &options});
}

}  // namespace

std::vector<Tensor> gated_by_silu(const Tensor& gate) { return {made_by(silu_operation, gate)}; }

std::vector<Tensor> gated_by_sigmoid(const Tensor& gate) {
  return {with_numbers(gate, 1 / (1 + xt::exp(-gate.array())))};
}

std::vector<Tensor> gated_by_relu(const Tensor& gate) { return {made_by(relu_operation, gate)}; }

std::vector<Tensor> gated_by_gelu(const Tensor& gate) {
  Options exact;
  exact.set("form", std::string("erf"));
  return {made_by(gelu_operation, gate), made_by(gelu_operation, gate, exact)};
}

}  // namespace qkv
