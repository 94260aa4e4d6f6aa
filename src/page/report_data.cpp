#include "page/report_data.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "page/cell_bytecode.hpp"
#include "tensor/parallel.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"
#include "trace/cell_reference.hpp"

namespace qkv::inline page {
namespace {

using Kind = Expression::Kind;
using NameSet = std::set<std::string, std::less<>>;

constexpr std::size_t max_numbers = 4000;

bool is_small_enough(const std::vector<TensorView>& views) {
  std::size_t count = 0;
  for (const TensorView& view : views) {
    count += view.tensor->values.size();
    if (view.matrices.hidden() + view.rows.hidden() + view.columns.hidden() > 0) return false;
  }
  return count <= max_numbers;
}

// Replaces a tensor's numbers by distinct generic ones; infinities stay.
Tensor with_generic_numbers(Tensor tensor, bool signs) {
  constexpr double golden = 0.6180339887498949;
  double number = 0;
  for (double& value : tensor.values.mutable_span()) {
    number += golden;
    if (!std::isfinite(value)) continue;
    const double part = number - std::floor(number);
    value = signs && part > 0.5 ? -part : 1 + part;
  }
  return tensor;
}

Trace with_generic_numbers(const Trace& trace, const NameSet& kept, bool signs) {
  Trace other = trace;
  for (Given& given : other.givens) {
    if (!kept.contains(given.name)) given.tensor = with_generic_numbers(given.tensor, signs);
  }
  for (Step& step : other.steps) {
    if (!kept.contains(step.name)) step.output = with_generic_numbers(step.output, signs);
  }
  return other;
}

CellBytecode bytecode_of(const Trace& trace, const TensorView& view) {
  BytecodeInputs needs;
  return bytecode_of(trace, trace.step_at(view.name), view.cells(), view.extents(), needs);
}

bool is_read(const CellBytecode& program, std::size_t operand) {
  return std::ranges::any_of(program.forms, [&](const BytecodeForm& form) {
    return std::ranges::any_of(form, [&](const BytecodeTerm& term) {
      return term.kind == Kind::cell && term.operand == operand;
    });
  });
}

// Browsers have no error function, and their powers may be inaccurate in the last digits.
bool is_computable_in_browser(const CellBytecode& program) {
  return std::ranges::all_of(program.forms, [](const BytecodeForm& form) {
    return std::ranges::none_of(form, [&](const BytecodeTerm& term) {
      const bool of_numbers = std::ranges::all_of(
          term.parts, [&](std::size_t part) { return form[part].kind == Kind::number; });
      return term.kind == Kind::error_function || (term.kind == Kind::power && !of_numbers);
    });
  });
}

// The largest entry of a line is searched again in the browser: there the two may differ.
bool is_same(const BytecodeTerm& a, const BytecodeTerm& b) {
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

bool is_same(const CellBytecode& a, const CellBytecode& b) {
  return a.which == b.which &&
         std::ranges::equal(a.forms, b.forms, [](const BytecodeForm& x, const BytecodeForm& y) {
           return std::ranges::equal(
               x, y, [](const BytecodeTerm& s, const BytecodeTerm& t) { return is_same(s, t); });
         });
}

// Operands whose values decide which cells are read, and are not read themselves: ids, 0/1 masks.
NameSet deciding(const std::vector<TensorView>& views, const std::vector<CellBytecode>& programs) {
  NameSet names;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!views[v].step) continue;
    const std::vector<std::string>& of = views[v].step->of;
    for (std::size_t k = 0; k < of.size(); ++k) {
      const bool gives_shape_only = k == 0 && views[v].step->operation->shape_only;
      if (!gives_shape_only && !is_read(programs[v], k)) names.insert(of[k]);
    }
  }
  return names;
}

// In the order of Expression::Kind.
constexpr std::string_view kind_names[] = {"number",
                                           "cell",
                                           "sum",
                                           "difference",
                                           "product",
                                           "quotient",
                                           "negative",
                                           "root",
                                           "exponential",
                                           "logarithm",
                                           "sine",
                                           "cosine",
                                           "hyperbolic_tangent",
                                           "error_function",
                                           "power",
                                           "maximum"};
static_assert(std::size(kind_names) == static_cast<std::size_t>(Kind::maximum) + 1);

std::string_view kind_name(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::string json_number(double value) {
  std::string text;
  append_json_number(text, value);
  return text;
}

// The title of an intermediate has several words, but in arithmetic it stands among others.
std::string one_word(std::string_view name) {
  std::string word(name);
  std::ranges::replace(word, ' ', '_');
  return word;
}

std::string json_text(std::string_view text) { return nlohmann::json(sanitise(text)).dump(); }

// "[a,b,c]" from the results of `write`.
template <class Range, class Write>
std::string json_list(const Range& range, Write write) {
  std::string text = "[";
  for (const auto& each : range) {
    if (text.size() > 1) text += ',';
    text += write(each);
  }
  return text + "]";
}

std::string json_indices(const std::vector<std::size_t>& indices) {
  return json_list(indices, [](std::size_t i) { return std::to_string(i); });
}

// A constant, [base, by matrix, by row, by column], or a table.
std::string json_index_map(const IndexMap& index_map) {
  if (index_map.by != 0) {
    return fmt::format("{{\"by\":{},\"table\":{}}}", index_map.by,
                       json_list(index_map.table, json_number));
  }
  if (index_map.is_same_everywhere()) return json_number(index_map.linear[0]);
  return json_list(index_map.linear, json_number);
}

// ["product",2,3]: a term of earlier ones; ["cell",operand,matrix,row,column], with "row" at the
// end for the largest of its row; ["number",value].
std::string json_term(const BytecodeTerm& term) {
  std::string text = fmt::format("[\"{}\"", kind_name(term.kind));
  if (term.kind == Kind::cell) text += fmt::format(",{}", term.operand);
  for (const std::size_t part : term.parts) text += fmt::format(",{}", part);
  for (const IndexMap& index_map : term.varying) text += "," + json_index_map(index_map);
  switch (term.chosen) {
    case CellPlace::Chosen::by_place: break;
    case CellPlace::Chosen::largest_of_row: text += ",\"row\""; break;
    case CellPlace::Chosen::largest_of_column: text += ",\"column\""; break;
  }
  return text + "]";
}

std::string json_bytecode(const CellBytecode& program) {
  return fmt::format("{{\"which\":{},\"forms\":{}}}", json_index_map(program.which),
                     json_list(program.forms, [](const BytecodeForm& form) {
                       return json_list(form, json_term);
                     }));
}

// The labels along an axis, for each sentence of a batch; null for an axis without labels.
std::string json_words(const Axis& axis) {
  if (axis.labels.empty() || axis.size == 0) return "null";
  std::vector<std::size_t> sentences(axis.labels.size() / axis.size);
  std::size_t next = 0;
  for (std::size_t& sentence : sentences) sentence = next++;
  return json_list(sentences, [&](std::size_t sentence) {
    return json_list(index_words(axis, sentence), json_text);
  });
}

std::string json_leading(const Tensor& tensor) {
  std::vector<Axis> leading(tensor.axes.begin(), tensor.axes.begin() + static_cast<std::ptrdiff_t>(
                                                                           tensor.leading_axes()));
  return json_list(leading, [](const Axis& axis) {
    return fmt::format("[{},{}]", json_text(axis.name.empty() ? "head" : axis.name), axis.size);
  });
}

// The numbers that are read: all of them, or those of the runs [start, length, start, length, …].
std::string json_numbers(const Tensor& tensor, const std::vector<bool>& read) {
  const auto count = static_cast<std::size_t>(std::count(read.begin(), read.end(), true));
  const bool dense = 2 * count >= read.size();
  std::vector<std::size_t> runs;
  std::vector<double> values;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!dense && !read[i]) continue;
    if (i == 0 || runs.empty() || runs[runs.size() - 2] + runs.back() != i) {
      runs.insert(runs.end(), {i, 0});
    }
    ++runs.back();
    values.push_back(tensor.values[i]);
  }
  return fmt::format("\"runs\":{},\"values\":{}", json_indices(runs),
                     json_list(values, json_number));
}

