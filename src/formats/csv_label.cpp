#include "formats/csv_label.hpp"

#include <algorithm>
#include <array>

namespace qkv::csv {
namespace {

using namespace std::string_view_literals;

// What begins a formula, and its full-width twins, which some spreadsheets read alike.
constexpr std::array starts = {"="sv,  "+"sv,  "-"sv,  "@"sv,  "\t"sv, "\r"sv,
                               "\n"sv, "＝"sv, "＋"sv, "－"sv, "＠"sv};

// Blanks and marks without a shape of their own, which a spreadsheet may pass over: a blank, the
// no-break, wide and zero-width ones, and the byte order mark.
constexpr std::array passed_over = {" "sv,      "\u00A0"sv, "\u3000"sv,
                                    "\u200B"sv, "\u2060"sv, "\uFEFF"sv};

template <std::size_t N>
std::string_view front_of(std::string_view text, const std::array<std::string_view, N>& marks) {
  const auto found = std::find_if(marks.begin(), marks.end(),
                                  [&](std::string_view mark) { return text.starts_with(mark); });
  return found == marks.end() ? std::string_view() : *found;
}

/// Whether a spreadsheet might take `label` for a formula, once the apostrophes that already guard
/// it are taken off.
bool needs_guard(std::string_view label) {
  label.remove_prefix(std::min(label.find_first_not_of('\''), label.size()));
  while (!front_of(label, passed_over).empty()) {
    label.remove_prefix(front_of(label, passed_over).size());
  }
  return !front_of(label, starts).empty();
}

}  // namespace

std::string label_cell(std::string_view label) {
  std::string text(label);
  if (needs_guard(label)) text.insert(text.begin(), '\'');
  const bool has_marks = text.find_first_of(",;\t\"\r\n") != std::string::npos;
  const bool blank_at_an_end = text.starts_with(' ') || text.ends_with(' ');
  if (!has_marks && !blank_at_an_end) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string label_of(std::string_view cell) {
  const bool guarded = cell.starts_with('\'') && needs_guard(cell);
  return std::string(cell.substr(guarded ? 1 : 0));
}

}  // namespace qkv::csv
