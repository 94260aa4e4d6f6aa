// Units that are as good as the lesson's are accepted where they stand throughout.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"

namespace check_conventions_tests {

using namespace qkv::test;

namespace {

const Task& two_parts() {
  static const Task task(R"(
title = "Two parts"
[[given]]
name = "S_1"
value = [[1, 0], [2, 0.5]]
[[given]]
name = "S_2"
value = [[3, 1], [-1, 0]]
[[given]]
name = "O_1"
value = [[1], [0]]
[[given]]
name = "O_2"
value = [[-1], [4]]
[[step]]
name = "L_1"
op = "log_sum_exp"
of = ["S_1"]
[[step]]
name = "L_2"
op = "log_sum_exp"
of = ["S_2"]
[[step]]
name = "merged"
op = "merge"
of = ["O_1", "L_1", "O_2", "L_2"]
)");
  return task;
}

std::string accepted_convention(const qkv::CheckReport& report, std::string_view step) {
  for (const qkv::StepReport& one : report.steps) {
    if (one.step == step)
      return std::string(one.accepted_convention.empty() ? "none" : one.accepted_convention);
  }
  return "not listed";
}

}  // namespace

// NumPy: np.log(np.exp(S).sum(1)), the same by np.log2(e), and the outputs by their shares.
TEST_CASE("log-sum-exps to base 2 are taken as they are where all are such") {
  const qkv::CheckReport report = checked(
      two_parts(), {{"L_1", "1.895\n3.176"}, {"L_2", "4.511\n0.452"}, {"merged", "-0.720\n0.526"}});
  CHECK(verdicts(report, "L_1") == "c c");
  CHECK(verdicts(report, "L_2") == "c c");
  CHECK(verdicts(report, "merged") == "c c");
  CHECK(accepted_convention(report, "L_1") == "convention.lse-base");
  CHECK(accepted_convention(report, "merged") == "none");
  CHECK(verdicts(checked(two_parts(), {{"L_1", "1.895\n3.176"}}, {.strict = true}), "L_1") ==
        "w w");
}

// NumPy: merged is what powers of e make of these logarithms to base 2.
TEST_CASE("log-sum-exps to base 2 that a step takes as ones to base e are mistakes") {
  const qkv::CheckReport report = checked(
      two_parts(), {{"L_1", "1.895\n3.176"}, {"L_2", "4.511\n0.452"}, {"merged", "-0.864\n0.246"}});
  CHECK(mistakes(report, "L_1") == "flash.lse-base-2");
  CHECK(verdicts(report, "L_2") == "w w");
}

TEST_CASE("one of several to base 2 is a mistake") {
  const qkv::CheckReport report =
      checked(two_parts(), {{"L_1", "1.313\n2.201"}, {"L_2", "4.511\n0.452"}});
  CHECK(verdicts(report, "L_1") == "c c");
  CHECK(mistakes(report, "L_2") == "flash.lse-base-2");
}

namespace {

const Task& with_loss() {
  static const Task task(R"(
title = "Two words, two classes"
[[given]]
name = "X"
value = [[1, 0], [0, 2]]
[[given]]
name = "W"
value = [[1, 0], [0, 1]]
[[given]]
name = "targets"
value = [0, 0]
[[step]]
name = "logits"
op = "project"
of = ["X", "W"]
[[step]]
name = "loss"
op = "cross_entropy"
of = ["logits", "targets"]
[backward]
of = "loss"
)");
  return task;
}

// NumPy: -log softmax is 0.3133 and 2.1269; softmax - target is ∓0.2689 and ∓0.8808; the mean's
// gradients are half of these.
constexpr const char* summed = "2.440";
constexpr const char* d_logits_of_sum = "-0.269,0.269\n-0.881,0.881";
constexpr const char* d_W_of_sum = "-0.269,0.269\n-1.762,1.762";

}  // namespace

TEST_CASE("a summed loss is taken as it is with any gradients that follow it") {
  const Texts all = {{"loss", summed}, {"d_logits", d_logits_of_sum}, {"d_W", d_W_of_sum}};
  const qkv::CheckReport report = checked(with_loss(), all);
  CHECK(accepted_convention(report, "loss") == "convention.reduction");
  CHECK(verdicts(report, "loss") == "c");
  CHECK(verdicts(report, "d_logits") == "cc cc");
  CHECK(verdicts(report, "d_W") == "cc cc");
  for (const std::string left_out : {"d_logits", "d_W", "loss"}) {
    Texts some = all;
    some.erase(left_out);
    CHECK(checked(with_loss(), some).outcome == qkv::Outcome::incomplete);
  }
}

TEST_CASE("a slip in a gradient does not hide that the loss is a sum") {
  const qkv::CheckReport report = checked(
      with_loss(),
      {{"loss", summed}, {"d_logits", d_logits_of_sum}, {"d_W", "-0.269,0.269\n-1.762,1.962"}});
  CHECK(verdicts(report, "loss") == "c");
  CHECK(verdicts(report, "d_W") == "cc cw");
}

TEST_CASE("a summed loss without gradients that follow it is a mistake") {
  CHECK(mistakes(checked(with_loss(), {{"loss", summed}}), "loss") == "cross-entropy.sum");
  const qkv::CheckReport report =
      checked(with_loss(), {{"loss", summed}, {"d_logits", "-0.134,0.134\n-0.440,0.440"}});
  CHECK(mistakes(report, "loss") == "cross-entropy.sum");
  CHECK(verdicts(report, "d_logits") == "cc cc");
  const qkv::CheckReport reverse =
      checked(with_loss(), {{"loss", "1.220"}, {"d_logits", d_logits_of_sum}});
  CHECK(verdicts(reverse, "loss") == "c");
  CHECK(verdicts(reverse, "d_logits") == "ww ww");
}

namespace {

const Task& scaled() {
  static const Task task(R"toml(
title = "Scaling"
[[given]]
name = "scores"
value = [[10, 20], [30, -40]]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
by = "sqrt(2)"
)toml");
  return task;
}

std::string scaled_verdicts(const std::string& text, const qkv::CheckOptions& options = {}) {
  return verdicts(checked(scaled(), {{"scaled_scores", text}}, options), "scaled_scores");
}

}  // namespace

// 10, 20, 30 and -40 divided by 1.41.
TEST_CASE("a root rounded to the matrix's decimals is rounding") {
  const std::string by_1_41 = "7.09,14.18\n21.28,-28.37";
  const qkv::CheckReport report = checked(scaled(), {{"scaled_scores", by_1_41}});
  CHECK(verdicts(report, "scaled_scores") == "rr rr");
  CHECK(accepted_convention(report, "scaled_scores") == "convention.rounded-constant");
  CHECK(report.steps.front().rounded_constant == "√2 as 1.41");
  CHECK(scaled_verdicts(by_1_41, {.strict = true}) == "ww ww");
  CHECK(scaled_verdicts("7.09,14.18\n21.28,-27.37") == "rr rw");  // with a slip
}

TEST_CASE("no other number stands for the root") {
  CHECK(scaled_verdicts("7.04,14.08\n21.13,-28.17") == "ww ww");      // by 1.42
  CHECK(scaled_verdicts("7.092,14.184\n21.277,-28.369") == "ww ww");  // 1.41, three decimals
  CHECK(scaled_verdicts("7.07,14.14\n21.21,-28.37") == "cc cw");      // in one cell only
}

namespace {

constexpr const char* rotated_text = R"(
title = "Rotated by halves"
[[given]]
name = "Q"
value = [[1, 2, 3, 4], [2, 0, 1, 3]]
[[given]]
name = "K"
value = [[0, 1, 2, 5], [1, 3, 2, 1]]
[[step]]
name = "Q_rope"
op = "rope"
of = ["Q"]
pairing = "halves"
[[step]]
name = "K_rope"
op = "rope"
of = ["K"]
pairing = "halves"
[[step]]
name = "K_last"
op = "take"
of = ["K_rope"]
rows = [2, 2]
)";

const Task& rotated() {
  static const Task task(rotated_text);
  return task;
}

// NumPy: rotated by halves, then the columns in the order 1, 3, 2, 4.
constexpr const char* queries = "1.000,3.000,2.000,4.000\n0.239,2.223,-0.030,3.000";
constexpr const char* keys = "0.000,2.000,1.000,5.000\n-1.143,1.922,2.990,1.030";
constexpr const char* last_key = "-1.143,1.922,2.990,1.030";

}  // namespace

