// Attention in tiles, beside NumPy's softmax of whole rows, and its mistakes.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "support/calls.hpp"

namespace ops_tiles_tests {

using namespace qkv::test;

namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

// Two tiles of two keys; the second row sees nothing of the second one, the third nothing at all.
const qkv::Tensor first = matrix({{1, 0}, {2, 0.5}, {hidden, hidden}});
const qkv::Tensor second = matrix({{3, 2}, {hidden, hidden}, {hidden, hidden}});
const qkv::Tensor values_1 = matrix({{1, 0}, {0, 2}});
const qkv::Tensor values_2 = matrix({{-1, 4}, {0.5, 1}});

// softmax of the four scores · the four values, by NumPy; the third row sees nothing.
const Rows context = {{-0.43832853, 2.87665706}, {0.81757448, 0.36485105}, {0, 0}};

struct Tiles {
  qkv::Tensor m_1 = apply("running_max", {first});
  qkv::Tensor m_2 = apply("running_max", {m_1, second});
  qkv::Tensor p_1 = apply("tile_weights", {first, m_1});
  qkv::Tensor p_2 = apply("tile_weights", {second, m_2});
  qkv::Tensor l_1 = apply("running_sum", {p_1});
  qkv::Tensor l_2 = apply("running_sum", {l_1, m_1, m_2, p_2});
  qkv::Tensor o_1 = apply("running_output", {p_1, values_1});
  qkv::Tensor o_2 = apply("running_output", {o_1, m_1, m_2, p_2, values_2});
};

// The last tile of one query, whose maximum rises from 1 to 3.
const Task& last_tile() {
  static const Task task(R"(
title = "Last tile"
[[given]]
name = "S_1"
value = [[1, 0]]
[[given]]
name = "S_2"
value = [[3, 1]]
[[given]]
name = "V_1"
value = [[1, 0], [0, 2]]
[[given]]
name = "V_2"
value = [[-1, 4], [0.5, 1]]
[[step]]
name = "m_1"
op = "running_max"
of = ["S_1"]
[[step]]
name = "m_2"
op = "running_max"
of = ["m_1", "S_2"]
[[step]]
name = "P_1"
op = "tile_weights"
of = ["S_1", "m_1"]
[[step]]
name = "P_2"
op = "tile_weights"
of = ["S_2", "m_2"]
[[step]]
name = "l_1"
op = "running_sum"
of = ["P_1"]
[[step]]
name = "l_2"
op = "running_sum"
of = ["l_1", "m_1", "m_2", "P_2"]
[[step]]
name = "O_1"
op = "running_output"
of = ["P_1", "V_1"]
[[step]]
name = "O_2"
op = "running_output"
of = ["O_1", "m_1", "m_2", "P_2", "V_2"]
[[step]]
name = "context"
op = "normalise"
of = ["O_2", "l_2"]
[[step]]
name = "L"
op = "log_sum_exp"
of = ["m_2", "l_2"]
)");
  return task;
}

std::string named(const std::string& step, const std::string& written) {
  return mistakes(checked(last_tile(), {{step, written}}), step);
}

}  // namespace

TEST_CASE("the maximum rises from tile to tile, and stays where nothing is seen") {
  const Tiles tiles;
  CHECK(difference(rows_of(tiles.m_1), {{1}, {2}, {hidden}}) == "");
  CHECK(difference(rows_of(tiles.m_2), {{3}, {2}, {hidden}}) == "");
}

TEST_CASE("what is hidden weighs nothing, also where the maximum is -inf") {
  const Tiles tiles;
  CHECK(difference(rows_of(tiles.p_1), {{1, 0.36787944117144233}, {1, 0.22313016014842982}, {0, 0}},
                   1e-15) == "");
  CHECK(difference(rows_of(tiles.p_2), {{1, 0.36787944117144233}, {0, 0}, {0, 0}}, 1e-15) == "");
}

TEST_CASE("two tiles give what softmax over the whole row gives") {
  const Tiles tiles;
  CHECK(difference(rows_of(apply("normalise", {tiles.o_2, tiles.l_2})), context, 1e-8) == "");
  // ln(e^1 + e^0 + e^3 + e^2), ln(e^2 + e^0.5)
  CHECK(difference(rows_of(apply("log_sum_exp", {tiles.m_2, tiles.l_2})),
                   {{3.4401896985611957}, {2.2014132779827524}, {hidden}}, 1e-14) == "");
}

TEST_CASE("two parts that were worked apart are merged into the same") {
  const Tiles tiles;
  const qkv::Tensor m = apply("running_max", {second});
  const qkv::Tensor p = apply("tile_weights", {second, m});
  const qkv::Tensor part =
      apply("normalise", {apply("running_output", {p, values_2}), apply("running_sum", {p})});
  const qkv::Tensor before = apply("normalise", {tiles.o_1, tiles.l_1});
  const qkv::Tensor merged =
      apply("merge", {before, apply("log_sum_exp", {first}), part, apply("log_sum_exp", {second})});
  CHECK(difference(rows_of(merged), context, 1e-8) == "");
}

TEST_CASE("heads in tiles share what has no head axis") {
  const qkv::Tensor scores = stack({{{1, 0}}, {{0, 3}}});
  const qkv::Tensor maxima = apply("running_max", {matrix({{2}}), scores});
  CHECK(difference(rows_of(maxima, 0), {{2}}) == "");
  CHECK(difference(rows_of(maxima, 1), {{3}}) == "");
}

TEST_CASE("operands that are missing are told") {
  CHECK(refusal("tile_weights", {first, values_1}) ==
        "step: B (2×2) must be a matrix of one column");
}

TEST_CASE("each mistake of the last tile is named") {
  CHECK(named("m_2", "1") == "flash.max-not-updated");
  CHECK(named("l_2", "2.5032") == "flash.sum-not-rescaled");
  CHECK(named("l_2", "1.1604") == "flash.rescaled-twice");
  CHECK(named("l_2", "11.2427") == "flash.rescaled-backwards");
  CHECK(named("O_2", "0.0677,4.8711") == "flash.output-not-rescaled");
  CHECK(named("O_2", "-0.9140,4.1488") == "flash.rescaled-twice");
  CHECK(named("O_2", "6.4567,9.5719") == "flash.rescaled-backwards");
  CHECK(named("O_2", "-0.6036,3.2072") == "flash.normalised-each-tile");
  CHECK(named("context", "-0.7970,4.2349") == "flash.not-divided");
  CHECK(named("L", "3.4010") == "flash.lse-base-2");
  CHECK(named("L", "0.2780").starts_with("flash.lse-without-max"));
}

}  // namespace ops_tiles_tests
