#include "ops/attention/mask_mistakes.hpp"

#include <utility>

#include "ops/attention/mask.hpp"
#include "ops/attention/visible_keys.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv {
namespace {

// What a formula makes of each matrix of scores and of the cells that are hidden in it.
template <Matrix (*formula)(const MatrixView& scores, const Flags& hidden)>
std::vector<Tensor> with(const Source& step) {
  const Call call = call_of(step);
  return {by_operands(call, unwritten_like(mask_operation.compute(call)),
                      [](const Operands& of) { return formula(of(0), hidden_by_mask(of.at())); })};
}

Matrix skipped(const MatrixView& s, const Flags&) { return s; }

Matrix zero(const MatrixView& s, const Flags& hidden) { return xt::where(hidden, 0.0, s); }

Matrix inverted(const MatrixView& s, const Flags& hidden) {
  return xt::where(hidden, s, -infinity);
}

std::string_view kind_of(const Source& step) {
  return step.options->word("kind", step.inputs.size() == 2 ? "given" : "causal");
}

// Each matrix of the scores with other keys seen than the mask by places shows.
Tensor with_seen(const Source& step, const SeenByPlace& seen) {
  return by_matrix(step.operand(), [&](const MatrixView& s) -> Matrix {
    Matrix masked = s;
    for (std::size_t i = 0; i < s.shape(0); ++i) {
      const SeenKeys keys = seen(i);
      for (std::size_t j = 0; j < s.shape(1); ++j) {
        if (!keys.has(j)) masked(i, j) = -infinity;
      }
    }
    return masked;
  });
}

// The same with a change to what it shows; nothing where the mask goes by something else.
template <class Change>
std::vector<Tensor> with_change(const Source& step, Change change) {
  if (!goes_by_place(kind_of(step))) return {};
  SeenByPlace seen = seen_by_place(call_of(step), kind_of(step));
  return change(seen) ? std::vector<Tensor>{with_seen(step, seen)} : std::vector<Tensor>();
}

// The token's own key, wherever it stands.
std::vector<Tensor> diagonal(const Source& step) {
  const Call call = call_of(step);
  const int first = goes_by_place(kind_of(step)) ? static_cast<int>(first_query(call)) : 0;
  return {by_operands(call, unwritten_like(mask_operation.compute(call)),
                      [&](const Operands& of) -> Matrix {
                        const MatrixView s = of(0);
                        const Flags own = xt::eye<bool>({s.shape(0), s.shape(1)}, first);
                        return xt::where(hidden_by_mask(of.at()) || own, -infinity, s);
                      })};
}

std::vector<Tensor> wrong_triangle(const Source& step) {
  if (kind_of(step) != "causal") return {};
  const int before = static_cast<int>(first_query(call_of(step))) - 1;
  return {by_matrix(step.operand(), [&](const MatrixView& s) -> Matrix {
    return xt::where(seen_up_to(s, before), -infinity, s);
  })};
}

// The key after a query's own stays to be seen, too.
std::vector<Tensor> one_ahead(const Source& step) {
  if (kind_of(step) == "causal") {
    const int ahead = static_cast<int>(first_query(call_of(step))) + 1;
    return {by_matrix(step.operand(), [&](const MatrixView& s) -> Matrix {
      return xt::where(seen_up_to(s, ahead), s, -infinity);
    })};
  }
  return with_change(step, [](SeenByPlace& seen) {
    ++seen.first;
    ++seen.width;
    return !seen.both;
  });
}

std::vector<Tensor> off_by_one(const Source& step) {
  if (kind_of(step) != "sliding_window") return {};
  std::vector<Tensor> results = with_change(step, [](SeenByPlace& seen) { return ++seen.width; });
  for (Tensor& narrow : with_change(step, [](SeenByPlace& seen) { return --seen.width; })) {
    results.push_back(std::move(narrow));
  }
  return results;
}

// All of the past, as under a causal mask.
std::vector<Tensor> without_window(const Source& step) {
  if (kind_of(step) != "sliding_window") return {};
  return with_change(step, [](SeenByPlace& seen) {
    seen.kind = SeenByPlace::Kind::causal;
    return !seen.both;
  });
}

std::vector<Tensor> not_causal(const Source& step) {
  if (kind_of(step) != "sliding_window") return {};
  return with_change(step, [](SeenByPlace& seen) { return !std::exchange(seen.both, true); });
}

std::vector<Tensor> as_first_rows(const Source& step) {
  return with_change(step, [](SeenByPlace& seen) { return std::exchange(seen.first, 0) > 0; });
}

// The mask as numbers, either way round: 1 keeps, or 1 hides.
Matrix kept_added(const MatrixView& s, const Flags& hidden) { return xt::where(hidden, s, s + 1); }

Matrix hidden_added(const MatrixView& s, const Flags& hidden) {
  return xt::where(hidden, s + 1, s);
}

std::vector<Tensor> added(const Source& step) {
  return {with<kept_added>(step).front(), with<hidden_added>(step).front()};
}

}  // namespace

constinit const Mistake mask_mistakes[mask_mistakes_count] = {
    {"mask.skipped", "Nothing was hidden.", "The hidden cells become -inf.", with<skipped>,
     of_hiding},
    {"mask.zero", "The hidden cells were set to 0 instead of -inf.",
     "e to the power of 0 is 1: a 0 would still get weight.", with<zero>, of_hiding},
    {"mask.wrong-triangle", "The other triangle was hidden: the past instead of the future.",
     "A token may look back, not ahead.", wrong_triangle, of_hiding},
    {"mask.diagonal", "The token itself was hidden too.", "A token may look at itself.", diagonal,
     of_hiding},
    {"mask.one-ahead", "The next token can be seen as well.", "A token may not look ahead.",
     one_ahead, of_hiding},
    {"mask.added", "The 0/1 mask was added to the scores.",
     "Hidden cells become -inf; the others stay as they are.", added, of_hiding},
    {"mask.inverted", "What is to be kept was hidden, and the rest kept.",
     "Which cells does the mask keep?", with<inverted>, of_hiding},
    {"window.off-by-one", "The window shows one key too many or too few.",
     "It is as wide as it says, the token's own key among them.", off_by_one, of_hiding},
    {"window.skipped", "The window was forgotten: all of the past can be seen.",
     "It shows the newest keys of the past alone.", without_window, of_hiding},
    {"window.no-causal", "The window was laid to both sides.",
     "It shows the newest keys of the past, no later ones.", not_causal, of_hiding},
    {"cache.masked-first-row", "The queries were masked as if they were the first tokens.",
     "They are the last ones, and see all that came before.", as_first_rows, of_hiding},
};

}  // namespace qkv