TEST_CASE("the other pairing's columns are taken as they are, also where they are kept") {
  const qkv::CheckReport report =
      checked(rotated(), {{"Q_rope", queries}, {"K_rope", keys}, {"K_last", last_key}});
  CHECK(verdicts(report, "Q_rope") == "cccc cccc");
  CHECK(verdicts(report, "K_last") == "cccc");
  CHECK(accepted_convention(report, "K_last") == "convention.rope-layout");
  CHECK(verdicts(checked(rotated(), {{"Q_rope", queries}, {"K_last", last_key}}), "K_last") ==
        "cccc");
}

TEST_CASE("any order of columns is taken that queries and keys share, and no other") {
  const std::string others = "4.000,1.000,3.000,2.000\n3.000,0.239,2.223,-0.030";  // 4, 1, 3, 2
  const qkv::CheckReport report = checked(
      rotated(),
      {{"Q_rope", others}, {"K_rope", "5.000,0.000,2.000,1.000\n1.030,-1.143,1.922,2.990"}});
  CHECK(verdicts(report, "Q_rope") == "cccc cccc");
  CHECK(accepted_convention(report, "K_rope") == "convention.rope-layout");
  const qkv::CheckReport one_slip = checked(
      rotated(),
      {{"Q_rope", others}, {"K_rope", "5.000,0.000,2.000,1.000\n1.030,-1.143,1.922,2.090"}});
  CHECK(accepted_convention(one_slip, "Q_rope") == "none");
  CHECK(checked(rotated(), {{"Q_rope", others}, {"K_rope", keys}}).outcome == qkv::Outcome::wrong);
}

