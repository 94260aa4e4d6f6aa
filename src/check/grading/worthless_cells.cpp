#include "check/grading/worthless_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "text/error.hpp"

namespace qkv {
namespace {

// The step's operation on other operands; nothing where it can't be made of them.
std::optional<Tensor> worked_out(const Trace& trace, const Step& step,
                                 const std::function<Tensor(const std::string&)>& operand) {
  std::vector<Tensor> operands;
  for (const std::string& name : step.of) operands.push_back(operand(name));
  Call call = trace.call(step);
  for (std::size_t k = 0; k < operands.size(); ++k) call.inputs[k] = &operands[k];
  try {
    return step.operation->compute(call);
  } catch (const InputError&) {
    return {};
  }
}

// Numbers that mean nothing, the same ones each time.
class Arbitrary {
 public:
  explicit Arbitrary(unsigned seed) : bits_(seed) {}
  double next() { return 1 + static_cast<double>(bits_() % 1'000'003) / 1'000'003; }

 private:
  std::mt19937 bits_;
};

}  // namespace

CellSet fixed_cells(const Trace& trace, const Step& step,
                    const std::map<std::string, CellSet, std::less<>>& fixed) {
  const std::size_t count = step.output.values.size();
  CellSet cells(count, false);
  for (std::size_t i = 0; i < count; ++i) cells[i] = step.output.values[i] == -infinity;
  const bool follows =
      std::ranges::any_of(step.of, [&](const std::string& name) { return fixed.contains(name); });
  for (const unsigned seed : {1U, 2U}) {
    if (!follows) break;
    Arbitrary arbitrary(seed);
    const auto other = worked_out(trace, step, [&](const std::string& name) {
      Tensor tensor = trace.at(name);
      const auto known = fixed.find(name);
      const std::span<double> values = tensor.values.write();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool stays = known != fixed.end() && known->second[i];
        if (!stays && std::isfinite(values[i])) values[i] = arbitrary.next();
      }
      return tensor;
    });
    if (!other || other->values.size() != count) break;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_zero = step.output.values[i] == 0 && other->values[i] == 0;
      cells[i] = step.output.values[i] == -infinity || (is_zero && (seed == 1 || cells[i]));
    }
  }
  return std::ranges::find(cells, true) == cells.end() ? CellSet() : cells;
}

CellSet cells_of_zeros(const Trace& trace, const Step& step) {
  Arbitrary arbitrary(3);
  const auto other = worked_out(trace, step, [&](const std::string& name) {
    Tensor tensor = trace.at(name);
    for (double& x : tensor.values.write()) x *= arbitrary.next();
    return tensor;
  });
  CellSet cells(step.output.values.size(), false);
  if (step.of.empty() || !other || other->values.size() != cells.size()) return cells;
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = other->values[i] == 0;
  return cells;
}

void Resting::plant(const std::string& name, const std::function<bool(std::size_t)>& is_void) {
  Tensor& tensor = planted_.try_emplace(name, own_.at(name)).first->second;
  const std::span<double> values = tensor.values.write();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_void(i)) values[i] = std::numeric_limits<double>::quiet_NaN();
  }
}

CellSet Resting::of(const Step& step) {
  const bool touched = std::ranges::any_of(
      step.of, [&](const std::string& name) { return planted_.contains(name); });
  if (!touched) return {};
  const auto made = worked_out(own_, step, [&](const std::string& name) {
    const auto planted = planted_.find(name);
    return planted == planted_.end() ? own_.at(name) : planted->second;
  });
  CellSet cells(own_.at(step.name).values.size(), true);
  for (std::size_t i = 0; made && i < cells.size(); ++i) cells[i] = std::isnan(made->values[i]);
  if (std::ranges::find(cells, true) == cells.end()) return {};
  plant(step.name, [&](std::size_t i) { return cells[i]; });
  return cells;
}

}  // namespace qkv
