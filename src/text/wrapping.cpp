#include "text/unicode.hpp"

#include "text/strings.hpp"

namespace qkv::inline text {
namespace {

/// Returns what one code point adds to the width of its cluster.
std::size_t added_width(CodePoint code, bool is_first) {
  const auto* property = utf8proc_get_property(code);
  // The vowel and the final consonant of a Korean syllable are drawn inside its block.
  const bool inside_syllable = property->boundclass == UTF8PROC_BOUNDCLASS_V ||
                               property->boundclass == UTF8PROC_BOUNDCLASS_T;
  if (inside_syllable && !is_first) return 0;
  // Marks beside their letter (नि) have a column in most terminals; utf8proc counts none.
  if (utf8proc_category(code) == UTF8PROC_CATEGORY_MC) return 1;
  return static_cast<std::size_t>(std::max(0, utf8proc_charwidth(code)));
}

/// A whole emoji sequence or a flag is drawn as one picture; elsewhere widths add up.
std::size_t grapheme_width(std::string_view cluster) {
  const CodePoint first = decode_code_point(cluster, 0).code;
  if (first == bad_byte) return 1;
  std::size_t sum = 0, widest = 0, codes = 0;
  bool coloured = false;
  each_code_point(cluster, [&](CodePoint code, std::string_view) {
    const std::size_t added = added_width(code, codes++ == 0);
    sum += added;
    widest = std::max(widest, added);
    coloured = coloured || code == emoji_selector;
  });
  const bool is_flag = codes == 2 && utf8proc_get_property(first)->boundclass ==
                                         UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
  if (coloured || is_flag) return 2;
  return is_pictograph(first) ? widest : sum;
}

/// A grapheme cluster: what a reader sees as one character (a letter with its marks, a flag).
struct Grapheme {
  std::string_view text;
  CodePoint first;
  std::size_t width;  ///< columns of a terminal
};

/// Returns the cluster that starts at `at`, up to the next grapheme boundary of Unicode.
Grapheme grapheme_at(std::string_view text, std::size_t at) {
  // An ASCII character is a cluster by itself unless a mark follows. This is the common case.
  const bool alone = at + 1 == text.size() || is_printable_ascii(text[at + 1]);
  if (alone && is_printable_ascii(text[at])) {
    return {text.substr(at, 1), static_cast<CodePoint>(text[at]), 1};
  }
  const auto [first, first_bytes] = decode_code_point(text, at);
  std::size_t end = at + first_bytes;
  utf8proc_int32_t state = 0;
  for (CodePoint previous = first; previous != bad_byte && end < text.size();) {
    const auto [code, bytes] = decode_code_point(text, end);
    if (code == bad_byte || utf8proc_grapheme_break_stateful(previous, code, &state)) break;
    end += bytes;
    previous = code;
  }
  const std::string_view cluster = text.substr(at, end - at);
  return {cluster, first, grapheme_width(cluster)};
}

/// Returns the longest prefix that fits into `columns`.
std::string_view fitting_prefix(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Grapheme cluster = grapheme_at(text, at);
    if (used + cluster.width > columns) break;
    used += cluster.width;
    at += cluster.text.size();
  }
  return text.substr(0, at);
}

std::size_t room(std::string_view text, std::size_t columns) {
  const std::size_t used = width(text);
  return used < columns ? columns - used : 0;
}

constexpr std::string_view item_sign = "- ";
constexpr std::string_view code_margin = "    ";

std::string_view without_blanks(std::string_view line) { return trimmed(line, " "); }

/// A run of text that is not divided: a word, or one Chinese character with its comma.
struct Piece {
  std::string_view text;
  std::size_t width;
  bool after_blank;
};

// True for closing brackets, full stops and length marks (」。ー).
bool never_starts_a_line(CodePoint code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF ||
         category == UTF8PROC_CATEGORY_PO || category == UTF8PROC_CATEGORY_LM;
}

// True for opening brackets (「).
bool never_ends_a_line(CodePoint code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}

bool may_break_between(CodePoint left, CodePoint right) {
  return (is_ideograph(left) || is_ideograph(right)) && !never_ends_a_line(left) &&
         !never_starts_a_line(right);
}

/// Returns the next cluster, or several that are not divided anyway: the ASCII letters of a word,
/// without the last one if a mark may follow.
Grapheme undivided_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] != ' ' && is_printable_ascii(text[end])) ++end;
  const bool may_have_mark = end < text.size() && text[end] != ' ' && end > at;
  const std::string_view letters = text.substr(at, end - at - (may_have_mark ? 1 : 0));
  if (letters.empty()) return grapheme_at(text, at);
  return {letters, static_cast<CodePoint>(letters.front()), letters.size()};
}

