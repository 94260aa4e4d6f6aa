#include "support/sample_parts.hpp"

#include <algorithm>
#include <limits>

namespace qkv::test {
namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

}  // namespace

std::size_t size_of(Extent extent, Dice& dice) {
  if (extent == Extent::tiny) return 1 + dice.below(3);
  const std::size_t sizes[] = {0, 1, 1, 2, 3, 3, 4, 5};
  return sizes[dice.below(std::size(sizes))];
}

Shape leading_sizes(Extent extent, Dice& dice) {
  Shape sizes(extent == Extent::tiny ? 0 : dice.below(3));
  for (std::size_t& size : sizes) size = 1 + dice.below(3);
  return sizes;
}

Shape with_repeats(Shape leading, Dice& dice) {
  leading.erase(leading.begin(),
                leading.begin() + static_cast<std::ptrdiff_t>(dice.below(leading.size() + 1)));
  for (std::size_t& size : leading) size = dice.chance(30) ? 1 : size;
  return leading;
}

Tensor filled(Shape shape, Dice& dice, double (*draw)(Dice&)) {
  std::vector<double> values(element_count(shape, "a sample"));
  for (double& value : values) value = draw(dice);
  return tensor_of(shape, std::move(values));
}

double any_number(Dice& dice) { return 3 * dice.uniform(); }
double zero_or_one(Dice& dice) { return dice.chance(60) ? 1 : 0; }
double share(Dice& dice) { return 1.1 + dice.uniform(); }
double score_or_hidden(Dice& dice) {
  if (dice.chance(25)) return hidden;
  return dice.chance(3) ? -hidden : 3 * dice.uniform();
}

double finite_or_hidden(Dice& dice) { return dice.chance(25) ? hidden : any_number(dice); }
double clearly_positive(Dice& dice) { return 2.1 + 1.5 * dice.uniform(); }

Tensor shares(const Shape& shape, Extent extent, Dice& dice) {
  Tensor result = filled(shape, dice, share);
  if (extent == Extent::tiny) return result;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const bool whole_row = result.columns() > 0 && (i / result.columns()) % 4 == 3;
    if (whole_row || dice.chance(20)) result.values.mutable_span()[i] = 0;
  }
  return result;
}

// The second operand has the first one's size, or is one row, one column or one number.
Made for_pairs(Extent extent, Dice& dice) {
  const std::size_t rows = size_of(extent, dice);
  const std::size_t columns = extent == Extent::tiny ? 1 : size_of(extent, dice);
  const Shape leading = leading_sizes(extent, dice);
  Shape first = with_repeats(leading, dice);
  Shape second = with_repeats(leading, dice);
  first.insert(first.end(), {rows, columns});
  second.insert(second.end(), {dice.chance(30) ? 1 : rows, dice.chance(30) ? 1 : columns});
  return {.inputs = {filled(first, dice, any_number), filled(second, dice, any_number)}};
}

Made for_positive(Extent extent, Dice& dice) {
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {size_of(extent, dice), size_of(extent, dice)});
  return {.inputs = {filled(shape, dice, clearly_positive)}};
}

Made for_quotients(Extent extent, Dice& dice) {
  Made made = for_pairs(extent, dice);
  for (double& x : made.inputs[1].values.mutable_span()) x = x < 0 ? x - 1 : x + 1;
  return made;
}

Made for_statistics(Extent extent, Dice& dice) {
  Shape shape = leading_sizes(extent, dice);
  const bool along_columns = dice.chance(50);
  shape.insert(shape.end(), {size_of(extent, dice), size_of(extent, dice)});
  std::size_t& line = shape[shape.size() - (along_columns ? 2 : 1)];
  line = std::max<std::size_t>(line, 1);
  Made made{.inputs = {filled(shape, dice, any_number)}};
  if (along_columns) made.options["axis"] = std::string("columns");
  return made;
}

}  // namespace qkv::test
