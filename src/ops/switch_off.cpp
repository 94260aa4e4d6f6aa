#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "text/error.hpp"

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
    const bool off = c.matrix % heads_of(*c.call) == head_of(*c.call);
    return off ? N(0.0) : c(0)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    const Tensor& all = *call.inputs[0];
    const std::size_t leading = all.leading_axes();
    if (leading == 0 || all.axes[leading - 1].name == "batch") {
      throw InputError(fmt::format("{}: {} ({}) has no axis of heads to switch one off", call.step,
                                   call.names[0], shape_text(all.shape())));
    }
    const double head = call.options->number("head", 1);
    if (head < 1 || head > static_cast<double>(heads_of(call))) {
      throw InputError(fmt::format("{}: there is no head {} in {}; its heads are 1 to {}",
                                   call.step, head, call.names[0], heads_of(call)));
    }
    return cell_by_cell(call, unwritten(all.axes), cell<double>);
  }

 private:
  static std::size_t heads_of(const Call& call) {
    const Tensor& all = *call.inputs[0];
    return all.axes[all.leading_axes() - 1].size;
  }

  static std::size_t head_of(const Call& call) {
    return static_cast<std::size_t>(call.options->number("head", 1)) - 1;
  }
};

}  // namespace

constinit const Operation switch_off_operation{
    .name = "switch_off",
    .title = "Switch one head off",
    .says =
        "What one head found becomes 0; the other heads stay as they are. What the model can no "
        "longer do, it did with that head.",
    .notice = "Only one head has changed.",
    .operands = R"(["context"])",
    .options = switch_off_options,
    .form = SwitchOff::form,
    .compute = SwitchOff::compute,
    .cell = readings_of<SwitchOff>(),
};

}  // namespace qkv
