#include "tensor/resources.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/calls.hpp"
#include "support/samples.hpp"
#include "tensor/matmul.hpp"

namespace tensor_parallel_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr std::size_t much = std::size_t{1} << 22;  // operations that are worth several threads

// Random numbers in the shape of a large tensor.
Tensor large(std::size_t heads, std::size_t rows, std::size_t columns) {
  Tensor tensor = zeros({{"head", heads}, {"", rows}, {"", columns}});
  Dice dice(3);
  for (double& value : tensor.values.mutable_span()) value = 4 * dice.uniform();
  return tensor;
}

// An operation's result on one thread and on four.
void check_same_bits(std::string_view operation, const std::vector<Tensor>& inputs,
                     const OptionMap& options = {}) {
  set_thread_limit(1);
  const Values alone = apply(operation, inputs, options).values;
  set_thread_limit(4);
  const Values together = apply(operation, inputs, options).values;
  set_thread_limit(0);
  CHECK(alone == together);
}

}  // namespace

TEST_CASE("every index is in one block, whatever the number of threads") {
  for (const std::size_t threads : {1, 2, 7}) {
    set_thread_limit(threads);
    std::vector<int> visits(1000);
    parallel_for(visits.size(), 7, much, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++visits[i];
    });
    CHECK(visits == std::vector<int>(1000, 1));
  }
  set_thread_limit(0);
}

TEST_CASE("what a block throws is thrown on") {
  set_thread_limit(3);
  CHECK_THROWS_WITH(parallel_for(100, 1, much,
                                 [](std::size_t begin, std::size_t) {
                                   if (begin == 42) throw std::runtime_error("forty-two");
                                 }),
                    "forty-two");
  set_thread_limit(0);
}

TEST_CASE("texts are used in order, one at a time, whatever the number of threads") {
  for (const std::size_t threads : {1, 2, 7}) {
    set_thread_limit(threads);
    std::string all;
    std::atomic<int> using_it = 0;
    int most_at_once = 0;
    in_order(
        50, much,
        [](std::size_t i) {
          // The first of each seven takes longest: the others have to wait for it.
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return std::to_string(i) + " ";
        },
        [&](std::string_view text) {
          most_at_once = std::max(most_at_once, ++using_it);
          all += text;
          --using_it;
        });
    std::string expected;
    for (int i = 0; i < 50; ++i) expected += std::to_string(i) + " ";
    CHECK(all == expected);
    CHECK(most_at_once == 1);
  }
  set_thread_limit(0);
}

TEST_CASE("what goes wrong with a text or its use is thrown on, and nothing after it is used") {
  for (const std::size_t threads : {1, 3}) {
    set_thread_limit(threads);
    std::size_t used = 0;
    const auto use = [&](std::string_view) { ++used; };
    const auto make = [](std::size_t i) {
      if (i == 42) throw std::runtime_error("forty-two");
      return std::string("text");
    };
    CHECK_THROWS_WITH(in_order(100, much, make, use), "forty-two");
    CHECK(used <= 42);
    used = 0;
    const auto full = [&](std::string_view) {
      if (++used == 7) throw std::runtime_error("full");
    };
    CHECK_THROWS_WITH(in_order(
                          100, much, [](std::size_t) { return std::string(); }, full),
                      "full");
    CHECK(used == 7);
  }
  set_thread_limit(0);
}

TEST_CASE("large steps have the same bits for any number of threads") {
  const Tensor a = large(3, 300, 200);
  const Tensor b = large(3, 300, 200);
  check_same_bits("score", {a, b});
  check_same_bits("softmax", {a});
  check_same_bits("mask", {large(3, 300, 300)});
  check_same_bits("scale", {a}, {{"by", 3.0}});
  check_same_bits("gelu", {a});
  check_same_bits("add", {a, b});
  check_same_bits("concat_heads", {a});
  check_same_bits("matmul", {a, large(3, 200, 300)});
  check_same_bits("layer_norm", {a, vector(std::vector<double>(200, 1.5)),
                                 vector(std::vector<double>(200, 0.5))});
}

