#include "support/samples.hpp"

#include <algorithm>
#include <string_view>

#include "ops/cell.hpp"
#include "support/sample_parts.hpp"

namespace qkv::test {
namespace {

bool takes_hidden_scores(const Operation& operation) {
  constexpr std::string_view names[] = {"shift", "exp"};
  return std::find(std::begin(names), std::end(names), operation.name) != std::end(names);
}

// One of the words that an option lists, true where it is a flag, or the option left out.
OptionMap listed_options(const Operation& operation, Dice& dice) {
  OptionMap options;
  for (const OptionRule& rule : operation.options) {
    if (rule.flag && dice.chance(50)) options[std::string(rule.name)] = true;
    const std::size_t choice = dice.below(rule.list.size() + 1);
    if (choice < rule.list.size()) {
      options[std::string(rule.name)] = std::string(rule.list[choice]);
    }
  }
  return options;
}

// From the operation's own form: one random size for each axis name.
Made by_form(const Operation& operation, Extent extent, Dice& dice) {
  Made made{.inputs = {}, .options = listed_options(operation, dice)};
  const std::size_t count =
      operation.min_operands + dice.below(operation.max_operands - operation.min_operands + 1);
  const Work asked(operation.name, std::vector<Tensor>(count, matrix({{0}})), made.options);
  const Form form = operation.form(asked.call());
  std::map<std::string, std::size_t, std::less<>> sizes;
  const auto size_along = [&](std::string_view axis) {
    if (axis == "1") return std::size_t{1};
    const std::size_t most = extent == Extent::tiny && count > 1 ? 2 : 3;
    return sizes.emplace(axis, std::min(size_of(extent, dice), extent == Extent::tiny ? most : 5))
        .first->second;
  };
  const Shape leading = leading_sizes(extent, dice);
  for (std::size_t k = 0; k < count; ++k) {
    const auto [rows, columns] = axis_names(form.operands[std::min(k, form.operands.size() - 1)]);
    Shape shape = with_repeats(leading, dice);
    const bool has_heads = !leading.empty() && !shape.empty() && shape.back() == leading.back();
    if (k == 0 && form.shares_heads && has_heads && dice.chance(30)) shape.back() *= 2;
    const bool as_vector = rows == "1" && dice.chance(50);
    if (as_vector) shape.clear();
    if (!as_vector) shape.push_back(size_along(rows));
    shape.push_back(size_along(columns));
    made.inputs.push_back(
        filled(shape, dice, takes_hidden_scores(operation) ? score_or_hidden : any_number));
  }
  return made;
}

Made for_tokenise(Extent, Dice& dice) {
  const std::vector<std::string> sentences = {"the fat cat sat on the mat", "Life is short.", "a",
                                              "a a b", "the cat's mat"};
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i <= dice.below(3); ++i) chosen.push_back(sentences[dice.below(5)]);
  const bool batch = chosen.size() > 1 || dice.chance(50);
  return {.inputs = {},
          .options = {{"method", std::string(dice.chance(50) ? "words" : "characters")}},
          .environment = batch ? texts(chosen) : text_environment(chosen.front())};
}

Made for_embed(Extent extent, Dice& dice) {
  const std::size_t vocabulary = 1 + dice.below(4);
  Shape ids = {size_of(extent, dice)};
  if (dice.chance(40)) ids.insert(ids.begin(), 1 + dice.below(3));
  std::vector<double> values(element_count(ids, "ids"));
  for (double& id : values) id = static_cast<double>(dice.below(vocabulary));
  return {.inputs = {tensor_of(ids, std::move(values)),
                     filled({vocabulary, size_of(extent, dice)}, dice, any_number)},
          .is_exact = {true, false}};
}

Made for_positions(Extent extent, Dice& dice) {
  const std::size_t rows = size_of(extent, dice);
  const std::size_t width = size_of(extent, dice);
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {rows, width});
  Made made{.inputs = {filled(shape, dice, any_number)}};
  if (dice.chance(50)) {
    made.inputs.push_back(filled({rows + dice.below(3), width}, dice, any_number));
  } else if (dice.chance(50)) {
    made.options["base"] = 100.0;
  }
  return made;
}

Made for_rope(Extent extent, Dice& dice) {
  const std::size_t pairs = extent == Extent::tiny ? 1 : 1 + dice.below(3);
  const std::size_t rows = size_of(extent, dice);
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {rows, 2 * pairs});
  const bool are_given = dice.chance(30);
  Made made{.inputs = {filled(shape, dice, any_number)}};
  if (dice.chance(50)) made.options["pairing"] = std::string("halves");
  if (are_given) {
    made.inputs.push_back(filled({rows, pairs}, dice, any_number));
    return made;
  }
  made.options["first"] = static_cast<double>(dice.below(9));
  if (dice.chance(30)) made.options["width"] = 2.0;
  const std::string scalings[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3"};
  made.options["scaling"] = scalings[dice.below(std::size(scalings))];
  made.options["factor"] = 4.0;
  made.options["original_length"] = static_cast<double>(2 + dice.below(50));
  return made;
}

