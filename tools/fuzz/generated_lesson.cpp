#include "generated_lesson.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "lesson/lesson.hpp"
#include "lessons.hpp"
#include "ops/operation.hpp"
#include "trace/trace.hpp"

namespace qkv::fuzz {
namespace {

constexpr std::string_view cell_values[] = {"0",    "1",    "2",     "0.5",      "-1",     "-2.25",
                                            "3",    "1e-9", "1e300", "-0.0",     "1e-320", "inf",
                                            "-inf", "nan",  "1e9",   "12345.678"};
constexpr std::size_t plain_values = 7;  // of these
constexpr std::string_view option_numbers[] = {"1", "2",    "3",  "4",   "0",    "-1",    "0.5",
                                               "8", "1e-5", "64", "1e9", "1e18", "1e308", "-3"};

/// Writes a lesson, choice by choice.
class Writer {
 public:
  explicit Writer(Choices& choices) : choices_(choices) {}

  std::string lesson() {
    head();
    const std::size_t givens = 1 + choices_.below(4);
    for (std::size_t g = 0; g < givens; ++g) given(std::string(1, static_cast<char>('A' + g)));
    const std::size_t steps = 1 + choices_.below(4);
    for (std::size_t s = 0; s < steps; ++s) step(fmt::format("Y{}", s + 1));
    gradients();
    return std::move(text_);
  }

 private:
  struct Written {
    std::string name;
    std::vector<std::string> of;
  };

  void head() {
    text_ = "title = \"T\"\nsummary = \"S\"\nsource = \"R\"\n";
    if (choices_.once_in(4)) text_ += "convention = \"columns\"\n";
    if (choices_.once_in(4))
      text_ += "text = \"the fat cat\"\n";
    else if (choices_.once_in(4))
      text_ += "text = [\"a cat\", \"the\"]\n";
    if (choices_.once_in(4))
      text_ += "vocabulary = [\"a\", \"cat\", \"the\", \"fat\", \"<pad>\"]\n";
    if (choices_.once_in(8)) text_ += "tokens = [\"x\", \"y\"]\n";
  }

  std::vector<std::size_t> shape() {
    // Equal sizes, so that operands fit each other often enough.
    const std::size_t rank =
        std::array<std::size_t, 9>{2, 2, 2, 1, 3, 3, 4, 0, 5}[choices_.below(9)];
    std::vector<std::size_t> sizes(rank);
    for (std::size_t& size : sizes)
      size = std::array<std::size_t, 9>{2, 2, 2, 2, 2, 4, 3, 1, 0}[choices_.below(9)];
    return sizes;
  }

  std::string numbers(const std::vector<std::size_t>& sizes, std::size_t axis, std::size_t kinds) {
    if (axis == sizes.size()) return std::string(cell_values[choices_.below(kinds)]);
    std::vector<std::string> all(sizes[axis]);
    for (std::string& one : all) one = numbers(sizes, axis + 1, kinds);
    return fmt::format("[{}]", fmt::join(all, ", "));
  }

  void given(const std::string& name) { given(name, shape()); }

  void given(const std::string& name, const std::vector<std::size_t>& sizes) {
    const std::size_t kinds = choices_.once_in(4) ? std::size(cell_values) : plain_values;
    text_ += fmt::format("[[given]]\nname = \"{}\"\nvalue = {}\n", name, numbers(sizes, 0, kinds));
    if (choices_.once_in(16)) text_ += "rows = [\"the\", \"cat\"]\n";
    names_.push_back(name);
  }

  // Writes a step. Of five attempts the first valid one stays, else mostly none.
  void step(const std::string& name) {
    for (std::size_t attempt = 0; attempt < 5; ++attempt) {
      const std::string before = text_;
      std::vector<std::string> of = attempted_step(name);
      if (is_valid() || choices_.once_in(32)) {
        names_.push_back(name);
        steps_.push_back({name, std::move(of)});
        return;
      }
      text_ = before;
    }
  }

  bool is_valid() const {
    const ParsedLesson reading = read_lesson(text_, "lesson.toml", {});
    return reading.faults.empty() && evaluate_all(reading.lesson.recipe).faults.empty();
  }

