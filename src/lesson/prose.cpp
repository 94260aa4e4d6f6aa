#include "lesson/prose.hpp"

#include "lesson/model/predictions.hpp"
#include "text/number.hpp"

namespace qkv::inline lesson {
namespace {

using Numbers = std::span<const double>;

Matrix row_of(Numbers numbers) { return view_as<2>(numbers, {std::size_t{1}, numbers.size()}); }

double mean(Numbers numbers) {
  return total(row_of(numbers)) / static_cast<double>(numbers.size());
}

// The standard deviation.
double spread(Numbers numbers) {
  const Matrix far = row_of(numbers) - mean(numbers);
  return std::sqrt(total(far * far) / static_cast<double>(numbers.size()));
}

// −Σ p ln p; a weight of 0 adds nothing.
double entropy(Numbers weights) {
  const Matrix p = row_of(weights);
  return -total(xt::where(p > 0, p * xt::log(p), 0.0));
}

// ∂p_i/∂s_i = p_i (1 − p_i): the change of a weight per change of its own score.
double slope(Numbers weights) {
  const Matrix p = row_of(weights);
  const Matrix steps = p * (1 - p);
  return std::max(0.0, maxima(steps)(0, 0));
}

constexpr std::array<Statistic, 7> table = {{
    {.name = "max", .of = [](Numbers x) { return maxima(row_of(x))(0, 0); }},
    {.name = "min", .of = [](Numbers x) { return -maxima(-row_of(x))(0, 0); }},
    {.name = "sum", .of = [](Numbers x) { return total(row_of(x)); }},
    {.name = "mean", .of = mean},
    {.name = "spread", .of = spread},
    {.name = "entropy", .of = entropy, .by_row = true},
    {.name = "slope", .of = slope},
}};

double of_finite(const Statistic& statistic, Numbers numbers, std::string_view of) {
  const auto finite = filtered(numbers, [](double x) { return std::isfinite(x); });
  if (finite.empty()) throw InputError("{} has no numbers, so no {}", of, statistic.name);
  return statistic.of(finite);
}

// Covers `count` whole matrices from `first` on.
double of_matrices(const Statistic& statistic, const Tensor& tensor, std::size_t first,
                   std::size_t count, std::string_view of) {
  const std::size_t cells = tensor.rows() * tensor.columns();
  const Numbers numbers = Numbers(tensor.values).subspan(first * cells, count * cells);
  if (!statistic.by_row) return of_finite(statistic, numbers, of);
  const std::size_t width = tensor.columns();
  const std::size_t rows = count * tensor.rows();
  double total = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    total += of_finite(statistic, numbers.subspan(i * width, width), of);
  }
  return total / static_cast<double>(rows);
}

// Covers a part with stars, such as `scores[cat,*]`.
double of_part(const Statistic& statistic, std::string_view of, const Trace& trace) {
  ReferenceText text = parse_reference(of);
  std::vector<bool> all;
  for (std::string& index : text.indices) {
    all.push_back(index == "*");
    if (all.back()) index.assign(1, '1');
  }
  const std::size_t last = all.size() - 1;
  bool rows = last > 0 && all[last - 1];
  bool columns = all[last];
  const bool too_many = std::ranges::count(all, true) > (rows ? 1 : 0) + (columns ? 1 : 0);
  if (!(rows || columns) || too_many) {
    throw InputError("{}.{}: write * for a whole row or column: {}[1,*].{}", of, statistic.name,
                     text.name, statistic.name);
  }
  const CellReference at = resolve(text, trace);
  const Tensor& tensor = trace.at(at.name);
  if (rows && columns) return of_matrices(statistic, tensor, at.matrix, 1, of);
  if (is_shown_transposed(tensor, trace.token_layout)) std::swap(rows, columns);
  const auto line = mapped_places(rows ? tensor.rows() : tensor.columns(), [&](std::size_t i) {
    return rows ? tensor.at(at.matrix, i, at.column) : tensor.at(at.matrix, at.row, i);
  });
  return of_finite(statistic, line, of);
}

// The statistic of a part: `scores`, a row `scores[cat,*]`, a column `scores[*,2]` or a head
// `scores[head 2,*,*]`. Throws InputError if the trace has no such part.
double statistic_of(const Statistic& statistic, std::string_view of, const Trace& trace) {
  if (of.find('[') != std::string_view::npos) return of_part(statistic, of, trace);
  const Tensor& tensor = trace.at(of);
  return of_matrices(statistic, tensor, 0, tensor.matrices(), of);
}

// 57982058496 → "57,982,058,496".
std::string whole_text(double value) {
  const double magnitude = std::round(std::abs(value));
  if (!(magnitude < 1e19)) return fmt::format("{:g}", value);
  return fmt::format("{}{}", std::round(value) < 0 ? "-" : "",
                     group_digits(static_cast<std::uint64_t>(magnitude)));
}

// Splits "scores.max" and "scores[cat,*].max"; no statistic if the last name is unknown.
struct StatisticText {
  const Statistic* statistic = nullptr;
  std::string_view of;
};

StatisticText statistic_in(std::string_view inside) {
  const std::size_t dot = inside.rfind('.');
  if (dot == std::string_view::npos || inside.find(']', dot) != std::string_view::npos) return {};
  return {find_statistic(inside.substr(dot + 1)), inside.substr(0, dot)};
}

// Splits "probabilities.likeliest" into the matrix and the count.
struct GuessText {
  std::string_view of;
  std::size_t count = 0;
};

GuessText guesses_in(std::string_view inside) {
  constexpr GuessText endings[] = {{".likeliest", 3}, {".five_likeliest", 5}};
  for (const auto& [ending, count] : endings) {
    if (inside.ends_with(ending)) return {inside.substr(0, inside.size() - ending.size()), count};
  }
  return {};
}

// The text before " with ", and the changes after it, joined by " and ".
struct ChangedText {
  std::string_view inside;
  std::vector<std::string> changes;
};

ChangedText changes_in(std::string_view inside) {
  constexpr std::string_view with = " with ";
  constexpr std::string_view between = " and ";
  ChangedText text{inside, {}};
  const std::size_t start = inside.find(with);
  if (start == std::string_view::npos || inside.find('=', start) == std::string_view::npos) {
    return text;
  }
  text.inside = inside.substr(0, start);
  inside.remove_prefix(start + with.size());
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = inside.find(between);
    text.changes.emplace_back(inside.substr(0, end));
    if (end != std::string_view::npos) inside.remove_prefix(end + between.size());
  }
  return text;
}

