#include "exposition/exposition.hpp"

#include "exposition/selection.hpp"
#include "lesson/model/predictions.hpp"
#include "lesson/prose.hpp"
#include "text/number.hpp"

namespace qkv::inline exposition {
namespace {

constexpr std::size_t max_cells = 6;
constexpr int max_digits = 17;  // enough to distinguish any two doubles

// "1 → 1.00004": with more decimals if the wanted ones show no change.
std::string change_text(double then, double now, int digits) {
  std::string before = brief(then, digits);
  std::string after = brief(now, digits);
  for (int more = digits + 1; before == after && more <= max_digits; ++more) {
    before = brief(then, more);
    after = brief(now, more);
  }
  return fmt::format("{} → {}", before, after);
}

// True if the original numbers are comparable and differ.
bool differs_from(const Tensor* before, const Tensor& now) {
  return before && comparable(now, *before) && differs(now, *before);
}

// The step's intermediates; the trace may lack the step.
std::vector<Intermediate> intermediates_of(const Trace& trace, const std::string& name) {
  const Step* step = trace.find_step(name);
  if (!step || !step->operation->intermediates) return {};
  return step->operation->intermediates(trace.call(*step));
}

std::string first_sentence(std::string_view text) {
  const std::size_t end = text.find(". ");
  return std::string(end == std::string_view::npos ? text : text.substr(0, end + 1));
}

// The passages with a line above them.
std::vector<Passage> below(std::string_view line, std::vector<Passage> passages) {
  if (!passages.empty()) passages.front().apart = true;
  passages.insert(passages.begin(), {.lines = {std::string(line)}});
  return passages;
}

// The cell that changed most; nothing if no cell did, or if sizes differ.
std::optional<CellReference> largest_change(const Step& step, const Trace& before) {
  const Step* own = before.find_step(step.name);
  const Tensor& now = step.output;
  if (!own || !comparable(now, own->output)) return {};
  std::optional<std::size_t> at;
  double most = 0;
  for (std::size_t i = 0; i < now.values.size(); ++i) {
    const double change = std::abs(now.values[i] - own->output.values[i]);
    const bool shows = std::isfinite(now.values[i]);  // masked cells have no arithmetic
    if (!shows || !differs(now.values[i], own->output.values[i]) || !(change > most)) continue;
    at = i;
    most = change;
  }
  return at ? std::optional(cell_at(step.name, now, *at)) : std::nullopt;
}

// Returns the five largest entries of the last row with their columns; empty if there is none.
std::string top_entries(const Step& step, TokenLayout token_layout, int digits) {
  constexpr std::size_t many = 5;
  const std::vector<Prediction> predictions = top_tokens(step.output, many);
  if (predictions.empty()) return {};
  const MatrixLabels labels = full_labels(step.output, step.output.matrices() - 1, token_layout);
  const bool rows = token_layout == TokenLayout::rows;
  const std::string last = rows ? labels.rows.back() : labels.columns.back();
  const auto lines = mapped(predictions, [&](const Prediction& prediction) {
    return std::vector{"    " + prediction.word, number(prediction.share, digits)};
  });
  return fmt::format("The {} largest of the {} numbers in the last {} (\"{}\"):\n\n{}",
                     predictions.size(), step.output.columns(), rows ? "row" : "column", last,
                     aligned_columns(lines, {0, 1}));
}

struct StepDescriber {
  const Lesson& lesson;
  const Trace& trace;
  const Step& step;
  const Outline& outline;
  const StepText& texts = lesson.texts[step.number - 1];
  bool view = outline.unshown || !outline.only.empty() || texts.show;
  Exposition blocks = {};

  Exposition described() && {
    for (const Topic topic : outline.topics) {
      if (topic == Topic::givens || is_wanted(step.name)) describe(topic);
      if (topic == Topic::formula && outline.code) describe(Topic::code);
    }
    return std::move(blocks);
  }

  bool is_wanted(const std::string& name) const {
    const std::vector<std::string>& only = outline.only;
    return only.empty() || contains(only, name);
  }