std::vector<Piece> pieces_of(std::string_view paragraph) {
  std::vector<Piece> pieces;
  bool blank = true;
  CodePoint last = bad_byte;
  for (std::size_t at = 0; at < paragraph.size();) {
    const Grapheme cluster = undivided_at(paragraph, at);
    if (cluster.text == " ") {
      blank = true;
    } else if (blank || may_break_between(last, cluster.first)) {
      pieces.push_back({cluster.text, cluster.width, blank});
      blank = false;
    } else {
      Piece& piece = pieces.back();
      piece.text = paragraph.substr(static_cast<std::size_t>(piece.text.data() - paragraph.data()),
                                    piece.text.size() + cluster.text.size());
      piece.width += cluster.width;
    }
    const char end = cluster.text.back();  // several letters may be taken at once
    last = is_printable_ascii(end) ? static_cast<CodePoint>(end) : cluster.first;
    at += cluster.text.size();
  }
  return pieces;
}

/// Collects lines of at most `columns`.
struct Filler {
  std::size_t columns;  ///< 1 at least
  std::vector<std::string>& lines;
  std::string line = {};
  std::size_t used = 0;

  void add(const Piece& piece) {
    const std::size_t blank = piece.after_blank && used > 0 ? 1 : 0;
    if (used + blank + piece.width > columns) {
      end_line();
      start_with(piece);
    } else {
      line.append(blank, ' ');
      line += piece.text;
      used += blank + piece.width;
    }
  }

  void end_line() {
    if (!line.empty()) lines.push_back(line);
    line.clear();
    used = 0;
  }

  void start_with(const Piece& piece) {
    std::string_view rest = piece.text;
    for (auto head = fitting_prefix(rest, columns); head.size() < rest.size();) {
      if (head.empty()) head = grapheme_at(rest, 0).text;  // wider than a line
      lines.emplace_back(head);
      rest.remove_prefix(head.size());
      head = fitting_prefix(rest, columns);
    }
    line = rest;
    used = width(rest);
  }
};

bool is_sign(std::string_view word) {
  constexpr std::string_view signs[] = {"=", "≈", "+", "−", "·", "/", "×", "<", ">"};
  return contains(signs, word);
}

/// Joins words to formulas ("2 · 2 + 0 · 0 = 4") and percentages ("99.9 %"), which are divided only
/// where they are longer than half a line.
void fill(std::string_view paragraph, std::size_t columns, std::vector<std::string>& lines) {
  Filler filler{std::max<std::size_t>(columns, 1), lines};
  const std::vector<Piece> pieces = pieces_of(paragraph);
  for (std::size_t k = 0, end = 0; k < pieces.size(); k = end) {
    end = k + 1;
    const bool is_shape = pieces[k].text.starts_with('(') && pieces[k].text.ends_with(')');
    while (!is_shape && end + 1 < pieces.size() && is_sign(pieces[end].text)) end += 2;
    while (end < pieces.size() && pieces[end].text.starts_with('%')) ++end;  // of a number
    const std::string_view formula{pieces[k].text.begin(), pieces[end - 1].text.end()};
    const std::size_t columns_of_it = width(formula);
    const bool is_plain = formula.find("  ") == formula.npos;  // of words with one blank between
    if (is_plain && columns_of_it <= columns / 2) {
      filler.add({formula, columns_of_it, pieces[k].after_blank});
    } else {
      for (std::size_t i = k; i < end; ++i) filler.add(pieces[i]);
    }
  }
  filler.end_line();
}

// Further lines are indented to the first word.
void fill_item(std::string_view words, std::size_t columns, std::vector<std::string>& lines) {
  std::vector<std::string> item;
  fill(words, std::max(columns, item_sign.size() + 1) - item_sign.size(), item);
  for (std::size_t k = 0; k < item.size(); ++k) {
    lines.push_back(std::string(k == 0 ? item_sign : "  ") + item[k]);
  }
}

