// The law of every reader: eight times the file costs at most twelve times the work, and twelve
// times the memory. What is quadratic costs 64 times as much.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check/compare/side.hpp"
#include "check/intake/step_names.hpp"
#include "check/intake/submission.hpp"
#include "costs/counting.hpp"
#include "formats/arrays/arrays.hpp"
#include "formats/files/read_file.hpp"
#include "formats/handwork/csv.hpp"
#include "formats/to_npy.hpp"
#include "ops/operation.hpp"
#include "text/strings.hpp"

namespace {

using namespace qkv;
using namespace qkv::test;
namespace fs = std::filesystem;

/// `text` so many times.
std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// What `one` makes of 0, 1, 2, …, one after the other.
template <class One>
std::string each(std::size_t count, const One& one, const std::string& between = "") {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += (i == 0 ? "" : between) + one(i);
  return all;
}

/// An empty directory that goes when the test ends.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "qkv-cost-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
  fs::path path;
};

/// Reads a file of that size. It may be refused, which must not cost more either.
using Reading = std::function<void(const std::string& bytes)>;

void keep_law(const std::string& what, std::size_t size,
              const std::function<std::string(std::size_t)>& file, const Reading& read) {
  Cost costs[2];
  for (const std::size_t k : {0U, 1U}) {
    const std::string bytes = file(k == 0 ? size : 8 * size);
    costs[k] = cost_of([&] { read(bytes); });
  }
  INFO(what << ": " << costs[0].work << " and " << costs[1].work << " steps, " << costs[0].allocated
            << " and " << costs[1].allocated << " bytes");
  CHECK(costs[0].work > size);  // it was counted
  CHECK(costs[1].work <= 12 * costs[0].work);
  CHECK(costs[1].allocated <= 12 * costs[0].allocated);
}

/// A way to fill a file with so many numbers, or with so much else.
struct Filling {
  std::string what;
  std::function<std::string(std::size_t)> file;
};

constexpr std::size_t size = 1024;

// ---------------------------------------------------------------- sheets

const std::vector<Filling> sheets = {
    {"a column", [](std::size_t n) { return times(n, "1\n"); }},
    {"a column with blank lines", [](std::size_t n) { return times(n, "1\n\n"); }},
    {"blank lines", [](std::size_t n) { return "1\n" + times(n, "\n") + "1\n"; }},
    {"a row", [](std::size_t n) { return times(n, "1,") + "1\n"; }},
    {"a row with blanks between", [](std::size_t n) { return times(n, "1 ") + "1\n"; }},
    {"rows with blanks between", [](std::size_t n) { return times(n, "1 2\n"); }},
    {"rows", [](std::size_t n) { return times(n, "1,2\n"); }},
    {"rows with semicolons", [](std::size_t n) { return times(n, "1,5;2,5\n"); }},
    {"rows with tabs", [](std::size_t n) { return times(n, "1\t2\r\n"); }},
    {"labelled rows", [](std::size_t n) { return ",a,b\n" + times(n, "x,1,2\n"); }},
    {"labelled columns",
     [](std::size_t n) { return times(n, ",a") + "\nx" + times(n, ",1") + "\n"; }},
    {"numbered rows",
     [](std::size_t n) {
       return ",1,2\n" + each(n, [](std::size_t i) { return std::to_string(i + 1) + ",1,2\n"; });
     }},
    {"quoted cells", [](std::size_t n) { return times(n, "\"1\",\"2\"\n"); }},
    {"a quoted cell that is never closed", [](std::size_t n) { return "\"" + times(n, "1,2\n"); }},
    {"doubled quotes", [](std::size_t n) { return ",\"" + times(n, "\"\"") + "\"\nx,1\n"; }},
    {"surplus cells", [](std::size_t n) { return "1,2" + times(n, ",") + "\n3,4\n"; }},
    {"surplus rows", [](std::size_t n) { return "1,2\n3,4\n" + times(n, ",\n"); }},
    {"rows that differ in length", [](std::size_t n) { return times(n, "1,2\n1\n"); }},
    {"fractions and roots", [](std::size_t n) { return times(n, "1/3,√2\n"); }},
    {"percentages", [](std::size_t n) { return times(n, "12.5%,50 %\n"); }},
    {"words", [](std::size_t n) { return times(n, "one,two\n") + "1,2\n"; }},
    {"titles", [](std::size_t n) { return times(n, "title\n") + "1,2\n"; }},
    {"bars", [](std::size_t n) { return times(n, "| 1 | 2 |\n"); }},
    {"rules", [](std::size_t n) { return times(n, "|---|---|\n") + "| 1 | 2 |\n"; }},
    {"comments", [](std::size_t n) { return times(n, "# 1 2\n") + "1 2\n"; }},
    {"a long number", [](std::size_t n) { return "0." + times(n, "1") + ",2\n"; }},
    {"a long whole number", [](std::size_t n) { return times(n, "1") + ",2\n"; }},
    {"many zeros", [](std::size_t n) { return times(n, "0") + "1e-5,2\n"; }},
    {"a cell of signs", [](std::size_t n) { return times(n, "−") + ",2\n"; }},
    {"a cell of blanks", [](std::size_t n) { return "1" + times(n, "\u00a0") + "2,2\n"; }},
    {"a root of stars", [](std::size_t n) { return "2" + times(n, "*") + "√2,2\n"; }},
    {"a long word", [](std::size_t n) { return times(n, "w") + ",2\n"; }},
};

