#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/result.hpp"

namespace qkv {
namespace {

constexpr OptionRule switch_off_options[] = {
    {.name = "head",
     .says = "which head is switched off; the first is 1",
     .numbers = OptionRule::Numbers::whole,
     .required = true},
};

struct SwitchOff {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "{0}, with 0 in the head that is off"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto head = static_cast<double>(c.matrix % heads_of(c.input(0)) + 1);
    return head == head_of(*c.call) ? N(0.0) : c(0)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    refuse_without_heads(call, " to switch one off");
    const Tensor& all = *call.inputs[0];
    const double head = head_of(call);
    if (head < 1 || head > static_cast<double>(heads_of(all))) {
      refuse(call, fmt::format("there is no head {} in {}; its heads are 1 to {}", head,
                               call.names[0], heads_of(all)));
    }
    return cell_by_cell(call, unwritten(all.axes), cell<double>);
  }

 private:
  static double head_of(const Call& call) { return call.options->number("head", 1); }
};

// What was switched off has no part in what came after.
struct SwitchOffBack : SwitchOff {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "{0}, with 0 in the head that is off"};
  }

  static Tensor compute(const Call& call) {
    require_arriving(call, call.inputs[own_operand]->shape());
    return SwitchOff::compute(call);
  }
};

constinit const Operation switch_off_back = gradient_of<SwitchOffBack>({
    .title = "Back to the heads that are on",
    .says = "The head that was switched off has no part in the loss: its gradient is 0.",
    .notice = "The gradients of the other heads pass as they are.",
});

WayBack back_through_switch_off(const Use&) { return {&switch_off_back}; }

}  // namespace

constinit const Operation switch_off_operation = operation_of<SwitchOff>({
    .name = "switch_off",
    .title = "Switch one head off",
    .says =
        "What one head found becomes 0; the other heads stay as they are. What the model can no "
        "longer do, it did with that head.",
    .notice = "Only one head has changed.",
    .operands = R"(["context"])",
    .options = switch_off_options,
    .way_back = back_through_switch_off,
});

}  // namespace qkv
