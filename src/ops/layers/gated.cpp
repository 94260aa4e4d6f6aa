#include <functional>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/pairs.hpp"
#include "ops/layers/gated.hpp"

namespace qkv {
namespace {

struct Multiply {
  static Form form(const Call& call) { return form_of_pairs(call, "{0} · {1}, cell by cell"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    if constexpr (std::is_same_v<N, Interval>) {
      if (is_with_itself(c)) return square(c(0)(c.row, c.column));
    }
    return c(0)(c.row, c.column) * beside(c);
  }

  static Tensor compute(const Call& call) {
    return by_pairs(call, form(call), std::multiplies<>());
  }
};

Tensor product(const Source& step, const Tensor& a, const Tensor& b) {
  Call call = call_of(step);
  const bool repeats_first = a.values.size() < b.values.size();
  call.inputs = {repeats_first ? &b : &a, repeats_first ? &a : &b};
  return Multiply::compute(call);
}

// SwiGLU's product (Shazeer, 2020): SiLU(gate), and what it lets through.
struct Gated {
  const Tensor* gate;
  const Tensor* up;
};

// Each reading of the product as SwiGLU's: none where neither factor is a SiLU.
std::vector<Gated> gated(const Source& step) {
  std::vector<Gated> found;
  for (std::size_t k = 0; k < 2; ++k) {
    const Source& factor = *step.inputs[k];
    if (factor.operation == &silu_operation) {
      found.push_back({&factor.operand(), &step.operand(1 - k)});
    }
  }
  return found;
}

// The product with another gate in SiLU's place.
template <std::vector<Tensor> (*gate)(const Tensor&)>
std::vector<Tensor> by_gate(const Source& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    for (const Tensor& let : gate(*one.gate)) versions.push_back(product(step, let, *one.up));
  }
  return versions;
}

std::vector<Tensor> swapped(const Source& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    versions.push_back(product(step, *one.gate, gated_by_silu(*one.up).front()));
  }
  return versions;
}

std::vector<Tensor> of_product(const Source& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    versions.push_back(gated_by_silu(product(step, *one.gate, *one.up)).front());
  }
  return versions;
}

std::vector<Tensor> added(const Source& step) { return {add_operation.compute(call_of(step))}; }

constexpr Mistake multiply_mistakes[] = {
    {"swiglu.swapped", "SiLU was taken of the other factor.", "SiLU goes over the gate.", swapped},
    {"swiglu.of-product", "SiLU was taken of the product.",
     "First SiLU of the gate, then multiply.", of_product},
    {"swiglu.sigmoid", "The gate's sigmoid was multiplied, without the gate itself.",
     "SiLU is x times the sigmoid of x.", by_gate<gated_by_sigmoid>},
    {"swiglu.relu", "ReLU of the gate was multiplied instead of SiLU.", "Multiply by SiLU.",
     by_gate<gated_by_relu>},
    {"swiglu.gelu", "GELU of the gate was multiplied instead of SiLU.", "Multiply by SiLU.",
     by_gate<gated_by_gelu>},
    {"swiglu.added", "The two were added instead of multiplied.", "Multiply cell by cell.", added},
};

// C = A ∘ B: dA = dC ∘ B, and the same the other way round.
struct MultiplyBack {
  static Form form(const Call& call) { return cellwise_form(call, "{0} ∘ {2}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * repeated(c(first_need), c);
  }

  static Tensor compute(const Call& call, Tensor whole) {
    return by_rows(call, std::move(whole), 2, [](const Operands& of, std::span<double> cells) {
      const std::span<const double> change = of.row(arriving);
      const std::span<const double> other = of.row(first_need);
      const std::size_t step = other.size() == 1 ? 0 : 1;
      for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = change[j] * other[j * step];
    });
  }
};

constinit const Operation multiply_back = gradient_of<Gradient<MultiplyBack>>({
    .title = "Back through a product, cell by cell",
    .says = "A number that was multiplied changes the product by as much as the other factor is: "
            "the gradient is multiplied by the other factor. Where one number stood for many, "
            "theirs are added up.",
    .notice = "Where the other factor is 0, nothing comes back.",
    .mistakes = cellwise_back_mistakes<MultiplyBack>,
});

WayBack back_through_multiply(const Use& use) { return {&multiply_back, {1 - use.operand}}; }

}  // namespace

constinit const Operation multiply_operation = operation_of<Multiply>({
    .name = "multiply",
    .title = "Multiply, cell by cell",
    .says =
        "Two matrices of the same size are multiplied, each cell by the cell in the same place. "
        "Unlike a matrix product, nothing is added up. One row, one column or one number repeats.",
    .notice = "Where one of the two is near 0, so is the product: it works as a gate.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .mistakes = multiply_mistakes,
    .way_back = back_through_multiply,
});

}  // namespace qkv
