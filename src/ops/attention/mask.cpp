#include "ops/attention/softmax.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv::inline ops {
namespace {

// The kind of a mask step: its option or, without one, what its operands imply.
std::string_view mask_kind(const Call& call) {
  return call.options->word("kind", call.inputs.size() == 2 ? "given" : "causal");
}

// The sentence whose ids the matrix has; one row of ids serves all.
std::size_t sentence_of(const CellBase& c) {
  const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
  return c.input(1).rows() == 1 || index.empty() ? 0 : index.front();
}

// True if a key's id, or its token, is the padding's.
bool is_padding(const Call& call, std::size_t sentence, std::size_t key) {
  const Tensor& ids = *call.inputs[1];
  if (const double* pad = call.options->if_number("pad")) return ids.at(0, sentence, key) == *pad;
  return ids.axes.back().label(key, sentence) == call.options->word("pad", "<pad>");
}

std::size_t needed(const Call& call, std::string_view name, double least) {
  const double* number = call.options->if_number(name);
  if (!number) refuse(call, fmt::format("kind = \"{}\" needs {} = …", mask_kind(call), name));
  if (*number < least || *number > 1e9) {
    refuse(call, fmt::format("{} counts keys: from {} up, not {}", name, least, *number));
  }
  return static_cast<std::size_t>(*number);
}

// The parameters of a mask that depends on positions only; empty for others.
using Pattern = std::optional<MaskPattern>;

Pattern pattern_of(const Call& call) {
  using Kind = MaskPattern::Kind;
  const std::string_view kind = mask_kind(call);
  if (kind == "padding" || kind == "given") return {};
  MaskPattern seen{.first = first_query(call), .keys = call.inputs[0]->columns()};
  if (kind == "sliding_window") {
    seen.kind = Kind::sliding_window;
    seen.width = needed(call, "width", 1);
    seen.both = call.options->flag("both", false);
  } else if (kind == "prefix") {
    seen.kind = Kind::prefix;
    seen.prefix = needed(call, "prefix", 0);
  }
  return seen;
}

bool is_masked(const CellBase& c) {
  if (const Pattern seen = pattern_of(*c.call)) return !(*seen)(c.row).has(c.column);
  if (mask_kind(*c.call) == "padding") return is_padding(*c.call, sentence_of(c), c.column);
  const Tensor& keep = c.input(1);
  return keep.at(c.matrix_index(1), keep.rows() == 1 ? 0 : c.row, c.column) == 0;
}

// A matrix for each sentence, of one row: 0 for padding, else 1; nan if the id is not known.
Tensor kept_beside_padding(const Call& call) {
  const Tensor& ids = *call.inputs[1];
  Tensor keep = zeros({{"batch", ids.rows()}, {"", 1}, ids.axes.back()});
  const std::span<double> cells = keep.values.mutable_span();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_hidden = is_padding(call, i / ids.columns(), i % ids.columns());
    cells[i] = std::isnan(ids.values[i]) ? ids.values[i] : is_hidden ? 0 : 1;
  }
  return keep;
}

/// The cells that a given mask or padding hides.
class MaskedCells {
 public:
  MaskedCells(const Call& call, const Tensor& result) {
    const bool by_sentence = mask_kind(call) == "padding";
    keep_ = by_sentence ? kept_beside_padding(call) : *call.inputs[1];
    CellBase at{.call = &call, .output = &result};
    for (; at.matrix < result.matrices(); ++at.matrix) {
      mask_of_.push_back(by_sentence ? sentence_of(at) : at.matrix_index(1));
    }
  }

  /// Sets hidden cells of the row to minus infinity; a mask's nan makes nan of its cell.
  void hide(const RowPart& at) const {
    const std::size_t row = keep_.rows() == 1 ? 0 : at.row;
    const std::size_t first = keep_.index(mask_of_[at.matrix], row, at.first);
    const std::span<const double> keep = keep_.values.part(first, at.cells.size());
    for (std::size_t j = 0; j < keep.size(); ++j) {
      if (keep[j] == 0) at.cells[j] = -infinity;
      if (std::isnan(keep[j])) at.cells[j] = keep[j];
    }
  }

