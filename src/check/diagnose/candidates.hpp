#pragma once

#include <deque>

#include "check/diagnose/diagnosis.hpp"
#include "check/diagnose/hypothesis.hpp"

namespace qkv::inline check {

/// How much of a matrix one slip can affect.
enum class SlipScope { anything, line };

/// Two exchanged runs of `length` cells, counted in runs: rows, or single cells. With a period, the
/// runs a and b of every so many are exchanged: two rows of all matrices, two columns of all rows.
struct ExchangedRuns {
  std::size_t a, b, length, period = 0;

  std::size_t run_of(std::size_t cell) const {
    return period > 0 ? cell / length % period : cell / length;
  }
};

/// The numbers that a slip would produce, NaN where undefined. For two exchanged runs it stores
/// only their indices, since a large matrix has too many pairs to copy.
class CandidateValues {
 public:
  CandidateValues(Tensor numbers) : tensor_(std::move(numbers)) {}

  CandidateValues(Tensor numbers, ExchangedRuns runs)
      : tensor_(std::move(numbers)), exchanged_(runs) {}

  const Tensor& tensor() const { return tensor_; }  ///< before the exchange
  const std::optional<ExchangedRuns>& exchanged() const { return exchanged_; }
  Shape shape() const { return tensor_.shape(); }

  double operator[](std::size_t cell) const {
    return std::as_const(tensor_).values[exchanged_ ? place_of(cell) : cell];
  }

 private:
  std::size_t place_of(std::size_t cell) const {
    const std::size_t run = exchanged_->run_of(cell);
    const std::size_t apart = (exchanged_->b - exchanged_->a) * exchanged_->length;
    return run == exchanged_->a ? cell + apart : run == exchanged_->b ? cell - apart : cell;
  }

  Tensor tensor_;
  std::optional<ExchangedRuns> exchanged_;
};

/// The numbers of a whole matrix that one mistake would produce.
struct Candidate {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  CandidateKind kind = CandidateKind::mistake;
  SlipScope scope = SlipScope::anything;
  CandidateValues numbers;
  Evidence evidence = {};
  /// Details for a cell, such as "0.5 · 2 is missing"; empty if there are none.
  std::function<std::string(std::size_t cell)> detail = {};
  std::size_t step = 0;  ///< index of the step where it was made: this one, or an earlier one
  std::optional<std::size_t> also_in = {};  ///< another such step, if it was made twice
  /// Extra tolerance per cell for rounding in unsubmitted steps in between; empty if there is none.
  std::vector<double> room = {};
};

/// The data of a step that slips need.
struct SlipContext {
  const Tensor* right = nullptr;        ///< the step from the learner's own numbers
  int decimals = 0;                     ///< that the learner writes
  std::vector<std::size_t> wrong = {};  ///< cells; empty for a program's
  /// Returns the arithmetic of a cell from the learner's own numbers; empty for a given.
  std::function<Expression(std::size_t matrix, std::size_t row, std::size_t column)> arithmetic =
      {};
  /// Cells where a slip within one line may show. Other cells may stay NaN, since their digits or
  /// arithmetic are expensive.
  std::vector<bool> near_wrong = {};
  std::span<const double> written = {};  ///< what the learner has, as far as that is known
  const Region* region = nullptr;        ///< the block that the wrong cells fill, if they do
  bool are_shares = false;               ///< numbers in [0, 1], which some write as percentages
  /// Formats a term of a sum, naming its cells.
  std::function<std::string(const Expression& term)> term_text = {};
};

/// Whose matrix is tried: one written by hand; a large one, by a program; one that was not
/// submitted.
enum SlipPlace : unsigned { of_hand = 1, of_program = 2, of_unsubmitted = 4 };

/// Returns the numbers that slips make of `right`. The context must outlive their details; those of
/// an unsubmitted matrix have none.
std::vector<Candidate> slip_candidates(const SlipContext& context, SlipPlace where);

/// Returns the number of heads; 1 without an axis of heads. More than 16 heads are not compared.
std::size_t comparable_heads(const Tensor& tensor);

/// Returns the factor that brings the right numbers nearest to the written ones (least squares, of
/// the finite pairs); 0 if there is none.
double nearest_factor(std::span<const double> written, std::span<const double> right);

/// The mismatch to explain: written numbers, expected numbers and wrong cells of one matrix.
struct Mismatch {
  Shape shape;
  std::size_t step = 0;                ///< its index, as a candidate has it
  std::vector<double> written = {};    ///< NaN where blank
  std::vector<bool> is_masked = {};    ///< finite masks: very low numbers that stand for -inf
  std::vector<double> tolerance = {};  ///< one unit, with slack
  std::vector<bool> wrong = {};
  std::span<const double> right = {};  ///< computed from the learner's own numbers
  std::vector<double> exact;   ///< required values where no rounding occurs; else empty or NaN
  double floor = 0;            ///< tolerance of `exact`
  bool are_shares = false;     ///< numbers in [0, 1]; a 1 is weak evidence: many mistakes give it
  bool is_of_program = false;  ///< a binary array: numbers within a unit of 0 may as well be 0

