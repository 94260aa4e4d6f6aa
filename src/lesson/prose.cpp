#include "lesson/prose.hpp"

#include <fmt/format.h>

#include <charconv>

#include "tensor/error.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

std::optional<int> decimals_in(std::string_view text) {
  int digits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (error != std::errc() || end != text.data() + text.size() || digits < 0) return {};
  return digits;
}

ProsePiece piece_of(std::string_view inside, const Trace& trace) {
  ProsePiece piece;
  const std::size_t colon = inside.rfind(':');
  if (colon != std::string_view::npos) {
    piece.digits = decimals_in(inside.substr(colon + 1));
    if (piece.digits) inside = inside.substr(0, colon);
  }
  if (inside.find('[') != std::string_view::npos) {
    const CellReference cell = resolve(parse_reference(inside), trace);
    piece.number = trace.at(cell.name).at(cell.matrix, cell.row, cell.column);
  } else if (inside.ends_with(".shape")) {
    const Tensor& tensor = trace.at(inside.substr(0, inside.size() - 6));
    piece.text = shown_shape(tensor, trace.convention);
  } else if (const auto size = symbol(trace, inside)) {
    piece.text = std::to_string(*size);
  } else {
    throw InputError(fmt::format(
        "{{{}}} stands for nothing here; write {{scores[1,2]}}, {{scores.shape}} or {{d_k}}, or "
        "{{{{ for a brace",
        inside));
  }
  return piece;
}

// Calls `words` for each stretch of text and `brace(inside, offset)` for each {…}.
template <class Words, class Brace>
void each_piece(std::string_view prose, Words words, Brace brace) {
  std::string text;
  for (std::size_t i = 0; i < prose.size(); ++i) {
    const bool doubled = i + 1 < prose.size() && prose[i + 1] == prose[i];
    if ((prose[i] == '{' || prose[i] == '}') && doubled) {
      text += prose[i++];
    } else if (const std::size_t end = prose.find('}', i);
               prose[i] == '{' && end != std::string_view::npos) {
      words(text);
      text.clear();
      brace(prose.substr(i + 1, end - i - 1), i);
      i = end;
    } else {
      text += prose[i];
    }
  }
  words(text);
}

}  // namespace

std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace) {
  std::vector<ProsePiece> pieces;
  each_piece(
      prose, [&](const std::string& text) { pieces.push_back({.text = text}); },
      [&](std::string_view inside, std::size_t) { pieces.push_back(piece_of(inside, trace)); });
  return pieces;
}

std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace) {
  std::vector<ProseFault> faults;
  each_piece(
      prose, [](const std::string&) {},
      [&](std::string_view inside, std::size_t offset) {
        try {
          piece_of(inside, trace);
        } catch (const InputError& error) {
          faults.push_back({offset, error.what()});
        }
      });
  return faults;
}

}  // namespace qkv
