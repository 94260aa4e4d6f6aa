#include "check/world.hpp"

#include <algorithm>
#include <set>

#include "tensor/error.hpp"

namespace qkv {
namespace {

// A tensor that outlives whoever looks at it.
std::shared_ptr<const Tensor> alias_of(const Tensor& tensor) {
  return {std::shared_ptr<void>(), &tensor};
}

bool is_unseen(const LearnerNode& node, std::size_t cell) {
  return node.step && (!node.handed || node.verdicts[cell] == Verdict::blank);
}

bool has_unseen(const LearnerNode& node) {
  if (!node.step || !node.handed) return node.step != nullptr;
  return std::find(node.verdicts.begin(), node.verdicts.end(), Verdict::blank) !=
         node.verdicts.end();
}

Call call_in(const World& world, const Judgement& judgement, const Trace& trace,
             std::size_t index) {
  return call_of(judgement.nodes[index], judgement.nodes, trace,
                 [&](std::size_t input) -> const Tensor& { return world.tensor(input); });
}

}  // namespace

World::World(const Judgement& judgement, const Trace& trace)
    : judgement_(&judgement), trace_(&trace) {
  for (const LearnerNode& node : judgement.nodes) tensors_.push_back(alias_of(node.own));
}

void World::put(std::size_t node, Tensor tensor) {
  tensors_[node] = std::make_shared<const Tensor>(std::move(tensor));
}

World World::with_truth_before(std::size_t node) const {
  World truth = *this;
  for (std::size_t i = 0; i < node; ++i) truth.tensors_[i] = alias_of(*judgement_->nodes[i].truth);
  return truth;
}

Tensor World::worked(std::size_t node) const {
  return judgement_->nodes[node].step->operation->compute(
      call_in(*this, *judgement_, *trace_, node));
}

Tensor World::worked_or(const Tensor& otherwise, std::size_t node) const {
  try {
    return worked(node);
  } catch (const InputError&) {
    return otherwise;
  }
}

void World::exchange(std::size_t at, Tensor made, std::size_t last) {
  cut(made);
  made.dot_width = tensor(at).dot_width;
  put(at, std::move(made));
  std::set<std::size_t> touched = {at};
  for (std::size_t i = 0; i <= last; ++i) {
    const LearnerNode& node = judgement_->nodes[i];
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](std::size_t k) { return touched.contains(k); });
    if (!follows || touched.contains(i) || (node.handed && i != last)) continue;
    Tensor anew = worked(i);
    if (i != last) cut(anew);
    put(i, std::move(anew));
    touched.insert(i);
  }
}

std::optional<Tensor> World::carried_to(std::size_t at, Tensor made, std::size_t node) const {
  if (at == node) return made;
  World changed = *this;
  try {
    changed.exchange(at, std::move(made), node);
  } catch (const InputError&) {
    return {};
  }
  return changed.tensor(node);
}

Expression World::arithmetic(std::size_t node, std::size_t matrix, std::size_t row,
                             std::size_t column) const {
  const Call call = call_in(*this, *judgement_, *trace_, node);
  Cell<Expression> cell;
  cell.call = &call;
  cell.output = &tensor(node);
  cell.matrix = matrix;
  cell.row = row;
  cell.column = column;
  return judgement_->nodes[node].step->operation->cell.expression(cell);
}

std::vector<Source> World::sources(std::size_t last) const {
  std::vector<Source> all(last + 1);
  for (std::size_t i = 0; i <= last; ++i) {
    const LearnerNode& node = judgement_->nodes[i];
    Source& source = all[i];
    source.name = node.name;
    source.tensor = &tensor(i);
    source.environment = &trace_->environment;
    source.operation = node.step ? node.step->operation : nullptr;
    source.options = node.step ? &node.step->options : nullptr;
    for (const std::size_t input : node.inputs) source.inputs.push_back(&all[input]);
  }
  for (Source& source : all) source.all = all;
  return all;
}

void World::cut(Tensor& tensor) const {
  if (!cut_) return;
  for (double& x : tensor.values) x = (*cut_)(x);
}

bool World::cut_unseen(std::size_t node) {
  bool any = false;
  for (std::size_t i = 0; i < node; ++i) {
    const LearnerNode& step = judgement_->nodes[i];
    if (!has_unseen(step)) continue;
    Tensor own = tensor(i);
    Tensor worked = worked_or(step.own, i);
    cut(worked);
    for (std::size_t cell = 0; cell < own.values.size(); ++cell) {
      if (is_unseen(step, cell)) own.values[cell] = worked.values[cell];
    }
    put(i, std::move(own));
    any = true;
  }
  return any;
}

std::vector<std::size_t> unseen_before(const Judgement& judgement, std::size_t node) {
  std::set<std::size_t> unseen;
  std::vector<std::size_t> open = {node};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t input : judgement.nodes[at].inputs) {
      const LearnerNode& before = judgement.nodes[input];
      if (before.handed || !before.step || !unseen.insert(input).second) continue;
      open.push_back(input);
    }
  }
  return {unseen.begin(), unseen.end()};
}

std::vector<World> worlds_of(const Judgement& judgement, const Trace& trace, std::size_t node,
                             int decimals) {
  std::vector<World> worlds = {World(judgement, trace)};
  constexpr int most_decimals = 11;  // by hand; more are a program's, which cuts nothing
  if (decimals <= most_decimals) {
    for (const Cut cut : cuts_to(decimals)) {
      World other = worlds.front();
      other.cut_from_now_on(cut);
      if (!other.cut_unseen(node)) break;
      worlds.push_back(std::move(other));
    }
  }
  const auto is_right = [&](const LearnerNode& before) { return !before.tainted; };
  const auto end = judgement.nodes.begin() + static_cast<std::ptrdiff_t>(node);
  if (std::all_of(judgement.nodes.begin(), end, is_right)) {
    worlds.push_back(worlds.front().with_truth_before(node));
  }
  return worlds;
}

}  // namespace qkv