TEST_CASE("eight times the sheet costs at most twelve times the work") {
  for (const Filling& filling : sheets) {
    for (const bool is_known : {false, true}) {
      for (const OnBadCell on_bad_cell : {OnBadCell::refused, OnBadCell::kept}) {
        ReadOptions wanted{.on_bad_cell = on_bad_cell, .stacked = 2};
        if (is_known) wanted.expected = {2, 2};
        const auto read = [&](auto reader) {
          return [reader, wanted](const std::string& text) {
            try {
              reader(text, "sheet", wanted);
            } catch (const InputError&) {
            }
          };
        };
        keep_law(filling.what, size, filling.file, read(read_csv));
        keep_law(filling.what + ", as text", size, filling.file, read(read_printed_text));
      }
    }
  }
}

const std::vector<Filling> pasted = {
    {"one row", [](std::size_t n) { return "[" + times(n, "1 ") + "]"; }},
    {"one row with commas", [](std::size_t n) { return "[" + times(n, "1,") + "1]"; }},
    {"one row over lines", [](std::size_t n) { return "[" + times(n, "1,\n") + "1]"; }},
    {"rows of one", [](std::size_t n) { return "[" + times(n, "[1],") + "[1]]"; }},
    {"rows of two",
     [](std::size_t n) { return "tensor([" + times(n, "[1., 2.],\n") + "[1., 2.]])"; }},
    {"matrices", [](std::size_t n) { return "[" + times(n, "[[1],[2]],") + "[[1],[2]]]"; }},
    {"semicolons", [](std::size_t n) { return "A = [" + times(n, "1;") + "1]"; }},
    {"semicolons and blanks", [](std::size_t n) { return "[" + times(n, "1 2; ") + "1 2]"; }},
    {"lines in one bracket", [](std::size_t n) { return "[" + times(n, "1 2\n") + "1 2]"; }},
    {"brackets never closed", [](std::size_t n) { return "[" + times(n, "[1],"); }},
    {"what follows a call", [](std::size_t n) { return "[1]" + times(n, ", a=<b>"); }},
    {"closing brackets", [](std::size_t n) { return "[1]" + times(n, ")"); }},
    {"what precedes it", [](std::size_t n) { return times(n, "a.") + "[1]"; }},
    {"MATLAB's rows", [](std::size_t n) { return "A =\n\n" + times(n, "   1.5   2.5\n"); }},
    {"MATLAB's blocks",
     [](std::size_t n) { return "A =\n" + times(n, " Column 1\n\n  1.5\n  2.5\n\n"); }},
    {"MATLAB's factor", [](std::size_t n) { return "A =\n  1.0e+03 *\n" + times(n, "  1.5\n"); }},
};

TEST_CASE("eight times the pasted text costs at most twelve times the work") {
  for (const Filling& filling : pasted) {
    keep_law(filling.what, size, filling.file, [](const std::string& text) {
      try {
        read_printed_text(text, "pasted");
      } catch (const InputError&) {
      }
    });
  }
}

// ---------------------------------------------------------------- arrays

std::string number_text(std::size_t i) { return std::to_string(i); }

