#include <algorithm>
#include <string>
#include <string_view>

#include "support/sample_parts.hpp"

namespace qkv::test {
namespace {

// Sizes of a tile: queries, keys, values, and the leading axes of all.
struct Tile {
  Shape leading;
  std::size_t queries, keys, width;
};

Tile tile(Extent extent, Dice& dice) {
  const auto side = [&] {
    return extent == Extent::tiny ? 1 + dice.below(2) : size_of(extent, dice);
  };
  Tile made{
      .leading = leading_sizes(extent, dice), .queries = side(), .keys = side(), .width = side()};
  if (made.keys == 0) made.keys = 1;
  if (extent == Extent::tiny) made.queries = 1;
  return made;
}

Tensor part_of_tile(const Tile& tile, std::size_t rows, std::size_t columns, Dice& dice,
                    double (*draw)(Dice&)) {
  Shape shape = with_repeats(tile.leading, dice);
  shape.insert(shape.end(), {rows, columns});
  return filled(shape, dice, draw);
}

// What was found before, the maximum then and now.
std::vector<Tensor> before_tile(const Tile& sizes, std::size_t width, Extent extent, Dice& dice) {
  const auto draw = extent == Extent::tiny ? any_number : finite_or_hidden;
  return {part_of_tile(sizes, sizes.queries, width, dice, share),
          part_of_tile(sizes, sizes.queries, 1, dice, draw),
          part_of_tile(sizes, sizes.queries, 1, dice, any_number)};
}

}  // namespace

// Scores, some of them hidden, for the operation on tiles that begins or the one that goes on.
Made for_running_max(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  const auto draw = extent == Extent::tiny ? any_number : finite_or_hidden;
  Made made{.inputs = {part_of_tile(sizes, sizes.queries, sizes.keys, dice, draw)}};
  if (dice.chance(50)) return made;
  made.inputs.insert(made.inputs.begin(), part_of_tile(sizes, sizes.queries, 1, dice, draw));
  return made;
}

Made for_tile_weights(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  const auto draw = extent == Extent::tiny ? any_number : finite_or_hidden;
  return {.inputs = {part_of_tile(sizes, sizes.queries, sizes.keys, dice, draw),
                     part_of_tile(sizes, sizes.queries, 1, dice, any_number)}};
}

Made for_running_sum(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  Made made{.inputs = {}};
  if (dice.chance(70)) made.inputs = before_tile(sizes, 1, extent, dice);
  made.inputs.push_back(part_of_tile(sizes, sizes.queries, sizes.keys, dice, share));
  return made;
}

Made for_running_output(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  Made made{.inputs = {}};
  if (dice.chance(70)) made.inputs = before_tile(sizes, sizes.width, extent, dice);
  made.inputs.push_back(part_of_tile(sizes, sizes.queries, sizes.keys, dice, share));
  made.inputs.push_back(part_of_tile(sizes, sizes.keys, sizes.width, dice, any_number));
  return made;
}

Made for_log_sum_exp(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  const auto draw = extent == Extent::tiny ? any_number : finite_or_hidden;
  if (dice.chance(50)) {
    return {.inputs = {part_of_tile(sizes, sizes.queries, sizes.keys, dice, draw)}};
  }
  return {.inputs = {part_of_tile(sizes, sizes.queries, 1, dice, draw),
                     part_of_tile(sizes, sizes.queries, 1, dice, clearly_positive)}};
}

Made for_merge(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  const auto draw = extent == Extent::tiny ? any_number : finite_or_hidden;
  Made made{.inputs = {}};
  for (int k = 0; k < 2; ++k) {
    made.inputs.push_back(part_of_tile(sizes, sizes.queries, sizes.width, dice, any_number));
    made.inputs.push_back(part_of_tile(sizes, sizes.queries, 1, dice, draw));
  }
  return made;
}

Made for_normalise(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  const bool down = dice.chance(50);
  Shape whole = with_repeats(sizes.leading, dice);
  Made made{.inputs = {}, .options = {{"axis", std::string(down ? "columns" : "rows")}}};
  whole.insert(whole.end(), {sizes.queries, sizes.keys});
  made.inputs.push_back(shares(whole, extent, dice));
  if (dice.chance(30)) {
    made.inputs.push_back(part_of_tile(sizes, down ? 1 : sizes.queries, down ? sizes.keys : 1, dice,
                                       clearly_positive));
  }
  return made;
}

Made for_cross_entropy(Extent extent, Dice& dice) {
  const bool is_tiny = extent == Extent::tiny;
  const std::size_t rows = 1 + dice.below(is_tiny ? 2 : 4);
  const std::size_t columns = 1 + dice.below(is_tiny ? 3 : 5);
  const Shape leading = leading_sizes(extent, dice);
  Shape shape = leading;
  shape.insert(shape.end(), {rows, columns});
  Made made{.inputs = {filled(shape, dice, any_number)}, .is_exact = {false, true}};
  const std::string_view reductions[] = {"mean", "sum", "none"};
  made.options["reduction"] = std::string(reductions[dice.below(3)]);
  Shape ids = {rows};
  if (leading.size() == 1 && dice.chance(50)) ids.insert(ids.begin(), leading[0]);
  std::vector<double> values(element_count(ids, "ids"));
  for (double& id : values) id = static_cast<double>(dice.below(columns));
  made.inputs.push_back(tensor_of(ids, std::move(values)));
  if (dice.chance(60)) return made;
  std::vector<double> row(columns, 1.0 / static_cast<double>(columns));
  if (columns > 1) {
    row[0] += 0.5 / static_cast<double>(columns);
    row[1] -= 0.5 / static_cast<double>(columns);
  }
  made.inputs[1] = zeros(made.inputs[0].axes);
  const std::span<double> shares = made.inputs[1].values.mutable_span();
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = row[i % columns];
  return made;
}

Made for_gradient_step(Extent extent, Dice& dice) {
  const Tile sizes = tile(extent, dice);
  return {.inputs = {part_of_tile(sizes, sizes.queries, sizes.keys, dice, any_number),
                     part_of_tile(sizes, sizes.queries, sizes.keys, dice, any_number)},
          .options = {{"rate", 0.1 + 0.5 * static_cast<double>(dice.below(4))}}};
}

}  // namespace qkv::test
