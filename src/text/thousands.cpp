#include "text/thousands.hpp"

namespace qkv {

std::string in_thousands(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

}  // namespace qkv
