#include "cli/few_messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.hpp"
#include "text/escape.hpp"

namespace qkv {
namespace {

constexpr std::size_t most = 10;

}  // namespace

bool FewMessages::tell(std::string_view message) {
  if (++count_ > most) return false;
  qkv::tell(fmt::format("qkv: {}\n", visible(message)));
  return true;
}

std::size_t FewMessages::untold() const { return count_ - std::min(count_, most); }

}  // namespace qkv
