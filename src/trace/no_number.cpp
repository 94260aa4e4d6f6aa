#include "trace/no_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

// "row 1, column 2" of the first number that is such.
std::optional<std::string> first_place(const Tensor& tensor, bool (*is_such)(double)) {
  const auto found = std::find_if(tensor.values.begin(), tensor.values.end(), is_such);
  if (found == tensor.values.end()) return {};
  const auto place = static_cast<std::size_t>(found - tensor.values.begin());
  return fmt::format("row {}, column {}", place / tensor.columns() % tensor.rows() + 1,
                     place % tensor.columns() + 1);
}

bool is_no_number(double value) { return std::isnan(value); }
bool is_infinite(double value) { return std::isinf(value); }

// What brought a number that is none about: one in an operand, infinities there, or an overflow.
std::string why_no_number(const Operation& operation, const Call& call) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (const auto place = first_place(*call.inputs[k], is_no_number)) {
      return fmt::format("{} of {} is none (nan); look where it comes from", *place, call.names[k]);
    }
  }
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (const auto place = first_place(*call.inputs[k], is_infinite)) {
      return fmt::format("infinities met (inf − inf or 0 · inf); {} of {} is infinite", *place,
                         call.names[k]);
    }
  }
  const bool is_small = std::ranges::all_of(call.inputs, [](const Tensor* input) {
    constexpr double no_overflow = 1e100;  // of squares and sums
    return std::ranges::all_of(input->values, [](double x) { return std::abs(x) < no_overflow; });
  });
  if (!is_small) {
    return "its terms grew beyond 1.8e308, the largest number; make its operands smaller";
  }
  if (!operation.undefined.empty()) return std::string(operation.undefined);
  return fmt::format("0 was divided by 0; {}", operation.against_zero);
}

}  // namespace

// Asked of every number of every step: on several threads where they are many.
bool has_no_number(const Tensor& tensor) {
  std::atomic<bool> found = false;
  tensor.values.in_pieces([&](std::span<const double> piece) {
    in_blocks(piece.size(), std::size_t{1} << 16, 1, [&](std::size_t begin, std::size_t end) {
      if (has_nan(piece.subspan(begin, end - begin))) found = true;
    });
  });
  return found;
}

void refuse_no_number(const Tensor& result, const Operation& operation, const Call& call) {
  if (!has_no_number(result)) return;
  throw InputError(fmt::format("{}: {} is not a number: {}", call.step,
                               first_place(result, is_no_number).value(),
                               why_no_number(operation, call)));
}

}  // namespace qkv
