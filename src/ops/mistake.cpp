#include "ops/mistake.hpp"

#include "ops/call.hpp"

namespace qkv {

Call call_of(const Source& step) {
  Call call{.step = step.name,
            .inputs = {},
            .names = {},
            .options = step.options,
            .environment = step.environment};
  for (const Source* input : step.inputs) {
    call.inputs.push_back(input->tensor);
    call.names.push_back(input->name);
  }
  return call;
}

const Source* behind(const Source* from, const Operation& operation) {
  while (from && from->operation != &operation) {
    from = from->inputs.empty() ? nullptr : from->inputs.front();
  }
  return from;
}

}  // namespace qkv
