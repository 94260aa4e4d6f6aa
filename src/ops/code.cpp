#include <cctype>

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "text/strings.hpp"

namespace qkv::inline ops {
namespace {

// What stands in a template in braces, and what it is in either library.
struct CodeWord {
  std::string_view name, numpy, pytorch;
};

constexpr CodeWord code_words[] = {
    {"np", "np", "torch"},
    {"axis", "axis", "dim"},
    {"amax", "max", "amax"},
    {"cat", "np.concatenate", "torch.cat"},
    {"int", ".astype(int)", ".long()"},
    {"erf", "np.vectorize(math.erf)", "torch.erf"},
    {"pick", "np.take_along_axis", "torch.take_along_dim"},
};

// Words that a Python program cannot, or here should not, use as names.
constexpr std::string_view reserved_words =
    " False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda math nonlocal not np or pass raise return "
    "torch try while with yield ";

std::string identifier(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '.', '_');
  return reserved_words.find(fmt::format(" {} ", text)) == text.npos ? text : text + "_";
}

// A function's name before an operand or a bracket: `ln {0}` is `{np}.log({0})`.
void replace_function(std::string& text, std::string_view sign, std::string_view function) {
  const std::string call = fmt::format("{{np}}.{}(", function);
  text = replace_all(std::move(text), std::string(sign) + "(", call);
  for (auto at = text.find(std::string(sign) + "{"); at != text.npos;
       at = text.find(std::string(sign) + "{")) {
    text.insert(text.find('}', at) + 1, ")");
    text.replace(at, sign.size(), call);
  }
}

// The formula as a template of code.
std::string translated(std::string text) {
  const bool is_cellwise = text.ends_with(", cell by cell");
  for (const auto& [from, to] : {std::pair{", cell by cell", ""},
                                 {"∘", "*"},
                                 {"−", "-"},
                                 {"²", " ** 2"},
                                 {"} · {", "} @ {"},
                                 {"}ᵀ · {", "}ᵀ @ {"},
                                 {"·", "*"},
                                 {"tanh ", "tanh"},
                                 {"column sums of", "row sums of"}}) {
    text = replace_all(std::move(text), from, to);
  }
  if (is_cellwise) text = replace_all(std::move(text), "@", "*");
  for (const auto& [sign, function] : {std::pair{"e^", "exp"},
                                       {"ln ", "log"},
                                       {"tanh", "tanh"},
                                       {"√", "sqrt"},
                                       {"max", "maximum"}}) {
    replace_function(text, sign, function);
  }
  if (const auto root = text.find("√"); root != text.npos) {  // of a number
    text = text.replace(root, std::string_view("√").size(), "") + " ** 0.5";
  }
  constexpr std::string_view sums = "row sums of ";
  for (auto at = text.find(sums); at != text.npos; at = text.find(sums)) {
    const bool is_whole = at <= 1;  // a gradient is summed to its operand's shape in any case
    const std::size_t end = std::min(text.find(')', at), text.size());
    if (!is_whole) text.insert(end, ").sum({keep})");
    text.replace(at, sums.size(), is_whole ? "" : "(");
  }
  return text;
}

struct CodeWriter {
  const Call& call;
  const Tensor& result;
  bool is_numpy;
  bool in_rows = false;       // the template's operands are transposed to rows
  bool are_matrices = false;  // a vector stands beside matrices

  // The template of an operation's record: `{r0}` is operand 0 with tokens as rows, in any layout.
  std::string from_template(std::string text) {
    const auto both = text.find('\n');
    if (both != text.npos) text = is_numpy ? text.substr(0, both) : text.substr(both + 1);
    in_rows = text.find("{r") != text.npos;
    return expanded(text);
  }

  std::string from_formula(const Form& form) {
    const bool by_columns = columns() && !form.formula_by_columns.empty();
    are_matrices = true;
    return expanded(translated(by_columns ? form.formula_by_columns : form.formula));
  }

