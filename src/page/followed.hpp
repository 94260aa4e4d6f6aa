#pragma once

#include <string>
#include <vector>

#include "page/report_view.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// The givens whose numbers a page may change, since it can work out everything that follows: all
/// is shown, there is as much of it as a person works out by hand, and which cells each cell is
/// made of, and how, is the same whatever the numbers are. So no ids and no mask that is given,
/// nothing that they are made of, and nothing that ends in a function that a browser lacks.
std::vector<std::string> givens_to_change(const Trace& trace, const std::vector<TensorView>& views);

}  // namespace qkv
