#include "check/judge/judge.hpp"

#include "check/judge/conventions.hpp"
#include "check/judge/room.hpp"

namespace qkv::inline check {
std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view names[] = {"correct", "rounding", "carried", "undecided",
                                        "wrong",   "blank",    "shape"};
  return names[static_cast<std::size_t>(verdict)];
}

std::size_t LearnerNode::count(Verdict verdict) const {
  if (all_correct) return verdict == Verdict::correct ? verdicts.size() : 0;
  return static_cast<std::size_t>(std::ranges::count(verdicts, verdict));
}

std::size_t LearnerNode::wrong_cells() const {
  return wrong_shape_array ? wrong_shape_array->cells.size() : count(Verdict::wrong);
}

std::size_t LearnerNode::unsettled_cells() const {
  return wrong_cells() + count(Verdict::undecided);
}

std::size_t Judgement::wrong_nodes() const {
  const auto is_wrong = [](const LearnerNode& node) { return node.wrong_cells() > 0; };
  return static_cast<std::size_t>(std::ranges::count_if(nodes, is_wrong));
}

std::optional<Tensor> result_of(const Step& step, const Call& call) try {
  return step.operation->compute(call);
} catch (const InputError&) {
  return {};
}

Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  return call_with(node, trace, [&](std::size_t k) -> const Tensor& {
    return node.has_lessons_inputs ? *judgement.nodes[k].truth : judgement.nodes[k].own;
  });
}

namespace {

constexpr double no_bound = std::numeric_limits<double>::quiet_NaN();

bool within(double x, double y, double tolerance) {
  // Equal infinities match at any tolerance, and NaN matches an expected NaN.
  return x == y || std::abs(x - y) <= tolerance || (std::isnan(x) && std::isnan(y));
}

// Finds the cells of a step that use a wrong or carried cell: those are NaN in the operands, and so
// is every dependent result. Untainted operands stay as they are.
Tensor tainted_result(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  const auto with_nan = [&](std::size_t k) -> const Tensor& {
    const LearnerNode& operand = judgement.nodes[k];
    return operand.is_tainted() ? operand.planted : operand.own;
  };
  if (auto result = result_of(*node.step, call_with(node, trace, with_nan)))
    return *std::move(result);
  Tensor all = node.from_yours;
  std::ranges::fill(all.values.mutable_span(), no_bound);
  return all;
}

// Counts a program's numbers that are further than so many last places from the computed ones.
std::size_t cells_off(const LearnerNode& node, const Tensor& computed, double places) {
  if (computed.values.size() != node.own.values.size()) return node.own.values.size();
  const double relative = rule_of(node.units.precision).floor * places * (1 + 1e-6);
  constexpr double least = 0x1p-24;  // the smallest float16
  std::size_t count = 0;
  for (std::size_t i = 0; i < computed.values.size(); ++i) {
    const double x = std::as_const(computed).values[i];
    const double tolerance = std::max(std::ldexp(relative, std::ilogb(x)), places * least);
    if (node.has_number(i) && !within(node.own.values[i], x, tolerance)) ++count;
  }
  return count;
}

class Judge {
 public:
  Judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
        const CheckOptions& options, const Judgement* known)
      : trace_(trace), submitted_(submitted), options_(options), known_(known) {
    for (const SubmittedArray& matrix : submitted) {
      const Step* step = trace.find_step(matrix.name);
      rounding_.push_back(decimals_of(matrix, step ? &step->output : nullptr));
    }
    if (!known) find_agreement();
  }

  Judgement run(const IsHopeless& is_hopeless) {
    const auto add_to = [&](const std::string& name, const Tensor& tensor, const Step* step) {
      if (judgement_.given_up) return;
      add(name, tensor, step);
      judgement_.given_up = is_hopeless && is_hopeless(judgement_.nodes.back());
    };
    for (const Given& given : trace_.givens) add_to(given.name, given.tensor, nullptr);
    for (const Step& step : trace_.steps) add_to(step.name, step.output, &step);
    return std::move(judgement_);
  }

 private:
  using Places = std::vector<std::size_t>;