  // The whole gradient summed to the operand's shape.
  std::string summed(const std::string& whole, const Form& form) const {
    const Shape from = shown(broadcast_axes(call, form).shape());
    const Shape to = shown(result.shape());
    const std::size_t missing = from.size() - std::min(from.size(), to.size());
    Shape parts, axes;  // heads that share one of the operand are an axis of their own
    for (std::size_t a = 0; a < from.size(); ++a) {
      const std::size_t kept = a < missing ? 1 : to[a - missing];
      if (kept > 1 && from[a] != kept) parts.push_back(kept);
      if (from[a] != kept || a < missing) axes.push_back(parts.size());
      parts.push_back(kept > 1 && from[a] != kept ? from[a] / kept : from[a]);
    }
    if (axes.empty()) return whole;
    const std::string_view brackets[] = {axes.size() > 1 ? "(" : "", axes.size() > 1 ? ")" : ""};
    return fmt::format("({}){}.sum({}{}{}){}", whole,
                       parts == from ? "" : fmt::format(".reshape({})", code_list(parts)),
                       brackets[0], code_list(axes), brackets[1],
                       axes.size() == missing ? "" : fmt::format(".reshape({})", code_list(to)));
  }

  std::string finished(const std::string& value) const {
    return in_rows && is_shown_transposed(result, call.token_layout) ? transposed(value) : value;
  }

  Shape shown(Shape shape) const {
    if (columns() && !in_rows) std::swap(shape.rbegin()[0], shape.rbegin()[1]);
    return shape;
  }

  bool columns() const { return call.token_layout == TokenLayout::columns; }

  std::string transposed(const std::string& value) const {
    const bool is_name = value.find_first_of(" (") == value.npos;
    return is_numpy  ? fmt::format("np.swapaxes({}, -1, -2)", value)
           : is_name ? value + ".transpose(-2, -1)"
                     : fmt::format("({}).transpose(-2, -1)", value);
  }

  // An operand's name. Heads that several others share are repeated.
  std::string operand(std::size_t k, bool rows) const {
    const Tensor& tensor = *call.inputs.at(k);
    std::string text = identifier(call.names.at(k));
    const std::size_t heads = head_count(tensor);
    std::size_t most = 1;
    for (const Tensor* input : call.inputs) most = std::max(most, head_count(*input));
    if (k > 0 && heads > 1 && heads < most && most % heads == 0) {
      const std::size_t times = most / heads;
      text = is_numpy ? fmt::format("np.repeat({}, {}, axis=-3)", text, times)
                      : fmt::format("{}.repeat_interleave({}, dim=-3)", text, times);
    }
    if (rows && is_shown_transposed(tensor, call.token_layout)) return transposed(text);
    if (are_matrices && columns() && tensor.rank() == 1) return text + "[:, None]";
    return text;
  }

  // `{arange 2, 5}`: the words of a template that have numbers behind them.
  std::optional<std::string> array_of(std::string_view word) const {
    for (const std::string_view maker : {"arange", "zeros", "array"}) {
      if (!word.starts_with(maker) || word.substr(maker.size(), 1) != " ") continue;
      const std::string_view what = word.substr(maker.size() + 1);
      if (is_numpy) return fmt::format("np.{}({})", maker, what);
      return fmt::format("torch.{}({}, dtype=torch.double)", maker == "array" ? "tensor" : maker,
                         what);
    }
    return {};
  }

  std::string along_line(bool keep) const {
    const int axis = is_columnwise(call) != (columns() && !in_rows) ? -2 : -1;
    return fmt::format("{}={}{}", is_numpy ? "axis" : "dim", axis,
                       !keep      ? ""
                       : is_numpy ? ", keepdims=True"
                                  : ", keepdim=True");
  }

  std::string replacement(std::string_view word) const {
    if (word == "rows") return {};
    if (word == "=") return name() + " = ";
    if (word == "y") return name();
    if (word == "dim" || word == "keep") return along_line(word == "keep");
    if (const auto array = array_of(word)) return *array;
    if (const CodeWord* known = find_by(code_words, word, &CodeWord::name)) {
      return std::string(is_numpy ? known->numpy : known->pytorch);
    }
    const bool rows = word.starts_with('r');
    return operand(static_cast<std::size_t>(std::stoul(std::string(word.substr(rows ? 1 : 0)))),
                   rows);
  }

