#include "formats/handwork/csv.hpp"

#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats::csv {
namespace {

constexpr char blanks = ' ';                     // the separator if no other occurs
constexpr std::string_view separators = "\t;,";  // the most likely first

// The separator that is equally often in every line, else the one in most lines. The beginning of
// a long file is representative. Separators in quotes do not count.
char separator_of(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  using Counts = std::array<std::size_t, separators.size()>;
  std::vector<Counts> lines;
  Counts counts{};
  bool quoted = false;
  bool is_blank_line = true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    if (c == '"') quoted = !quoted;
    if ((c == '\n' || c == '\r') && (!quoted || i == text.size())) {
      if (!is_blank_line) lines.push_back(counts);
      counts = {};
      is_blank_line = true;
      if (i > enough) break;
      continue;
    }
    is_blank_line = is_blank_line && c == ' ';
    const std::size_t kind = separators.find(c);
    if (!quoted && kind != separators.npos) ++counts[kind];
  }
  Counts lines_with{};
  for (std::size_t kind = 0; kind < separators.size(); ++kind) {
    const auto has_other = [&](const Counts& one) { return one[kind] != lines.front()[kind]; };
    const auto has_any = [&](const Counts& one) { return one[kind] > 0; };
    lines_with[kind] = static_cast<std::size_t>(std::ranges::count_if(lines, has_any));
    if (lines_with[kind] > 0 && std::ranges::none_of(lines, has_other)) return separators[kind];
  }
  const auto most = std::ranges::max_element(lines_with);
  return *most == 0 ? blanks : separators[static_cast<std::size_t>(most - lines_with.begin())];
}

// "|---|:---|", which says nothing.
bool is_rule(std::string_view line) {
  return line.find("--") != line.npos && line.find_first_not_of("|+-:= \t") == line.npos;
}

bool is_framed(std::string_view line) {
  return line.size() > 1 && line.starts_with('|') && line.ends_with('|');
}

// True if bars divide the line. They may stand in the words of another table, too: a|b,0.5,0.5.
bool is_divided(std::string_view line) {
  bool quoted = false;
  const bool has_bar = std::ranges::any_of(line, [&](char c) {
    quoted ^= c == '"';
    return c == '|' && !quoted;
  });
  return has_bar && (is_framed(line) || line.find(" | ") != line.npos ||
                     line.find_first_of(",;\t") == line.npos);
}

// Returns where the first bar is, or the end. In Markdown "\\|" is no bar.
std::size_t end_of_field(std::string_view line) {
  std::size_t bar = line.find('|');
  while (bar != line.npos && bar > 0 && line[bar - 1] == '\\') bar = line.find('|', bar + 1);
  return std::min(bar, line.size());
}

// Returns the text that Markdown shows: a backslash before a mark is left out.
std::string without_escapes(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size() &&
                           std::ispunct(static_cast<unsigned char>(text[i + 1]));
    shown += text[i += is_escape ? 1 : 0];
  }
  return shown;
}

bool is_whole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("+-0123456789") == text.npos;
}

// True if bars divide most lines.
bool is_ruled(std::string_view text) {
  if (text.find('|') == text.npos) return false;
  std::size_t lines = 0;
  std::size_t ruled = 0;
  for (const std::string_view whole : qkv::split(text, '\n')) {
    const std::string_view line = trimmed(whole);
    if (line.empty() || is_rule(line)) continue;
    ++lines;
    ruled += is_divided(line) ? 1 : 0;
  }
  return 2 * ruled > lines;
}

struct Splitter {
  std::string_view text;
  const std::string& where;
  std::size_t most;         // numbers that are read
  std::size_t numbers = 0;  // so far, by their first characters
  std::size_t pos = 0;
  std::size_t newline = 0;
  std::size_t line_end = 0;
  std::size_t line_number = 1;
  Table table = {};
  std::vector<std::size_t> rules = {};  // how many rows stand above each

  Table split(Bars bars) {
    const bool is_table = bars == Bars::separate && is_ruled(text);
    table.separator = is_table ? '|' : separator_of(text);
    const bool by_lines = is_table || table.separator == blanks;
    while (pos < text.size()) by_lines ? split_line() : split_row();
    drop_heading_of_one_column();
    return std::move(table);
  }

  // The row above a table's only rule is a heading. Over one column it would be taken for a cell.
  void drop_heading_of_one_column() {
    std::vector<Row>& rows = table.rows;
    const auto is_cell = [](const Row& row) { return row.size == 1; };
    if (rules != std::vector<std::size_t>{1} || rows.size() < 2) return;
    const std::string_view heading = table.fields[rows.front().first].text;
    const bool is_number =
        is_cell(rows.front()) && heading != "1" && parse_cell(heading).fault == NumeralError::none;
    if (!is_number && std::all_of(rows.begin() + 1, rows.end(), is_cell)) rows.erase(rows.begin());
  }

  // Sets the end of the line at pos, which is the next \n or \r. Each \n is searched for once,
  // also if all lines end in \r.
  void find_line_end() {
    if (newline < pos || pos == 0) newline = std::min(text.find('\n', pos), text.size());
    line_end = std::min(text.substr(0, newline).find('\r', pos), newline);
  }

  void skip_line_end() {
    if (text.substr(pos).starts_with("\r\n")) ++pos;
    if (pos < text.size()) ++pos;
    ++line_number;
  }

  void skip_spaces() {
    while (pos < text.size() && text[pos] == ' ') ++pos;
  }

