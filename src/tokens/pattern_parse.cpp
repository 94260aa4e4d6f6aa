#include <fmt/format.h>

#include "text/error.hpp"
#include "text/number_in.hpp"
#include "tokens/pattern_node.hpp"

namespace qkv {
namespace {

using Node = CutPattern::Node;
using NodePointer = std::unique_ptr<Node>;
using Kind = Node::Kind;
using Item = Node::Item;

constexpr std::size_t deepest = 50;

// Reads a pattern from left to right.
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

  Code take_character() {
    const auto [code, bytes] = decoded(rest_, 0);
    if (code == bad_byte) refuse("no whole character where one is due");
    rest_.remove_prefix(bytes);
    return code;
  }

  NodePointer choice(bool any_case, std::size_t depth) {
    if (depth > deepest) refuse("groups in groups without end");
    auto node = std::make_unique<Node>(Node{.kind = Kind::choice});
    do {
      node->parts.push_back(sequence(any_case, depth));
    } while (take("|"));
    return node;
  }

  NodePointer sequence(bool any_case, std::size_t depth) {
    auto node = std::make_unique<Node>();
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      node->parts.push_back(repeated(atom(any_case, depth)));
    }
    return node;
  }

  NodePointer atom(bool any_case, std::size_t depth) {
    if (take("(?=")) return look(false, any_case, depth);
    if (take("(?!")) return look(true, any_case, depth);
    if (take("(?i:")) return group(true, depth);
    if (take("(?:")) return group(any_case, depth);
    if (rest_.starts_with("(?")) refuse("a group of a kind that qkv does not know");
    if (take("(")) return group(any_case, depth);
    auto node = std::make_unique<Node>(Node{.kind = Kind::characters});
    node->any_case = any_case;
    if (take("[")) {
      read_class(*node);
    } else if (take(".")) {
      node->items = {{.first = '\n', .last = '\n'}};
      node->is_not = true;
    } else if (rest_.front() == '\\') {
      node->items = {escaped()};
    } else if (std::string_view("*+?{^$").find(rest_.front()) != std::string_view::npos) {
      refuse(fmt::format("a {} that qkv does not know there", rest_.front()));
    } else {
      const Code code = take_character();
      node->items = {{.first = code, .last = code}};
    }
    return node;
  }

  NodePointer group(bool any_case, std::size_t depth) {
    NodePointer node = choice(any_case, depth + 1);
    if (!take(")")) refuse("a ( without its )");
    return node;
  }

  NodePointer look(bool is_not, bool any_case, std::size_t depth) {
    auto node = std::make_unique<Node>(Node{.kind = Kind::look});
    node->is_not = is_not;
    node->parts.push_back(group(any_case, depth));
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
      const auto from = number_in<std::size_t>(counts.substr(0, comma));
      const bool is_open = comma + 1 == counts.size();
      const auto to =
          comma == counts.size() ? from : number_in<std::size_t>(counts.substr(comma + 1));
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
    repeat->keeps = take("+");
    if (rest_.starts_with("?")) refuse("a repeat that takes as little as it can");
    repeat->parts.push_back(std::move(node));
    return repeat;
  }

  void read_class(Node& node) {
    node.is_not = take("^");
    do {
      if (rest_.empty()) refuse("a [ without its ]");
      if (rest_.starts_with("&&") || rest_.starts_with("[")) refuse("a class in a class");
      if (rest_.front() == '\\') {
        node.items.push_back(escaped());
      } else {
        const Code code = take_character();
        node.items.push_back({.first = code, .last = code});
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

  static Item one(Code code) { return {.first = code, .last = code}; }

  // What a backslash and what follows it stand for.
  Item escaped() {
    rest_.remove_prefix(1);
    if (rest_.empty()) refuse("a backslash at its end");
    const Code code = take_character();
    switch (code) {
      case 'p': return category(false);
      case 'P': return category(true);
      case 's': return {.group = 's'};
      case 'S': return {.group = 's', .is_not = true};
      case 'd': return {.group = 'N', .detail = 'd'};
      case 'D': return {.group = 'N', .detail = 'd', .is_not = true};
      case 'w': return {.group = 'w'};
      case 'W': return {.group = 'w', .is_not = true};
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

  Item category(bool is_not) {
    const std::size_t end = rest_.find('}');
    const bool is_short = rest_.starts_with("{") && end != rest_.npos && end >= 2 && end <= 3;
    if (!is_short || std::string_view("LMNPSZC").find(rest_[1]) == std::string_view::npos) {
      refuse("a \\p of something else than {L}, {Lu}, {N} and their like");
    }
    const Item item{.group = rest_[1], .detail = end == 3 ? rest_[2] : '\0', .is_not = is_not};
    rest_.remove_prefix(end + 1);
    return item;
  }

  std::string_view whole_;
  std::string_view rest_;
};

}  // namespace

std::unique_ptr<CutPattern::Node> parsed_pattern(std::string_view written) {
  return Parser(written).all();
}

}  // namespace qkv
