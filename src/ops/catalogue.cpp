#include "ops/catalogue.hpp"

namespace qkv::inline ops {
namespace {

#define QKV_OPERATION(name) &name##_operation,
constexpr const Operation* all[] = {QKV_OPERATIONS};
#undef QKV_OPERATION

}  // namespace

std::span<const Operation* const> catalogue() { return all; }

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(all, name, &Operation::name);
  return found == std::end(all) ? nullptr : *found;
}

}  // namespace qkv::inline ops
