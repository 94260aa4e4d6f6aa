#include "trace/trace.hpp"

namespace qkv::inline trace {
namespace {

[[noreturn]] void refuse(std::string_view name, const NameViews& known, std::string_view what) {
  const std::string all = "this lesson has " + abbreviated_list(known);
  throw InputError("there is no {} named \"{}\"; {}", what, name, did_you_mean(name, known, all));
}

// Returns the size of that axis in the first tensor that has it.
std::optional<std::size_t> axis_size(const Trace& trace, std::string_view axis) {
  std::optional<std::size_t> size;
  const auto look = [&](const Tensor& tensor) {
    for (const Axis& own : tensor.axes) {
      if (!size && own.name == axis) size = own.size;
    }
  };
  for (const Given& given : trace.givens) look(given.tensor);
  for (const Step& step : trace.steps) look(step.output);
  return size;
}

// Returns the size that the shape rules of the steps give to an axis.
std::optional<std::size_t> bound_size(const Trace& trace, std::string_view axis) {
  for (const Step& step : trace.steps) {
    const Call call = trace.call(step);
    if (call.inputs.empty()) continue;
    const Form form = step.operation->form(call);
    for (std::size_t k = 0; k < std::min(form.operands.size(), call.inputs.size()); ++k) {
      const auto [rows, columns] = axis_names(form.operands[k]);
      if (rows == axis) return call.inputs[k]->rows();
      if (columns == axis) return call.inputs[k]->columns();
    }
  }
  return {};
}

struct Convention {
  std::string_view axes;
  std::string_view names;
};

constexpr Convention conventions[] = {
    {"1 token", "token_ids"},
    {"token d_model", "token_embeddings position_embeddings X output"},
    {"d_model d_k", "W_Q W_K"},
    {"d_model d_v", "W_V"},
    {"h·d_v d_model", "W_O"},
    {"token d_k", "Q K"},
    {"token d_v", "V context"},
    {"query key", "scores scaled_scores masked_scores attention_weights"},
    {"token h·d_v", "concat"},
};

/// Returns the axes of a conventional name: "W_Q" → "d_model d_k"; empty for other names.
std::string_view known_axes(std::string_view name) {
  for (const Convention& one : conventions) {
    if (contains(text::split(one.names, ' '), name)) return one.axes;
  }
  return {};
}

/// True for names of weights: W, W_Q, Wq, W1, w_out.
bool is_name_of_weight(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);  // h0.W_Q
  if (!name.starts_with('W') && !name.starts_with('w')) return false;
  const bool is_word = name.size() > 2 && name[1] >= 'a' && name[1] <= 'z';
  return !is_word;
}

/// True for names of queries, keys or values, whose leading axis is the heads: Q, K, V, past_K,
/// V_new.
bool is_name_of_heads(std::string_view name) {
  constexpr std::string_view past = "past_";
  constexpr std::string_view added = "_new";
  if (name.starts_with(past)) name.remove_prefix(past.size());
  if (name.ends_with(added)) name.remove_suffix(added.size());
  return name == "Q" || name == "K" || name == "V";
}

void name_axis(Axis& axis, std::string_view name) {
  if (axis.name.empty() && name != "1" && !is_placeholder(name)) axis.name = name;
}

void name_matrix(Tensor& tensor, std::string_view axes) {
  if (axes.empty()) return;
  const auto [rows, columns] = axis_names(axes);
  name_axis(tensor.axes.back(), columns);
  if (tensor.rank() > 1) name_axis(tensor.axes[tensor.rank() - 2], rows);
}

// A weight stored out × in has the conventional axes of its name swapped.
void swap_usual_axes(Given& given, std::string_view axes) {
  Tensor& tensor = given.tensor;
  if (axes.empty() || tensor.rank() < 2) return;
  const auto [rows, columns] = axis_names(axes);
  if (rows != "column" || columns != "inner") return;
  const auto [usual_rows, usual_columns] = axis_names(known_axes(given.name));
  Axis& row = tensor.axes[tensor.rank() - 2];
  Axis& column = tensor.axes.back();
  if (row.name == usual_rows && column.name == usual_columns) std::swap(row.name, column.name);
}

void name_leading(Tensor& tensor, std::string_view innermost) {
  const std::size_t leading = tensor.leading_axes();
  if (leading > 0) name_axis(tensor.axes[leading - 1], innermost);
  if (leading > 1) name_axis(tensor.axes[leading - 2], "batch");
}

// Labels tensors with one row per token, and token ids, which are a vector.
void label_tokens(Tensor& tensor, const AxisLabels& tokens) {
  const bool is_ids = tensor.rank() == 1 && tensor.axes[0].name == "token";
  if (tokens.empty() || (tensor.rank() == 1 && !is_ids)) return;
  Axis& axis = is_ids ? tensor.axes[0] : tensor.axes[tensor.rank() - 2];
  constexpr std::string_view of_tokens[] = {"", "token", "query", "key"};
  const bool may_count = axis.labels.empty() && axis.size == tokens.size();
  if (may_count && contains(of_tokens, axis.name)) axis.labels = tokens;
}

// True if the rows of operand `k` may be tokens. Rows of weights are features, even if there are as
// many, unless the columns that they meet are tokens.
bool may_have_tokens(const Call& call, const Form& form, std::size_t k) {
  if (is_name_of_weight(call.names[k])) return false;
  const auto rows = axis_names(form.operands[std::min(k, form.operands.size() - 1)]).first;
  const bool is_vector = call.inputs[k]->rank() < 2;
  if (rows != "inner") return is_vector || (rows != "1" && rows != "column");
  const Axis& met = call.inputs[0]->axes.back();
  return !met.labels.empty() || met.name == "key" || met.name == "query";
}

std::vector<std::string> labels_of(const Axis& axis, std::size_t batch) {
  if (axis.labels.empty()) return {};
  return mapped_places(axis.size, [&](std::size_t i) { return std::string(axis.label(i, batch)); });
}

void fill(std::vector<std::string>& labels, std::size_t count) {
  labels.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (labels[i].empty()) labels[i] = std::to_string(i + 1);
  }
}

