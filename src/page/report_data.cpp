
#include <nlohmann/json.hpp>

#include "exposition/arithmetic.hpp"
#include "page/report_view.hpp"
#include "text/json.hpp"
#include "text/number.hpp"

namespace qkv::inline page {
namespace {

using Json = nlohmann::ordered_json;
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

// Replaces the numbers of the givens and steps that are chosen by their names by distinct generic
// ones; infinities stay.
template <class Choice>
Trace with_generic_numbers(const Trace& trace, bool signs, const Choice& is_chosen) {
  constexpr double golden = 0.6180339887498949;
  Trace other = trace;
  const auto replace = [&](const std::string& name, Tensor& tensor) {
    double number = 0;
    if (!is_chosen(name)) return;
    for (double& value : tensor.values.mutable_span()) {
      number += golden;
      if (!std::isfinite(value)) continue;
      const double part = number - std::floor(number);
      value = signs && part > 0.5 ? -part : 1 + part;
    }
  };
  for (Given& given : other.givens) replace(given.name, given.tensor);
  for (Step& step : other.steps) replace(step.name, step.output);
  return other;
}

bool has_trees(const TensorView& view) { return view.step && !view.tensor->values.empty(); }

// The names of the places that the arithmetic of the cells at all corners reads.
PlaceNames place_names(const Trace& trace, TensorView view) {
  for (Selection* shown : {&view.matrices, &view.rows, &view.columns})
    shown->indices = {shown->indices.front(), shown->indices.back()};
  return place_names(trace, trace.step_at(view.name), view.cells());
}

bool has_same_trees(const Trace& trace, const Trace& other, const TensorView& view,
                    const CellTrees& trees) {
  TreeInputs unused;
  return digests_of(other, other.step_at(view.name), place_names(trace, view), view.cells(),
                    unused) == trees.digests;
}

// Operands whose values decide which cells are read, and are not read themselves: ids, 0/1 masks.
// A gradient also has operands that decide nothing: with other numbers its trees are the same.
NameSet deciding(const Trace& trace, const std::vector<TensorView>& views,
                 const std::vector<CellTrees>& trees) {
  NameSet names;
  for (const bool gradients : {false, true}) {
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (!has_trees(views[v]) || is_gradient(*views[v].step->operation) != gradients) continue;
      const std::vector<std::string>& of = views[v].step->of;
      for (std::size_t k = 0; k < of.size(); ++k) {
        const bool gives_shape_only = k == 0 && views[v].step->operation->shape_only;
        if (gives_shape_only || trees[v].reads[k] || names.contains(of[k])) continue;
        const auto decides_nothing = [&](bool signs) {
          const Trace other = with_generic_numbers(
              trace, signs, [&](const std::string& name) { return name == of[k]; });
          return has_same_trees(trace, other, views[v], trees[v]);
        };
        if (!gradients || !decides_nothing(false) || !decides_nothing(true)) names.insert(of[k]);
      }
    }
  }
  return names;
}

// The trees of each step, empty for givens.
std::vector<CellTrees> trees_of(const Trace& trace, const std::vector<TensorView>& views,
                                TreeInputs& needs) {
  std::vector<CellTrees> trees(views.size());
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!has_trees(views[v])) continue;
    const PlaceNames names = place_names(trace, views[v]);
    trees[v] = trees_of(trace, *views[v].step, names, views[v].cells(), needs);
  }
  return trees;
}

// The labels along an axis, for each sentence of a batch; null for an axis without labels.
Json words_of(const Axis& axis) {
  if (axis.labels.empty() || axis.size == 0) return nullptr;
  return mapped_places(axis.labels.size() / axis.size, [&](std::size_t sentence) {
    return mapped(index_words(axis, sentence), sanitise);
  });
}

// The runs of numbers that are read: [start, length, start, length, …].
std::vector<std::size_t> runs_of(const std::vector<bool>& read) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    if (i == 0 || !read[i - 1]) runs.insert(runs.end(), {i, 0});
    ++runs.back();
  }
  return runs;
}

// Appends the numbers of these runs with blanks between. JSON numbers take four times as long.
void append_numbers(std::string& text, const Tensor& tensor, const std::vector<std::size_t>& runs) {
  std::string_view between;
  char digits[max_shortest_length];
  for (std::size_t r = 0; r < runs.size(); r += 2) {
    for (std::size_t i = runs[r]; i < runs[r] + runs[r + 1]; ++i) {
      text.append(between).append(digits, write_shortest(digits, tensor.values[i]));
      between = " ";
    }
  }
}

// {"exp": [x, value, x, value, …]}, sorted, so that pages are reproducible.
Json functions_of(const TreeInputs& needs) {
  Json functions = Json::object();
  for (const auto& [call, value] : needs.functions) {
    Json& list = functions[std::string(sign_of(call.first))];
    list.push_back(json_number(call.second[0]));
    if (call.first == Expression::Kind::power) list.push_back(json_number(call.second[1]));
    list.push_back(json_number(value));
  }
  return functions;
}

