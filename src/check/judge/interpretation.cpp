#include "check/judge/conventions.hpp"

namespace qkv::inline check {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

// What all interpretations of a submission share.
struct Interpreter {
  const Lesson& lesson;
  std::shared_ptr<const Trace> trace;  ///< the lesson's
  const Submission& submission;
  CheckOptions options;

  // Stops once `too_many` cells are wrong: such an interpretation is not better than a known one.
  Interpretation in_layout(const Layout& layout, std::size_t too_many = any_number) const {
    Interpretation result{.trace = trace, .recipe = lesson.recipe, .layout = layout};
    result.submitted = normalise_layout(submission, *trace, layout);
    if (!options.strict) move_heads_first(*trace, layout, result.submitted);
    judge_as(result, [too_many, wrong = std::size_t{0}](const LearnerNode& node) mutable {
      wrong += node.wrong_cells();
      return wrong >= too_many;
    });
    return result;
  }

  // The same submission by a variant, unless a node makes that hopeless.
  Interpretation by_variant(const Interpretation& plain, const Variant& variant,
                            std::shared_ptr<const Trace> of, const IsHopeless& is_hopeless) const {
    Interpretation result = {.trace = std::move(of),
                             .recipe = variant.recipe.value_or(plain.recipe),
                             .layout = plain.layout,
                             .submitted = plain.submitted,
                             .conventions = plain.conventions};
    if (variant.columns != ColumnOrder::lessons)
      accept_rope_layout(*result.trace, variant.changed, variant.columns, result.submitted);
    judge_as(result, is_hopeless, &plain.judgement);
    return result;
  }

 private:
  void judge_as(Interpretation& result, const IsHopeless& is_hopeless,
                const Judgement* known = nullptr) const {
    result.judgement = judge(*result.trace, result.submitted, options, is_hopeless, known);
    for (const LearnerNode& node : result.judgement.nodes) result.wrong += node.unsettled_cells();
    if (result.judgement.given_up) result.wrong = any_number;
  }
};

const LearnerNode* node_of(const Interpretation& interpretation, const std::string& name) {
  return find_by(interpretation.judgement.nodes, name, &LearnerNode::name);
}

std::size_t wrong_in(const Interpretation& interpretation, const std::string& name) {
  const LearnerNode* node = node_of(interpretation, name);
  return node ? node->unsettled_cells() : 0;
}

// Which of two interpretations the cells of a step favour, if their results differ there. A 0 says
// nothing.
struct Evidence {
  std::size_t apart = 0;      ///< cells that distinguish the two
  std::size_t for_other = 0;  ///< of those: wrong in the plain one, or farther from it
};

Evidence evidence_in(const LearnerNode* node, const LearnerNode* another) {
  Evidence evidence;
  if (!node || !another || !node->submitted || !another->submitted) return evidence;
  for (std::size_t i = 0; i < node->verdicts.size(); ++i) {
    const double theirs = another->from_yours.values[i];
    const double gap = std::abs(node->from_yours.values[i] - theirs);
    const double own = node->own.values[i];
    if (own == 0 || node->verdicts[i] == Verdict::blank || !(gap > node->units.tolerance(i)))
      continue;
    const bool is_nearer = std::abs(own - theirs) < std::abs(own - node->from_yours.values[i]);
    ++evidence.apart;
    evidence.for_other += node->verdicts[i] == Verdict::wrong || is_nearer ? 1 : 0;
  }
  return evidence;
}

// True if a step shows the other interpretation: half of its wrong cells are right there, or it has
// none and is nearer to the other. Most cells that tell the two apart must agree, and of other
// numbers (`is_moved` is false) there must be some: a single slip is no convention.
bool favours(const LearnerNode* other, const LearnerNode* plain, bool is_moved) {
  const std::size_t before = plain ? plain->unsettled_cells() : 0;
  const std::size_t after = other ? other->unsettled_cells() : 0;
  const Evidence evidence = evidence_in(plain, other);
  const bool tells_apart = evidence.apart > 0 || is_moved;
  // At position 0 nothing is rotated: a rotated row also follows from the one before it.
  const auto are_carried = [](const LearnerNode& node) {
    return contains(node.verdicts, Verdict::carried);
  };
  if (is_moved && plain && other && are_carried(*plain) && !are_carried(*other)) return after == 0;
  if (before > 0)
    return tells_apart && 2 * after <= before && 2 * evidence.for_other >= evidence.apart;
  return after == 0 && evidence.apart > 0 && 2 * evidence.for_other > evidence.apart;
}

std::size_t wrong_among(const Interpretation& interpretation,
                        const std::vector<std::string>& names) {
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const std::string& name) { return wrong_in(interpretation, name) > 0; }));
}

