#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "interactive/walkthrough.hpp"
#include "terminal/grid_measure.hpp"

namespace qkv {

/// A lesson's matrices as people see them, ready to be shown again and again: those turned over are
/// turned once, and what all of a matrix's numbers decide is looked for once.
class Showcase {
 public:
  const Tensor& shown(const Walkthrough& walk, const std::string& name);
  const GridMeasure& measure(const Walkthrough& walk, const std::string& name, std::size_t matrix);

 private:
  void keep_up(const Walkthrough& walk);

  std::shared_ptr<const LoadedLesson> of_;
  int digits_ = 0;
  std::map<std::string, Tensor> turned_;
  std::map<std::pair<std::string, std::size_t>, GridMeasure> measures_;
};

}  // namespace qkv
