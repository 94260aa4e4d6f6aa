#include "exposition/selection.hpp"

#include "ops/kinds/gradient.hpp"
#include "text/number.hpp"

namespace qkv::inline exposition {
namespace {

// The first cell that the step hides; else the third row's largest number.
CellReference representative_cell(const Trace& trace, const Step& step) {
  const Tensor& tensor = step.output;
  CellReference cell{.name = step.name};
  if (tensor.values.empty()) return cell;
  const std::size_t searched = tensor.values.size() > small_tensor_limit ? 0 : tensor.values.size();
  for (std::size_t i = 0; i < searched; ++i) {
    if (hides(trace, step, i)) return cell_at(step.name, tensor, i);
  }
  cell.row = std::min<std::size_t>(2, tensor.rows() - 1);
  double best = -1;
  for (std::size_t j = 0; j < tensor.columns(); ++j) {
    const double size = std::abs(tensor.at(0, cell.row, j));
    if (std::isfinite(size) && size > best) {
      best = size;
      cell.column = j;
    }
  }
  return cell;
}

using Uses = std::vector<CellUse>;

bool is_of_tokens(const Axis& axis) {
  constexpr std::string_view names[] = {"token", "query", "key", "position"};
  return !axis.labels.empty() || contains(names, axis.name);
}

// Finds a token's row in every tensor; all rows belong to no token.
class TokenRow {
 public:
  explicit TokenRow(std::string_view text) : text_(text), number_(parse_number<std::size_t>(text)) {
    if (text.size() > 2 && text.starts_with('"') && text.ends_with('"')) {
      text_ = text.substr(1, text.size() - 2);
    }
  }

  // Returns for each cell of a tensor whether it is in the token's row.
  std::vector<bool> cells_of(const Tensor& tensor) const {
    std::vector<bool> cells(tensor.values.size(), text_.empty());
    // Ids are one row under their words, a row for each sentence.
    const bool are_ids = tensor.rank() == 1 || words_differ_by_row(tensor);
    const Axis axis = are_ids ? tensor.axes.back() : tensor.row_axis();
    for (std::size_t at = 0; !text_.empty() && at < cells.size(); at += tensor.columns()) {
      const std::size_t row = at / tensor.columns() % tensor.rows();
      const std::size_t matrix = at / tensor.columns() / tensor.rows();
      const bool in_batch = !are_ids && tensor.leading_axes() > 0;
      const auto place = place_in(axis, are_ids    ? row
                                        : in_batch ? leading_index(tensor, matrix)[0]
                                                   : 0);
      for (std::size_t j = 0; j < tensor.columns(); ++j) {
        cells[at + j] = place == (are_ids ? j : row);
      }
    }
    return cells;
  }

  [[noreturn]] void refuse(const Trace& trace) const {
    std::vector<std::string_view> known;
    std::size_t most = 0;
    for (const Step& step : trace.steps) {
      const Axis axis = step.output.rank() == 1 ? step.output.axes.back() : step.output.row_axis();
      if (!is_of_tokens(axis)) continue;
      most = std::max(most, axis.size);
      for (std::size_t i = 0; i < axis.size; ++i) known.push_back(axis.label(i));
    }
    const std::string near = number_ ? "" : suggest(text_, known);
    throw InputError("--row {}: no such row in these steps; {}", text_,
                     near.empty() ? fmt::format("rows count from 1 to {}", most)
                                  : fmt::format("did you mean \"{}\"?", near));
  }

 private:
  std::optional<std::size_t> place_in(const Axis& axis, std::size_t batch) const {
    if (!is_of_tokens(axis)) return {};
    if (number_ && *number_ - 1 < axis.size) return *number_ - 1;
    const std::vector<std::size_t> places = places_of_label(text_, axis, batch);
    if (places.size() > 1) {
      const auto numbers = mapped(places, [](std::size_t place) { return place + 1; });
      throw InputError("--row {0}: \"{0}\" stands at rows {1}; write the number", text_,
                       fmt::join(numbers, " and "));
    }
    return places.empty() ? std::nullopt : std::optional(places.front());
  }

  std::string_view text_;
  std::optional<std::size_t> number_;
};

// Marks the cells that the arithmetic of a step's cells reads.
class ReadCells : public ExpressionDigests {
 public:
  explicit ReadCells(const Call& call) : call_(call) {
    for (const Tensor* input : call.inputs) read_.emplace_back(input->values.size());
  }

