#include "lesson/library.hpp"

#include "lesson/prose.hpp"
#include "text/number.hpp"

namespace qkv::inline lesson {
namespace {

constexpr std::string_view operands_key = "of";

// "h0.Q_rope.pairing=halves": the step, its option and the new value.
struct OptionChange {
  std::string_view step;
  std::string_view key;
  std::string_view value;
};

// Empty for a change of a cell, or of a matrix whose whole name is before the equals sign.
std::optional<OptionChange> option_change_in(const Recipe& recipe, std::string_view change) {
  const std::size_t equals = change.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view left = trimmed(change.substr(0, equals));
  const std::size_t dot = left.rfind('.');
  if (dot == std::string_view::npos || left.find('[') != std::string_view::npos) return {};
  if (given_in(recipe, left) || step_in(recipe, left)) return {};
  return OptionChange{left.substr(0, dot), left.substr(dot + 1),
                      trimmed(change.substr(equals + 1))};
}

// Parses true, 0.5, [1, 4] or a word.
OptionValue value_in(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = parse_number<double>(text)) return *number;
  if (text.starts_with('[') && text.ends_with(']')) {
    const auto ends =
        mapped(split(text.substr(1, text.size() - 2), ','),
               [](std::string_view number) { return parse_number<double>(trimmed(number)); });
    if (ends.size() == 2 && ends[0] && ends[1]) return OptionSpan{*ends[0], *ends[1]};
  }
  const bool is_quoted = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

void set_value(StepRecipe& step, const OptionRule& rule, std::string_view text,
               TokenLayout token_layout) {
  OptionValue value = value_in(text);
  const std::string wrong =
      rule.file ? fmt::format("{} is a file of the lesson's", rule.name) : complaint(rule, value);
  if (!wrong.empty()) throw InputError("--set {}.{}: {}", printable(step.name), rule.name, wrong);
  const Options inside =
      step.operation->options_for_layout(Options::of(rule.name, std::move(value)), token_layout);
  for (const auto& [name, one] : inside.all()) step.options.set(name, one);
}

// Operands must be defined before the step.
void set_operands(Recipe& recipe, StepRecipe& step, std::string_view list) {
  NameViews before(recipe.givens, &Given::name);
  before.add(std::span(recipe.steps.data(), &step), &StepRecipe::name);
  std::vector<std::string> of;
  for (const std::string_view operand : split(list, ',')) {
    const std::string_view name = trimmed(operand);
    if (!contains(before, name)) {
      throw InputError("--set {}.of: nothing before this step is called \"{}\"; {}",
                       printable(step.name), printable(name), did_you_mean(name, before));
    }
    of.emplace_back(name);
  }
  if (!step.operation->takes(of.size())) {
    throw InputError("--set {}.of: {} takes {}", printable(step.name), step.operation->name,
                     step.operation->operands);
  }
  const auto goes_back = [](const StepRecipe& other) { return is_gradient(*other.operation); };
  if (std::ranges::any_of(recipe.steps, goes_back)) {
    throw InputError(
        "--set {}.of: the lesson's backward pass uses this step; change its operands in the "
        "lesson's file",
        printable(step.name));
  }
  step.of = step.operation->operands_for_layout(std::move(of), recipe.token_layout);
}

bool is_changed(const std::string& name, const Trace& own, const Trace& now) {
  const Tensor* before = own.find(name);
  const Tensor* after = now.find(name);
  if (before && after) return differs(*after, *before);
  return before || after || symbol(own, name) != symbol(now, name);
}

// True if the step has other operands or options than the lesson's prose describes.
bool is_other_work(const Step& step, const Trace& own) {
  const Step* before = own.find_step(step.name);
  return before && (before->of != step.of || before->options.all() != step.options.all());
}

double set_value(const std::string& change, std::string_view written) {
  const std::string_view text = trimmed(written);
  const NumeralResult result = parse_cell(text, decimal_mark_of(text));
  if (result.fault != NumeralError::none || std::isnan(result.numeral.value)) {
    const bool is_in_digits =
        result.fault == NumeralError::too_large || result.fault == NumeralError::rounded;
    throw InputError(
        "--set {}: {}", change,
        is_in_digits
            ? refusal(result.fault, written)
            : fmt::format("\"{}\" is not a number: write it like 0.25, 1/3, √2, 80% or 2.5e-3",
                          printable(written)));
  }
  return result.numeral.value;
}

[[noreturn]] void refuse_not_given(const Recipe& recipe, std::string_view option,
                                   std::string_view name, Settable settable) {
  NameViews names(recipe.givens, &Given::name);
  const bool has_steps = settable == Settable::givens_and_steps;
  if (has_steps) names.add(recipe.steps, &StepRecipe::name);
  const std::string all = names.empty() ? "nothing in this lesson" : abbreviated_list(names);
  throw InputError("{} {} is not given; {}", option, name.empty() ? "\"\"" : printable(name),
                   did_you_mean(name, names,
                                fmt::format("what is given can be set{}: {}",
                                            has_steps ? ", and each step" : "", all)));
}

// Returns the given of that name. A step becomes a given with its present numbers, unless it is the
// only step left.
Given& given_of(Recipe& recipe, std::string_view option, std::string_view name, const Trace& named,
                Settable settable) {
  if (Given* given = find_by(recipe.givens, name, &Given::name)) return *given;
  const auto step = std::ranges::find(recipe.steps, name, &StepRecipe::name);
  if (step == recipe.steps.end() || settable == Settable::givens) {
    refuse_not_given(recipe, option, name, settable);
  }
  if (recipe.steps.size() == 1)
    throw InputError("{} {}: no other step would be left; change what it is computed from", option,
                     printable(name));
  recipe.givens.push_back({step->name, named.at(name)});
  recipe.steps.erase(step);
  return recipe.givens.back();
}

// The change names a matrix without a cell, or has no value.
[[noreturn]] void throw_how_to_write(const std::string& change, const Trace& named) {
  try {
    find_cell(change, named);  // its error names an example cell
  } catch (const InputError& error) {
    throw InputError("--set {}, and its value after it", error.what());
  }
  throw InputError("--set {}: write the cell and its value", printable(change));
}

}  // namespace

bool set_option(Recipe& recipe, std::string_view change) {
  const auto wanted = option_change_in(recipe, change);
  if (!wanted) return false;
  const bool is_pattern = wanted->step.find('*') != std::string_view::npos;
  bool any = false;
  for (StepRecipe& step : recipe.steps) {
    if (!matches(wanted->step, step.name)) continue;
    const OptionRule* rule = find_by(step.operation->options, wanted->key, &OptionRule::name);
    const bool has_operands = wanted->key == operands_key;
    if (!rule && is_pattern && !has_operands) continue;
    if (rule) {
      set_value(step, *rule, wanted->value, recipe.token_layout);
    } else if (has_operands) {
      set_operands(recipe, step, wanted->value);
    } else {
      NameViews known(std::span(&operands_key, 1));
      known.add(step.operation->options, &OptionRule::name);
      throw InputError("--set {}: {} has no option \"{}\"; {}", printable(step.name),
                       step.operation->name, printable(wanted->key),
                       did_you_mean(wanted->key, known));
    }
    any = true;
  }
  if (is_pattern && !any) {
    throw InputError("--set {}: no step of that name has an option \"{}\"", printable(wanted->step),
                     printable(wanted->key));
  }
  return any;
}

std::string_view set_name(const Recipe& recipe, std::string_view change) {
  const auto option = option_change_in(recipe, change);
  return option ? option->step : trimmed(change.substr(0, change.find_first_of("[=")));
}

Lesson without_stale_prose(Lesson lesson, const Trace& own, const Trace& now) {
  lesson.changed = true;
  const auto is_own = [&](const std::string& name) { return !is_changed(name, own, now); };
  for (const Step& step : now.steps) {
    StepText& words = lesson.texts[step.number - 1];
    if (is_other_work(step, own)) {
      words.title.clear();
      words.say.text.clear();
      words.notice.text.clear();
      continue;
    }
    std::vector<std::string> names = {step.name};
    std::ranges::copy(step.of, std::back_inserter(names));
    std::ranges::move(names_in(words.say.text), std::back_inserter(names));
    std::ranges::move(names_in(words.notice.text), std::back_inserter(names));
    if (std::ranges::all_of(names, is_own)) continue;
    if (!words.general) words.title = words.otherwise.title;
    words.say.text = still_true(words.say.text, words.general, now, is_own);
    if (words.say.text.empty()) words.say.text = words.otherwise.say;
    words.notice.text = still_true(words.notice.text, words.general, now, is_own);
    if (words.notice.text.empty()) words.notice.text = words.otherwise.notice;
  }
  return lesson;
}

void set_text(Recipe& recipe, const std::string& text) {
  const bool reads_text = std::ranges::any_of(
      recipe.steps, [](const StepRecipe& step) { return step.operation->max_operands == 0; });
  if (!reads_text) {
    throw InputError("--text: this lesson does not start from a text; change a given with --set");
  }
  recipe.environment.texts = {text};
}

void set_cell(Recipe& recipe, const std::string& change, const Trace& named, Settable settable) {
  const std::size_t equals = change.rfind('=');
  const std::string_view whole = std::string_view(change).substr(0, equals);
  Given& given =
      given_of(recipe, "--set", trimmed(whole.substr(0, whole.find('['))), named, settable);
  if (equals == std::string::npos) {
    if (change.find('[') == std::string::npos) throw_how_to_write(change, named);
    throw InputError("--set {0}: write the cell and its value: '{0}=0.5'", printable(change));
  }
  try {
    if (whole.find('[') == whole.npos) find_cell(whole, named);  // throws how
    const ReferenceText text = parse_reference(whole);
    Tensor& tensor = given.tensor;
    const double value = set_value(change, std::string_view(change).substr(equals + 1));
    for (const CellReference& cell : resolve_all(text, named)) {
      tensor.values.mutable_span()[tensor.index(cell.matrix, cell.row, cell.column)] = value;
    }
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    throw InputError(message.starts_with("--set") ? std::string(message)
                                                  : fmt::format("--set {}", message));
  }
}

void set_all(Recipe& recipe, const std::vector<std::string>& changes, const Trace& named,
             bool is_changed) {
  // Cells of steps by step index: they are set in the step as recomputed after earlier changes.
  std::multimap<std::size_t, const std::string*> in_steps;
  for (const std::string& change : changes) {
    const bool is_option = set_option(recipe, change);
    const auto step = std::ranges::find(recipe.steps, set_name(recipe, change), &StepRecipe::name);
    if (!is_option && step != recipe.steps.end()) {
      in_steps.emplace(step - recipe.steps.begin(), &change);
      continue;
    }
    if (!is_option) set_cell(recipe, change, named);
    is_changed = true;
  }
  for (const auto& [place, change] : in_steps) {
    const std::string name(set_name(recipe, *change));
    if (is_changed && !given_in(recipe, name)) {
      set_cell(recipe, *change, evaluate(recipe, {name}));
    } else {
      set_cell(recipe, *change, named);
    }
    is_changed = true;
  }
}

Trace with_set(const Trace& trace, const std::vector<std::string>& changes) {
  Recipe recipe{
      .token_layout = trace.token_layout, .environment = trace.environment, .givens = trace.givens};
  recipe.steps.assign(trace.steps.begin(), trace.steps.end());
  set_all(recipe, changes, trace, false);
  return evaluate(std::move(recipe), {});
}

void patch_matrix(Recipe& recipe, const std::string& change, const Trace& named) {
  const std::size_t equals = change.find('=');
  if (equals == std::string::npos || equals + 1 == change.size()) {
    throw InputError("--patch {}: write the matrix and its file: h0.context=other.npy",
                     printable(change));
  }
  Tensor& tensor = given_of(recipe, "--patch", trimmed(std::string_view(change).substr(0, equals)),
                            named, Settable::givens_and_steps)
                       .tensor;
  const std::string file = change.substr(equals + 1);
  const ParsedArray written = read_array(file);
  if (written.shape != tensor.shape()) {
    throw InputError("--patch {}: {} is {}, and {} has {}", printable(change),
                     change.substr(0, equals), shape_text(tensor.shape()), printable(file),
                     shape_text(written.shape));
  }
  std::ranges::transform(written.cells, tensor.values.mutable_span().begin(), &Numeral::value);
}

}  // namespace qkv::inline lesson