TEST_CASE("the softmax of a long row is that of its definition, to the last few bits") {
  const Tensor scores = large(1, 1, 1003);
  std::vector<double> weights(1003);
  CHECK(softmax_row(scores.values, weights));
  const double top = *std::max_element(scores.values.begin(), scores.values.end());
  long double total = 0;
  for (const double score : scores.values) total += std::exp(static_cast<long double>(score) - top);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const long double expected = std::exp(static_cast<long double>(scores.values[i]) - top) / total;
    CHECK(std::abs(weights[i] - static_cast<double>(expected)) <=
          4e-15 * static_cast<double>(expected));
  }
}

TEST_CASE("in a long row a hidden score and one too low for a double have weight 0") {
  std::vector<double> scores(20, -inf);
  scores[3] = 1;
  scores[7] = -800;
  std::vector<double> weights(20);
  CHECK(softmax_row(scores, weights));
  std::vector<double> expected(20);
  expected[3] = 1;
  CHECK(weights == expected);
}

TEST_CASE("a long row without a finite largest score is left to the plain way") {
  std::vector<double> weights(10);
  CHECK_FALSE(softmax_row(std::vector<double>(10, -inf), weights));
  CHECK_FALSE(softmax_row(std::vector<double>(10, inf), weights));
  CHECK(weights == std::vector<double>(10));
}

TEST_CASE("tanh of a long row is that of its definition, to the last places of 1") {
  std::vector<double> cells = {0, -0.0, 1e-300, 1e-9, 0.3, 5, 18, 19, 20, 354, 400, 1e300, inf};
  for (int i = 0; i < 1000; ++i) cells.push_back(-25 + 0.05 * i);
  std::vector<double> row = cells;
  tanh_row(row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto expected = static_cast<double>(std::tanh(static_cast<long double>(cells[i])));
    CHECK(std::abs(row[i] - expected) <= 2.3e-16);
    CHECK(std::signbit(row[i]) == std::signbit(cells[i]));
  }
  std::vector<double> none = {std::nan("")};
  tanh_row(none);
  CHECK(std::isnan(none[0]));
}

TEST_CASE("gelu of a large matrix is that of its rows") {
  const Tensor x = large(1, 300, 400);
  const Tensor all = apply("gelu", {x});
  for (const std::size_t row : {0, 299}) {
    const Tensor one = apply(
        "gelu",
        {matrix({std::vector<double>(x.values.begin() + static_cast<long>(row * 400),
                                     x.values.begin() + static_cast<long>(row * 400 + 400))})});
    for (std::size_t j = 0; j < 400; ++j) {
      const double expected = one.values[j];
      CHECK(std::abs(all.values[row * 400 + j] - expected) <=
            3e-16 * std::abs(x.values[row * 400 + j]));
    }
  }
}

TEST_CASE("an infinity or a NaN among many numbers is found") {
  std::vector<double> values(5000, std::numeric_limits<double>::max());
  CHECK(all_finite(values));
  for (const double one : {inf, -inf, std::nan("")}) {
    values[4999] = one;
    CHECK_FALSE(all_finite(values));
  }
}

TEST_CASE("the largest magnitude is that of a finite number, wherever it stands") {
  CHECK(largest_magnitude({}) == 0);
  CHECK(largest_magnitude(std::vector<double>{inf, -inf, std::nan("")}) == 0);
  for (std::size_t place = 0; place < 19; ++place) {
    std::vector<double> values(19, 1.5);
    values[(place + 7) % 19] = -inf;
    values[place] = -3;
    CHECK(largest_magnitude(values) == 3);
  }
}

TEST_CASE("one NaN among many numbers is found") {
  std::vector<double> values(5000);
  CHECK_FALSE(has_nan(values));
  values[4999] = std::nan("");
  CHECK(has_nan(values));
}

}  // namespace tensor_parallel_tests
