// The lesson files of tests/data/lessons: broken/ with the faults that each must be told of, in
// comments at its top (`# expect: 12:8: message`; OPERATIONS are all of the catalogue), and good/,
// which reproduce what NumPy and PyTorch print ([[expect]]) and must have no fault at all.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/files/read_file.hpp"
#include "lesson/library.hpp"
#include "ops/operation.hpp"

namespace lesson_lint_tests {

using namespace qkv;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> lessons_in(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(QKV_TEST_LESSONS) / directory)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string expected_faults(const std::string& toml) {
  constexpr std::string_view mark = "# expect: ";
  std::string faults;
  for (std::size_t at = 0; toml.compare(at, mark.size(), mark) == 0;) {
    const std::size_t end = toml.find('\n', at) + 1;
    faults += toml.substr(at + mark.size(), end - at - mark.size());
    at = end;
  }
  std::vector<std::string_view> names;
  for (const Operation* operation : catalogue()) names.push_back(operation->name);
  constexpr std::string_view all = "OPERATIONS";
  const std::size_t place = faults.find(all);
  if (place != std::string::npos) {
    faults.replace(place, all.size(), fmt::format("{}", fmt::join(names, ", ")));
  }
  return faults;
}

std::string faults_of(const fs::path& file) {
  fs::current_path(file.parent_path());  // so that files are named as the lesson names them
  const ParsedLesson reading = read_lesson(read_bytes(file), "lesson", {});
  std::string lines;
  for (const Fault& fault : lint(reading)) {
    lines += fault_line(reading.lesson, fault).substr(std::string("lesson:").size()) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("all faults of a broken lesson are reported, each with its place and its remedy") {
  const std::vector<fs::path> files = lessons_in("broken");
  REQUIRE(files.size() >= 40);
  for (const fs::path& file : files) {
    INFO(file.filename().string());
    const std::string expected = expected_faults(read_bytes(file));
    CHECK_FALSE(expected.empty());
    CHECK(faults_of(file) == expected);
  }
}

TEST_CASE("two steps with one title are told, where a lesson writes titles") {
  const auto faults_with = [](const std::string& title) {
    return lint(read_lesson(
        "title = \"t\"\n[[given]]\nname = \"S\"\nvalue = [[1, 2]]\n"
        "[[step]]\nname = \"A\"\nop = \"exp\"\nof = [\"S\"]\nsay = \"A.\"\n" +
            title + "[[step]]\nname = \"B\"\nop = \"exp\"\nof = [\"A\"]\nsay = \"B.\"\n" + title,
        "t.toml", {}));
  };
  CHECK(faults_with("").empty());
  const std::vector<Fault> faults = faults_with("title = \"Powers\"\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == Fault::Kind::advice);
  CHECK(faults[0].message ==
        "A and B have the title \"Powers\"; write title = \"…\": what B makes");
}

TEST_CASE("a good lesson has no faults and reproduces NumPy's and PyTorch's numbers") {
  const std::vector<fs::path> files = lessons_in("good");
  REQUIRE(files.size() >= 7);
  for (const fs::path& file : files) {
    INFO(file.filename().string());
    CHECK(faults_of(file) == "");
    const ParsedLesson reading = read_lesson(read_bytes(file), "lesson", file.parent_path());
    CHECK_FALSE(reading.lesson.expectations.empty());
  }
}

TEST_CASE("every lesson of the course is sound") {
  CHECK_FALSE(built_in_lessons().empty());
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    INFO(lesson.name);
    std::string lines;
    const ParsedLesson reading = find_lesson(std::string(lesson.name));
    for (const Fault& fault : lint(reading)) lines += fault_line(reading.lesson, fault) + "\n";
    CHECK(lines == "");
  }
}

TEST_CASE("an expectation holds to the digits that were printed, and no further") {
  const auto faults = [](const std::string& value, const std::string& printed) {
    const std::string toml = "[[given]]\nname = \"X\"\nvalue = [[" + value +
                             "]]\n[[step]]\nname = \"A\"\nop = \"transpose\"\nof = \"X\"\nsay = "
                             "\"W\"\n[[expect]]\nof = \"A\"\nvalue = \"[[" +
                             printed + "]]\"\n";
    return lint(read_lesson(toml, "lesson", {})).size();
  };
  CHECK(faults("0.1475", "0.148") == 0);  // half a unit, inclusive
  CHECK(faults("0.1474", "0.148") == 1);
  CHECK(faults("0.1485", "0.148") == 0);
  CHECK(faults("0.1486", "0.148") == 1);
  CHECK(faults("1.234e-5", "1.23e-05") == 0);
  CHECK(faults("1.236e-5", "1.23e-05") == 1);
  CHECK(faults("3", "3") == 0);  // whole numbers are exact where the lesson's are whole
  CHECK(faults("4", "3") == 1);
  CHECK(faults("3.4", "3") == 0);  // else they are rounded
  CHECK(faults("3.6", "3") == 1);
  CHECK(faults("inf", "inf") == 0);
  CHECK(faults("inf", "-inf") == 1);
}

TEST_CASE("a change of the text or of a given is worked out anew") {
  const LoadedLesson other = load_lesson(std::string(QKV_TEST_LESSONS) + "/good/batch.toml",
                                         {.text = "so is life", .set = {}});
  CHECK(other.trace.at("token_ids").values == std::vector<double>{3, 1, 0});
  const LoadedLesson set = load_lesson(std::string(QKV_TEST_LESSONS) + "/good/columns.toml",
                                       {.text = {}, .set = {"X[1,chat]=8", "W_Q[2,1]=-1e-3"}});
  // Inside, a token is a row: chat's first feature, and the weight from feature 1 to query 2.
  CHECK(set.trace.at("X").at(0, 1, 0) == 8);
  CHECK(set.trace.at("W_Q").at(0, 0, 1) == -1e-3);
}

TEST_CASE("what can't be changed is told why") {
  const std::string columns = std::string(QKV_TEST_LESSONS) + "/good/columns.toml";
  const auto change = [&](const std::string& set) {
    return load_lesson(columns, {.text = {}, .set = {set}});
  };
  CHECK_THROWS_WITH(change("X[1,1]"), "--set X[1,1]: write the cell and its value: 'X[1,1]=0.5'");
  CHECK_THROWS_WITH(
      change("X[1,1]=one"),
      "--set X[1,1]=one: \"one\" is not a number: write it like 0.25, 1/3, √2, 80% or 2.5e-3");
  CHECK_THROWS_WITH(
      change("X[1,1]=nan"),
      "--set X[1,1]=nan: \"nan\" is not a number: write it like 0.25, 1/3, √2, 80% or 2.5e-3");
  CHECK_THROWS_WITH(change("X[1,1]=1e999"),
                    "--set X[1,1]=1e999: \"1e999\" is too large: a number goes up to 1.79e308; "
                    "for infinity write inf");
  CHECK_THROWS_WITH(change("score[1,1]=2"), "--set score is not given; did you mean \"scores\"?");
  CHECK_THROWS_WITH(change("X[4,1]=2"), "--set X[4,1]: there is no row 4; they count from 1 to 3");
  CHECK_THROWS_WITH(load_lesson(columns, {.text = "le chat", .set = {}}),
                    "--text: this lesson does not start from a text; change a given with --set");
}

TEST_CASE("docs/lessons.md lists every operation with its options") {
  const std::string page = read_bytes(fs::path(QKV_TEST_LESSONS) / "../../../docs/lessons.md");
  const std::string table = page.substr(page.find("| `op` | `of` |"));
  for (const Operation* operation : catalogue()) {
    INFO(operation->name);
    const std::size_t at = table.find(fmt::format("`{}`", operation->name));
    REQUIRE(at != std::string::npos);
    const std::string row = table.substr(at, table.find('\n', at) - at);
    for (const OptionRule& option : operation->options) {
      CHECK(row.find(fmt::format("`{}`", option.name)) != std::string::npos);
    }
  }
}

}  // namespace lesson_lint_tests
