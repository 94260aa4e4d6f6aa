#include "formats/handwork/csv.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "text/strings.hpp"

namespace formats_csv_tests {

namespace {

using namespace qkv;

using Values = std::vector<double>;
using Texts = std::vector<std::string>;
using Size = std::array<std::size_t, 2>;

Values values(const ParsedArray& written) {
  Values result;
  for (const Numeral& cell : written.cells) result.push_back(cell.value);
  return result;
}

ParsedArray read(std::string_view text) { return read_csv(text, "scores.csv"); }

std::string refusal_of(std::string_view text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("a file of numbers is a matrix, with the digits as they were written") {
  const ParsedArray written = read("1,0.50\n-2,1.2e-3\n");
  CHECK(written.shape == Shape{2, 2});
  CHECK(values(written) == Values{1, 0.5, -2, 0.0012});
  CHECK(written.cells[1].decimals == 2);
  CHECK(written.cells[3].decimals == 4);
  CHECK(written.cells[3].scientific);
  CHECK(written.row_labels.empty());
  CHECK(written.precision == Precision::digits);
}

TEST_CASE("cells are parted by commas, semicolons, tabs or blanks") {
  CHECK(values(read("1,2\n3,4")) == Values{1, 2, 3, 4});
  CHECK(values(read("1;2\n3;4")) == Values{1, 2, 3, 4});
  CHECK(values(read("1\t2\n3\t4")) == Values{1, 2, 3, 4});
  CHECK(values(read("  1.0e+00 2.0e+00\n  3  4\n")) == Values{1, 2, 3, 4});
  CHECK(values(read(" 1 , 2 \n 3 , 4 ")) == Values{1, 2, 3, 4});
}

TEST_CASE("numpy.savetxt's own format is read, with its header") {
  CHECK(values(read("# a comment\n1.0e+00 2.5e+00\n")) == Values{1, 2.5});
}

TEST_CASE("lines end in any of the three ways, the last one or not") {
  CHECK(read("1,2\r\n3,4\r\n").shape == Shape{2, 2});
  CHECK(read("1,2\r3,4").shape == Shape{2, 2});
  CHECK(read("1,2\n3,4\n\n \n").shape == Shape{2, 2});
}

TEST_CASE("a byte order mark is no part of the first cell") {
  CHECK(values(read("\xEF\xBB\xBF"
                    "1,2")) == Values{1, 2});
}

TEST_CASE("decimal commas are read between semicolons, tabs or quotes") {
  CHECK(values(read("1,5;2,25\n")) == Values{1.5, 2.25});
  CHECK(values(read("1,5\t2,25\n")) == Values{1.5, 2.25});
  CHECK(values(read("\"0,5\",\"0,25\"\n")) == Values{0.5, 0.25});
  CHECK(values(read("1.5;2.25\n")) == Values{1.5, 2.25});
  CHECK(read("1,5;2,25\n").cells[1].decimals == 2);
}

TEST_CASE("a cell with several commas shows that all commas of the matrix separate thousands") {
  CHECK(values(read("\"54,000\",\"1,200,400\"\n\"-2,500\",7.5\n")) ==
        Values{54000, 1200400, -2500, 7.5});
  CHECK(values(read("1,5/2,5;2,5\n")) == Values{0.6, 2.5});
  CHECK(values(read("1,200,400;2,5;0,125\n")) == Values{1200400, 2.5, 0.125});
  const ParsedArray unsure =
      read_csv("1,200,400;54,000;1,2x0\n", "S.csv", {.on_bad_cell = OnBadCell::kept});
  CHECK(unsure.cells[1].value == 54000);
  CHECK(unsure.bad_texts == Texts{"1,2x0"});
  CHECK(parse_cell("0,707,107", DecimalMark::comma).fault == NumeralError::not_a_number);
}

TEST_CASE("a column of decimal commas is told from two columns by the expected size") {
  CHECK(values(read_csv("0,5\n0,25\n", "x", {.expected = Size{2, 1}})) == Values{0.5, 0.25});
  CHECK(read_csv("0,5\n0,25\n", "x", {.expected = Size{2, 1}}).remark ==
        "its commas are read as decimal commas");
  CHECK(values(read_csv("0,5\n0,25\n", "x")) == Values{0, 5, 0, 25});
  CHECK(values(read_csv("0,5\n,25\n", "x", {.expected = Size{2, 1}})) == Values{0.5, 0.25});
  CHECK(read_csv(",5\n,25\n", "x", {.expected = Size{2, 1}}).shape == Shape{2, 2});
  CHECK(read_csv("0,5\n\n0,25\n", "x", {.expected = Size{3, 1}}).shape == Shape{3, 1});
  const ParsedArray with_blank =
      read_csv("0,5\n?\n3\n", "x", {.expected = Size{3, 1}, .on_bad_cell = OnBadCell::kept});
  CHECK(with_blank.shape == Shape{3, 1});
  CHECK(with_blank.cells[0].value == 0.5);
  CHECK(std::isnan(with_blank.cells[1].value));
  CHECK(with_blank.cells[2].value == 3);
}

TEST_CASE("an empty cell and nan are blank") {
  const ParsedArray written = read("1,,nan\n\"\",2,3\n");
  CHECK(std::isnan(written.cells[1].value));
  CHECK(std::isnan(written.cells[2].value));
  CHECK(std::isnan(written.cells[3].value));
  CHECK(written.cells[4].value == 2);
}

TEST_CASE("the first row and column are labels where the first cell is empty and one is a word") {
  const ParsedArray written = read(",the,cat\nthe,1,2\ncat,3,4\n");
  CHECK(written.shape == Shape{2, 2});
  CHECK(values(written) == Values{1, 2, 3, 4});
  CHECK(written.row_labels == Texts{"the", "cat"});
  CHECK(written.column_labels == Texts{"the", "cat"});
}

TEST_CASE("a question mark or a dash beside an empty first cell is a blank and no label") {
  for (const std::string blank : {"?", "-", "–"}) {
    const auto text = ",4.25,6.1\n" + blank + ",10.3,12.7\n14.1,16.2,19.4\n";
    const auto read_as = [&](Size size) {
      return read_csv(text, "Z.csv", {.expected = size, .on_bad_cell = OnBadCell::kept});
    };
    CHECK(read_as({3, 3}).shape == Shape{3, 3});
    CHECK(read_as({2, 2}).shape == Shape{2, 2});
  }
}

TEST_CASE("labels in one direction are enough") {
  CHECK(read(",,\ncat,1,2\n").column_labels.empty());
  CHECK(read(",,\ncat,1,2\n").row_labels == Texts{"cat"});
  CHECK(read(",d1\n,2\n").column_labels == Texts{"d1"});
}

TEST_CASE("labels that are numbers are known by the size and the empty first cell") {
  CHECK(values(read_csv(",1,2\n1,3,4\n2,5,6\n", "x", {.expected = Size{2, 2}})) ==
        Values{3, 4, 5, 6});
  CHECK(read_csv("0,1,2\n1,3,4\n2,5,6\n", "x", {.expected = Size{2, 2}}).shape == Shape{3, 3});
  CHECK(read_csv(",1,2\n1,3,4\n2,5,6\n", "x", {.expected = Size{3, 3}}).shape == Shape{3, 3});
}

TEST_CASE("where the size is not known, numbers that count rows and columns are labels") {
  const ParsedArray written = read(",1,2,3\n1,4,5,6\n2,7,8,9\n");
  CHECK(written.shape == Shape{2, 3});
  CHECK(values(written) == Values{4, 5, 6, 7, 8, 9});
  CHECK(written.row_labels.empty());  // they say nothing that is not known
  CHECK(written.column_labels.empty());
  CHECK(values(read(",1\n1,0.5\n")) == Values{0.5});
  CHECK(read(",1,2\n2,3,4\n1,5,6\n").shape == Shape{3, 3});  // a blank, and cells
  CHECK(read(",2\n3,4\n").shape == Shape{2, 2});
}

TEST_CASE("a label that is another number stands in quotes, so that it is no cell") {
  const Values cells = {3, 4, 5, 6};
  const std::string text = to_csv({.rows = 2,
                                   .columns = 2,
                                   .values = cells,
                                   .row_labels = {"1984", "2"},
                                   .column_labels = {"1", "1984"}});
  CHECK(text == ",1,\"1984\"\n\"1984\",3,4\n2,5,6\n");
  const ParsedArray written = read(text);
  CHECK(values(written) == cells);
  CHECK(written.row_labels == Texts{"1984", "2"});
  // Where all is in quotes, they tell nothing.
  CHECK(read("\"\",\"3\"\n\"4\",\"5\"\n").shape == Shape{2, 2});
}

TEST_CASE("labels may hold any mark, in quotes") {
  const ParsedArray written =
      read(",\"a,b\",\"say \"\"hi\"\"\",\" x \",\"two\nlines\"\nr,1,2,3,4\n");
  CHECK(written.column_labels == Texts{"a,b", "say \"hi\"", " x ", "two\nlines"});
}

TEST_CASE("a bare semicolon may be a token") {
  const ParsedArray written = read(",cat,;,dog\ncat,1,2,3\n");
  CHECK(written.column_labels == Texts{"cat", ";", "dog"});
}

TEST_CASE("an apostrophe that guards a formula is no part of the label") {
  CHECK(read(",'=,'-1,'tis\nx,1,2,3\n").column_labels == Texts{"=", "-1", "'tis"});
}

TEST_CASE("files of one row and of one column are read") {
  CHECK(read("1,2,3\n").shape == Shape{1, 3});
  CHECK(read("1\n2\n3\n").shape == Shape{3, 1});
  CHECK(read("7").shape == Shape{1, 1});
}

TEST_CASE("a large file of numbers keeps each in its place") {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i) + "," + std::to_string(-i) + ".5\n";
  const ParsedArray written = read(text);
  CHECK(written.shape == Shape{300000, 2});
  CHECK(written.cells[2 * 123456].value == 123456);
  CHECK(written.cells[2 * 123456 + 1].value == -123456.5);
  CHECK(written.cells[599999].value == -299999.5);
  CHECK(written.cells[599999].decimals == 1);
}

TEST_CASE("reading ends where there are more numbers than are wanted") {
  const ReadOptions few{.expected = Size{2, 2}, .most = [](const std::string&) { return 4U; }};
  const std::string refusal =
      "a.csv: it has more than 4 numbers, 16 times as many as the lesson can use of it: keep the "
      "step's own numbers";
  CHECK(read_csv("1,2\n3,4\n", "a.csv", few).shape == Shape{2, 2});
  CHECK(read_csv(",a,b\nx,1,2\ny,3,4\n,,\n,,\n", "a.csv", few).shape == Shape{2, 2});
  for (const char* text : {"1,2\n3,4\n5,6\n", "1\n2\n3\n4\n5\n", "1 2 3 4 5\n",
                           ",a,b\nx,1,2\ny,-3,.4\nz,5,\n", "1;2\n3;4\n5;\"never closed\n"}) {
    INFO(text);
    CHECK_THROWS_WITH(read_csv(text, "a.csv", few), refusal);
  }
}

TEST_CASE("an empty line is a blank cell of a single column, and nothing elsewhere") {
  CHECK(read("1\n\n3\n\n").shape == Shape{3, 1});
  CHECK(read_csv("1\n\n3\n\n", "x", {.expected = Size{4, 1}}).shape == Shape{4, 1});
  CHECK(read_csv("1\n\n3\n\n", "x", {.expected = Size{2, 1}}).shape == Shape{2, 1});
  CHECK(read("1,2\n\n3,4\n").shape == Shape{2, 2});
}

TEST_CASE("a cell that is no number is refused with its place") {
  CHECK(refusal_of("1,2\n3,1x\n") ==
        "scores.csv: row 2, column 2: \"1x\" is not a number: write it like 0.25 or 2.5e-3");
  CHECK(refusal_of("token,a\ncat,1\n") ==
        "scores.csv: row 1, column 1: \"token\" is not a number: write it like 0.25 or 2.5e-3; "
        "if the first row or column are labels, leave the first cell of the "
        "file empty");
  CHECK(refusal_of("1,2\n1e999,3\n") ==
        "scores.csv: row 2, column 1: \"1e999\" is too large: a number goes up to 1.79e308; for "
        "infinity write inf");
}

TEST_CASE("rows of different lengths are refused") {
  CHECK(refusal_of("1,2\n\n3\n") ==
        "scores.csv: row 3 has 1 cell, row 1 has 2 cells: give every row 2 cells");
}

TEST_CASE("a file that mixes decimal commas and points is refused") {
  CHECK(refusal_of("1,234;5.6\n") ==
        "scores.csv: row 1, column 2: \"5.6\" has a decimal point, a cell before it a comma: write "
        "all with points, and no mark between thousands");
}

TEST_CASE("what is no text, or has no numbers, is refused") {
  CHECK(refusal_of("1,2\n3,\xff\n") ==
        "scores.csv: line 2: byte 0xff is not UTF-8 text: save the file as UTF-8");
  CHECK(refusal_of("") ==
        "scores.csv: the file is empty: write one row of numbers a line, such as 0.5,0.25");
  CHECK(refusal_of(",a,b\n") ==
        "scores.csv: there are labels but no numbers: write a number under each label");
}

TEST_CASE("broken quotes are refused") {
  CHECK(refusal_of("1,2\n\"3,4\n") ==
        "scores.csv: line 2: a quoted cell is never closed: end it with \"");
  CHECK(refusal_of(",a\n\"b\"c,1\n") ==
        "scores.csv: line 2: text after the closing quote of \"b\": put all of the cell in the "
        "quotes and write \" inside them as \"\"");
}

TEST_CASE("a matrix is written with its labels around it") {
  const Values cells = {1, 0.5, -2, 0.001};
  CHECK(to_csv({.rows = 2,
                .columns = 2,
                .values = cells,
                .row_labels = {"the", "cat"},
                .column_labels = {"d1", "d2"}}) ==
        ",d1,d2\n"
        "the,1,0.5\n"
        "cat,-2,0.001\n");
}

TEST_CASE("a plain matrix is numbers only") {
  const Values cells = {1, 2};
  CHECK(to_csv({.rows = 1,
                .columns = 2,
                .values = cells,
                .row_labels = {"r"},
                .column_labels = {"a", "b"}},
               {.labels = CsvLabels::left_out}) == "1,2\n");
  CHECK(to_csv({.rows = 1, .columns = 2, .values = cells, .row_labels = {}, .column_labels = {}}) ==
        "1,2\n");
}

std::string shortest(double value) {
  return to_csv({.rows = 1,
                 .columns = 1,
                 .values = std::span(&value, 1),
                 .row_labels = {},
                 .column_labels = {}});
}

TEST_CASE("numbers are written with the shortest digits that read back to the same double") {
  CHECK(shortest(0.1) == "0.1\n");
  CHECK(shortest(1.0 / 3.0) == "0.3333333333333333\n");
  CHECK(shortest(0.1 + 0.2) == "0.30000000000000004\n");
  CHECK(shortest(-123.456) == "-123.456\n");
  CHECK(shortest(100000) == "100000\n");
  CHECK(shortest(1e15) == "1000000000000000\n");
  CHECK(shortest(1e16) == "1e+16\n");
  CHECK(shortest(0.0001) == "0.0001\n");
  CHECK(shortest(0.00001) == "1e-05\n");
  CHECK(shortest(5e-324) == "5e-324\n");
  CHECK(shortest(-2.2250738585072014e-308) == "-2.2250738585072014e-308\n");
}

TEST_CASE("what has no digits is written in words") {
  CHECK(shortest(0.0) == "0\n");
  CHECK(shortest(-0.0) == "-0.0\n");
  CHECK(shortest(infinity) == "inf\n");
  CHECK(shortest(-infinity) == "-inf\n");
  CHECK(shortest(std::nan("")) == "nan\n");
}

std::string fixed(double value, int digits) {
  return to_csv({.rows = 1,
                 .columns = 1,
                 .values = std::span(&value, 1),
                 .row_labels = {},
                 .column_labels = {}},
                {.digits = digits});
}

TEST_CASE("asked for digits, it writes so many, and no minus before zero") {
  CHECK(fixed(0.125, 2) == "0.12\n");
  CHECK(fixed(2, 3) == "2.000\n");
  CHECK(fixed(-1e-9, 2) == "0.00\n");
  CHECK(fixed(-0.0, 0) == "0\n");
  CHECK(fixed(-0.5, 2) == "-0.50\n");
  CHECK(fixed(-infinity, 2) == "-inf\n");
  CHECK(fixed(std::nan(""), 2) == "nan\n");
  CHECK(fixed(-1.7976931348623157e308, 1).size() == 313);
}

std::string labelled(std::string_view label) {
  const double one = 1;
  return to_csv({.rows = 1,
                 .columns = 1,
                 .values = std::span(&one, 1),
                 .row_labels = {},
                 .column_labels = {label}});
}

TEST_CASE("a label is quoted where a reader could take it apart") {
  CHECK(labelled("a,b") == ",\"a,b\"\n,1\n");
  CHECK(labelled("say \"hi\"") == ",\"say \"\"hi\"\"\"\n,1\n");
  CHECK(labelled(" cat") == ",\" cat\"\n,1\n");
  CHECK(labelled(";") == ",\";\"\n,1\n");
}

TEST_CASE("a label that a spreadsheet would run as a formula can't be run") {
  CHECK(labelled("=1+1") == ",'=1+1\n,1\n");
  CHECK(labelled("+") == ",'+\n,1\n");
  CHECK(labelled("-") == ",'-\n,1\n");
  CHECK(labelled("@x") == ",'@x\n,1\n");
  CHECK(labelled("\tx") == ",\"'\tx\"\n,1\n");
  CHECK(labelled("\rx") == ",\"'\rx\"\n,1\n");
}

TEST_CASE("labels of every kind come back as they were") {
  const Values cells = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::string_view> labels = {"=a", "'=a", "''", "a\"b", ";", ",", " the", "é\n"};
  const ParsedArray written = read(to_csv(
      {.rows = 1, .columns = 8, .values = cells, .row_labels = {"\t"}, .column_labels = labels}));
  CHECK(written.column_labels == Texts{"=a", "'=a", "''", "a\"b", ";", ",", " the", "é\n"});
  CHECK(written.row_labels == Texts{"\t"});
  CHECK(values(written) == cells);
}

TEST_CASE("every kind of double comes back bit for bit") {
  const Values cells = {-0.0,      5e-324, 1.7976931348623157e308,  -infinity, infinity,
                        0.1 + 0.2, 1e16,   -2.2250738585072014e-308};
  const ParsedArray written = read(
      to_csv({.rows = 2, .columns = 4, .values = cells, .row_labels = {}, .column_labels = {}}));
  CHECK(values(written) == cells);
  CHECK(std::signbit(written.cells[0].value));
}

TEST_CASE("rows and columns in which nothing stands are no part of the matrix") {
  const std::array<std::size_t, 2> expected = {2, 2};
  for (const char* text :
       {"1,2\n3,4\n,\n,\n", "1,2,\n3,4,\n", ",,\n1,2,\n3,4,\n,,\n", "1,2\n3,4\n,,,,,,\n",
        "sep=;\n1;2\n3;4\n", ",a,b,\nx,1,2,\ny,3,4,\n,,,\n"}) {
    INFO(text);
    const ParsedArray written = read_csv(text, "f.csv", {.expected = expected});
    CHECK(written.shape == Shape{2, 2});
    CHECK(written.cells[3].value == 4);
  }
}

TEST_CASE("an empty row that the matrix has room for is a blank one") {
  const ParsedArray written =
      read_csv("1,2\n,\n", "f.csv", {.expected = std::array<std::size_t, 2>{2, 2}});
  CHECK(written.shape == Shape{2, 2});
  CHECK(std::isnan(written.cells[3].value));
}

TEST_CASE("a matrix on its side keeps its blank rows and columns") {
  const std::array<std::size_t, 2> expected = {2, 3};
  CHECK(read_csv("1,4\n2,5\n,\n", "f.csv", {.expected = expected}).shape == Shape{3, 2});
  CHECK(read_csv("1,2,3,4\n5,6,7,\n", "f.csv", {.expected = expected}).shape == Shape{2, 4});
}

TEST_CASE("very many empty rows before the numbers take no longer than their length") {
  // Taken away one by one, each with all that follow it moved up, these would take minutes.
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += ",\n";
  CHECK(read_csv(text + "1,2\n", "Q.csv", {.expected = {{1, 2}}}).shape == Shape{1, 2});
}

TEST_CASE("names over plain rows are as many as the numbers under them") {
  const std::array<std::size_t, 2> expected = {2, 2};
  const ParsedArray blank_last = read_csv("a,b\nx,1,\ny,2,\n", "f.csv", {.expected = expected});
  CHECK(blank_last.shape == Shape{2, 2});
  CHECK(blank_last.row_labels == std::vector<std::string>{"x", "y"});
  CHECK(blank_last.column_labels == std::vector<std::string>{"a", "b"});
  CHECK(std::isnan(blank_last.cells[1].value));
  CHECK(read_csv("a,b\n1,2,\n3,4,\n", "f.csv", {.expected = expected}).shape == Shape{2, 2});
  CHECK_THROWS_AS(read_csv("a,b\n1,2,3\n4,5,6\n", "f.csv", {.expected = expected}), InputError);
}

ParsedArray read_as(std::string_view text, Size expected, std::size_t stacked = 1) {
  return read_csv(text, "f.csv",
                  {.expected = expected, .on_bad_cell = OnBadCell::kept, .stacked = stacked});
}

TEST_CASE("the layout that has the expected size, and numbers in all cells, is the one read") {
  CHECK(values(read_as("a,b\n1,2\n", {1, 2}, 2)) == Values{1, 2});
  CHECK(values(read_as("1,2\n3,4\n", {1, 2}, 2)) == Values{1, 2, 3, 4});
  CHECK(values(read_as("head 1\n1,2\nhead 2\n3,4\n", {1, 2}, 2)) == Values{1, 2, 3, 4});
  CHECK(values(read_as(",0,1\nx,1,2\n,0,1\ny,3,4\n", {1, 2}, 2)) == Values{1, 2, 3, 4});
  CHECK(values(read_as("| | a | b |\n|---|---|---|\n| x | 1 | 2 |\n", {1, 2})) == Values{1, 2});
  CHECK(values(read_as("| 1 |\n|---|\n| 3 |\n| 7 |\n", {2, 1})) == Values{3, 7});
  CHECK(values(read_as("| row sum |\n|---|\n| 3 |\n| 7 |\n", {2, 1})) == Values{3, 7});
  CHECK(values(read_as("+---+\n| 3 |\n+---+\n| 7 |\n+---+\n", {2, 1})) == Values{3, 7});
  CHECK(values(read_as("| 3 |\n|---|\n| 7 |\n|---|\n", {2, 1})) == Values{3, 7});
  CHECK(values(read_as("| 3 |\n|---|\n| 7 |\n", {2, 1})) == Values{3, 7});
  CHECK(values(read_as("x | 1 2\ny | 3 4\n", {2, 2})) == Values{1, 2, 3, 4});
  CHECK(values(read_as("| | a | b |\n|---|---|---|\n| x\\|y\\_ | 1 | 2 |\n", {1, 2})) ==
        Values{1, 2});
}

TEST_CASE("empty rows at the ends are no matrix of a stack") {
  CHECK(values(read_as("1,2\n3,4\n,,,,\n", {1, 2}, 2)) == Values{1, 2, 3, 4});
  CHECK(values(read_as(",,\n1,2,\n3,4,\n,,\n", {2, 2}, 2)) == Values{1, 2, 3, 4});
}

TEST_CASE("quoted cells may stand alone on their lines") {
  CHECK(values(read_as("\"3.5\"\n\"-7,5\"\n", {2, 1})) == Values{3.5, -7.5});
  CHECK(values(read_as("\"1.5\" \"2\"\n\"3\" 4\n", {2, 2})) == Values{1.5, 2, 3, 4});
}

TEST_CASE("matrices of one column may stand one below the other") {
  CHECK(values(read_as("1\n2\n\n3\n4\n", {2, 1}, 2)) == Values{1, 2, 3, 4});
  CHECK(values(read_as("1,5\n2,5\n3,5\n4,5\n", {2, 1}, 2)) == Values{1.5, 2.5, 3.5, 4.5});
  CHECK(read_as("1\n\n3\n", {3, 1}, 2).shape == Shape{3, 1});
}

TEST_CASE("of one column blanks are no separators where the rows would differ in length") {
  const ParsedArray unsure =
      read_csv("5\ndon't know\n6\n", "S.csv",
               {.expected = std::array<std::size_t, 2>{3, 1}, .on_bad_cell = OnBadCell::kept});
  CHECK(unsure.shape == Shape{3, 1});
  CHECK(unsure.bad_texts == Texts{"don't know"});
  CHECK(values(read_as("5\n4 / 2\n6\n", {3, 1})) == Values{5, 2, 6});
  CHECK(values(read_as("1 / 5\n-2 / 5\n", {2, 1})) == Values{0.2, -0.4});
  CHECK(values(read_as("/ 5\n. 6\n", {2, 1})) == Values{5, 6});
  const ParsedArray slash =
      read_csv("1.5 / 3.5\n4.5 5.5 6.5\n", "S.csv",
               {.expected = std::array<std::size_t, 2>{2, 3}, .on_bad_cell = OnBadCell::kept});
  CHECK(slash.bad_texts == Texts{"/"});
  CHECK(values(read_as("head 1\n5\n2\nhead 2\n3\n1\n", {2, 1}, 2)) == Values{5, 2, 3, 1});
  CHECK(values(read_as("the 5\ncat 2\n", {2, 1})) == Values{5, 2});
  CHECK(values(read_as("weight\nthe 0.5\ncat 0.25\n", {2, 1})) == Values{0.5, 0.25});
}

TEST_CASE("a table whose rows and columns have changed places is known by that size, too") {
  const ParsedArray labelled = read_as(",7,3\n1,5,2\n2,0,4\n3,1,1\n", {2, 3});
  CHECK(labelled.shape == Shape{3, 2});
  CHECK(labelled.column_labels == Texts{"7", "3"});
  CHECK(values(read_as("0,5\n1,25\n2\n", {1, 3})) == Values{0.5, 1.25, 2});
}

TEST_CASE("a row of numbers after a word is no row of names") {
  CHECK(read_as("fat,0.5,1.5\ncat,1.5,2.5\n", {1, 2}).shape == Shape{2, 3});
  CHECK(read_as("token,0,1\ncat,1.5,2.5\n", {1, 2}).column_labels == Texts{"0", "1"});
}

TEST_CASE("a cell that is no number stays where a row would have to be left out") {
  const ParsedArray written = read_as("0\n-0.30\n1-0.03\n2\n\t\n", {4, 1});
  CHECK(written.shape == Shape{4, 1});
  CHECK(written.bad_texts == Texts{"1-0.03"});
  CHECK(read_as("Q\ncat\n0.5\n", {1, 1}, 3).shape == Shape{3, 1});
}

TEST_CASE("a trailing blank beside a title is no cell, and the first column no name") {
  CHECK(values(read_as("Scores,\n0,\n-0.06,\n", {2, 1})) == Values{0, -0.06});
}

TEST_CASE("old line ends are found in the time of the file's length") {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "1,2\r";
  CHECK(read(text).shape == Shape{300'000, 2});
}

}  // namespace

TEST_CASE("a file of titles alone is refused in words, where no row is expected too") {
  CHECK_THROWS_AS(read_csv("Scores\n", "Q.csv", {.expected = {{0, 0}}}), InputError);
  CHECK_THROWS_AS(read_csv("Scores\n", "Q.csv", {.expected = {{2, 2}}}), InputError);
}

}  // namespace formats_csv_tests