Json tensor_data(const Trace& trace, const TensorView& view) {
  const Tensor& tensor = *view.tensor;
  const auto name_and_size = [](const Axis& axis) -> Json {
    return {axis.name.empty() ? "head" : sanitise(axis.name), axis.size};
  };
  // The title of an intermediate has several words, but in arithmetic it stands among others.
  return {{"name", sanitise(replace_all(display_name(view.name), " ", "_"))},
          {"shape", {tensor.matrices(), tensor.rows(), tensor.columns()}},
          {"rank", tensor.rank()},
          {"turned", is_shown_transposed(tensor, trace.token_layout)},
          {"leading", mapped(std::span(tensor.axes).first(tensor.leading_axes()), name_and_size)},
          {"row_words", tensor.rank() < 2 ? Json() : words_of(tensor.axes[tensor.rank() - 2])},
          {"column_words", words_of(tensor.axes.back())},
          {"matrices", view.matrices.indices},
          {"rows", view.rows.indices},
          {"columns", view.columns.indices}};
}

// An object up to the value of one more member.
std::string up_to_member(const Json& object, std::string_view name) {
  std::string text = json_for_html(object.dump());
  text.pop_back();
  return text.append(",\"").append(name).append("\":");
}

// Returns the places of the givens that a page can edit live, because the browser can recompute all
// steps after them. Those steps must be shown, be small enough for work by hand, and have the same
// trees for all numbers. This excludes ids, given masks, the givens that these are computed from,
// and functions that browsers lack.
std::vector<std::size_t> live_inputs(const Trace& trace, const std::vector<TensorView>& views,
                                     const std::vector<CellTrees>& trees) {
  if (!is_small_enough(views)) return {};
  const NameSet ids = deciding(trace, views, trees);
  NameSet fixed = ids;
  const auto is_free = [&](const std::string& name) { return !ids.contains(name); };
  const Trace others[] = {with_generic_numbers(trace, false, is_free),
                          with_generic_numbers(trace, true, is_free)};
  for (std::size_t v = views.size(); v-- > 0;) {  // from outputs to inputs
    const TensorView& view = views[v];
    if (!has_trees(view)) continue;
    const bool follows =
        trees[v].browser_can_recompute && std::ranges::all_of(others, [&](const Trace& other) {
          return has_same_trees(trace, other, view, trees[v]);
        });
    if (!follows || fixed.contains(view.name))
      fixed.insert(view.step->of.begin(), view.step->of.end());
  }
  return places_where(views.size(), [&](std::size_t v) {
    return !views[v].step && !fixed.contains(views[v].name);
  });
}

Json map_data(const LessonMap& map) {
  const auto boxes = mapped(map.boxes, [](const MapBox& box) -> Json {
    return {{"name", sanitise(box.name)},
            {"shape", box.shape},
            {"column", box.column},
            {"from", box.from}};
  });
  return {{"boxes", boxes}, {"layer", map.layer}, {"layers", map.layers}};
}

}  // namespace

void write_report_data(const Lesson& lesson, const Trace& trace,
                       const std::vector<TensorView>& views, const LessonMap& map,
                       const ReportOptions& wish, const Sink& sink) {
  constexpr int same_in_every_browser = 6;  // decimals that functions of browsers have right
  TreeInputs needs;
  needs.all_functions = wish.digits > same_in_every_browser;
  const std::vector<CellTrees> trees = trees_of(trace, views, needs);
  // Changes can be followed where all steps are on the page.
  const std::vector<std::size_t> live =
      wish.steps.empty() ? live_inputs(trace, views, trees) : std::vector<std::size_t>();
  sink(up_to_member({{"digits", wish.digits},
                     {"most_terms", max_report_terms},
                     {"asked", sanitise(lesson.asked)},
                     {"changeable", live},
                     {"functions", functions_of(needs)},
                     {"map", map_data(map)}},
                    "tensors"));
  for (std::size_t v = 0; v < views.size(); ++v) {
    const TensorView& view = views[v];
    std::vector<bool>& read = needs.cells[view.name];
    if (!view.step) {  // each shown cell of a given has a line of its own
      read.resize(view.tensor->values.size());
      for (const auto& [m, i, j] : view.cells()) read[view.tensor->index(m, i, j)] = true;
    }
    // Live edits recompute from all numbers.
    if (!live.empty()) read.assign(view.tensor->values.size(), true);
    Json tensor = tensor_data(trace, view);
    if (view.step) {
      tensor["of"] = mapped(view.step->of, [&](const std::string& name) {
        return std::ranges::find(views, name, &TensorView::name) - views.begin();
      });
      tensor["trees"] = trees[v].trees;
    }
    if (std::ranges::any_of(trees[v].which, [](int tree) { return tree != 0; }))
      tensor["which"] = trees[v].which;
    const std::vector<std::size_t> runs = runs_of(read);
    tensor["runs"] = runs;
    std::string text = (v == 0 ? "[\n" : ",\n") + up_to_member(tensor, "values") + '"';
    append_numbers(text, *view.tensor, runs);
    sink(text += "\"}");
  }
  sink("]}");
}

}  // namespace qkv::inline page