Made for_scale(Extent extent, Dice& dice) {
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {size_of(extent, dice), size_of(extent, dice)});
  const bool masked = extent != Extent::tiny;
  Made made{.inputs = {filled(shape, dice, masked ? score_or_hidden : any_number)}};
  made.inputs[0].dot_width = 1 + dice.below(8);
  const OptionValue choices[] = {std::string("sqrt(d_k)"), std::string("d_k"),
                                 std::string("sqrt(7)"), 2.5, -3.0};
  const std::size_t choice = dice.below(std::size(choices) + 1);
  if (choice < std::size(choices)) made.options["by"] = choices[choice];
  return made;
}

Made for_mask(Extent extent, Dice& dice) {
  const std::size_t queries = size_of(extent, dice);
  const std::size_t keys = size_of(extent, dice);
  Shape leading = leading_sizes(extent, dice);
  const Shape batch = leading;
  leading.insert(leading.end(), {queries, keys});
  Made made{.inputs = {filled(leading, dice, any_number)}, .is_exact = {false, true}};
  const std::size_t kind = dice.below(5);
  if (dice.chance(30) && kind != 1 && kind != 2) made.options["align"] = std::string("start");
  if (kind == 3) {
    made.options["kind"] = std::string("sliding_window");
    made.options["width"] = static_cast<double>(1 + dice.below(4));
    made.options["both"] = dice.chance(40);
  } else if (kind == 4) {
    made.options["kind"] = std::string("prefix");
    made.options["prefix"] = static_cast<double>(dice.below(4));
  } else if (kind == 1) {
    made.options = {{"kind", std::string("given")}};
    Shape keep = with_repeats(batch, dice);
    keep.insert(keep.end(), {dice.chance(30) ? 1 : queries, keys});
    made.inputs.push_back(filled(keep, dice, zero_or_one));
  } else if (kind == 2) {
    made.options = {{"kind", std::string("padding")}, {"pad", 0.0}};
    Shape ids = {keys};
    if (!batch.empty() && dice.chance(60)) ids.insert(ids.begin(), batch.front());
    made.inputs.push_back(filled(ids, dice, zero_or_one));
  }
  return made;
}

Made for_split_heads(Extent extent, Dice& dice) {
  const std::size_t heads = 1 + dice.below(3);
  const bool cuts_rows = dice.chance(50);
  std::size_t rows = size_of(extent, dice);
  std::size_t columns = size_of(extent, dice);
  (cuts_rows ? rows : columns) = heads * (1 + dice.below(2));
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {rows, columns});
  return {.inputs = {filled(shape, dice, any_number)},
          .options = {{"heads", static_cast<double>(heads)},
                      {"axis", std::string(cuts_rows ? "rows" : "columns")}}};
}

Tensor with_heads(Extent extent, Dice& dice) {
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {1 + dice.below(3), size_of(extent, dice), size_of(extent, dice)});
  return filled(shape, dice, any_number);
}

Made for_concat_heads(Extent extent, Dice& dice) {
  if (dice.chance(50)) return {.inputs = {with_heads(extent, dice)}};
  Made made{.inputs = {}};
  Shape shape = leading_sizes(extent, dice);
  shape.insert(shape.end(), {size_of(extent, dice), 0});
  for (std::size_t k = 0; k < 2 + dice.below(3); ++k) {
    shape.back() = size_of(extent, dice);
    made.inputs.push_back(filled(shape, dice, any_number));
  }
  return made;
}

Made for_sum_heads(Extent extent, Dice& dice) { return {.inputs = {with_heads(extent, dice)}}; }

Made for_switch_off(Extent extent, Dice& dice) {
  Made made{.inputs = {with_heads(extent, dice)}};
  const Tensor& all = made.inputs.front();
  made.options["head"] =
      1.0 + static_cast<double>(dice.below(all.axes[all.leading_axes() - 1].size));
  return made;
}

Made for_repeat_kv(Extent extent, Dice& dice) {
  return {.inputs = {with_heads(extent, dice)},
          .options = {{"times", static_cast<double>(1 + dice.below(3))}}};
}

