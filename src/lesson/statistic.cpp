#include "lesson/statistic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "text/error.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

using Numbers = std::span<const double>;

// The numbers as a matrix of one row.
Matrix row_of(Numbers numbers) { return seen_as<2>(numbers, {std::size_t{1}, numbers.size()}); }

double largest(Numbers numbers) { return tops(row_of(numbers))(0, 0); }
double smallest(Numbers numbers) { return -tops(-row_of(numbers))(0, 0); }
double sum(Numbers numbers) { return total(row_of(numbers)); }
double mean(Numbers numbers) { return means(row_of(numbers))(0, 0); }
double spread(Numbers numbers) { return std::sqrt(variances(row_of(numbers))(0, 0)); }

// −Σ p ln p; a weight of 0 adds nothing.
double entropy(Numbers weights) {
  const Matrix p = row_of(weights);
  return -total(xt::where(p > 0, p * xt::log(p), 0.0));
}

// ∂p_i/∂s_i = p_i (1 − p_i): how far a weight moves for each small step of its own score.
double slope(Numbers weights) {
  const Matrix p = row_of(weights);
  const Matrix steps = p * (1 - p);
  return std::max(0.0, tops(steps)(0, 0));
}

constexpr std::array<Statistic, 7> table = {{
    {.name = "max", .says = "the largest number", .of = largest},
    {.name = "min", .says = "the smallest number", .of = smallest},
    {.name = "sum", .says = "all of them added up", .of = sum},
    {.name = "mean", .says = "their mean", .of = mean},
    {.name = "spread", .says = "their standard deviation", .of = spread},
    {.name = "entropy",
     .says = "how evenly weights are shared out, in nats",
     .of = entropy,
     .by_row = true},
    {.name = "slope", .says = "the largest p(1 − p)", .of = slope},
}};

double of_finite(const Statistic& statistic, Numbers numbers, std::string_view of) {
  std::vector<double> finite;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(finite),
               [](double x) { return std::isfinite(x); });
  if (finite.empty())
    throw InputError(fmt::format("{} has no numbers, so no {}", of, statistic.name));
  return statistic.of(finite);
}

// Whole matrices: `first` and as many after it as `count` says.
double of_matrices(const Statistic& statistic, const Tensor& tensor, std::size_t first,
                   std::size_t count, std::string_view of) {
  const std::size_t cells = tensor.rows() * tensor.columns();
  const Numbers numbers = Numbers(tensor.values).subspan(first * cells, count * cells);
  if (!statistic.by_row) return of_finite(statistic, numbers, of);
  const std::size_t width = tensor.columns();
  const std::size_t rows = count * tensor.rows();
  double total = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    total += of_finite(statistic, numbers.subspan(i * width, width), of);
  }
  return total / static_cast<double>(rows);
}

// A part with stars in it: `scores[cat,*]`.
double of_part(const Statistic& statistic, std::string_view of, const Trace& trace) {
  ReferenceText text = parse_reference(of);
  std::vector<bool> all;
  for (std::string& index : text.indices) {
    all.push_back(index == "*");
    if (all.back()) index.assign(1, '1');
  }
  const std::size_t last = all.size() - 1;
  bool rows = last > 0 && all[last - 1];
  bool columns = all[last];
  const bool too_many =
      std::count(all.begin(), all.end(), true) > (rows ? 1 : 0) + (columns ? 1 : 0);
  if (!(rows || columns) || too_many) {
    throw InputError(fmt::format("{}.{}: write * for a whole row or column: {}[1,*].{}", of,
                                 statistic.name, text.name, statistic.name));
  }
  const CellReference at = resolve(text, trace);
  const Tensor& tensor = trace.at(at.name);
  if (rows && columns) return of_matrices(statistic, tensor, at.matrix, 1, of);
  if (is_turned(tensor, trace.convention)) std::swap(rows, columns);
  std::vector<double> line;
  for (std::size_t i = 0; i < (rows ? tensor.rows() : tensor.columns()); ++i) {
    line.push_back(rows ? tensor.at(at.matrix, i, at.column) : tensor.at(at.matrix, at.row, i));
  }
  return of_finite(statistic, line, of);
}

}  // namespace

std::span<const Statistic> statistics() { return table; }

const Statistic* find_statistic(std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Statistic& one) { return one.name == name; });
  return found == table.end() ? nullptr : &*found;
}

double statistic_of(const Statistic& statistic, std::string_view of, const Trace& trace) {
  if (of.find('[') != std::string_view::npos) return of_part(statistic, of, trace);
  const Tensor& tensor = trace.at(of);
  return of_matrices(statistic, tensor, 0, tensor.matrices(), of);
}

}  // namespace qkv
