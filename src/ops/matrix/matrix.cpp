#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/product.hpp"
#include "ops/numbers/functions.hpp"
#include "tensor/tensor.hpp"

// One number for each row, or for each column: the largest, the sum, the mean.

namespace qkv::inline ops {
namespace {

struct Matmul : ProductMaths<RightSide::as_is> {
  static Form form(const Call&) {
    return {{"row inner", "inner column"}, "row column", "{0} · {1}", "{1} · {0}"};
  }

  static Tensor compute(const Call& call) {
    // [row inner]·[inner column] → [row column]
    Tensor result = product(call, form(call), RightSide::as_is);
    result.dot_width = call.inputs[0]->columns();
    return result;
  }
};

// C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC.
struct ToLeft {
  static constexpr std::string_view axes[] = {"row column", "row inner", "inner column"};
  static constexpr Factor left{arriving, false}, right{first_need, true};
};

struct ToRight {
  static constexpr std::string_view axes[] = {"row column", "inner column", "row inner"};
  static constexpr Factor left{first_need, true}, right{arriving, false};
};

constinit const Operation matmul_to_left = product_gradient<ToLeft>({
    .title = "Back to the left matrix",
    .says = "The gradient of a product goes back to its left matrix through the right one, turned "
            "over.",
    .notice = "It has the left matrix's own shape.",
});

constinit const Operation matmul_to_right = product_gradient<ToRight>({
    .title = "Back to the right matrix",
    .says = "The gradient of a product goes back to its right matrix through the left one, turned "
            "over.",
    .notice = "It has the right matrix's own shape.",
});

WayBack back_through_matmul(const Use& use) {
  if (use.operand == 0) return {&matmul_to_left, {1}};
  return {&matmul_to_right, {0}};
}

}  // namespace

constinit const Operation matmul_operation = operation_of<Matmul>({
    .name = "matmul",
    .title = "Multiply two matrices",
    .says = "Each cell of the result is a row of the first matrix times a column of the second: "
            "multiply pair by pair, then add.",
    .notice = "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
              "of the left one.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .turns_operands = true,
    .way_back = back_through_matmul,
});

namespace {

struct Transpose {
  static Form form(const Call&) { return {{"row column"}, "column row", "{0}ᵀ"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.column, c.row);
  }

  static Tensor compute(const Call& call) {
    Tensor operand = as_matrix(*call.inputs[0]);
    operand.dot_width = 0;
    return transposed(operand);
  }
};

struct TransposeBack {
  static Form form(const Call&) { return {{"row column", "column row"}, "column row", "{0}ᵀ"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.column, c.row);
  }
};

constinit const Operation transpose_back = gradient_of<Gradient<TransposeBack>>({
    .title = "Back through the turning over",
    .says = "The gradient is turned over as the matrix was.",
    .notice = "The same numbers, each in its operand's place.",
});

WayBack back_through_transpose(const Use&) { return {&transpose_back}; }

}  // namespace

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Turn rows into columns",
    .says = "The matrix is turned over: its first row becomes the first column, and so on.",
    .notice = "The same numbers, each with its two indices exchanged.",
    .operands = R"(["A"])",
    .way_back = back_through_transpose,
});

namespace {

// A row of nothing has no largest number and no mean.
void refuse_empty(const Call& call) {
  const Tensor& numbers = *call.inputs[0];
  if ((goes_down(call) ? numbers.rows() : numbers.columns()) > 0) return;
  refuse(call, operand_text(call, 0) + " has no numbers to work with");
}

Form form_of_statistic(const Call& call, std::string_view what) {
  refuse_empty(call);
  Form form = form_of_lines(call, std::string(what) + " ", " of {0}");
  form.output = goes_down(call) ? "1 column" : "row 1";
  return form;
}

template <class N>
N sum_of(const Line<N>& line) {
  return sum<N>(line.size(), [&](std::size_t i) { return line(i); });
}

struct RowMax {
  static Form form(const Call& call) { return form_of_statistic(call, "the largest of"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return largest_of<N>(line.size(), line);
  }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call),
                       [&](const Operands& of) { return tops(of(0), along_of(call)); });
  }
};

