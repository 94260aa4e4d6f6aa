#include "ops/rope/rotation.hpp"

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {
namespace {

using Scaling = RopeOptions::Scaling;

std::size_t width_of(const Call& call) {
  const std::size_t columns = call.inputs[0]->columns();
  const double width = call.options->number("width", static_cast<double>(columns));
  if (width < 0 || width > static_cast<double>(columns) || std::fmod(width, 2) != 0) {
    refuse(call, fmt::format("columns turn in pairs: {} of the {} columns of {} can't; set width "
                             "to an even number of them",
                             width, columns, operand_text(call, 0)));
  }
  return static_cast<std::size_t>(width);
}

double needed(const Call& call, std::string_view name, std::string_view scaling) {
  const double* number = call.options->if_number(name);
  if (!number) refuse(call, fmt::format("scaling = \"{}\" needs {} = …", scaling, name));
  return *number;
}

// The index, as a fraction, of the pair with so many rotations over the original length.
double pair_with_turns(const RopeOptions& rope, double turns) {
  return static_cast<double>(rope.width) *
         std::log(rope.original / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.base));
}

// Peng and others (2023), "YaRN": fast pairs keep their angles, those of slow pairs are divided.
// Cosines and sines are multiplied by 0.1 · ln(factor) + 1, unless the options say otherwise.
void set_yarn(const Options& options, RopeOptions& rope) {
  const bool truncate = options.flag("truncate", true);
  const double low = pair_with_turns(rope, options.number("beta_fast", 32));
  const double high = pair_with_turns(rope, options.number("beta_slow", 1));
  rope.low = std::max(0.0, truncate ? std::floor(low) : low);
  rope.high = std::min(static_cast<double>(rope.width) - 1, truncate ? std::ceil(high) : high);
  if (rope.low == rope.high) rope.high += 0.001;
  const double own = rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1;
  rope.attention_factor = options.number("attention_factor", own);
}

void refuse_beside_angles(const Call& call) {
  for (const std::string_view name : {"base", "first", "scaling", "factor"}) {
    if (!call.options->has(name)) continue;
    refuse(call, fmt::format("{} says nothing where the angles are given ({})", name,
                             operand_text(call, 1)));
  }
}

}  // namespace

PairPlace pair_place(Pairing pairing, std::size_t width, std::size_t column) {
  if (pairing == Pairing::interleaved) return {column / 2, column ^ 1U, column % 2 == 0};
  const std::size_t half = width / 2;
  const bool is_first = column < half;
  return {is_first ? column : column - half, is_first ? column + half : column - half, is_first};
}

RopeOptions RopeOptions::of(const Call& call) {
  RopeOptions rope;
  const Options& options = *call.options;
  if (options.word("pairing", "interleaved") == "halves") rope.pairing = Pairing::halves;
  rope.width = width_of(call);
  if (call.inputs.size() == 2) {
    refuse_beside_angles(call);
    if (2 * call.inputs[1]->columns() == rope.width) return rope;
    refuse(call, fmt::format("{} has no angle for each of the {} pairs of columns of {}",
                             operand_text(call, 1), rope.width / 2, operand_text(call, 0)));
  }
  const std::string_view scaling = options.word("scaling", "none");
  rope.base = options.number("base", rope.base);
  rope.first = options.number("first", 0);
  rope.rows = std::max(1.0, static_cast<double>(call.inputs[0]->rows()));
  rope.scaling = static_cast<Scaling>(std::ranges::find(scalings, scaling) - scalings);
  if (rope.scaling != Scaling::none) rope.factor = needed(call, "factor", scaling);
  const bool wants_length = rope.scaling >= Scaling::dynamic;
  if (wants_length) rope.original = needed(call, "original_length", scaling);
  if (rope.scaling == Scaling::yarn) set_yarn(options, rope);
  if (rope.scaling == Scaling::llama3) {
    rope.low = options.number("low_freq_factor", 1);
    rope.high = options.number("high_freq_factor", 4);
  }
  return rope;
}

double RopeOptions::kept_fraction(std::size_t pair) const {
  switch (scaling) {
    case Scaling::linear: return 0;
    case Scaling::yarn:
      return 1 - std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    case Scaling::llama3: {  // by the pair's rotations over the original text
      const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(width);
      const double turns = original * std::pow(base, exponent) / (2 * std::numbers::pi);
      if (turns < low) return 0;
      return turns > high ? 1 : (turns - low) / (high - low);
    }
    case Scaling::none:
    case Scaling::ntk:
    case Scaling::dynamic: break;
  }
  return 1;
}

Rotation::Rotation(const RopeOptions& options) : RopeOptions(options), table(options.pairing) {
  if (are_given()) return;
  inv_freq = Vector::from_shape({width / 2});
  for (std::size_t i = 0; i < width / 2; ++i) inv_freq(i) = angle<double>(1, i);
}

RopeTable::RopeTable(const Rotation& rotation, const Matrix& angles)
    : rotation_(rotation),
      cosines_(Matrix::from_shape({angles.shape(0), rotation.width})),
      sines_(Matrix::from_shape({angles.shape(0), rotation.width})) {
  for (std::size_t p = 0; p < angles.shape(0); ++p) {
    for (std::size_t j = 0; j < rotation.width; ++j) {
      const std::size_t pair = pair_place(rotation.table, rotation.width, j).pair;
      const double angle = rotation.times * angles(p, pair);
      cosines_(p, j) = rotation.attention_factor * std::cos(angle);
      sines_(p, j) = rotation.attention_factor * std::sin(angle);
    }
  }
  if (rotation.sin_cos_swapped) std::swap(cosines_, sines_);
}

RopeTable RopeTable::of_positions(const Rotation& rotation, std::size_t rows) {
  Matrix angles = Matrix::from_shape({rows, rotation.width / 2});
  for (std::size_t p = 0; p < rows; ++p) {
    const double position = rotation.first + static_cast<double>(p);
    for (std::size_t i = 0; i < angles.shape(1); ++i) {
      angles(p, i) = position * rotation.inv_freq(i);
    }
  }
  return {rotation, angles};
}

void RopeTable::rotate(std::size_t row, std::span<double> cells) const {
  if (rotation_.width == 0) return;
  const double* const cosines = &cosines_(row, 0);
  const double* const sines = &sines_(row, 0);
  double* const x = cells.data();
  const std::size_t half = rotation_.width / 2;
  const bool side_by_side = rotation_.pairing == Pairing::interleaved;
  const std::size_t step = side_by_side ? 2 : 1;
  const std::size_t apart = side_by_side ? 1 : half;
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t a = i * step;
    const std::size_t b = a + apart;
    const double first = x[a];
    const double second = x[b];
    x[a] = first * cosines[a] - second * sines[a];
    x[b] = second * cosines[b] + first * sines[b];
  }
}

Tensor rotated(const Call& call, Tensor result, const Rotation& rotation) {
  constexpr std::size_t operations = 4;
  const bool are_given = call.inputs.size() == 2;
  const RopeTable of_position = RopeTable::of_positions(rotation, are_given ? 0 : result.rows());
  return by_rows(call, std::move(result), operations,
                 [&](const Operands& of, std::span<double> cells) {
                   std::ranges::copy(of.row(0), cells.begin());
                   if (!are_given) return of_position.rotate(of.at().row, cells);
                   const std::span<const double> angles = of.row(1);
                   RopeTable(rotation, view_as<2>(angles, {1, angles.size()})).rotate(0, cells);
                 });
}

}  // namespace qkv::inline ops
