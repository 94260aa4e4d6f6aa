#include "check/intake/submission.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "check/intake/step_names.hpp"
#include "check/submissions.hpp"
#include "lesson/library.hpp"
#include "text/strings.hpp"

namespace check_submission_tests {

namespace {

namespace fs = std::filesystem;
using namespace qkv;
using namespace qkv::test;

using Files = std::vector<std::pair<std::string, std::string>>;

// A directory with these files, gone at the end of the test.
class Directory {
 public:
  explicit Directory(const Files& files)
      : path_(fs::temp_directory_path() / ("qkv-submission-test-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
    for (const auto& [name, text] : files) std::ofstream(path_ / name) << text;
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const fs::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string refusal(const fs::path& path, const Trace& trace) {
  try {
    read_submission(path, trace);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const Trace& fat_cat() {
  static const LoadedLesson loaded = load_lesson("two-heads");
  return loaded.trace;
}

std::string meaning(std::string_view stem) {
  const auto name = step_name(stem, fat_cat(), "file");
  if (!name) return "nothing";
  std::string text = name->name;
  for (const std::size_t place : name->leading) text += " " + std::to_string(place + 1);
  return text;
}

TEST_CASE("a file is named after its step as exported, or nearly so") {
  CHECK(meaning("scores") == "scores");
  CHECK(meaning("08-scores.head-2") == "scores 2");
  CHECK(meaning("given-W_Q") == "W_Q");
  CHECK(meaning("Attention Weights") == "attention_weights");
  CHECK(meaning("attention-weights head 2") == "attention_weights 2");
  CHECK(meaning("Q_h1") == "Q 1");
  CHECK(meaning("q.head_1") == "Q 1");
  CHECK(meaning("attention_weights_head1") == "attention_weights 1");
  CHECK(meaning("Attention Weights (head 1)") == "attention_weights 1");
  CHECK(meaning("attention_weights head 2 (1)") == "attention_weights 2");
  CHECK(meaning("scores (copy)") == "scores");
  CHECK(meaning("scores (another copy)") == "nothing");
  CHECK(meaning("queries") == "nothing");
}

TEST_CASE("a head that a step does not have is refused with those that it has") {
  CHECK_THROWS_WITH(meaning("Q.head-3"), "file: there is no head 3; Q has 1 to 2");
  CHECK_THROWS_WITH(meaning("X.head-1"), "file: X is one matrix, so its files are named X.csv");
}

TEST_CASE("a directory without anything to check says how files are named") {
  const Directory directory(Files{});
  CHECK(refusal(directory.path(), two_words().trace) ==
        directory.path().string() +
            ": there is nothing to check; name each file after its step, as in context.csv");
}

TEST_CASE("two files with different numbers for one step are refused") {
  const Directory directory(Files{{"1-Q.csv", "5,2\n5,1\n"}, {"Q.csv", "5,2\n5,9\n"}});
  CHECK(refusal(directory.path(), two_words().trace) ==
        directory.file("1-Q.csv") + " and " + directory.file("Q.csv") +
            " have different numbers for Q; keep one of them");
}

TEST_CASE("where two files of a step have different numbers, the other steps are judged") {
  const Directory directory(Files{{"1-Q.csv", "5,2\n5,1\n"},
                                  {"K.csv", "1,2\n3,4\n"},
                                  {"Q (1).csv", "5,2\n5,1\n"},
                                  {"Q.csv", "5,2\n5,9\n"}});
  const Submission read = read_submission(directory.path(), two_words().trace);
  REQUIRE(read.files.size() == 1);
  CHECK(read.files[0].name == "K");
  REQUIRE(read.unreadable.size() == 1);
  CHECK_THAT(read.unreadable[0], Catch::Contains("have different numbers for Q; keep one of them"));
}

TEST_CASE("a head that is not there makes one array unreadable, not the file") {
  const Directory directory(
      Files{{"mine.json", R"({"K": [[1,2],[3,4]], "Q.head-3": [[1,2],[3,4]]})"}});
  const Submission read = read_submission(directory.path(), two_words().trace);
  CHECK(read.files.size() == 1);
  REQUIRE(read.unreadable.size() == 1);
  CHECK_THAT(read.unreadable[0], Catch::Contains("Q.head-3: "));
}

TEST_CASE("two files that differ by one in the last digit do not agree") {
  for (const char* other : {"5,2\n5,2\n", "5,2\n5,1.6\n"}) {
    const Directory directory(Files{{"1-Q.csv", "5,2\n5,1\n"}, {"Q.csv", other}});
    CHECK(refusal(directory.path(), two_words().trace) ==
          directory.file("1-Q.csv") + " and " + directory.file("Q.csv") +
              " have different numbers for Q; keep one of them");
  }
}

TEST_CASE("two files that agree are one") {
  const Directory directory(Files{{"scaled_scores.csv", "4.03,9.97\n2.9,7.64\n"},
                                  {"scaled_scores.txt", "[[4.031 9.970]\n [2.899 7.637]]\n"}});
  CHECK(read_submission(directory.path(), two_words().trace).files.size() == 1);
}

TEST_CASE("of two files that agree the finer one is judged, whatever their names are") {
  const std::string fine = "4.031,9.970\n2.899,7.637\n";
  const std::string coarse = "4.03,9.97\n2.9,7.64\n";
  const Files in_either_order[] = {{{"05-scaled_scores.csv", fine}, {"scaled_scores.csv", coarse}},
                                   {{"05-scaled_scores.csv", coarse}, {"scaled_scores.csv", fine}}};
  for (const Files& files : in_either_order) {
    const Directory directory(files);
    const Submission read = read_submission(directory.path(), two_words().trace);
    REQUIRE(read.files.size() == 1);
    CHECK(read.files[0].written.cells[0].value == 4.031);
  }
}

TEST_CASE("a file is as coarse as its most decimals, not as each of its numbers") {
  // 2.9 beside 4.03 was written to two decimals: it is no rounding of 2.94.
  const Directory directory(Files{{"05-scaled_scores.csv", "4.03,9.97\n2.9,7.64\n"},
                                  {"scaled_scores.csv", "4.031,9.970\n2.940,7.637\n"}});
  CHECK_THAT(refusal(directory.path(), two_words().trace),
             Catch::Contains("have different numbers for scaled_scores"));
}

TEST_CASE("what fits no step is told, with the nearest name") {
  const Directory directory(Files{{"Q.csv", "5,2\n5,1\n"}, {"scoress.csv", "1,2\n3,4\n"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  REQUIRE(submission.notes.size() == 1);
  CHECK(submission.notes.front() ==
        directory.file("scoress.csv") + " fits no step of this lesson; did you mean scores.csv?");
}

TEST_CASE("an array that fits no step is told with the nearest name, not with a file's") {
  const Directory directory(
      Files{{"dump.json", R"({"Q": [[5, 2], [5, 1]], "scoress": [[1, 2], [3, 4]]})"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  REQUIRE(submission.notes.size() == 1);
  CHECK(submission.notes.front() == directory.file("dump.json") +
                                        ", scoress fits no step of this lesson; did you mean "
                                        "\"scores\"?");
}

TEST_CASE("text in a cell costs no more than that cell") {
  const Directory directory(Files{{"K.csv", "2,2\none,1\n"}, {"Q.csv", "5,two\n5,1\n"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  REQUIRE(submission.files.size() == 2);
  const ParsedArray& keys = submission.files[0].written;
  CHECK(keys.bad_texts == std::vector<std::string>{"one"});
  CHECK(keys.cells[2].bad_text == 1);
  CHECK(keys.cells[1].bad_text == 0);
  CHECK(submission.files[1].written.bad_texts == std::vector<std::string>{"two"});
}

TEST_CASE("a question mark or a dash is a blank") {
  const Directory directory(Files{{"K.csv", "2,?\n-,1\n"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  const NumeralCells& cells = submission.files.front().written.cells;
  CHECK(cells[1].is_blank());
  CHECK(cells[2].is_blank());
}

TEST_CASE("a sheet without a single number is nothing to check") {
  const Directory directory(Files{{"K.csv", "?,?\n?,?\n"}, {"Q.csv", ",\n,\n"}});
  CHECK(refusal(directory.path(), two_words().trace) ==
        directory.path().string() + ": there is no number in it, so there is nothing to check");
}

namespace {

const Task& labelled() {
  static const Task task(R"(
title = "Labels"
tokens = ["fat", "cat"]
[[given]]
name = "X"
value = [[1, 0, 2, 1], [0, 1, 1, 3]]
[[given]]
name = "W_Q"
columns = ["up", "down"]
value = [[1, 0], [0, 1], [1, 1], [2, 1]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "halves"
op = "split_heads"
of = ["X"]
heads = 2
)");
  return task;
}

std::vector<double> numbers(const SubmittedFile& file) {
  std::vector<double> numbers;
  for (const Numeral& cell : file.written.cells) numbers.push_back(cell.value);
  return numbers;
}

}  // namespace

TEST_CASE("rows and columns are put in the order of their labels") {
  const Directory directory(Files{{"Q.csv", ",down,up\ncat,1,2\nfat,3,4\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(numbers(submission.files.front()) == std::vector<double>{4, 3, 2, 1});
  CHECK(submission.notes.size() == 2);
}

TEST_CASE("a label is the same however its accents are encoded") {
  static const Task task(R"(
title = "Accents"
tokens = ["K\u00f6nig", "Fu\u0308rst"]
[[given]]
name = "X"
value = [[1, 0], [0, 1]]
[[step]]
name = "Q"
op = "add"
of = ["X", "X"]
)");
  const Directory directory(Files{{"Q.csv", ",1,2\nF\u00fcrst,1,2\nKo\u0308nig,3,4\n"}});
  const Submission submission = read_submission(directory.path(), task.trace);
  CHECK(numbers(submission.files.front()) == std::vector<double>{3, 4, 1, 2});
  CHECK(find_cell("Q[Ko\u0308nig,1]", task.trace).row == 0);
}

TEST_CASE("columns that the lesson does not name go by their numbers") {
  const auto read = [](const std::string& heading) {
    const Directory directory(Files{{"Q.csv", heading + "\n1,1,2\n2,3,4\n"}});
    return numbers(read_submission(directory.path(), two_words().trace).files.front());
  };
  CHECK(read(",2,1") == std::vector<double>{2, 1, 4, 3});
  CHECK(read(",1,2") == std::vector<double>{1, 2, 3, 4});
  CHECK(read(",1,0") == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("a label that the lesson does not have is reported") {
  const Directory directory(Files{{"Q.csv", ",up,down\nfat,1,2\ndog,3,4\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(numbers(submission.files.front()) == std::vector<double>{1, 2, 3, 4});
  CHECK(submission.notes ==
        std::vector{directory.file("Q.csv") + ": Q of this lesson has no row called dog"});
}

TEST_CASE("a file for all heads that holds one is taken for that head") {
  const Directory directory(Files{{"halves.csv", "2,1\n1,3\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(submission.files.front().leading == std::vector<std::size_t>{1});
  CHECK(submission.notes ==
        std::vector{directory.file("halves.csv") +
                    ": it has the size of one matrix; taken for head 2 of halves"});
}

TEST_CASE("a file in which half of the cells fit one head is taken for it") {
  const Directory directory(Files{{"halves.csv", "2,1\n900,900\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(submission.files.front().leading == std::vector<std::size_t>{1});
}

TEST_CASE("the rounding of earlier steps does not hide a head") {
  const Directory directory(Files{{"halves.csv", "2.0400,0.9800\n1.0300,3.0500\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(submission.files.front().leading == std::vector<std::size_t>{1});
}

TEST_CASE("a file of one head's size that fits no head is not taken for one") {
  const Directory directory(Files{{"halves.csv", "5.00,6.00\n7.00,8.00\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  CHECK(submission.files.front().leading.empty());
  CHECK(submission.notes.empty());
}

TEST_CASE("a file of one head's size is of the head that the others are of") {
  const Task task(R"(
title = "Two heads"
[[given]]
name = "X"
value = [[1, 2, 30, 40], [3, 4, 50, 60]]
[[step]]
name = "halves"
op = "split_heads"
of = ["X"]
heads = 2
[[step]]
name = "doubled"
op = "add"
of = ["halves", "halves"]
)");
  const auto leading = [&](const Files& files) {
    const Directory directory(files);
    return read_submission(directory.path(), task.trace).files.front().leading;
  };
  const std::string doubled = "7,9\n2,3\n";
  CHECK(leading({{"doubled.csv", doubled}, {"halves.head-2.csv", "30,40\n50,60\n"}}) ==
        std::vector<std::size_t>{1});
  CHECK(leading({{"doubled.csv", doubled}, {"halves.csv", "1,2\n3,4\n30,40\n50,60\n"}}).empty());
}

TEST_CASE("a head's fractions are as precise as the other head's numbers") {
  Directory directory(
      Files{{"halves.head-1.csv", "1/3,1/3\n1/3,1/3\n"}, {"halves.head-2.csv", "0.1,0.25\n3,4\n"}});
  const Submission submission = read_submission(directory.path(), labelled().trace);
  const std::vector<SubmittedArray> arrays = normalise_layout(submission, labelled().trace, {});
  REQUIRE(arrays.size() == 1);
  CHECK(arrays.front().cells[0].decimals == 2);
  CHECK_FALSE(arrays.front().cells[0].scientific);
}

TEST_CASE("the first cell is enough to tell a head") {
  static const Task task(R"(
title = "Heads that differ in one cell"
[[given]]
name = "X"
value = [[1, 0, 2, 0]]
[[step]]
name = "halves"
op = "split_heads"
of = ["X"]
heads = 2
)");
  const Directory directory(Files{{"halves.csv", "2,0\n"}});
  const Submission submission = read_submission(directory.path(), task.trace);
  CHECK(submission.files.front().leading == std::vector<std::size_t>{1});
}

// 48 numbers of at most 400 bytes each, beside 1,048,576 bytes for everybody.
TEST_CASE("a file may be as long as the lesson's numbers need, not longer") {
  const std::string numbers = "5,2\n5,1\n";
  const auto of_bytes = [&](std::size_t size) {
    const Directory directory(Files{{"Q.csv", numbers + std::string(size - numbers.size(), '\n')}});
    return refusal(directory.path(), two_words().trace);
  };
  CHECK(of_bytes(1'067'776) == "no error");
  CHECK_THAT(of_bytes(1'067'777), Catch::Contains("1 MB is more than all 48 numbers"));
}

TEST_CASE("a file of words costs each of its cells, and never the submission") {
  const Directory directory(Files{{"Q.csv", "this,was\ntoo,hard\nfor,me\n"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  REQUIRE(submission.files.size() == 1);
  CHECK(submission.files[0].written.bad_texts ==
        std::vector<std::string>{"too", "hard", "for", "me"});
}

TEST_CASE("copies that editors and systems keep are no part of the work") {
  const Directory directory(Files{{"Q.csv", "5,2\n5,1\n"}, {"Q.csv~", "x"}, {".Q.csv.swp", "x"}});
  const Submission submission = read_submission(directory.path(), two_words().trace);
  CHECK(submission.files.size() == 1);
  CHECK(submission.notes.empty());
}

}  // namespace

}  // namespace check_submission_tests