 private:
  Tensor keep_;
  std::vector<std::size_t> mask_of_;  // by matrix
};

// The step's result with a formula of each score and of what a score of 0 becomes: -inf if hidden.
Versions by_score_and_mask(const StepView& step, Matrix (*formula)(const Operands&)) {
  const Tensor mask =
      with_operand(step, 0, with_numbers(step.operand(), xt::zeros_like(step.operand().array())));
  Call call = call_of(step);
  call.inputs = {&step.operand(), &mask};
  return {by_operands(call, uninitialised_like(mask), formula)};
}

template <double (*formula)(double score, bool hidden)>
Versions with(const StepView& step) {
  return by_score_and_mask(step, [](const Operands& of) -> Matrix {
    return xt::vectorize(formula)(of(0), xt::isinf(of(1)));
  });
}

double zero(double score, bool hidden) { return hidden ? 0 : score; }
double inverted(double score, bool hidden) { return hidden ? score : -infinity; }
// The mask as numbers, either way round: 1 keeps, or 1 hides.
double kept_added(double score, bool hidden) { return hidden ? score : score + 1; }
double hidden_added(double score, bool hidden) { return hidden ? score + 1 : score; }

Versions added(const StepView& step) {
  return {with<kept_added>(step).front(), with<hidden_added>(step).front()};
}

// Hides all keys outside the range, without testing each.
void hide_outside(const Indices& seen, const RowPart& at) {
  const auto place = [&](std::size_t key) {
    return std::clamp(key, at.first, at.first + at.cells.size()) - at.first;
  };
  std::ranges::fill(at.cells.first(place(seen.from)), -infinity);
  std::ranges::fill(at.cells.subspan(place(std::max(seen.from, seen.to))), -infinity);
}

Tensor masked_by(const Call& call, const Pattern& seen) {
  return by_rows(call, *call.inputs[0], 1, [&](const Operands& of, std::span<double> cells) {
    hide_outside((*seen)(of.at().row), {of.at().matrix, of.at().row, 0, cells});
  });
}

template <auto... changes>
constexpr auto masked_with = with_parameters<pattern_of, masked_by, changes...>;

bool is_window(const Pattern& seen) {
  return seen && seen->kind == MaskPattern::Kind::sliding_window;
}

// The token's own key is hidden, too.
Versions diagonal(const StepView& step) {
  return by_score_and_mask(step, [](const Operands& of) -> Matrix {
    const MatrixView s = of(0);
    const Pattern seen = pattern_of(*of.at().call);
    const int first = seen ? static_cast<int>(seen->first) : 0;
    const xt::xtensor<bool, 2> own = xt::eye<bool>({s.shape(0), s.shape(1)}, first);
    return xt::where(xt::isinf(of(1)) || own, -infinity, s);
  });
}

Versions wrong_triangle(const StepView& step) {
  const Pattern seen = pattern_of(call_of(step));
  if (!seen || (seen->kind != MaskPattern::Kind::causal && !is_window(seen))) return {};
  return {by_matrix(step.operand(), [&](const MatrixView& s) -> Matrix {
    const xt::xtensor<bool, 2> all = xt::ones<bool>({s.shape(0), s.shape(1)});
    return xt::where(xt::tril(all, static_cast<int>(seen->first) - 1), -infinity, s);
  })};
}