  void add(const std::string& name, const Tensor& truth, const Step* step) {
    LearnerNode node{.name = name, .truth = &truth, .step = step};
    if (step) {
      for (const std::string& input : step->of) node.inputs.push_back(index_.at(input));
    }
    node.is_lessons = std::ranges::all_of(
        node.inputs, [&](std::size_t k) { return judgement_.nodes[k].is_lessons; });
    for (const SubmittedArray& submitted : submitted_) {
      if (submitted.name == name)
        (submitted.fits ? node.submitted : node.wrong_shape_array) = &submitted;
    }
    const LearnerNode* known = known_ ? find_by(known_->nodes, name, &LearnerNode::name) : nullptr;
    const bool is_known = known && asks_the_same(node, *known);
    if (is_known) {
      LearnerNode same = *known;
      std::tie(same.truth, same.step, same.submitted) = std::tie(node.truth, step, node.submitted);
      same.inputs = std::move(node.inputs);
      node = std::move(same);
      submitted_so_far_ += node.submitted ? 1 : 0;
    } else {
      judge_node(node);
    }
    are_known_.push_back(is_known || (known && says_the_same(node, *known)));
    index_.emplace(name, judgement_.nodes.size());
    judgement_.nodes.push_back(std::move(node));
    if (options_.on_matrix) options_.on_matrix();
  }

  // True if a node of the known judgement has the same numbers, from the same step and operands.
  // What was written is judged by its other matrices, too.
  bool asks_the_same(const LearnerNode& node, const LearnerNode& known) const {
    const auto holds_the_same = [&] {
      const SubmittedArray& one = *node.submitted;
      const SubmittedArray& other = *known.submitted;
      return one.cells.are_computed() && other.cells.are_computed() && !known.units.are_written() &&
             one.precision == other.precision && one.cells.values().shares(other.cells.values());
    };
    return !node.wrong_shape_array && !known.wrong_shape_array && !node.step == !known.step &&
           (!node.step || *node.step == *known.step) && !node.submitted == !known.submitted &&
           node.truth->values.shares(known.truth->values) &&
           (!node.submitted || holds_the_same()) &&
           std::ranges::all_of(node.inputs, [&](std::size_t k) { return are_known_[k]; });
  }

  // True if later nodes can tell it from the known one by the last bits alone.
  static bool says_the_same(const LearnerNode& node, const LearnerNode& known) {
    return node.submitted && known.submitted && node.verdicts == known.verdicts &&
           node.truth->values.shares(known.truth->values) &&
           node.is_tainted() == known.is_tainted() &&
           std::ranges::equal(node.own.values, known.own.values);
  }

  void judge_node(LearnerNode& node) {
    const std::optional<Places> rounded = take_agreeing_numbers(node);
    if (node.submitted) {
      node.is_lessons = false;
      ++submitted_so_far_;
    }
    if (node.wrong_shape_array) {
      node.units =
          matrix_tolerance(*node.wrong_shape_array, {node.from_yours.values, node.truth->values},
                           others_than(*node.wrong_shape_array), options_.digits);
    }
    Tensor taint;  // empty if all earlier cells are right
    if (!node.wrong_shape_array && inherits(node)) taint = tainted_result(judgement_, trace_, node);
    node.all_correct = rounded && rounded->empty();
    if (rounded) {
      node.verdicts.assign(node.own.values.size(), Verdict::correct);
      for (const std::size_t i : *rounded) node.verdicts[i] = Verdict::rounding;
    } else if (node.submitted) {
      judge_cells(node, taint);
    }
    if (node.submitted && is_of_a_mistake(node)) {
      node.all_correct = false;
      node.units.of_cell.clear();
      for (const double x : node.from_yours.values)
        node.units.of_cell.push_back(rule_of(node.units.precision).floor * std::abs(x));
      judge_cells(node, taint);
    }
    mark_tainted(node, taint);
  }

