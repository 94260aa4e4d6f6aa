#include "render/text.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

namespace qkv {
namespace {

using Code = utf8proc_int32_t;

constexpr Code bad_byte = -1;
constexpr Code joiner = 0x200D;
constexpr Code emoji_selector = 0xFE0F;
constexpr Code keycap = 0x20E3;

/// More marks than any writing system stacks on one letter: text with more is there to smear over
/// the neighbouring lines.
constexpr std::size_t most_marks = 8;

struct Decoded {
  Code code;
  std::size_t bytes;
};

/// The code point that starts at `at`; a byte that starts none is a `bad_byte` by itself.
Decoded decoded(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  Code code = bad_byte;
  const auto size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (size <= 0) return {bad_byte, 1};
  return {code, static_cast<std::size_t>(size)};
}

// ---- what a code point is --------------------------------------------------------------------

bool is_mark(Code code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

bool is_pictograph(Code code) {
  return utf8proc_get_property(code)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

bool is_skin_tone(Code code) { return code >= 0x1F3FB && code <= 0x1F3FF; }

bool is_regional_indicator(Code code) {
  return utf8proc_get_property(code)->boundclass == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
}

bool is_keycap_base(Code code) {
  return (code >= '0' && code <= '9') || code == '#' || code == '*';
}

/// Nothing to see, or nothing that we know how wide it is: controls, format characters, line and
/// paragraph separators, unassigned code points, and letters that are drawn as nothing.
bool is_unseen(Code code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    default: return utf8proc_get_property(code)->ignorable;
  }
}

/// Written without blanks, so that a line may end after any character. Korean is as wide but has
/// blanks between its words.
bool is_ideograph(Code code) {
  if (code < 0x1100) return false;
  const auto category = utf8proc_category(code);
  const bool korean = (code >= 0x1100 && code <= 0x11FF) || (code >= 0x3130 && code <= 0x318F) ||
                      (code >= 0xA960 && code <= 0xA97F) || (code >= 0xAC00 && code <= 0xD7FF);
  return utf8proc_charwidth(code) == 2 && !is_pictograph(code) && !is_skin_tone(code) && !korean &&
         category != UTF8PROC_CATEGORY_ZS;
}

/// A closing bracket, full stop or length mark (」。ー) never starts a line.
bool never_starts_a_line(Code code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF ||
         category == UTF8PROC_CATEGORY_PO || category == UTF8PROC_CATEGORY_LM;
}

/// An opening bracket (「) never ends one.
bool never_ends_a_line(Code code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// ---- making text visible ---------------------------------------------------------------------

void append_code(std::string& out, Code code) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(code, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::string stand_in(Code code) {
  std::string out;
  if (code == bad_byte) return "\uFFFD";
  if (code < 0x20)
    append_code(out, 0x2400 + code);  // Unicode has a picture for each, in the same order
  else if (code == 0x7F)
    append_code(out, 0x2421);
  else
    out = fmt::format("<U+{:04X}>", code);
  return out;
}

/// Walks through text and remembers what the next code point may attach itself to.
class Visible {
 public:
  void append(Code code, Code next) {
    if (code != bad_byte && belongs_to_emoji(code, next))
      append_code(out_, code);
    else if (code == bad_byte || is_unseen(code))
      append_stand_in(code);
    else if (is_mark(code))
      append_mark(code);
    else
      append_base(code);
    previous_ = code;
  }

  void append_verbatim(std::string_view text) {
    out_ += text;
    has_base_ = in_emoji_ = false;
    previous_ = bad_byte;
  }

  std::string text() && { return std::move(out_); }

 private:
  /// A joiner between two pictures (👩‍👧), and the selector that asks for the coloured
  /// picture (❤️, 1️⃣).
  bool belongs_to_emoji(Code code, Code next) const {
    if (code == joiner) return in_emoji_ && next != bad_byte && is_pictograph(next);
    if (code != emoji_selector || previous_ == bad_byte) return false;
    return (in_emoji_ && is_pictograph(previous_)) || (is_keycap_base(previous_) && next == keycap);
  }

  void append_stand_in(Code code) {
    out_ += stand_in(code);
    has_base_ = in_emoji_ = false;
  }

  void append_mark(Code code) {
    if (!has_base_ || marks_ == most_marks) append_base(0x25CC);
    append_code(out_, code);
    ++marks_;
  }

  void append_base(Code code) {
    append_code(out_, code);
    has_base_ = utf8proc_category(code) != UTF8PROC_CATEGORY_ZS;
    marks_ = 0;
    in_emoji_ = is_pictograph(code) || (in_emoji_ && is_skin_tone(code));
  }

  std::string out_;
  Code previous_ = bad_byte;
  bool has_base_ = false;
  bool in_emoji_ = false;
  std::size_t marks_ = 0;
};

enum class Layout { none, kept };

std::string made_visible(std::string_view text, Layout layout) {
  if (is_printable_ascii(text)) return std::string(text);
  Visible visible_text;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decoded(text, at);
    at += bytes;
    const Code next = at < text.size() ? decoded(text, at).code : bad_byte;
    if (layout == Layout::kept && code == '\n')
      visible_text.append_verbatim("\n");
    else if (layout == Layout::kept && code == '\t')
      visible_text.append_verbatim("    ");
    else if (layout == Layout::kept && code == '\r' && next == '\n')
      continue;  // a line break as Windows writes it
    else
      visible_text.append(code, next);
  }
  return std::move(visible_text).text();
}

// ---- grapheme clusters -----------------------------------------------------------------------

struct Cluster {
  std::string_view text;
  Code first;
  std::size_t width;
};

/// What one code point adds to the width of its cluster.
std::size_t added_width(Code code, bool is_first) {
  const auto* property = utf8proc_get_property(code);
  // The vowel and the final consonant of a Korean syllable are drawn inside its block.
  const bool inside_syllable = property->boundclass == UTF8PROC_BOUNDCLASS_V ||
                               property->boundclass == UTF8PROC_BOUNDCLASS_T;
  if (inside_syllable && !is_first) return 0;
  // Marks that stand beside their letter (नि) have a column of their own in wcwidth and in most
  // terminals; utf8proc counts none.
  if (utf8proc_category(code) == UTF8PROC_CATEGORY_MC) return 1;
  return static_cast<std::size_t>(std::max(0, utf8proc_charwidth(code)));
}

/// One picture is drawn for a whole emoji sequence and for a flag; elsewhere widths add up.
std::size_t cluster_width(std::string_view cluster) {
  const Code first = decoded(cluster, 0).code;
  if (first == bad_byte) return 1;
  std::size_t sum = 0, widest = 0, codes = 0;
  bool coloured = false;
  for (std::size_t at = 0; at < cluster.size(); ++codes) {
    const auto [code, bytes] = decoded(cluster, at);
    const std::size_t added = added_width(code, at == 0);
    sum += added;
    widest = std::max(widest, added);
    coloured = coloured || code == emoji_selector;
    at += bytes;
  }
  if (coloured || (codes == 2 && is_regional_indicator(first))) return 2;
  return is_pictograph(first) ? widest : sum;
}

/// The cluster that starts at `at`, as far as the next place where Unicode lets text be divided.
Cluster cluster_at(std::string_view text, std::size_t at) {
  // An ASCII character is a cluster of its own unless a mark follows: most text goes this way.
  const bool alone = at + 1 == text.size() || is_printable_ascii(text.substr(at + 1, 1));
  if (alone && is_printable_ascii(text.substr(at, 1))) {
    return {text.substr(at, 1), static_cast<Code>(text[at]), 1};
  }
  const auto [first, first_bytes] = decoded(text, at);
  std::size_t end = at + first_bytes;
  utf8proc_int32_t state = 0;
  for (Code previous = first; previous != bad_byte && end < text.size();) {
    const auto [code, bytes] = decoded(text, end);
    if (code == bad_byte || utf8proc_grapheme_break_stateful(previous, code, &state)) break;
    end += bytes;
    previous = code;
  }
  const std::string_view cluster = text.substr(at, end - at);
  return {cluster, first, cluster_width(cluster)};
}

/// The longest beginning of text that fits into `columns`.
std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Cluster cluster = cluster_at(text, at);
    if (used + cluster.width > columns) break;
    used += cluster.width;
    at += cluster.text.size();
  }
  return text.substr(0, at);
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

std::size_t room(std::string_view text, std::size_t columns) {
  const std::size_t used = width(text);
  return used < columns ? columns - used : 0;
}

// ---- filling lines ---------------------------------------------------------------------------

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

std::vector<Piece> pieces_of(std::string_view paragraph) {
  std::vector<Piece> pieces;
  bool blank = true;
  Code last = bad_byte;
  for (std::size_t at = 0; at < paragraph.size();) {
    const Cluster cluster = cluster_at(paragraph, at);
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
    last = cluster.first;
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
      line_ += blanks(blank);
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

bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }

bool is_code(std::string_view line) { return line.starts_with("    "); }

Code last_code(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && (static_cast<unsigned char>(text[--at]) & 0xC0U) == 0x80U) {
  }
  return text.empty() ? bad_byte : decoded(text, at).code;
}

/// A line break is a blank, but not inside Chinese or Japanese, which have none.
void join(std::string& paragraph, std::string_view line) {
  line.remove_prefix(line.find_first_not_of(' '));
  line = line.substr(0, line.find_last_not_of(' ') + 1);
  const Code left = last_code(paragraph);
  const bool solid = left != bad_byte && is_ideograph(left) && is_ideograph(decoded(line, 0).code);
  if (!paragraph.empty() && !solid) paragraph += ' ';
  paragraph += line;
}

}  // namespace

std::string visible(std::string_view text) { return made_visible(text, Layout::none); }

std::string visible_json(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto [code, bytes] = decoded(json, at);
    if (code == bad_byte || code < 0x7F || !is_unseen(code)) {
      out += code == bad_byte ? std::string_view("\uFFFD") : json.substr(at, bytes);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04X}", code);
    } else {  // JSON writes what lies above as two halves
      out += fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    at += bytes;
  }
  return out;
}

std::string visible_prose(std::string_view text) { return made_visible(text, Layout::kept); }

std::string visible_label(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t left = first == text.npos ? text.size() : first;
  const std::size_t right = first == text.npos ? 0 : text.size() - 1 - text.find_last_not_of(' ');
  std::string out;
  for (std::size_t i = 0; i < left; ++i) out += "␣";
  out += visible(text.substr(left, text.size() - left - right));
  for (std::size_t i = 0; i < right; ++i) out += "␣";
  return out;
}

std::size_t width(std::string_view text) {
  if (is_printable_ascii(text)) return text.size();
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    sum += cluster.width;
    at += cluster.text.size();
  }
  return sum;
}

std::string padded_left(std::string_view text, std::size_t columns) {
  return blanks(room(text, columns)).append(text);
}

std::string padded_right(std::string_view text, std::size_t columns) {
  return std::string(text) + blanks(room(text, columns));
}

std::string padded_centre(std::string_view text, std::size_t columns) {
  const std::size_t left = room(text, columns) / 2;
  return blanks(left).append(padded_right(text, columns - left));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(beginning(text, columns - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view prose, std::size_t columns) {
  const std::string text = visible_prose(prose);
  std::vector<std::string> lines;
  std::string paragraph;
  const auto end_paragraph = [&] {
    fill(paragraph, columns, lines);
    paragraph.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (!is_blank(line) && !is_code(line)) {
      if (line.starts_with("- ")) end_paragraph();  // an item of a list has a line of its own
      join(paragraph, line);
      continue;
    }
    end_paragraph();
    if (!is_blank(line))
      lines.emplace_back(line);
    else if (!lines.empty() && !lines.back().empty())
      lines.emplace_back();
  }
  end_paragraph();
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace qkv
