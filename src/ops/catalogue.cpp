#include "ops/catalogue.hpp"

namespace qkv::inline ops {
namespace {

#define QKV_OPERATION(name) &name##_operation,
constexpr const Operation* every_operation[] = {QKV_OPERATIONS};
#undef QKV_OPERATION

}  // namespace

std::span<const Operation* const> catalogue() { return every_operation; }

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(every_operation, name, &Operation::name);
  return found == std::end(every_operation) ? nullptr : *found;
}

}  // namespace qkv::inline ops
