#include <fmt/format.h>

#include <memory>

#include "ops/catalogue.hpp"
#include "ops/rows.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/error.hpp"

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

// Whether the key is padding: its id is the pad's, or its token is.
bool is_padding(const CellBase& c) {
  const Tensor& ids = c.input(1);
  const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
  const std::size_t sentence = ids.rows() == 1 || index.empty() ? 0 : index.front();
  const OptionValue* pad = c.call->options->find("pad");
  if (pad && std::holds_alternative<double>(*pad)) {
    return ids.at(0, sentence, c.column) == std::get<double>(*pad);
  }
  return ids.axes.back().label(c.column, sentence) == c.call->options->word("pad", "<pad>");
}

bool is_hidden(const CellBase& c) {
  const std::string_view kind = kind_of(*c.call);
  if (kind == "causal") return c.column > c.row;
  if (kind == "padding") return is_padding(c);
  const Tensor& keep = c.input(1);
  return keep.at(c.matching(1), keep.rows() == 1 ? 0 : c.row, c.column) == 0;
}

// Puts -inf where the row's keys are hidden.
void hide(CellBase at, std::span<double> cells) {
  constexpr double hidden = -infinity;
  if (kind_of(*at.call) == "causal") {  // every key behind its query, without asking one by one
    std::fill(cells.begin() + static_cast<std::ptrdiff_t>(std::min(at.row + 1, cells.size())),
              cells.end(), hidden);
    return;
  }
  for (at.column = 0; at.column < cells.size(); ++at.column) {
    if (is_hidden(at)) cells[at.column] = hidden;
  }
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
  const std::size_t rank = c.output->rank();
  const std::string key = place_text("key", c.output->axes[rank - 1], c.column, batch);
  const std::string_view kind = kind_of(*c.call);
  if (kind == "padding") return fmt::format("hidden: {} is padding", key);
  const Axis one_query{.name = "query", .size = 1};
  const std::string query =
      place_text("query", rank < 2 ? one_query : c.output->axes[rank - 2], c.row, batch);
  if (kind == "causal") return fmt::format("hidden: {} comes after {}", key, query);
  return fmt::format("hidden: {} is 0 for {} and {}", c.call->names[1], query, key);
}

void check_operands(const Call& call) {
  const std::string_view kind = kind_of(call);
  const std::size_t wanted = kind == "causal" ? 1 : 2;
  if (call.inputs.size() == wanted) return;
  throw InputError(fmt::format(
      "{}: a {} mask takes {}", call.step, kind,
      kind == "causal"    ? "the scores alone: of = [\"scores\"]"
      : kind == "padding" ? "the scores and the token ids: of = [\"scores\", \"token_ids\"]"
                          : "the scores and a 0/1 matrix (1 keeps): of = [\"scores\", \"keep\"]"));
}

// The ids of a batch are a matrix, sentence by token: fitted by hand, since their rows are no
// queries.
void check_padding(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const Tensor& ids = *call.inputs[1];
  const OptionValue* pad = call.options->find("pad");
  if (ids.axes.back().labels.empty() && !(pad && std::holds_alternative<double>(*pad))) {
    throw InputError(
        fmt::format("{}: {} has no words beside its ids, so the padding can't be told by its word; "
                    "write its id: "
                    "pad = 0",
                    call.step, call.names[1]));
  }
  const std::size_t sentences = scores.leading_axes() == 0 ? 1 : scores.axes[0].size;
  if (ids.columns() == scores.columns() && (ids.rows() == 1 || ids.rows() == sentences)) return;
  throw InputError(fmt::format("{}: {} ({}) has no id for each key of {} ({})", call.step,
                               call.names[1], shape_text(ids.shape()), call.names[0],
                               shape_text(scores.shape())));
}

// What a mask is made of, kept for as long as somebody may look at the result.
struct OwnMask {
  OwnMask(const Call& from, Tensor frame)
      : result(std::move(frame)),
        options(*from.options),
        keep(from.inputs.size() > 1 ? *from.inputs[1] : Tensor{}) {
    call.inputs = {&result, &keep};
    call.inputs.resize(from.inputs.size());
    call.options = &options;
  }
  OwnMask(const OwnMask&) = delete;
  OwnMask& operator=(const OwnMask&) = delete;

