#include "page/report_view.hpp"

#include <mutex>
#include <unordered_map>

#include "exposition/arithmetic.hpp"

namespace qkv::inline page {
namespace {

using Kind = Expression::Kind;
using Names = std::array<std::uint8_t, 3>;

constexpr std::uint8_t by_index = 3;

// Trees of one step that are longer than this in all are left out.
constexpr std::size_t max_tree_bytes = std::size_t{1} << 18;

// Of matrices up to this size a page includes every number if it includes one.
constexpr std::size_t max_whole_matrix = std::size_t{1} << 14;

CellIndex index_of(const CellPlace& place) { return {place.matrix, place.row, place.column}; }

// The axis that was searched for the largest number, which the page searches, too; 3 for none.
std::size_t searched_axis(const CellPlace& place) {
  using Chosen = CellPlace::Chosen;
  if (place.chosen == Chosen::by_place) return by_index;
  return place.chosen == Chosen::largest_of_row ? 2 : 1;
}

// The index, or its distance from one of the cell's own.
std::size_t named(std::size_t index, std::uint8_t name, const CellIndex& cell) {
  return name == by_index ? index : index - cell[name];
}

// A place is a sum of its parts times these numbers, from which a name's part can be taken again.
constexpr std::array<std::uint64_t, 5> place_factors = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                                        0x94d049bb133111eb, 0xd6e8feb86659fd93,
                                                        0xa0761d6478bd642f};

class CellDigests : public ExpressionDigests {
 public:
  CellDigests(const Call& call, const PlaceNames& names, TreeInputs& inputs) : inputs_(inputs) {
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      const Tensor& tensor = *call.inputs[k];
      std::vector<bool>* read = nullptr;
      if (tensor.values.size() > max_whole_matrix) {
        read = &inputs.cells[std::string(call.names[k])];
        read->resize(tensor.values.size());
      }
      operands_.push_back({names[k], tensor.rows(), tensor.columns(), read, {}});
    }
  }

  void set_cell(const CellIndex& cell) {
    for (ReadOperand& operand : operands_) {
      for (std::size_t searched = 1; searched <= by_index; ++searched) {
        operand.origin[0][searched] = origin(operand.names.outside, cell, searched);
        operand.origin[1][searched] = origin(operand.names.in_sum, cell, searched);
      }
    }
  }

  Digests of_cell(const CellPlace& place) override {
    const ReadOperand& of = operands_[place.operand];
    if (of.read)
      (*of.read)[(place.matrix * of.rows + place.row) * of.columns + place.column] = true;
    const std::size_t searched = searched_axis(place);
    const std::uint64_t digest = place.operand * place_factors[3] + searched * place_factors[4] +
                                 place.matrix * place_factors[0] +
                                 (searched == 1 ? 0 : place.row) * place_factors[1] +
                                 (searched == 2 ? 0 : place.column) * place_factors[2];
    return {digest - of.origin[0][searched], digest - of.origin[1][searched]};
  }

  void on_function(Kind kind, std::span<const double> x, double value) override {
    if (!inputs_.all_functions && kind != Kind::error_function) return;
    if (std::ranges::any_of(x, [](double part) { return std::isnan(part); })) return;
    inputs_.functions[{kind, {x[0], x.size() > 1 ? x[1] : 0}}] = value;
  }

 private:
  struct ReadOperand {
    OperandNames names;
    std::size_t rows, columns;
    std::vector<bool>* read;
    // From where places are named, outside of long sums and in them, without a searched axis.
    std::array<std::array<std::uint64_t, by_index + 1>, 2> origin;
  };

  static std::uint64_t origin(const Names& names, const CellIndex& cell, std::size_t searched) {
    std::uint64_t origin = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (axis != searched && names[axis] != by_index)
        origin += cell[names[axis]] * place_factors[axis];
    }
    return origin;
  }

  TreeInputs& inputs_;
  std::vector<ReadOperand> operands_;
};