TEST_CASE("queries of two layers in the other pairing's columns need keys that are alike") {
  const auto layer = [](const std::string& name) {
    std::string text;
    for (const std::string of : {"Q", "K"})
      text += "[[step]]\nname = \"" + of + name + "\"\nop = \"rope\"\nof = [\"" + of +
              "\"]\npairing = \"halves\"\n";
    return text + "[[step]]\nname = \"S" + name + "\"\nop = \"score\"\nof = [\"Q" + name +
           "\", \"K" + name + "\"]\n";
  };
  const Task two(
      "title = \"Two layers\"\n[[given]]\nname = \"Q\"\nvalue = [[1, 2, 3, 4], [2, 0, 1, 3]]\n"
      "[[given]]\nname = \"K\"\nvalue = [[0, 1, 2, 5], [1, 3, 2, 1]]\n" +
      layer("_1") + layer("_2"));
  const auto first_wrong = [&](const char* keys_of_both) {
    return checked(
               two,
               {{"Q_1", queries}, {"K_1", keys_of_both}, {"Q_2", queries}, {"K_2", keys_of_both}})
        .first_wrong;
  };
  CHECK_FALSE(first_wrong(keys));
  const char* lessons_queries = "1.000,2.000,3.000,4.000\n0.239,-0.030,2.223,3.000";
  const char* lessons_keys = "0.000,1.000,2.000,5.000\n-1.143,2.990,1.922,1.030";
  const auto first_wrong_of_one = [&](const char* queries_2, const char* keys_2) {
    return checked(two, {{"Q_1", queries}, {"K_1", keys}, {"Q_2", queries_2}, {"K_2", keys_2}})
        .first_wrong;
  };
  CHECK_FALSE(first_wrong_of_one(lessons_queries, lessons_keys));
  CHECK(first_wrong_of_one(queries, lessons_keys) == "K_2");  // layer 1 shows the order
  CHECK(first_wrong("1.000,0.000,5.000,2.000\n2.990,-1.143,1.030,1.922") == "Q_1");  // 2, 1, 4, 3
}

