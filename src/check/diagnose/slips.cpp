#include "check/diagnose/candidates.hpp"

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv::inline check {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

Tensor unknown_like(const Tensor& right) {
  return with_numbers(right, nothing * xt::ones_like(right.array()));
}

std::vector<CandidateValues> signs(const SlipContext& c) {
  return {with_numbers(*c.right, -c.right->array())};
}

// Moves the point one to three places, before or after rounding. Percentages have decimals of their
// own.
std::vector<CandidateValues> decimal_points(const SlipContext& c) {
  std::vector<CandidateValues> results;
  const auto right = c.right->array();
  for (const double factor : {10.0, 0.1, 100.0, 0.01, 1000.0, 0.001}) {
    results.push_back(with_numbers(*c.right, right * factor));
    if (factor < 1) continue;
    for (const Quantiser& quantise : quantisers_for(c.decimals)) {
      results.push_back(with_numbers(*c.right, xt::vectorize(quantise)(right) * factor));
    }
  }
  for (int decimals = 0; c.are_shares && decimals < 2; ++decimals)
    results.push_back(
        with_numbers(*c.right, xt::vectorize(quantisers_for(decimals)[0])(right * 100.0)));
  return results;
}

std::string percentage(const SlipContext& c, std::size_t, std::size_t cell) {
  const double factor = c.written[cell] / c.right->values[cell];
  return c.are_shares && factor > 50 && factor < 200 ? "a percentage needs its sign, %" : "";
}

std::vector<CandidateValues> transposes(const SlipContext& c) {
  std::vector<CandidateValues> results = {transposed(*c.right)};
  for (Tensor& whole : transposed_side_by_side(*c.right)) results.emplace_back(std::move(whole));
  return results;
}

// The order (tokens, heads, features), as programs hold them before heads go first.
std::vector<CandidateValues> rows_before_heads(const SlipContext& c) {
  const Tensor& right = *c.right;
  if (head_count(right) < 2) return {};
  Tensor result = right;
  std::swap(result.axes[right.rank() - 3], result.axes[right.rank() - 2]);
  put(xt::transpose(right.array<4>(), {0, 2, 1, 3}), result.values.mutable_span());
  return {std::move(result)};
}

// Takes every number from a neighbouring cell.
std::vector<CandidateValues> neighbours(const SlipContext& c) {
  std::vector<CandidateValues> results;
  if (c.right->rank() < 2 && c.arithmetic) return {};  // ids stand in no row of a table
  const std::span<const double> right = c.right->values;
  const auto n = static_cast<std::ptrdiff_t>(c.right->rows());
  const auto m = static_cast<std::ptrdiff_t>(c.right->columns());
  constexpr std::pair<std::ptrdiff_t, std::ptrdiff_t> directions[] = {
      {0, 1}, {0, -1}, {1, 0}, {-1, 0}};
  for (const auto& [down, along] : directions) {
    Tensor result = unknown_like(*c.right);
    for (std::ptrdiff_t i = 0; i < std::ssize(right); ++i) {
      const std::ptrdiff_t row = i / m % n + down, column = i % m + along;
      if (row < 0 || row >= n || column < 0 || column >= m) continue;
      result.values.mutable_span()[std::size_t(i)] = right[std::size_t(i + down * m + along)];
    }
    results.push_back(std::move(result));
  }
  return results;
}

// The places of the digits in a number as written.
std::vector<std::size_t> digits_of(std::string_view text) {
  return places_where(text.size(), [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; });
}

// Swaps the digit at `place` (from the left, without the point) with the next one.
double with_digits_swapped(std::string text, std::size_t place, double) {
  const std::vector<std::size_t> digits = digits_of(text);
  if (place + 1 >= digits.size() || text[digits[place]] == text[digits[place + 1]]) return nothing;
  std::swap(text[digits[place]], text[digits[place + 1]]);
  return std::stod(text);
}

// Leaves out the digit at `place`, if exactly this was written. Of few digits, the rest is too
// often another number; the more so without the last one.
double without_digit(std::string text, std::size_t place, double written) {
  const std::vector<std::size_t> digits = digits_of(text);
  const std::size_t first = text.find_first_of("123456789");
  if (place >= digits.size() || first == text.npos || digits[place] < first) return nothing;
  const std::ptrdiff_t least = place + 1 == digits.size() ? 4 : 3;
  if (std::ranges::count_if(digits, [&](std::size_t at) { return at >= first; }) < least)
    return nothing;
  text.erase(digits[place], 1);
  const double left = std::stod(text);
  return std::abs(left - written) <= 1e-9 * std::abs(left) ? left : nothing;
}

// It affects one line only, so the other cells are not needed digit by digit.
template <double (*slip)(std::string, std::size_t, double)>
std::vector<CandidateValues> by_digits(const SlipContext& c) {
  std::vector<CandidateValues> results;
  constexpr std::size_t most_digits = 15;
  for (const Quantiser& quantise : quantisers_for(c.decimals)) {
    for (std::size_t place = 0; place < most_digits; ++place) {
      bool any = false;
      Tensor result = unknown_like(*c.right);
      for (std::size_t i = 0; i < result.values.size(); ++i) {
        if (!c.near_wrong[i]) continue;
        const double x = quantise(std::as_const(*c.right).values[i]);
        if (!std::isfinite(x) || std::abs(x) >= largest_written) continue;
        const double made = slip(fmt::format("{:.{}f}", x, quantise.decimals), place,
                                 c.written.empty() ? nothing : c.written[i]);
        result.values.mutable_span()[i] = made;
        any = any || !std::isnan(made);
      }
      if (any) results.push_back(std::move(result));
    }
  }
  return results;
}

// Returns the rows with wrong cells, counted through all matrices.
std::vector<std::size_t> wrong_rows(const SlipContext& c) {
  std::vector<std::size_t> rows;
  for (const std::size_t i : c.wrong) {
    if (rows.empty() || rows.back() != i / c.right->columns())
      rows.push_back(i / c.right->columns());
  }
  return rows;
}

// With more wrong lines than these, no two of them were swapped.
constexpr std::ptrdiff_t most_swapped_lines = 8;

// Swaps two of these lines, rows or columns of `length` cells: a and b of every `period` ones.
std::vector<CandidateValues> swapped_lines(const Tensor& right, const std::set<std::size_t>& lines,
                                           std::size_t length, std::size_t period) {
  std::vector<CandidateValues> results;
  if (std::ssize(lines) > most_swapped_lines) return results;
  for (const std::size_t a : lines) {
    for (auto b = lines.upper_bound(a); b != lines.end(); ++b)
      results.emplace_back(right, ExchangedRuns{a, *b, length, period});
  }
  return results;
}

// Swaps two rows of one matrix that both have wrong cells, and of all matrices.
std::vector<CandidateValues> swapped_rows(const SlipContext& c) {
  const Tensor& right = *c.right;
  const std::vector<std::size_t> rows = wrong_rows(c);
  std::set<std::size_t> of_all;
  if (right.matrices() > 1) {
    for (const std::size_t row : rows) of_all.insert(row % right.rows());
  }
  std::vector<CandidateValues> results =
      swapped_lines(right, of_all, right.columns(), right.rows());
  for (const std::size_t a : rows) {
    const auto is_beside = [&](std::size_t b) { return a / right.rows() == b / right.rows(); };
    if (std::ranges::count_if(rows, is_beside) > most_swapped_lines) continue;
    for (const std::size_t b : rows) {
      if (a < b && is_beside(b)) results.emplace_back(right, ExchangedRuns{a, b, right.columns()});
    }
  }
  return results;
}

// Swaps two columns of all matrices that both have wrong cells.
std::vector<CandidateValues> swapped_columns(const SlipContext& c) {
  if (c.right->rank() < 2 || c.right->rows() < 2) return {};
  std::set<std::size_t> columns;
  for (const std::size_t i : c.wrong) columns.insert(i % c.right->columns());
  return swapped_lines(*c.right, columns, 1, c.right->columns());
}

// Swaps the only two wrong cells.
std::vector<CandidateValues> swapped_cells(const SlipContext& c) {
  if (c.wrong.size() != 2) return {};
  return {{*c.right, ExchangedRuns{c.wrong[0], c.wrong[1], 1}}};
}

// What numbers differ by at least: 1 of whole ones, else a unit of their decimals, at most so many.
double spacing(const std::vector<std::vector<double>>& rows, int decimals) {
  const auto fits = [&](double power) {
    return std::ranges::all_of(rows, [&](const std::vector<double>& row) {
      return std::ranges::all_of(row, [&](double x) {
        return !std::isfinite(x) || std::abs(x * power - std::round(x * power)) < 1e-9 * power;
      });
    });
  };
  int fewest = 0;
  while (fewest < decimals && !fits(std::pow(10.0, fewest))) ++fewest;
  return std::pow(10.0, -fewest);
}

// Adds the variant of a row that was written. It proves nothing where wrong numbers of that size
// and spacing would be among so many variants by chance.
void add_written_row(const SlipContext& c, std::size_t row,
                     const std::vector<std::vector<double>>& variants,
                     std::vector<CandidateValues>& results) {
  constexpr double likely = 0.05;
  const double unit = 1.01 * std::pow(10.0, -c.decimals);
  const std::size_t start = row * c.right->columns();
  const auto is_written = [&](const std::vector<double>& variant) {
    for (std::size_t k = 0; k < variant.size(); ++k) {
      const double x = c.written[start + k];
      if (!std::isnan(x) && x != variant[k] && !(std::abs(x - variant[k]) <= unit)) return false;
    }
    return true;
  };
  const auto found = std::ranges::find_if(variants, is_written);
  if (found == variants.end()) return;
  double chance = static_cast<double>(variants.size());
  const double apart = std::max(2 * unit, spacing(variants, c.decimals));
  for (std::size_t k = 0; k < found->size(); ++k) {
    const auto number = [k](const std::vector<double>& variant) { return variant[k]; };
    const double range =
        std::ranges::max(variants, {}, number)[k] - std::ranges::min(variants, {}, number)[k];
    if (std::ranges::binary_search(c.wrong, start + k) && apart < range) chance *= apart / range;
  }
  if (!(chance < likely)) return;
  Tensor result = unknown_like(*c.right);
  std::ranges::copy(*found, result.values.mutable_span().begin() + std::ptrdiff_t(start));
  results.emplace_back(std::move(result));
}

// Gives a wrong row the numbers of another one.
std::vector<CandidateValues> other_rows(const SlipContext& c) {
  std::vector<CandidateValues> results;
  constexpr std::size_t most_rows = 64;
  const Tensor& right = *c.right;
  if (right.rank() < 2 || right.rows() > most_rows) return {};
  const std::size_t columns = right.columns();
  for (const std::size_t row : wrong_rows(c)) {
    std::vector<std::vector<double>> variants;
    const std::size_t start = row - row % right.rows();
    for (std::size_t other = start; other < start + right.rows(); ++other) {
      const auto numbers = std::span<const double>(right.values).subspan(other * columns, columns);
      variants.emplace_back(numbers.begin(), numbers.end());
    }
    add_written_row(c, row, variants, results);
  }
  return results;
}

enum class TermSlip { dropped, negated };

// Evaluates an expression with a slip in one term of one of its sums. `count` numbers the terms of
// all sums in writing order; `wrong` is the one with the slip. A power of e has no sign to change.
double value_with(TermSlip slip, const Expression& term, std::size_t wrong, std::size_t& count) {
  if (term.parts().empty()) return term.value();
  std::vector<double> parts;
  for (const Expression& part : term.parts()) {
    const bool is_wrong = term.kind() == Expression::Kind::sum && count++ == wrong;
    const double value = value_with(slip, part, wrong, count);
    const bool is_power = part.kind() == Expression::Kind::exponential;
    if (is_wrong && slip == TermSlip::dropped) continue;
    parts.push_back(is_wrong && !is_power ? -value : value);
  }
  return parts.empty() ? 0 : Expression::evaluate(term.kind(), parts);
}

bool is_sum(const Expression& one) { return one.kind() == Expression::Kind::sum; }
bool is_cell(const Expression& one) { return one.kind() == Expression::Kind::cell; }

// Collects the terms of all sums in writing order, up to one more than `most`. A part that is used
// a hundred times repeats its terms.
void add_terms(const Expression& whole, std::size_t most, std::vector<const Expression*>& terms) {
  for (const Expression& part : whole.parts()) {
    if (terms.size() > most) return;
    if (whole.kind() == Expression::Kind::sum) terms.push_back(&part);
    add_terms(part, most, terms);
  }
}

// Returns the arithmetic of a cell, counted through all matrices.
Expression arithmetic_of(const SlipContext& c, std::size_t cell) {
  const std::size_t row = cell / c.right->columns();
  return c.arithmetic(row / c.right->rows(), row % c.right->rows(), cell % c.right->columns());
}

template <TermSlip slip>
std::vector<CandidateValues> slips_in_terms(const SlipContext& c) {
  std::vector<Tensor> results;
  if (!c.arithmetic) return {};
  constexpr std::size_t max_terms = 64;
  for (std::size_t i = 0; i < c.right->values.size(); ++i) {
    if (!c.near_wrong[i]) continue;
    const Expression arithmetic = arithmetic_of(c, i);
    std::vector<const Expression*> terms;
    add_terms(arithmetic, max_terms, terms);
    if (terms.size() > max_terms) continue;
    // The sum of products beside a bias is several terms, not one.
    const bool has_bias = is_sum(arithmetic) && std::ranges::any_of(arithmetic.parts(), is_cell);
    while (results.size() < terms.size()) results.push_back(unknown_like(*c.right));
    for (std::size_t t = 0; t < terms.size(); ++t) {
      if (slip == TermSlip::dropped && has_bias && is_sum(*terms[t])) continue;
      std::size_t count = 0;
      results[t].values.mutable_span()[i] = value_with(slip, arithmetic, t, count);
    }
  }
  return {results.begin(), results.end()};
}

// The arithmetic of a row's cells, if each is a sum of as many products of two cells, the second
// from another row in each.
std::vector<Expression> sums_of_row(const SlipContext& c, std::size_t row) {
  constexpr std::size_t most_terms = 16;
  std::vector<Expression> sums;
  for (std::size_t i = row * c.right->columns(); i < (row + 1) * c.right->columns(); ++i) {
    sums.push_back(arithmetic_of(c, i));
    const std::vector<Expression>& terms = sums.back().parts();
    if (sums.back().kind() != Expression::Kind::sum || terms.size() > most_terms ||
        terms.size() != sums.front().parts().size())
      return {};
    for (const Expression& term : terms) {
      const bool fits = term.kind() == Expression::Kind::product && term.parts().size() == 2 &&
                        std::ranges::all_of(term.parts(), is_cell) &&
                        (&term == &terms.front() ||
                         term.parts()[1].place().row != terms.front().parts()[1].place().row);
      if (!fits) return {};
    }
  }
  return sums;
}

// Takes another row than its own in one term of a row's sums.
std::vector<CandidateValues> other_row_in_term(const SlipContext& c) {
  std::vector<CandidateValues> results;
  for (const std::size_t row : c.arithmetic ? wrong_rows(c) : std::vector<std::size_t>()) {
    const std::vector<Expression> sums = sums_of_row(c, row);
    const std::size_t terms = sums.empty() ? 0 : sums.front().parts().size();
    std::vector<std::vector<double>> variants;
    for (std::size_t t = 0; t < terms * terms; ++t) {
      std::vector<double>& made = variants.emplace_back();
      for (const Expression& sum : sums) {
        const Expression& own = sum.parts()[t / terms];
        const double factor = own.parts()[0].value();
        const double other = sum.parts()[t % terms].parts()[1].value();
        made.push_back(sum.value() - own.value() + (factor == 0 ? 0 : factor * other));
      }
    }
    add_written_row(c, row, variants, results);
  }
  return results;
}

std::string wrong_term(const SlipContext& c, std::size_t variant, std::size_t cell) {
  if (!c.arithmetic || !c.term_text) return {};
  const Expression arithmetic = arithmetic_of(c, cell);
  std::vector<const Expression*> terms;
  add_terms(arithmetic, variant, terms);
  return variant < terms.size() ? c.term_text(*terms[variant]) : std::string();
}

// A block that was never written stays 0.
std::vector<CandidateValues> unwritten_blocks(const SlipContext& c) {
  constexpr std::size_t least = 4;
  if (!c.region || c.region->what != Region::What::zero) return {};
  const std::vector<std::size_t> zeros = cells_in(*c.region, c.right->shape());
  if (zeros.size() < least) return {};
  Tensor result = *c.right;
  for (const std::size_t i : zeros)
    if (result.values[i] != -infinity) result.values.mutable_span()[i] = 0;
  return {std::move(result)};
}

// Of a matrix that was not submitted, one head is 0, each in turn.
std::vector<CandidateValues> unwritten_heads(const SlipContext& c) {
  const std::size_t heads = comparable_heads(*c.right);
  std::vector<CandidateValues> results;
  for (std::size_t head = 0; heads > 1 && head < heads; ++head) {
    Tensor made = *c.right;
    for (std::size_t m = head; m < made.matrices(); m += heads) made.mutable_matrix(m).fill(0);
    results.emplace_back(std::move(made));
  }
  return results;
}

// Some are 0, the others too large by one factor: 1 / (1 - p) for a dropout share p.
std::vector<CandidateValues> dropouts(const SlipContext& c) {
  if (c.written.size() != c.right->values.size()) return {};
  const std::span<const double> right = c.right->values;
  const double unit = std::pow(10.0, -c.decimals);
  std::vector<double> others(c.written.begin(), c.written.end());
  bool any = false;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (others[i] != 0) continue;
    any = any || (std::isfinite(right[i]) && std::abs(right[i]) > unit);  // not rounded to 0
    others[i] = nothing;
  }
  constexpr double least = 1.01;
  const double factor = nearest_factor(others, right);
  if (!any || !(factor > least)) return {};
  const auto written = view_as<1>(c.written, {c.written.size()});
  return {with_numbers(*c.right,
                       xt::where(xt::equal(written, 0.0), 0.0, c.right->array<1>() * factor))};
}

