#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "model/weights.hpp"

namespace qkv {

/// What the tensors of a layer are called behind its number, and which of them hold no weights.
struct LayerNames {
  std::string_view kind;  ///< "GPT-2", for messages
  std::span<const std::string_view> parts;
  std::span<const std::string_view> buffers;
};

/// The matrix of that name. Throws InputError where there is none, or it is no matrix.
const SafetensorsEntry& matrix_of(const Weights& weights, const std::string& name);

/// How many layers the tensors tell of whose names begin with `start` ("transformer.h."). Throws
/// InputError where they are not 0, 1, 2, …, or one has a tensor that no such layer has.
std::size_t count_layers(const Weights& weights, const std::string& start, const LayerNames& names);

/// Throws InputError for the first tensor outside the layers that is not among `known`.
void refuse_strangers(const Weights& weights, const std::string& start, std::string_view kind,
                      std::span<const std::string> known);

/// The first few names that were met, for messages.
std::string names_met(const Weights& weights);

}  // namespace qkv
