#include "ops/call.hpp"

#include <fmt/format.h>

#include "tensor/tensor.hpp"
#include "text/error.hpp"

namespace qkv {

std::string operand_text(const Call& call, std::size_t k) {
  return fmt::format("{} ({})", call.names[k], shown_shape(*call.inputs[k], call.convention));
}

void refuse(const Call& call, std::string_view what) {
  throw InputError(fmt::format("{}: {}", call.step, what));
}

}  // namespace qkv
