#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/call.hpp"
#include "ops/mistake.hpp"
#include "ops/options.hpp"

namespace qkv {

class Decimal;
class Expression;
struct Bounds;
struct CellBase;
struct InPlace;
struct Interval;
struct Part;
struct Range;
struct Use;
struct WayBack;
template <class N>
struct Cell;

/// The maths of one cell, read four ways: a number, what rounding can make of it, the arithmetic,
/// and whether there was anything to round.
struct Readings {
  double (*number)(const Cell<double>&) = nullptr;
  Interval (*interval)(const Cell<Interval>&) = nullptr;
  Expression (*expression)(const Cell<Expression>&) = nullptr;
  Decimal (*decimal)(const Cell<Decimal>&) = nullptr;
};

/// Where else programs take a step, with the same numbers in the end: queries are scaled before
/// they meet the keys.
struct Elsewhere {
  /// Along the first operands back to the first of these, from its first operand to the next, and
  /// so on: the step may be taken behind the first, or behind any from the second on.
  std::span<const Operation* const> behind;
  Options (*there)(const Call&) = nullptr;  ///< with which it does the same wherever it is taken
  Options (*here)() = nullptr;              ///< with which it leaves things as they are
};

/// All that the program knows about one operation. To add one: a file that makes it by
/// `operation_of`, and its line in the catalogue.
struct Operation {
  std::string_view name = {};    ///< as lesson files write it: "weighted_sum"
  std::string_view title = {};   ///< "Weighted sum: mix the values"
  std::string_view says = {};    ///< what it does and why, where a lesson says nothing
  std::string_view notice = {};  ///< what to look for in the result
  /// What `of` lists in a lesson file, by example: `["Q", "K"]`; empty where it takes nothing.
  std::string_view operands = {};
  std::size_t fewest = 1;  ///< how many operands it takes, at least and at most
  std::size_t most = 1;
  /// With tokens as columns `of` lists the operands the other way round: (A·B)ᵀ = Bᵀ·Aᵀ.
  bool turns_operands = false;
  std::span<const OptionRule> options = {};
  /// What to do where it came to divide 0 by 0.
  std::string_view against_zero = "look for rows of zeros in its operands";
  /// What has no result, where that is more than 0 divided by 0, and what to do.
  std::string_view undefined = {};
  bool makes_weights = false;  ///< the result is shares of 1, line by line: shown as dots as well
  bool by_ids = false;         ///< the first operand holds ids: which row, not how much
  bool by_shape = false;       ///< the first operand lends its shape, whatever its numbers are
  bool hides = false;          ///< sets cells to -inf, for which programs write very low numbers
  std::optional<Elsewhere> elsewhere = {};  ///< where programs may take this step as well
  /// No result is below it, and rounding takes none there: what divides by a sum of such numbers
  /// must not fear that the sum is 0.
  double least = -std::numeric_limits<double>::infinity();
  std::span<const Mistake> mistakes = {};  ///< the wrong versions that learners compute
  /// How a gradient goes back to each of its operands (ops/way_back.hpp); of an operation that is a
  /// gradient itself none.
  WayBack (*way_back)(const Use&) = nullptr;

  // What follows is the maths, which `operation_of` puts in.
  Form (*form)(const Call&) = nullptr;
  Readings cell = {};
  Tensor (*formula)(const Call&) = nullptr;  ///< the fast path; none: cell by cell
  /// Where the result is cheap: large ones are then not stored, but recomputed for each reader. It
  /// may keep nothing of the call, and makes nan of nothing else. Nothing where the result outgrows
  /// the first operand.
  std::optional<InPlace> (*in_place)(const Call&) = nullptr;
  /// All cells' intervals at once, for large matrices: never narrower than the cells' own, at most
  /// 1.5 times as wide. `result` lends its axes. Nothing where only the cells can tell.
  std::optional<Range> (*range)(const Call&, std::span<const Bounds>,
                                const Tensor& result) = nullptr;
  std::vector<Part> (*parts)(const Call&) = nullptr;  ///< none where the result is one stride away
  /// Why a cell is what it is, where its arithmetic can't say it; empty where that says it all.
  std::string (*remark)(const CellBase&) = nullptr;

  /// A step's operands and options from what the lesson file says to what they are inside, or back:
  /// each is the other turned over where tokens are columns.
  std::vector<std::string> turned(std::vector<std::string> of, Convention convention) const;
  Options turned(Options options_of_step, Convention convention) const;

  /// The result. Throws InputError where the shapes do not fit.
  Tensor compute(const Call& call) const;
};

/// The operation that `words` describe, with its maths: `form`, the template `cell`, and those of
/// `compute`, `in_place`, `range`, `parts` and `remark` that `Maths` has.
template <class Maths>
constexpr Operation operation_of(Operation words) {
  words.form = Maths::form;
  words.cell = {Maths::template cell<double>, Maths::template cell<Interval>,
                Maths::template cell<Expression>, Maths::template cell<Decimal>};
  if constexpr (requires { Maths::compute; }) words.formula = Maths::compute;
  if constexpr (requires { Maths::in_place; }) words.in_place = Maths::in_place;
  if constexpr (requires { Maths::range; }) words.range = Maths::range;
  if constexpr (requires { Maths::parts; }) words.parts = Maths::parts;
  if constexpr (requires { Maths::remark; }) words.remark = Maths::remark;
  return words;
}

}  // namespace qkv
