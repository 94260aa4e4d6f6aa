#include "formats/csv_label.hpp"

namespace qkv::csv {
namespace {

bool runs_as_formula(char c) {
  return std::string_view("=+-@\t\r\n").find(c) != std::string_view::npos;
}

/// Whether a spreadsheet would take `label` for a formula, once the apostrophes that already guard
/// it are taken off.
bool needs_guard(std::string_view label) {
  const std::size_t start = label.find_first_not_of('\'');
  return start != std::string_view::npos && runs_as_formula(label[start]);
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
