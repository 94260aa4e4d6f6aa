#pragma once

// What most files use of the standard library and of fmt. It is compiled once, before the rest: a
// room's CMakeLists.txt names it as precompiled header. Rarer headers stand in the files that use
// them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
