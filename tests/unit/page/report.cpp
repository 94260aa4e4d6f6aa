#include "page/pages.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exposition/arithmetic.hpp"
#include "lesson/library.hpp"
#include "page/report_view.hpp"

namespace page_report_tests {

using namespace qkv;

namespace {

// The index that a tree names: an index, or one of the cell's own and what is added.
std::size_t named_index(const std::string& name, const CellIndex& cell) {
  const std::size_t own = std::string("mrc").find(name[0]);
  if (own == std::string::npos) return std::stoul(name);
  const long by = name.size() > 1 ? std::stol(name.substr(1)) : 0;
  return static_cast<std::size_t>(static_cast<long>(cell[own]) + by);
}

// Whether a term of a tree names the same cell; for the largest of a line, another axis than that.
bool is_place(const std::string& term, const CellPlace& place, const CellIndex& cell) {
  std::istringstream names(term);
  std::string name;
  std::getline(names, name, ':');
  if (std::stoul(name) != place.operand) return false;
  const bool is_searched = place.chosen != CellPlace::Chosen::by_place;
  for (const std::size_t index : {place.matrix, place.row, place.column}) {
    std::getline(names, name, ',');
    if (name == "*" ? !is_searched : named_index(name, cell) != index) return false;
  }
  return is_searched == (term.find('*') != std::string::npos);
}

// Reads a postfix tree against an expression.
struct TreeReader {
  const CellIndex& cell;
  bool weight_first;
  std::istringstream terms;
  // Of the terms that are no repetitions. In long sums and outside, cells have other names.
  std::map<std::pair<const void*, bool>, std::size_t> numbers = {};

  bool matches(const Expression& expression, bool in_sum = false) {
    std::vector<Expression> parts = expression.parts();
    if (weight_first && is_product_of_cells(expression)) std::swap(parts[0], parts[1]);
    const std::pair<const void*, bool> own(expression.identity(), in_sum);
    const auto known = numbers.find(own);
    if (known != numbers.end()) return next() == "#" + std::to_string(known->second);
    for (const Expression& part : parts) {
      if (!matches(part, in_sum || Expression::is_long(parts.size()))) return false;
    }
    numbers.emplace(own, numbers.size());
    const std::string term = next();
    switch (expression.kind()) {
      case Expression::Kind::cell: return is_place(term, expression.place(), cell);
      case Expression::Kind::number:
        return term[0] == '=' &&
               (std::stod(term.substr(1)) == expression.value() || std::isnan(expression.value()));
      case Expression::Kind::sum: return term == "+" + std::to_string(parts.size());
      case Expression::Kind::maximum: return term == "max" + std::to_string(parts.size());
      default: return term == sign_of(expression.kind());
    }
  }

  std::string next() {
    std::string term;
    terms >> term;
    return term;
  }
};

// All trees of a step, named by its first and last cells.
CellTrees trees_of_step(const Trace& trace, const TensorView& view) {
  TreeInputs inputs;
  const std::vector<CellIndex> cells = view.cells();
  return trees_of(
      trace, *view.step,
      place_names(trace, *view.step, {cells.front(), cells[1 % cells.size()], cells.back()}), cells,
      inputs);
}

std::size_t differing_cells(const Trace& trace, const TensorView& view) {
  const std::vector<CellIndex> cells = view.cells();
  const CellTrees trees = trees_of_step(trace, view);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& [matrix, row, column] = cells[i];
    const Expression expression =
        expression_of(trace, *view.step, {view.name, matrix, row, column});
    const std::string& tree = trees.trees.at(static_cast<std::size_t>(trees.which[i]));
    TreeReader reader{cells[i], writes_weight_first(trace, *view.step), std::istringstream(tree)};
    if (!reader.matches(expression) || !reader.next().empty()) ++differing;
  }
  return differing;
}

}  // namespace

TEST_CASE("the trees give the arithmetic of every cell of every lesson", "[thorough]") {
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    const LoadedLesson loaded = load_lesson(std::string(lesson.name));
    const Trace trace = with_intermediates(loaded.lesson, loaded.trace);
    for (const TensorView& view : views_of(trace)) {
      if (!view.step || view.step->output.values.size() > 1000) continue;
      CAPTURE(lesson.name, view.name);
      CHECK(differing_cells(trace, view) == 0);
    }
  }
}

TEST_CASE("cells share a tree: a causal mask has two, a score and a softmax one") {
  const LoadedLesson loaded = load_lesson("two-heads");
  const std::map<std::string, std::vector<std::string>> expected = {
      {"Q", {"0:0,r,0 1:m,0,c * 0:0,r,1 1:m,1,c * 0:0,r,2 1:m,2,c * 0:0,r,3 1:m,3,c * +4"}},
      {"scores", {"0:m,r,0 1:m,c,0 * 0:m,r,1 1:m,c,1 * +2"}},
      {"scaled_scores", {"0:m,r,c =2 sqrt /"}},
      {"masked_scores", {"0:m,r,c", "=-inf"}}};
  for (const TensorView& view : views_of(loaded.trace)) {
    const auto found = expected.find(view.name);
    if (found == expected.end()) continue;
    CAPTURE(view.name);
    CHECK(trees_of_step(loaded.trace, view).trees == found->second);
  }
}