constexpr Mistake mask_mistakes[] = {
    {"mask.skipped", "Nothing was hidden.", "The hidden cells become -inf.", Skip{},
     masking_evidence},
    {"mask.skipped", "What comes later was not hidden, only what the window leaves out.",
     "A token may not look ahead.", masked_with<[](Pattern& seen) {
       if (!is_window(seen)) return false;
       seen->ahead = seen->keys;
       return !seen->both;
     }>,
     masking_evidence},
    {"mask.zero", "The hidden cells were set to 0 instead of -inf.",
     "e to the power of 0 is 1: a 0 would still get weight.", with<zero>, masking_evidence},
    {"mask.wrong-triangle", "The other triangle was hidden: the past instead of the future.",
     "A token may look back, not ahead.", wrong_triangle, masking_evidence},
    {"mask.diagonal", "The token itself was hidden too.", "A token may look at itself.", diagonal,
     masking_evidence},
    {"mask.one-ahead", "The next token can be seen as well.", "A token may not look ahead.",
     masked_with<[](Pattern& seen) {
       if (!seen) return false;
       seen->ahead = 1;
       return !seen->both;
     }>,
     masking_evidence},
    {"mask.added", "The 0/1 mask was added to the scores.",
     "Hidden cells become -inf; the others stay as they are.", added, masking_evidence},
    {"mask.inverted", "What is to be kept was hidden, and the rest kept.",
     "Which cells does the mask keep?", with<inverted>, masking_evidence},
    {"window.off-by-one", "The window shows one key too many or too few.",
     "Its width counts the token's own key, too.",
     masked_with<[](Pattern& seen) { return is_window(seen) && ++seen->width != 0; },
                 [](Pattern& seen) { return is_window(seen) && --seen->width != 0; }>,
     masking_evidence},
    {"window.skipped", "The window was forgotten: all of the past can be seen.",
     "It shows only the newest keys of the past.", masked_with<[](Pattern& seen) {
       if (!is_window(seen)) return false;
       seen->kind = MaskPattern::Kind::causal;
       return !seen->both;
     }>,
     masking_evidence},
    {"window.no-causal", "The window reaches to both sides.",
     "It shows the newest keys of the past, no later ones.",
     masked_with<[](Pattern& seen) { return is_window(seen) && !std::exchange(seen->both, true); }>,
     masking_evidence},
    {"cache.masked-first-row", "The queries were masked as if they were the first tokens.",
     "They are the last ones, and see all that came before.",
     masked_with<[](Pattern& seen) { return seen && std::exchange(seen->first, 0) != 0; }>,
     masking_evidence},
    {"softcap.after-mask", "The mask came first, so -cap stands where -inf should be.",
     "First cap, then hide.", Exchange{{&softcap_operation}}, masking_evidence},
};

// Hidden cells get 0. The masked scores show which those are, whatever the kind of mask.
struct GradMasked : FixedForm<"{0}, 0 where {2} is -inf", "query key"> {
  static constexpr GradientWords words{"Back through the mask",
                                       "A hidden score does not change the loss, so its gradient "
                                       "is 0. The other gradients stay as they are.",
                                       "The zeros are where the mask is."};
  static constexpr Role needs[] = {Role::output};

  static constexpr std::string_view code = "{np}.where({2} == -{np}.inf, 0, {0})";

  template <class N>
  static N cell(const Cell<N>& c) {
    const bool hidden =
        c.input(saved_output).at(c.matrix_index(saved_output), c.row, c.column) == -infinity;
    return hidden ? N(0.0) : c(grad_output)(c.row, c.column);
  }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    const Tensor& masked = *call.inputs[saved_output];
    const Tensor& own = *call.inputs[self];
    if (own.shape() != masked.shape() || call.inputs[grad_output]->shape() != masked.shape())
      return {};
    const auto work = [masked](const RowPart& row) {
      thread_local Scratch scratch;
      const std::size_t first = masked.index(row.matrix, row.row, 0);
      const auto line = masked.values.read(first, masked.columns(), scratch);
      std::ranges::transform(
          row.cells, line.subspan(row.first), row.cells.begin(),
          [](double change, double score) { return score == -infinity ? 0 : change; });
    };
    return InPlaceKernel{{.axes = own.axes, .values = {}}, work, true};
  }
};

constexpr Mistake mask_backward_mistakes[] = {
    {"mask.skipped", "The gradient went back to what was hidden, too.",
     "A hidden score has no part in the loss: its gradient is 0.", Skip{}, masking_evidence},
};

constexpr std::string_view kinds[] = {"causal", "sliding_window", "prefix", "padding", "given"};
using Numbers = OptionRule::Numbers;
constexpr OptionRule mask_options[] = {
    {.name = "kind",
     .help = "what is hidden: later tokens; also those before a window, or all but a prefix of "
             "them; padding; or what a given 0/1 matrix says, also if not written and M is there",
     .list = kinds},
    {.name = "pad",
     .help = "the padding's id or its token, for kind = \"padding\"",
     .any_word = true,
     .numbers = Numbers::whole},
    {.name = "width",
     .help = "how many keys a sliding window shows, the token's own among them",
     .numbers = Numbers::whole},
    {.name = "both", .help = "whether a window reaches as far ahead, too", .flag = true},
    {.name = "prefix", .help = "how many first keys all may see", .numbers = Numbers::whole},
    align_option,
};