// Evaluates another recipe with the lesson's givens.
std::shared_ptr<const Trace> trace_of(Recipe recipe, const Trace& lesson) {
  recipe.givens = lesson.givens;
  return std::make_shared<const Trace>(evaluate_all(std::move(recipe), {}, &lesson).trace);
}

bool has_other_numbers(const Trace& now, const Trace& lesson, const std::string& name) {
  constexpr Tolerance rounding{.relative = 1e-9, .absolute = 1e-9};
  const Tensor* tensor = now.find(name);  // nullptr if an earlier step is impossible
  if (tensor && tensor->values.shares(lesson.at(name).values)) return false;
  return !tensor || difference_of(tensor->values, lesson.at(name).values, rounding).mismatched > 0;
}

// True if no other forward step has other numbers: a query that two scores share may not be scaled
// for one of them.
bool is_equivalent(const Trace& now, const Trace& lesson, const std::vector<std::string>& changed) {
  return std::ranges::all_of(lesson.steps, [&](const Step& step) {
    return is_gradient(*step.operation) || contains(changed, step.name) ||
           !has_other_numbers(now, lesson, step.name);
  });
}

// True if a step speaks against a variant: a deciding step or a companion with more wrong cells
// than before (with at least twice as many, where only the order of columns is another), and
// another step with at least twice as many. Those that were moved are judged by
// `evidence_of_moved`.
bool contradicts(const Variant& variant, const LearnerNode& node, const Interpretation& plain) {
  const std::size_t before = wrong_in(plain, node.name);
  const std::size_t after = node.unsettled_cells();
  const bool is_own =
      contains(variant.deciding, node.name) || contains(variant.companions, node.name);
  if (!node_of(plain, node.name)) return false;
  if (is_own && variant.recipe) return after > before;
  return (is_own || !contains(variant.changed, node.name)) && after > 0 && after >= 2 * before;
}

// Judges by a step that the variant moves elsewhere (scaled_scores, if the queries were scaled), or
// by its gradient. Returns 1 if it is right only in the variant, -1 if only in the plain
// interpretation. If it is right in both, cells count that follow from the operands of one alone.
int evidence_of_moved(const Variant& variant, const LearnerNode& node,
                      const Interpretation& plain) {
  const bool is_moved = contains(variant.changed, node.name) &&
                        !contains(variant.deciding, node.name) &&
                        !contains(variant.companions, node.name);
  if (!is_moved || !node.submitted) return 0;
  const bool was_wrong = wrong_in(plain, node.name) > 0;
  const bool is_wrong = node.unsettled_cells() > 0;
  if (was_wrong || is_wrong) return (was_wrong ? 1 : 0) - (is_wrong ? 1 : 0);
  const std::span<const double> now = node.from_yours.values;
  const std::span<const double> then = node_of(plain, node.name)->from_yours.values;
  const auto follows_one = [&](std::span<const double> one, std::span<const double> other) {
    return !places_where(now.size(), [&](std::size_t i) {
              const double own = node.own.values[i], unit = node.units.tolerance(i);
              return std::abs(own - one[i]) <= unit && std::abs(one[i] - other[i]) > unit;
            }).empty();
  };
  return follows_one(now, then) ? 1 : follows_one(then, now) ? -1 : 0;
}

// True if a step of another interpretation shows the variant.
bool shows(const Variant& variant, const LearnerNode* node, const Interpretation& plain) {
  const LearnerNode* before = node ? node_of(plain, node->name) : nullptr;
  return favours(node, before, variant.columns != ColumnOrder::lessons) &&
         !(before && exchanged_with(plain.judgement, *before));
}

// Returns how far the submitted ones of these steps are from what follows from their operands.
double distance_from_own(const Interpretation& interpretation,
                         const std::vector<std::string>& names) {
  double sum = 0;
  for (const std::string& name : names) {
    const LearnerNode* node = node_of(interpretation, name);
    if (!node || !node->submitted) continue;
    const ErrorStatistics errors = error_statistics(node->own.values, node->from_yours.values);
    sum += errors.mean * static_cast<double>(errors.cells);
  }
  return sum;
}

