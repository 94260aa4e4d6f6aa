#include "tensor/tensor.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace tensor_values_tests {

using namespace qkv;
using Numbers = std::vector<double>;

namespace {

// Each line's own number is added to it, so that a line in the wrong place shows.
void add_line(std::size_t line, std::span<double> cells) {
  for (double& cell : cells) cell += 100 * static_cast<double>(line);
}

void halve(std::size_t, std::span<double> cells) {
  for (double& cell : cells) cell /= 2;
}

Numbers in_order(const Values& values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("numbers made again are those of the others, worked on line by line") {
  const Values from = {1, 2, 3, 4, 5, 6};
  const Values made = Values::lazy(from, 3, add_line);
  CHECK(made.size() == 6);
  CHECK(made[4] == 105);
  CHECK(in_order(made) == Numbers{1, 2, 3, 104, 105, 106});
  CHECK_FALSE(made.are_stored());
}

TEST_CASE("numbers that are made of nothing else are those that are written") {
  const Values made = Values::lazy(4, 2, [](std::size_t line, std::span<double> cells) {
    for (std::size_t j = 0; j < cells.size(); ++j)
      cells[j] = static_cast<double>(10 * (line + j / 2) + j % 2);
  });
  CHECK(in_order(made) == Numbers{0, 1, 10, 11});
  CHECK_FALSE(made.are_stored());
}

TEST_CASE("numbers that are no whole lines can't be made") {
  const auto nothing = [](std::size_t, std::span<double>) {};
  CHECK_THROWS_AS(Values::lazy(4, 3, nothing), std::logic_error);
  CHECK_THROWS_AS(Values::lazy(0, 0, nothing), std::logic_error);
}

TEST_CASE("what is made again may itself be made of what is made again") {
  const Values from = {2, 4, 6, 8};
  const Values halves = Values::lazy(from, 2, halve);
  const Values made = Values::lazy(halves, 2, add_line);
  CHECK(in_order(made) == Numbers{1, 2, 103, 104});
}

TEST_CASE("numbers are made again after they were let go") {
  const Values from = {2, 4};
  const Values made = Values::lazy(from, 1, halve);
  CHECK(in_order(made) == Numbers{1, 2});
  made.drop_cache();
  CHECK(in_order(made) == Numbers{1, 2});
}

TEST_CASE("a look makes the lines that are asked for, in the looker's own room") {
  const Values from = {1, 2, 3, 4};
  Scratch scratch;
  const auto line = Values::lazy(from, 2, add_line).read(2, 2, scratch);
  CHECK(Numbers(line.begin(), line.end()) == Numbers{103, 104});
  CHECK(line.data() == scratch.of(2).data());
  CHECK(from.read(2, 2, scratch).data() == from.data() + 2);  // held ones need none
}

TEST_CASE("copies share their numbers until one of them is written to") {
  Values first = {2, 4};
  const Values second = first;
  CHECK(second.data() == std::as_const(first).data());
  first.mutable_span()[0] = 7;
  CHECK(in_order(first) == Numbers{7, 4});
  CHECK(in_order(second) == Numbers{2, 4});
}

TEST_CASE("what is written to is held, and what it was made of stays as it is") {
  const Values from = {2, 4};
  Values made = Values::lazy(from, 1, halve);
  made.mutable_span()[0] = 7;
  CHECK(made.are_stored());
  CHECK(in_order(made) == Numbers{7, 2});
  CHECK(in_order(from) == Numbers{2, 4});
}

TEST_CASE("numbers are made of those that were there, whatever becomes of them") {
  Values from = {2, 4};
  const Values made = Values::lazy(from, 1, halve);
  from.mutable_span()[0] = 100;
  CHECK(in_order(made) == Numbers{1, 2});
  from = {};
  made.drop_cache();
  CHECK(in_order(made) == Numbers{1, 2});
}

TEST_CASE("pieces are whole lines, in order, and all there is") {
  const std::size_t width = 1000;
  const Values from(Numbers(3000 * width, 1.0));
  const Values made = Values::lazy(from, width, add_line);
  std::size_t seen = 0;
  bool right = true;
  made.for_each_piece([&](std::span<const double> piece) {
    right = right && piece.size() % width == 0;
    for (std::size_t i = 0; i < piece.size(); ++i, ++seen) {
      right = right && piece[i] == 1 + 100 * static_cast<double>(seen / width);
    }
  });
  CHECK(right);
  CHECK(seen == 3000 * width);
}

TEST_CASE("several threads may look at once") {
  const std::size_t width = 500;
  const Values from(Numbers(1000 * width, 1.0));
  const Values made = Values::lazy(from, width, add_line);
  std::vector<double> last(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < last.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < made.size(); i += 997) last[t] = made[i];
        last[t] = made[made.size() - 1];
      });
    }
  }
  CHECK(last == Numbers(4, 99901));
}

}  // namespace tensor_values_tests