// "key 3 (cat)", counted from 1.
std::string place_text(std::string_view what, const Axis& axis, std::size_t i, std::size_t batch) {
  const std::string_view label = axis.label(i, batch);
  return label.empty() ? fmt::format("{} {}", what, i + 1)
                       : fmt::format("{} {} ({})", what, i + 1, label);
}

void check_mask_operands(const Call& call) {
  const std::string_view kind = mask_kind(call);
  const std::size_t wanted = pattern_of(call) ? 1 : 2;
  if (call.inputs.size() == wanted) return;
  refuse(call,
         fmt::format("a {} mask takes {}", kind,
                     wanted == 1 ? "the scores alone: of = [\"scores\"]"
                     : kind == "padding"
                         ? "the scores and the token ids: of = [\"scores\", \"token_ids\"]"
                         : "the scores and a 0/1 matrix (1 keeps): of = [\"scores\", \"keep\"]"));
}

// A batch's ids are a matrix, sentence by token, whose rows are no queries: the shape rule cannot
// check them.
void check_padding(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const Tensor& ids = *call.inputs[1];
  if (ids.axes.back().labels.empty() && !call.options->if_number("pad")) {
    refuse(call, fmt::format("{} has no words beside its ids, so the padding can't be found by its "
                             "word; write its id: pad = 0",
                             call.names[1]));
  }
  const std::size_t sentences = scores.leading_axes() == 0 ? 1 : scores.axes[0].size;
  if (ids.columns() == scores.columns() && (ids.rows() == 1 || ids.rows() == sentences)) return;
  refuse(call, fmt::format("{} has no id for each key of {}", operand_text(call, 1),
                           operand_text(call, 0)));
}

std::string form_by_place(const Call& call, const MaskPattern& seen) {
  if (seen.kind == MaskPattern::Kind::causal) {
    return call.options->word("align", "end") == "end"
               ? "{0}, later keys hidden"
               : "{0}, later keys hidden, both counted from 1";
  }
  if (seen.kind == MaskPattern::Kind::prefix) {
    return fmt::format("{{0}}, later keys hidden but for the first {}", seen.prefix);
  }
  return seen.both ? fmt::format("{{0}}, keys {} or more away hidden", seen.width)
                   : fmt::format("{{0}}, all but the newest {} keys hidden", seen.width);
}

// The condition under which a key is seen, as code.
std::string code_of_places(const Call& call, const MaskPattern& seen) {
  const auto below = [&](std::size_t keys, std::size_t fewer) {
    const long diagonal = static_cast<long>(seen.first + keys) - static_cast<long>(fewer);
    return fmt::format("{{np}}.tril({{np}}.ones(({}, {})){})", call.inputs[0]->rows(),
                       call.inputs[0]->columns(),
                       diagonal == 0 ? "" : fmt::format(", {}", diagonal));
  };
  if (seen.kind == MaskPattern::Kind::prefix) {
    return fmt::format("({} > 0) | ({{arange {}}} < {})", below(0, 0), seen.keys, seen.prefix);
  }
  if (seen.kind == MaskPattern::Kind::causal) return below(0, 0) + " > 0";
  return below(seen.both ? seen.width - 1 : 0, 0) + " > " + below(0, seen.width);
}

std::string code_of_padding(const Call& call) {
  const Tensor& ids = *call.inputs[1];
  const double* pad = call.options->if_number("pad");
  double id = pad ? *pad : -1;  // without such a word, no id is hidden
  for (std::size_t i = 0; !pad && i < ids.values.size(); ++i) {
    const std::string_view word = ids.axes.back().label(i % ids.columns(), i / ids.columns());
    if (word == call.options->word("pad", "<pad>")) id = ids.values[i];
  }
  std::string shape;
  if (ids.rows() > 1) {
    shape = fmt::format(".reshape({}", ids.rows());
    for (std::size_t a = 2; a < call.inputs[0]->rank(); ++a) shape += ", 1";
    shape += fmt::format(", {})", ids.columns());
  }
  return fmt::format("{{1}}{} != {}", shape, id);
}