// Returns the likeliest tokens above 0.0 % as one line: `B (97.5 %), A (2.4 %), " C" (0.1 %)`.
std::string top_tokens_text(const Tensor& probabilities, std::size_t count) {
  std::string text;
  for (const Prediction& prediction : top_tokens(probabilities, count)) {
    if (!text.empty() && prediction.share < 0.0005) break;  // would read 0.0 %
    // " cat" is another token than "cat".
    const bool has_blanks = prediction.word.starts_with(' ') || prediction.word.ends_with(' ');
    text += fmt::format("{}{}{}{} ({:.1f} %)", text.empty() ? "" : ", ", has_blanks ? "\"" : "",
                        prediction.word, has_blanks ? "\"" : "", 100 * prediction.share);
  }
  return text;
}

ProsePiece piece_of(std::string_view inside, const Trace& trace) {
  ProsePiece piece;
  if (const ChangedText text = changes_in(inside); !text.changes.empty()) {
    return piece_of(text.inside, with_set(trace, text.changes));
  }
  if (inside.ends_with(":,")) {
    piece = piece_of(inside.substr(0, inside.size() - 2), trace);
    if (piece.number) piece.text = whole_text(*std::exchange(piece.number, std::nullopt));
    return piece;
  }
  const std::size_t colon = inside.rfind(':');
  if (colon != std::string_view::npos) {
    const auto digits = parse_number<int>(inside.substr(colon + 1));
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
    piece.text = shown_shape(trace.at(inside.substr(0, inside.size() - 6)), trace.token_layout);
  } else if (const GuessText predictions = guesses_in(inside); predictions.count > 0) {
    piece.text = top_tokens_text(trace.at(predictions.of), predictions.count);
  } else if (const auto size = symbol(trace, inside)) {
    piece.text = std::to_string(*size);
  } else {
    throw InputError(
        "{{{}}} stands for nothing here; write {{scores[1,2]}}, {{scores.shape}}, {{d_k}} or "
        "{{scores.max}} (there are {}), or {{{{ for a brace",
        inside, fmt::join(NameViews(table, &Statistic::name), ", "));
  }
  return piece;
}

// A mark says for which numbers the following prose holds: {any}, {own} (the lesson's own only) or
// {own X, W} (while X and W are unchanged).
bool is_mark(std::string_view inside) {
  return inside == "any" || inside == "own" || inside.starts_with("own ");
}

std::vector<std::string> names_of_mark(std::string_view inside) {
  std::vector<std::string> names;
  inside.remove_prefix(3);  // any, own
  for (const std::string_view name : split(inside, ',')) {
    if (!trimmed(name).empty()) names.emplace_back(trimmed(name));
  }
  return names;
}

constexpr auto passed_over = [](const std::string&) {};

