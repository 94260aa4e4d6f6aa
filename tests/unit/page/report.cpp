#include "page/report.hpp"

#include <catch2/catch.hpp>

#include "exposition/arithmetic.hpp"
#include "lesson/library.hpp"
#include "page/cell_bytecode.hpp"
#include "page/html.hpp"
#include "page/report_data.hpp"
#include "page/report_view.hpp"

using namespace qkv;

namespace {

// Cells of one matrix of `rows` × `columns`, with one value each.
IndexMap index_map_of_grid(std::size_t rows, std::size_t columns,
                           const std::vector<double>& values) {
  std::vector<ShownCell> cells;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) cells.push_back({{0, i, j}, {0, i, j}});
  }
  return index_map_of(values, cells, {1, rows, columns});
}

// Whether the program's term is the expression, parts and places and all; with tokens as columns
// the weight of a product stands first.
bool is_same(const BytecodeForm& form, std::size_t at, const Expression& expression,
             const ShownCell& cell, const std::array<std::size_t, 3>& extents, bool weight_first) {
  const BytecodeTerm& term = form[at];
  const auto number = [&](std::size_t i) { return value_at(term.varying[i], cell, extents); };
  if (term.kind != expression.kind() || term.parts.size() != expression.parts().size())
    return false;
  if (term.kind == Expression::Kind::number) return number(0) == expression.value();
  if (term.kind == Expression::Kind::cell) {
    const CellPlace& place = expression.place();
    return term.operand == place.operand && number(0) == static_cast<double>(place.matrix) &&
           number(1) == static_cast<double>(place.row) &&
           number(2) == static_cast<double>(place.column);
  }
  std::vector<Expression> parts = expression.parts();
  if (weight_first && is_product_of_cells(expression)) std::swap(parts[0], parts[1]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!is_same(form, term.parts[i], parts[i], cell, extents, weight_first)) return false;
  }
  return true;
}

std::size_t differing_cells(const Trace& trace, const TensorView& view) {
  BytecodeInputs needs;
  const std::vector<ShownCell> cells = view.cells();
  const CellBytecode program = bytecode_of(trace, *view.step, cells, view.extents(), needs);
  std::size_t differing = 0;
  for (const ShownCell& cell : cells) {
    const Expression expression =
        expression_of(trace, *view.step, {view.name, cell.index[0], cell.index[1], cell.index[2]});
    const BytecodeForm& form =
        program.forms[static_cast<std::size_t>(value_at(program.which, cell, view.extents()))];
    const bool same = is_same(form, form.size() - 1, expression, cell, view.extents(),
                              writes_weight_first(trace, *view.step));
    if (!same) ++differing;
  }
  return differing;
}

}  // namespace

TEST_CASE("a number that grows evenly is told by where it begins and how it grows") {
  const IndexMap pattern = index_map_of_grid(2, 3, {5, 7, 9, 6, 8, 10});  // 5 + row + 2·column
  CHECK(pattern.by == 0);
  CHECK(pattern.linear == std::array<double, 4>{5, 0, 1, 2});
}

TEST_CASE("a number that depends on the row alone takes a table of rows") {
  const IndexMap pattern = index_map_of_grid(3, 2, {4, 4, 1, 1, 9, 9});
  CHECK(pattern.by == 2);
  CHECK(pattern.table == std::vector<double>{4, 1, 9});
}

TEST_CASE("a number with no rule at all takes a table of all cells") {
  const IndexMap pattern = index_map_of_grid(2, 2, {1, 0, 0, 0});
  CHECK(index_map_of_grid(2, 2, {1, 0, 0, 1}).by == 6);
  CHECK(pattern.by == 6);
  CHECK(pattern.table == std::vector<double>{1, 0, 0, 0});
}

TEST_CASE("zero and minus zero are two numbers, and what is no number equals itself") {
  CHECK(index_map_of_grid(1, 2, {0.0, -0.0}).by == 4);
  CHECK(index_map_of_grid(1, 2, {NAN, NAN}).is_same_everywhere());
}

TEST_CASE("the rows behind a gap are found by their own numbers") {
  const std::vector<ShownCell> cells = {{{0, 0, 0}, {0, 0, 0}}, {{0, 503, 0}, {0, 1, 0}}};
  CHECK(index_map_of(std::vector<double>{0, 503}, cells, {1, 2, 1}).linear ==
        std::array<double, 4>{0, 0, 1, 0});
}

TEST_CASE("a program gives the arithmetic of every cell of every lesson") {
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    const LoadedLesson loaded = load_lesson(std::string(lesson.name));
    for (const TensorView& view : views_of(loaded.trace)) {
      if (!view.step || view.step->output.values.size() > 1000) continue;
      CAPTURE(lesson.name, view.name);
      CHECK(differing_cells(loaded.trace, view) == 0);
    }
  }
}

TEST_CASE("a causal mask has two forms, a score one") {
  const LoadedLesson loaded = load_lesson("two-heads");
  for (const TensorView& view : views_of(loaded.trace)) {
    BytecodeInputs needs;
    if (!view.step) continue;
    const std::size_t forms =
        bytecode_of(loaded.trace, *view.step, view.cells(), view.extents(), needs).forms.size();
    CAPTURE(view.name);
    CHECK(forms == (view.name == "masked_scores" ? 2 : 1));
  }
}

TEST_CASE("ids and what they are made of are not to be changed, weights are") {
  const LoadedLesson loaded = load_lesson("two-heads");
  CHECK(live_inputs(loaded.trace, views_of(loaded.trace)) ==
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
        "<p>One\nline.</p>\n<p>Two:</p>\n<ul><li>a</li>\n<li>b &lt; c</li></ul>\n"
        "<pre><code>qkv run x</code></pre>\n");
}

TEST_CASE("a formula is mathematics: a product, a fraction over a root, a power") {
  const FormulaPiece q{.text = "Q", .is_operand = true, .transposed = false, .shape = "7×2"};
  const FormulaPiece k{.text = "K", .is_operand = true, .transposed = true, .shape = "2×7"};
  CHECK(mathml({q, {.text = " · "}, k}, "S", "7×7", "said") ==
        "<math display=\"block\" alttext=\"said\"><mrow>"
        "<munder><mi>Q</mi><mtext class=\"shape\">7×2</mtext></munder><mo>·</mo>"
        "<munder><msup><mrow><mi>K</mi></mrow><mo>⊤</mo></msup>"
        "<mtext class=\"shape\">2×7</mtext></munder><mo>→</mo>"
        "<munder><mi>S</mi><mtext class=\"shape\">7×7</mtext></munder></mrow></math>\n");
  const FormulaPiece plain{.text = "W_Q", .is_operand = true, .transposed = false, .shape = "2"};
  CHECK_THAT(mathml({plain, {.text = " / √2"}}, "S", "2", ""),
             Catch::Contains("<mfrac><mrow><munder><msub><mi>W</mi><mi>Q</mi></msub>") &&
                 Catch::Contains("<mrow><msqrt><mrow><mn>2</mn></mrow></msqrt></mrow></mfrac>"));
  CHECK_THAT(mathml({{.text = "e^"}, plain}, "S", "2", ""),
             Catch::Contains("<msup><mrow><mi>e</mi></mrow>"));
}
