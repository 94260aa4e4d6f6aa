#include "check/judge/learner.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

constexpr std::string_view names[] = {"correct", "rounding", "carried", "wrong", "blank", "shape"};

}  // namespace

std::string_view verdict_name(Verdict verdict) { return names[static_cast<std::size_t>(verdict)]; }

std::size_t LearnerNode::wrong_cells() const {
  if (misshapen) return misshapen->cells.size();
  return static_cast<std::size_t>(std::count(verdicts.begin(), verdicts.end(), Verdict::wrong));
}

bool LearnerNode::has_number(std::size_t cell) const {
  return handed && !handed->cells[cell].is_blank() && handed->cells[cell].unread == 0;
}

bool LearnerNode::is_exact(std::size_t cell) const {
  return !exact.empty() && !std::isnan(exact[cell]);
}

std::size_t Judgement::wrong_nodes() const {
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const LearnerNode& node) { return node.wrong_cells() > 0; }));
}

std::size_t Judgement::wrong_cells() const {
  std::size_t count = 0;
  for (const LearnerNode& node : nodes) count += node.wrong_cells();
  return count;
}

Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  return call_with(node, trace, [&](std::size_t k) -> const Tensor& {
    return node.has_lessons_inputs ? *judgement.nodes[k].truth : judgement.nodes[k].own;
  });
}

}  // namespace qkv
