#include "formats/handwork/csv_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/utf8.hpp"

namespace qkv::csv {
namespace {

constexpr char blanks = ' ';                     // the separator of a file in which no other occurs
constexpr std::string_view separators = "\t;,";  // the likeliest first, where a file has several

// ---------------------------------------------------------------- which separator

/// How often one separator stands in the lines of a file.
struct Tally {
  std::size_t in_first_line = 0;
  std::size_t in_this_line = 0;
  std::size_t lines_with = 0;
  bool even = true;  ///< as often in every line as in the first
};

using Tallies = std::array<Tally, separators.size()>;

void close_line(Tallies& tallies, bool first_line) {
  for (Tally& tally : tallies) {
    if (first_line) tally.in_first_line = tally.in_this_line;
    tally.even = tally.even && tally.in_this_line == tally.in_first_line;
    tally.lines_with += tally.in_this_line > 0 ? 1 : 0;
    tally.in_this_line = 0;
  }
}

/// Counts what stands outside quotes. The start of a long file says enough about all of it.
Tallies count_separators(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  Tallies tallies;
  bool quoted = false;
  bool blank_line = true;
  bool first_line = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) {
      if (!blank_line) close_line(tallies, first_line);
      first_line = first_line && blank_line;
      blank_line = true;
      if (i > enough) return tallies;
      continue;
    }
    if (c != ' ') blank_line = false;
    const std::size_t kind = separators.find(c);
    if (!quoted && kind != std::string_view::npos) ++tallies[kind].in_this_line;
  }
  if (!blank_line) close_line(tallies, first_line);
  return tallies;
}

/// The separator that parts every line alike; else the one found in most lines.
char separator_of(std::string_view text) {
  const Tallies tallies = count_separators(text);
  for (std::size_t kind = 0; kind < separators.size(); ++kind) {
    if (tallies[kind].even && tallies[kind].in_first_line > 0) return separators[kind];
  }
  const auto most =
      std::max_element(tallies.begin(), tallies.end(),
                       [](const Tally& a, const Tally& b) { return a.lines_with < b.lines_with; });
  if (most->lines_with == 0) return blanks;
  return separators[static_cast<std::size_t>(most - tallies.begin())];
}

// ---------------------------------------------------------------- text → table of fields

/// Walks through a text and takes it apart, row by row.
class Splitter {
 public:
  Splitter(std::string_view text, const std::string& where) : text_(text), where_(where) {
    table_.separator = separator_of(text);
  }

  Table split() {
    while (pos_ < text_.size()) table_.separator == blanks ? split_line() : split_row();
    return std::move(table_);
  }

 private:
  bool at_line_end() const {
    return pos_ == text_.size() || text_[pos_] == '\n' || text_[pos_] == '\r';
  }

  void skip_line_end() {
    if (text_.substr(pos_).starts_with("\r\n")) ++pos_;
    if (pos_ < text_.size()) ++pos_;
    ++line_;
  }

  void skip_spaces() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }

  /// A line of numbers with blanks between them; "#" opens a comment, as NumPy writes it.
  void split_line() {
    Row row{.line = line_, .first = table_.fields.size()};
    const std::size_t end = std::min(text_.find_first_of("\r\n", pos_), text_.size());
    const bool comment = text_[pos_] == '#';
    for (skip_spaces(); !comment && pos_ < end; skip_spaces()) {
      const std::size_t stop = std::min(text_.find(' ', pos_), end);
      table_.fields.push_back({.text = text_.substr(pos_, stop - pos_)});
      pos_ = stop;
    }
    pos_ = end;
    row.size = table_.fields.size() - row.first;
    if (row.size == 0 && !comment) row.size = add_empty_field();
    if (row.size > 0) table_.rows.push_back(row);
    skip_line_end();
  }

  std::size_t add_empty_field() {
    table_.fields.push_back({});
    return 1;
  }

  void split_row() {
    Row row{.line = line_, .first = table_.fields.size()};
    for (;;) {
      table_.fields.push_back(next_field());
      if (at_line_end()) break;
      ++pos_;
    }
    row.size = table_.fields.size() - row.first;
    table_.rows.push_back(row);
    skip_line_end();
    // Rows are about equally long, the first one often shorter: it holds labels.
    if (table_.rows.size() == 2) table_.fields.reserve(text_.size() / pos_ * table_.fields.size());
  }

  Field next_field() {
    skip_spaces();
    if (pos_ < text_.size() && text_[pos_] == '"') return quoted_field();
    const std::size_t start = pos_;
    while (!at_line_end() && text_[pos_] != table_.separator) ++pos_;
    std::size_t end = pos_;
    while (end > start && text_[end - 1] == ' ') --end;
    return {.text = text_.substr(start, end - start)};
  }

  Field quoted_field() {
    const std::size_t opened_on = line_;
    const std::size_t start = ++pos_;
    bool doubled = false;
    for (;; ++pos_) {
      if (pos_ == text_.size()) {
        throw InputError(fmt::format("{}: line {}: a quoted cell is never closed: end it with \"",
                                     where_, opened_on));
      }
      if (text_[pos_] == '\n') ++line_;
      if (text_[pos_] != '"') continue;
      if (!text_.substr(pos_ + 1).starts_with('"')) break;
      doubled = true;
      ++pos_;
    }
    const std::string_view inside = text_.substr(start, pos_ - start);
    ++pos_;
    skip_spaces();
    if (!at_line_end() && text_[pos_] != table_.separator) {
      throw InputError(
          fmt::format("{}: line {}: text after the closing quote of \"{}\": put all "
                      "of the cell in the quotes and write \" inside them as \"\"",
                      where_, line_, printable(inside)));
    }
    return {.text = doubled ? undoubled(inside) : inside, .quoted = true};
  }

  std::string_view undoubled(std::string_view inside) {
    std::string& result = table_.unquoted.emplace_back();
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == '"') ++i;
      result += inside[i];
    }
    return result;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t pos_ = 0;
  std::size_t line_ = 1;
  Table table_;
};

void refuse_broken_utf8(std::string_view text, const std::string& where) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      throw InputError(
          fmt::format("{}: line {}: byte 0x{:02x} is not UTF-8 text: save the file "
                      "as UTF-8",
                      where, line, static_cast<unsigned char>(text[i])));
    }
    if (text[i] == '\n') ++line;
    i += length;
  }
}

}  // namespace

Table split(std::string_view text, const std::string& where) {
  refuse_broken_utf8(text, where);
  return Splitter(text, where).split();
}

}  // namespace qkv::csv
