#include "ops/rope/rope.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/rope/rotation.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

Tensor right_result(const Source& step) { return rope_operation.compute(call_of(step)); }

// The step's result with something wrong about its rotation.
template <class Change>
Tensor with_rotation(const Source& step, Change change) {
  const Call call = call_of(step);
  Rotation rotation = Rotation::of(RopeOptions::of(call));
  change(rotation);
  return turned(call, output_of(call, rope_operation.form(call)), rotation);
}

bool are_given(const Source& step) { return step.inputs.size() == 2; }

// The same with other options; nothing where the angles are given.
template <class Change>
std::vector<Tensor> with_options(const Source& step, Change change) {
  if (are_given(step)) return {};
  Options options = *step.options;
  change(options);
  Call call = call_of(step);
  call.options = &options;
  return {rope_operation.compute(call)};
}

Pairing other(Pairing pairing) {
  return pairing == Pairing::halves ? Pairing::interleaved : Pairing::halves;
}

std::vector<Tensor> other_pairing(const Source& step) {
  return {with_rotation(step, [](Rotation& r) { r.pairs = r.table = other(r.pairs); })};
}

std::vector<Tensor> mixed_layout(const Source& step) {
  return {with_rotation(step, [](Rotation& r) { r.table = other(r.table); })};
}

std::vector<Tensor> backwards(const Source& step) {
  return {with_rotation(step, [](Rotation& r) { r.times = -1; })};
}

std::vector<Tensor> sin_cos_swapped(const Source& step) {
  return {with_rotation(step, [](Rotation& r) { r.sin_cos_swapped = true; })};
}

// Degrees for radians: in a calculator's wrong mode, or worked out where none are due.
std::vector<Tensor> in_degrees(const Source& step) {
  constexpr double degree = std::numbers::pi / 180;
  return {with_rotation(step, [](Rotation& r) { r.times = degree; }),
          with_rotation(step, [](Rotation& r) { r.times = 1 / degree; })};
}

std::vector<Tensor> offset(const Source& step) {
  if (are_given(step)) return {};
  return {with_rotation(step, [](Rotation& r) { r.first += 1; }),
          with_rotation(step, [](Rotation& r) { r.first -= 1; })};
}

// i, i + 1, 4i or 2(i + 1) where 2i belongs: each pair's own power of the base.
std::vector<Tensor> exponent(const Source& step) {
  std::vector<Tensor> results;
  if (are_given(step)) return results;
  const RopeOptions rope = RopeOptions::of(call_of(step));
  const auto add = [&](double slope, double start) {
    results.push_back(with_rotation(step, [&](Rotation& r) {
      for (std::size_t i = 0; i < r.speeds.size(); ++i) {
        const double pair = static_cast<double>(i);
        const double more = slope * pair + start - 2 * pair;
        r.speeds(i) *= std::pow(rope.base, -more / static_cast<double>(r.width));
      }
    }));
  };
  add(1, 0);
  add(1, 1);
  add(4, 0);
  add(2, 2);
  return results;
}

std::vector<Tensor> other_base(const Source& step) {
  std::vector<Tensor> results;
  for (const double base : {10000.0, 500000.0, 1000000.0}) {
    if (step.options->number("base", 10000) == base) continue;
    std::ranges::move(with_options(step, [&](Options& o) { o.set("base", base); }),
                      std::back_inserter(results));
  }
  return results;
}

std::vector<Tensor> other_scaling(const Source& step) {
  if (are_given(step)) return {};
  const RopeOptions due = RopeOptions::of(call_of(step));
  if (due.scaling == RopeOptions::Scaling::none) return {};
  RopeOptions plain = due;
  plain.scaling = RopeOptions::Scaling::none;
  const Vector unscaled = Rotation::of(plain).speeds;
  std::vector<Tensor> results = {
      with_rotation(step, [&](Rotation& r) { r.speeds = unscaled; }),
      with_rotation(step, [&](Rotation& r) { r.speeds = unscaled * unscaled / r.speeds; })};
  if (due.stretch() == 1) return results;
  results.push_back(with_rotation(step, [&](Rotation& r) { r.stretch = 1; }));
  results.push_back(with_rotation(step, [&](Rotation& r) {
    r.stretch = 1;
    r.speeds = unscaled;
  }));
  return results;
}

std::vector<Tensor> all_columns(const Source& step) {
  if (!step.options->has("width")) return {};
  const auto width = static_cast<double>(step.operand().columns());
  return with_options(step, [&](Options& o) { o.set("width", width); });
}

std::vector<Tensor> skipped(const Source& step) {
  return {by_operands(call_of(step), right_result(step),
                      [](const Operands& of) -> Matrix { return of(0); })};
}

std::vector<Tensor> twice(const Source& step) {
  const Tensor once = right_result(step);
  Call call = call_of(step);
  call.inputs[0] = &once;
  return {rope_operation.compute(call)};
}