  // Takes the node's numbers. If a program's agree with the lesson's but for few cells, returns
  // these, which rounding explains; the others are right. Nothing if each cell has to be judged.
  std::optional<Places> take_agreeing_numbers(LearnerNode& node) {
    std::optional<Places> cells = cells_that_follow(node);
    take_numbers(node, cells ? *node.truth : from_own(node), !cells || !cells->empty());
    if (!cells) return {};
    const bool was_rounded = node.units.are_written();
    bool are_right = !was_rounded && node.units.of_cell.empty();
    if (are_right && !cells->empty()) {  // where nothing is rounded, they have to be the lesson's
      take_exact(node);
      are_right = std::ranges::none_of(*cells, [&](std::size_t i) { return node.is_exact(i); });
    }
    if (are_right) return cells;
    if (was_rounded || !cells->empty()) take_numbers(node, from_own(node));
    return {};
  }

  // True if a program's numbers may be held against the lesson's alone. Ids are no quantities that
  // are near each other.
  bool may_agree(const SubmittedArray& submitted) const {
    const Step* step = submitted.fits ? trace_.find_step(submitted.name) : nullptr;
    return step && !step->operation->single_precision_error && !step->operation->takes_ids;
  }

  // Returns the cells of a program's matrix, of single or double precision, that are further than a
  // unit from the lesson's. Nothing if they are many.
  std::optional<Places> cells_beyond_unit(const SubmittedArray& submitted) const {
    const Precision precision = submitted.precision;
    if (options_.digits || !may_agree(submitted) ||
        (precision != Precision::float32 && precision != Precision::float64))
      return {};
    constexpr std::size_t share = 4096;  // one cell of so many may be another
    const std::span<const double> truth = trace_.at(submitted.name).values;
    const double unit = unit_of_program(precision, truth);
    Places cells;
    std::size_t i = 0;
    submitted.cells.values().for_each_piece(
        [&](std::span<const double> piece) {
          for (std::size_t k = 0; k < piece.size() && cells.size() <= truth.size() / share;
               ++k, ++i)
            if (!within(piece[k], truth[i], unit)) cells.push_back(i);
        },
        Values::in_cache);
    return cells.size() > truth.size() / share ? std::nullopt : std::optional(std::move(cells));
  }

  // Holds all matrices against the lesson's at once, before they are judged in order.
  void find_agreement() {
    beyond_unit_.resize(submitted_.size());
    parallel_for(submitted_.size(), 1, small_tensor_limit, [&](std::size_t i, std::size_t) {
      beyond_unit_[i] = cells_beyond_unit(submitted_[i]);
    });
    bool all_agree = true;  // but for few cells
    for (std::size_t i = 0; i < submitted_.size(); ++i)
      all_agree = all_agree && (beyond_unit_[i] || !may_agree(submitted_[i]));
    if (all_agree) find_needed_steps();
  }

  // Finds the steps whose numbers are operands of a step that has to be computed: of all others the
  // lesson's will do.
  void find_needed_steps() {
    std::set<std::string, std::less<>>& needed = needed_.emplace();
    for (auto step = trace_.steps.rbegin(); step != trace_.steps.rend(); ++step) {
      const auto found = std::ranges::find(submitted_, step->name, &SubmittedArray::name);
      const auto i = static_cast<std::size_t>(found - submitted_.begin());
      const bool is_computed = found == submitted_.end()
                                   ? needed.contains(step->name)
                                   : !beyond_unit_[i] || !beyond_unit_[i]->empty();
      if (is_computed) needed.insert(step->of.begin(), step->of.end());
    }
  }

  // Returns the few cells of a program's matrix that are not within a unit of the lesson's, if they
  // are of what follows from the program's own numbers: the step, perhaps a large product, is then
  // not computed from these. Nothing if the operands are wrong.
  std::optional<Places> cells_that_follow(const LearnerNode& node) const {
    if (!node.submitted || !node.step || inherits(node)) return {};
    const auto index = static_cast<std::size_t>(node.submitted - submitted_.data());
    auto cells = known_ ? cells_beyond_unit(*node.submitted) : beyond_unit_[index];
    if (!cells || cells->empty()) return cells;
    const Values theirs = node.submitted->cells.values();
    const double unit = unit_of_program(node.submitted->precision, node.truth->values);
    const Call call = own_call(judgement_, trace_, node);
    const bool follow = std::ranges::all_of(*cells, [&](std::size_t i) {
      const CellReference at = cell_at({}, *node.truth, i);
      const double own =
          node.step->operation->cell.number({{&call, node.truth, at.matrix, at.row, at.column}});
      return within(theirs[i], own, unit) && may_be_right(theirs[i]);
    });
    for (const Tensor* operand : call.inputs) operand->values.drop_cache();  // whole weights
    return follow ? cells : std::nullopt;
  }