std::string json_shown(const TensorView& view) {
  return fmt::format("\"matrices\":{},\"rows\":{},\"columns\":{}",
                     json_indices(view.matrices.indices), json_indices(view.rows.indices),
                     json_indices(view.columns.indices));
}

// {"exponential": [x, value, x, value, …]}, sorted, so that pages are reproducible.
std::string json_functions(const BytecodeInputs& needs) {
  std::map<Kind, std::vector<std::array<double, 3>>> sorted;
  for (const auto& [call, value] : needs.functions) {
    sorted[call.kind].push_back({call.arguments[0], call.arguments[1], value});
  }
  std::string text;
  for (auto& [kind, calls] : sorted) {
    std::sort(calls.begin(), calls.end());
    std::vector<double> flat;
    for (const auto& [x, y, value] : calls) {
      flat.push_back(x);
      if (kind == Kind::power) flat.push_back(y);
      flat.push_back(value);
    }
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", kind_name(kind),
                        json_list(flat, json_number));
  }
  return "{" + text + "}";
}

std::vector<std::size_t> operands_of(const Step& step, const std::vector<TensorView>& views) {
  std::vector<std::size_t> result;
  for (const std::string& name : step.of) {
    const auto found = std::find_if(views.begin(), views.end(),
                                    [&](const TensorView& view) { return view.name == name; });
    result.push_back(static_cast<std::size_t>(found - views.begin()));
  }
  return result;
}

