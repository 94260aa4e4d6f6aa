#include "tokens/pre_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "text/error.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"
#include "tokens/words.hpp"

namespace qkv::inline tokens {

/// A node of the parsed regular expression.
struct TokenRegex::Node {
  enum class Kind { characters, sequence, choice, repeat, lookaround };

  /// An item of a class: the characters from `first` to `last`, or, if `group` is set, those of
  /// that general category ('s': blanks, 'w': word characters).
  struct Item {
    CodePoint first = 0;
    CodePoint last = 0;
    char group = 0;
    char detail = 0;  ///< the category's second letter, or 0
    bool negated = false;
  };

  static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

  Kind kind = Kind::sequence;
  std::vector<std::unique_ptr<Node>> parts = {};
  std::vector<Item> items = {};  ///< of characters
  bool negated = false;          ///< of characters and of lookarounds
  bool case_insensitive = false;
  std::size_t least = 0;
  std::size_t most = no_end;
  bool possessive = false;  ///< never backtracks
};

namespace {

using Node = TokenRegex::Node;
using NodePointer = std::unique_ptr<Node>;
using Kind = Node::Kind;
using Item = Node::Item;

constexpr std::size_t deepest = 50;

// Parses a regular expression into a tree. Throws InputError.
class Parser {
 public:
  explicit Parser(std::string_view written) : whole_(written), rest_(written) {}

  NodePointer all() {
    NodePointer node = choice(false, 0);
    if (!rest_.empty()) refuse("a ) without its (");
    return node;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError(fmt::format("tokenizer: the pattern {} has {}", whole_, what));
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  CodePoint take_character() {
    const auto [code, bytes] = decode_code_point(rest_, 0);
    if (code == bad_byte) refuse("no whole character where one is due");
    rest_.remove_prefix(bytes);
    return code;
  }

  NodePointer choice(bool case_insensitive, std::size_t depth) {
    if (depth > deepest) refuse("groups in groups without end");
    auto node = std::make_unique<Node>(Node{.kind = Kind::choice});
    do {
      node->parts.push_back(sequence(case_insensitive, depth));
    } while (take("|"));
    return node;
  }

  NodePointer sequence(bool case_insensitive, std::size_t depth) {
    auto node = std::make_unique<Node>();
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      node->parts.push_back(repeated(atom(case_insensitive, depth)));
    }
    return node;
  }

  NodePointer atom(bool case_insensitive, std::size_t depth) {
    if (take("(?=")) return lookaround(false, case_insensitive, depth);
    if (take("(?!")) return lookaround(true, case_insensitive, depth);
    if (take("(?i:")) return group(true, depth);
    if (take("(?:")) return group(case_insensitive, depth);
    if (rest_.starts_with("(?")) refuse("a group of a kind that qkv does not know");
    if (take("(")) return group(case_insensitive, depth);
    auto node = std::make_unique<Node>(Node{.kind = Kind::characters});
    node->case_insensitive = case_insensitive;
    if (take("[")) {
      read_class(*node);
    } else if (take(".")) {
      node->items = {{.first = '\n', .last = '\n'}};
      node->negated = true;
    } else if (rest_.front() == '\\') {
      node->items = {escaped()};
    } else if (std::string_view("*+?{^$").find(rest_.front()) != std::string_view::npos) {
      refuse(fmt::format("a {} that qkv does not know there", rest_.front()));
    } else {
      node->items = {one(take_character())};
    }
    return node;
  }

  NodePointer group(bool case_insensitive, std::size_t depth) {
    NodePointer node = choice(case_insensitive, depth + 1);
    if (!take(")")) refuse("a ( without its )");
    return node;
  }

  NodePointer lookaround(bool negated, bool case_insensitive, std::size_t depth) {
    auto node = std::make_unique<Node>(Node{.kind = Kind::lookaround});
    node->negated = negated;
    node->parts.push_back(group(case_insensitive, depth));
    return node;
  }

