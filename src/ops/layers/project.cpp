#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/product.hpp"

namespace qkv::inline ops {
namespace {

// The axes of a weight that is stored out × in.
struct RowsTimesRows : RowsTimesColumns {
  static constexpr std::string_view second = "column inner";
  static constexpr RightSide right = RightSide::transposed;
};

constexpr GradientWords rows_words{
    "Back to the rows before the weights",
    "Each number of a row was multiplied by a row of weights. So its gradient is the sum of the "
    "columns' gradients, times the same weights.",
    "The weight matrix is transposed, compared with the forward pass."};

constexpr GradientWords projection_words{
    "Back to the weight",
    "Every token used the weight once. So its gradient is the sum over the tokens of the input "
    "times the gradient of the output.",
    "It has the shape of the weight. A step of training subtracts a little of it."};

using GradProjectionBias = BiasBackward<"the sums of the columns of {0}">;

RightSide side_of_weight(const Options& options) {
  const bool out_in = options.word("layout", "in-out") == "out-in";
  return out_in ? RightSide::transposed : RightSide::as_is;
}

/// The backward rule of project: to its rows, its weight in either layout, and its bias.
BackwardRule project_backward(const OperandRef& use) {
  if (use.operand == 2) return rule_of<Repeated<GradProjectionBias>>(use);
  return side_of_weight(*use.options) == RightSide::transposed
             ? backward_by<GradFirst<RowsTimesRows, rows_words>,
                           GradSecond<RowsTimesRows, projection_words>>(use)
             : backward_by<GradFirst<RowsTimesColumns, rows_words>,
                           GradSecond<RowsTimesColumns, projection_words>>(use);
}

constexpr std::string_view layouts[] = {"in-out", "out-in"};
constexpr OptionRule project_options[] = {
    {.name = "layout",
     .help = "how the weight is stored: in × out, or out × in as PyTorch's nn.Linear does",
     .list = layouts},
};

struct Project {
  static constexpr bool is_uniform = true;
  static Form form(const Call& call) {
    const bool is_transposed = side_of_weight(*call.options) == RightSide::transposed;
    Form form = is_transposed ? ProductMaths<RowsTimesRows>::form(call)
                              : ProductMaths<RowsTimesColumns>::form(call);
    if (call.inputs.size() == 3) {
      form.operands.push_back("1 column");
      form.formula += " + {2}";
      form.formula_by_columns += " + {2}";
    }
    return form;
  }

  static auto cell(const auto& c) { return product_cell(c, side_of_weight(*c.call->options)); }

