#include "ops/operation.hpp"

#include "ops/kinds/formula.hpp"
#include "text/strings.hpp"

namespace qkv::inline ops {
namespace {

std::string shown(const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return '"' + *word + '"';
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* span = std::get_if<OptionSpan>(&value)) {
    return fmt::format("[{}, {}]", (*span)[0], (*span)[1]);
  }
  return fmt::format("{}", std::get<double>(value));
}

struct NumberRule {
  OptionRule::Numbers numbers;
  std::string_view help;
  bool (*fits)(double);
};

constexpr NumberRule number_rules[] = {
    {OptionRule::Numbers::any, "a number", [](double) { return true; }},
    {OptionRule::Numbers::whole, "a whole number", [](double x) { return x == std::floor(x); }},
    {OptionRule::Numbers::positive, "a number above 0", [](double x) { return x > 0; }},
    {OptionRule::Numbers::not_negative, "a number from 0 up", [](double x) { return x >= 0; }},
};

const NumberRule* number_rule(const OptionRule& rule) {
  return find_by(number_rules, rule.numbers, &NumberRule::numbers);
}

bool fits(const OptionRule& rule, const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) {
    return rule.any_word || contains(rule.list, *word);
  }
  if (std::holds_alternative<bool>(value)) return rule.flag;
  if (const auto* span = std::get_if<OptionSpan>(&value)) {
    const auto is_place = [](double x) { return x >= 1 && x == std::floor(x) && x < 1e15; };
    return rule.span && is_place((*span)[0]) && is_place((*span)[1]) && (*span)[0] <= (*span)[1];
  }
  const double number = std::get<double>(value);
  const NumberRule* numbers = number_rule(rule);
  return numbers && std::isfinite(number) && numbers->fits(number);
}

#define QKV_OPERATION(name) &name##_operation,
constexpr const Operation* every_operation[] = {QKV_OPERATIONS};
#undef QKV_OPERATION

// An axis and the operand that bound its name first, so that an error can name both.
struct Bound {
  Axis axis;
  std::size_t operand = 0;
};

// The call's axis for each axis name of a form.
using Bindings = std::map<std::string, Bound, std::less<>>;

[[noreturn]] void refuse_sizes(const Call& call, std::string_view name, const Bound& first,
                               const Bound& other) {
  refuse(call, fmt::format("{} is {} in {} but {} in {}", name, first.axis.size,
                           operand_text(call, first.operand), other.axis.size,
                           operand_text(call, other.operand)));
}

// An axis called "1" must have size 1.
void refuse_several(const Call& call, std::string_view symbol, const Axis& axis,
                    std::size_t operand, std::string_view wanted) {
  if (symbol != "1" || axis.size == 1) return;
  refuse(call, fmt::format("{} must be {}", operand_text(call, operand), wanted));
}

void meet(Bindings& bound, std::string_view symbol, Axis axis, const Call& call,
          std::size_t operand) {
  if (symbol == "1") return;
  const auto found = bound.find(symbol);
  if (found == bound.end()) {
    bound.emplace(symbol, Bound{std::move(axis), operand});
    return;
  }
  Axis& first = found->second.axis;
  if (first.size != axis.size) {
    const bool has_name = is_placeholder(symbol) && !first.name.empty();
    refuse_sizes(call, has_name ? first.name : symbol, found->second, {axis, operand});
  }
  if (first.labels.empty()) first.labels = std::move(axis.labels);
  if (first.name.empty()) first.name = std::move(axis.name);
}

// True if fewer heads of the second operand may be shared among all heads of the first.
bool may_share(const Form& form, const Axis& all, const Axis& few) {
  return form.shares_heads && all.name != "batch" && few.name != "batch" && few.size > 0 &&
         few.size < all.size && all.size % few.size == 0;
}

