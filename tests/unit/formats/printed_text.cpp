#include "formats/handwork/csv.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "text/strings.hpp"

namespace formats_printed_text_tests {

namespace {

using namespace qkv;

using Values = std::vector<double>;

ParsedArray read(std::string_view text) { return read_printed_text(text, "X"); }

Values values(std::string_view text) {
  Values result;
  for (const Numeral& cell : read(text).cells) result.push_back(cell.value);
  return result;
}

Shape shape(std::string_view text) { return read(text).shape; }

std::string refusal_of(std::string_view text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("NumPy's print is read") {
  const char* text =
      "[[ 9.99e-01 3.28e-06]\n"
      " [ 1.25e+00      nan]]\n";
  CHECK(shape(text) == Shape{2, 2});
  CHECK(read(text).cells[0].value == 0.999);
  CHECK(read(text).cells[0].decimals == 3);
  CHECK(read(text).cells[1].decimals == 8);
  CHECK(read(text).cells[1].scientific);
  CHECK(std::isnan(read(text).cells[3].value));
}

TEST_CASE("NumPy's repr is read, rows wrapped over lines and all") {
  const char* text =
      "array([[ 0.76103773,  0.12167502,  0.44386323,\n"
      "        -0.20515826],\n"
      "       [-0.88778575, -1.98079647, -0.34791215,\n"
      "         1.20237985]], dtype=float32)";
  CHECK(shape(text) == Shape{2, 4});
  CHECK(values(text)[3] == -0.20515826);
  CHECK(values(text)[7] == 1.20237985);
}

TEST_CASE("a vector that NumPy wrapped stays a vector") {
  CHECK(shape("[0.76103773 0.12167502 0.44386323 0.33367433 1.49407907 0.20515826\n"
              " 0.3130677  0.85409574 2.55298982 0.6536186  0.8644362  0.74216502]") == Shape{12});
}

TEST_CASE("PyTorch's print is read") {
  CHECK(values("tensor([[0.2899,   -inf],\n        [0.4656, 0.1723]])") ==
        Values{0.2899, -infinity, 0.4656, 0.1723});
  CHECK(values("tensor([[1., 2.]], grad_fn=<MmBackward0>)") == Values{1, 2});
  CHECK(values("tensor([[1., 2.]], device='cuda:0', dtype=torch.float64)") == Values{1, 2});
  CHECK(values("Parameter containing:\ntensor([[1., 2.]], requires_grad=True)") == Values{1, 2});
  CHECK(values("tensor([[ True, False]])") == Values{1, 0});
  CHECK(values(" 1.50  2.00\n[torch.FloatTensor of size 1x2]\n") == Values{1.5, 2});
}

TEST_CASE("brackets nest to any rank") {
  CHECK(shape("[1, 2, 3]") == Shape{3});
  CHECK(
      shape(
          "tensor([[[1., 2.],\n         [3., 4.]],\n\n        [[5., 6.],\n         [7., 8.]]])") ==
      Shape{2, 2, 2});
  CHECK(shape("[[[[1]]]]") == Shape{1, 1, 1, 1});
}

TEST_CASE("Python's lists may end in commas") { CHECK(shape("[[1, 2,], [3, 4],]") == Shape{2, 2}); }

TEST_CASE("a name, a prompt or a call may lead up to the brackets") {
  CHECK(values(">>> Q = np.array([[1, 2]])") == Values{1, 2});
  CHECK(values("Out[3]: array([[1, 2]])") == Values{1, 2});
}

TEST_CASE("MATLAB's brackets are read") {
  CHECK(shape("[1 2; 3 4]") == Shape{2, 2});
  CHECK(shape("A = [1 2\n     3 4; 5 6];") == Shape{3, 2});
  CHECK(shape("[1; 2; 3]") == Shape{3, 1});
  CHECK(shape("[1 2\n 3 4]") == Shape{2, 2});
  CHECK(values("[1 -2; 3 -4]") == Values{1, -2, 3, -4});
}

TEST_CASE("MATLAB's display is read") {
  CHECK(values("A =\n\n   1.0000   2.0000\n   3.0000   4.0000\n\n") == Values{1, 2, 3, 4});
  CHECK(read("A =\n\n   1.0000   2.0000\n").cells[0].decimals == 4);
  CHECK(shape("x = 5") == Shape{1, 1});
}

TEST_CASE("a common factor moves the point of every number, exactly") {
  const ParsedArray written =
      read("A =\n\n   1.0e+03 *\n\n    0.0010    1.2346\n       NaN      -Inf\n");
  CHECK(written.cells[0].value == 1);
  CHECK(written.cells[1].value == 1234.6);
  CHECK(written.cells[1].decimals == 1);
  CHECK_FALSE(written.cells[1].scientific);
  CHECK(std::isnan(written.cells[2].value));
  CHECK(written.cells[3].value == -infinity);
  CHECK(read("1.0e-03  *\n\n 1.5 2.5\n").cells[0].value == 0.0015);
  CHECK(read("1.0e-03  *\n\n 1.5 2.5\n").cells[0].decimals == 4);
}

TEST_CASE("blocks of columns are put side by side again") {
  CHECK(
      values("A =\n\n  Columns 1 through 2\n\n   1   2\n   4   5\n\n  Column 3\n\n   3\n   6\n") ==
      Values{1, 2, 3, 4, 5, 6});
}

TEST_CASE("bare rows are read, one a line") {
  CHECK(values("1 2\n3 4\n") == Values{1, 2, 3, 4});
  CHECK(values("1, 2\n3, 4\n") == Values{1, 2, 3, 4});
  CHECK(values("1\t2\n3\t4\n") == Values{1, 2, 3, 4});
  CHECK(values("1;2\n3;4\n") == Values{1, 2, 3, 4});
}

TEST_CASE("CSV with labels is read too, whatever its labels are") {
  const ParsedArray written = read(",[CLS],...\n=,1,2\n");
  CHECK(written.shape == Shape{1, 2});
  CHECK(written.column_labels == std::vector<std::string>{"[CLS]", "..."});
}

TEST_CASE("a print that was cut short is refused") {
  const std::string remedy =
      "numbers were left out at \"...\": print the whole matrix, with "
      "numpy.set_printoptions(threshold=sys.maxsize) or torch.set_printoptions(profile=\"full\")";
  CHECK(refusal_of("[[1. 2. 3.]\n ...\n [7. 8. 9.]]") == "X: line 2: " + remedy);
  CHECK(refusal_of("tensor([[1., 2., …, 3.]])") == "X: line 1: " + remedy);
  CHECK(refusal_of("1 2 ... 9\n") == "X: line 1: " + remedy);
}

TEST_CASE("rows of different lengths are refused with their line") {
  CHECK(refusal_of("[[1, 2],\n [3]]") ==
        "X: line 2: this row has 1 number, the first has 2 numbers: give all the same number");
  CHECK(refusal_of("[[[1], [2]],\n [[3]]]") ==
        "X: line 2: this list has 1 list, the first has 2 lists: give all the same number");
  CHECK(refusal_of("[1 2; 3]") ==
        "X: line 1: this row has 1 number, the first has 2 numbers: give all the same number");
  CHECK(refusal_of("A =\n 1 2\n 3\n") ==
        "X: line 3: this row has 1 number, the first has 2 numbers: give all the same number");
}

TEST_CASE("numbers and lists side by side are refused") {
  CHECK(refusal_of("[[1, 2], 3]") ==
        "X: line 1: \"3\" stands beside a list: put all numbers at one depth of brackets");
  CHECK(refusal_of("[[1, 2],\n [[3, 4]]]") ==
        "X: line 2: numbers stand at different depths: close every row alike");
}

TEST_CASE("brackets that do not close, are empty or nest without end are refused") {
  CHECK(refusal_of("[[1, 2],\n [3, 4]") ==
        "X: line 1: this [ is never closed: paste up to the last ]");
  CHECK(refusal_of("[1, 2") == "X: line 1: this [ is never closed: paste up to the last ]");
  CHECK(refusal_of("tensor([])") == "X: line 1: these brackets are empty: put numbers in");
  CHECK(refusal_of(std::string(100000, '[') + std::string(100000, ']')) ==
        "X: line 1: brackets nest more than 32 deep: paste numbers, such as [[1, 2], [3, 4]]");
}

TEST_CASE("what could change the numbers behind the brackets is refused") {
  CHECK(refusal_of("[1 2]'") ==
        "X: line 1: \"'\" follows the last bracket: keep one matrix and nothing after it");
  CHECK(refusal_of("[[1, 2]]\n[[3, 4]]") ==
        "X: line 2: \"[[3, 4]]\" follows the last bracket: keep one matrix and nothing after it");
  CHECK(refusal_of("[1 2] * 0.5") ==
        "X: line 1: \"* 0.5\" follows the last bracket: keep one matrix and nothing after it");
}

TEST_CASE("a cell that is no number is refused with its line") {
  CHECK(refusal_of("[[1, 2],\n [3, 4x]]") ==
        "X: line 2: \"4x\" is not a number: write it like 0.25 or 2.5e-3");
  CHECK(refusal_of("[1.+2.j]") ==
        "X: line 1: \"1.+2.j\" is not a number: write it like 0.25 or 2.5e-3");
  CHECK(refusal_of("[1,, 2]") == "X: line 1: a number is missing before this comma");
}

TEST_CASE("reading a pasted text ends where it has more numbers than are wanted") {
  const ReadOptions few{.most = [](const std::string&) { return 4U; }};
  CHECK(read_printed_text("[[1, 2], [3, 4]]", "X", few).shape == Shape{2, 2});
  for (const char* text : {"[[1, 2], [3, 4], [5, 6x]]", "[1; 2; 3; 4; 5]",
                           "A =\n 1 2\n 3 4\n 5 6\n", "1 2\n3 4\n5 6\n"}) {
    INFO(text);
    CHECK_THROWS_WITH(
        read_printed_text(text, "X", few),
        "X: it has more than 4 numbers, 16 times as many as the lesson can use of it: "
        "keep the step's own numbers");
  }
}

TEST_CASE("a text with no matrix, or with two, is refused") {
  CHECK(refusal_of("the cat sat") ==
        "X: there are no numbers in it: paste numbers, such as [[1, 2], [3, 4]]");
  CHECK(refusal_of("") == "X: there are no numbers in it: paste numbers, such as [[1, 2], [3, 4]]");
  CHECK(refusal_of("A =\n 1 2\nB =\n 3 4\n") ==
        "X: line 3: a second matrix begins here: keep one matrix, or write them as one in nested "
        "brackets");
}

// Two tensors as llama-eval-callback prints them, Qcur twice.
constexpr const char* callback =
    "llama_context: n_ctx = 512\n"
    "common_debug_cb_eval:                   Qcur-0 = (f32)    MUL_MAT(W{7, 7, 1, 1}, X{7, 1, 1, "
    "1}}) = {7, 1, 1, 1}\n"
    "    [\n        [\n"
    "            [      1.0000,       2.0000,       3.0000,    ...,       5.0000,       6.0000, "
    "      7.5000  ],\n"
    "        ],\n    ]\n    sum = 28.500000\n"
    "common_debug_cb_eval:           Qcur-0 (view) = (f32)       VIEW(Qcur-0{7, 1, 1, 1}, }) = {1, "
    "1, 1, 1}\n    [\n        [\n            [      1.0000  ],\n        ],\n    ]\n    sum = "
    "1.000000\n"
    "common_debug_cb_eval:                   Qcur-0 = (f32)       ROPE(Qcur-0{7, 1, 1, 1}, p{1, 1, "
    "1, 1}}) = {1, 2, 1, 1}\n"
    "    [\n        [\n            [     -0.0000  ],\n            [         -inf  ],\n"
    "        ],\n    ]\n    sum = -inf\n"
    "common_debug_cb_eval:                      big = (q4_K)        CPY(a{9, 1, 1, 1}, }) = {9, 1, "
    "1, 1}\n";

TEST_CASE("a part that llama-eval-callback prints is read with its places and its sum") {
  REQUIRE(is_eval_callback(callback));
  CHECK_FALSE(is_eval_callback("[[1, 2]] ggml_debug: no"));
  const std::vector<NamedArray> arrays = read_eval_callback(callback, "X");
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[0].name == "Qcur-0");
  CHECK(arrays[0].written.shape == Shape{1, 1, 2, 1});
  CHECK(arrays[0].written.part->cells[1].value == -INFINITY);
  CHECK(arrays[1].name == "Qcur-0 before ROPE");
  CHECK(arrays[1].written.shape == Shape{1, 1, 1, 7});
  CHECK(arrays[1].written.cells.empty());
  const PrintedPart& part = *arrays[1].written.part;
  CHECK(part.places == std::vector<std::vector<std::size_t>>{{0}, {0}, {0}, {0, 1, 2, 4, 5, 6}});
  CHECK(part.cells.size() == 6);
  CHECK(part.cells[5].value == 7.5);
  CHECK(part.cells[5].decimals == 4);
  CHECK(part.sum == 28.5);  // 24.5 of them are printed
}

TEST_CASE("queries are those before the rotation in a text that ends there") {
  const std::string_view text = callback;
  const std::size_t rotated = text.rfind("common_debug_cb_eval", text.find("ROPE"));
  const std::vector<NamedArray> arrays = read_eval_callback(text.substr(0, rotated), "X");
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].name == "Qcur-0 before ROPE");
  std::string scores(text.substr(0, rotated));  // of a model that rotates nothing
  scores += scores;
  scores.replace(scores.rfind("Qcur-0 ="), 6, "kq-0");
  const std::vector<NamedArray> whole = read_eval_callback(scores, "X");
  REQUIRE(whole.size() == 2);
  CHECK(whole[0].name == "Qcur-0");
}

