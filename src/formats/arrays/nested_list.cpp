#include "formats/arrays/nested_list.hpp"

#include <fmt/format.h>

namespace qkv {
namespace {

constexpr std::size_t unknown = 0;  // the size of lists of which none has been closed

}  // namespace

NestedList::Fault NestedList::open() {
  if (ranked_ && open_.size() >= shape_.size()) {
    return fmt::format("{} is a list where a number was expected", place());
  }
  if (open_.size() == deepest) return fmt::format("lists are nested more than {} deep", deepest);
  open_.push_back(0);
  if (!ranked_) shape_.push_back(unknown);
  return {};
}

NestedList::Fault NestedList::close() {
  const std::size_t count = open_.back();
  std::size_t& size = shape_[open_.size() - 1];
  if (count == 0) return fmt::format("{} is an empty list", parent());
  if (size == unknown) size = count;
  if (size != count) {
    return fmt::format("{} has {} {}, the one before it has {}", parent(), count,
                       count == 1 ? "entry" : "entries", size);
  }
  open_.pop_back();
  if (!open_.empty()) ++open_.back();
  return {};
}

NestedList::Fault NestedList::add(Numeral cell) {
  if (!ranked_) {
    ranked_ = true;
    is_number_ = open_.empty();
  } else if (open_.size() != shape_.size()) {
    return fmt::format("{} is a number where a list was expected", place());
  }
  cells_.push_back(cell);
  if (!open_.empty()) ++open_.back();
  return {};
}

Written NestedList::take() {
  Written written;
  written.shape = is_number_ ? Shape{1} : std::move(shape_);
  written.cells = std::move(cells_);
  return written;
}

std::string NestedList::entry(std::size_t depth, std::size_t extra) const {
  if (depth == 0) return "it";
  std::string text = "entry ";
  for (std::size_t d = 0; d < depth; ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : ",", open_[d] + (d + 1 == depth ? extra : 1));
  }
  return text;
}

}  // namespace qkv
