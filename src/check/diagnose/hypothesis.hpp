#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "check/judge/judge.hpp"
#include "ops/numbers/expression.hpp"
#include "ops/operation.hpp"

namespace qkv::inline check {

constexpr double largest_written = 1e12;  ///< longer numbers are not written digit by digit

/// How a learner writes a number down: to so many decimals, rounded or the rest left away. Numbers
/// that are too long for decimals stay as they are.
struct Quantiser {
  int decimals = 0;
  double (*habit)(double) = std::round;
  double power = std::pow(10.0, decimals);

  double operator()(double x) const {
    return std::abs(x) < largest_written ? habit(x * power) / power : x;
  }
};

/// The ways to write so many decimals.
inline std::array<Quantiser, 2> quantisers_for(int decimals) {
  return {{{decimals, std::round}, {decimals, std::trunc}}};
}

class Perturbation;

/// The numbers that a learner may have worked from: their own, or the lesson's. A copy is cheap and
/// shares what it does not change. The judgement and the trace must outlive it.
class Hypothesis {
 public:
  Hypothesis(const Judgement& judgement, const Trace& trace);

  const Tensor& tensor(std::size_t node) const { return *tensors_[node]; }
  void put(std::size_t node, Tensor tensor);

  /// The same with the lesson's numbers before `node`.
  Hypothesis with_truth_before(std::size_t node) const;

  /// The step from this hypothesis's numbers; `otherwise` where no step can be made of them.
  Tensor worked_or(const Tensor& otherwise, std::size_t node) const;

  /// What `node` becomes if the matrix at `at` is `made`, and the steps between that were not
  /// handed in are worked out anew from it; nothing where they can't be.
  std::optional<Tensor> carried_to(std::size_t at, Tensor made, std::size_t node) const;

  /// How a cell of a step is worked out from this hypothesis's numbers.
  Expression arithmetic(std::size_t node, std::size_t matrix, std::size_t row,
                        std::size_t column) const;

  /// The provenance graph, for mistakes that look behind their operands.
  std::vector<StepView> sources() const;

  /// What is worked out on the way is cut as a learner would who writes it down.
  void quantise_with(const Quantiser& quantise) { quantiser_ = quantise; }

  /// The same with every number before `node` that was rounded moved by chance within its unit, and
  /// what is worked out on the way as well: `draw` counts out the chances.
  Hypothesis perturbed(std::size_t node, unsigned draw) const;

  /// Puts what a learner who cuts so would have where nothing was handed in before `node`; whether
  /// there was any such cell.
  bool quantise_unsubmitted(std::size_t node);

 private:
  Tensor worked(std::size_t node) const;
  void exchange(std::size_t at, Tensor made, std::size_t last);
  void quantise(Tensor& tensor) const;

  const Judgement* judgement_;
  const Trace* trace_;
  std::vector<std::shared_ptr<const Tensor>> tensors_;
  std::optional<Quantiser> quantiser_;
  std::shared_ptr<Perturbation> perturbation_;
};

/// The steps before `node` that were not handed in and lead to it through others like them.
std::vector<std::size_t> unsubmitted_before(const Judgement& judgement, std::size_t node);

/// The hypotheses to look for a mistake in: the learner's own numbers as they stand; the same with
/// what was not handed in cut as the rest; and the lesson's, where the learner's are those but for
/// rounding.
std::vector<Hypothesis> hypotheses_of(const Judgement& judgement, const Trace& trace,
                                      std::size_t node, int decimals);

}  // namespace qkv::inline check