  // A template's own names have one letter each; one that an array here has gets an underscore.
  std::string with_free_names(std::string_view text) const {
    std::string code;
    for (std::size_t i = 0; i < text.size(); ++i) {
      code += text[i];
      const auto is_part = [&](std::size_t at) {
        return at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
      };
      const bool is_name = text[i] >= 'a' && text[i] <= 'z' && !is_part(i - 1) && !is_part(i + 1) &&
                           (i == 0 || text[i - 1] != '.');
      const std::string_view letter = text.substr(i, 1);
      if (is_name && (letter == call.step || contains(call.names, letter))) code += '_';
    }
    return code;
  }

  std::string expanded(std::string_view text) const {
    constexpr std::string_view sign = "ᵀ";
    std::string code;
    while (!text.empty()) {
      const std::size_t from = std::min(text.find('{'), text.size());
      code += with_free_names(text.substr(0, from));
      text.remove_prefix(from);
      if (text.empty()) break;
      const std::size_t end = text.find('}');
      std::string value = replacement(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
      if (text.starts_with(sign)) {
        value = transposed(value);
        text.remove_prefix(sign.size());
      }
      code += value;
    }
    return code;
  }

  std::string name() const { return identifier(call.step); }
};

// True if a row (or a column, where the step goes along columns) that is all hidden, or divided by
// the 0 of the last operand, has 0 in the result and not nan.
bool has_rows_of_zeros(const Call& call, const Tensor& result, bool divides) {
  const auto is_small = [](const Tensor& tensor) {
    return tensor.values.size() <= small_tensor_limit && tensor.columns() > 0;
  };
  const auto has_row_of = [&](const Tensor& tensor, double number) {
    if (!is_small(tensor)) return false;
    const Tensor lines = is_columnwise(call) && tensor.rank() > 1 ? transposed(tensor) : tensor;
    const std::span<const double> cells(lines.values);
    for (std::size_t i = 0; i < cells.size(); i += lines.columns()) {
      const auto row = cells.subspan(i, lines.columns());
      if (std::ranges::all_of(row, [&](double x) { return x == number; })) return true;
    }
    return false;
  };
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!is_small(result) || call.inputs.empty()) return false;
  if (!std::ranges::all_of(std::span<const double>(result.values), is_finite)) return false;
  return (divides && has_row_of(*call.inputs.back(), 0)) ||
         std::ranges::any_of(call.inputs, [&](auto* of) { return has_row_of(*of, -infinity); });
}

}  // namespace

std::string code_list(std::span<const std::size_t> sizes) {
  return fmt::format("{}", fmt::join(sizes, ", "));
}

std::string code_leading(const Tensor& tensor) {
  std::string text;
  for (std::size_t a = 0; a < tensor.leading_axes(); ++a) {
    text += fmt::format("{}, ", tensor.axes[a].size);
  }
  return text;
}

std::string code_line(const Operation& operation, const Call& call, const Tensor& result,
                      Library library) {
  CodeWriter writer{call, result, library == Library::numpy};
  const Form form = operation.form(call);
  const bool has_own = operation.code_of || !operation.code.empty();
  std::string value = has_own
                          ? writer.from_template(operation.code_of ? operation.code_of(call)
                                                                   : std::string(operation.code))
                          : writer.from_formula(form);
  if (value.starts_with('#')) return value;
  const std::string assignment = identifier(call.step) + " = ";
  const auto at = value.find(assignment);
  const std::string before = at == value.npos ? "" : value.substr(0, at);
  if (at != value.npos) value.erase(0, at + assignment.size());
  const bool divides =
      !call.names.empty() && value.find(" / " + identifier(call.names.back())) != value.npos;
  if (has_rows_of_zeros(call, result, divides)) {
    value = fmt::format("{}.nan_to_num({})", library == Library::numpy ? "np" : "torch", value);
  }
  if (operation.sums_cells) value = writer.summed(value, form);
  const std::string_view import = value.find("math.") == value.npos ? "" : "import math; ";
  return fmt::format("{}{}{}{}", import, before, assignment, writer.finished(value));
}

}  // namespace qkv::inline ops
