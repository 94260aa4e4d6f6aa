#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exposition/step_words.hpp"
#include "text/wrapping.hpp"

namespace qkv::inline page {

/// Returns a name or line as sanitised HTML, whose only tags isolate right-to-left parts.
std::string html_text(std::string_view text);

/// Returns the text for an attribute or the page's title, where tags are not allowed.
std::string html_attribute(std::string_view text);

/// Returns a heading or line as an element, with direction attributes as in bidi_text:
/// `html_element("h1", "The fat cat")` is `<h1>The fat cat</h1>`.
std::string html_element(std::string_view tag, std::string_view text);

/// Returns a row's or column's label as a header cell; a long one is whole in the tooltip only.
std::string html_label(std::string_view label, std::string_view attributes = "");

/// Returns prose as paragraphs, lists and code.
std::string html_prose(const std::vector<Passage>& passages);

/// Escapes JSON for a <script> element: it cannot end the script or begin a comment.
std::string json_for_html(std::string json);

/// Returns a step's formula as MathML, each operand with its shape below it; `explanation` is the
/// alternative text. Example: pieces of `Q · Kᵀ`, result "scores", its shape "7×7".
std::string mathml(const std::vector<FormulaPiece>& pieces, std::string_view result,
                   std::string_view result_shape, std::string_view explanation);

/// Escapes sanitised text (see text/visible.hpp) for a left-to-right context. Right-to-left labels
/// are isolated, so that the rest keeps its place: `Q[<bdi>החתול</bdi>,1]`.
std::string html_isolated(std::string_view text);

/// The text of an element: a paragraph, a heading, a label. It runs right to left if most letters
/// do; then cells and signed numbers in it are isolated.
struct BidiText {
  std::string attributes;  ///< ` dir="rtl" lang="he"`, the language by its letters; or empty
  std::string html;
};
BidiText bidi_text(std::string_view text);

/// Returns the text for use inside a line: wrapped in <bdi> if it runs right to left.
std::string html_inline(std::string_view text);

}  // namespace qkv::inline page
