#include "page/cell_bytecode.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "exposition/arithmetic.hpp"

namespace qkv::inline page {
namespace {

using Extents = std::array<std::size_t, 3>;

// NaN equals NaN here, and 0 is not -0: the page must show exactly the same number.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::size_t place_in_table(unsigned by, const ShownCell& cell, const Extents& extents) {
  std::size_t place = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if ((by >> d & 1U) != 0) place = place * extents[d] + cell.place[d];
  }
  return place;
}

std::size_t size_of_table(unsigned by, const Extents& extents) {
  std::size_t size = 1;
  for (std::size_t d = 0; d < 3; ++d) size *= (by >> d & 1U) != 0 ? extents[d] : 1;
  return size;
}

// The slope along one index, from the first two cells that differ in it alone.
double slope(std::size_t d, std::span<const double> values, std::span<const ShownCell> cells,
             const Extents& extents) {
  const unsigned others = 7U & ~(1U << d);
  std::vector<std::optional<std::size_t>> first(size_of_table(others, extents));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::optional<std::size_t>& before = first[place_in_table(others, cells[i], extents)];
    if (!before) {
      before = i;
    } else if (cells[*before].index[d] != cells[i].index[d]) {
      return (values[i] - values[*before]) / (static_cast<double>(cells[i].index[d]) -
                                              static_cast<double>(cells[*before].index[d]));
    }
  }
  return 0;
}

bool holds(const IndexMap& index_map, std::span<const double> values,
           std::span<const ShownCell> cells, const Extents& extents) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!same(value_at(index_map, cells[i], extents), values[i])) return false;
  }
  return true;
}

std::optional<IndexMap> linear_map(std::span<const double> values, std::span<const ShownCell> cells,
                                   const Extents& extents) {
  IndexMap index_map;
  double base = values.front();
  for (std::size_t d = 0; d < 3; ++d) {
    index_map.linear[d + 1] = slope(d, values, cells, extents);
    base -= index_map.linear[d + 1] * static_cast<double>(cells.front().index[d]);
  }
  index_map.linear[0] = base;
  if (!holds(index_map, values, cells, extents)) return {};
  return index_map;
}

std::optional<IndexMap> table_map(unsigned by, std::span<const double> values,
                                  std::span<const ShownCell> cells, const Extents& extents) {
  IndexMap index_map{.linear = {}, .by = by, .table = {}};
  index_map.table.assign(size_of_table(by, extents), 0.0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    index_map.table[place_in_table(by, cells[i], extents)] = values[i];
  }
  if (!holds(index_map, values, cells, extents)) return {};
  return index_map;
}

bool all_the_same(std::span<const double> values) {
  for (const double value : values) {
    if (!same(value, values.front())) return false;
  }
  return true;
}

using Kind = Expression::Kind;

// Sums, products, quotients and roots are identical in every browser, to the last bit.
bool rounds_alike(Kind kind) {
  switch (kind) {
    case Kind::exponential:
    case Kind::logarithm:
    case Kind::sine:
    case Kind::cosine:
    case Kind::hyperbolic_tangent:
    case Kind::error_function:
    case Kind::power: return false;
    default: return true;
  }
}

// One cell's arithmetic, flattened: the structure shared with other cells, and its own numbers.
struct FlatExpression {
  std::vector<std::uint32_t>
      skeleton;                 // per term: kind, operand and reason, number of parts, the parts
  std::vector<double> numbers;  // per cell: matrix, row, column; per number: its value
};

// The operand, and why this cell of it, as one number.
constexpr std::uint32_t reasons = 3;
std::uint32_t source_of(const CellPlace& place) {
  return static_cast<std::uint32_t>(place.operand) * reasons +
         static_cast<std::uint32_t>(place.chosen);
}

class ExpressionFlattener {
 public:
  ExpressionFlattener(const Trace& trace, const Step& step, BytecodeInputs& needs)
      : call_(trace.call(step)), weight_first_(writes_weight_first(trace, step)), needs_(needs) {
    for (std::size_t k = 0; k < call_.inputs.size(); ++k) {
      std::vector<bool>& read = needs.cells[std::string(call_.names[k])];
      read.resize(call_.inputs[k]->values.size());
      read_.push_back(&read);
    }
  }

  const FlatExpression& flatten(const Expression& expression) {
    flat_.skeleton.clear();
    flat_.numbers.clear();
    shared_.clear();
    count_ = 0;
    place_of(expression);
    return flat_;
  }

 private:
  // Few terms are used twice, and only they are remembered.
  std::uint32_t place_of(const Expression& term) {
    const bool shared = term.is_shared();
    if (shared) {
      const auto known = shared_.find(term.identity());
      if (known != shared_.end()) return known->second;
    }
    const std::size_t before = parts_.size();  // the parts of enclosing terms
    for (const Expression& part : term.parts()) parts_.push_back(place_of(part));
    if (weight_first_ && is_product_of_cells(term)) std::swap(parts_[before], parts_[before + 1]);
    add(term, std::span(parts_).subspan(before));
    parts_.resize(before);
    if (shared) shared_.emplace(term.identity(), count_);
    return count_++;
  }

  void add(const Expression& term, std::span<const std::uint32_t> parts) {
    const bool is_cell = term.kind() == Kind::cell;
    flat_.skeleton.push_back(static_cast<std::uint32_t>(term.kind()));
    flat_.skeleton.push_back(is_cell ? source_of(term.place()) : 0);
    flat_.skeleton.push_back(static_cast<std::uint32_t>(parts.size()));
    flat_.skeleton.insert(flat_.skeleton.end(), parts.begin(), parts.end());
    if (is_cell) read(term.place());
    if (term.kind() == Kind::number) flat_.numbers.push_back(term.value());
    if (!rounds_alike(term.kind())) remember(term);
  }