  Digests of_cell(const CellPlace& place) override {
    const Tensor& operand = *call_.inputs[place.operand];
    read_[place.operand][operand.index(place.matrix, place.row, place.column)] = true;
    return {};
  }

  // Returns for each operand which of its cells those that are asked for read.
  std::vector<std::vector<bool>> read_for(const Step& step, const Uses& uses) && {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i] != CellUse::asked) continue;
      const CellReference at = cell_at(step.name, step.output, i);
      step.operation->cell.expression({{&call_, &step.output, at.matrix, at.row, at.column}});
    }
    return std::move(read_);
  }

 private:
  const Call& call_;
  std::vector<std::vector<bool>> read_;
};

struct PartMaker {
  const Trace& trace;
  const WorksheetRequest& request;
  TokenRow row{request.row};
  WorksheetCells part = {};

  WorksheetCells made() && {
    for (std::size_t s = 0; s < trace.steps.size(); ++s) ask(s);
    if (part.asked == 0) refuse();
    if (!request.is_part()) {
      for (const Given& given : trace.givens) {
        part.uses.emplace(given.name, Uses(given.tensor.values.size(), CellUse::given));
      }
      part.trace = trace;
      return std::move(part);
    }
    std::vector<std::size_t> places;
    for (std::size_t s = 0; s < trace.steps.size(); ++s) {
      if (!part.has(trace.steps[s].name, CellUse::asked)) continue;
      places.push_back(s);
      give_operands(trace.steps[s]);
    }
    part.trace = only_steps(trace, places);
    return std::move(part);
  }

  void ask(std::size_t place) {
    const Step& step = trace.steps[place];
    const std::vector<std::size_t>& steps = request.steps;
    if (!steps.empty() && !contains(steps, place)) return;
    const Tensor& tensor = step.output;
    const std::vector<bool> in_row = row.cells_of(tensor);
    const std::size_t size = tensor.rows() * tensor.columns();
    Uses uses(tensor.values.size(), CellUse::unused);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const bool other_head = request.head && head_of(tensor, i / size) != request.head;
      if (in_row[i] && !other_head) uses[i] = CellUse::asked;
    }
    const auto asked = std::ranges::count(uses, CellUse::asked);
    part.asked += static_cast<std::size_t>(asked);
    // A step without numbers asks for none, but is shown.
    if (asked > 0 || uses.empty()) part.uses.emplace(step.name, std::move(uses));
  }

  [[noreturn]] void refuse() const {
    if (!request.row.empty() && !request.head) row.refuse(trace);
    throw InputError("none of these steps has that {}, so there is nothing to ask for",
                     request.row.empty() ? "head" : "row and head");
  }

  void give_operands(const Step& step) {
    const Call call = trace.call(step);
    const auto read = ReadCells(call).read_for(step, part.uses.at(step.name));
    for (std::size_t k = 0; k < step.of.size(); ++k) {
      const Tensor& operand = *call.inputs[k];
      if (needs_numbers(trace, step, k)) {
        give(step.of[k], operand, read[k]);
      } else {
        part.uses.try_emplace(step.of[k], operand.values.size(), CellUse::unused);
      }
    }
  }

  // Ids, targets and masks are read, but are no part of the arithmetic.
  void give(const std::string& name, const Tensor& tensor, const std::vector<bool>& read) {
    const bool is_step = trace.find_step(name);
    const bool in_arithmetic = contains(read, true);
    Uses& uses = part.uses.try_emplace(name, tensor.values.size(), CellUse::unused).first->second;
    std::vector<bool> matrices(tensor.matrices(), !in_arithmetic);  // of givens, whole ones
    const std::size_t size = tensor.rows() * tensor.columns();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (read[i]) matrices[i / size] = true;
    }
    const std::vector<bool> cells = is_step && !in_arithmetic ? row.cells_of(tensor) : read;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const bool is_needed = is_step ? cells[i] : matrices[i / size];
      if (is_needed && uses[i] == CellUse::unused) uses[i] = CellUse::given;
    }
  }
};

}  // namespace

