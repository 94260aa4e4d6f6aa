#include "interactive/showcase.hpp"

namespace qkv {

void Showcase::keep_up(const Walkthrough& walk) {
  if (of_ == walk.now && digits_ == walk.digits) return;
  if (of_ != walk.now) turned_.clear();
  measures_.clear();
  of_ = walk.now;
  digits_ = walk.digits;
}

const Tensor& Showcase::shown(const Walkthrough& walk, const std::string& name) {
  keep_up(walk);
  const Tensor& tensor = walk.trace().at(name);
  if (!is_turned(tensor, walk.trace().convention)) return tensor;
  const auto found = turned_.find(name);
  return found != turned_.end() ? found->second
                                : turned_.emplace(name, transposed(tensor)).first->second;
}

const GridMeasure& Showcase::measure(const Walkthrough& walk, const std::string& name,
                                     std::size_t matrix) {
  keep_up(walk);
  const auto found = measures_.find({name, matrix});
  if (found != measures_.end()) return found->second;
  const Tensor& tensor =
      walk.trace().at(name);  // turning a matrix over changes none of its numbers
  return measures_.emplace(std::pair(name, matrix), measured(tensor.cells(matrix), walk.digits))
      .first->second;
}

}  // namespace qkv