  void read(const CellPlace& place) {
    for (const std::size_t index : {place.matrix, place.row, place.column}) {
      flat_.numbers.push_back(static_cast<double>(index));
    }
    const Tensor& tensor = *call_.inputs[place.operand];
    (*read_[place.operand])[(place.matrix * tensor.rows() + place.row) * tensor.columns() +
                            place.column] = true;
  }

  void remember(const Expression& term) {
    FunctionCall call{.kind = term.kind(), .arguments = {}};
    for (std::size_t i = 0; i < term.parts().size(); ++i) {
      call.arguments[i] = term.parts()[i].value();
      if (std::isnan(call.arguments[i])) return;
    }
    needs_.functions.emplace(call, term.value());
  }

  Call call_;
  bool weight_first_;
  BytecodeInputs& needs_;
  std::vector<std::vector<bool>*> read_;
  FlatExpression flat_;
  std::vector<std::uint32_t> parts_;
  std::unordered_map<const void*, std::uint32_t> shared_;
  std::uint32_t count_ = 0;  // of flattened terms
};

// Cells that share a form, and their numbers: the first number of each cell, then the second, …
struct CellGroup {
  std::vector<std::uint32_t> skeleton;
  std::vector<ShownCell> cells;
  std::vector<std::vector<double>> numbers;

  void add(const ShownCell& cell, const std::vector<double>& own) {
    numbers.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) numbers[i].push_back(own[i]);
    cells.push_back(cell);
  }
};

BytecodeForm form_of(const CellGroup& group, const std::array<std::size_t, 3>& extents) {
  BytecodeForm form;
  auto next = group.numbers.begin();
  const std::vector<std::uint32_t>& skeleton = group.skeleton;
  for (std::size_t at = 0; at < skeleton.size(); at += 3 + skeleton[at + 2]) {
    const auto first = skeleton.begin() + static_cast<std::ptrdiff_t>(at) + 3;
    BytecodeTerm term{.kind = static_cast<Kind>(skeleton[at]),
                      .parts = {first, first + static_cast<std::ptrdiff_t>(skeleton[at + 2])},
                      .operand = skeleton[at + 1] / reasons,
                      .chosen = static_cast<CellPlace::Chosen>(skeleton[at + 1] % reasons),
                      .varying = {}};
    const std::size_t count = term.kind == Kind::cell ? 3 : term.kind == Kind::number ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) {
      term.varying.push_back(index_map_of(*next++, group.cells, extents));
    }
    form.push_back(std::move(term));
  }
  return form;
}

}  // namespace

bool IndexMap::is_same_everywhere() const {
  return by == 0 && linear[1] == 0 && linear[2] == 0 && linear[3] == 0;
}

double value_at(const IndexMap& index_map, const ShownCell& cell,
                const std::array<std::size_t, 3>& extents) {
  if (index_map.by != 0) return index_map.table[place_in_table(index_map.by, cell, extents)];
  double value = index_map.linear[0];
  if (index_map.is_same_everywhere()) return value;
  for (std::size_t d = 0; d < 3; ++d) {
    value += index_map.linear[d + 1] * static_cast<double>(cell.index[d]);
  }
  return value;
}

IndexMap index_map_of(std::span<const double> values, std::span<const ShownCell> cells,
                      const std::array<std::size_t, 3>& extents) {
  if (values.empty()) return {};
  if (all_the_same(values)) return {.linear = {values.front(), 0, 0, 0}, .by = 0, .table = {}};
  if (auto linear = linear_map(values, cells, extents)) return *std::move(linear);
  for (const unsigned by : {1U, 2U, 4U, 3U, 5U, 6U}) {
    if (auto table = table_map(by, values, cells, extents)) return *std::move(table);
  }
  return *table_map(7U, values, cells, extents);
}

std::size_t FunctionCall::Hash::operator()(const FunctionCall& call) const {
  std::size_t hash = static_cast<std::size_t>(call.kind);
  for (const double argument : call.arguments) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(argument + 0.0)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

CellBytecode bytecode_of(const Trace& trace, const Step& step, const std::vector<ShownCell>& cells,
                         const std::array<std::size_t, 3>& extents, BytecodeInputs& needs) {
  ExpressionFlattener flattener(trace, step, needs);
  std::vector<CellGroup> groups;
  std::vector<double> which;
  std::size_t last = 0;  // the next cell mostly has the same form
  for (const ShownCell& cell : cells) {
    const CellReference reference{step.name, cell.index[0], cell.index[1], cell.index[2]};
    const FlatExpression& flat = flattener.flatten(expression_of(trace, step, reference));
    if (groups.empty() || groups[last].skeleton != flat.skeleton) {
      const auto found = std::find_if(groups.begin(), groups.end(), [&](const CellGroup& group) {
        return group.skeleton == flat.skeleton;
      });
      last = static_cast<std::size_t>(found - groups.begin());
      if (found == groups.end()) groups.push_back({flat.skeleton, {}, {}});
    }
    groups[last].add(cell, flat.numbers);
    which.push_back(static_cast<double>(last));
  }
  CellBytecode program{
      .extents = extents, .forms = {}, .which = index_map_of(which, cells, extents)};
  for (const CellGroup& group : groups) program.forms.push_back(form_of(group, extents));
  return program;
}

}  // namespace qkv::inline page
