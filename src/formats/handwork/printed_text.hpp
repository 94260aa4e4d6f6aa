#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "formats/handwork/pasted_source.hpp"

namespace qkv::pasted {

/// Where the first bracket of a matrix stands, if nothing but a name, a prompt or a call leads up
/// to it: "A = [", "tensor([", ">>> np.array([", "Out[3]: array([".
std::optional<std::size_t> opening_bracket(std::string_view text);

/// Reads the nested lists that open at `start`, as NumPy, PyTorch, Python and MATLAB write them,
/// and checks that lists of one level are of one size. After them there may be what ends a call,
/// and nothing that could change the numbers. Throws InputError with the line.
Written read_brackets(const Source& source, std::size_t start);

}  // namespace qkv::pasted