// NumPy: Q_rope · K_ropeᵀ is 28 14.723, 19.416 7; the queries were scaled by 1/2.
TEST_CASE("two conventions are accepted in one submission") {
  const Task task(std::string(rotated_text) +
                  "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"Q_rope\", \"K_rope\"]\n"
                  "[[step]]\nname = \"T\"\nop = \"scale\"\nof = [\"S\"]\n");
  const qkv::CheckReport report = checked(task, {{"Q_rope", queries},
                                                 {"K_rope", keys},
                                                 {"S", "14,7.362\n9.708,3.5"},
                                                 {"T", "14,7.362\n9.708,3.5"}});
  CHECK(accepted_convention(report, "K_rope") == "convention.rope-layout");
  CHECK(accepted_convention(report, "S") == "convention.scaled-queries");
  CHECK_FALSE(report.first_wrong);
  const char* halves = "0.500,1.000,1.500,2.000\n0.120,-0.015,1.111,1.500";  // Q itself is given
  const char* product = "14,7.362\n9.708,3.5";
  const qkv::CheckReport scaled =
      checked(task, {{"Q_rope", halves}, {"S", product}, {"T", product}});
  CHECK(accepted_convention(scaled, "Q_rope") == "convention.scaled-queries");
  CHECK_FALSE(scaled.first_wrong);
}

TEST_CASE("one token is not rotated, and its columns may stand in another order from the start") {
  std::string text = "title = \"One\"\n[[given]]\nname = \"X\"\nvalue = [[1]]\n";
  for (const char* of : {"Q", "K"})
    text += fmt::format(
        "[[given]]\nname = \"W_{0}\"\nvalue = [{1}]\n"
        "[[step]]\nname = \"{0}\"\nop = \"project\"\nof = [\"X\", \"W_{0}\"]\n"
        "[[step]]\nname = \"{0}_rope\"\nop = \"rope\"\nof = [\"{0}\"]\npairing = \"halves\"\n",
        of, *of == 'Q' ? "[1, 2, 3, 4]" : "[5, 6, 7, 8]");
  const Task one(text + "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"Q_rope\", \"K_rope\"]\n");
  const char* const query = "1,3,2,4";
  const char* const key = "5,7,6,8";
  const qkv::CheckReport report =
      checked(one, {{"Q", query}, {"Q_rope", query}, {"K", key}, {"K_rope", key}});
  CHECK(accepted_convention(report, "Q") == "convention.rope-layout");
  CHECK_FALSE(report.first_wrong);
  CHECK(checked(one, {{"Q", query}, {"Q_rope", query}, {"K", "5,6,7,8"}, {"K_rope", "5,6,7,8"}})
            .first_wrong == "Q");
}

TEST_CASE("keys alone in the other pairing's columns are a mistake") {
  const qkv::CheckReport report = checked(rotated(), {{"K_rope", keys}, {"K_last", last_key}});
  CHECK(accepted_convention(report, "K_rope") == "none");
  CHECK(report.outcome == qkv::Outcome::wrong);
}