// All heads side by side, as they are before they are cut, turned as one row.
std::vector<Tensor> before_split(const Source& step) {
  const Tensor& x = step.operand();
  const std::size_t heads = heads_of(x);
  if (are_given(step) || heads < 2) return {};
  const auto work = [](const Operation& operation, const Tensor& on, const Options& options) {
    return operation.compute({.step = "", .inputs = {&on}, .names = {""}, .options = &options});
  };
  Options wide = *step.options;
  wide.set("width", static_cast<double>(heads * x.columns()));
  Options cut;
  cut.set("heads", static_cast<double>(heads));
  return {work(split_heads_operation,
               work(rope_operation, work(concat_heads_operation, x, {}), wide), cut)};
}

// The norm that queries and keys go through before they are turned, and what is done in between.
const Source* norm_before(const Source& step, std::vector<const Source*>& between) {
  for (const Source* at = step.inputs[0]; at->operation; at = at->inputs[0]) {
    if (at->operation == &rms_norm_operation || at->operation == &layer_norm_operation) return at;
    if (at->operation != &split_heads_operation) return nullptr;
    between.push_back(at);
  }
  return nullptr;
}

Tensor again(const Source& step, const Tensor& first) {
  Call call = call_of(step);
  call.inputs[0] = &first;
  return step.operation->compute(call);
}

std::vector<Tensor> norm_skipped(const Source& step) {
  std::vector<const Source*> between = {&step};
  const Source* norm = norm_before(step, between);
  if (!norm) return {};
  Tensor x = norm->operand();
  for (; !between.empty(); between.pop_back()) x = again(*between.back(), x);
  return {std::move(x)};
}

std::vector<Tensor> norm_after(const Source& step) {
  std::vector<const Source*> between;
  const Source* norm = norm_before(step, between);
  if (!norm || !between.empty()) return {};
  return {again(*norm, again(step, norm->operand()))};
}

std::vector<Tensor> from_zero(const Source& step) {
  if (step.options->number("first", 0) == 0) return {};
  return with_options(step, [](Options& o) { o.set("first", 0.0); });
}

// By how many rows the cache still keeps, where older ones have been dropped.
std::vector<Tensor> by_rows_kept(const Source& step) {
  std::vector<Tensor> results;
  for (const Source& later : step.all) {
    if (later.operation != &append_operation) continue;
    const auto kept = static_cast<double>(later.operand().rows());
    if (kept == step.options->number("first", 0) || kept == 0) continue;
    std::ranges::move(with_options(step, [&](Options& o) { o.set("first", kept); }),
                      std::back_inserter(results));
  }
  return results;
}

}  // namespace

constinit const Mistake rope_mistakes[rope_mistakes_count] = {
    {"rope.pairing", "Other columns were paired: neighbours for the two halves, or the reverse.",
     "Which columns does the lesson turn together?", other_pairing},
    {"rope.mixed-layout", "The angles stand in the order of the other pairing.",
     "Both columns of a pair turn by the same angle.", mixed_layout},
    {"rope.sign", "The pairs were turned backwards.", "x₁·cos θ − x₂·sin θ, x₂·cos θ + x₁·sin θ.",
     backwards},
    {"rope.sin-cos-swapped", "Sine and cosine have changed places.",
     "A number is multiplied by the cosine, its partner by the sine.", sin_cos_swapped},
    {"rope.offset", "Each row was turned by the position before or after its own.",
     "At which position does the first row stand?", offset},
    {"rope.exponent", "The exponent of the angle is not 2i/width.",
     "Pairs count from 0: the first turns by the position itself.", exponent},
    {"rope.base", "The angles are powers of another base.", "Which base does the lesson take?",
     other_base},
    {"rope.scaling", "The angles were not scaled as the lesson says.",
     "A longer text has smaller angles: they are divided.", other_scaling},
    {"rope.width", "All columns were turned, where only some should be.",
     "The columns behind `width` stay as they are.", all_columns},
    {"rope.skipped", "Nothing was turned.", "Turn queries and keys before they meet.", skipped},
    {"rope.twice", "The rows were turned twice.", "Turn once.", twice},
    {"rope.before-split", "The whole row was turned before it was cut into heads.",
     "Each head turns by the same angles: cut first.", before_split},
    {"rope.degrees", "Degrees were taken for radians.", "Sine and cosine are of radians.",
     in_degrees},
    {"qk-norm.skipped", "The norm before the turn was left out.",
     "Queries and keys are normalised before they are turned.", norm_skipped},
    {"qk-norm.after-rope", "The norm came after the turn.",
     "Normalise first, then turn: the gain is each feature's own.", norm_after},
    {"cache.position-restarted", "The rows were turned as if the text began with them.",
     "A new token stands behind all those before it.", from_zero},
    {"cache.evicted-position", "The rows were turned by the number of rows that the cache keeps.",
     "Rows that were dropped still count: the position is the token's own.", by_rows_kept},
};

}  // namespace qkv
