#pragma once

#include <array>
#include <string>
#include <string_view>

namespace qkv {

/// GPT-2 writes every byte as a visible character: printable ones as themselves, the others from
/// U+0100 on.
const std::array<std::string, 256>& byte_letters();

/// The bytes in these letters: " cat" as "Ġcat".
std::string in_letters(std::string_view bytes);

/// The bytes that the letters of a piece stand for; empty where there is another one among them.
std::string bytes_in(std::string_view letters);

/// The bytes as text. A character that is cut in two, as those of many scripts are, stands in
/// neither piece: its bytes are written out, <0xF0>.
std::string written_bytes(std::string_view bytes);

/// "<0xF0>", as SentencePiece calls a byte that is a token by itself.
std::string byte_token(unsigned char byte);

}  // namespace qkv
