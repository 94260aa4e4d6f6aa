#include "tokens/regex.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "text/error.hpp"
#include "tokens/gpt2_words.hpp"
#include "tokens/pattern_node.hpp"

namespace qkv {
namespace {

using Node = CutPattern::Node;
using Kind = Node::Kind;

bool is_in_group(Code code, const Node::Item& item) {
  if (item.group == 's') return is_blank(code);
  const char* category = utf8proc_category_string(code);
  if (item.group == 'w') {
    const bool is_connector = category[0] == 'P' && category[1] == 'c';
    return category[0] == 'L' || category[0] == 'M' || category[0] == 'N' || is_connector;
  }
  return category[0] == item.group && (item.detail == 0 || category[1] == item.detail);
}

bool has(const Node& node, Code code) {
  return std::ranges::any_of(node.items, [&](const Node::Item& item) {
    if (item.group != 0) return is_in_group(code, item) != item.is_not;
    return code >= item.first && code <= item.last;
  });
}

// Whether the character is one of the node's, in capitals or not where it doesn't matter.
bool takes(const Node& node, Code code) {
  const bool found =
      has(node, code) ||
      (node.any_case && (has(node, utf8proc_tolower(code)) || has(node, utf8proc_toupper(code))));
  return found != node.is_not;
}

// Goes on from a place in the text; whether all that follows fits.
using Next = std::function<bool(std::size_t)>;

// One attempt after the other, each with what follows it.
class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text) {}

  // Where the pattern ends that begins there.
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
      case Kind::look: {
        const bool follows = matches(*node.parts[0], at, [](std::size_t) { return true; });
        return follows != node.is_not && next(at);
      }
      case Kind::repeat: break;
    }
    if (node.parts[0]->kind == Kind::characters) return run(node, at, next);
    return group(node, 0, at, next);
  }

  // How many bytes the character there has, if it is one of the node's; 0 where it is not.
  std::size_t character(const Node& node, std::size_t at) const {
    if (at >= text_.size()) return 0;
    const auto [code, bytes] = decoded(text_, at);
    if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    return takes(node, code) ? bytes : 0;
  }

  bool sequence(const Node& node, std::size_t part, std::size_t at, const Next& next) {
    if (part == node.parts.size()) return next(at);
    return matches(*node.parts[part], at,
                   [&, part](std::size_t place) { return sequence(node, part + 1, place, next); });
  }

  // As many characters as there are; then fewer, one by one.
  bool run(const Node& node, std::size_t at, const Next& next) {
    std::vector<std::size_t> ends = {at};
    while (ends.size() - 1 < node.most) {
      const std::size_t length = character(*node.parts[0], ends.back());
      if (length == 0) break;
      ends.push_back(ends.back() + length);
    }
    steps_ += ends.size();
    if (ends.size() - 1 < node.least) return false;
    if (node.keeps) return next(ends.back());
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

CutPattern::CutPattern(std::string_view written) : root_(parsed_pattern(written)) {}

CutPattern::~CutPattern() = default;

std::vector<std::string_view> CutPattern::pieces(std::string_view text) const {
  std::vector<std::string_view> pieces;
  Matcher matcher(text);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = matcher.end_of(*root_, at);
    if (!end || *end == at) {
      const auto [code, bytes] = decoded(text, at);
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

}  // namespace qkv