// Marks a given's shown cells as read: each has a line of its own.
void read_itself(const TensorView& view, BytecodeInputs& needs) {
  const Tensor& tensor = *view.tensor;
  std::vector<bool>& read = needs.cells[view.name];
  read.resize(tensor.values.size());
  for (const ShownCell& cell : view.cells()) {
    read[(cell.index[0] * tensor.rows() + cell.index[1]) * tensor.columns() + cell.index[2]] = true;
  }
}

std::string json_tensor(const Trace& trace, const TensorView& view, const std::string& program,
                        const std::vector<TensorView>& views, const std::vector<bool>& read) {
  const Tensor& tensor = *view.tensor;
  const Axis one_row{.name = "", .size = 1};
  const Axis& rows = tensor.rank() < 2 ? one_row : tensor.axes[tensor.rank() - 2];
  std::string text = fmt::format(
      "{{\"name\":{},\"shape\":[{},{},{}],\"rank\":{},\"turned\":{},\"leading\":{},"
      "\"row_words\":{},\"column_words\":{},{},{}",
      json_text(one_word(display_name(view.name))), tensor.matrices(), tensor.rows(),
      tensor.columns(), tensor.rank(), is_shown_transposed(tensor, trace.token_layout),
      json_leading(tensor), json_words(rows), json_words(tensor.axes.back()), json_shown(view),
      json_numbers(tensor, read));
  if (view.step) {
    text += fmt::format(",\"of\":{},\"program\":{}", json_indices(operands_of(*view.step, views)),
                        program);
  }
  return text + "}";
}

void add_to(BytecodeInputs& all, BytecodeInputs own) {
  all.functions.merge(own.functions);
  for (auto& [name, read] : own.cells) {
    std::vector<bool>& known = all.cells[name];
    known.resize(read.size());
    for (std::size_t i = 0; i < read.size(); ++i) known[i] = known[i] || read[i];
  }
}

// The bytecode of each step, empty for givens; steps with many cells run in parallel.
std::vector<std::string> json_programs(const Trace& trace, const std::vector<TensorView>& views,
                                       BytecodeInputs& needs) {
  std::vector<std::string> programs(views.size());
  std::vector<BytecodeInputs> own(views.size());
  std::size_t cells = 0;
  for (const TensorView& view : views) cells += view.cells().size();
  constexpr std::size_t operations_a_cell = 1000;
  parallel_for(views.size(), 1, operations_a_cell * cells / std::max<std::size_t>(1, views.size()),
               [&](std::size_t v, std::size_t) {
                 const TensorView& view = views[v];
                 own[v].cells[view.name].resize(view.tensor->values.size());
                 if (!view.step) return read_itself(view, own[v]);
                 programs[v] = json_bytecode(
                     bytecode_of(trace, *view.step, view.cells(), view.extents(), own[v]));
               });
  for (BytecodeInputs& one : own) add_to(needs, std::move(one));
  return programs;
}

}  // namespace

std::vector<std::string> live_inputs(const Trace& trace, const std::vector<TensorView>& views) {
  if (!is_small_enough(views)) return {};
  std::vector<CellBytecode> programs(views.size());
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (views[v].step) programs[v] = bytecode_of(trace, views[v]);
  }
  const NameSet ids = deciding(views, programs);
  NameSet fixed = ids;
  const Trace others[] = {with_generic_numbers(trace, ids, false),
                          with_generic_numbers(trace, ids, true)};
  for (std::size_t v = views.size(); v-- > 0;) {  // from outputs to inputs
    const TensorView& view = views[v];
    if (!view.step) continue;
    const bool follows = is_computable_in_browser(programs[v]) &&
                         std::ranges::all_of(others, [&](const Trace& other) {
                           return is_same(programs[v], bytecode_of(other, view));
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

std::string report_data(const Trace& trace, const std::vector<TensorView>& views,
                        const ReportDataOptions& look) {
  BytecodeInputs needs;
  const std::vector<std::string> programs = json_programs(trace, views, needs);
  const std::vector<std::string> to_change =
      look.is_whole ? live_inputs(trace, views) : std::vector<std::string>();
  std::vector<std::size_t> changeable;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (to_change.empty()) break;
    // Live edits recompute from all of its numbers.
    needs.cells[views[v].name].assign(views[v].tensor->values.size(), true);
    const bool may = std::ranges::find(to_change, views[v].name) != to_change.end();
    if (may) changeable.push_back(v);
  }
  std::string tensors;
  for (std::size_t v = 0; v < views.size(); ++v) {
    tensors += v == 0 ? "\n" : ",\n";
    tensors += json_tensor(trace, views[v], programs[v], views, needs.cells[views[v].name]);
  }
  return fmt::format(
      "{{\"digits\":{},\"most_terms\":{},\"asked\":{},\"changeable\":{},\n\"functions\":{},\n"
      "\"tensors\":[{}]}}",
      look.digits, look.max_terms, json_text(look.asked), json_indices(changeable),
      json_functions(needs), tensors);
}

}  // namespace qkv::inline page