  // Splits a line at bars or blanks; "#" begins a comment, as NumPy writes it.
  void split_line() {
    Row row{.line = line_number, .first = table.fields.size()};
    find_line_end();
    const std::string_view line = trimmed(text.substr(pos, line_end - pos));
    pos = line_end;
    skip_line_end();
    if (table.separator == '|') {
      if (is_rule(line)) rules.push_back(table.rows.size());
      if (line.empty() || is_rule(line)) return;
      add_ruled(line);
    } else if (line.starts_with('#')) {
      return;
    } else {
      add_words(line);
    }
    if (table.fields.size() == row.first) add_field({});
    row.size = table.fields.size() - row.first;
    table.rows.push_back(row);
  }

  void add_words(std::string_view line) {
    while (!line.empty()) {
      std::size_t stop = std::min(line.find(' '), line.size());
      const bool is_fraction =
          line.substr(stop).starts_with(" / ") && is_whole(line.substr(0, stop));
      const bool is_percentage = line.substr(stop).starts_with(" %");
      if (is_fraction || is_percentage)
        stop = std::min(line.find(' ', stop + (is_fraction ? 3 : 1)), line.size());
      const std::string_view word = line.substr(0, stop);
      const bool is_quoted = word.size() > 1 && word.starts_with('"') && word.ends_with('"');
      if (is_quoted) add_field({.text = word.substr(1, stop - 2), .quoted = true});
      if (stop > 0 && !is_quoted) add_field({.text = word});
      line.remove_prefix(std::min(stop + 1, line.size()));
    }
  }

  // "| the | -0.5 | -0.5 |", or "the | -0.5 -0.5", where blanks divide the numbers.
  void add_ruled(std::string_view line) {
    const bool framed = is_framed(line);
    if (framed) line = line.substr(1, line.size() - 2);
    const auto bars = std::ranges::count(line, '|');
    if (framed && bars == 0) return add_words(trimmed(line));
    for (bool is_last = false; !is_last;) {
      const std::size_t bar = end_of_field(line);
      is_last = bar == line.size();
      if (is_last && bars == 1 && !framed) return add_words(trimmed(line));
      std::string_view field = trimmed(line.substr(0, bar));
      if (field.find('\\') != field.npos) {
        field = table.unquoted.emplace_back(without_escapes(field));
      }
      add_field({.text = field});
      line.remove_prefix(is_last ? bar : bar + 1);
    }
  }

  void add_field(Field field) {
    const char first = field.text.empty() ? '\0' : field.text[0];
    const bool is_number = is_digit(first) || first == '+' || first == '-' || first == '.';
    if (is_number && ++numbers > most) refuse_surplus(where, most);
    table.fields.push_back(field);
  }

  void split_row() {
    Row row{.line = line_number, .first = table.fields.size()};
    find_line_end();
    for (;;) {
      add_field(next_field());
      if (pos == line_end) break;
      ++pos;
    }
    row.size = table.fields.size() - row.first;
    table.rows.push_back(row);
    skip_line_end();
    // Rows are about equally long; the first one, with labels, is often shorter.
    if (table.rows.size() == 2) table.fields.reserve(text.size() / pos * table.fields.size());
  }

  Field next_field() {
    skip_spaces();
    if (pos < text.size() && text[pos] == '"') return quoted_field();
    std::string_view field = text.substr(pos, line_end - pos);
    field = field.substr(0, field.find(table.separator));
    pos += field.size();
    while (field.ends_with(' ')) field.remove_suffix(1);
    return {.text = field};
  }

  Field quoted_field() {
    const std::size_t opened_on = line_number;
    const std::size_t start = ++pos;
    bool doubled = false;
    for (;; ++pos) {
      if (pos == text.size()) {
        refuse_line(opened_on, "a quoted cell is never closed: end it with \"");
      }
      if (text[pos] == '\n') ++line_number;
      if (text[pos] != '"') continue;
      if (!text.substr(pos + 1).starts_with('"')) break;
      doubled = true;
      ++pos;
    }
    const std::string_view inside = text.substr(start, pos - start);
    ++pos;
    if (pos > line_end) find_line_end();
    skip_spaces();
    if (pos < line_end && text[pos] != table.separator) {
      refuse_line(line_number,
                  fmt::format("text after the closing quote of \"{}\": put all of the cell "
                              "in the quotes and write \" inside them as \"\"",
                              printable(inside)));
    }
    if (!doubled) return {.text = inside, .quoted = true};
    table.unquoted.push_back(replace_all(inside, "\"\"", "\""));
    return {.text = table.unquoted.back(), .quoted = true};
  }

  [[noreturn]] void refuse_line(std::size_t line, std::string_view why) const {
    throw InputError("{}: line {}: {}", where, line, why);
  }
};

void refuse_broken_utf8(std::string_view text, const std::string& where) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  if (all < 0x80) return;
  const std::size_t bad = first_bad_byte(text);
  if (bad == text.npos) return;
  throw InputError("{}: line {}: byte 0x{:02x} is not UTF-8 text: save the file as UTF-8", where,
                   1 + std::ranges::count(text.substr(0, bad), '\n'),
                   static_cast<unsigned char>(text[bad]));
}

}  // namespace

Table split(std::string_view text, const std::string& where, std::size_t most, Bars bars) {
  refuse_broken_utf8(text, where);
  return Splitter{text, where, most}.split(bars);
}

}  // namespace qkv::inline formats::csv
