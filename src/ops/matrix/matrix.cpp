#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/product.hpp"

// Matrix product, transpose, and one number for each row or column: the largest, the sum, the mean.

namespace qkv::inline ops {
namespace {

using Matmul = ProductMaths<RowsTimesColumns>;  // [row inner]·[inner column] → [row column]

constexpr GradientWords left_words{"Back to the left matrix",
                                   "The gradient of the left matrix is the product's gradient "
                                   "times the right matrix, transposed.",
                                   "It has the shape of the left matrix."};

constexpr GradientWords right_words{"Back to the right matrix",
                                    "The gradient of the right matrix is the left matrix, "
                                    "transposed, times the product's gradient.",
                                    "It has the shape of the right matrix."};

struct Transpose : FixedForm<"{0}ᵀ", "column row", "row column"> {
  static auto cell(const auto& c) { return c(0)(c.column, c.row); }

  static Tensor compute(const Call& call) {
    Tensor operand = as_matrix(*call.inputs[0]);
    operand.dot_width = 0;
    return transposed(operand);
  }
};

struct GradTransposed : Transpose, OwnCells {
  static constexpr GradientWords words{"Back through the transpose",
                                       "The gradient is transposed, as the matrix was.",
                                       "The same numbers, each in the place of its cell before."};
};

// An empty row has no largest number and no mean.
void refuse_empty(const Call& call) {
  const Tensor& numbers = *call.inputs[0];
  if ((is_columnwise(call) ? numbers.rows() : numbers.columns()) > 0) return;
  refuse(call, operand_text(call, 0) + " has no numbers to work with");
}

template <class N>
N sum_of(const Line<N>& line) {
  return sum<N>(line.size(), line);
}

// One number for each line.
template <FormulaText what>
struct RowStatistic {
  static Form form(const Call& call) {
    refuse_empty(call);
    Form form = form_of_lines(call, std::string(what.letters) + " ", " of {0}");
    form.output = is_columnwise(call) ? "1 column" : "row 1";
    return form;
  }
};

struct RowMax : RowStatistic<"the largest of"> {
  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return nan_max_of<N>(line.size(), line);
  }

  static constexpr std::string_view code = "{0}.{amax}({keep})";
};

struct RowSum : RowStatistic<"the sum of"> {
  static constexpr std::string_view code = "{0}.sum({keep})";

  static auto cell(const auto& c) { return sum_of(line_of(c)); }
};

struct RowMean : RowStatistic<"the mean of"> {
  static auto cell(const auto& c) {
    const auto line = line_of(c);
    return sum_of(line) / static_cast<double>(line.size());
  }

  static constexpr std::string_view code = "{0}.mean({keep})";
};

Form form_of_gradient(const Call& call, std::string formula) {
  return {
      {is_columnwise(call) ? "1 column" : "row 1", "row column"}, "row column", std::move(formula)};
}

struct GradMax {
  static constexpr GradientWords words{
      "Back to the largest of each row",
      "Only the largest number of a row is in the result. So it gets the gradient, and the others "
      "get 0. Several that are equally large share it.",
      "All numbers of a row but the largest have gradient 0."};

  static constexpr std::string_view code =
      "m = {1} == {1}.{amax}({keep}); {=}{0} * m / m.sum({keep})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, where {1} is largest"); }

  static auto cell(const auto& c) {
    return line_max_backward(repeated(c(grad_output), c), line_of(c, self), index_in_line(c));
  }
};

struct GradSum {
  static constexpr GradientWords words{
      "Back to the numbers of each row",
      "The sum changes by as much as each number does, so all get the gradient of the sum.",
      "It is the same in the whole row."};

  static constexpr std::string_view code = "{0} * {np}.ones_like({1})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, the same for all"); }
  static auto cell(const auto& c) { return repeated(c(grad_output), c); }
};

struct GradMean {
  static constexpr GradientWords words{
      "Back to the numbers of each row",
      "Each of the n numbers of a row changes the mean by 1/n, so each gets 1/n of its gradient.",
      "It is the same in the whole row."};

  static double count(const Call& call) {
    const Tensor& numbers = *call.inputs[self];
    return static_cast<double>(is_columnwise(call) ? numbers.rows() : numbers.columns());
  }

  static std::string code_of(const Call& call) {
    return fmt::format("{{0}} * {{np}}.ones_like({{1}}) / {}", count(call));
  }

  static Form form(const Call& call) {
    return form_of_gradient(call, fmt::format("{{0}} / {}", count(call)));
  }

  static auto cell(const auto& c) { return repeated(c(grad_output), c) / count(*c.call); }
};

}  // namespace

constinit const Operation matmul_operation = operation_of<Matmul>({
    .name = "matmul",
    .title = "Multiply two matrices",
    .says = "Each cell of the result is a row of the first matrix times a column of the second: "
            "multiply pair by pair, then add.",
    .notice = "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
              "of the left one.",
    .operands = R"(["A", "B"])",
    .reverses_operands = true,
    .backward = backward_by<GradFirst<RowsTimesColumns, left_words>,
                            GradSecond<RowsTimesColumns, right_words>>,
});

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Transpose the matrix",
    .says = "The first row becomes the first column, and so on.",
    .notice = "The numbers are the same; the two indices of each are exchanged.",
    .operands = R"(["A"])",
    .backward = backward_by<GradTransposed>,
});

constinit const Operation row_max_operation = operation_of<RowMax>({
    .name = "row_max",
    .title = "Take the largest number of each row",
    .says = "The largest number of each row is taken. The result is one column.",
    .notice = "In which column was each of them?",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMax>,
});

constinit const Operation row_sum_operation = operation_of<RowSum>({
    .name = "row_sum",
    .title = "Add up each row",
    .says = "The numbers of each row are added up. The result is one column.",
    .notice = "A row divided by its sum would sum to 1.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradSum>,
});

constinit const Operation row_mean_operation = operation_of<RowMean>({
    .name = "row_mean",
    .title = "Take the mean of each row",
    .says = "The numbers of each row are added up and divided by how many there are. The result is "
            "one column.",
    .notice = "Each mean lies between the smallest and the largest of its row.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMean>,
});

}  // namespace qkv::inline ops