struct RowSum {
  static Form form(const Call& call) { return form_of_statistic(call, "the sum of"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return sum_of(line_of(c));
  }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call),
                       [&](const Operands& of) { return sums(of(0), along_of(call)); });
  }
};

struct RowMean {
  static Form form(const Call& call) { return form_of_statistic(call, "the mean of"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return sum_of(line) / N(static_cast<double>(line.size()));
  }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call),
                       [&](const Operands& of) { return means(of(0), along_of(call)); });
  }
};

Form form_of_back(const Call& call, std::string formula) {
  return {{goes_down(call) ? "1 column" : "row 1", "row column"}, "row column", std::move(formula)};
}

struct RowMaxBack {
  static Form form(const Call& call) { return form_of_back(call, "{0}, where {1} is largest"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const bool down = goes_down(*c.call);
    const Line<N> numbers{c(own_operand), down ? c.column : c.row, down};
    return change_of_largest(repeated(c(arriving), c), numbers, place_in_line(c));
  }
};

struct RowSumBack {
  static Form form(const Call& call) { return form_of_back(call, "{0}, the same for all"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return repeated(c(arriving), c);
  }
};

struct RowMeanBack {
  static double count(const Call& call) {
    const Tensor& numbers = *call.inputs[own_operand];
    return static_cast<double>(goes_down(call) ? numbers.rows() : numbers.columns());
  }

  static Form form(const Call& call) {
    return form_of_back(call, fmt::format("{{0}} / {}", count(call)));
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return repeated(c(arriving), c) / N(count(*c.call));
  }
};

constinit const Operation row_max_back = gradient_of<Gradient<RowMaxBack>>({
    .title = "Back to the largest of each row",
    .says = "Only the largest number of a row is seen in the result: it gets the gradient, and "
            "the others get 0. Several that are equally large share it.",
    .notice = "All of a row but its largest learns nothing.",
});

constinit const Operation row_sum_back = gradient_of<Gradient<RowSumBack>>({
    .title = "Back to what was added up",
    .says = "Each number of a row changes the sum by as much as it changes itself: all get the "
            "sum's gradient.",
    .notice = "The same in the whole row.",
});

constinit const Operation row_mean_back = gradient_of<Gradient<RowMeanBack>>({
    .title = "Back to what the mean was taken of",
    .says = "Each number of a row has its equal share of the mean: all get that share of its "
            "gradient.",
    .notice = "The same in the whole row.",
});

WayBack back_through_row_max(const Use&) { return {&row_max_back}; }
WayBack back_through_row_sum(const Use&) { return {&row_sum_back}; }
WayBack back_through_row_mean(const Use&) { return {&row_mean_back}; }

}  // namespace

constinit const Operation row_max_operation = operation_of<RowMax>({
    .name = "row_max",
    .title = "Take the largest number of each row",
    .says = "Of each row only its largest number stays, so that a column of them is left.",
    .notice = "Which place in its row has each of them?",
    .operands = R"(["A"])",
    .options = line_options,
    .way_back = back_through_row_max,
});

constinit const Operation row_sum_operation = operation_of<RowSum>({
    .name = "row_sum",
    .title = "Add up each row",
    .says = "The numbers of each row are added up, so that a column of sums is left.",
    .notice = "Dividing each row by its sum makes shares of 1.",
    .operands = R"(["A"])",
    .options = line_options,
    .way_back = back_through_row_sum,
});

constinit const Operation row_mean_operation = operation_of<RowMean>({
    .name = "row_mean",
    .title = "Take the mean of each row",
    .says = "The numbers of each row are added up and divided by how many there are, so that a "
            "column of means is left.",
    .notice = "Each mean lies between the smallest and the largest of its row.",
    .operands = R"(["A"])",
    .options = line_options,
    .way_back = back_through_row_mean,
});

}  // namespace qkv::inline ops