  // Computes the step from the learner's own numbers, if possible. The steps after the last
  // submitted one are the lesson's: nothing is judged from them.
  Tensor from_own(LearnerNode& node) const {
    if (node.is_lessons || !node.step || submitted_so_far_ == submitted_.size() ||
        (needed_ && !node.submitted && !needed_->contains(node.name)))
      return *node.truth;
    auto result = result_of(*node.step, own_call(judgement_, trace_, node));
    node.has_lessons_inputs = !result;
    return result ? *std::move(result) : *node.truth;
  }

  void take_numbers(LearnerNode& node, Tensor from_yours, bool may_have_masks = true) {
    node.from_yours = std::move(from_yours);
    node.own = node.from_yours;
    if (node.submitted) take_over(node, may_have_masks);
  }

  OtherDecimals others_than(const SubmittedArray& submitted) const {
    OtherDecimals most;
    for (std::size_t i = 0; i < submitted_.size(); ++i) {
      if (&submitted_[i] != &submitted) most.add(rounding_[i]);
    }
    return most;
  }

  MatrixTolerance units_for(const LearnerNode& node, const SubmittedArray& matrix) const {
    if (!node.step) {
      return copied_tolerance(matrix, node.truth->values, others_than(*node.submitted),
                              options_.digits);
    }
    MatrixTolerance units = matrix_tolerance(matrix, {node.from_yours.values, node.truth->values},
                                             others_than(*node.submitted), options_.digits);
    if (units.basis != ToleranceBasis::type) return units;
    if (node.step->operation->makes_weights && uses_largest(units.precision)) {
      // A key that is hidden has no weight: numbers that a sharp softmax rounds away are no rule.
      units.of_cell = mapped_places(node.from_yours.values.size(), [&](std::size_t i) {
        return is_hidden_weight(judgement_, node, i) ? std::min(1e-6, units.plain) : units.plain;
      });
    }
    if (node.step->operation->cancellation_error && units.precision == Precision::float32)
      excuse_cancellation(node, units);
    const auto error = node.step->operation->single_precision_error;
    if (!error || units.precision == Precision::float64) return units;
    const Call call = own_call(judgement_, trace_, node);
    units.of_cell = mapped_places(node.from_yours.values.size(), [&](std::size_t i) {
      return std::max(units.plain, error(call, node.from_yours, i));
    });
    return units;
  }

  void excuse_cancellation(const LearnerNode& node, MatrixTolerance& units) const {
    const Call call = own_call(judgement_, trace_, node);
    for (std::size_t i = 0; i < node.own.values.size(); ++i) {
      if (within(node.own.values[i], node.from_yours.values[i], units.plain)) continue;
      if (units.of_cell.empty()) units.of_cell.assign(node.own.values.size(), units.plain);
      units.of_cell[i] += node.step->operation->cancellation_error(call, i);
    }
  }

