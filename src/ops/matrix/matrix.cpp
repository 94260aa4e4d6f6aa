#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/product.hpp"

// Matrix product, transpose, and one number for each row or column: the largest, the sum, the mean.

namespace qkv::inline ops {
namespace {

struct Matmul : ProductMaths<RowsTimesColumns> {
  static Tensor compute(const Call& call) {
    Tensor result = ProductMaths::compute(call);  // [row inner]·[inner column] → [row column]
    result.dot_width = call.inputs[0]->columns();
    return result;
  }
};

struct GradLeft : ProductGradient<GradFirst<RowsTimesColumns>> {
  static constexpr GradientWords words{
      "Back to the left matrix",
      "The gradient of a product goes back to its left matrix through the right one, turned over.",
      "It has the left matrix's own shape."};
};

struct GradRight : ProductGradient<GradSecond<RowsTimesColumns>> {
  static constexpr GradientWords words{
      "Back to the right matrix",
      "The gradient of a product goes back to its right matrix through the left one, turned over.",
      "It has the right matrix's own shape."};
};

struct Transpose {
  static Form form(const Call&) { return {{"row column"}, "column row", "{0}ᵀ"}; }

  static auto cell(const auto& c) { return c(0)(c.column, c.row); }

  static Tensor compute(const Call& call) {
    Tensor operand = as_matrix(*call.inputs[0]);
    operand.dot_width = 0;
    return transposed(operand);
  }
};

struct GradTransposed : Transpose, OwnCells {
  static constexpr GradientWords words{"Back through the turning over",
                                       "The gradient is turned over as the matrix was.",
                                       "The same numbers, each in its operand's place."};
};

// An empty row has no largest number and no mean.
void refuse_empty(const Call& call) {
  const Tensor& numbers = *call.inputs[0];
  if ((is_columnwise(call) ? numbers.rows() : numbers.columns()) > 0) return;
  refuse(call, operand_text(call, 0) + " has no numbers to work with");
}

Form form_of_statistic(const Call& call, std::string_view what) {
  refuse_empty(call);
  Form form = form_of_lines(call, std::string(what) + " ", " of {0}");
  form.output = is_columnwise(call) ? "1 column" : "row 1";
  return form;
}

template <class N>
N sum_of(const Line<N>& line) {
  return sum<N>(line.size(), [&](std::size_t i) { return line(i); });
}

// One number for each line, by `statistic` of whole matrices.
template <FormulaText what, Matrix (*statistic)(const Matrix&, Along)>
struct RowStatistic {
  static Form form(const Call& call) { return form_of_statistic(call, what.letters); }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call),
                       [&](const Operands& of) { return statistic(of(0), along_of(call)); });
  }
};

struct RowMax : RowStatistic<"the largest of", maxima> {
  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return nan_max_of<N>(line.size(), line);
  }

  static constexpr std::string_view code = "{0}.{amax}({keep})";
};

struct RowSum : RowStatistic<"the sum of", sums> {
  static constexpr std::string_view code = "{0}.sum({keep})";

  static auto cell(const auto& c) { return sum_of(line_of(c)); }
};

struct RowMean : RowStatistic<"the mean of", means> {
  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    return sum_of(line) / N(static_cast<double>(line.size()));
  }

  static constexpr std::string_view code = "{0}.mean({keep})";
};

Form form_of_gradient(const Call& call, std::string formula) {
  return {
      {is_columnwise(call) ? "1 column" : "row 1", "row column"}, "row column", std::move(formula)};
}

struct GradMax {
  static constexpr GradientWords words{"Back to the largest of each row",
                                       "Only the largest number of a row is seen in the result: it "
                                       "gets the gradient, and the others "
                                       "get 0. Several that are equally large share it.",
                                       "All of a row but its largest learns nothing."};

  static constexpr std::string_view code =
      "m = {1} == {1}.{amax}({keep}); {=}{0} * m / m.sum({keep})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, where {1} is largest"); }

  static auto cell(const auto& c) {
    return line_max_backward(repeated(c(grad_output), c), line_of(c, self), index_in_line(c));
  }
};

struct GradSum {
  static constexpr GradientWords words{
      "Back to what was added up",
      "Each number of a row changes the sum by as much as it changes itself: all get the sum's "
      "gradient.",
      "The same in the whole row."};

  static constexpr std::string_view code = "{0} * {np}.ones_like({1})";

  static Form form(const Call& call) { return form_of_gradient(call, "{0}, the same for all"); }
  static auto cell(const auto& c) { return repeated(c(grad_output), c); }
};

struct GradMean {
  static constexpr GradientWords words{
      "Back to what the mean was taken of",
      "Each number of a row has its equal share of the mean: all get that share of its gradient.",
      "The same in the whole row."};

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

  template <class N>
  static N cell(const Cell<N>& c) {
    return repeated(c(grad_output), c) / N(count(*c.call));
  }
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
    .backward = backward_by<GradLeft, GradRight>,
});

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Turn rows into columns",
    .says = "The matrix is turned over: its first row becomes the first column, and so on.",
    .notice = "The same numbers, each with its two indices exchanged.",
    .operands = R"(["A"])",
    .backward = backward_by<GradTransposed>,
});

constinit const Operation row_max_operation = operation_of<RowMax>({
    .name = "row_max",
    .title = "Take the largest number of each row",
    .says = "Of each row only its largest number stays, so that a column of them is left.",
    .notice = "Which place in its row has each of them?",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMax>,
});

constinit const Operation row_sum_operation = operation_of<RowSum>({
    .name = "row_sum",
    .title = "Add up each row",
    .says = "The numbers of each row are added up, so that a column of sums is left.",
    .notice = "Dividing each row by its sum makes shares of 1.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradSum>,
});

constinit const Operation row_mean_operation = operation_of<RowMean>({
    .name = "row_mean",
    .title = "Take the mean of each row",
    .says = "The numbers of each row are added up and divided by how many there are, so that a "
            "column of means is left.",
    .notice = "Each mean lies between the smallest and the largest of its row.",
    .operands = R"(["A"])",
    .options = line_options,
    .backward = backward_by<GradMean>,
});

}  // namespace qkv::inline ops