  void describe(Topic topic) {
    switch (topic) {
      case Topic::title:
        return add(StepTitle{.number = step.number,
                             .of = trace.length,
                             .name = step.name,
                             .title = title_of(lesson, step.number)});
      case Topic::formula: return add(formula_of(trace, step));
      case Topic::explanation: return words(ProseBlock::Role::explanation, &StepText::say);
      case Topic::code: return code();
      case Topic::gist:
        return words(ProseBlock::Role::explanation,
                     words_for(step, first_sentence(step.operation->says), trace.token_layout));
      case Topic::givens: return givens();
      case Topic::intermediates: return intermediates();
      case Topic::result: return result();
      case Topic::changes:
        if (view && outline.baseline) {
          const std::string changes = changes_text(step, *outline.baseline, outline.digits);
          add(ProseBlock{ProseBlock::Role::changes, {{.lines = {sanitise(changes)}}}});
        }
        return;
      case Topic::cell: return cell();
      case Topic::notice:  // if the matrix is hidden, only the lesson's own
        if (!view && texts.notice.text.empty()) return;
        return words(ProseBlock::Role::notice, &StepText::notice);
      case Topic::questions:
        words(ProseBlock::Role::questions, &StepText::questions);
        if (outline.answers) words(ProseBlock::Role::answers, &StepText::answers);
        return;
    }
  }

  void add(Block block) { blocks.push_back(std::move(block)); }

  void words(ProseBlock::Role role, const std::string& prose) {
    if (!prose.empty()) add(ProseBlock{role, passages_of(prose)});
  }

  void words(ProseBlock::Role role, Prose StepText::*text) {
    words(role, prose_of(lesson, trace, step, text, outline.digits));
  }

  // Each statement has a line of its own.
  void code() {
    const Call call = trace.call(step);
    Passage lines{.kind = Passage::Kind::code};
    for (auto [library, name] :
         {std::pair{Library::numpy, "NumPy"}, {Library::pytorch, "PyTorch"}}) {
      const std::string line = code_line(*step.operation, call, step.output, library);
      for (const std::string_view statement : split(line, ';')) {
        lines.lines.push_back(fmt::format("{:<7}  {}", name, sanitise(trimmed(statement))));
        name = "";
      }
    }
    add(ProseBlock{ProseBlock::Role::explanation, {std::move(lines)}});
  }

  // Hidden givens are only named, unless all are requested.
  void givens() {
    std::vector<std::string> unshown;
    for (const Given* given : new_givens_of(trace, step)) {
      if (!is_wanted(given->name)) continue;
      const std::string shape = shown_shape(given->tensor, trace.token_layout);
      const bool all = outline.unshown || !outline.only.empty();
      if (all || !contains(lesson.unshown, given->name)) {
        add(MatrixBlock{.role = MatrixBlock::Role::given,
                        .title = given->name,
                        .shape = shape,
                        .tensor = non_owning(given->tensor),
                        .before = own_numbers(given->name, given->tensor),
                        .head = outline.head});
      } else {
        unshown.push_back(fmt::format("{} ({})", given->name, shape));
      }
    }
    if (!unshown.empty()) add(HiddenGivens{fmt::format("{}", fmt::join(unshown, ", "))});
  }

  std::shared_ptr<const Tensor> own_numbers(const std::string& name, const Tensor& now) const {
    const Tensor* before = outline.baseline ? outline.baseline->find(name) : nullptr;
    return differs_from(before, now) ? non_owning(*before) : nullptr;
  }

  void intermediates() {
    if (!view || !outline.intermediates) return;
    std::vector<Intermediate> intermediates = intermediates_of(trace, step.name);
    std::vector<Intermediate> before;
    if (outline.baseline) before = intermediates_of(*outline.baseline, step.name);
    for (std::size_t i = 0; i < intermediates.size(); ++i) {
      MatrixBlock matrix_block{
          .role = MatrixBlock::Role::intermediate,
          .title = intermediates[i].title,
          .shape = shown_shape(intermediates[i].tensor, trace.token_layout),
          .step = &step,
          .tensor = std::make_shared<const Tensor>(std::move(intermediates[i].tensor)),
          .head = head_of_intermediates()};
      const bool same_intermediate = i < before.size() && before[i].title == intermediates[i].title;
      if (same_intermediate && differs_from(&before[i].tensor, *matrix_block.tensor)) {
        matrix_block.before = std::make_shared<const Tensor>(std::move(before[i].tensor));
      }
      add(std::move(matrix_block));
    }
  }

