#include "exposition/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/change.hpp"
#include "text/number.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

constexpr std::size_t most_cells = 6;
constexpr int most_digits = 17;  // that tell any two doubles apart

// "1 → 1.00004": with more decimals where the wanted ones show no change.
std::string change_text(double then, double now, int digits) {
  std::string before = brief(then, digits);
  std::string after = brief(now, digits);
  for (int more = digits + 1; before == after && more <= most_digits; ++more) {
    before = brief(then, more);
    after = brief(now, more);
  }
  return fmt::format("{} → {}", before, after);
}

}  // namespace

std::string changes_text(const Step& step, const Trace& before, int digits) {
  const Step* own = before.find_step(step.name);
  if (!own) return {};
  const Tensor& now = step.output;
  const Tensor& then = own->output;
  if (now.shape() != then.shape()) {
    return fmt::format("changed: this is {} in the lesson itself",
                       shown_shape(then, before.convention));
  }
  if (!comparable(now, then)) return "changed: these are other words than the lesson's own";
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < now.values.size(); ++i) {
    if (differs(now.values[i], then.values[i])) changed.push_back(i);
  }
  if (changed.empty()) return "changed: nothing; every number is the lesson's own";
  std::string text = fmt::format("changed: {} of {} cells: ", changed.size(), now.values.size());
  for (std::size_t k = 0; k < std::min(changed.size(), most_cells); ++k) {
    const std::size_t i = changed[k];
    text += fmt::format("{}{} {}", k == 0 ? "" : ", ",
                        reference_text(cell_at("", now, i), now, before.convention),
                        change_text(then.values[i], now.values[i], digits));
  }
  return text + (changed.size() > most_cells ? ", …" : "");
}

std::optional<CellReference> largest_change(const Step& step, const Trace& before) {
  const Step* own = before.find_step(step.name);
  const Tensor& now = step.output;
  if (!own || !comparable(now, own->output)) return {};
  std::optional<std::size_t> at;
  double most = 0;
  for (std::size_t i = 0; i < now.values.size(); ++i) {
    const double change = std::abs(now.values[i] - own->output.values[i]);
    const bool shows = std::isfinite(now.values[i]);  // what is hidden by now is not worked out
    if (!shows || !differs(now.values[i], own->output.values[i]) || !(change > most)) continue;
    at = i;
    most = change;
  }
  if (!at) return {};
  return cell_at(step.name, now, *at);
}

}  // namespace qkv