  std::size_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  std::size_t columns() const { return shape.back(); }
};

/// A candidate that explains wrong cells.
struct Explanation {
  std::size_t candidate = 0;  ///< its index among the candidates
  std::size_t cells = 0;      ///< number of wrong cells that it explains
  std::size_t first = 0;      ///< the first of them
  bool sure = true;           ///< false if others match equally and few cells are evidence
  bool is_refuted =
      false;  ///< right cells contradict it, and a candidate before it makes all cells
  /// The candidate of the same mistake in another unsubmitted step, if that matches equally.
  std::optional<std::size_t> or_other = {};
};

/// Returns the candidates that explain the wrong cells, best first. A full explanation covers all
/// wrong cells in one part (whole, matrix, row, column, cell). There every attempted cell, right or
/// wrong, matches within a unit. If there is none, it takes the candidate that explains most: at
/// least two cells and half of the wrong ones. It may contradict at most half as many right cells
/// of its part. The rest is explained in turn. A candidate must explain a number that is neither 0
/// nor infinite, unless its evidence allows these.
std::vector<Explanation> explain_mismatch(const Mismatch& mismatch,
                                          const std::vector<Candidate>& candidates);

/// Above this, a program wrote the matrix, and no hand rounded it.
constexpr std::size_t max_cells_with_slack = 4096;

/// All candidates for a matrix: the numbers that each known mistake and slip would produce, the
/// likeliest first: of the step itself, then of the unsubmitted steps before it, as far as the
/// budget allows. References must outlive it.
class CandidateSet : NotCopied {
 public:
  CandidateSet(const Judgement& judgement, const Trace& trace, std::size_t node,
               const Mismatch& mismatch, const Region* region, DiagnosisBudget& budget);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::size_t untried() const { return untried_; }  ///< steps whose mistakes were not all tried

  /// Adds tolerance for rounding in unsubmitted steps to the candidates made there. Returns whether
  /// there are any.
  bool allow_rounding();

  /// Adds candidates for the same mistake in two unsubmitted steps, such as the rotated queries and
  /// keys. Returns whether there are any.
  bool collect_pairs();

 private:
  // A hypothesis, what the step is under it, and the steps as mistakes see them.
  struct Assumption {
    Hypothesis numbers;
    Tensor right;
    std::vector<StepView> steps = {};
  };

  // Where a mistake is made, and what leads from there to the matrix.
  struct Origin {
    std::size_t at;
    std::vector<std::size_t> path;
    double work;            // operations for one candidate
    RowSample sample = {};  // of a large matrix: what does not fit some rows is not tried in full
    double sample_work = 0;
  };

  // What to start from, where, how long, and where the candidates go.
  struct Search {
    const Assumption& assumption;
    const Origin& origin;
    WorkBudget& budget;
    std::vector<Candidate>& found;
  };

  // The candidates that were made in one unsubmitted step.
  struct UnsubmittedRange {
    const Assumption* assumption;
    const Origin* origin;
    std::size_t from, to;  // indices of candidates
    double work;
  };

  void assume(Hypothesis numbers, Tensor right, std::deque<Assumption>& assumptions) const;
  Origin origin_at(std::size_t at) const;
  void collect_own(const Assumption& assumption);
  void collect_unsubmitted();
  bool made_in(const Search& search) const;
  bool collect_mistakes(const Search& search, std::span<const Mistake> mistakes, double work) const;
  bool collect_unsubmitted_slips(const Search& search) const;
  bool add_carried(const Search& search, Candidate made) const;
  bool collect_pair(const Assumption& assumption, std::size_t first, std::size_t second);
  void collect_slips(const Assumption& assumption);
  bool is_near_written(double x, std::size_t cell) const;
  bool is_worth_keeping(const Tensor& numbers) const;
  bool fits_sample(const Search& search, const Tensor& made) const;
  void allow_rounding(const UnsubmittedRange& unsubmitted, const std::deque<Assumption>& draws);

  const Judgement& judgement_;
  const Trace& trace_;
  const std::size_t index_;
  const LearnerNode& node_;
  const Mismatch& mismatch_;
  const Region* region_;  // nullptr if the wrong cells form no block
  DiagnosisBudget& budget_;
  Tensor written_;  // as mistakes see it; without axes if it has another shape
  std::size_t untried_ = 0;
  std::vector<std::size_t> unsubmitted_before_;
  std::vector<std::size_t> sampled_rows_;  // of a large matrix
  double room_ = 0;                        // in all cells of a large matrix
  std::vector<std::size_t> probes_;        // some wrong cells of a large matrix; else empty
  std::deque<Assumption> assumptions_;
  std::deque<Origin> origins_;
  std::deque<SlipContext> contexts_;
  std::vector<Candidate> candidates_;
  std::vector<UnsubmittedRange> unsubmitted_;
};

}  // namespace qkv::inline check