  // True if a 16-bit program's numbers are those of a known mistake to the last place, and the
  // right ones are not, though all are within a unit of the largest number. Only changes of the
  // step's own maths count: others may be the right numbers before a rounding. Steps whose operands
  // are no larger than the result are cheap.
  bool is_of_a_mistake(const LearnerNode& node) const {
    constexpr std::size_t enough = 12;  // also how many times more cells must be explained
    constexpr std::size_t share = 200;
    const auto is_there = [&](std::size_t k) {
      const LearnerNode& input = judgement_.nodes[k];
      return (input.submitted ? input.wrong_cells() == 0 : !input.step) &&
             (input.own.rows() == 1 || input.own.shape() == node.own.shape());
    };
    if (!node.step || node.units.basis != ToleranceBasis::type || node.has_lessons_inputs ||
        !uses_largest(node.units.precision) || node.step->operation->single_precision_error ||
        node.wrong_cells() > 0 || !std::ranges::all_of(node.inputs, is_there))
      return false;
    std::vector<StepView> views(node.inputs.size());
    StepView view{node.name, &node.from_yours, node.step->operation, &node.step->options,
                  &trace_.environment};
    for (std::size_t k = 0; k < views.size(); ++k) {
      views[k] = {.name = node.step->of[k], .tensor = &judgement_.nodes[node.inputs[k]].own};
      view.inputs.push_back(&views[k]);
    }
    for (const double places : {0.5, 1.5}) {
      const std::size_t off = cells_off(node, node.from_yours, places);
      if (off < enough || off * share < node.own.values.size()) return false;
      for (const Mistake& mistake : node.step->operation->mistakes) {
        if (!changes_own_maths(mistake.change)) continue;
        for (const Tensor& made : versions_of(mistake.change, view))
          if (enough * cells_off(node, made, places) <= off) return true;
      }
    }
    return false;
  }

