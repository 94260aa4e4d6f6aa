#pragma once

#include "ops/operation.hpp"

namespace qkv::inline ops {

/// The option of steps that align queries with keys.
inline constexpr std::string_view alignments[] = {"end", "start"};
inline constexpr OptionRule align_option{
    .name = "align",
    .help = "where there are fewer queries than keys: they are the last tokens, or the first",
    .list = alignments};

/// Returns the key that belongs to the first query, counted from 0.
std::size_t first_query(const Call& call);

/// The keys that one query sees: from `from` to before `to`.
struct KeyRange {
  std::size_t from = 0;
  std::size_t to = 0;

  bool has(std::size_t key) const { return from <= key && key < to; }
};

/// A mask that depends on positions only.
struct MaskPattern {
  enum class Kind { causal, sliding_window, prefix };

  Kind kind = Kind::causal;
  std::size_t first = 0;  ///< the key that belongs to the first query
  std::size_t keys = 0;
  std::size_t width = 0;   ///< of a window: the number of keys, the query's own included
  bool both = false;       ///< the window also covers as many later keys
  std::size_t prefix = 0;  ///< number of keys that every query sees

  KeyRange operator()(std::size_t query) const;
};

/// True if a mask of that kind depends on positions only.
bool is_positional_mask(std::string_view kind);

/// Returns the pattern of a mask step. Throws InputError if an option is missing.
MaskPattern mask_pattern_of(const Call& call, std::string_view kind);

}  // namespace qkv::inline ops
