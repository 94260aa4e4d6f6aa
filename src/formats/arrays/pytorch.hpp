#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/format.hpp"

namespace qkv::inline formats {

/// Reads a file of torch.save: a zip with a pickle and the tensors' numbers. It runs no code: the
/// pickle may hold tensors, parameters, dictionaries, lists, texts and numbers, and nothing else.
/// Returns the tensors, named by their keys ("model.h.0.weight", counted from 0 in lists), without
/// a name if the file is one tensor. Throws InputError (prefix `where`) for anything else, which
/// the message names. Source: PyTorch's torch/serialization.py; Python's pickletools.py.
std::vector<NamedArray> read_pytorch(std::string_view bytes, const std::string& where,
                                     const ReadOptions& wanted);

}  // namespace qkv::inline formats
