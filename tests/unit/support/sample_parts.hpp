#pragma once

#include <vector>

#include "support/samples.hpp"

/// What the makers of random calls share, and those of them that stand in files of their own.
namespace qkv::test {

struct Made {
  std::vector<Tensor> inputs;
  OptionMap options = {};
  Environment environment = {};
  std::vector<bool> is_exact = {};  ///< all false where empty
};

std::size_t size_of(Extent extent, Dice& dice);

/// Leading axes for a call as a whole; each operand then gets a part of them.
Shape leading_sizes(Extent extent, Dice& dice);

/// Some of the leading axes go missing, from the outside in, and some have size 1: both repeat.
Shape with_repeats(Shape leading, Dice& dice);

Tensor filled(Shape shape, Dice& dice, double (*draw)(Dice&));
double any_number(Dice& dice);
double zero_or_one(Dice& dice);
double share(Dice& dice);
double score_or_hidden(Dice& dice);
double finite_or_hidden(Dice& dice);
double clearly_positive(Dice& dice);  ///< also where it is rounded by half a unit

/// Zeros in some places and in all of some rows, as the exponentials of hidden scores are.
Tensor shares(const Shape& shape, Extent extent, Dice& dice);

// Cell by cell, and row by row.
Made for_pairs(Extent extent, Dice& dice);
Made for_quotients(Extent extent, Dice& dice);
Made for_positive(Extent extent, Dice& dice);
Made for_statistics(Extent extent, Dice& dice);

// Attention in tiles, the loss and what follows it.
Made for_running_max(Extent extent, Dice& dice);
Made for_tile_weights(Extent extent, Dice& dice);
Made for_running_sum(Extent extent, Dice& dice);
Made for_running_output(Extent extent, Dice& dice);
Made for_log_sum_exp(Extent extent, Dice& dice);
Made for_merge(Extent extent, Dice& dice);
Made for_normalise(Extent extent, Dice& dice);
Made for_cross_entropy(Extent extent, Dice& dice);
Made for_gradient_step(Extent extent, Dice& dice);

}  // namespace qkv::test