const std::vector<Filling> json_texts = {
    {"one list", [](std::size_t n) { return "[" + times(n, "1,") + "1]"; }},
    {"lists", [](std::size_t n) { return "[" + times(n, "[1, 2.5],\n") + "[1, 2.5]]"; }},
    {"words", [](std::size_t n) { return "[" + times(n, "NaN,-Infinity,1e400,") + "1]"; }},
    {"texts", [](std::size_t n) { return "[" + times(n, "\"1/3\",") + "1]"; }},
    {"named matrices",
     [](std::size_t n) {
       return "{" +
              each(
                  n, [](auto i) { return "\"m" + number_text(i) + "\":[1]"; }, ",") +
              "}";
     }},
    {"objects",
     [](std::size_t n) {
       return "{" +
              each(
                  n, [](auto i) { return "\"m" + number_text(i) + "\":{\"Q\":1}"; }, ",") +
              "}";
     }},
    {"names in an object with a long name",
     [](std::size_t n) {
       return "{\"" + times(n, "long") + "\":{" +
              each(
                  n, [](auto i) { return "\"m" + number_text(i) + "\":1"; }, ",") +
              "}}";
     }},
    {"entries",
     [](std::size_t n) {
       return "[" +
              each(
                  n, [](auto i) { return "{\"step\":\"m" + number_text(i) + "\",\"values\":[1]}"; },
                  ",") +
              "]";
     }},
    {"a long text",
     [](std::size_t n) { return "{\"Q\":[1],\"note\":\"" + times(n, "\\n") + "\"}"; }},
    {"a long name", [](std::size_t n) { return "{\"" + times(n, "Q") + "\":[1]}"; }},
    {"brackets", [](std::size_t n) { return times(n, "["); }},
    {"commas", [](std::size_t n) { return "[1" + times(n, ",") + "]"; }},
};

TEST_CASE("eight times the JSON costs at most twelve times the work") {
  for (const Filling& filling : json_texts) {
    keep_law(filling.what, size, filling.file, [](const std::string& text) {
      try {
        read_json(text, "all.json", {.on_bad_cell = OnBadCell::kept});
      } catch (const InputError&) {
      }
    });
  }
}

std::string array_file(std::size_t rows, std::size_t columns) {
  return to_npy(tensor_of({rows, columns}, Values(std::vector<double>(rows * columns, 0.5))));
}

/// A file of arrays of two numbers with these names.
using Writer = void (*)(const std::vector<NamedTensor>&, const Sink&);