  void take_over(LearnerNode& node, bool may_have_masks) {
    const SubmittedArray& submitted = *node.submitted;
    if (submitted.cells.are_computed()) {
      node.own.values = submitted.cells.values();
    } else {
      const std::span<double> own = node.own.values.mutable_span();
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (node.has_number(i)) own[i] = submitted.cells[i].value;
      }
    }
    std::vector<std::size_t> masks;
    if (!options_.strict && may_have_masks) masks = finite_masks(judgement_, trace_, node);
    SubmittedArray read = submitted;  // the masks' notation is no evidence for the other cells
    for (const std::size_t i : masks) {
      read.cells.to_write()[i] = {.value = -infinity};
      node.own.values.mutable_span()[i] = -infinity;
      node.finite_mask = node.finite_mask || expects_minus_infinity(node, i);
    }
    node.units = units_for(node, read);
  }

  // A program's NaN is wrong, whatever it follows from.
  bool may_be_right(double x) const { return options_.accepts_nan || !std::isnan(x); }

  void take_exact(LearnerNode& node) {
    node.exact = mapped(room_.exactness().expected(node), &Decimal::value);
  }

  void judge_cells(LearnerNode& node, const Tensor& taint) {
    const std::size_t count = node.submitted->cells.size();
    node.verdicts.resize(count);
    // If the floor is the unit, exactness would be no stricter.
    if (node.step && node.units.are_written() && node.units.largest() > node.units.floor)
      take_exact(node);
    constexpr std::size_t at_a_time = 1 << 14, operations = 16;
    parallel_for(count, at_a_time, operations, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        const bool blank = node.submitted->cells[i].is_blank();
        const bool right = node.has_number(i) && is_right(node, i);
        node.verdicts[i] = blank ? Verdict::blank : right ? Verdict::correct : Verdict::wrong;
      }
    });
    if (node.wrong_cells() == 0 || !node.step) return;
    // A program's unit is the floor: exactness only leaves no room.
    if (!node.units.are_written()) take_exact(node);
    const auto follow = [&](std::size_t i) {
      const bool carried = !taint.values.empty() && std::isnan(taint.values[i]);
      node.verdicts[i] = carried ? Verdict::carried : Verdict::rounding;
    };
    const double units = units_of_rounding(node);
    const bool may_hide = node.step->operation->makes_weights;
    const Tensor typed = may_hide ? worked_from_typed(judgement_, trace_, node) : Tensor();
    for (std::size_t i = 0; i < count; ++i) {
      if (node.verdicts[i] != Verdict::wrong || !may_be_right(node.own.values[i])) continue;
      if (follows_as_it_stands(node, i, units) ||
          follows_in_hidden_line(judgement_, node, typed, i))
        follow(i);
    }
    if (node.wrong_cells() == 0) return;
    judge_by_room(node, Operands::own, follow);
    if (node.wrong_cells() > 0) judge_by_rounded_constant(node, follow);
    const auto is_wrong_file = [&](std::size_t k) {
      return judgement_.nodes[k].submitted && judgement_.nodes[k].wrong_cells() > 0;
    };
    if (node.wrong_cells() > 0 && std::ranges::any_of(node.inputs, is_wrong_file)) {
      judge_by_room(node, Operands::lessons,
                    [&](std::size_t i) { node.verdicts[i] = Verdict::rounding; });
    }
  }

  // A cell within the room follows, unless the room is so wide that it decides nothing. Files that
  // were exchanged do not make later numbers wrong: those follow from the lesson's operands, unless
  // all wrong cells are farther from them than a room that decides.
  template <class Follow>
  void judge_by_room(LearnerNode& node, Operands operands, const Follow& follow) {
    const bool is_own = operands == Operands::own;
    const std::vector<double> typical = typical_numbers(node);
    const std::span<const double> middles = is_own ? node.from_yours.values : node.truth->values;
    const auto decides = [&](double room, std::size_t i) {
      return !is_too_wide(room, node.units.of(i), typical[i * typical.size() / middles.size()]);
    };
    const std::vector<std::size_t> wrong = places_where(middles.size(), [&](std::size_t i) {
      return node.verdicts[i] == Verdict::wrong &&
             (is_own || decides(std::abs(node.own.values[i] - middles[i]), i));
    });
    if (wrong.empty()) return;
    const Range range = room_.of_step(node, node.units, operands);
    node.room.resize(middles.size());
    for (const std::size_t i : wrong) {
      const double below = middles[i] - range.low.values[i];
      const double above = range.high.values[i] - middles[i];
      const double tolerance = node.units.tolerance(i);
      const bool is_above = node.own.values[i] > middles[i];
      if (is_own && !node.is_exact(i)) node.room[i] = tolerance + (is_above ? above : below);
      if (!is_within(node, range, i)) continue;
      const double room = tolerance + std::max(below, above);
      const bool is_decided = decides(room, i);
      if (!is_decided && !is_own) continue;
      node.room[i] = room;
      node.verdicts[i] = Verdict::undecided;
      if (is_decided) follow(i);
    }
  }

  // A constant that the step needs may have been rounded, if all cells fit, but for a few slips.
  template <class Follow>
  void judge_by_rounded_constant(LearnerNode& node, const Follow& follow) {
    if (options_.strict || node.has_lessons_inputs || !node.units.are_written()) return;
    for (RoundedConstant& one : rounded_constants(*node.step, own_call(judgement_, trace_, node),
                                                  trace_, node.units.decimals)) {
      std::vector<std::size_t> explained;
      std::size_t misfits = 0;
      for (std::size_t i = 0; i < node.verdicts.size(); ++i) {
        if (node.verdicts[i] == Verdict::blank) continue;
        const double x = one.result.values[i];
        const bool is_wrong = node.verdicts[i] == Verdict::wrong;
        const bool is_changed = !within(x, node.from_yours.values[i], node.units.floor);
        const bool fits =
            node.has_number(i) && within(node.own.values[i], x, node.units.tolerance(i));
        if (!fits || (is_wrong && !is_changed)) {
          ++misfits;
        } else if (is_wrong) {
          explained.push_back(i);
        }
      }
      const bool are_few = 2 * misfits <= node.wrong_cells() && explained.size() > 1;
      if (explained.empty() || (misfits > 0 && !are_few)) continue;
      for (const std::size_t i : explained) follow(i);
      node.rounded_constant = std::move(one.says);
      return;
    }
  }

  bool inherits(const LearnerNode& node) const {
    return std::ranges::any_of(node.inputs,
                               [&](std::size_t k) { return judgement_.nodes[k].is_tainted(); });
  }

  // Where no rounding occurs, the result from the learner's own numbers is as right as the
  // lesson's, if both agree within a unit.
  static bool is_right(const LearnerNode& node, std::size_t i) {
    const double x = node.own.values[i];
    const double truth = node.truth->values[i];
    if (!within(x, truth, node.units.tolerance(i))) return false;
    if (!node.is_exact(i)) return true;
    return within(x, truth, node.units.floor) || within(x, node.exact[i], node.units.floor);
  }

  // The number that the learner's own numbers give without any rounding between them.
  static bool follows_as_it_stands(const LearnerNode& node, std::size_t i, double units) {
    if (!node.has_number(i)) return false;
    const double x = node.own.values[i];
    if (node.is_exact(i)) return within(x, node.exact[i], node.units.floor);
    if (is_held(node.from_yours.values[i], node.units.precision)) units = 1;  // nothing to round
    return within(x, node.from_yours.values[i], units * node.units.tolerance(i));
  }

  // Returns how many units a cell may be off. A 16-bit program also rounds on the way: PyTorch's
  // norms and products of few columns are up to 2.6 units off: one cell, not the typical cell.
  static double units_of_rounding(const LearnerNode& node) {
    if (node.units.basis != ToleranceBasis::type || !uses_largest(node.units.precision)) return 1;
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < node.own.values.size(); ++i) {
      const double gap = node.own.values[i] - node.from_yours.values[i];
      if (std::isnan(gap)) continue;
      squares += gap == 0 ? 0 : gap / node.units.of(i) * gap / node.units.of(i);
      ++count;
    }
    return squares <= count ? 3 : 1;
  }

  void mark_tainted(LearnerNode& node, const Tensor& taint) {
    bool is_tainted = node.wrong_shape_array != nullptr;  // then all of it
    if (!is_tainted && taint.values.empty() && node.wrong_cells() == 0) return;
    Tensor planted = node.own;
    for (std::size_t i = 0; i < planted.values.size(); ++i) {
      const bool judged = node.submitted && node.verdicts[i] != Verdict::blank;
      const bool bad =
          judged ? node.verdicts[i] == Verdict::wrong || node.verdicts[i] == Verdict::carried
                 : node.wrong_shape_array || (!taint.values.empty() && std::isnan(taint.values[i]));
      if (!bad) continue;
      planted.values.mutable_span()[i] = no_bound;
      is_tainted = true;
    }
    if (is_tainted) node.planted = std::move(planted);
  }

  const Trace& trace_;
  const std::vector<SubmittedArray>& submitted_;
  const CheckOptions& options_;
  std::vector<OtherDecimals> rounding_;  // of each submitted matrix
  Judgement judgement_;
  Room room_{judgement_, trace_};
  const Judgement* known_;
  std::vector<bool> are_known_;  // nodes that are as in the known judgement, for later nodes
  std::map<std::string, std::size_t, std::less<>> index_;
  std::size_t submitted_so_far_ = 0;
  std::vector<std::optional<Places>> beyond_unit_ = {};  // the cells of each submitted matrix
  std::optional<std::set<std::string, std::less<>>> needed_ = {};  // steps; empty: all are needed
};

}  // namespace