TEST_CASE("a damaged text of llama-eval-callback is refused by its line") {
  const auto refused = [](std::string_view from, std::string_view to) {
    std::string text = callback;
    text.replace(text.find(from), from.size(), to);
    try {
      read_eval_callback(text, "X");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  CHECK(refused("   ..., ", "") ==
        "X: line 5: \"[      1.0000,       2.0000,       3.000…\" is not a row of 7 numbers of "
        "Qcur-0: the text is damaged, print it once more");
  CHECK(refused("= {7, 1, 1, 1}", "= {7, 1, 0, 1}").starts_with("X: line 2: "));
  CHECK(refused("= {7, 1, 1, 1}", "= {7, 2, 1, 1}") ==
        "X: line 6: \"],\" is not a row of 7 numbers of Qcur-0: the text is damaged, print it once "
        "more");
  CHECK(refused("28.500000", "28.5").starts_with("X: line 8: "));
}

TEST_CASE("a block of columns that lost a row is refused") {
  CHECK(refusal_of("Columns 1 through 2\n 1 2\n 3 4\nColumn 3\n 5\n") ==
        "X: line 6: a block of columns has 1 row, the first has 2 rows: paste all of every block");
  CHECK(refusal_of("2 *\n 1 2\n") ==
        "X: line 1: a common factor must be a power of ten, such as 1.0e+03 *");
}

}  // namespace

}  // namespace formats_printed_text_tests