  // Of many heads, one's intermediates suffice: those of the explained cell's head.
  std::optional<std::size_t> head_of_intermediates() const {
    constexpr std::size_t many = 3;
    if (outline.head || step.output.matrices() < many) return outline.head;
    return head_of(step.output, cell_of(lesson, trace, step).matrix);
  }

  void result() {
    if (!view && texts.largest)
      words(ProseBlock::Role::explanation, top_entries(step, trace.token_layout, outline.digits));
    if (!view) return;
    add(MatrixBlock{.role = MatrixBlock::Role::result,
                    .title = step.name,
                    .shape = shown_shape(step.output, trace.token_layout),
                    .step = &step,
                    .tensor = non_owning(step.output),
                    .before = own_numbers(step.name, step.output),
                    .head = outline.head});
  }

  // If numbers were changed, the cell that changed most; else the lesson's choice.
  void cell() {
    if (!view || !texts.works_cell || step.output.values.empty()) return;
    if (outline.baseline) {
      const auto changed = largest_change(step, *outline.baseline);
      if (changed && !is_masked_cell(trace, step, *changed)) return add(WorkedCell{*changed});
    }
    add(WorkedCell{in_head(cell_of(lesson, trace, step), trace, outline.head)});
  }
};

std::string_view opening_prose(const Lesson& lesson, ProseBlock::Role role) {
  const bool columns = lesson.recipe.token_layout == TokenLayout::columns;
  switch (role) {
    case ProseBlock::Role::summary: return lesson.summary;
    case ProseBlock::Role::source: return lesson.source;
    case ProseBlock::Role::token_layout:
      return columns ? "Here a token is a column: keys run down, queries across." : "";
    case ProseBlock::Role::changed: return lesson.changed ? changed_notice : "";
    default: return {};
  }
}

// The first kept step that uses the matrix: the very first may have been released.
std::string_view first_user(const Trace& trace, std::string_view name) {
  const auto known = trace.first_consumers.find(name);
  if (known != trace.first_consumers.end() && trace.find_step(known->second)) return known->second;
  const auto first =
      std::ranges::find_if(trace.steps, [&](const Step& step) { return contains(step.of, name); });
  return first == trace.steps.end() ? std::string_view() : first->name;
}

// Rounded numbers keep their last zeros, as in the matrix: 0.0720. So do all with requested
// decimals, so that lists line up.
std::string number_in_prose(double value, std::optional<int> wanted, int digits) {
  const std::string text = brief(value, wanted.value_or(digits));
  const bool plain = text.find_first_of("e,n") == std::string::npos && value != 0;
  const double written = parse_number<double>(text).value_or(value);
  const bool is_rounded = std::abs(written - value) > 1e-12 * std::abs(value);
  return plain && (wanted || is_rounded) ? number(value, wanted.value_or(digits)) : text;
}

}  // namespace

std::string changes_text(const Step& step, const Trace& before, int digits) {
  const Step* own = before.find_step(step.name);
  if (!own) return {};
  const Tensor& now = step.output;
  const Tensor& then = own->output;
  if (now.shape() != then.shape()) {
    return fmt::format("changed: {} here, {} in the lesson", shown_shape(now, before.token_layout),
                       shown_shape(then, before.token_layout));
  }
  if (!comparable(now, then)) return "changed: the words are not the lesson's";
  const auto changed = places_where(
      now.values.size(), [&](std::size_t i) { return differs(now.values[i], then.values[i]); });
  if (changed.empty()) return "changed: nothing; all numbers are the lesson's";
  const auto shown = std::span(changed).first(std::min(changed.size(), max_cells));
  const auto changes = mapped(shown, [&](std::size_t i) {
    return fmt::format("{} {}", reference_text(cell_at("", now, i), now, before.token_layout),
                       change_text(then.values[i], now.values[i], digits));
  });
  return fmt::format("changed: {} of {} cells: {}{}", changed.size(), now.values.size(),
                     fmt::join(changes, ", "), changed.size() > max_cells ? ", …" : "");
}

std::vector<Passage> with_introduction(const ProseBlock& words) {
  switch (words.role) {
    case ProseBlock::Role::source: return with_lead("Source: ", words.passages);
    case ProseBlock::Role::notice: return with_lead("Notice: ", words.passages);
    case ProseBlock::Role::questions: return below("Try:", words.passages);
    case ProseBlock::Role::answers: return below("Answers:", words.passages);
    default: return words.passages;
  }
}

Exposition lesson_opening(const Lesson& lesson, std::span<const ProseBlock::Role> roles) {
  Exposition blocks = {LessonTitle{lesson.title}};
  for (const ProseBlock::Role role : roles) {
    const std::string_view prose = opening_prose(lesson, role);
    if (prose.empty()) continue;
    std::vector<Passage> passages = passages_of(prose);
    if (role == ProseBlock::Role::source && lesson.changed) {
      passages = with_lead("(of the unchanged lesson) ", std::move(passages));
    }
    blocks.emplace_back(ProseBlock{role, std::move(passages)});
  }
  return blocks;
}

Exposition describe_step(const Lesson& lesson, const Trace& trace, const Step& step,
                         const Outline& outline) {
  return StepDescriber{lesson, trace, step, outline}.described();
}

Formula formula_of(const Trace& trace, const Step& step) {
  constexpr std::string_view transposition = "ᵀ";
  const Form form = step.operation->form(trace.call(step));
  const bool by_columns =
      trace.token_layout == TokenLayout::columns && !form.formula_by_columns.empty();
  const std::string& letters = by_columns ? form.formula_by_columns : form.formula;
  Formula formula{{}, step.name, shown_shape(step.output, trace.token_layout)};
  std::string text;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::size_t end = letters.find('}', i);
    if (letters[i] != '{' || end == std::string::npos) {
      text += letters[i];
      continue;
    }
    if (!text.empty()) formula.pieces.push_back({.text = std::exchange(text, {})});
    const auto k = static_cast<std::size_t>(std::stoul(letters.substr(i + 1, end - i - 1)));
    const bool is_transposed = letters.compare(end + 1, transposition.size(), transposition) == 0;
    const Shape shape = shape_as_shown(trace.at(step.of.at(k)), trace.token_layout);
    formula.pieces.push_back({.text = step.of[k],
                              .is_operand = true,
                              .transposed = is_transposed,
                              .shape = shape_text(is_transposed ? transposed(shape) : shape)});
    i = end + (is_transposed ? transposition.size() : 0);
  }
  if (!text.empty()) formula.pieces.push_back({.text = text});
  return formula;
}

