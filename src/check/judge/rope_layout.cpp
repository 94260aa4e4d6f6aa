#include "check/judge/rope_layout.hpp"

#include <algorithm>
#include <map>

#include "ops/catalogue.hpp"
#include "ops/rope/rotation.hpp"

namespace qkv {
namespace {

// The order that the other pairing has the columns in: where each of the lesson's stands there.
std::vector<std::size_t> other_places(const Call& rope, std::size_t columns) {
  const RopeOptions options = RopeOptions::of(rope);
  const bool are_halves = options.pairing == Pairing::halves;
  std::vector<std::size_t> places(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const PairPlace place = pair_place(options.pairing, options.width, j);
    const std::size_t second = place.is_first ? 0 : 1;
    places[j] = j >= options.width ? j
                : are_halves       ? 2 * place.pair + second
                                   : place.pair + second * options.width / 2;
  }
  return places;
}

// The turned queries and keys of a lesson, and the caches of them: by which step each was turned.
std::map<std::string, const Step*> turned_steps(const Trace& trace) {
  std::map<std::string, const Step*> turned;
  for (const Step& step : trace.steps) {
    if (step.operation == &rope_operation) turned.emplace(step.name, &step);
    if (step.operation != &append_operation && step.operation != &repeat_kv_operation) continue;
    for (const std::string& input : step.of) {
      if (turned.contains(input)) turned.emplace(step.name, turned.at(input));
    }
  }
  return turned;
}

Cells with_columns_from(const Cells& cells, const std::vector<std::size_t>& places) {
  Numerals result(cells.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t column = i % places.size();
    result[i] = cells[i - column + places[column]];
  }
  return Cells(std::move(result));
}

}  // namespace

bool has_rope(const Trace& trace) { return !turned_steps(trace).empty(); }

std::vector<std::string> take_other_rope_layout(const Trace& trace, std::vector<Handed>& handed) {
  const std::map<std::string, const Step*> turned = turned_steps(trace);
  std::vector<std::string> names;
  for (const Handed& matrix : handed) {
    if (matrix.fits && turned.contains(matrix.name)) names.push_back(matrix.name);
  }
  if (names.size() < 2) return {};
  for (Handed& matrix : handed) {
    const auto found = turned.find(matrix.name);
    if (!matrix.fits || found == turned.end()) continue;
    const std::size_t columns = trace.at(matrix.name).columns();
    matrix.cells =
        with_columns_from(matrix.cells, other_places(trace.call(*found->second), columns));
  }
  return names;
}

}  // namespace qkv