TEST_CASE("ids and what they are made of are not to be changed, weights are") {
  const LoadedLesson loaded = load_lesson("two-heads");
  std::string text;
  write_report_data(loaded.lesson, loaded.trace, views_of(loaded.trace), {}, {},
                    [&](std::string_view piece) { text += piece; });
  const nlohmann::json data = nlohmann::json::parse(text);
  std::vector<std::string> names;
  for (const std::size_t place : data["changeable"])
    names.push_back(data["tensors"][place]["name"]);
  CHECK(names ==
        std::vector<std::string>{"embedding_table", "position_table", "W_Q", "W_K", "W_V", "W_O"});
}

TEST_CASE("what is on the way has its own arithmetic, and stands before what it leads to") {
  const LoadedLesson loaded = load_lesson("two-heads");
  const Trace with = with_intermediates(loaded.lesson, loaded.trace);
  const std::string shifted = intermediate_name("attention_weights", "minus the largest");
  const std::string powers = intermediate_name("attention_weights", "e to that power");
  CHECK(display_name(powers) == "e to that power");
  CHECK(display_name("X") == "X");
  CHECK(with.step_at(powers).of == std::vector<std::string>{shifted});
  CHECK(with.steps.size() == loaded.trace.steps.size() + 2);
  CHECK(with.steps[10].name == shifted);
}

TEST_CASE("a matrix of 65 rows shows 8 at either end, one of 64 shows them all") {
  const TensorView large = view_of("A", zeros({{"token", 65}, {"d_model", 3}}));
  CHECK(large.rows.indices ==
        std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 57, 58, 59, 60, 61, 62, 63, 64});
  CHECK(large.rows.first_hidden() == 9);
  CHECK(view_of("A", zeros({{"query", 64}, {"key", 64}})).rows.shown() == 64);
}

TEST_CASE("of more than 16 heads the first 15 and the last are shown") {
  const TensorView view = view_of("A", zeros({{"head", 20}, {"query", 2}, {"key", 2}}));
  CHECK(view.matrices.shown() == 16);
  CHECK(view.matrices[14] == 14);
  CHECK(view.matrices[15] == 19);
}

TEST_CASE("markup in a lesson's words is text") {
  CHECK(html_text("<b onclick='x'>&\"") == "&lt;b onclick=&#39;x&#39;&gt;&amp;&quot;");
  CHECK(html_text("\u202Egnp") == "&lt;U+202E&gt;gnp");
  CHECK(json_for_html(R"({"a":"</script><!--&"})") ==
        R"({"a":"\u003c/script\u003e\u003c!--\u0026"})");
}

TEST_CASE("prose becomes paragraphs, lists and code") {
  CHECK(html_prose(passages_of("One\nline.\n\nTwo:\n- a\n- b < c\n\n    qkv run x\n")) ==
        "<p dir=\"auto\">One\nline.</p>\n<p dir=\"auto\">Two:</p>\n"
        "<ul><li dir=\"auto\">a</li>\n<li dir=\"auto\">b &lt; c</li></ul>\n"
        "<pre><code>qkv run x</code></pre>\n");
}

TEST_CASE("a formula has each operand with its shape") {
  const FormulaPiece q{.text = "Q", .is_operand = true, .transposed = false, .shape = "7×2"};
  const FormulaPiece k{.text = "K", .is_operand = true, .transposed = true, .shape = "2×7"};
  CHECK(html_formula({.pieces = {q, {.text = " · "}, k}, .result = "W_Q", .result_shape = "7×7"}) ==
        "<p class=\"formula\"><span class=\"operand\"><var>Q</var> <small>7×2</small></span> · "
        "<span class=\"operand\"><var>K<sup>⊤</sup></var> <small>2×7</small></span> →&nbsp;"
        "<span class=\"operand\"><var>W<sub>Q</sub></var> <small>7×7</small></span></p>\n");
}

TEST_CASE("labels from the right stand by themselves among what runs from the left") {
  CHECK(html_text("Q[החתול,1] < 2") == "Q[<bdi>החתול</bdi>,1] &lt; 2");
  CHECK(html_text("Q[החתול השמן,ישן]") == "Q[<bdi>החתול השמן</bdi>,<bdi>ישן</bdi>]");
  CHECK(html_text("Q[cat,1] · −2") == "Q[cat,1] · −2");
  CHECK(html_text("القط · W") == "<bdi>القط</bdi> · W");
}

TEST_CASE("the browser finds the direction of words, in which cells run from the left") {
  CHECK(html_element("p", "המספר Q[החתול,1] הוא −2.") ==
        "<p dir=\"auto\">המספר <bdi dir=\"ltr\">Q[<bdi>החתול</bdi>,1]</bdi> הוא "
        "<bdi dir=\"ltr\">−2.</bdi></p>");
  CHECK(html_inline("the cat: Q[cat,1]") == "<bdi>the cat: Q[cat,1]</bdi>");
}

}  // namespace page_report_tests