  static Tensor compute(const Call& call) {
    // [row inner]·[inner column] → [row column]
    return product(call, form(call), side_of_weight(*call.options));
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, side_of_weight(*call.options));
  }
};

Tensor with_weight(const StepView& step, const Tensor& weight, const Tensor* bias = nullptr) {
  Call call = call_of(step);
  call.inputs[1] = &weight;
  if (bias) call.inputs[2] = bias;
  return Project::compute(call);
}

// Every other weight of the lesson that has the same size, with this step's bias; then the weight
// and the bias of every other projection; then those of another head.
Versions wrong_weight(const StepView& step) {
  Versions results;
  const StepView& own = *step.inputs[1];
  for (const StepView& other : step.all) {
    const bool is_weight = !other.operation && other.tensor->rank() >= 2 &&
                           other.name != own.name && &other != step.inputs[0];
    if (!is_weight || other.tensor->shape() != own.tensor->shape()) continue;
    results.push_back(with_weight(step, *other.tensor));
  }
  const bool has_bias = step.inputs.size() == 3;
  for (const StepView& other : step.all) {
    if (other.operation != step.operation || other.name == step.name) continue;
    if (!has_bias || other.inputs.size() < 3) continue;
    const auto is_alike = [&](std::size_t k) {
      return other.operand(k).shape() == step.operand(k).shape();
    };
    if (!is_alike(1) || !is_alike(2)) continue;
    results.push_back(with_weight(step, other.operand(1), &other.operand(2)));
  }
  const Versions weights = one_head_in_all(step.operand(1));
  const Versions biases = has_bias ? one_head_in_all(step.operand(2)) : Versions();
  for (std::size_t head = 0; head < weights.size(); ++head) {
    results.push_back(with_weight(step, weights[head]));
    if (biases.size() != weights.size()) continue;
    results.push_back(with_weight(step, weights[head], &biases[head]));
  }
  return results;
}

// Only the output projection follows the weighted sum.
Versions output_skipped(const StepView& step) {
  for (const Operation* joined : {&weighted_sum_operation, &concat_heads_operation}) {
    if (upstream(step.inputs[0], *joined)) return {*step.inputs[0]->tensor};
  }
  return {};
}

// With a weight for each head, programs compute all heads in one product and then split it: here
// wrongly.
template <Tensor (*split)(const Tensor& joined, const Tensor& heads)>
Versions heads_split_by(const StepView& step) {
  if (step.operand(1).matrices() < 2) return {};
  Call call = call_of(step);
  const Tensor heads = Project::compute(call);
  if (heads.matrices() == call.inputs[0]->matrices()) return {};
  call.inputs = {&heads};
  return {split(concat_heads_operation.compute(call), heads)};
}

// Only where numbers were submitted: on paper each head has its own weight, which is not square.
Versions fused_weight_transposed(const StepView& step) {
  return step.written ? transposed_side_by_side(step.operand(1)) : Versions();
}

// A bias that is not in the lesson: how far each column is off, on average over the rows.
Versions unknown_offset(const StepView& step) {
  if (!step.written || step.written->shape() != step.tensor->shape()) return {};
  if (step.tensor->rows() < 2 || step.tensor->values.empty()) return {};
  Tensor result = uninitialised(step.tensor->axes);
  for (std::size_t m = 0; m < result.matrices(); ++m) {
    const MatrixView right = step.tensor->matrix(m);
    const Matrix gaps = step.written->matrix(m) - right;
    const Matrix known = sums(xt::where(xt::isfinite(gaps), 1.0, 0.0), Along::columns);
    const Matrix all = sums(xt::where(xt::isfinite(gaps), gaps, 0.0), Along::columns);
    const Matrix offset = all / xt::maximum(known, 1.0);
    // A bias moves every row of a column by about as much: one wrong row is none, nor is the only
    // row that was submitted.
    const Matrix apart = xt::where(xt::isfinite(gaps), xt::abs(gaps - offset), 0.0);
    const Matrix most = maxima(apart, Along::columns);
    const Matrix bias = xt::where(known > 1.0 && most < 0.5 * xt::abs(offset), offset, 0.0);
    // Rows that are all alike, but for rounding, look as if they had a bias, whatever they are.
    const Matrix computed = xt::where(xt::isfinite(gaps), right, 0.0);
    const Matrix mean = sums(computed, Along::columns) / xt::maximum(known, 1.0);
    const Matrix from_mean = xt::where(xt::isfinite(gaps), xt::abs(computed - mean), 0.0);
    const Matrix rounding = xt::where(xt::equal(bias, 0.0), 0.0, most);
    const bool is_varied =
        std::ranges::max(from_mean) > std::max(1e-9, 4 * std::ranges::max(rounding));
    xt::noalias(result.mutable_matrix(m)) = right + xt::where(is_varied, bias, 0.0);
  }
  return {std::move(result)};
}

// True if the tensor's matrices have the size of the other's, and there is one for each of them or
// one for all.
bool repeats_to(const Tensor& tensor, const Tensor& other) {
  const bool enough = tensor.matrices() == 1 || tensor.matrices() == other.matrices();
  return enough && tensor.rows() == other.rows() && tensor.columns() == other.columns();
}

Tensor sum_of(const StepView& step, const Tensor& one, const Tensor& other) {
  Call call = call_of(step);
  call.inputs = {&one, &other};
  return by_operands(call, *step.tensor,
                     [](const Operands& of) -> Matrix { return of(0) + of(1); });
}

// A later addend, added here already; or the positions, added after the projection.
Versions added_early(const StepView& step) {
  Versions results;
  const Tensor& right = *step.tensor;
  for (const StepView* upstream = step.inputs[0]; upstream;
       upstream = upstream->inputs.empty() ? nullptr : upstream->inputs.front()) {
    if (repeats_to(*upstream->tensor, right))
      results.push_back(sum_of(step, right, *upstream->tensor));
  }
  const StepView& x = *step.inputs[0];
  if (x.operation != &add_operation) return results;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor& late = *x.inputs[1 - k]->tensor;
    if (!repeats_to(late, right)) continue;
    results.push_back(sum_of(step, with_operand(step, 0, *x.inputs[k]->tensor), late));
  }
  return results;
}