/// A line break becomes a blank, but not within Chinese or Japanese, which have none.
void join(std::string& paragraph, std::string_view line) {
  line = without_blanks(line);
  if (line.empty()) return;
  const CodePoint left =
      paragraph.empty() ? bad_byte : decode_code_point(paragraph, last_character(paragraph)).code;
  const bool solid =
      left != bad_byte && is_ideograph(left) && is_ideograph(decode_code_point(line, 0).code);
  if (!paragraph.empty() && !solid) paragraph += ' ';
  paragraph += line;
}

}  // namespace

std::size_t width(std::string_view text) {
  if (is_printable_ascii(text)) return text.size();
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Grapheme cluster = grapheme_at(text, at);
    sum += cluster.width;
    at += cluster.text.size();
  }
  return sum;
}

std::string padded_left(std::string_view text, std::size_t columns) {
  return std::string(room(text, columns), ' ').append(text);
}

std::string padded_right(std::string_view text, std::size_t columns) {
  return std::string(text) + std::string(room(text, columns), ' ');
}

std::string aligned_columns(const std::vector<std::vector<std::string>>& rows,
                            const std::set<std::size_t>& left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto padded = left.contains(c) ? padded_right : padded_left;
      text += (c == 0 ? "" : "  ") + padded(row[c], widths[c]);
    }
    while (text.ends_with(' ')) text.pop_back();
    text += "\n";
  }
  return text;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(fitting_prefix(text, columns - 1)) + "…";
}

// The first line of an item may be empty: it is left out.
std::string Passage::on_one_line() const {
  std::vector<std::string_view> words(lines.size());
  std::ranges::transform(lines, words.begin(), without_blanks);
  return std::string(without_blanks(fmt::format("{}", fmt::join(words, " "))));
}

std::string Passage::as_written() const {
  return std::string(trimmed(fmt::format("{}", fmt::join(lines, "\n")), "\n"));
}

std::vector<Passage> passages_of(std::string_view prose) {
  using Kind = Passage::Kind;
  const std::string safe = sanitise_prose(prose);
  std::vector<Passage> passages;
  bool apart = true;
  for (std::string_view line : split(safe, '\n')) {
    if (without_blanks(line).empty()) {
      apart = true;
      continue;
    }
    const bool is_code = line.starts_with(code_margin);
    const bool begins_item = line.starts_with(item_sign);
    const bool goes_on = !apart && !begins_item && is_code == (passages.back().kind == Kind::code);
    if (!goes_on) {
      const Kind kind = is_code ? Kind::code : begins_item ? Kind::item : Kind::paragraph;
      passages.push_back({.kind = kind, .apart = apart && !passages.empty()});
    }
    line.remove_prefix(is_code ? code_margin.size() : begins_item ? item_sign.size() : 0);
    passages.back().lines.emplace_back(line);
    apart = false;
  }
  return passages;
}

std::vector<Passage> with_lead(std::string_view lead, std::vector<Passage> passages) {
  if (!passages.empty() && passages.front().kind == Passage::Kind::paragraph) {
    passages.front().lines.front().insert(0, lead);
  } else {
    passages.insert(passages.begin(), {.lines = {std::string(lead)}});
  }
  return passages;
}

std::vector<std::string> wrapped(const std::vector<Passage>& passages, std::size_t columns) {
  std::vector<std::string> lines;
  for (const Passage& passage : passages) {
    if (passage.apart) lines.emplace_back();
    if (passage.kind == Passage::Kind::code) {
      for (const std::string& line : passage.lines) lines.push_back("    " + line);
      continue;
    }
    std::string paragraph;
    for (const std::string& line : passage.lines) join(paragraph, line);
    if (passage.kind == Passage::Kind::item) {
      fill_item(paragraph, columns, lines);
    } else {
      fill(paragraph, columns, lines);
    }
  }
  return lines;
}

std::vector<std::string> wrapped(std::string_view prose, std::size_t columns) {
  return wrapped(passages_of(prose), columns);
}

std::string with_plain_blanks(std::string_view line) {
  return replace_all(line, no_break_space, " ");
}

}  // namespace qkv::inline text
