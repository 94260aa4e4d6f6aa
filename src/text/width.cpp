#include "text/width.hpp"

#include <algorithm>

#include "text/cluster.hpp"

namespace qkv {
namespace {

/// What one code point adds to the width of its cluster.
std::size_t added_width(Code code, bool is_first) {
  const auto* property = utf8proc_get_property(code);
  // The vowel and the final consonant of a Korean syllable are drawn inside its block.
  const bool inside_syllable = property->boundclass == UTF8PROC_BOUNDCLASS_V ||
                               property->boundclass == UTF8PROC_BOUNDCLASS_T;
  if (inside_syllable && !is_first) return 0;
  // Marks that stand beside their letter (नि) have a column of their own in wcwidth and in most
  // terminals; utf8proc counts none.
  if (utf8proc_category(code) == UTF8PROC_CATEGORY_MC) return 1;
  return static_cast<std::size_t>(std::max(0, utf8proc_charwidth(code)));
}

/// One picture is drawn for a whole emoji sequence and for a flag; elsewhere widths add up.
std::size_t cluster_width(std::string_view cluster) {
  const Code first = decoded(cluster, 0).code;
  if (first == bad_byte) return 1;
  std::size_t sum = 0, widest = 0, codes = 0;
  bool coloured = false;
  for (std::size_t at = 0; at < cluster.size(); ++codes) {
    const auto [code, bytes] = decoded(cluster, at);
    const std::size_t added = added_width(code, at == 0);
    sum += added;
    widest = std::max(widest, added);
    coloured = coloured || code == emoji_selector;
    at += bytes;
  }
  if (coloured || (codes == 2 && is_regional_indicator(first))) return 2;
  return is_pictograph(first) ? widest : sum;
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

std::size_t room(std::string_view text, std::size_t columns) {
  const std::size_t used = width(text);
  return used < columns ? columns - used : 0;
}

}  // namespace

Cluster cluster_at(std::string_view text, std::size_t at) {
  // An ASCII character is a cluster of its own unless a mark follows: most text goes this way.
  const bool alone = at + 1 == text.size() || is_printable_ascii(text[at + 1]);
  if (alone && is_printable_ascii(text[at])) {
    return {text.substr(at, 1), static_cast<Code>(text[at]), 1};
  }
  const auto [first, first_bytes] = decoded(text, at);
  std::size_t end = at + first_bytes;
  utf8proc_int32_t state = 0;
  for (Code previous = first; previous != bad_byte && end < text.size();) {
    const auto [code, bytes] = decoded(text, end);
    if (code == bad_byte || utf8proc_grapheme_break_stateful(previous, code, &state)) break;
    end += bytes;
    previous = code;
  }
  const std::string_view cluster = text.substr(at, end - at);
  return {cluster, first, cluster_width(cluster)};
}

std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Cluster cluster = cluster_at(text, at);
    if (used + cluster.width > columns) break;
    used += cluster.width;
    at += cluster.text.size();
  }
  return text.substr(0, at);
}

std::size_t width(std::string_view text) {
  if (is_printable_ascii(text)) return text.size();
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    sum += cluster.width;
    at += cluster.text.size();
  }
  return sum;
}

std::string padded_left(std::string_view text, std::size_t columns) {
  return blanks(room(text, columns)).append(text);
}

std::string padded_right(std::string_view text, std::size_t columns) {
  return std::string(text) + blanks(room(text, columns));
}

std::string padded_centre(std::string_view text, std::size_t columns) {
  const std::size_t left = room(text, columns) / 2;
  return blanks(left).append(padded_right(text, columns - left));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(beginning(text, columns - 1)) + "…";
}

}  // namespace qkv
