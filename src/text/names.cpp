#include "text/names.hpp"

namespace qkv {

void Names::add(std::string name) {
  places_.try_emplace(name, all_.size());
  all_.push_back(std::move(name));
}

std::optional<std::size_t> Names::place(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace qkv
