#pragma once

#include <string>
#include <string_view>

namespace qkv::inline document {

/// Safe text (see text/visible.hpp) as LaTeX sets it, in text mode or in \text: every mark that
/// LaTeX would act on is escaped, √ and ᵀ become mathematics, and a character that pdflatex's own
/// fonts lack becomes \unicodechar{732B}{猫}, which the document defines.
std::string latex_text(std::string_view text);

/// The same for prose and headings, where straight quotes open and close: `` and ''.
std::string latex_prose(std::string_view text);

/// LaTeX whose commands stay as they are, such as the arithmetic of a cell: characters beyond ASCII
/// are replaced as above, and the marks that LaTeX's default fonts show as something else.
std::string latex_characters(std::string_view latex);

}  // namespace qkv::inline document
