#include "page/followed.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "page/cell_bytecode.hpp"

namespace qkv {
namespace {

using Kind = Expression::Kind;
using NameSet = std::set<std::string, std::less<>>;

constexpr std::size_t most_numbers = 4000;

bool is_of_hand_size(const std::vector<TensorView>& views) {
  std::size_t count = 0;
  for (const TensorView& view : views) {
    count += view.tensor->values.size();
    if (view.matrices.hidden() + view.rows.hidden() + view.columns.hidden() > 0) return false;
  }
  return count <= most_numbers;
}

// Other numbers in place of a tensor's, no two the same and none special; what is infinite stays.
Tensor with_other_numbers(Tensor tensor, bool signs) {
  constexpr double golden = 0.6180339887498949;
  double number = 0;
  for (double& value : tensor.values.write()) {
    number += golden;
    if (!std::isfinite(value)) continue;
    const double part = number - std::floor(number);
    value = signs && part > 0.5 ? -part : 1 + part;
  }
  return tensor;
}

Trace with_other_numbers(const Trace& trace, const NameSet& kept, bool signs) {
  Trace other = trace;
  for (Given& given : other.givens) {
    if (!kept.contains(given.name)) given.tensor = with_other_numbers(given.tensor, signs);
  }
  for (Step& step : other.steps) {
    if (!kept.contains(step.name)) step.output = with_other_numbers(step.output, signs);
  }
  return other;
}

CellProgram program_of(const Trace& trace, const TensorView& view) {
  ProgramNeeds needs;
  return program_of(trace, trace.step_at(view.name), view.cells(), view.extents(), needs);
}

bool is_read(const CellProgram& program, std::size_t operand) {
  return std::ranges::any_of(program.forms, [&](const ProgramForm& form) {
    return std::ranges::any_of(form, [&](const ProgramTerm& term) {
      return term.kind == Kind::cell && term.operand == operand;
    });
  });
}

// Browsers have no error function, and a power of theirs may be far off in its last digits.
bool is_worked_out_elsewhere(const CellProgram& program) {
  return std::ranges::all_of(program.forms, [](const ProgramForm& form) {
    return std::ranges::none_of(form, [&](const ProgramTerm& term) {
      const bool of_numbers = std::ranges::all_of(
          term.parts, [&](std::size_t part) { return form[part].kind == Kind::number; });
      return term.kind == Kind::error_function || (term.kind == Kind::power && !of_numbers);
    });
  });
}

// Which number is the largest of a line is looked for again: there the two may differ.
bool is_same(const ProgramTerm& a, const ProgramTerm& b) {
  using Chosen = CellPlace::Chosen;
  if (a.kind != b.kind || a.parts != b.parts || a.operand != b.operand || a.chosen != b.chosen) {
    return false;
  }
  const std::size_t free = a.chosen == Chosen::largest_of_row      ? 2
                           : a.chosen == Chosen::largest_of_column ? 1
                                                                   : a.varying.size();
  for (std::size_t i = 0; i < a.varying.size(); ++i) {
    if (i != free && !(a.varying[i] == b.varying[i])) return false;
  }
  return true;
}

bool is_same(const CellProgram& a, const CellProgram& b) {
  return a.which == b.which &&
         std::ranges::equal(a.forms, b.forms, [](const ProgramForm& x, const ProgramForm& y) {
           return std::ranges::equal(
               x, y, [](const ProgramTerm& s, const ProgramTerm& t) { return is_same(s, t); });
         });
}

// Operands whose numbers decide which cells are read, and are not read themselves: ids, 0/1 masks.
NameSet deciding(const std::vector<TensorView>& views, const std::vector<CellProgram>& programs) {
  NameSet names;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!views[v].step) continue;
    const std::vector<std::string>& of = views[v].step->of;
    for (std::size_t k = 0; k < of.size(); ++k) {
      const bool lends_shape = k == 0 && views[v].step->operation->by_shape;
      if (!lends_shape && !is_read(programs[v], k)) names.insert(of[k]);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> givens_to_change(const Trace& trace,
                                          const std::vector<TensorView>& views) {
  if (!is_of_hand_size(views)) return {};
  std::vector<CellProgram> programs(views.size());
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (views[v].step) programs[v] = program_of(trace, views[v]);
  }
  const NameSet ids = deciding(views, programs);
  NameSet fixed = ids;
  const Trace others[] = {with_other_numbers(trace, ids, false),
                          with_other_numbers(trace, ids, true)};
  for (std::size_t v = views.size(); v-- > 0;) {  // from what is made to what it is made of
    const TensorView& view = views[v];
    if (!view.step) continue;
    const bool follows = is_worked_out_elsewhere(programs[v]) &&
                         std::ranges::all_of(others, [&](const Trace& other) {
                           return is_same(programs[v], program_of(other, view));
                         });
    if (!follows || fixed.contains(view.name))
      fixed.insert(view.step->of.begin(), view.step->of.end());
  }
  std::vector<std::string> names;
  for (const TensorView& view : views) {
    if (!view.step && !fixed.contains(view.name)) names.push_back(view.name);
  }
  return names;
}

}  // namespace qkv
