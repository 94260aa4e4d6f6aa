#include "text/counted.hpp"

#include <fmt/format.h>

namespace qkv {

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace qkv