  NodePointer repeated(NodePointer node) {
    std::size_t least = 0;
    std::size_t most = Node::no_end;
    if (take("?")) {
      most = 1;
    } else if (take("+")) {
      least = 1;
    } else if (take("{")) {
      const std::size_t end = rest_.find('}');
      const std::string_view counts = rest_.substr(0, end);
      const std::size_t comma = std::min(counts.find(','), counts.size());
      const auto from = parse_number<std::size_t>(counts.substr(0, comma));
      const bool is_open = comma + 1 == counts.size();
      const auto to =
          comma == counts.size() ? from : parse_number<std::size_t>(counts.substr(comma + 1));
      constexpr std::size_t largest = 1000;
      if (end == rest_.npos || !from || (!to && !is_open) || *from > largest)
        refuse("a { of no use");
      least = *from;
      if (!is_open) most = *to;
      if (most < least) refuse("a { whose numbers fall");
      rest_.remove_prefix(end + 1);
    } else if (!take("*")) {
      return node;
    }
    auto repeat = std::make_unique<Node>(Node{.kind = Kind::repeat});
    repeat->least = least;
    repeat->most = most;
    repeat->possessive = take("+");
    if (rest_.starts_with("?")) refuse("a repeat that takes as little as it can");
    repeat->parts.push_back(std::move(node));
    return repeat;
  }

  void read_class(Node& node) {
    node.negated = take("^");
    do {
      if (rest_.empty()) refuse("a [ without its ]");
      if (rest_.starts_with("&&") || rest_.starts_with("[")) refuse("a class in a class");
      if (rest_.front() == '\\') {
        node.items.push_back(escaped());
      } else {
        node.items.push_back(one(take_character()));
      }
      Item& item = node.items.back();
      if (item.group == 0 && rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
        rest_.remove_prefix(1);
        const Item end = rest_.front() == '\\' ? escaped() : one(take_character());
        if (end.group != 0 || end.last < item.first) refuse("a range that ends before it begins");
        item.last = end.last;
      }
    } while (!take("]"));
  }

  static Item one(CodePoint code) { return {.first = code, .last = code}; }

  Item escaped() {
    rest_.remove_prefix(1);
    if (rest_.empty()) refuse("a backslash at its end");
    const CodePoint code = take_character();
    switch (code) {
      case 'p': return category(false);
      case 'P': return category(true);
      case 's': return {.group = 's'};
      case 'S': return {.group = 's', .negated = true};
      case 'd': return {.group = 'N', .detail = 'd'};
      case 'D': return {.group = 'N', .detail = 'd', .negated = true};
      case 'w': return {.group = 'w'};
      case 'W': return {.group = 'w', .negated = true};
      case 'r': return one('\r');
      case 'n': return one('\n');
      case 't': return one('\t');
      case 'f': return one('\f');
      case 'v': return one('\v');
      default: break;
    }
    const bool is_letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
                           (code >= '0' && code <= '9');
    if (is_letter) refuse(fmt::format("\\{}, which qkv does not know", static_cast<char>(code)));
    return one(code);
  }

  Item category(bool negated) {
    const std::size_t end = rest_.find('}');
    const bool is_short = rest_.starts_with("{") && end != rest_.npos && end >= 2 && end <= 3;
    if (!is_short || std::string_view("LMNPSZC").find(rest_[1]) == std::string_view::npos) {
      refuse("a \\p of something else than {L}, {Lu}, {N} and their like");
    }
    const Item item{.group = rest_[1], .detail = end == 3 ? rest_[2] : '\0', .negated = negated};
    rest_.remove_prefix(end + 1);
    return item;
  }

  std::string_view whole_;
  std::string_view rest_;
};

bool is_in_group(CodePoint code, const Node::Item& item) {
  if (item.group == 's') return is_blank(code);
  const char* category = utf8proc_category_string(code);
  if (item.group == 'w') {
    const bool is_connector = category[0] == 'P' && category[1] == 'c';
    return category[0] == 'L' || category[0] == 'M' || category[0] == 'N' || is_connector;
  }
  return category[0] == item.group && (item.detail == 0 || category[1] == item.detail);
}

bool has(const Node& node, CodePoint code) {
  return std::ranges::any_of(node.items, [&](const Node::Item& item) {
    if (item.group != 0) return is_in_group(code, item) != item.negated;
    return code >= item.first && code <= item.last;
  });
}

// True if the node matches the character, in either case if it is case-insensitive.
bool takes(const Node& node, CodePoint code) {
  const bool found =
      has(node, code) || (node.case_insensitive &&
                          (has(node, utf8proc_tolower(code)) || has(node, utf8proc_toupper(code))));
  return found != node.negated;
}

// Continues matching at a position; true if the rest of the pattern matches.
using Next = std::function<bool(std::size_t)>;

// Matches by backtracking: each node gets the rest of the pattern as a continuation.
class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text) {}