// The rule for all conventions: enough of the deciding steps show it. A program must have another
// loss, too. Whether a step contradicts it is by_convention's question.
bool is_accepted(const Variant& variant, const Interpretation& other, const Interpretation& plain,
                 bool needs_loss) {
  const auto shows_it = [&](const std::string& name) {
    return shows(variant, node_of(other, name), plain);
  };
  const auto apart = [&](const Interpretation& one) {
    return distance_from_own(one, variant.nearer);
  };
  if (!variant.nearer.empty() && apart(other) >= apart(plain)) return false;
  // An order that is fitted to the numbers has to explain them all, or both sides of a pair.
  const bool is_fitted =
      variant.columns == ColumnOrder::any || !variant.others.empty() || !variant.nearer.empty();
  const auto are_explained = [&](const auto& sides) {
    return wrong_among(other, sides[0]) + wrong_among(other, sides[1]) == 0;
  };
  if (is_fitted && wrong_among(other, variant.deciding) > 0 &&
      std::ranges::none_of(variant.alike, are_explained))
    return false;
  const auto show_it_alike = [&](const auto& sides) {
    return std::ranges::all_of(
        sides, [&](const auto& names) { return std::ranges::any_of(names, shows_it); });
  };
  if (!variant.alike.empty() && std::ranges::none_of(variant.alike, show_it_alike)) return false;
  const auto may_show_it = [&](const std::string& name) {
    const LearnerNode* node = node_of(other, name);
    return !(node && node->submitted) || shows_it(name);
  };
  if (needs_loss && variant.recipe && !variant.companions.empty() &&
      (std::ranges::none_of(variant.companions, shows_it) ||
       !std::ranges::all_of(variant.companions, may_show_it)))
    return false;
  return static_cast<std::size_t>(std::ranges::count_if(variant.deciding, shows_it)) >=
         variant.least;
}

// Returns the steps whose numbers the accepted variant explains. A moved step changes none.
std::vector<std::string> explained_by(Variant variant, const Trace& now, const Trace& lesson) {
  if (variant.columns == ColumnOrder::lessons) {
    std::erase_if(variant.changed, [&](const std::string& name) {
      const bool may_be_moved = lesson.step_at(name).operation->equivalent_placement.has_value();
      return !may_be_moved && !has_other_numbers(now, lesson, name);
    });
  }
  return std::move(variant.changed);
}

// True if a deciding step or a companion may be wrong by itself, and not only since it follows from
// a step with missing and wrong numbers. In place of those that the variant changes their operands
// count.
bool may_show(const Variant& variant, const std::vector<LearnerNode>& nodes,
              const std::vector<bool>& are_in_part) {
  if (!contains(are_in_part, true)) return true;
  std::vector<bool> follows;
  const std::set<std::string_view> changed(variant.changed.begin(), variant.changed.end());
  for (const LearnerNode& node : nodes) {
    follows.push_back(std::ranges::any_of(node.inputs, [&](std::size_t k) {
      return changed.contains(nodes[k].name) ? follows[k] : are_in_part[k];
    }));
    if (!follows.back() && node.unsettled_cells() > 0 &&
        (contains(variant.deciding, node.name) || contains(variant.companions, node.name)))
      return true;
  }
  return false;
}

// Counts what the steps say of a variant while they are judged, until it is hopeless.
struct Trial {
  const Variant& variant;
  const Interpretation& plain;
  std::size_t to_beat;  // wrong cells
  std::size_t wrong = 0, failing = 0, showing = 0, contradicting = 0;
  std::size_t open = variant.deciding.size();  // that were not judged yet
  int moved = 0;                               // the balance of `evidence_of_moved`
  std::set<std::string> explained = {};

  bool is_hopeless_after(const LearnerNode& node) {
    constexpr std::size_t most_failing = 3;  // else a whole model is judged for nothing
    wrong += node.wrong_cells();
    moved += evidence_of_moved(variant, node, plain);
    if (contains(variant.deciding, node.name)) {
      const bool shows_it = shows(variant, &node, plain);
      --open;
      showing += shows_it ? 1 : 0;
      if (shows_it && node.unsettled_cells() == 0) explained.insert(node.name);
      failing += !shows_it && wrong_in(plain, node.name) > 0 ? 1 : 0;
    }
    const auto are_explained = [&](const auto& sides) {
      return std::ranges::all_of(sides, [&](const auto& names) {
        return std::ranges::any_of(names, [&](const auto& one) { return explained.contains(one); });
      });
    };
    // An order of columns that a layer confirms is not refuted by one mistake in another layer.
    const bool is_confirmed = std::ranges::any_of(variant.alike, are_explained);
    contradicting += contradicts(variant, node, plain) ? 1 : 0;
    return wrong >= to_beat || contradicting > (is_confirmed ? 1 : 0) ||
           (showing == 0 && failing >= most_failing) || showing + open < variant.least;
  }
};