namespace {

const Task& projected() {
  static const Task task(R"(
title = "Projected"
[[given]]
name = "X"
value = [[1, 2], [3, 5]]
[[given]]
name = "W_Q"
value = [[1, 0, 2], [0, 1, 1]]
[[given]]
name = "W_K"
value = [[1, 2], [0, 1]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "K"
op = "project"
of = ["X", "W_K"]
[[step]]
name = "S"
op = "score"
of = ["X", "K"]
)");
  return task;
}

}  // namespace

// By hand: Q is 1 2 4, 3 5 11; K is 1 4, 3 11; S is 9 25, 23 64.
TEST_CASE("tokens as columns are shown by two matrices, or by one that is not square") {
  const auto outcome = [](const Texts& texts, const qkv::CheckOptions& options = {}) {
    return checked(projected(), texts, options).outcome;
  };
  using qkv::Outcome;
  CHECK(outcome({{"Q", "1,3\n2,5\n4,11"}}) == Outcome::incomplete);
  CHECK(outcome({{"K", "1,3\n4,11"}, {"S", "9,23\n25,64"}}) == Outcome::incomplete);
  CHECK(outcome({{"K", "1,3\n4,11"}}) == Outcome::wrong);
  CHECK(outcome({{"Q", "1,3\n2,5\n4,11"}, {"S", "9,25\n23,64"}}) == Outcome::wrong);
  CHECK(outcome({{"Q", "1,3\n2,5\n4,11"}}, {.allow_columns = false}) == Outcome::wrong);
}

// Q stands as columns, and K and S are wrong either way.
TEST_CASE("one matrix as columns counts beside wrong ones if it is wholly right") {
  const std::string k = "90,-91\n92,-93";
  const std::string s = "70,-71\n72,-73";
  const auto of_q = [&](const std::string& q) {
    return verdicts(checked(projected(), {{"Q", q}, {"K", k}, {"S", s}}), "Q");
  };
  CHECK(of_q("1,3\n2,5\n4,11") == "ccc ccc");
  CHECK(of_q("1,3\n2,5\n4,12") == "shape");
  // Half of the wrong cells are as good as a whole matrix: 6 of Q and 4 of K, then 1 and 4.
  const Texts texts = {{"Q", "1,3\n2,5\n4,12"}, {"K", k}};
  CHECK(verdicts(checked(projected(), texts), "Q") == "ccc ccw");
}

// A is X·Xᵀ / 4, which is symmetric, B its transpose and F is B·B·(B·B)ᵀ + B·B. The 0.5 at the left
// of A's last row had nothing to round, the one at its top right had.
TEST_CASE("a matrix that stays undecided does not show that tokens are columns") {
  const Task task(R"(
title = "Symmetric"
[[given]]
name = "X"
value = [[-1, -4], [-3, -5], [-2, 0]]
[[step]]
name = "H"
op = "scale"
of = ["X"]
by = 4
[[step]]
name = "A"
op = "score"
of = ["H", "X"]
[[step]]
name = "B"
op = "transpose"
of = ["A"]
[[step]]
name = "C"
op = "score"
of = ["B", "B"]
[[step]]
name = "D"
op = "score"
of = ["C", "C"]
[[step]]
name = "F"
op = "add"
of = ["D", "C"]
)");
  const auto report =
      checked(task, {{"A", "4.2,5.8,0.5\n5.8,8.5,1.5\n0.5,1.5,1.0"},
                     {"B", "4.2,5.8,0.4\n5.8,8.5,1.5\n0.5,1.5,1.0"},
                     {"F", "8371.4,12149.2,1909.3\n12149.2,17633.4,2772.6\n1909.3,2772.6,437.6"}});
  CHECK(report.first_wrong == "B");
}

// NumPy: log-sum-exp is 1.3133, 2.2014; to base 2 1.8946, 3.1759, of which 0.69
// makes 1.3073, 2.1914.
TEST_CASE("a logarithm of 2 that was rounded is rounding") {
  const qkv::CheckReport report = checked(two_parts(), {{"L_1", "1.31\n2.19"}});
  CHECK(verdicts(report, "L_1") == "c r");
  CHECK(report.steps.front().rounded_constant == "ln 2 as 0.69");
}

// NumPy: 2.72 ** 2 = 7.3984 and 2.72 ** 3 = 20.1236; with e 7.3891 and 20.0855.
TEST_CASE("a rounded e is rounding in powers") {
  static const Task task(R"(
title = "Powers"
[[given]]
name = "X"
value = [[2, 3]]
[[step]]
name = "Y"
op = "exp"
of = ["X"]
)");
  const qkv::CheckReport report = checked(task, {{"Y", "7.40,20.12"}});
  CHECK(verdicts(report, "Y") == "rr");
  CHECK(report.steps.front().rounded_constant == "e as 2.72");
}

// NumPy: np.tril(X @ W @ K.T + 0.0625 * np.arange(6)), with one decimal. In five rows rounding
// alone could make these numbers of the lesson's too, but nearly all are nearer to the
// convention's.
TEST_CASE(
    "a convention is taken that the cells are nearer to, although few contradict the lesson") {
  static const Task task(R"(
title = "ALiBi"
[[given]]
name = "X"
value = [[0.02, 0.9], [-0.71, 0.9], [-0.38, -0.15], [0.66, -0.18], [0.1, -0.94], [0.51, 0.08]]
[[given]]
name = "W"
value = [[0.97, 0.23], [-0.31, 1.03]]
[[given]]
name = "K"
value = [[-0.34, 0.58], [-0.39, -0.09], [-0.73, -0.19], [-0.59, -0.48], [0.5, -0.44], [-0.03, 0.96]]
[[given]]
name = "slope"
value = [[0.0625]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W"]
[[step]]
name = "S"
op = "score"
of = ["Q", "K"]
[[step]]
name = "B"
op = "alibi"
of = ["S", "slope"]
[[step]]
name = "M"
op = "mask"
of = ["B"]
kind = "causal"
)");
  const qkv::CheckReport report =
      checked(task, {{"Q", "-0.3,0.9\n-1.0,0.8\n-0.3,-0.2\n0.7,-0.0\n0.4,-0.9\n0.5,0.2"},
                     {"M",
                      "0.6,-inf,-inf,-inf,-inf,-inf\n0.8,0.4,-inf,-inf,-inf,-inf\n"
                      "-0.0,0.2,0.4,-inf,-inf,-inf\n-0.3,-0.2,-0.4,-0.2,-inf,-inf\n"
                      "-0.7,-0.0,0.0,0.4,0.9,-inf\n-0.0,-0.1,-0.3,-0.2,0.4,0.5"}});
  CHECK(report.outcome == qkv::Outcome::incomplete);
  CHECK(accepted_convention(report, "M") == "convention.alibi-shift");
}

TEST_CASE("a text that is no number is wrong where a rounded constant explains the others") {
  const auto report = checked(two_words(), {{"attention_weights", "1,0\n0.01,o.99\n"}});
  CHECK(verdicts(report, "attention_weights") == "cc cw");
  CHECK(report.outcome == qkv::Outcome::wrong);
}

TEST_CASE("NaN is wrong unless every key of its row was hidden") {
  const qkv::CheckReport hidden = checked(
      two_words(),
      {{"masked_scores", "-inf,-inf\n2.9,7.64"}, {"attention_weights", "nan,nan\n0.01,0.99"}});
  CHECK(verdicts(hidden, "attention_weights") == "aa cc");
  const qkv::CheckReport from_nothing =
      checked(two_words(), {{"attention_weights", "1,0\nnan,0.99"}});
  CHECK(verdicts(from_nothing, "attention_weights") == "cc wc");
  // 0 / 0 makes NaN of all weights of the row; a program that is compared may have none.
  const qkv::CheckReport one = checked(two_words(), {{"masked_scores", "-inf,-inf\n2.9,7.64"},
                                                     {"attention_weights", "nan,0\n0.01,0.99"}});
  CHECK(verdicts(one, "attention_weights").starts_with("w"));
  const qkv::Submission program = submission_of(
      {{"masked_scores", "-inf,-inf\n2.9,7.64"}, {"attention_weights", "nan,nan\n0.01,0.99"}},
      two_words().trace);
  const auto compared =
      check_submission(two_words().lesson, two_words().trace, program, {.accepts_nan = false});
  CHECK(verdicts(compared, "attention_weights") == "ww cc");
}

// exp(-1e9 + 1e9) is 1 for each of two keys: 1/2.
TEST_CASE("weights follow from finite masks in a row that is hidden entirely") {
  static const Task task(R"(
title = "A hidden row"
[[given]]
name = "S"
value = [[1, 2], [3, 4]]
[[given]]
name = "M"
value = [[0, 0], [1, 1]]
[[step]]
name = "masked"
op = "mask"
of = ["S", "M"]
kind = "given"
[[step]]
name = "A"
op = "softmax"
of = ["masked"]
)");
  const auto found = [&](const std::string& weights) {
    return verdicts(checked(task, {{"masked", "-1e9,-1e9\n3,4\n"}, {"A", weights}}), "A");
  };
  CHECK(found("0.500,0.500\n0.269,0.731\n") == "rr cc");
  CHECK(found("0.400,0.600\n0.269,0.731\n") == "ww cc");
}

// NumPy: the logits, the sum of -log softmax, and a step of 0.1 along its gradient.
TEST_CASE("a summed loss is summed after a training step, too") {
  const Task task(R"(
title = "t"
[[given]]
name = "X"
value = [[1, 0.5], [-0.5, 2], [0.25, -1]]
[[given]]
name = "W"
value = [[0.5, -1, 0.25], [1, 0.75, -0.5]]
[[given]]
name = "targets"
value = [2, 0, 1]
[[step]]
name = "logits"
op = "project"
of = ["X", "W"]
[[step]]
name = "loss"
op = "cross_entropy"
of = ["logits", "targets"]
[[step]]
name = "W_new"
op = "gradient_step"
of = ["W", "d_W"]
rate = 0.1
[[step]]
name = "logits_2"
op = "project"
of = ["X", "W_new"]
[[step]]
name = "loss_2"
op = "cross_entropy"
of = ["logits_2", "targets"]
[backward]
of = "loss"
wanted = ["W"]
)");
  Texts work = {
      {"logits", "1,-0.625,0\n1.75,2,-1.125\n-0.875,-1,0.5625\n"},
      {"loss", "4.2302\n"},
      {"d_logits", "0.6391,0.1258,-0.7649\n-0.5727,0.5486,0.0241\n0.1641,-0.8552,0.6910\n"},
      {"d_W", "0.9665,-0.3623,-0.6042\n-0.9901,2.0153,-1.0253\n"},
      {"W_new", "0.4034,-0.9638,0.3104\n1.0990,0.5485,-0.3975\n"},
      {"logits_2", "0.9529,-0.6895,0.1117\n1.9963,1.5788,-0.9502\n-0.9982,-0.7894,0.4751\n"},
      {"loss_2", "3.5413\n"}};
  CHECK(!checked(task, work).first_wrong);
  work["loss_2"] = "3.6413\n";
  CHECK(checked(task, work).first_wrong == "loss_2");
}

// NumPy: Q_all is X·W_Q transposed; each head of two columns is rotated by its position in radians.
TEST_CASE("tokens may be columns where heads are side by side, or only one has a file") {
  const Task task(R"(
title = "t"
[[given]]
name = "X"
value = [[1, 0.5], [-0.5, 2], [0.25, -1]]
[[given]]
name = "W_Q"
value = [[1, 0.5, -1, 2], [0.25, 1, 0.5, -0.75]]
[[step]]
name = "Q_all"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "Q"
op = "split_heads"
of = ["Q_all"]
heads = 2
[[step]]
name = "Q_rope"
op = "rope"
of = ["Q"]
)");
  const std::string turned =
      "1.1250,-1.4726,0.7956\n1.0000,0.9455,0.3641\n-0.7500,2.9141,-0.8245\n1.6250,-0.0885,-1."
      "2022\n";
  const std::string all = "1.1250,0,0\n1,1.75,-0.8750\n-0.75,1.5,-0.75\n1.625,-2.5,1.25\n";
  CHECK(!checked(task, {{"Q_all", all}, {"Q", all}, {"Q_rope", turned}}).first_wrong);
  CHECK(!checked(task, {{"Q", all}, {"Q_rope", turned}}).first_wrong);
  const std::string queries = "-0.75,1.5,-0.75\n1.625,-2.5,1.25\n";
  for (const bool is_right : {true, false}) {
    const std::string last = is_right ? "-1.2022" : "-1.3022";
    const std::string rotated = "-0.75,2.9141,-0.8245\n1.625,-0.0885," + last + "\n";
    qkv::Submission work = submission_of({{"Q", queries}, {"Q_rope", rotated}}, task.trace);
    for (qkv::SubmittedFile& file : work.files) file.leading = {1};
    const qkv::CheckReport report = qkv::check_submission(task.lesson, task.trace, work, {});
    CHECK(report.first_wrong.value_or("") == (is_right ? "" : "Q_rope"));
  }
}

}  // namespace check_conventions_tests
