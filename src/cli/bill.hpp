#pragma once

#include <string_view>

namespace qkv {

/// The libraries that are linked into this program, with their versions, as an SPDX 2.3 document in
/// its tag: value form. cmake/bill.cmake writes it.
std::string_view bill_of_materials();

}  // namespace qkv