void add_to(TreeInputs& all, TreeInputs own) {
  all.functions.merge(own.functions);
  for (auto& [name, read] : own.cells) {
    std::vector<bool>& known = all.cells[name];
    known.resize(read.size());
    std::transform(known.begin(), known.end(), read.begin(), known.begin(), std::logical_or<>());
  }
}

// Collects where the first leaf of each operand is, outside of long sums and in them.
struct FirstPlaces {
  using Seen = std::vector<std::array<std::vector<std::pair<CellIndex, CellIndex>>, 2>>;

  Seen& seen;
  const CellIndex& cell;
  std::vector<std::array<bool, 2>> done = std::vector<std::array<bool, 2>>(seen.size());
  std::set<std::pair<const void*, bool>> visited = {};

  void collect(const Expression& term, bool in_sum) {
    if (!visited.emplace(term.identity(), in_sum).second) return;
    if (term.kind() == Kind::cell) {
      const CellPlace& place = term.place();
      if (place.chosen != CellPlace::Chosen::by_place || done[place.operand][in_sum]) return;
      done[place.operand][in_sum] = true;
      seen[place.operand][in_sum].emplace_back(cell, index_of(place));
    }
    const bool inside = in_sum || Expression::is_long(term.parts().size());
    for (const Expression& part : term.parts()) collect(part, inside);
  }
};

// What an index has the same distance from in all samples: the cell's own index on that axis,
// nothing, or another index of the cell.
std::uint8_t name_for(std::size_t axis, std::span<const std::pair<CellIndex, CellIndex>> samples) {
  for (const std::size_t name : {axis, std::size_t{by_index}, (axis + 1) % 3, (axis + 2) % 3}) {
    const auto distance = [&](const auto& sample) {
      return named(sample.second[axis], static_cast<std::uint8_t>(name), sample.first);
    };
    const bool is_constant = std::ranges::all_of(
        samples, [&](const auto& sample) { return distance(sample) == distance(samples.front()); });
    if (is_constant) return static_cast<std::uint8_t>(name);
  }
  return by_index;
}

Expression arithmetic_tree(const Trace& trace, const Step& step, const CellIndex& cell) {
  return expression_of(trace, step, {step.name, cell[0], cell[1], cell[2]});
}

bool is_constant(const Expression& term) {
  return term.kind() != Kind::cell && std::ranges::all_of(term.parts(), is_constant);
}

// Writes one cell's tree, and notes what it consists of.
struct TreeWriter {
  const PlaceNames& place_names;
  const CellIndex& cell;
  bool weight_first;
  CellTrees& result;
  std::string text = {};
  std::map<std::pair<const void*, bool>, std::size_t> numbers = {};  // of terms, in writing order

  std::string written(const Expression& expression) {
    write(expression, false);
    text.pop_back();
    return std::move(text);
  }

  // A term that was written before, with the same names, is `#` and its number.
  void write(const Expression& term, bool in_sum) {
    const std::pair<const void*, bool> own(term.identity(), in_sum);
    if (const auto known = numbers.find(own); known != numbers.end()) {
      return add("#{} ", known->second);
    }
    const std::vector<Expression>& parts = term.parts();
    const bool inside = in_sum || Expression::is_long(parts.size());
    if (weight_first && is_product_of_cells(term)) {
      write(parts[1], inside);
      write(parts[0], inside);
    } else {
      for (const Expression& part : parts) write(part, inside);
    }
    write_itself(term, in_sum);
    numbers.emplace(own, numbers.size());
  }

  void write_itself(const Expression& term, bool in_sum) {
    const std::vector<Expression>& parts = term.parts();
    switch (term.kind()) {
      case Kind::number: return add("={} ", term.value());
      case Kind::cell: return write_cell(term.place(), in_sum);
      case Kind::sum:
      case Kind::maximum: return add("{}{} ", sign_of(term.kind()), parts.size());
      default: break;
    }
    // Browsers have no error function, and their powers may be inaccurate in the last digits.
    if (term.kind() == Kind::error_function ||
        (term.kind() == Kind::power && !std::ranges::all_of(parts, is_constant))) {
      result.browser_can_recompute = false;
    }
    add("{} ", sign_of(term.kind()));
  }