// Matches the operands with the form: the same axis name must have the same size everywhere.
Bindings bind(const Call& call, const Form& form) {
  Bindings bound;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const auto [rows, columns] = axis_names(form.operands[std::min(k, form.operands.size() - 1)]);
    const Axis row = call.inputs[k]->row_axis();
    const Axis& column = call.inputs[k]->axes.back();
    refuse_several(call, rows, row, k, "a vector or a matrix of one row");
    refuse_several(call, columns, column, k, "a matrix of one column");
    meet(bound, rows, row, call, k);
    meet(bound, columns, column, call, k);
  }
  for (auto& [symbol, meeting] : bound) {
    if (!is_placeholder(symbol) || meeting.axis.name.empty()) meeting.axis.name = symbol;
  }
  return bound;
}

// The operands' leading axes, broadcast as in NumPy, or shared if the form shares heads.
std::vector<Axis> leading_axes(const Call& call, const Form& form) {
  std::vector<Bound> met;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Tensor& operand = *call.inputs[k];
    const std::size_t count = operand.leading_axes();
    if (count > met.size()) {
      met.insert(met.begin(), count - met.size(), Bound{{.name = "", .size = 1}, k});
    }
    for (std::size_t a = 0; a < count; ++a) {
      Bound& bound = met[met.size() - count + a];
      const Axis& own = operand.axes[a];
      if (own.size == 1 && bound.axis.size != 1) continue;
      if (k == 1 && a + 1 == count && may_share(form, bound.axis, own)) continue;
      if (bound.axis.size != 1 && bound.axis.size != own.size) {
        const std::string& name = bound.axis.name;
        refuse_sizes(call, name.empty() ? "the leading axis" : name, bound, {own, k});
      }
      if (bound.axis.size != own.size || bound.axis.name.empty()) bound = {own, k};
    }
  }
  return mapped(met, &Bound::axis);
}

}  // namespace

Options Options::of(std::string_view name, OptionValue value) {
  Options options;
  options.set(std::string(name), std::move(value));
  return options;
}

const OptionValue* Options::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Options::rename(const Options& written, std::string_view from, std::string_view to) {
  if (const OptionValue* value = written.find(from)) {
    set(std::string(to), *value);
  } else {
    values_.erase(std::string(to));
  }
}

const double* Options::if_number(std::string_view name) const {
  return std::get_if<double>(find(name));
}

std::string_view Options::contents(std::string_view name) const {
  const auto found = contents_.find(name);
  return found == contents_.end() ? std::string_view() : std::string_view(*found->second);
}

void Options::set_contents(std::string name, std::string bytes) {
  contents_[std::move(name)] = std::make_shared<const std::string>(std::move(bytes));
}

std::string choices(const OptionRule& rule) {
  std::vector<std::string> all;
  for (const std::string_view word : rule.list) all.push_back(fmt::format("\"{}\"", word));
  if (rule.any_word && rule.list.empty()) all.emplace_back("a word in quotes");
  if (const NumberRule* numbers = number_rule(rule)) all.emplace_back(numbers->help);
  if (rule.flag) all.emplace_back("true or false");
  if (rule.span) all.emplace_back("[from, to], counted from 1");
  return fmt::format("{}", fmt::join(all, " or "));
}

std::string complaint(const OptionRule& rule, const OptionValue& value) {
  if (fits(rule, value)) return {};
  return fmt::format("{} is {}, not {}", rule.name, choices(rule), shown(value));
}

std::string operand_text(const Call& call, std::size_t k) {
  return fmt::format("{} ({})", call.names[k], shown_shape(*call.inputs[k], call.token_layout));
}

void refuse(const Call& call, std::string_view what) {
  throw InputError("{}: {}", call.step, as_shown(what, call.token_layout));
}

bool Operation::takes(std::size_t operand_count) const {
  if (operand_count == min_operands || operand_count == max_operands) return true;
  return takes_numbers_between && operand_count > min_operands && operand_count < max_operands;
}

Tensor Operation::compute(const Call& call) const {
  if (formula) return formula(call);
  if (fill_row) return by_rows(call, output_of(call, form(call)), operations, fill_row);
  if (matrix) return by_operands(call, output_of(call, form(call)), matrix);
  if (const auto kernel = in_place ? in_place(call) : std::nullopt) {
    return by_rows(call, uninitialised_like(kernel->frame), 2,
                   [&](const Operands& of, std::span<double> cells) {
                     std::ranges::copy(of.row(0), cells.begin());
                     kernel->work({of.at().matrix, of.at().row, 0, cells});
                   });
  }
  return cell_by_cell(call, output_of(call, form(call)), cell.number);
}

