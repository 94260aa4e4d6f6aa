#pragma once

#include "check/judge/judge.hpp"

namespace qkv::inline check {

constexpr double largest_written = 1e12;  ///< larger numbers are not written digit by digit

/// Rounds or truncates a number to `decimals` decimals. Numbers too large for decimals stay as they
/// are.
struct Quantiser {
  int decimals = 0;
  double (*habit)(double) = std::round;
  double power = std::pow(10.0, decimals);

  double operator()(double x) const {
    return std::abs(x) < largest_written ? habit(x * power) / power : x;
  }
};

/// Returns both quantisers for so many decimals, rounding and truncation. A double that is just
/// below a half, or below a whole number, counts as one.
inline std::array<Quantiser, 2> quantisers_for(int decimals) {
  constexpr auto rounded = [](double x) { return std::round(x * (1 + 1e-14)); };
  constexpr auto truncated = [](double x) { return std::trunc(x * (1 + 1e-14)); };
  return {{{decimals, rounded}, {decimals, truncated}}};
}

struct Perturbation;

/// Some rows of the last matrix of a path, and how many of its nodes have to be computed in full:
/// each one after them works row by row.
struct RowSample {
  std::vector<std::size_t> rows = {};
  std::size_t in_full = 0;
};

/// Numbers that a learner may have worked from: their own, or the lesson's. Copies are cheap and
/// share unchanged tensors. The judgement and the trace must outlive it.
class Hypothesis {
 public:
  Hypothesis(const Judgement& judgement, const Trace& trace);

  const Tensor& tensor(std::size_t node) const { return *tensors_[node]; }
  void put(std::size_t node, Tensor tensor);

  /// Returns a copy with the lesson's numbers before `node`.
  Hypothesis with_truth_before(std::size_t node) const;

  /// Returns the step computed from these numbers, if that is possible.
  std::optional<Tensor> worked(std::size_t node) const;

  /// Returns these numbers with `made` at `at`, and each node of `path` recomputed in turn. Empty
  /// if a node can't be computed.
  std::optional<Hypothesis> changed_along(std::span<const std::size_t> path, std::size_t at,
                                          Tensor made) const;

  /// Returns the last node of `path` if the matrix at `at` were `made`: each node of the path is
  /// recomputed in turn. Without a path, this is `made` itself. Empty if a node can't be computed.
  /// Of a sample, only these rows are computed.
  std::optional<Tensor> carried_along(std::span<const std::size_t> path, std::size_t at,
                                      Tensor made, const RowSample* sample = nullptr) const;

  /// Returns how to compute only these rows of the last node.
  RowSample sample_of(std::span<const std::size_t> path, std::vector<std::size_t> rows) const;

  /// Returns the arithmetic of a cell from these numbers.
  Expression arithmetic(std::size_t node, std::size_t matrix, std::size_t row,
                        std::size_t column) const;

  /// Returns the graph of steps, for mistakes that look further back than their operands.
  std::vector<StepView> sources() const;

  /// From now on, recomputed intermediate matrices are quantised.
  void quantise_with(const Quantiser& quantise) { quantiser_ = quantise; }

  /// Returns a copy with all rounded numbers before `node`, and recomputed ones, perturbed at
  /// random within their tolerance. `draw` is the seed.
  Hypothesis perturbed(std::size_t node, unsigned draw) const;

  /// Replaces the unsubmitted matrices before `node` by quantised ones. Returns whether there are
  /// any.
  bool quantise_unsubmitted(std::size_t node);

 private:
  Call call_at(std::size_t node) const;
  void quantise(Tensor& tensor) const;
  std::optional<Tensor> worked_rows(std::size_t node, std::span<const std::size_t> rows) const;

  const Judgement* judgement_;
  const Trace* trace_;
  std::vector<std::shared_ptr<const Tensor>> tensors_;
  std::optional<Quantiser> quantiser_;
  std::shared_ptr<Perturbation> perturbation_;
};

/// Returns the unsubmitted steps before `node` that lead to it through unsubmitted steps only, the
/// nearest first.
std::vector<std::size_t> unsubmitted_before(const Judgement& judgement, std::size_t node);

/// Returns those of the unsubmitted steps `before` a node that depend on `at`, in the lesson's
/// order, and the node itself.
std::vector<std::size_t> path_to(const Judgement& judgement, std::size_t node, std::size_t at,
                                 std::span<const std::size_t> before);

/// Returns the hypotheses to test: the learner's own numbers; the same with unsubmitted steps
/// quantised; the lesson's numbers, if the learner's earlier ones are correct up to rounding.
std::vector<Hypothesis> hypotheses_of(const Judgement& judgement, const Trace& trace,
                                      std::size_t node, int decimals);

}  // namespace qkv::inline check
