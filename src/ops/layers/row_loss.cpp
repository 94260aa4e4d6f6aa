#include "ops/layers/row_loss.hpp"

#include <cmath>

#include "ops/kinds/line.hpp"
#include "ops/numbers/functions.hpp"

namespace qkv {
namespace {

// A row's largest number, and ln Σ e^(x − top): added up they are ln Σ e^x, but apart they keep
// the last digits of a loss.
struct LogSum {
  double top, rest;
  double whole() const { return top + rest; }
  double loss_at(double x) const { return rest - (x - top); }
};

LogSum log_sum(std::span<const double> logits) {
  const double top = top_of(logits);
  if (std::isinf(top)) return {top, 0};
  double total = 0;
  for (const double x : logits) total += power(x, top);
  return {top, std::log(total)};
}

// What a share of 0 asks for does not count, however hidden it is.
double loss_of(std::span<const double> logits, std::span<const double> shares) {
  const LogSum all = log_sum(logits);
  double loss = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (shares[k] != 0) loss += shares[k] * all.loss_at(logits[k]);
  }
  return loss;
}

std::vector<double> row_of(const MatrixOf<Interval>& matrix, std::size_t row, bool high) {
  std::vector<double> numbers(matrix.columns);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = high ? matrix(row, k).high : matrix(row, k).low;
  }
  return numbers;
}

// ln Σ e^x of a row but for one number.
double log_sum_of_others(std::vector<double> logits, std::size_t own) {
  logits[own] = -infinity;
  return log_sum(logits).whole();
}

// The loss curves upwards in the logits: going down along one after the other ends at its lowest,
// where softmax comes as near to the shares as the logits' ranges let it.
double lowest(const std::vector<double>& low, const std::vector<double>& high,
              const std::vector<double>& shares) {
  double all = 0;
  for (const double share : shares) all += share;
  std::vector<double> x = low;
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double rest = all - shares[k];
      const double best = rest <= 0        ? infinity
                          : shares[k] <= 0 ? -infinity
                                           : std::log(shares[k] / rest) + log_sum_of_others(x, k);
      x[k] = std::clamp(best, low[k], high[k]);
    }
  }
  return loss_of(x, shares);
}

// The highest is at a corner. Of many corners only what no loss can be above is told.
double highest(const std::vector<double>& low, const std::vector<double>& high,
               const std::vector<double>& shares) {
  constexpr std::size_t few = 10;
  if (low.size() > few) {
    const LogSum all = log_sum(high);
    double loss = 0;
    for (std::size_t k = 0; k < low.size(); ++k) {
      if (shares[k] != 0) loss += shares[k] * all.loss_at(low[k]);
    }
    return loss;
  }
  double most = -infinity;
  std::vector<double> x = low;
  for (std::size_t corner = 0; corner < std::size_t{1} << low.size(); ++corner) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (corner >> k & 1) != 0 ? high[k] : low[k];
    most = std::max(most, loss_of(x, shares));
  }
  return most;
}

}  // namespace

template <>
double RowLoss<double>::value() const {
  const std::span row_logits = logits.values.subspan(row * logits.columns, logits.columns);
  if (!shares) return log_sum(row_logits).loss_at(row_logits[id]);
  return loss_of(row_logits, shares->values.subspan(row * logits.columns, logits.columns));
}

// It falls with the target's own logit and rises with every other.
template <>
Interval RowLoss<Interval>::value() const {
  const std::vector<double> low = row_of(logits, row, false);
  const std::vector<double> high = row_of(logits, row, true);
  if (!shares) {
    const auto corner = [&](std::vector<double> x, double own) {
      x[id] = own;
      return log_sum(x).loss_at(own);
    };
    return {corner(low, high[id]), corner(high, low[id])};
  }
  std::vector<double> least = row_of(*shares, row, false);
  for (double& share : least) share = std::max(0.0, share);
  return {lowest(low, high, least), highest(low, high, row_of(*shares, row, true))};
}

template <>
Expression RowLoss<Expression>::value() const {
  const Line<Expression> line{logits, row, false};
  const Expression top = largest(line);
  const Expression all =
      log(sum<Expression>(line.size(), [&](std::size_t k) { return power(line(k), top); }));
  const auto loss_at = [&](std::size_t k) { return all - (line(k) - top); };
  if (!shares) return loss_at(id);
  return sum<Expression>(line.size(), [&](std::size_t k) {
    const Expression share = (*shares)(row, k);
    return share.value() == 0 ? share : share * loss_at(k);
  });
}

// All but one hidden, nothing is lost.
template <>
Decimal RowLoss<Decimal>::value() const {
  if (shares) return Decimal::unknown();
  for (std::size_t k = 0; k < logits.columns; ++k) {
    if (k != id && logits(row, k).value() != -infinity) return Decimal::unknown();
  }
  return logits(row, id).is_exact() ? Decimal(0.0) : Decimal::unknown();
}

}  // namespace qkv