  void write_cell(const CellPlace& place, bool in_sum) {
    const OperandNames& of = place_names[place.operand];
    const Names& names = in_sum ? of.in_sum : of.outside;
    const CellIndex index = index_of(place);
    result.reads[place.operand] = true;
    add("{}", place.operand);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      text += axis == 0 ? ':' : ',';
      const auto number = static_cast<std::ptrdiff_t>(named(index[axis], names[axis], cell));
      if (axis == searched_axis(place)) {
        text += '*';
      } else if (names[axis] == by_index) {
        add("{}", number);
      } else {
        text += "mrc"[names[axis]];
        if (number != 0) add("{:+}", number);
      }
    }
    text += ' ';
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  }
};

}  // namespace

PlaceNames place_names(const Trace& trace, const Step& step,
                       const std::vector<CellIndex>& samples) {
  FirstPlaces::Seen seen(step.of.size());
  for (const CellIndex& cell : samples) {
    FirstPlaces{seen, cell}.collect(arithmetic_tree(trace, step, cell), false);
  }
  PlaceNames names;
  for (const auto& [outside, in_sum] : seen) {
    OperandNames& of = names.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      of.outside[axis] = name_for(axis, outside);
      of.in_sum[axis] = name_for(axis, in_sum);
    }
  }
  return names;
}

std::vector<std::uint64_t> digests_of(const Trace& trace, const Step& step, const PlaceNames& names,
                                      const std::vector<CellIndex>& cells, TreeInputs& inputs) {
  const Call call = trace.call(step);
  std::vector<std::uint64_t> digests(cells.size());
  const bool is_uniform =
      step.operation->is_uniform && std::ranges::none_of(call.inputs, [](const Tensor* operand) {
        return operand->values.size() > max_whole_matrix;
      });
  std::mutex adding;
  constexpr std::size_t cells_at_a_time = 1024, operations_a_cell = 1000;
  parallel_for(cells.size(), cells_at_a_time, operations_a_cell,
               [&](const std::size_t begin, std::size_t end) {
                 TreeInputs own;
                 own.all_functions = inputs.all_functions;
                 CellDigests observer(call, names, own);
                 for (std::size_t i = begin; i < end; ++i) {
                   if (is_uniform && i > begin && cells[i][0] == cells[i - 1][0]) {
                     digests[i] = digests[i - 1];
                     continue;
                   }
                   observer.set_cell(cells[i]);
                   const auto [m, row, column] = cells[i];
                   const CellBase cell{&call, &step.output, m, row, column};
                   digests[i] = step.operation->cell.expression({cell}).digests().own;
                 }
                 const std::lock_guard lock(adding);
                 add_to(inputs, std::move(own));
               });
  return digests;
}

CellTrees trees_of(const Trace& trace, const Step& step, const PlaceNames& names,
                   const std::vector<CellIndex>& cells, TreeInputs& inputs) {
  CellTrees result;
  result.digests = digests_of(trace, step, names, cells, inputs);
  result.reads.resize(step.of.size());
  const bool weight_first = writes_weight_first(trace, step);
  std::unordered_map<std::uint64_t, int> known;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto [tree, is_new] = known.emplace(result.digests[i], -1);
    if (is_new && bytes < max_tree_bytes) {
      tree->second = static_cast<int>(result.trees.size());
      result.trees.push_back(TreeWriter{names, cells[i], weight_first, result}.written(
          arithmetic_tree(trace, step, cells[i])));
      bytes += result.trees.back().size();
    }
    result.which.push_back(tree->second);
  }
  for (std::size_t k = 0; k < step.of.size(); ++k) {
    const std::size_t size = trace.at(step.of[k]).values.size();
    if (!result.reads[k] || size > max_whole_matrix) continue;
    inputs.cells[step.of[k]].assign(size, true);
  }
  return result;
}

}  // namespace qkv::inline page
