#include "lesson/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "lesson/statistic.hpp"
#include "text/error.hpp"
#include "text/number_in.hpp"
#include "text/thousands.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

// 57982058496 → "57,982,058,496".
std::string whole_text(double value) {
  const double magnitude = std::round(std::abs(value));
  if (!(magnitude < 1e19)) return fmt::format("{:g}", value);
  return fmt::format("{}{}", std::round(value) < 0 ? "-" : "",
                     in_thousands(static_cast<std::uint64_t>(magnitude)));
}

// "scores.max" and "scores[cat,*].max": the statistic and what it is of; none where the last name
// is no statistic.
struct StatisticText {
  const Statistic* statistic = nullptr;
  std::string_view of;
};

StatisticText statistic_in(std::string_view inside) {
  const std::size_t dot = inside.rfind('.');
  if (dot == std::string_view::npos || inside.find(']', dot) != std::string_view::npos) return {};
  return {find_statistic(inside.substr(dot + 1)), inside.substr(0, dot)};
}

std::string known_statistics() {
  std::string names;
  for (const Statistic& one : statistics()) {
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  return names;
}

constexpr std::string_view likeliest = ".likeliest";

// " cat" in quotes, since it is another token than "cat".
std::string with_its_blanks(std::string_view token) {
  const bool has_blanks = token.starts_with(' ') || token.ends_with(' ');
  return has_blanks ? fmt::format("\"{}\"", token) : std::string(token);
}

// The largest weights of the last row with their columns: "B (97.5 %), A (2.4 %), C (0.1 %)".
std::string likeliest_text(const Tensor& weights) {
  const std::span<const double> row =
      std::span(weights.values).last(std::min(weights.columns(), weights.values.size()));
  std::vector<std::size_t> columns(row.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  const auto most = std::min<std::ptrdiff_t>(3, std::ssize(columns));
  std::ranges::partial_sort(columns, columns.begin() + most, std::greater<>(),
                            [&](std::size_t column) { return row[column]; });
  std::string text;
  for (const std::size_t column : std::span(columns).first(static_cast<std::size_t>(most))) {
    const std::string_view label = weights.axes.back().label(column, 0);
    text += fmt::format("{}{} ({:.1f} %)", text.empty() ? "" : ", ",
                        label.empty() ? fmt::format("id {}", column) : with_its_blanks(label),
                        100 * row[column]);
  }
  return text;
}

ProsePiece piece_of(std::string_view inside, const Trace& trace) {
  ProsePiece piece;
  if (inside.ends_with(":,")) {
    piece = piece_of(inside.substr(0, inside.size() - 2), trace);
    if (piece.number) piece.text = whole_text(*std::exchange(piece.number, std::nullopt));
    return piece;
  }
  const std::size_t colon = inside.rfind(':');
  if (colon != std::string_view::npos) {
    const auto digits = number_in<int>(inside.substr(colon + 1));
    if (digits && *digits >= 0) {
      piece.digits = digits;
      inside = inside.substr(0, colon);
    }
  }
  if (const StatisticText text = statistic_in(inside); text.statistic) {
    piece.number = statistic_of(*text.statistic, text.of, trace);
  } else if (inside.find('[') != std::string_view::npos &&
             inside.find("].") == std::string_view::npos) {
    const CellReference cell = resolve(parse_reference(inside), trace);
    piece.number = trace.at(cell.name).at(cell.matrix, cell.row, cell.column);
  } else if (inside.ends_with(".shape")) {
    const Tensor& tensor = trace.at(inside.substr(0, inside.size() - 6));
    piece.text = shown_shape(tensor, trace.convention);
  } else if (inside.ends_with(likeliest)) {
    piece.text = likeliest_text(trace.at(inside.substr(0, inside.size() - likeliest.size())));
  } else if (const auto size = symbol(trace, inside)) {
    piece.text = std::to_string(*size);
  } else {
    throw InputError(fmt::format(
        "{{{}}} stands for nothing here; write {{scores[1,2]}}, {{scores.shape}}, {{d_k}} or "
        "{{scores.max}} (there are {}), or {{{{ for a brace",
        inside, known_statistics()));
  }
  return piece;
}

// Calls `words` for each stretch of text and `brace(inside, offset)` for each {…}.
template <class Words, class Brace>
void each_piece(std::string_view prose, Words words, Brace brace) {
  std::string text;
  const std::size_t last = prose.rfind('}');
  for (std::size_t i = 0; i < prose.size(); ++i) {
    const bool doubled = i + 1 < prose.size() && prose[i + 1] == prose[i];
    if ((prose[i] == '{' || prose[i] == '}') && doubled) {
      text += prose[i++];
    } else if (prose[i] == '{' && last != std::string_view::npos && i < last) {
      const std::size_t end = prose.find('}', i);
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
      [&](std::string_view inside, std::size_t) {
        try {
          pieces.push_back(piece_of(inside, trace));
        } catch (const InputError&) {
          pieces.push_back({.text = "—"});
        }
      });
  return pieces;
}

std::vector<std::string> names_in(std::string_view prose) {
  std::vector<std::string> names;
  each_piece(
      prose, [](const std::string&) {},
      [&](std::string_view inside, std::size_t) {
        names.emplace_back(inside.substr(0, inside.find_first_of("[.:")));
      });
  return names;
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
