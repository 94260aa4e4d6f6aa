#include "check/diagnose/hypothesis.hpp"

#include <deque>
#include <random>

namespace qkv::inline check {

// Perturbs numbers at random, the same way each time.
struct Perturbation {
  std::mt19937 engine;
  const MatrixTolerance& units;

  double operator()(double x, double unit) {
    constexpr double middle = 0x1p31;
    return x + (static_cast<double>(engine()) - middle) / middle * unit;
  }
  void intermediate(Tensor& tensor) {
    const double unit = units.unsubmitted(std::as_const(tensor).values);
    for (double& x : tensor.values.mutable_span()) x = (*this)(x, unit);
  }
};

Hypothesis::Hypothesis(const Judgement& judgement, const Trace& trace)
    : judgement_(&judgement), trace_(&trace) {
  for (const LearnerNode& node : judgement.nodes) tensors_.push_back(non_owning(node.own));
}

void Hypothesis::put(std::size_t node, Tensor tensor) {
  tensors_[node] = std::make_shared<const Tensor>(std::move(tensor));
}

Hypothesis Hypothesis::with_truth_before(std::size_t node) const {
  Hypothesis truth = *this;
  for (std::size_t i = 0; i < node; ++i)
    truth.tensors_[i] = non_owning(*judgement_->nodes[i].truth);
  return truth;
}

Call Hypothesis::call_at(std::size_t node) const {
  const LearnerNode& own = judgement_->nodes[node];
  return call_with(own, *trace_, [&](std::size_t k) -> const Tensor& {
    return own.has_lessons_inputs ? *judgement_->nodes[k].truth : tensor(k);
  });
}

std::optional<Tensor> Hypothesis::worked(std::size_t node) const {
  const auto has_its_shape = [&](std::size_t k) {
    return tensor(k).shape() == judgement_->nodes[k].truth->shape();
  };
  const LearnerNode& own = judgement_->nodes[node];
  if (is_gradient(*own.step->operation) && !std::ranges::all_of(own.inputs, has_its_shape))
    return {};  // a gradient of another shape
  return result_of(*own.step, call_at(node));
}

std::optional<Hypothesis> Hypothesis::changed_along(std::span<const std::size_t> path,
                                                    std::size_t at, Tensor made) const {
  Hypothesis changed = *this;
  changed.quantise(made);
  made.dot_width = tensor(at).dot_width;
  changed.put(at, std::move(made));
  for (const std::size_t node : path) {
    std::optional<Tensor> anew = changed.worked(node);
    if (!anew) return {};
    if (node != path.back()) changed.quantise(*anew);
    changed.put(node, *std::move(anew));
  }
  return changed;
}

// Returns these rows of a node, from those rows of each operand that has the same ones.
std::optional<Tensor> Hypothesis::worked_rows(std::size_t node,
                                              std::span<const std::size_t> rows) const {
  const LearnerNode& own = judgement_->nodes[node];
  const Form form = own.step->operation->form(trace_->call(*own.step));
  Call call = call_at(node);
  std::deque<Tensor> some;
  for (std::size_t k = 0; k < std::min(call.inputs.size(), form.operands.size()); ++k) {
    const Tensor*& operand = call.inputs[k];
    if (axis_names(form.operands[k]).first == axis_names(form.output).first &&
        operand->rank() > 1 && operand->rows() == own.truth->rows())
      operand = &some.emplace_back(some_rows(*operand, rows));
  }
  return result_of(*own.step, call);
}

RowSample Hypothesis::sample_of(std::span<const std::size_t> path,
                                std::vector<std::size_t> rows) const {
  const auto is_near = [](double x, double y) { return is_close(x, y, {1e-9, 1e-9}); };
  RowSample sample{std::move(rows), path.size()};
  for (; sample.in_full > 0; --sample.in_full) {
    const std::size_t node = path[sample.in_full - 1];
    const std::optional<Tensor> some = worked_rows(node, sample.rows);
    if (!some ||
        !std::ranges::equal(some->values, some_rows(tensor(node), sample.rows).values, is_near))
      break;
  }
  return sample;
}

std::optional<Tensor> Hypothesis::carried_along(std::span<const std::size_t> path, std::size_t at,
                                                Tensor made, const RowSample* sample) const {
  if (path.empty()) return made;
  const std::size_t in_full = sample ? sample->in_full : path.size();
  auto changed = changed_along(path.first(in_full), at, std::move(made));
  for (const std::size_t node : path.subspan(in_full)) {
    auto some = changed ? changed->worked_rows(node, sample->rows) : std::nullopt;
    if (!some) return {};
    changed->put(node, *std::move(some));
  }
  return changed ? std::optional(changed->tensor(path.back())) : std::nullopt;
}

Expression Hypothesis::arithmetic(std::size_t node, std::size_t matrix, std::size_t row,
                                  std::size_t column) const {
  const Call call = call_at(node);
  return judgement_->nodes[node].step->operation->cell.expression(
      {{&call, &tensor(node), matrix, row, column}});
}

std::vector<StepView> Hypothesis::sources() const {
  std::vector<StepView> all(tensors_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LearnerNode& node = judgement_->nodes[i];
    StepView& source = all[i];
    source.name = node.name;
    source.tensor = &tensor(i);
    source.environment = &trace_->environment;
    source.operation = node.step ? node.step->operation : nullptr;
    source.options = node.step ? &node.step->options : nullptr;
    for (const std::size_t input : node.inputs) source.inputs.push_back(&all[input]);
  }
  for (StepView& source : all) source.all = all;
  return all;
}

Hypothesis Hypothesis::perturbed(std::size_t node, unsigned draw) const {
  Hypothesis other = *this;
  other.perturbation_ = std::make_shared<Perturbation>(
      Perturbation{std::mt19937(draw), judgement_->nodes[node].units});
  for (std::size_t i = 0; i < node; ++i) {
    const LearnerNode& before = judgement_->nodes[i];
    if (!before.step || !before.submitted) continue;
    Tensor moved = tensor(i);
    for (std::size_t cell = 0; cell < moved.values.size(); ++cell) {
      const bool rounded = before.has_number(cell) && !before.is_exact(cell);
      if (rounded) {
        moved.values.mutable_span()[cell] =
            (*other.perturbation_)(moved.values[cell], before.units.of(cell));
      }
    }
    other.put(i, std::move(moved));
  }
  other.quantise_unsubmitted(node);
  return other;
}

void Hypothesis::quantise(Tensor& tensor) const {
  if (perturbation_) perturbation_->intermediate(tensor);
  if (!quantiser_) return;
  for (double& x : tensor.values.mutable_span()) x = (*quantiser_)(x);
}

bool Hypothesis::quantise_unsubmitted(std::size_t node) {
  bool any = false;
  for (std::size_t i = 0; i < node; ++i) {
    const LearnerNode& step = judgement_->nodes[i];
    if (!step.step || (step.submitted && !contains(step.verdicts, Verdict::blank))) continue;
    Tensor own = tensor(i);
    Tensor anew = worked(i).value_or(step.own);
    quantise(anew);
    for (std::size_t cell = 0; cell < own.values.size(); ++cell) {
      const bool is_missing = !step.submitted || step.verdicts[cell] == Verdict::blank;
      if (is_missing) own.values.mutable_span()[cell] = anew.values[cell];
    }
    put(i, std::move(own));
    any = true;
  }
  return any;
}

std::vector<std::size_t> unsubmitted_before(const Judgement& judgement, std::size_t node) {
  std::vector<bool> known(judgement.nodes.size());
  std::vector<std::size_t> found = {node};
  for (std::size_t next = 0; next < found.size(); ++next) {
    for (const std::size_t input : judgement.nodes[found[next]].inputs) {
      const LearnerNode& before = judgement.nodes[input];
      if (before.submitted || !before.step || known[input]) continue;
      known[input] = true;
      found.push_back(input);
    }
  }
  found.erase(found.begin());
  return found;
}

std::vector<std::size_t> path_to(const Judgement& judgement, std::size_t node, std::size_t at,
                                 std::span<const std::size_t> before) {
  std::vector<std::size_t> sorted(before.begin(), before.end());
  std::ranges::sort(sorted);
  sorted.push_back(node);
  std::vector<bool> follows(judgement.nodes.size());
  follows[at] = true;
  std::vector<std::size_t> path;
  for (const std::size_t i : sorted) {
    const std::vector<std::size_t>& inputs = judgement.nodes[i].inputs;
    if (i <= at || std::ranges::none_of(inputs, [&](std::size_t k) { return follows[k]; }))
      continue;
    follows[i] = true;
    path.push_back(i);
  }
  return path;
}

std::vector<Hypothesis> hypotheses_of(const Judgement& judgement, const Trace& trace,
                                      std::size_t node, int decimals) {
  std::vector<Hypothesis> hypotheses = {Hypothesis(judgement, trace)};
  constexpr int most_decimals = 11;  // by hand; a program has more, and rounds nothing
  if (decimals <= most_decimals) {
    for (const Quantiser quantise : quantisers_for(decimals)) {
      Hypothesis other = hypotheses.front();
      other.quantise_with(quantise);
      if (!other.quantise_unsubmitted(node)) break;
      hypotheses.push_back(std::move(other));
    }
  }
  if (std::ranges::none_of(std::span(judgement.nodes).first(node), &LearnerNode::is_tainted)) {
    hypotheses.push_back(hypotheses.front().with_truth_before(node));
  }
  return hypotheses;
}

}  // namespace qkv::inline check