std::vector<std::string> Operation::operands_for_layout(std::vector<std::string> of,
                                                        TokenLayout token_layout) const {
  if (reverses_operands && token_layout == TokenLayout::columns) std::ranges::reverse(of);
  return of;
}

Options Operation::options_for_layout(Options options_of_step, TokenLayout token_layout) const {
  if (token_layout == TokenLayout::rows) return options_of_step;
  const Options written = options_of_step;
  for (const OptionRule& rule : options) {
    if (rule.swapped_name.empty()) continue;
    options_of_step.rename(written, rule.name, rule.swapped_name);
  }
  for (const OptionRule& rule : options) {
    const OptionValue* value = options_of_step.find(rule.name);
    if (!value || !rule.swaps_with_layout) continue;
    const bool is_rows = std::get<std::string>(*value) == "rows";
    options_of_step.set(std::string(rule.name), std::string(is_rows ? "columns" : "rows"));
  }
  return options_of_step;
}

Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&)) {
  constexpr std::size_t operations = 8;  // finding a cell's operands costs more than its maths
  const std::span<double> cells = output.values.mutable_span();
  each_cell<double>({{.call = &call, .output = &output}}, operations,
                    [&](const Cell<double>& at, std::size_t place) { cells[place] = cell(at); });
  return output;
}

Tensor result_of(const Operation& operation, const Call& call) {
  std::optional<InPlaceKernel> rows;
  if (operation.in_place && call.inputs[0]->values.size() > small_tensor_limit) {
    rows = operation.in_place(call);
  }
  const bool is_wider = rows && rows->frame.matrices() != call.inputs[0]->matrices();
  if (!rows || is_wider) return operation.compute(call);
  Tensor result = std::move(rows->frame);
  const auto work = [height = result.rows(), work = std::move(rows->work)](
                        std::size_t line, std::span<double> cells) {
    work({line / height, line % height, 0, cells});
  };
  result.values = Values::lazy(call.inputs[0]->values, result.columns(), work);
  return result;
}

std::size_t CellBase::matrix_index(std::size_t k) const {
  const Tensor& operand = input(k);
  const std::size_t count = operand.matrices();
  if (count == 1) return 0;
  if (count == output->matrices()) return matrix;  // same leading axes: the broadcast adds none
  const std::vector<std::size_t> index = leading_index(*output, matrix);
  const std::size_t missing = index.size() - operand.leading_axes();
  std::size_t result = 0;
  for (std::size_t a = 0; a < operand.leading_axes(); ++a) {
    const std::size_t size = operand.axes[a].size;
    const std::size_t all = output->axes[a + missing].size;
    result = result * size + index[a + missing] * size / all;  // neighbours share fewer heads
  }
  return result;
}

std::span<const Operation* const> catalogue() { return every_operation; }

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(every_operation, name, &Operation::name);
  return found == std::end(every_operation) ? nullptr : *found;
}

bool is_placeholder(std::string_view axis) {
  return axis == "row" || axis == "column" || axis == "inner";
}

std::pair<std::string_view, std::string_view> axis_names(std::string_view matrix) {
  const std::size_t blank = matrix.find(' ');
  return {matrix.substr(0, blank), matrix.substr(blank + 1)};
}

Tensor frame_of(const Call& call, const Form& form, std::optional<std::vector<Axis>> leading) {
  const Bindings bound = bind(call, form);
  std::vector<Axis> axes = leading ? *std::move(leading) : leading_axes(call, form);
  const auto [rows, columns] = axis_names(form.output);
  for (const std::string_view axis : {rows, columns}) {
    axes.push_back(axis == "1" ? Axis{.name = "", .size = 1} : bound.find(axis)->second.axis);
  }
  return {.axes = std::move(axes), .values = {}};
}

Tensor output_of(const Call& call, const Form& form) {
  Tensor frame = frame_of(call, form);
  element_count(frame.shape(), call.step);  // throws, naming the step, if too large
  return uninitialised(std::move(frame.axes));
}

}  // namespace qkv::inline ops