std::string formula_text(const Formula& formula) {
  std::string text;
  for (const FormulaPiece& piece : formula.pieces) {
    text += piece.text;
    if (piece.is_operand) text += fmt::format("{} ({})", piece.transposed ? "ᵀ" : "", piece.shape);
  }
  return fmt::format("{} → {} ({})", text, formula.result, formula.result_shape);
}

std::string prose_of(const Lesson& lesson, const Trace& trace, const Step& step,
                     Prose StepText::*text, int digits) {
  const std::string& own = (lesson.texts[step.number - 1].*text).text;
  if (!own.empty()) return fill_placeholders(own, trace, digits);
  if (text == &StepText::say) return words_for(step, step.operation->says, trace.token_layout);
  if (text == &StepText::notice) return words_for(step, step.operation->notice, trace.token_layout);
  return {};
}

std::string fill_placeholders(std::string_view prose, const Trace& trace, int digits) {
  std::string text;
  for (const ProsePiece& piece : pieces_of(prose, trace)) {
    text += piece.text;
    if (!piece.number) continue;
    const std::string render = number_in_prose(*piece.number, piece.digits, digits);
    const bool after_sign = text.ends_with("· ") || text.ends_with("+ ") || text.ends_with("− ");
    text += after_sign && render.starts_with('-') ? "(" + render + ")" : render;
  }
  return text;
}

std::vector<const Given*> new_givens_of(const Trace& trace, const Step& step) {
  std::vector<const Given*> fresh;  // in the order of the formula
  for (const std::string& name : step.of) {
    const auto place = trace.given_names.place(name);
    const Given* given = place ? &trace.givens[*place] : nullptr;
    if (given && first_user(trace, name) == step.name && !contains(fresh, given))
      fresh.push_back(given);
  }
  return fresh;
}

}  // namespace qkv::inline exposition