// True if the wrong steps of the plain interpretation may come from a variant.
bool may_explain(const Variant& variant, const Interpretation& plain,
                 const std::vector<bool>& are_in_part) {
  const auto is_right = [&](const std::string& name) {
    const LearnerNode* node = node_of(plain, name);
    return node && node->submitted && node->unsettled_cells() == 0;
  };
  if (!variant.others.empty() && std::ranges::any_of(variant.deciding, is_right)) return false;
  return wrong_among(plain, variant.deciding) + wrong_among(plain, variant.companions) >=
             variant.least &&
         may_show(variant, plain.judgement.nodes, are_in_part);
}

// Returns the accepted variant of a convention that leaves the fewest wrong cells.
std::optional<Interpretation> by_convention(const Interpreter& interpret,
                                            const Convention& convention,
                                            const Interpretation& plain) {
  std::optional<Interpretation> best;
  const auto are_in_part = mapped(plain.judgement.nodes, [](const LearnerNode& node) {
    return contains(node.verdicts, Verdict::blank) && node.wrong_cells() > 0;
  });
  for (Variant& variant : convention.variants(plain.recipe, *plain.trace)) {
    if (variant.deciding.empty()) variant.deciding = variant.changed;
    const std::size_t to_beat = best ? best->wrong : plain.wrong;
    if (to_beat == 0 || !may_explain(variant, plain, are_in_part)) continue;
    const auto trace = variant.recipe ? trace_of(*variant.recipe, *plain.trace) : plain.trace;
    if (!is_equivalent(*trace, *plain.trace, variant.changed)) continue;
    Trial trial{variant, plain, to_beat};
    Interpretation other = interpret.by_variant(
        plain, variant, trace,
        [&trial](const LearnerNode& node) { return trial.is_hopeless_after(node); });
    if (trial.moved < 0 || other.wrong >= to_beat ||
        !is_accepted(variant, other, plain, interpret.options.needs_loss))
      continue;
    const std::map<std::string, std::string_view> others = variant.others;
    for (const std::string& name : explained_by(std::move(variant), *trace, *plain.trace)) {
      const auto of_other = others.find(name);
      other.conventions.insert_or_assign(
          name, of_other == others.end() ? convention.id : of_other->second);
    }
    best = std::move(other);
  }
  return best;
}

bool is_square(const Tensor& tensor) { return tensor.rows() == tensor.columns(); }

// True if one line was written as a column where the lesson has a row, or the reverse.
bool lies_across(const LearnerNode& node) { return node.submitted && node.submitted->lies_across; }

// True if enough wrong matrices could be right when transposed: two square ones, one and a line, or
// another one.
bool may_be_transposed(const std::vector<LearnerNode>& nodes) {
  std::size_t squares = std::ranges::any_of(nodes, lies_across) ? 1 : 0;
  return std::ranges::any_of(nodes, [&](const LearnerNode& node) {
    const Shape shape = node.truth->shape();
    if (shape.size() < 2 || node.unsettled_cells() == 0) return false;
    if (!node.wrong_shape_array) return is_square(*node.truth) && ++squares > 1;
    Shape theirs = transposed(node.wrong_shape_array->shape);
    if (shape.size() > 2 && theirs.size() == 2)
      return theirs == shape_with_heads(HeadLayout::side_by_side, shape);
    if (theirs.size() == shape.size()) std::copy_n(shape.begin(), shape.size() - 2, theirs.begin());
    return theirs == shape;  // perhaps of some heads
  });
}

// What the matrices of a submission tell about it as a whole, when it is transposed.
struct ColumnsEvidence {
  std::size_t for_it = 0;   ///< matrices with at most half of their wrong cells left
  std::size_t against = 0;  ///< matrices that fit only as they are
  bool is_sure = false;     ///< two matrices show it, or one that is not square, or one line
  bool is_whole = false;    ///< a whole wrong matrix becomes right
};