std::string name_of_sentence(std::size_t row) { return fmt::format("batch {}", row + 1); }

}  // namespace

const Given* given_in(const Recipe& recipe, std::string_view name) {
  return find_by(recipe.givens, name, &Given::name);
}

const StepRecipe* step_in(const Recipe& recipe, std::string_view name) {
  return find_by(recipe.steps, name, &StepRecipe::name);
}

void require_operand_count(const StepRecipe& step) {
  const Operation& operation = *step.operation;
  if (operation.takes(step.of.size())) return;
  std::string wanted = fmt::format("{}", operation.min_operands);
  if (operation.max_operands != operation.min_operands) {
    wanted += fmt::format(" {} {}", operation.takes_numbers_between ? "to" : "or",
                          operation.max_operands);
  }
  throw InputError("{}: {} takes {} operand{}, not {}", step.name, operation.name, wanted,
                   operation.max_operands == 1 ? "" : "s", step.of.size());
}

const Tensor* Trace::find(std::string_view name) const {
  if (const auto place = given_names.place(name)) return &givens[*place].tensor;
  const Step* step = find_step(name);
  return step ? &step->output : nullptr;
}

const Step* Trace::find_step(std::string_view name) const {
  const auto place = step_names.place(name);
  if (!place) return nullptr;
  // Erased steps before it can only have moved it forward.
  for (std::size_t s = std::min(*place + 1, steps.size()); s-- > 0;) {
    if (steps[s].name == name) return &steps[s];
  }
  return nullptr;
}

void Trace::add(Given given) {
  given_names.add(given.name);
  has_lazy = has_lazy || !given.tensor.values.are_stored();
  givens.push_back(std::move(given));
}

void Trace::add(Step step) {
  step_names.add(step.name);
  for (const std::string& name : step.of) first_consumers.emplace(name, step.name);
  has_lazy = has_lazy || !step.output.values.are_stored();
  steps.push_back(std::move(step));
}

const Tensor& Trace::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  NameViews known(givens, &Given::name);
  known.add(steps, &Step::name);
  refuse(name, known, "matrix");
}

const Step& Trace::step_at(std::string_view name) const {
  if (const Step* step = find_step(name)) return *step;
  refuse(name, {steps, &Step::name}, find(name) ? "step, only a given matrix," : "step");
}

std::string words_for(const StepRecipe& step, std::string_view words, TokenLayout token_layout) {
  const Operation& own = *step.operation;
  if (own.reverses_operands) return std::string(words);  // they hold for the product as it is shown
  const OptionRule* rule = find_by(own.options, "axis", &OptionRule::name);
  const std::string_view usual = rule ? rule->list.front() : "rows";
  const bool is_usual = step.options.word("axis", usual) == usual;
  const bool by_columns = (token_layout == TokenLayout::columns) == is_usual;
  return as_shown(words, by_columns ? TokenLayout::columns : TokenLayout::rows);
}

void Trace::drop_cache() const {
  if (!has_lazy) return;  // as in a lesson of ten thousand small steps
  for (const Given& given : givens) given.tensor.values.drop_cache();
  for (const Step& step : steps) step.output.values.drop_cache();
}

Call Trace::call(const Step& step) const {
  Call call{.step = step.name,
            .options = &step.options,
            .environment = &environment,
            .token_layout = token_layout};
  for (const std::string& name : step.of) {
    call.inputs.push_back(&at(name));
    call.names.push_back(name);
  }
  return call;
}

Trace only_steps(const Trace& trace, const std::vector<std::size_t>& places) {
  Trace alone;
  alone.token_layout = trace.token_layout;
  alone.environment = trace.environment;
  alone.length = trace.length;
  for (const Given& given : trace.givens) alone.add(given);
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const Step& step = trace.steps[s];
    if (contains(places, s)) {
      alone.add(step);
    } else {
      alone.add(Given{step.name, step.output});
    }
  }
  return alone;
}