struct Slip {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  unsigned where;  ///< SlipPlace: a large matrix comes from a program
  SlipScope scope;
  std::vector<CandidateValues> (*candidates)(const SlipContext&);
  std::string (*detail)(const SlipContext&, std::size_t variant, std::size_t cell) = nullptr;
  Evidence evidence = {};
};

constexpr Evidence three_cells{.least = 3};
constexpr Evidence infinities{.infinities = true};
constexpr Evidence copying{.copies = true};
constexpr Evidence yielding{.yields = true};
constexpr Evidence unwritten{.zeros = true, .infinities = true, .yields = true};

// Infinity is written for -inf only.
std::string lost_minus(const SlipContext& c, std::size_t, std::size_t cell) {
  return cell < c.written.size() && c.written[cell] == infinity ? "the minus is missing" : "";
}

constexpr Slip slips[] = {
    {"slip.transposed", "Rows and columns are swapped, as in the transposed matrix.",
     "Which axis are the rows of this matrix?", of_hand | of_program | of_unsubmitted,
     SlipScope::anything, transposes},
    {"slip.transposed", "Heads and rows are swapped.",
     "The heads come first, each with its whole matrix.", of_hand | of_program | of_unsubmitted,
     SlipScope::anything, rows_before_heads},
    {"slip.sign", "The sign is wrong.", "Look at the signs again.", of_hand | of_unsubmitted,
     SlipScope::anything, signs, lost_minus, infinities},
    {"slip.decimal-point", "The decimal point is in the wrong place.", "Count the decimals again.",
     of_hand, SlipScope::anything, decimal_points,
     percentage},  // of one cell: softmax makes 1 and 0
    {"slip.digits-swapped", "Two digits are swapped.", "Compare digit by digit.", of_hand,
     SlipScope::line, by_digits<with_digits_swapped>},
    {"slip.neighbour", "This is the number of a neighbouring cell.",
     "Put a ruler beside the numbers that you read.", of_hand, SlipScope::line, neighbours, nullptr,
     copying},
    {"slip.dropped-term", "One term of the sum was left out.", "Count the terms.", of_hand,
     SlipScope::line, slips_in_terms<TermSlip::dropped>, wrong_term},
    {"slip.sign", "The sign of one term is wrong.", "Look at the signs again.", of_hand,
     SlipScope::line, slips_in_terms<TermSlip::negated>, wrong_term, yielding},
    {"slip.rows-swapped", "Two rows are swapped.", "Compare the labels of the rows.", of_hand,
     SlipScope::anything, swapped_rows},
    {"slip.columns-swapped", "Two columns are swapped.", "Compare the labels of the columns.",
     of_hand, SlipScope::anything, swapped_columns, nullptr, yielding},
    {"slip.cells-swapped", "These two numbers are exchanged.", "Compare the labels of both cells.",
     of_hand, SlipScope::anything, swapped_cells, nullptr, yielding},
    {"slip.lost-digit", "One digit was left out.", "Compare digit by digit.", of_hand,
     SlipScope::line, by_digits<without_digit>, nullptr, yielding},
    {"slip.other-row", "This row has the numbers of another row.",
     "Compare the labels of the rows.", of_hand, SlipScope::line, other_rows, nullptr, yielding},
    {"slip.other-row-in-term", "One term of the sum takes another row than its own.",
     "Put a ruler beside the numbers that you read.", of_hand, SlipScope::line, other_row_in_term,
     nullptr, yielding},
    {"tile.zero", "All of a block is 0: perhaps it was never filled in.",
     "Calculate it. In a program: does the loop over the tiles reach it?", of_hand | of_program,
     SlipScope::anything, unwritten_blocks, nullptr, unwritten},
    {"dropout.on", "Some numbers are 0, and all the others too large by one factor.",
     "Switch dropout off: model.eval().", of_hand | of_program, SlipScope::anything, dropouts,
     nullptr, three_cells},
    {"tile.zero", "All of a head is 0: perhaps it was never filled in.",
     "In a program: does the loop over the heads reach it?", of_unsubmitted, SlipScope::anything,
     unwritten_heads},
};

}  // namespace

std::size_t comparable_heads(const Tensor& tensor) {
  const std::size_t heads = head_count(tensor);
  return heads > most_other_heads ? 1 : heads;
}

double nearest_factor(std::span<const double> written, std::span<const double> right) {
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!std::isfinite(written[i]) || !std::isfinite(right[i])) continue;
    products += written[i] * right[i];
    squares += right[i] * right[i];
  }
  return squares == 0 ? 0 : products / squares;
}

std::vector<Candidate> slip_candidates(const SlipContext& context, SlipPlace where) {
  std::vector<Candidate> all;
  for (const Slip& slip : slips) {
    if ((slip.where & where) == 0) continue;
    std::vector<CandidateValues> variants = slip.candidates(context);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      all.push_back({slip.id, slip.says, slip.hint, CandidateKind::slip, slip.scope,
                     std::move(variants[v]), slip.evidence});
      if (!slip.detail || where == SlipPlace::of_unsubmitted) continue;
      all.back().detail = [&context, &slip, v](std::size_t cell) {
        return slip.detail(context, v, cell);
      };
    }
  }
  return all;
}

}  // namespace qkv::inline check