// The terms of a sum that is projected: without the positions, say.
Versions terms(const StepView& step) {
  const StepView& x = *step.inputs[0];
  Versions results;
  if (x.operation != &add_operation) return results;
  for (const StepView* half : x.inputs) {
    if (half->tensor->shape() == x.tensor->shape()) results.push_back(*half->tensor);
  }
  return results;
}

// The rows as they were before they were normalised.
Versions unnormed(const StepView& step) {
  const StepView& x = *step.inputs[0];
  const bool is_normed = x.operation == &layer_norm_operation || x.operation == &rms_norm_operation;
  return is_normed ? Versions{x.operand()} : Versions();
}

constexpr std::string_view which_way_round =
    "Which way round is the weight: a row for each feature that goes in?";

constexpr Mistake project_mistakes[] = {
    {"project.transposed-weight", "The weight was transposed.", which_way_round, With{"layout"}},
    {"project.transposed-weight", "The weight of all heads was transposed.", which_way_round,
     Operand{1, fused_weight_transposed}},
    {"project.missing-bias", "The bias was left out.", "After the product comes + b.",
     SkipOperand{2}},
    {"heads.interleaved", only_reshaped_into_heads, cut_columns_into_heads,
     heads_split_by<reshape_only>},
    {"heads.interleaved", dealt_out_in_turn, first_block_first, heads_split_by<dealt_out_to_heads>},
    {"output.skipped", "The output weight W_O was left out.",
     "What the heads found is still to be multiplied by W_O.", output_skipped},
    {"project.unknown-offset", "Every row is off by the same: a bias that is not the lesson's.",
     "Which bias does the program add?", unknown_offset, fitted_evidence},
    {"add.early", "Something was added here that the lesson adds in another step.",
     "Look where the lesson adds: X = E + P, and the residual after W_O.", added_early},
    {"add.skipped", "One part of the sum that is to be projected was left out.",
     "Both matrices go into the sum: X = E + P.", Operand{0, terms}},
    {"norm.skipped", "The rows were taken as they were before the norm.",
     "The weight is multiplied with the normalised rows.", Operand{0, unnormed}},
    {"project.wrong-weight", "Another weight matrix was used.",
     "Queries, keys and values each have a weight matrix of their own.", wrong_weight},
};

}  // namespace

constinit const Operation project_operation = operation_of<Project>({
    .name = "project",
    .title = "Multiply each row by a weight matrix",
    .says = "Each token's row is multiplied by a weight matrix. Every row is worked out by "
            "itself, in the same way: features mix, tokens do not.",
    .notice = "The number of tokens stays; the weight matrix sets how many numbers each has.",
    .operands = R"(["X", "W"] or ["X", "W", "b"])",
    .options = project_options,
    .mistakes = project_mistakes,
    .backward = project_backward,
});

}  // namespace qkv::inline ops
