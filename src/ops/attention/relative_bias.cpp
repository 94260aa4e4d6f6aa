#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ops/attention/visible_keys.hpp"
#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

using Numbers = OptionRule::Numbers;

constexpr OptionRule relative_bias_options[] = {
    {.name = "max_distance",
     .says = "tokens this far apart, or farther, share the last bucket",
     .numbers = Numbers::positive},
    {.name = "bidirectional",
     .says = "whether later keys have buckets of their own: the second half of the table",
     .flag = true},
};

// Raffel and others (2020), T5: half of the buckets hold one distance each, the others ever more,
// up to the largest.
struct Buckets {
  std::size_t count;  // for one direction
  bool both;
  double most;
  std::size_t first;  // the key that belongs to the first query

  explicit Buckets(const Call& call)
      : count(call.inputs[1]->rows()),
        both(call.options->flag("bidirectional", false)),
        most(call.options->number("max_distance", 128)),
        first(first_query(call)) {
    if (both) count /= 2;
  }

  std::size_t of(std::size_t row, std::size_t key) const {
    const std::size_t query = row + first;
    const bool is_later = key > query;
    const std::size_t far = is_later ? (both ? key - query : 0) : query - key;
    return of_distance(far) + (both && is_later ? count : 0);
  }

  std::size_t of_distance(std::size_t far) const {
    const std::size_t exact = count / 2;
    if (far < exact) return far;
    const auto least = static_cast<double>(exact);
    const double share = std::log(static_cast<double>(far) / least) / std::log(most / least);
    const double more = share * static_cast<double>(count - exact);
    return std::min(count - 1, exact + static_cast<std::size_t>(more));
  }
};

void check_table(const Call& call) {
  const Tensor& table = *call.inputs[1];
  const std::size_t heads = heads_of(*call.inputs[0]);
  const std::size_t least = call.options->flag("bidirectional", false) ? 4 : 2;
  if (table.rank() != 2 || table.columns() != heads || table.rows() < least) {
    refuse(call, fmt::format("{} must have a row for each bucket, at least {}, and a column for "
                             "each of the {} heads of {}",
                             operand_text(call, 1), least, heads, operand_text(call, 0)));
  }
  const auto exact = static_cast<double>(Buckets(call).count / 2);
  if (Buckets(call).most <= exact) {
    refuse(call,
           fmt::format("max_distance must be above {}, the buckets of one distance each", exact));
  }
}

// The same found once: for each head a line of what keys get, from the farthest before to the
// farthest after a query, of which each query has its part.
class Worth {
 public:
  explicit Worth(const Call& call)
      : rows_(call.inputs[0]->rows()), heads_(heads_of(*call.inputs[0])), lines_(heads_) {
    const Buckets buckets(call);
    const MatrixView table = call.inputs[1]->matrix(0);
    const std::size_t keys = call.inputs[0]->columns();
    for (std::size_t h = 0; h < heads_ && rows_ > 0; ++h) {
      for (std::size_t i = rows_ - 1; i > 0; --i) lines_[h].push_back(table(buckets.of(i, 0), h));
      for (std::size_t j = 0; j < keys; ++j) lines_[h].push_back(table(buckets.of(0, j), h));
    }
  }

  std::span<const double> of(std::size_t matrix, std::size_t row, std::size_t first_key,
                             std::size_t keys) const {
    return std::span(lines_[matrix % heads_]).subspan(rows_ - 1 - row + first_key, keys);
  }

 private:
  std::size_t rows_, heads_;
  std::vector<std::vector<double>> lines_;
};

struct RelativeBias {
  static Form form(const Call&) {
    return {.operands = {"query key", "bucket head"},
            .output = "query key",
            .formula = "{0} + {1}, by distance",
            .shares_heads = true};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t bucket = Buckets(*c.call).of(c.row, c.column);
    return c(0)(c.row, c.column) + c.of(1, 0)(bucket, c.matrix % heads_of(c.input(0)));
  }

  static Tensor frame(const Call& call) {
    check_table(call);
    Tensor result = frame_of(call, form(call));
    result.dot_width = call.inputs[0]->dot_width;
    return result;
  }

  // What each row gets: of each key what its distance is worth to the head.
  static auto worth(const Call& call) {
    return [worth = std::make_shared<const Worth>(call)](const RowPart& at) {
      const std::span<const double> gets = worth->of(at.matrix, at.row, at.first, at.cells.size());
      for (std::size_t j = 0; j < at.cells.size(); ++j) at.cells[j] += gets[j];
    };
  }

  static std::optional<InPlace> in_place(const Call& call) {
    return InPlace{frame(call), worth(call), true};
  }

  static Tensor compute(const Call& call) {
    Tensor result = unwritten_like(frame(call));
    const auto work = worth(call);
    return by_rows(call, std::move(result), 2, [&](const Operands& of, std::span<double> cells) {
      std::ranges::copy(of.row(0), cells.begin());
      work({of.at().matrix, of.at().row, 0, cells});
    });
  }
};

// Each number of the table gets the gradients of all scores that it was added to.
struct ToBuckets {
  static Form form(const Call&) {
    return {{"query key", "bucket head", "query key"},
            "bucket head",
            "the sums of {0} by bucket and head"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    Call there = *c.call;
    there.inputs = {c.call->inputs[first_need], c.call->inputs[own_operand]};
    const Buckets buckets(there);
    const Tensor& change = c.input(arriving);
    const std::size_t heads = heads_of(*there.inputs[0]);
    std::vector<CellBase> places;
    CellBase at{.call = c.call, .output = &change};
    for (at.matrix = c.column; at.matrix < change.matrices(); at.matrix += heads) {
      for (at.row = 0; at.row < change.rows(); ++at.row) {
        for (at.column = 0; at.column < change.columns(); ++at.column) {
          if (buckets.of(at.row, at.column) == c.row) places.push_back(at);
        }
      }
    }
    return sum<N>(places.size(), [&](std::size_t t) {
      return c.of(arriving, places[t].matrix)(places[t].row, places[t].column);
    });
  }

  static Tensor compute(const Call& call) {
    require_arriving(call, call.inputs[first_need]->shape());
    return cell_by_cell(call, gradient_frame(call), cell<double>);
  }
};

constinit const Operation bias_to_scores = gradient_of<Gradient<PassBack>>({
    .title = "Back to the scores before the bias",
    .says = "What was added does not depend on the score: the gradient passes.",
    .notice = "The same numbers.",
});

constinit const Operation bias_to_table = gradient_of<ToBuckets>({
    .title = "Back to the table of distances",
    .says = "A number of the table was added to all scores of its distance: their gradients are "
            "added up.",
    .notice = "Distances that the text does not have get 0.",
});

WayBack back_through_bias(const Use& use) {
  if (use.operand == 0) return {&bias_to_scores};
  return {&bias_to_table, {0}};
}

}  // namespace

constinit const Operation relative_bias_operation = operation_of<RelativeBias>({
    .name = "relative_bias",
    .title = "Add what each distance is worth",
    .says = "Each score gets a learned number for the distance between query and key. Small "
            "distances have one each; large ones share it, in buckets that grow.",
    .notice = "Cells along a diagonal get the same.",
    .operands = R"(["scores", "table"])",
    .fewest = 2,
    .most = 2,
    .options = relative_bias_options,
    .way_back = back_through_bias,
});

}  // namespace qkv
