#include "interactive/frame.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace interactive_keys_tests {

using namespace qkv;
using Kind = Key::Kind;

namespace {

Key key(char letter) { return {Kind::text, std::string(1, letter)}; }

std::vector<Key> keys_of(std::string_view bytes) {
  KeyDecoder decoder;
  decoder.feed(bytes);
  std::vector<Key> keys;
  while (auto next = decoder.next()) keys.push_back(*next);
  return keys;
}

LineEdit typed(std::string_view bytes) {
  LineEdit line;
  for (const Key& pressed : keys_of(bytes)) line = edited(line, pressed);
  return line;
}

}  // namespace

TEST_CASE("letters, Enter, Tab and Backspace are keys of their own") {
  CHECK(keys_of("g\r\n\t\x7f\b") == std::vector<Key>{key('g'),
                                                     {Kind::enter},
                                                     {Kind::enter},
                                                     {Kind::tab},
                                                     {Kind::backspace},
                                                     {Kind::backspace}});
}

TEST_CASE("arrows come in two dialects, and with modifiers") {
  CHECK(keys_of("\x1b[A") == std::vector<Key>{{Kind::up}});
  CHECK(keys_of("\x1bOA") == std::vector<Key>{{Kind::up}});
  CHECK(keys_of("\x1b[1;5D") == std::vector<Key>{{Kind::left}});
  CHECK(keys_of("\x1b[5~\x1b[6~") == std::vector<Key>{{Kind::page_up}, {Kind::page_down}});
  CHECK(keys_of("\x1b[Z") == std::vector<Key>{{Kind::back_tab}});
}

TEST_CASE("a sequence that nobody knows is one unknown key, not letters") {
  CHECK(keys_of("\x1b[15~q") == std::vector<Key>{{Kind::unknown}, key('q')});
  CHECK(keys_of("\x1b[[Aq") == std::vector<Key>{{Kind::unknown}, key('q')});
  CHECK(keys_of("\x1bq") == std::vector<Key>{{Kind::unknown}});
}

TEST_CASE("an arrow that comes byte by byte is an arrow") {
  KeyDecoder decoder;
  for (const std::string_view byte : {"\x1b", "["}) {
    decoder.feed(byte);
    CHECK_FALSE(decoder.next());
    CHECK(decoder.is_waiting());
  }
  decoder.feed("C");
  CHECK(decoder.next() == Key{Kind::right});
}

TEST_CASE("Esc by itself counts once nothing follows it") {
  KeyDecoder decoder;
  decoder.feed("\x1b");
  CHECK_FALSE(decoder.next());
  CHECK(decoder.flush() == Key{Kind::escape});
  CHECK_FALSE(decoder.is_waiting());
}

TEST_CASE("half a character waits for its other half, however long that takes") {
  KeyDecoder decoder;
  decoder.feed("\xe7\x8c");
  CHECK_FALSE(decoder.next());
  CHECK_FALSE(decoder.is_waiting());
  CHECK_FALSE(decoder.flush());
  decoder.feed("\xab");
  CHECK(decoder.next() == Key{Kind::text, "猫"});
}

TEST_CASE("bytes that are no UTF-8 are passed over") {
  CHECK(keys_of("\xff\xc3(q") ==
        std::vector<Key>{{Kind::unknown}, {Kind::unknown}, key('('), key('q')});
}

TEST_CASE("what is pasted is one key, whatever it holds") {
  CHECK(keys_of("\x1b[200~q\x1b[A\r\x1b[201~b") ==
        std::vector<Key>{{Kind::paste, "q\x1b[A\r"}, key('b')});
}

TEST_CASE("a line is edited where the cursor stands") {
  CHECK(typed("sores\x1b[D\x1b[D\x1b[D\x1b[Dc") == LineEdit{"scores", 2});
  CHECK(typed("scoress\x7f") == LineEdit{"scores", 6});
  CHECK(typed("scores\x1b[H\x1b[3~") == LineEdit{"cores", 0});
  CHECK(typed("été\x7f\x7f") == LineEdit{"é", 2});
}

TEST_CASE("Ctrl keys edit as in a shell") {
  CHECK(typed("one two\x17") == LineEdit{"one ", 4});
  CHECK(typed("one two\x15") == LineEdit{"", 0});
  CHECK(typed("one\x01\x0b") == LineEdit{"", 0});
  CHECK(typed("one\x01zero \x05!") == LineEdit{"zero one!", 9});
}

TEST_CASE("control characters never get into a line") {
  CHECK(typed("\x1b[200~a\x1b[2Jb\r\n\xff\x1b[201~").text == "a[2Jb");
}

}  // namespace interactive_keys_tests