template <class Name>
std::string archive(std::size_t count, const Name& name, Writer write) {
  const Tensor two = tensor_of({1, 2}, {0.5, 1.5});
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back({name(i), two});
  std::string bytes;
  write(tensors, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

void write_tensors(const std::vector<NamedTensor>& tensors, const Sink& sink) {
  write_safetensors(tensors, {}, sink);
}

TEST_CASE("eight times the arrays, or the numbers in one, cost at most twelve times the work") {
  const auto named = [](std::size_t i) { return "m" + number_text(i); };
  keep_law(
      "npy", size, [](std::size_t n) { return array_file(n, 2); },
      [](const std::string& bytes) { read_npy(bytes, "a.npy"); });
  keep_law(
      "npz", 128, [&](std::size_t n) { return archive(n, named, write_npz); },
      [](const std::string& bytes) { read_npz(bytes, "a.npz"); });
  keep_law(
      "safetensors", 128, [&](std::size_t n) { return archive(n, named, write_tensors); },
      [](const std::string& bytes) { read_safetensors(bytes, "a"); });
}

// ---------------------------------------------------------------- names, directories, lists

TEST_CASE("eight times the name costs at most twelve times the work") {
  const std::vector<Filling> names = {
      {"places", [](std::size_t n) { return "Q" + times(n, ".head-1"); }},
      {"copies", [](std::size_t n) { return "Q" + times(n, " copy"); }},
      {"numbered copies", [](std::size_t n) { return "Q" + times(n, " (1)"); }},
      {"digits", [](std::size_t n) { return times(n, "1") + "-Q"; }},
      {"heads", [](std::size_t n) { return "Q" + times(n, "h1"); }},
      {"brackets", [](std::size_t n) { return "Q" + times(n, "("); }},
  };
  Trace trace;
  trace.add(Given{"Q", tensor_of({2, 1, 1}, {1, 2})});
  for (const Filling& name : names) {
    keep_law(name.what, size, name.file, [&](const std::string& text) {
      try {
        step_name(text, trace, "file");
      } catch (const InputError&) {
      }
    });
  }
}

TEST_CASE("eight times the arrays of heads cost at most twelve times the work") {
  const auto load = [](const std::string& bytes) {
    const Scratch scratch;
    const fs::path file = scratch.write("dump.npz", bytes);
    load_arrays(file, [](const std::string&) { return ReadOptions{}; });
  };
  const auto head = [](std::size_t i) { return "Q.head-" + number_text(i + 1); };
  const auto other = [](std::size_t i) { return "m" + number_text(i) + ".head-1"; };
  keep_law(
      "one array", 128, [&](std::size_t n) { return archive(n, head, write_npz); }, load);
  keep_law(
      "many arrays", 128, [&](std::size_t n) { return archive(n, other, write_npz); }, load);
}

TEST_CASE("eight times the renamed arrays cost at most twelve times the work") {
  ComparedSide lesson{.name = "lesson"};
  lesson.matrices.push_back({.name = "b1", .tensor = tensor_of({1}, {1})});
  keep_law(
      "names", 128, [](std::size_t n) { return times(n, "x"); },
      [&](const std::string& arrays) {
        ComparedSide dump{.name = "dump"};
        for (std::size_t i = 0; i < arrays.size(); ++i) {
          dump.matrices.push_back({.name = "a" + number_text(i), .tensor = {}});
        }
        map_names({{.theirs = "a*", .ours = "b*"}}, lesson, dump);
        adopt_names(lesson, dump);
      });
}

/// A lesson whose only step, Q, is this.
Trace lesson_of(Tensor tensor) {
  Trace trace;
  trace.add(Step{{"Q", &relu_operation, {}, {}}, std::move(tensor)});
  return trace;
}

/// The same with one number in each labelled row.
Trace lesson_of_rows(std::size_t rows) {
  Tensor tensor = tensor_of({rows, 1}, Values(std::vector<double>(rows, 1)));
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < rows; ++i) labels.push_back("row " + number_text(i));
  tensor.axes[0].labels = std::move(labels);
  return lesson_of(std::move(tensor));
}

TEST_CASE("eight times the labels, in any order, cost at most twelve times the work") {
  const auto in_order = [](std::size_t n) {
    return ",a\n" + each(n, [](auto i) { return "row " + number_text(i) + ",1\n"; });
  };
  const auto reversed = [](std::size_t n) {
    return ",a\n" + each(n, [n](auto i) { return "row " + number_text(n - 1 - i) + ",1\n"; });
  };
  const auto unknown = [](std::size_t n) {
    return ",a\n" + each(n, [](auto i) { return "line " + number_text(i) + ",1\n"; });
  };
  const auto check = [](const std::string& sheet) {
    const Scratch scratch;
    scratch.write("Q.csv", sheet);
    const auto rows = static_cast<std::size_t>(std::count(sheet.begin(), sheet.end(), '\n')) - 1;
    read_submission(scratch.path, lesson_of_rows(rows));
  };
  keep_law("in order", size, in_order, check);
  keep_law("reversed", size, reversed, check);
  keep_law("unknown", size, unknown, check);
}

TEST_CASE("eight times the files cost at most twelve times the work, also copies of one") {
  const Trace trace = lesson_of(tensor_of({1, 2}, {1, 2}));
  const auto handed_in = [&](const auto& name) {
    return [&trace, name](const std::string& files) {
      const Scratch scratch;
      for (std::size_t i = 0; i < files.size(); ++i) scratch.write(name(i), "1,2\n");
      scratch.write("Q.csv", "1,2\n");
      read_submission(scratch.path, trace);
    };
  };
  const auto dumped = [](const std::string& files) {
    const Scratch scratch;
    std::string list = R"({"steps": [)";
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string name = number_text(i) + "-Q.csv";
      scratch.write(name, "1,2\n");
      list += fmt::format(R"({}{{"name": "m{}", "file": "{}"}})", i == 0 ? "" : ",", i, name);
    }
    scratch.write("00-lesson.json", list + "]}");
    load_arrays(scratch.path, [](const std::string&) { return ReadOptions{}; });
  };
  const auto filled = [](std::size_t n) { return times(n, "x"); };
  const auto copy = [](std::size_t i) { return "Q (" + number_text(i) + ").csv"; };
  const auto stray = [](std::size_t i) { return "stray" + number_text(i) + ".csv"; };
  const auto note = [](std::size_t i) { return "note" + number_text(i) + ".md"; };
  keep_law("copies", 64, filled, handed_in(copy));
  keep_law("stray files", 64, filled, handed_in(stray));
  keep_law("notes", 64, filled, handed_in(note));
  keep_law("an export", 64, filled, dumped);
}

}  // namespace
