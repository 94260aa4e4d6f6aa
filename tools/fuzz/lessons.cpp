#include "lessons.hpp"

#include <charconv>

#include "text/error.hpp"
#include "trace/evaluate.hpp"

namespace qkv::fuzz {
namespace {

constexpr std::string_view small = R"(
title = "Small"
text = "the fat cat, the \"2\""
[[given]]
name = "table"
value = [[1, 0], [0.5, 2], [0, -1], [3, 1], [1, 1], [0, 0.25]]
columns = ["a,b", 'x",y']
[[given]]
name = "W"
value = [[[1, 2], [0, 1]], [[0, 1], [1, 0.5]]]
[[step]]
name = "token_ids"
op = "tokenise"
[[step]]
name = "X"
op = "embed"
of = ["token_ids", "table"]
[[step]]
name = "Q"
op = "project"
of = ["X", "W"]
[[step]]
name = "scores"
op = "score"
of = ["Q", "Q"]
[[step]]
name = "weights"
op = "softmax"
of = ["scores"]
say = "It is {weights[head 1,1,1]}, at most {weights.max}."
)";

constexpr std::size_t largest_number = 64;

}  // namespace

LessonFiles files_of(std::string_view toml) {
  if (toml.find("[model]") != toml.npos) return LessonFiles(built_in_files());
  return std::filesystem::path(QKV_TEST_LESSONS);
}

LoadedLesson evaluated_lesson(std::string_view toml) {
  ParsedLesson reading = read_lesson(toml, "small.toml", files_of(toml));
  if (!reading.faults.empty()) {
    throw InputError(fault_line(reading.lesson, reading.faults.front()));
  }
  Trace trace = evaluate(reading.lesson.recipe);
  return {std::move(reading.lesson), std::move(trace)};
}

std::shared_ptr<const LoadedLesson> small_lesson() {
  static const auto lesson = std::make_shared<const LoadedLesson>(evaluated_lesson(small));
  return lesson;
}

bool is_large(std::string_view toml) {
  for (const std::string_view key : {"rand", "linear", "eye", "ones", "zeros", "tril"}) {
    for (std::size_t at = toml.find(key); at != toml.npos; at = toml.find(key, at + 1)) {
      const std::string_view rest = toml.substr(at, 200);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        std::size_t number = 0;
        const auto [end, error] =
            std::from_chars(rest.data() + i, rest.data() + rest.size(), number);
        if (error == std::errc::result_out_of_range || number > largest_number) return true;
        if (end != rest.data() + i) i = static_cast<std::size_t>(end - rest.data());
      }
    }
  }
  return false;
}

}  // namespace qkv::fuzz
