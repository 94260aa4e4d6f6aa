#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkv {

using Shape = std::vector<std::size_t>;

/// What the places along an axis are called: one list that never changes, which all copies share.
class AxisLabels {
 public:
  AxisLabels() = default;
  AxisLabels(std::vector<std::string> labels)
      : all_(labels.empty() ? nullptr : std::make_shared<const All>(std::move(labels))) {}
  AxisLabels(std::initializer_list<std::string> labels) : AxisLabels(All(labels)) {}

  bool empty() const { return all_ == nullptr; }
  std::size_t size() const { return all_ ? all_->size() : 0; }
  const std::string* begin() const { return all_ ? all_->data() : nullptr; }
  const std::string* end() const { return begin() + size(); }
  const std::string& operator[](std::size_t i) const { return (*all_)[i]; }

  friend bool operator==(const AxisLabels& a, const AxisLabels& b) {
    return a.all_ == b.all_ || std::ranges::equal(a, b);
  }

 private:
  using All = std::vector<std::string>;
  std::shared_ptr<const All> all_;  // none where it would be empty
};

/// One direction of a tensor: what it counts, how many there are, and what each is called.
struct Axis {
  std::string name;  ///< "query", "d_k", "head"; empty where nothing is known
  std::size_t size = 0;
  /// None; one for each index; or, where the sentences of a batch have words of their own, one for
  /// each index of the first sentence, then of the second, and so on.
  AxisLabels labels = {};

  /// The label of index `i` in sentence `batch`; empty where there is none.
  std::string_view label(std::size_t i, std::size_t batch = 0) const;
};

}  // namespace qkv