// A number for each head of the first operand.
Tensor by_head(const Tensor& tensor, Dice& dice) {
  const std::size_t heads =
      tensor.leading_axes() == 0 ? 1 : tensor.axes[tensor.leading_axes() - 1].size;
  return filled({heads}, dice, any_number);
}

Made for_alibi(Extent extent, Dice& dice) {
  Made made{.inputs = {with_heads(extent, dice)}};
  if (dice.chance(50)) made.inputs.push_back(by_head(made.inputs.front(), dice));
  if (dice.chance(30)) made.options["align"] = std::string("start");
  return made;
}

Made for_relative_bias(Extent extent, Dice& dice) {
  Made made{.inputs = {with_heads(extent, dice)}};
  const std::size_t heads = by_head(made.inputs.front(), dice).columns();
  made.inputs.push_back(filled({4 + dice.below(3), heads}, dice, any_number));
  made.options = {{"max_distance", 4.0}, {"bidirectional", dice.chance(50)}};
  return made;
}

Made for_softmax(Extent extent, Dice& dice) {
  Shape shape = leading_sizes(extent, dice);
  const std::size_t most = extent == Extent::tiny ? 2 : 5;
  for (int k = 0; k < 2; ++k) shape.push_back(std::min(most, size_of(extent, dice)));
  Made made{.inputs = {filled(shape, dice, score_or_hidden)}};
  if (dice.chance(40)) made.options["axis"] = std::string(dice.chance(50) ? "rows" : "columns");
  if (dice.chance(40)) made.inputs.push_back(by_head(made.inputs.front(), dice));
  return made;
}

Made for_append(Extent extent, Dice& dice) {
  const Shape leading = leading_sizes(extent, dice);
  const std::size_t columns = size_of(extent, dice);
  Made made;
  for (std::size_t k = 0; k < 2; ++k) {
    Shape shape = with_repeats(leading, dice);
    shape.insert(shape.end(), {std::min<std::size_t>(2, size_of(extent, dice)), columns});
    made.inputs.push_back(filled(shape, dice, any_number));
  }
  return made;
}

Made for_take(Extent extent, Dice& dice) {
  Made made{.inputs = {with_heads(extent, dice)}};
  const Tensor& all = made.inputs.front();
  const auto take = [&](std::string name, std::size_t size) {
    if (size == 0 || dice.chance(40)) return;
    const std::size_t from = dice.below(size);
    made.options[std::move(name)] = OptionSpan{
        static_cast<double>(from + 1), static_cast<double>(from + 1 + dice.below(size - from))};
  };
  take("rows", all.rows());
  take("columns", all.columns());
  take("heads", all.axes[all.leading_axes() - 1].size);
  return made;
}

// Operations whose inputs are more than matrices that fit.
struct Special {
  std::string_view name;
  Made (*make)(Extent, Dice&);
};

constexpr Special specials[] = {
    {"tokenise", for_tokenise},
    {"embed", for_embed},
    {"positions", for_positions},
    {"repeat_kv", for_repeat_kv},
    {"rope", for_rope},
    {"scale", for_scale},
    {"alibi", for_alibi},
    {"relative_bias", for_relative_bias},
    {"mask", for_mask},
    {"softmax", for_softmax},
    {"append", for_append},
    {"take", for_take},
    {"split_heads", for_split_heads},
    {"concat_heads", for_concat_heads},
    {"sum_heads", for_sum_heads},
    {"switch_off", for_switch_off},
    {"add", for_pairs},
    {"subtract", for_pairs},
    {"multiply", for_pairs},
    {"maximum", for_pairs},
    {"divide", for_quotients},
    {"log", for_positive},
    {"sqrt", for_positive},
    {"row_max", for_statistics},
    {"row_sum", for_statistics},
    {"row_mean", for_statistics},
    {"running_max", for_running_max},
    {"tile_weights", for_tile_weights},
    {"running_sum", for_running_sum},
    {"running_output", for_running_output},
    {"log_sum_exp", for_log_sum_exp},
    {"merge", for_merge},
    {"normalise", for_normalise},
    {"cross_entropy", for_cross_entropy},
    {"gradient_step", for_gradient_step},
};

}  // namespace

Sample sample(const Operation& operation, Extent extent, Dice& dice) {
  const auto found = std::find_if(std::begin(specials), std::end(specials),
                                  [&](const Special& s) { return s.name == operation.name; });
  Made made =
      found == std::end(specials) ? by_form(operation, extent, dice) : found->make(extent, dice);
  made.is_exact.resize(made.inputs.size(), false);
  return {std::make_unique<Work>(operation.name, std::move(made.inputs), made.options,
                                 std::move(made.environment)),
          std::move(made.is_exact)};
}

}  // namespace qkv::test
