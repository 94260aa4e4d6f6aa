#pragma once

#include <cstddef>

#include "ops/operation.hpp"
#include "ops/options.hpp"

namespace qkv::inline ops {

/// The option of steps that know where a query stands among the keys.
inline constexpr std::string_view alignments[] = {"end", "start"};
inline constexpr OptionRule align_option{
    .name = "align",
    .says = "where there are fewer queries than keys: they are the last tokens, or the first",
    .list = alignments};

/// The key that belongs to the first query, counted from 0.
std::size_t first_query(const Call& call);

/// The keys that one query sees, those from `from` to before `to`.
struct KeyRange {
  std::size_t from = 0;
  std::size_t to = 0;

  bool has(std::size_t key) const { return from <= key && key < to; }
};

/// What a mask shows by places alone.
struct MaskPattern {
  enum class Kind { causal, sliding_window, prefix };

  Kind kind = Kind::causal;
  std::size_t first = 0;  ///< the key that belongs to the first query
  std::size_t keys = 0;
  std::size_t width = 0;   ///< of a window: so many keys, the query's own among them
  bool both = false;       ///< also those that follow
  std::size_t prefix = 0;  ///< so many keys are for all

  KeyRange operator()(std::size_t query) const;
};

/// Whether the mask of that kind goes by places.
bool is_positional_mask(std::string_view kind);

/// Of a step of op mask. Throws InputError where an option is missing.
MaskPattern mask_pattern_of(const Call& call, std::string_view kind);

}  // namespace qkv::inline ops
