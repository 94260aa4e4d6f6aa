#pragma once

#include <string>
#include <string_view>

namespace qkv::inline document {

/// Escapes sanitised text (see text/visible.hpp) for LaTeX's text mode or \text. √ and ᵀ become
/// mathematics; characters that pdflatex's fonts lack become \unicodechar{732B}{猫}, a command that
/// the document defines.
std::string latex_text(std::string_view text);

/// Escapes prose and headings as latex_text does, with straight quotes as `` and ''.
std::string latex_prose(std::string_view text);

/// Replaces non-ASCII characters in LaTeX code, such as a cell's arithmetic, and ASCII that the
/// default fonts show as other characters. Commands stay.
std::string latex_characters(std::string_view latex);

}  // namespace qkv::inline document
