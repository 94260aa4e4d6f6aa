#pragma once

#include <cstdint>
#include <string>

namespace qkv {

/// A count with its thousands apart: in_thousands(57982058496) is "57,982,058,496".
std::string in_thousands(std::uint64_t count);

}  // namespace qkv
