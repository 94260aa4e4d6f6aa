#include "formats/handwork/csv_label.hpp"

#include <algorithm>
#include <array>

#include "text/unicode.hpp"

namespace qkv::csv {
namespace {

using namespace std::string_view_literals;

// What begins a formula, and its full-width twins, which some spreadsheets read alike.
constexpr std::array starts = {"="sv,  "+"sv,  "-"sv,  "@"sv,  "\t"sv, "\r"sv,
                               "\n"sv, "＝"sv, "＋"sv, "－"sv, "＠"sv};

// Blanks of every kind, and what is not seen: controls, marks of direction, soft hyphens, zero
// widths. A spreadsheet may pass over them.
bool is_passed_over(Code code) {
  return code != bad_byte && (is_unseen(code) || category_group(code) == 'Z');
}

bool starts_formula(std::string_view text) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

/// Whether a spreadsheet might take `label` for a formula, once the apostrophes that already guard
/// it are taken off.
bool needs_guard(std::string_view label) {
  label.remove_prefix(std::min(label.find_first_not_of('\''), label.size()));
  while (!label.empty() && !starts_formula(label)) {
    const Decoded first = decoded(label, 0);
    if (!is_passed_over(first.code)) return false;
    label.remove_prefix(first.bytes);
  }
  return !label.empty();
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
