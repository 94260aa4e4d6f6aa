#include "text/wrapping.hpp"

#include <algorithm>

#include "text/cluster.hpp"
#include "text/utf8.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

/// A run of text inside which no line may end: a word, or one Chinese character with its comma.
struct Piece {
  std::string_view text;
  std::size_t width;
  bool after_blank;
};

bool may_break_between(Code left, Code right) {
  return (is_ideograph(left) || is_ideograph(right)) && !never_ends_a_line(left) &&
         !never_starts_a_line(right);
}

/// The ASCII letters of a word from `at` on, each of them a cluster: all but the last one where a
/// mark may follow. Most text is nothing else.
std::string_view plain_letters(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] != ' ' && is_printable_ascii(text[end])) ++end;
  const bool may_have_mark = end < text.size() && text[end] != ' ' && end > at;
  return text.substr(at, end - at - (may_have_mark ? 1 : 0));
}

/// The next cluster, or several that may not be divided anyway.
Cluster undivided_at(std::string_view text, std::size_t at) {
  const std::string_view letters = plain_letters(text, at);
  if (letters.empty()) return cluster_at(text, at);
  return {letters, static_cast<Code>(letters.front()), letters.size()};
}

/// The code that the last cluster begins with.
Code last_begin(const Cluster& undivided) {
  const char last = undivided.text.back();
  return is_printable_ascii(last) ? static_cast<Code>(last) : undivided.first;
}

std::vector<Piece> pieces_of(std::string_view paragraph) {
  std::vector<Piece> pieces;
  bool blank = true;
  Code last = bad_byte;
  for (std::size_t at = 0; at < paragraph.size();) {
    const Cluster cluster = undivided_at(paragraph, at);
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
    last = last_begin(cluster);
    at += cluster.text.size();
  }
  return pieces;
}

/// Collects lines of at most `columns`.
class Filler {
 public:
  Filler(std::size_t columns, std::vector<std::string>& lines)
      : columns_(std::max<std::size_t>(columns, 1)), lines_(lines) {}

  void add(const Piece& piece) {
    const std::size_t blank = piece.after_blank && used_ > 0 ? 1 : 0;
    if (used_ + blank + piece.width > columns_) {
      end_line();
      start_with(piece);
    } else {
      line_.append(blank, ' ');
      line_ += piece.text;
      used_ += blank + piece.width;
    }
  }

  void end_line() {
    if (!line_.empty()) lines_.push_back(line_);
    line_.clear();
    used_ = 0;
  }

 private:
  void start_with(const Piece& piece) {
    std::string_view rest = piece.text;
    for (auto head = beginning(rest, columns_); head.size() < rest.size();) {
      if (head.empty()) head = cluster_at(rest, 0).text;  // wider than a line by itself
      lines_.emplace_back(head);
      rest.remove_prefix(head.size());
      head = beginning(rest, columns_);
    }
    line_ = rest;
    used_ = width(rest);
  }

  std::size_t columns_;
  std::vector<std::string>& lines_;
  std::string line_;
  std::size_t used_ = 0;
};

void fill(std::string_view paragraph, std::size_t columns, std::vector<std::string>& lines) {
  Filler filler(columns, lines);
  for (const Piece& piece : pieces_of(paragraph)) filler.add(piece);
  filler.end_line();
}

// Its further lines stand under its first word.
void fill_item(std::string_view words, std::size_t columns, std::vector<std::string>& lines) {
  constexpr std::string_view lead = "- ";
  std::vector<std::string> item;
  fill(words, std::max(columns, lead.size() + 1) - lead.size(), item);
  for (std::size_t k = 0; k < item.size(); ++k) {
    lines.push_back(std::string(k == 0 ? lead : "  ") + item[k]);
  }
}

Code last_code(std::string_view text) {
  return text.empty() ? bad_byte : decoded(text, last_character(text)).code;
}

/// A line break is a blank, but not inside Chinese or Japanese, which have none.
void join(std::string& paragraph, std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.empty()) return;
  line = line.substr(0, line.find_last_not_of(' ') + 1);
  const Code left = last_code(paragraph);
  const bool solid = left != bad_byte && is_ideograph(left) && is_ideograph(decoded(line, 0).code);
  if (!paragraph.empty() && !solid) paragraph += ' ';
  paragraph += line;
}

}  // namespace

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

std::string with_plain_blanks(std::string line) {
  for (auto at = line.find(no_break); at != std::string::npos; at = line.find(no_break, at)) {
    line.replace(at, no_break.size(), " ");
  }
  return line;
}

}  // namespace qkv