std::size_t numbers_of(const Trace& trace, const std::vector<std::size_t>& places) {
  std::set<const Tensor*> tensors;
  for (const std::size_t place : places) {
    const Step& step = trace.steps[place];
    tensors.insert(&step.output);
    for (const std::string& name : step.of) tensors.insert(&trace.at(name));
  }
  if (places.empty()) {
    for (const Given& given : trace.givens) tensors.insert(&given.tensor);
    for (const Step& step : trace.steps) tensors.insert(&step.output);
  }
  std::size_t count = 0;
  for (const Tensor* tensor : tensors) count += tensor->values.size();
  return count;
}

std::optional<std::size_t> symbol(const Trace& trace, std::string_view name) {
  const auto size_of = [&](std::string_view axis) {
    const auto size = axis_size(trace, axis);
    return size ? size : bound_size(trace, axis);
  };
  if (name == "m") return size_of("key");
  if (name == "h") return size_of("head");
  if (name == "n") {
    const auto queries = size_of("query");
    return queries ? queries : size_of("token");
  }
  return name.starts_with("d_") ? size_of(name) : std::nullopt;
}

void infer_axis_names(Trace& trace) {
  for (Given& given : trace.givens) name_matrix(given.tensor, known_axes(given.name));
}

void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens,
                const std::set<std::string>& with_heads) {
  const Call call = trace.call(step);
  const Form form = step.operation->form(call);
  const bool plain_weights =
      call.inputs.size() > 1 && std::all_of(call.inputs.begin() + 1, call.inputs.end(),
                                            [](const Tensor* t) { return t->rank() < 3; });
  // A padding mask has a row for each sentence: its scores are a batch.
  const bool are_scores = form.operands.size() > 1 && form.operands[0] == "query key" &&
                          !form.operands[1].starts_with("sentence");
  const auto counts_sentences = [&](const Given& given) {
    const bool has_heads = form.shares_heads || are_scores || is_name_of_heads(given.name) ||
                           with_heads.contains(given.name) || given.tensor.leading_axes() > 1;
    return form.makes_heads || (plain_weights && !has_heads);
  };
  std::set<std::size_t> met;
  for (std::size_t k = 0; k < step.of.size(); ++k) {
    const auto place = trace.given_names.place(step.of[k]);
    if (!place || !met.insert(*place).second) continue;  // its first position decides
    Given& given = trace.givens[*place];
    if (!form.operands.empty()) {
      const std::string_view axes = form.operands[std::min(k, form.operands.size() - 1)];
      swap_usual_axes(given, axes);
      name_matrix(given.tensor, axes);
    }
    name_leading(given.tensor, k == 0 && counts_sentences(given) ? "batch" : "head");
    if (form.operands.empty() || may_have_tokens(call, form, k)) label_tokens(given.tensor, tokens);
  }
}

void name_remaining_axes(Trace& trace, const AxisLabels& tokens) {
  for (Given& given : trace.givens) {
    name_leading(given.tensor, "head");
    if (trace.first_consumers.contains(given.name) || is_name_of_weight(given.name)) continue;
    label_tokens(given.tensor, tokens);
  }
}

bool words_differ_by_row(const Tensor& tensor) {
  return tensor.leading_axes() == 0 && tensor.axes.back().labels.size() > tensor.columns();
}

MatrixLabels labels_of_sentence(const Tensor& ids, std::size_t row) {
  return {{name_of_sentence(row)}, labels_of(ids.axes.back(), row)};
}

MatrixLabels own_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout) {
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  const std::size_t batch = leading.empty() ? 0 : leading.front();
  MatrixLabels labels{labels_of(tensor.row_axis(), batch), {}};
  if (!words_differ_by_row(tensor)) labels.columns = labels_of(tensor.axes.back(), batch);
  if (is_shown_transposed(tensor, token_layout)) std::swap(labels.rows, labels.columns);
  return labels;
}

MatrixLabels full_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout) {
  MatrixLabels labels = own_labels(tensor, index, token_layout);
  if (words_differ_by_row(tensor)) {
    for (std::size_t row = 0; row < tensor.rows(); ++row) {
      labels.rows.push_back(name_of_sentence(row));
    }
  }
  const bool is_transposed = is_shown_transposed(tensor, token_layout);
  fill(is_transposed ? labels.columns : labels.rows, tensor.rows());
  fill(is_transposed ? labels.rows : labels.columns, tensor.columns());
  return labels;
}

std::optional<std::size_t> head_of(const Tensor& tensor, std::size_t index) {
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    if (tensor.axes[a].name == "head") return leading[a];
  }
  return {};
}

std::string leading_text(const Tensor& tensor, std::size_t index, std::string_view pattern) {
  std::string text;
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    const std::string& axis = tensor.axes[a].name;
    text += fmt::format(fmt::runtime(pattern), axis.empty() ? "head" : axis, leading[a] + 1);
  }
  return text;
}

std::string matrix_name(const Tensor& tensor, std::size_t index) {
  return std::string(trimmed(leading_text(tensor, index, "{} {}, "), ", "));
}

}  // namespace qkv::inline trace