  Tensor result;  // its axes; also in the place of the scores, of which only those matter
  Options options;
  Tensor keep;
  Call call;
};

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

  static std::optional<InPlace> in_place(const Call& call) {
    Tensor result = frame(call);
    if (result.shape() != call.inputs[0]->shape()) return {};  // one operand's rows, several masks
    const auto own = std::make_shared<const OwnMask>(call, result);
    const auto hide_own = [own](std::size_t matrix, std::size_t row, std::span<double> cells) {
      hide({.call = &own->call, .output = &own->result, .matrix = matrix, .row = row}, cells);
    };
    return InPlace{std::move(result), hide_own};
  }

  static Tensor compute(const Call& call) {
    if (std::optional<InPlace> rows = in_place(call)) return copy_in_place(call, std::move(*rows));
    Tensor result = unwritten(frame(call).axes);
    result.dot_width = call.inputs[0]->dot_width;
    row_by_row(result, 4, [&](std::size_t matrix, std::size_t row, std::span<double> cells) {
      CellBase at{.call = &call, .output = &result, .matrix = matrix, .row = row};
      const auto scores = call.inputs[0]->matrix(at.matching(0)).subspan(row * cells.size());
      std::copy_n(scores.begin(), cells.size(), cells.begin());
      hide(at, cells);
    });
    return result;
  }
};

// The scores with `changed(kept or hidden, score)` in each cell.
template <class Change>
Tensor with_cells(const Source& step, Change change) {
  const Call call = call_of(step);
  Tensor result = Mask::compute(call);
  CellBase at{.call = &call, .output = &result};
  for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
    const std::span<double> cells = result.matrix(at.matrix);
    for (at.row = 0; at.row < result.rows(); ++at.row) {
      for (at.column = 0; at.column < result.columns(); ++at.column) {
        const double score = call.inputs[0]->at(at.matching(0), at.row, at.column);
        cells[at.row * result.columns() + at.column] = change(at, score);
      }
    }
  }
  return result;
}

constexpr double hidden_score = -infinity;

std::vector<Tensor> skipped(const Source& step) {
  return {with_cells(step, [](const CellBase&, double score) { return score; })};
}

std::vector<Tensor> zero(const Source& step) {
  return {with_cells(step, [](const CellBase& at, double s) { return is_hidden(at) ? 0 : s; })};
}

std::vector<Tensor> wrong_triangle(const Source& step) {
  if (kind_of(call_of(step)) != "causal") return {};
  return {with_cells(
      step, [](const CellBase& at, double s) { return at.column < at.row ? hidden_score : s; })};
}

std::vector<Tensor> diagonal(const Source& step) {
  return {with_cells(step, [](const CellBase& at, double s) {
    return is_hidden(at) || at.column == at.row ? hidden_score : s;
  })};
}

std::vector<Tensor> added(const Source& step) {
  return {with_cells(step, [](const CellBase& at, double s) { return is_hidden(at) ? s : s + 1; }),
          with_cells(step, [](const CellBase& at, double s) { return is_hidden(at) ? s + 1 : s; })};
}

std::vector<Tensor> inverted(const Source& step) {
  return {with_cells(
      step, [](const CellBase& at, double s) { return is_hidden(at) ? s : hidden_score; })};
}

constexpr Mistake mask_mistakes[] = {
    {"mask.skipped", "Nothing was hidden.", "The hidden cells become -inf.", skipped},
    {"mask.zero", "The hidden cells were set to 0 instead of -inf.",
     "e to the power of 0 is 1: a 0 would still get weight.", zero},
    {"mask.wrong-triangle", "The other triangle was hidden: the past instead of the future.",
     "A token may look back, not ahead.", wrong_triangle},
    {"mask.diagonal", "The token itself was hidden too.", "A token may look at itself.", diagonal},
    {"mask.added", "The 0/1 mask was added to the scores.",
     "Hidden cells become -inf; the others stay as they are.", added},
    {"mask.inverted", "What is to be kept was hidden, and the rest kept.",
     "Which cells does the mask keep?", inverted},
};

}  // namespace

constinit const Operation mask_operation{
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
    .form = Mask::form,
    .compute = Mask::compute,
    .in_place = Mask::in_place,
    .cell = readings_of<Mask>(),
    .remark = why_hidden,
    .mistakes = mask_mistakes,
};

}  // namespace qkv
