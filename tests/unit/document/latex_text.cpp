#include "document/document.hpp"

#include <catch2/catch.hpp>

namespace document_latex_text_tests {

using qkv::latex_characters;
using qkv::latex_prose;
using qkv::latex_text;

TEST_CASE("no mark of a text means anything to LaTeX") {
  CHECK(latex_text("a_b & 50% #1 {x}") == "a\\_b \\& 50\\% \\#1 \\{x\\}");
  CHECK(latex_text("\\end{document}") == "\\textbackslash{}end\\{document\\}");
  CHECK(latex_text("$x^2$ ~<|>") ==
        "\\char36{}x\\textasciicircum{}2\\char36{} "
        "\\textasciitilde{}\\textless{}\\textbar{}\\textgreater{}");
}

TEST_CASE("nothing becomes a dash or a quotation mark that was none") {
  CHECK(latex_text("--text ''") == "-{}-{}text '{}'{}");
}

TEST_CASE("in prose straight quotes open and close") {
  CHECK(latex_prose("\"the\" and (\"fat\")") == "``{}the''{} and (``{}fat''{})");
}

TEST_CASE("the signs of the formulas are mathematics") {
  CHECK(latex_text("Q · Kᵀ → 7×7") == "Q $\\cdot$ K$^{\\mathsf{T}}$ $\\to$ 7$\\times$7");
  CHECK(latex_text("√2 ≈ 1.41…") == "$\\surd$2 $\\approx$ 1.41\\dots{}");
}

TEST_CASE("accented letters stay, other letters carry their code points") {
  CHECK(latex_text("é Ł") == "é Ł");
  CHECK(latex_text("猫") == "\\unicodechar{732B}{猫}");
  CHECK(latex_text("👧") == "\\unicodechar{1F467}{👧}");
}

TEST_CASE("in LaTeX that is there already only the characters change") {
  CHECK(latex_characters("\\text{猫\\_<}_{1}") ==
        "\\text{\\unicodechar{732B}{猫}\\_\\textless{}}_{1}");
}

}  // namespace document_latex_text_tests