  // Returns where a match that begins at `at` ends.
  std::optional<std::size_t> end_of(const Node& node, std::size_t at) {
    std::size_t end = 0;
    steps_ = 0;
    const bool fits = matches(node, at, [&](std::size_t place) {
      end = place;
      return true;
    });
    return fits ? std::optional(end) : std::nullopt;
  }

 private:
  bool matches(const Node& node, std::size_t at, const Next& next) {
    constexpr std::size_t most_steps = 2'000'000;
    if (++steps_ > most_steps) {
      throw InputError("tokenizer: its pattern takes too long to cut this text");
    }
    switch (node.kind) {
      case Kind::characters: {
        const std::size_t length = character(node, at);
        return length > 0 && next(at + length);
      }
      case Kind::sequence: return sequence(node, 0, at, next);
      case Kind::choice:
        return std::ranges::any_of(node.parts,
                                   [&](const auto& part) { return matches(*part, at, next); });
      case Kind::lookaround: {
        const bool follows = matches(*node.parts[0], at, [](std::size_t) { return true; });
        return follows != node.negated && next(at);
      }
      case Kind::repeat: break;
    }
    if (node.parts[0]->kind == Kind::characters) return run(node, at, next);
    return group(node, 0, at, next);
  }

  // Returns the length of the character at `at` in bytes, or 0 if the node does not match it.
  std::size_t character(const Node& node, std::size_t at) const {
    if (at >= text_.size()) return 0;
    const auto [code, bytes] = decode_code_point(text_, at);
    if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    return takes(node, code) ? bytes : 0;
  }

  bool sequence(const Node& node, std::size_t part, std::size_t at, const Next& next) {
    if (part == node.parts.size()) return next(at);
    return matches(*node.parts[part], at,
                   [&, part](std::size_t place) { return sequence(node, part + 1, place, next); });
  }

  // Greedy: as many characters as match, then one fewer at a time.
  bool run(const Node& node, std::size_t at, const Next& next) {
    std::vector<std::size_t> ends = {at};
    while (ends.size() - 1 < node.most) {
      const std::size_t length = character(*node.parts[0], ends.back());
      if (length == 0) break;
      ends.push_back(ends.back() + length);
    }
    steps_ += ends.size();
    if (ends.size() - 1 < node.least) return false;
    if (node.possessive) return next(ends.back());
    for (std::size_t count = ends.size(); count-- > node.least;) {
      if (next(ends[count])) return true;
    }
    return false;
  }

  bool group(const Node& node, std::size_t count, std::size_t at, const Next& next) {
    constexpr std::size_t most_times = 2000;  // each is a few calls deep
    if (count > most_times) throw InputError("tokenizer: its pattern repeats a group too often");
    const auto again = [&, count, at](std::size_t place) {
      return place != at && group(node, count + 1, place, next);
    };
    if (count < node.most && matches(*node.parts[0], at, again)) return true;
    return count >= node.least && next(at);
  }

  std::string_view text_;
  std::size_t steps_ = 0;
};

}  // namespace

TokenRegex::TokenRegex(std::string_view written) : root_(Parser(written).all()) {}

TokenRegex::~TokenRegex() = default;

std::vector<std::string_view> TokenRegex::pieces(std::string_view text) const {
  std::vector<std::string_view> pieces;
  Matcher matcher(text);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = matcher.end_of(*root_, at);
    if (!end || *end == at) {
      const auto [code, bytes] = decode_code_point(text, at);
      if (code == bad_byte) {
        throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
      }
      at += bytes;
      continue;
    }
    if (at > begin) pieces.push_back(text.substr(begin, at - begin));
    pieces.push_back(text.substr(at, *end - at));
    begin = at = *end;
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

}  // namespace qkv::inline tokens