bool needs_numbers(const Trace& trace, const Step& step, std::size_t k) {
  if (k == 0 && step.operation->shape_only) return false;
  const auto is_kept = [&](const std::string& name) { return trace.find(name) != nullptr; };
  if (k != self || !is_gradient(*step.operation) || step.through.empty() ||
      !std::ranges::all_of(step.of, is_kept) ||
      trace.at(step.of[k]).values.size() > small_tensor_limit)
    return true;
  Call call = trace.call(step);
  Tensor other = *call.inputs[k];
  call.inputs[k] = &other;
  return std::ranges::any_of(std::array{1000.0, -1000.0}, [&](double size) {  // irregular numbers
    double fraction = 0;
    for (double& x : other.values.mutable_span()) {
      fraction = std::fmod(fraction + 0.618034, 1);
      x = size * (fraction - 0.5);
    }
    return !(result_of(*step.operation, call).values == step.output.values);
  });
}

bool hides(const Trace& trace, const Step& step, std::size_t i) {
  if (!step.operation->masks_cells || step.output.values[i] != -infinity) return false;
  const Tensor& before = trace.at(step.of.front());
  return before.shape() == step.output.shape() && std::isfinite(before.values[i]);
}

CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step) {
  const std::string& chosen = lesson.texts[step.number - 1].cell.text;
  if (chosen.empty()) return representative_cell(trace, step);
  try {
    const CellReference cell = find_cell(chosen, trace);
    return is_masked_cell(trace, step, cell) ? representative_cell(trace, step) : cell;
  } catch (const InputError&) {  // another text may lack its tokens
    return representative_cell(trace, step);
  }
}

bool is_masked_cell(const Trace& trace, const Step& step, const CellReference& cell) {
  const std::size_t place = step.output.index(cell.matrix, cell.row, cell.column);
  if (step.output.values[place] == -infinity) return !hides(trace, step, place);
  return std::ranges::any_of(step.of, [&](const std::string& name) {
    const Tensor& operand = trace.at(name);
    return operand.shape() == step.output.shape() &&
           operand.at(cell.matrix, cell.row, cell.column) == -infinity;
  });
}

CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head) {
  const Tensor& tensor = trace.at(cell.name);
  for (std::size_t m = 0; head && m < tensor.matrices(); ++m) {
    if (head_of(tensor, m) != head) continue;
    cell.matrix = m;
    break;
  }
  return cell;
}

std::size_t Selection::first_hidden() const {
  if (hidden() == 0) return 0;
  std::size_t place = 0;
  while (place < shown() && indices[place] == place) ++place;
  return place + 1;
}

std::string hidden_text(std::string_view what, const Selection& selection, std::string_view to) {
  if (selection.hidden() == 0) return {};
  const std::size_t first = selection.first_hidden();
  if (selection.hidden() == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {}{}{}", what, first, to, first + selection.hidden() - 1);
}

Selection selected(std::size_t shown, std::size_t count) {
  const std::size_t front = shown - shown / 2;
  const auto index_at = [&](std::size_t place) {
    return place < front ? place : count - shown + place;
  };
  return {.indices = mapped_places(shown, index_at), .count = count};
}

Selection first_and_last(std::size_t shown, std::size_t count) {
  Selection selection = contiguous_selection(0, shown, count);
  if (shown > 0) selection.indices.back() = count - 1;
  return selection;
}

Selection contiguous_selection(std::size_t first, std::size_t shown, std::size_t count) {
  const auto index_at = [&](std::size_t place) { return first + place; };
  return {.indices = mapped_places(shown, index_at), .count = count};
}

bool WorksheetCells::has(const std::string& name, CellUse use) const {
  const auto found = uses.find(name);
  return found != uses.end() && contains(found->second, use);
}

std::vector<CellUse> WorksheetCells::shown_uses(const std::string& name, const Tensor& tensor,
                                                std::size_t matrix,
                                                TokenLayout token_layout) const {
  const std::size_t size = tensor.rows() * tensor.columns();
  const std::span<const CellUse> own = std::span(uses.at(name)).subspan(matrix * size, size);
  if (!is_shown_transposed(tensor, token_layout)) return {own.begin(), own.end()};
  return mapped_places(size, [&](std::size_t i) {
    return own[i % tensor.rows() * tensor.columns() + i / tensor.rows()];
  });
}

WorksheetCells worksheet_cells(const Trace& trace, const WorksheetRequest& request) {
  return PartMaker{trace, request}.made();
}

}  // namespace qkv::inline exposition
