#include <fmt/format.h>

#include <limits>

#include "ops/catalogue.hpp"
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

// The ids of a batch are a matrix, sentence by token: fitted by hand, since their rows are no queries.
void check_padding(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const Tensor& ids = *call.inputs[1];
  const std::size_t sentences = scores.leading_axes() == 0 ? 1 : scores.axes[0].size;
  if (ids.columns() == scores.columns() && (ids.rows() == 1 || ids.rows() == sentences)) return;
  throw InputError(fmt::format("{}: {} ({}) has no id for each key of {} ({})", call.step,
                               call.names[1], shape_text(ids.shape()), call.names[0],
                               shape_text(scores.shape())));
}

struct Mask {
  static Form form(const Call& call) {
    const std::string_view kind = kind_of(call);
    if (kind == "causal") return {{"query key"}, "query key", "{0}, later keys hidden"};
    if (kind == "padding") {
      return {{"query key", "sentence key"}, "query key", "{0}, hidden where {1} is padding"};
    }
    const bool one_row = call.inputs.size() == 2 && call.inputs[1]->rows() == 1;
    return {{"query key", one_row ? "1 key" : "query key"}, "query key", "{0}, hidden where {1} is 0"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_hidden(c)) return -std::numeric_limits<double>::infinity();
    return c(0)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    check_operands(call);
    Call shaped = call;
    if (kind_of(call) == "padding") {
      check_padding(call);
      shaped.inputs.resize(1);
    }
    Tensor result = output_of(shaped, form(shaped));
    result.dot_width = call.inputs[0]->dot_width;
    return cell_by_cell(call, std::move(result), cell<double>);
  }
};

}  // namespace

constinit const Operation mask_operation{
    .name = "mask",
    .title = "Hide what must not be seen",
    .says = "Hidden scores become minus infinity. Softmax turns that into a weight of exactly 0, and "
            "the rest of the row still sums to 1.",
    .notice = "Which cells are -inf, and why those?",
    .fewest = 1,
    .most = 2,
    .options = mask_options,
    .form = Mask::form,
    .compute = Mask::compute,
    .cell = readings_of<Mask>(),
};

}  // namespace qkv
