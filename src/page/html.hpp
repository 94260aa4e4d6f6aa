#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exposition/step_words.hpp"
#include "text/wrapping.hpp"

namespace qkv::inline page {

/// Text between tags or in a quoted attribute: nothing in it is a tag or an entity.
std::string html_escaped(std::string_view text);

/// A name or a line from a lesson as HTML: no tags but those that isolate letters from the right,
/// and nothing hides or turns the reading direction (see `sanitise`).
std::string html_text(std::string_view text);

/// The same for an attribute or the page's title, where no tags can be.
std::string html_attribute(std::string_view text);

/// A heading or a line between its tags, which say in which direction it runs (see direction.hpp):
/// `html_element("h1", "The fat cat")` is `<h1>The fat cat</h1>`.
std::string html_element(std::string_view tag, std::string_view text);

/// A row's or column's label as the cell that heads it, `attributes` among its own. A long one is
/// cut to what a table has room for, and told whole where it is pointed at.
std::string html_label(std::string_view label, std::string_view attributes = "");

/// Prose as paragraphs, lists and code.
std::string html_prose(const std::vector<Passage>& passages);

/// JSON between <script> tags: nothing in it can end the script or begin a comment.
std::string json_for_html(std::string json);

/// The formula of a step as MathML, each operand with its shape below; `explanation` is what stands
/// for it where there is no MathML. Example: pieces of `Q · Kᵀ`, result "scores", its shape "7×7".
std::string mathml(const std::vector<FormulaPiece>& pieces, std::string_view result,
                   std::string_view result_shape, std::string_view explanation);

/// Safe text (see text/visible.hpp) as HTML for where text runs from the left: labels whose letters
/// run from the right stand by themselves and leave the rest where it is,
/// `Q[<bdi>החתול</bdi>,1]`.
std::string html_isolated(std::string_view text);

/// A text that is an element by itself: a paragraph, a heading, a label. Where most of its letters
/// run from the right, the element does, and cells and signed numbers in it are isolated.
struct BidiText {
  std::string attributes;  ///< ` dir="rtl" lang="he"`, the language told by the letters; or empty
  std::string html;
};
BidiText bidi_text(std::string_view text);

/// The same within a line: between <bdi> tags where it runs from the right.
std::string html_inline(std::string_view text);

}  // namespace qkv::inline page