struct Mask {
  static std::string code_of(const Call& call) {
    const Pattern seen = pattern_of(call);
    return fmt::format("{{np}}.where({}, {{r0}}, -{{np}}.inf)", seen ? code_of_places(call, *seen)
                                                                : mask_kind(call) == "padding"
                                                                    ? code_of_padding(call)
                                                                    : "{r1} != 0");
  }

  static Form form(const Call& call) {
    if (const Pattern seen = pattern_of(call)) {
      return {{"query key"}, "query key", form_by_place(call, *seen)};
    }
    if (mask_kind(call) == "padding") {
      return {{"query key", "sentence key"}, "query key", "{0}, hidden where {1} is padding"};
    }
    const bool one_row = call.inputs.size() == 2 && call.inputs[1]->rows() == 1;
    return {
        {"query key", one_row ? "1 key" : "query key"}, "query key", "{0}, hidden where {1} is 0"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_masked(c)) return -infinity;
    return c(0)(c.row, c.column);
  }

  static Tensor frame(const Call& call) {
    check_mask_operands(call);
    Call shaped = call;
    if (mask_kind(call) == "padding") {
      check_padding(call);
      shaped.inputs.resize(1);
    }
    return frame_of_scores(shaped, form(shaped));
  }

  static std::string remark(const CellBase& c) {
    if (!is_masked(c)) return {};
    const std::vector<std::size_t> index = leading_index(*c.output, c.matrix);
    const std::size_t batch = index.empty() ? 0 : index.front();
    const std::string key = place_text("key", c.output->axes.back(), c.column, batch);
    if (mask_kind(*c.call) == "padding") return fmt::format("hidden: {} is padding", key);
    const std::string query = place_text("query", c.output->row_axis(), c.row, batch);
    if (const Pattern seen = pattern_of(*c.call)) {
      const auto* how = c.column < (*seen)(c.row).from ? "is too far behind" : "comes after";
      if (c.output->rows() == seen->keys) return fmt::format("hidden: {} {} {}", key, how, query);
      return fmt::format("hidden: {} counts as token {} here; {} {} it", query,
                         seen->first + c.row + 1, key, how);
    }
    return fmt::format("hidden: {} is 0 for {} and {}", c.call->names[1], query, key);
  }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    Tensor result = frame(call);
    if (const Pattern seen = pattern_of(call)) {
      const auto hide = [seen = *seen](const RowPart& at) { hide_outside(seen(at.row), at); };
      return InPlaceKernel{std::move(result), hide, true, *seen};
    }
    const auto hide = [hidden = std::make_shared<const MaskedCells>(call, result)](
                          const RowPart& row) { hidden->hide(row); };
    return InPlaceKernel{std::move(result), hide, true};
  }
};

}  // namespace

std::size_t first_query(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const bool at_end = call.options->word("align", "end") == "end";
  return at_end && scores.columns() > scores.rows() ? scores.columns() - scores.rows() : 0;
}

Indices MaskPattern::operator()(std::size_t query) const {
  const std::size_t own = query + first;
  const std::size_t before = kind == Kind::sliding_window ? own + 1 - std::min(width, own + 1) : 0;
  std::size_t to = own + 1 + ahead;
  if (both) to = own + width;
  if (kind == Kind::prefix) to = std::max(to, prefix);
  return {std::min(before, keys), std::min(to, keys)};
}

constinit const Operation mask_operation = operation_of<Mask>({
    .name = "mask",
    .title = "Hide the keys that must not be seen",
    .says = "Hidden scores become minus infinity. Softmax makes that a weight of exactly 0, and "
            "the rest of the row still sums to 1.",
    .notice = "Which cells are -inf, and why those?",
    .operands = R"(["scores"] or ["scores", "M"])",
    .options = mask_options,
    .masks_cells = true,
    .mistakes = mask_mistakes,
    .backward = backward_by<WithMistakes<GradMasked, mask_backward_mistakes>, NoGradient>,
});

}  // namespace qkv::inline ops
