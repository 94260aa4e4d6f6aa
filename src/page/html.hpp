#pragma once

#include "exposition/exposition.hpp"

namespace qkv::inline page {

/// Returns a name or line as sanitised HTML that runs from left to right. Its only tags isolate
/// labels in letters from the right, so that the rest keeps its place: `Q[<bdi>החתול</bdi>,1]`.
std::string html_text(std::string_view text);

/// Returns the text for an attribute or the page's title, where tags are not allowed.
std::string html_attribute(std::string_view text);

/// Return words whose first letter decides in the browser in which direction they run: inside a
/// line, or as an element. Example: `html_element("h1", "The cat")` is `<h1 dir="auto">The
/// cat</h1>`.
std::string html_inline(std::string_view text);
std::string html_element(std::string_view tag, std::string_view text);

/// Returns a row's or column's label as a header cell; a long one is whole in the tooltip only.
std::string html_label(std::string_view label, std::string_view attributes = "");

/// Returns prose as paragraphs, lists and code.
std::string html_prose(const std::vector<Passage>& passages);

/// Returns a step's formula, each operand with its shape in <small>.
std::string html_formula(const Formula& formula);

/// Escapes JSON for a <script> element: it cannot end the script or begin a comment.
std::string json_for_html(std::string_view json);

}  // namespace qkv::inline page
