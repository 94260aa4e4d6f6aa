#include "lesson/file/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/handwork/pasted.hpp"
#include "text/error.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

// Sizes of 1 in front say nothing: a vector may be printed as a matrix of one row, or the reverse.
Shape without_leading_ones(Shape shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

bool agrees(const Numeral& printed, double value, int decimals, bool exact) {
  if (std::isnan(printed.value)) return true;  // left blank: nothing was printed
  if (std::isinf(printed.value) || std::isinf(value)) return printed.value == value;
  const int place = printed.scientific ? printed.decimals : decimals;
  const double half = exact && !printed.scientific ? 0 : 0.5 * std::pow(10.0, -place);
  const double noise = 1e-9 * half + 1e-12 * std::max(1.0, std::abs(value));
  return std::abs(printed.value - value) <= half + noise;
}

}  // namespace

std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader) {
  constexpr std::string_view keys[] = {"of", "value", "source"};
  reader.refuse_unknown_keys(table, keys, "an [[expect]]");
  const auto of = reader.text(table, "of");
  const toml::node* value = table.get("value");
  if (!of || !value) {
    reader.fault(table, "an [[expect]] needs of = \"scores\" and value = \"\"\"[[…]]\"\"\"");
    return {};
  }
  if (!names.is_foreseen(*of)) {
    names.require(*table.get("of"), *of, reader);
    return {};
  }
  Expectation expectation{.of = *of,
                          .value = {},
                          .source = reader.text(table, "source").value_or(""),
                          .place = TomlReader::place(*value)};
  try {
    const auto* text = value->as_string();
    auto numbers = text ? read_pasted(text->get(), "value") : reader.numbers(*value, "value");
    if (!numbers) return {};
    expectation.value = *std::move(numbers);
    return expectation;
  } catch (const InputError& error) {
    reader.fault(*value, error.what());
    return {};
  }
}

std::string disagreement(const Expectation& expectation, const Trace& trace) {
  const Tensor tensor = as_shown(trace.at(expectation.of), trace.convention);
  const Written& printed = expectation.value;
  if (without_leading_ones(printed.shape) != without_leading_ones(tensor.shape())) {
    return fmt::format("{} is {}, but {} was published{}", expectation.of,
                       shape_text(tensor.shape()), shape_text(printed.shape),
                       expectation.source.empty() ? "" : " (" + expectation.source + ")");
  }
  int decimals = 0;
  for (const Numeral& cell : printed.cells) {
    if (!cell.scientific) decimals = std::max<int>(decimals, cell.decimals);
  }
  const bool exact = decimals == 0 && std::all_of(tensor.values.begin(), tensor.values.end(),
                                                  [](double x) { return x == std::round(x); });
  for (std::size_t i = 0; i < printed.cells.size(); ++i) {
    if (agrees(printed.cells[i], tensor.values[i], decimals, exact)) continue;
    const CellReference cell = cell_at(expectation.of, tensor, i);
    return fmt::format("{} is {}, published as {}{}",
                       reference_text(cell, tensor, Convention::rows), tensor.values[i],
                       printed.cells[i].value,
                       expectation.source.empty() ? "" : " (" + expectation.source + ")");
  }
  return {};
}

}  // namespace qkv
