#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/result.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr std::string_view kinds[] = {"causal", "padding", "given"};
constexpr OptionRule mask_options[] = {
    {.name = "kind",
     .says = "what is hidden: later tokens, padding, or what a given 0/1 matrix says",
     .list = kinds},
    {.name = "pad",
     .says = "the padding's id or its token, for kind = \"padding\"",
     .words = OptionRule::Words::any,
     .numbers = OptionRule::Numbers::whole},
};

std::string_view kind_of(const Call& call) {
  return call.options->word("kind", call.inputs.size() == 2 ? "given" : "causal");
}

std::size_t sentence_of(const CellBase& c) {
  const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
  return c.input(1).rows() == 1 || index.empty() ? 0 : index.front();
}

// The number of the second operand that decides on the cell: its key's id, or 1 to keep it.
double deciding(const CellBase& c, std::string_view kind) {
  const Tensor& numbers = c.input(1);
  if (kind == "padding") return numbers.at(0, sentence_of(c), c.column);
  return numbers.at(c.matching(1), numbers.rows() == 1 ? 0 : c.row, c.column);
}

// Whether the key is padding: its id is the pad's, or its token is.
bool is_padding(const CellBase& c) {
  const double* pad = c.call->options->if_number("pad");
  if (pad) return deciding(c, "padding") == *pad;
  const std::string_view word = c.call->options->word("pad", "<pad>");
  return c.input(1).axes.back().label(c.column, sentence_of(c)) == word;
}

bool is_hidden(const CellBase& c, std::string_view kind) {
  if (kind == "causal") return c.column > c.row;
  return kind == "padding" ? is_padding(c) : deciding(c, kind) == 0;
}

bool is_hidden(const CellBase& c) { return is_hidden(c, kind_of(*c.call)); }

// Where one matrix of the result is such.
template <class Is>
Flags cells_that(CellBase at, const Is& is) {
  const std::string_view kind = kind_of(*at.call);
  Flags cells = xt::zeros<bool>({at.output->rows(), at.output->columns()});
  for (at.row = 0; at.row < at.output->rows(); ++at.row) {
    for (at.column = 0; at.column < at.output->columns(); ++at.column) {
      cells(at.row, at.column) = is(at, kind);
    }
  }
  return cells;
}

Flags hidden_cells(const CellBase& at) {
  return cells_that(at,
                    [](const CellBase& c, std::string_view kind) { return is_hidden(c, kind); });
}

// Where what decides is no number, nothing tells what is hidden.
Flags undecided_cells(const CellBase& at) {
  return cells_that(
      at, [](const CellBase& c, std::string_view kind) { return std::isnan(deciding(c, kind)); });
}

// "key 3 (cat)", counted as people count.
std::string place_text(std::string_view what, const Axis& axis, std::size_t i, std::size_t batch) {
  const std::string_view label = axis.label(i, batch);
  return label.empty() ? fmt::format("{} {}", what, i + 1)
                       : fmt::format("{} {} ({})", what, i + 1, label);
}

std::string why_hidden(const CellBase& c) {
  if (!is_hidden(c)) return {};
  const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
  const std::size_t batch = index.empty() ? 0 : index.front();
  const std::string key = place_text("key", c.output->axes.back(), c.column, batch);
  const std::string_view kind = kind_of(*c.call);
  if (kind == "padding") return fmt::format("hidden: {} is padding", key);
  const std::string query = place_text("query", c.output->row_axis(), c.row, batch);
  if (kind == "causal") return fmt::format("hidden: {} comes after {}", key, query);
  return fmt::format("hidden: {} is 0 for {} and {}", c.call->names[1], query, key);
}

void check_operands(const Call& call) {
  const std::string_view kind = kind_of(call);
  const std::size_t wanted = kind == "causal" ? 1 : 2;
  if (call.inputs.size() == wanted) return;
  refuse(call,
         fmt::format("a {} mask takes {}", kind,
                     kind == "causal" ? "the scores alone: of = [\"scores\"]"
                     : kind == "padding"
                         ? "the scores and the token ids: of = [\"scores\", \"token_ids\"]"
                         : "the scores and a 0/1 matrix (1 keeps): of = [\"scores\", \"keep\"]"));
}

// The ids of a batch are a matrix, sentence by token: fitted by hand, since their rows are no
// queries.
void check_padding(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const Tensor& ids = *call.inputs[1];
  if (ids.axes.back().labels.empty() && !call.options->if_number("pad")) {
    refuse(call, fmt::format("{} has no words beside its ids, so the padding can't be told by its "
                             "word; write its id: pad = 0",
                             call.names[1]));
  }
  const std::size_t sentences = scores.leading_axes() == 0 ? 1 : scores.axes[0].size;
  if (ids.columns() == scores.columns() && (ids.rows() == 1 || ids.rows() == sentences)) return;
  refuse(call, fmt::format("{} has no id for each key of {}", operand_text(call, 1),
                           operand_text(call, 0)));
}

struct Mask {
  static Form form(const Call& call) {
    const std::string_view kind = kind_of(call);
    if (kind == "causal") return {{"query key"}, "query key", "{0}, later keys hidden"};
    if (kind == "padding") {
      return {{"query key", "sentence key"}, "query key", "{0}, hidden where {1} is padding"};
    }
    const bool one_row = call.inputs.size() == 2 && call.inputs[1]->rows() == 1;
    return {
        {"query key", one_row ? "1 key" : "query key"}, "query key", "{0}, hidden where {1} is 0"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_hidden(c)) return -infinity;
    return c(0)(c.row, c.column);
  }

  static Tensor frame(const Call& call) {
    check_operands(call);
    Call shaped = call;
    if (kind_of(call) == "padding") {
      check_padding(call);
      shaped.inputs.resize(1);
    }
    Tensor result = frame_of(shaped, form(shaped));
    result.dot_width = call.inputs[0]->dot_width;
    return result;
  }