const LearnerNode* exchanged_with(const Judgement& judgement, const LearnerNode& node) {
  const auto holds = [](const LearnerNode& one, const LearnerNode& other) {
    constexpr std::size_t enough = 3;
    constexpr double room = 5;  // for the rounding of earlier steps
    std::size_t telling = 0;
    for (std::size_t i = 0; i < one.verdicts.size(); ++i) {
      const double x = one.submitted->cells[i].value;
      if (std::isnan(x)) continue;
      const double y = other.truth->values[i];
      const double gap = x == y ? 0 : std::abs(x - y);
      if (!(gap <= room * one.units.tolerance(i))) return false;
      const bool is_nearer = 2 * gap < std::abs(x - one.truth->values[i]);
      const bool tells = one.verdicts[i] == Verdict::wrong && std::isfinite(x) && x != 0;
      telling += tells && is_nearer ? 1 : 0;
    }
    return telling >= enough;
  };
  if (!node.submitted || node.wrong_cells() == 0) return nullptr;
  const auto found = std::ranges::find_if(judgement.nodes, [&](const LearnerNode& other) {
    return &other != &node && other.submitted && other.truth->shape() == node.truth->shape() &&
           holds(node, other) && holds(other, node);
  });
  return found == judgement.nodes.end() ? nullptr : &*found;
}

Judgement judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
                const CheckOptions& options, const IsHopeless& is_hopeless,
                const Judgement* known) {
  return Judge(trace, submitted, options, known).run(is_hopeless);
}

}  // namespace qkv::inline check
