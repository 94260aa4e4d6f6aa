#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace qkv {

/// Takes the bytes of a file, piece after piece.
using Sink = std::function<void(std::string_view)>;

/// What goes into a file: hands it to the sink, piece after piece.
using FileContent = std::function<void(const Sink&)>;

/// A tensor on its way into a file that names what it holds. The tensor must outlive it.
struct NamedTensor {
  std::string name;
  const Tensor* tensor = nullptr;
};

}  // namespace qkv
