#pragma once

#include <string>
#include <string_view>

namespace qkv {

/// Safe text (see text/visible.hpp) as HTML for where text runs from the left: labels whose letters
/// run from the right stand by themselves and leave the rest where it is,
/// `Q[<bdi>החתול</bdi>,1]`.
std::string html_isolated(std::string_view text);

/// A text that is an element by itself: a paragraph, a heading, a label. Where most of its letters
/// run from the right, the element does, and cells and signed numbers in it are isolated.
struct Directed {
  std::string attributes;  ///< ` dir="rtl" lang="he"`, the language told by the letters; or empty
  std::string html;
};
Directed directed(std::string_view text);

/// The same within a line: between <bdi> tags where it runs from the right.
std::string html_inline(std::string_view text);

}  // namespace qkv
