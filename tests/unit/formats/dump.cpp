#include "formats/files/read_file.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/arrays/arrays.hpp"
#include "formats/files/write_file.hpp"
#include "formats/to_npy.hpp"
#include "text/strings.hpp"

namespace formats_dump_tests {

namespace {

using namespace qkv;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

/// An empty directory that goes when the test ends.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "qkv-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }
  void write(const std::string& name, std::string_view bytes) const {
    write_atomically(path / name, bytes);
  }
  fs::path path;
};

ArrayCollection read(const Scratch& scratch) {
  return load_arrays(scratch.path, [](const std::string&) { return ReadOptions{}; });
}

std::vector<std::string> names_of(const ArrayCollection& dump) {
  std::vector<std::string> names;
  for (const NamedArray& matrix : dump.matrices) names.push_back(matrix.name);
  return names;
}

std::vector<double> values_of(const ParsedArray& written) {
  std::vector<double> values;
  for (const Numeral& cell : written.cells) values.push_back(cell.value);
  return values;
}

TEST_CASE("a file's stem names its step, without its number, and which of its matrices it is") {
  const FileStem stem = file_stem("06-scores.batch-2.head-11");
  CHECK(stem.name == "scores");
  CHECK(stem.places ==
        std::vector<std::pair<std::string, std::size_t>>{{"batch", 2}, {"head", 11}});
  CHECK(file_stem("given-W_Q").name == "W_Q");
  CHECK(file_stem("h0.scores").name == "h0.scores");
  CHECK(file_stem("123").name == "123");
}

TEST_CASE("heads in files of their own are one array again, in the order of their numbers") {
  const Scratch scratch;
  scratch.write("02-scores.head-2.csv", "3,4\n");
  scratch.write("02-scores.head-1.csv", "1,2\n");
  scratch.write("01-Q.csv", "9,9\n");
  scratch.write("03-A.csv", "8,8\n");
  const ArrayCollection dump = read(scratch);
  CHECK(names_of(dump) == std::vector<std::string>{"Q", "scores", "A"});
  CHECK(dump.matrices[1].written.shape == Shape{2, 1, 2});
  CHECK(values_of(dump.matrices[1].written) == std::vector<double>{1, 2, 3, 4});
  CHECK_FALSE(dump.whole_lesson);
}

TEST_CASE("heads that don't make up an array are left out, and that is told") {
  const Scratch scratch;
  scratch.write("Q.csv", "1,2\n");
  scratch.write("K.head-1.csv", "1,2\n");
  scratch.write("K.head-3.csv", "1,2\n");
  scratch.write("V.head-1.csv", "1,2\n");
  scratch.write("V.head-2.csv", "1,2,3\n");
  const ArrayCollection dump = read(scratch);
  CHECK(names_of(dump) == std::vector<std::string>{"Q"});
  CHECK(dump.notes == std::vector<std::string>{"K was left out: 2 of its 3 matrices have a file",
                                               "V was left out: its files differ in shape"});
}

TEST_CASE("of several forms of a matrix the finest is taken") {
  const Scratch scratch;
  scratch.write("Q.csv", "1.2,2.4\n");
  scratch.write("Q.npy", to_npy(tensor_of({1, 2}, {1.234, 2.382})));
  const ArrayCollection dump = read(scratch);
  REQUIRE(dump.matrices.size() == 1);
  CHECK(values_of(dump.matrices[0].written) == std::vector<double>{1.234, 2.382});
}

TEST_CASE("two arrays of a step with different numbers are refused, also as heads and as a whole") {
  const auto refusal = [](const Scratch& scratch) -> std::string {
    try {
      read(scratch);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Scratch scratch;
  scratch.write("Q.csv", "1,2\n");
  scratch.write("Q.npy", to_npy(tensor_of({1, 2}, {1, 2.6})));
  CHECK(refusal(scratch) == "Q.csv and Q.npy have different numbers for Q; keep one of them");
  const Scratch heads;
  heads.write("Q.json", "[[[1, 2]], [[3, 4]]]");
  heads.write("Q.head-1.csv", "1,2\n");
  heads.write("Q.head-2.csv", "3,5\n");
  CHECK(refusal(heads) == "Q.json and Q.head-1.csv have different numbers for Q; keep one of them");
}

TEST_CASE("in an export's directory only what its list names is read") {
  const Scratch scratch;
  scratch.write("01-Q.csv", "1,2\n");
  scratch.write("02-old.csv", "5,6\n");
  scratch.write("00-lesson.json",
                R"({"givens": [], "steps": [{"name": "Q", "file": "01-Q.csv"}]})");
  const ArrayCollection dump = read(scratch);
  CHECK(names_of(dump) == std::vector<std::string>{"Q"});
  CHECK(dump.notes.back() == "00-lesson.json does not list 02-old.csv: it was not read");
  CHECK(dump.whole_lesson);
  CHECK(dump.listed == std::vector<std::string>{"Q"});
}

TEST_CASE("a list that leaves a step out is no whole lesson; one that is broken is no list") {
  const Scratch scratch;
  scratch.write("01-Q.csv", "1,2\n");
  scratch.write("00-lesson.json",
                R"({"steps": [{"name": "Q", "file": ["01-Q.csv"]}, {"name": "K", "file": null}]})");
  CHECK_FALSE(read(scratch).whole_lesson);
  scratch.write("00-lesson.json", "{\"steps\": [");
  scratch.write("02-K.csv", "1,2\n");
  CHECK(names_of(read(scratch)) == std::vector<std::string>{"Q", "K"});
}

TEST_CASE("a directory without matrices is refused") {
  const Scratch scratch;
  scratch.write("notes.md", "hello\n");
  CHECK_THROWS_WITH(read(scratch), Contains("there are no matrices in it; name each file after"));
}

}  // namespace

}  // namespace formats_dump_tests