  static std::string remark(const CellBase& c) { return why_hidden(c); }

  static std::optional<InPlace> in_place(const Call& call) {
    Tensor result = frame(call);
    if (result.shape() != call.inputs[0]->shape()) return {};  // one operand's rows, several masks
    if (kind_of(call) == "causal") return InPlace{std::move(result), hide_later_keys};
    std::vector<Flags> hidden;
    CellBase at{.call = &call, .output = &result};
    for (; at.matrix < result.matrices(); ++at.matrix) hidden.push_back(hidden_cells(at));
    const auto hide = [hidden = std::make_shared<const std::vector<Flags>>(std::move(hidden))](
                          std::size_t matrix, std::size_t row, std::span<double> cells) {
      for (std::size_t j = 0; j < cells.size(); ++j) {
        if ((*hidden)[matrix](row, j)) cells[j] = -infinity;
      }
    };
    return InPlace{std::move(result), hide};
  }

  // Every key behind its query, without asking one by one.
  static void hide_later_keys(std::size_t, std::size_t row, std::span<double> cells) {
    const std::size_t first = std::min(row + 1, cells.size());
    std::ranges::fill(cells.subspan(first), -infinity);
  }

  static Tensor compute(const Call& call) {
    Tensor masked = unwritten_like(frame(call));
    if (kind_of(call) == "causal") {
      return by_rows(call, std::move(masked), 1, [](const Operands& of, std::span<double> cells) {
        std::ranges::copy(of.row(0), cells.begin());
        hide_later_keys(of.at().matrix, of.at().row, cells);
      });
    }
    return by_operands(call, std::move(masked), [](const Operands& of) -> Matrix {
      return xt::where(undecided_cells(of.at()), std::nan(""),
                       xt::where(hidden_cells(of.at()), -infinity, of(0)));
    });
  }

  // What a formula makes of each matrix of scores and of the cells that are hidden in it.
  static Tensor by_hidden(const Call& call,
                          Matrix (*formula)(const MatrixView& scores, const Flags& hidden)) {
    return by_operands(call, unwritten_like(frame(call)),
                       [&](const Operands& of) { return formula(of(0), hidden_cells(of.at())); });
  }
};

template <Matrix (*formula)(const MatrixView& scores, const Flags& hidden)>
std::vector<Tensor> with(const Source& step) {
  return {Mask::by_hidden(call_of(step), formula)};
}

Matrix skipped(const MatrixView& s, const Flags&) { return s; }

Matrix zero(const MatrixView& s, const Flags& hidden) { return xt::where(hidden, 0.0, s); }

Matrix diagonal(const MatrixView& s, const Flags& hidden) {
  const Flags own = xt::eye<bool>({s.shape(0), s.shape(1)});
  return xt::where(hidden || own, -infinity, s);
}

Matrix inverted(const MatrixView& s, const Flags& hidden) {
  return xt::where(hidden, s, -infinity);
}

// The same of a causal mask alone.
template <Matrix (*formula)(const MatrixView& scores)>
std::vector<Tensor> with_causal(const Source& step) {
  if (kind_of(call_of(step)) != "causal") return {};
  return {by_matrix(step.operand(), formula)};
}

Matrix wrong_triangle(const MatrixView& s) { return xt::where(seen_up_to(s, -1), -infinity, s); }

// The key after a query's own stays to be seen, too.
Matrix one_ahead(const MatrixView& s) { return xt::where(seen_up_to(s, 1), s, -infinity); }

// The mask as numbers, either way round: 1 keeps, or 1 hides.
std::vector<Tensor> added(const Source& step) {
  const auto kept = [](const MatrixView& s, const Flags& hidden) -> Matrix {
    return xt::where(hidden, s, s + 1);
  };
  const auto hid = [](const MatrixView& s, const Flags& hidden) -> Matrix {
    return xt::where(hidden, s + 1, s);
  };
  return {Mask::by_hidden(call_of(step), kept), Mask::by_hidden(call_of(step), hid)};
}

constexpr Mistake mask_mistakes[] = {
    {"mask.skipped", "Nothing was hidden.", "The hidden cells become -inf.", with<skipped>,
     of_hiding},
    {"mask.zero", "The hidden cells were set to 0 instead of -inf.",
     "e to the power of 0 is 1: a 0 would still get weight.", with<zero>, of_hiding},
    {"mask.wrong-triangle", "The other triangle was hidden: the past instead of the future.",
     "A token may look back, not ahead.", with_causal<wrong_triangle>, of_hiding},
    {"mask.diagonal", "The token itself was hidden too.", "A token may look at itself.",
     with<diagonal>, of_hiding},
    {"mask.one-ahead", "The next token can be seen as well.", "A token may not look ahead.",
     with_causal<one_ahead>, of_hiding},
    {"mask.added", "The 0/1 mask was added to the scores.",
     "Hidden cells become -inf; the others stay as they are.", added, of_hiding},
    {"mask.inverted", "What is to be kept was hidden, and the rest kept.",
     "Which cells does the mask keep?", with<inverted>, of_hiding},
};

}  // namespace

constinit const Operation mask_operation = operation_of<Mask>({
    .name = "mask",
    .title = "Hide what must not be seen",
    .says =
        "Hidden scores become minus infinity. Softmax turns that into a weight of exactly 0, and "
        "the rest of the row still sums to 1.",
    .notice = "Which cells are -inf, and why those?",
    .operands = R"(["scores"] or ["scores", "M"])",
    .fewest = 1,
    .most = 2,
    .options = mask_options,
    .hides = true,
    .mistakes = mask_mistakes,
});

}  // namespace qkv
