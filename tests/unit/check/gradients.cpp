#include <catch2/catch.hpp>

#include "check/submissions.hpp"

namespace check_gradients_tests {

/// Gradients that are handed in, and what must not fool the check.
namespace {

using namespace qkv;
using namespace qkv::test;

// Y = X·W, and the gradient of Y is given. By hand: Y = [[5, 2, 5], [11, 4, 13]],
// d_W = Xᵀ·d_Y = [[3, 6, -1], [4, 10, -2]], d_X = d_Y·Wᵀ = [[-3, 2], [1, 3]].
const Task& product() {
  static const Task task(R"(
title = "A product, and back"
[[given]]
name = "X"
value = [[1, 2], [3, 4]]
[[given]]
name = "W"
value = [[1, 0, 3], [2, 1, 1]]
[[given]]
name = "dY"
value = [[0, 3, -1], [1, 1, 0]]
[[step]]
name = "Y"
op = "project"
of = ["X", "W"]
[backward]
from = { Y = "dY" }
)");
  return task;
}

TEST_CASE("gradients that lie on their side do not turn over what comes before them") {
  const auto report =
      checked(product(),
              {{"Y", "5,2,5\n11,4,13\n"}, {"d_W", "3,4\n6,10\n-1,-2\n"}, {"d_X", "-3,1\n2,3\n"}});
  CHECK(verdicts(report, "Y") == "ccc ccc");
  CHECK(report.first_wrong != "Y");
}

TEST_CASE("a bias has the sum of all rows' gradients, and not that of one in the middle") {
  const Task task(R"(
[[given]]
name = "X"
value = [[1, 2], [3, 4], [5, 6]]
[[given]]
name = "W"
value = [[1, 0, 3], [2, 1, 1]]
[[given]]
name = "b"
value = [1, 2, 3]
[[given]]
name = "dY"
value = [[1, 3, -1], [7, 9, 4], [2, 5, 6]]
[[step]]
name = "Y"
op = "project"
of = ["X", "W", "b"]
[backward]
from = { Y = "dY" }
wanted = ["b"]
)");
  const auto report = checked(task, {{"d_b", "7,9,4\n"}});
  CHECK(mistakes(report, "d_b") == "backward.rows-not-summed");
}

// Probabilities whose gradient is small: rounding in what was not handed in could make as much.
const Task& far_from_the_loss() {
  static const Task task(R"(
title = "Far from the loss"
[[given]]
name = "X"
value = [[1, 2], [3, 4], [2, 2]]
[[given]]
name = "W"
value = [[0.01, 0.02], [0.03, 0.01]]
[[given]]
name = "d_A"
value = [[0.01, 0.02], [0.02, 0.01], [0.02, 0.02]]
[[step]]
name = "S"
op = "project"
of = ["X", "W"]
[[step]]
name = "A"
op = "softmax"
of = ["S"]
[backward]
from = { A = "d_A" }
wanted = ["W"]
)");
  return task;
}

TEST_CASE("where rounding may have made more than there is, nothing is decided") {
  // By NumPy d_W is 0.005 in the first column, -0.005 in the second. A d_S that is rounded to two
  // decimals may be off by 0.01, and the numbers of X add up to 9 and 9.
  const auto far = checked(far_from_the_loss(), {{"d_W", "0.06,-0.06\n0.06,-0.06\n"}});
  CHECK(verdicts(far, "d_W") == "uu uu");
  CHECK(far.outcome == Outcome::undecided);
  CHECK(far.steps.front().room > 0.05);
  CHECK(far.steps.front().decided_by == std::vector<std::string>{"d_S"});
  const auto near = checked(far_from_the_loss(), {{"d_W", "0.01,-0.01\n0.00,0.00\n"}});
  CHECK(verdicts(near, "d_W") == "cc cc");
  CHECK_FALSE(near.steps.front().room.has_value());
}

TEST_CASE("numbers that round to 0 are none that dropout has dropped") {
  // Twice what is due, where that is not nearly 0.
  const auto report = checked(product(), {{"d_W", "6.00,12.00,-2.00\n8.00,20.00,-4.00\n"}});
  CHECK(mistakes(report, "d_W").find("dropout") == std::string::npos);
}

}  // namespace

}  // namespace check_gradients_tests
