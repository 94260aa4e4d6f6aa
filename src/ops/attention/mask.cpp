#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "ops/attention/mask.hpp"
#include "ops/attention/mask_back.hpp"
#include "ops/attention/mask_mistakes.hpp"
#include "ops/attention/visible_keys.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr std::string_view kinds[] = {"causal", "sliding_window", "prefix", "padding", "given"};
using Numbers = OptionRule::Numbers;
constexpr OptionRule mask_options[] = {
    {.name = "kind",
     .says = "what is hidden: later tokens; also those behind a window, or all but a prefix of "
             "them; padding; or what a given 0/1 matrix says",
     .list = kinds},
    {.name = "pad",
     .says = "the padding's id or its token, for kind = \"padding\"",
     .words = OptionRule::Words::any,
     .numbers = Numbers::whole},
    {.name = "width",
     .says = "how many keys a sliding window shows, the token's own among them",
     .numbers = Numbers::whole},
    {.name = "both", .says = "whether a window reaches as far ahead, too", .flag = true},
    {.name = "prefix", .says = "how many first keys all may see", .numbers = Numbers::whole},
    align_option,
};

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
  const std::string_view kind = mask_kind(*c.call);
  if (kind == "padding") return fmt::format("hidden: {} is padding", key);
  const std::string query = place_text("query", c.output->row_axis(), c.row, batch);
  if (goes_by_place(kind)) {
    const bool is_older = c.column < seen_by_place(*c.call, kind)(c.row).from;
    return fmt::format("hidden: {} {} {}", key, is_older ? "is too far behind" : "comes after",
                       query);
  }
  return fmt::format("hidden: {} is 0 for {} and {}", c.call->names[1], query, key);
}

void check_operands(const Call& call) {
  const std::string_view kind = mask_kind(call);
  const std::size_t wanted = goes_by_place(kind) ? 1 : 2;
  if (call.inputs.size() == wanted) return;
  refuse(call,
         fmt::format("a {} mask takes {}", kind,
                     wanted == 1 ? "the scores alone: of = [\"scores\"]"
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

std::string form_by_place(const Call& call, std::string_view kind) {
  if (kind == "causal") return "{0}, later keys hidden";
  const SeenByPlace seen = seen_by_place(call, kind);
  if (kind == "prefix") {
    return fmt::format("{{0}}, later keys hidden but for the first {}", seen.prefix);
  }
  return seen.both ? fmt::format("{{0}}, keys {} or more away hidden", seen.width)
                   : fmt::format("{{0}}, all but the newest {} keys hidden", seen.width);
}

struct Mask {
  static Form form(const Call& call) {
    const std::string_view kind = mask_kind(call);
    if (goes_by_place(kind)) return {{"query key"}, "query key", form_by_place(call, kind)};
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
    if (mask_kind(call) == "padding") {
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
    if (goes_by_place(mask_kind(call))) {
      const SeenByPlace seen = seen_by_place(call, mask_kind(call));
      const auto hide = [seen](const RowPart& at) { hide_outside(seen(at.row), at); };
      return InPlace{std::move(result), hide, true, seen};
    }
    const auto hide = [hidden = std::make_shared<const HiddenCells>(call, result)](
                          const RowPart& row) { hidden->hide(row); };
    return InPlace{std::move(result), hide, true};
  }

  // All the keys that are not seen, without asking one by one.
  static void hide_outside(const SeenKeys& seen, const RowPart& at) {
    const auto place = [&](std::size_t key) {
      return std::clamp(key, at.first, at.first + at.cells.size()) - at.first;
    };
    std::ranges::fill(at.cells.first(place(seen.from)), -infinity);
    std::ranges::fill(at.cells.subspan(place(std::max(seen.from, seen.to))), -infinity);
  }

  static Tensor compute(const Call& call) {
    Tensor masked = unwritten_like(frame(call));
    if (goes_by_place(mask_kind(call))) {
      const SeenByPlace seen = seen_by_place(call, mask_kind(call));
      return by_rows(call, std::move(masked), 1, [&](const Operands& of, std::span<double> cells) {
        std::ranges::copy(of.row(0), cells.begin());
        hide_outside(seen(of.at().row), {of.at().matrix, of.at().row, 0, cells});
      });
    }
    return by_operands(call, std::move(masked), [](const Operands& of) -> Matrix {
      return xt::where(undecided_cells(of.at()), std::nan(""),
                       xt::where(hidden_by_mask(of.at()), -infinity, of(0)));
    });
  }
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
    .way_back = back_through_mask,
});

}  // namespace qkv