  std::vector<std::string> attempted_step(const std::string& name) {
    const Operation& operation = *choices_.among(catalogue());
    const std::size_t most = std::min<std::size_t>(operation.max_operands, 4);
    const std::size_t count =
        choices_.once_in(8) ? choices_.below(5)
                            : operation.min_operands +
                                  choices_.below(most - std::min(most, operation.min_operands) + 1);
    std::vector<std::string> of(count);
    for (std::string& one : of) one = choices_.once_in(32) ? "missing" : choices_.among(names_);
    text_ += fmt::format("[[step]]\nname = \"{}\"\nop = \"{}\"\nof = [{}]\n", name, operation.name,
                         quoted(of));
    for (const OptionRule& rule : operation.options) {
      if (rule.required ? !choices_.once_in(16) : choices_.once_in(4)) option(rule);
    }
    words(name);
    return of;
  }

  void option(const OptionRule& rule) {
    std::vector<std::string> values;
    for (const std::string_view word : rule.list) values.push_back(fmt::format("\"{}\"", word));
    if (rule.any_word) values.insert(values.end(), {"\"a\"", "\"sqrt(d_k)\""});
    if (rule.flag) values.insert(values.end(), {"true", "false"});
    if (rule.span) values.insert(values.end(), {"[1, 1]", "[1, 2]", "[2, 3]", "[3, 9]", "[0, 1]"});
    const bool is_odd = choices_.once_in(16);
    if (rule.numbers != OptionRule::Numbers::none || is_odd) {
      values.insert(values.end(), std::begin(option_numbers), std::end(option_numbers));
    }
    if (is_odd) values.insert(values.end(), {"\"?\"", "true", "[2, 1]", "nan", "inf", "[]"});
    text_ += fmt::format("{} = {}\n", rule.name, choices_.among(values));
  }

  void words(const std::string& name) {
    const std::string_view place = choices_.once_in(16) ? "[1,1]" : ".shape";
    text_ += fmt::format("say = \"It is {{{}{}}}.\"\n", name, place);
    if (choices_.once_in(16))
      text_ += fmt::format("cell = \"{}[{},1]\"\n", name, 1 + choices_.below(3));
    if (choices_.once_in(16)) text_ += "show = \"largest\"\n";
  }

  // Through any of the steps, most of them with a gradient of the result's own shape.
  void gradients() {
    if (steps_.empty()) return;
    const Evaluation evaluated = evaluate_all(read_lesson(text_, "lesson.toml", {}).lesson.recipe);
    const std::vector<std::string> forward = names_;
    const std::size_t count = choices_.below(5);
    for (std::size_t b = 0; b < count; ++b) {
      const Written through = choices_.among(steps_);
      std::string arriving = choices_.among(names_);
      const Tensor* result = evaluated.trace.find(through.name);
      if (result && !choices_.once_in(4)) {
        arriving = fmt::format("D{}", b + 1);
        given(arriving, result->shape());
      }
      if (choices_.once_in(4)) return backward(through.name, arriving);
      const std::vector<std::string>& to =
          through.of.empty() || choices_.once_in(16) ? forward : through.of;
      one_gradient(fmt::format("d{}", b + 1), arriving, through.name, choices_.among(to));
    }
  }

  void one_gradient(const std::string& name, const std::string& arriving,
                    const std::string& through, const std::string& to) {
    const std::string before = text_;
    text_ += fmt::format(
        "[[step]]\nname = \"{}\"\nop = \"backward\"\nof = [\"{}\"]\nthrough = \"{}\"\nto = "
        "\"{}\"\n",
        name, arriving, through, to);
    words(name);
    names_.push_back(name);
    if (is_valid() || choices_.once_in(4)) return;
    text_ = before;
    names_.pop_back();
  }

  void backward(const std::string& through, const std::string& arriving) {
    text_ += choices_.once_in(2)
                 ? fmt::format("[backward]\nof = \"{}\"\n", through)
                 : fmt::format("[backward]\nfrom = {{ {} = \"{}\" }}\n", through, arriving);
    if (choices_.once_in(4)) text_ += fmt::format("wanted = [\"{}\"]\n", choices_.among(names_));
  }

  static std::string quoted(const std::vector<std::string>& names) {
    return names.empty() ? "" : fmt::format("\"{}\"", fmt::join(names, "\", \""));
  }

  Choices& choices_;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Written> steps_;
};

}  // namespace

std::string generated_lesson(Choices& choices) { return Writer(choices).lesson(); }

}  // namespace qkv::fuzz