ColumnsEvidence columns_evidence(const Interpretation& transposed, const Interpretation& plain) {
  ColumnsEvidence evidence;
  for (const LearnerNode& node : plain.judgement.nodes) {
    const std::size_t before = node.unsettled_cells();
    const std::size_t after = wrong_in(transposed, node.name);
    evidence.is_sure = evidence.is_sure || lies_across(node);
    if (before == after) continue;
    if (2 * before <= after) ++evidence.against;
    const bool stays_undecided = after > 0 && node.wrong_cells() == 0;
    if (2 * after > before || stays_undecided) continue;
    ++evidence.for_it;
    evidence.is_sure = evidence.is_sure || evidence.for_it > 1 || !is_square(*node.truth);
    evidence.is_whole = evidence.is_whole || after == 0;
  }
  return evidence;
}

// Counts the wrong matrices of the forward pass. Gradients may be transposed for other reasons, so
// they do not count.
auto wrong_in_forward(const Interpretation& interpretation) {
  return std::ranges::count_if(interpretation.judgement.nodes, [](const LearnerNode& node) {
    return node.step && !is_gradient(*node.step->operation) && node.unsettled_cells() > 0;
  });
}

// Interprets tokens as columns, in the whole submission. One transposed matrix among others is a
// slip, and so is a square one alone. One array of a program may hold several matrices, so that a
// whole one shows nothing.
std::optional<Interpretation> as_columns(const Interpreter& interpret,
                                         const Interpretation& plain) {
  const auto& nodes = plain.judgement.nodes;
  if (!interpret.options.allow_columns || !may_be_transposed(nodes)) return {};
  Interpretation transposed = interpret.in_layout({.transposed = true}, plain.wrong);
  if (transposed.wrong >= plain.wrong || wrong_in_forward(transposed) > wrong_in_forward(plain))
    return {};
  const ColumnsEvidence evidence = columns_evidence(transposed, plain);
  const bool is_whole = evidence.is_whole && interpret.submission.scheme.empty();
  const bool is_enough = 2 * transposed.wrong <= plain.wrong || is_whole;
  if (!is_enough || !evidence.is_sure || evidence.against >= evidence.for_it) return {};
  return transposed;
}

// Interprets the heads as the middle axis where there are as many heads as rows.
std::optional<Interpretation> with_heads_inside(const Interpreter& interpret,
                                                const Interpretation& plain) {
  constexpr double nearer = 0, clearly = 0.9;  // a wrong matrix may be nearer by chance
  for (const double least : {nearer, clearly}) {
    auto names = nearer_with_heads_inside(*interpret.trace, plain.submitted, least);
    if (names.empty()) return {};
    Interpretation inside = interpret.in_layout({.heads_inside = std::move(names)}, plain.wrong);
    if (inside.wrong >= plain.wrong) continue;
    const std::size_t before = plain.judgement.wrong_nodes();
    const std::size_t after = inside.judgement.wrong_nodes();
    if (after < before || (after == before && 2 * inside.wrong <= plain.wrong)) return inside;
  }
  return {};
}

}  // namespace

Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options) {
  const std::shared_ptr<const Trace> trace(std::shared_ptr<void>(), &lesson_trace);
  Interpreter interpret{lesson, trace, submission, std::move(options)};
  Interpretation plain = interpret.in_layout({});
  if (plain.judgement.wrong_nodes() == 0 || interpret.options.strict) return plain;
  interpret.options.on_matrix = {};  // progress was already reported
  for (const auto layout_of : {as_columns, with_heads_inside}) {
    if (auto other = layout_of(interpret, plain)) {
      plain = std::move(*other);
      break;
    }
  }
  for (const Convention& convention : all_conventions()) {
    while (convention.variants && plain.wrong > 0) {
      auto other = by_convention(interpret, convention, plain);
      if (!other) break;
      plain = std::move(*other);
    }
  }
  return plain;
}

std::string_view Interpretation::convention_of(const LearnerNode& node) const {
  if (node.finite_mask) return "convention.finite-mask";
  if (node.submitted && node.submitted->heads_inside) return "convention.heads-inside";
  if (!node.rounded_constant.empty()) return "convention.rounded-constant";
  const auto accepted = conventions.find(node.name);
  if (accepted != conventions.end()) return accepted->second;
  if (layout.transposed && node.truth->rank() >= 2) return "convention.columns";
  return {};
}

}  // namespace qkv::inline check