// Calls `brace(inside, offset)` for each {…}, marks included, and `words` for each piece of text.
template <class Brace, class Words = decltype(passed_over)>
void each_brace(std::string_view prose, Brace brace, Words words = passed_over) {
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

// Prose from a mark to the next, or to the end of its paragraph.
struct ProseStretch {
  std::string_view mark;
  std::string_view text;
};

// Splits a paragraph; its first stretch continues the mark of the paragraph before.
std::vector<ProseStretch> stretches_of(std::string_view paragraph, std::string_view& mark) {
  std::vector<ProseStretch> stretches;
  std::size_t start = 0;
  each_brace(paragraph, [&](std::string_view inside, std::size_t offset) {
    if (!is_mark(inside)) return;
    stretches.push_back({mark, paragraph.substr(start, offset - start)});
    mark = inside;
    start = offset + inside.size() + 2;  // its braces
  });
  stretches.push_back({mark, paragraph.substr(start)});
  return stretches;
}

// Strips line breaks, and one leading blank left by removed prose. Four blanks stay: they mark a
// preformatted line.
std::string_view without_gaps(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  if (text.starts_with(' ') && !text.starts_with("  ")) text.remove_prefix(1);
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Returns "h0.scores" from "h0.scores[cat,fat]:2" and from "h0.scores.shape".
std::string_view name_looked_up(std::string_view inside) {
  inside = changes_in(inside).inside;
  const std::size_t end = inside.find_first_of("[:");
  if (end != std::string_view::npos && inside[end] == '[') return inside.substr(0, end);
  inside = inside.substr(0, end);
  const std::size_t dot = inside.rfind('.');
  const bool is_of =
      dot != std::string_view::npos && (statistic_in(inside).statistic ||
                                        inside.ends_with(".shape") || guesses_in(inside).count > 0);
  return is_of ? inside.substr(0, dot) : inside;
}

}  // namespace

const Statistic* find_statistic(std::string_view name) {
  return find_by(table, name, &Statistic::name);
}

std::string still_true(std::string_view prose, bool any, const Trace& now,
                       const std::function<bool(const std::string&)>& is_own) {
  constexpr std::string_view between = "\n\n";
  const auto is_true = [&](const ProseStretch& stretch) {
    const std::vector<std::string> names = names_of_mark(stretch.mark);
    const bool holds =
        stretch.mark == "any" || (!names.empty() && std::ranges::all_of(names, is_own));
    return holds && prose_faults(stretch.text, now).empty();
  };
  std::string kept;
  std::string_view mark = any ? "any" : "own";
  while (!prose.empty()) {
    const std::size_t end = std::min(prose.find(between), prose.size());
    std::string paragraph;
    for (const ProseStretch& stretch : stretches_of(prose.substr(0, end), mark)) {
      if (is_true(stretch)) paragraph += stretch.text;
    }
    const std::string_view words = without_gaps(paragraph);
    if (!words.empty()) kept.append(kept.empty() ? "" : between).append(words);
    prose.remove_prefix(std::min(end + between.size(), prose.size()));
  }
  return kept;
}

std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace) {
  std::vector<ProsePiece> pieces;
  const auto add_piece = [&](std::string_view inside, std::size_t) {
    if (is_mark(inside)) return;
    try {
      pieces.push_back(piece_of(inside, trace));
    } catch (const InputError&) {
      pieces.push_back({.text = "—"});
    }
  };
  each_brace(prose, add_piece, [&](const std::string& text) { pieces.push_back({.text = text}); });
  return pieces;
}

std::vector<std::string> names_in(std::string_view prose) {
  std::vector<std::string> names;
  each_brace(prose, [&](std::string_view inside, std::size_t) {
    if (is_mark(inside)) {
      std::ranges::move(names_of_mark(inside), std::back_inserter(names));
    } else {
      names.emplace_back(name_looked_up(inside));
    }
  });
  return names;
}

std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace) {
  std::vector<ProseFault> faults;
  each_brace(prose, [&](std::string_view inside, std::size_t offset) {
    try {
      if (is_mark(inside)) {
        for (const std::string& name : names_of_mark(inside)) trace.at(name);
      } else {
        piece_of(inside, trace);
      }
    } catch (const InputError& error) {
      const std::string_view name = name_looked_up(inside);
      const std::string_view plain = changes_in(inside).inside;
      const bool is_of = name != plain.substr(0, plain.find(':'));
      const bool is_matrix = !is_mark(inside) && is_of && !trace.find(name);
      faults.push_back({offset, error.what(), std::string(is_matrix ? name : "")});
    }
  });
  return faults;
}

std::string title_of(const Lesson& lesson, std::size_t number) {
  struct NamedTitle {
    std::string_view name, title;
  };
  constexpr NamedTitle titles[] = {{"Q", "Make the queries"},
                                   {"K", "Make the keys"},
                                   {"V", "Make the values"},
                                   {"Q_rope", "Turn the queries by their positions (RoPE)"},
                                   {"K_rope", "Turn the keys by their positions (RoPE)"},
                                   {"output", "Make the output"}};
  const std::string& own = lesson.texts[number - 1].title;
  if (!own.empty()) return own;
  const StepRecipe& step = lesson.recipe.steps[number - 1];
  const NamedTitle* named = find_by(titles, step.name, &NamedTitle::name);
  return words_for(step, named ? named->title : step.operation->title, lesson.recipe.token_layout);
}

}  // namespace qkv::inline lesson
