#include "terminal/model_views.hpp"

#include <nlohmann/json.hpp>

#include "terminal/grid.hpp"
#include "text/json.hpp"
#include "text/unicode.hpp"

namespace qkv::inline terminal {
namespace {

constexpr std::size_t max_text_width = 100;

// Hanging indent.
std::string put(const std::string& prose, std::size_t indent, std::size_t columns) {
  return hanging_lines(std::string(indent, ' '), wrapped(prose, columns - indent - 4),
                       indent == 0 ? 0 : indent + 4);
}

[[noreturn]] void refuse_overflow(std::uint64_t a, std::string_view sign, std::uint64_t b,
                                  std::string_view what) {
  throw InputError(
      "{} {} {} {} are more than {}, the most that qkv params counts to; use smaller sizes",
      group_digits(a), sign, group_digits(b), what,
      group_digits(std::numeric_limits<std::uint64_t>::max()));
}

// The product, or an error that names what was counted.
std::uint64_t times(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) refuse_overflow(a, "×", b, what);
  return product;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t total = 0;
  if (__builtin_add_overflow(a, b, &total)) refuse_overflow(a, "+", b, what);
  return total;
}

MatrixCount matrix(std::string name, std::string also, std::uint64_t rows, std::uint64_t columns) {
  return {std::move(name), std::move(also), rows, columns, times(rows, columns, "parameters")};
}

// Aligned columns: the first on the left, the others on the right.
std::string table(std::vector<std::vector<std::string>> lines) {
  for (auto& line : lines) line.front().insert(0, "  ");
  return aligned_columns(lines, {0});
}

std::vector<std::string> counted(std::string what, std::string size, std::uint64_t count) {
  std::vector<std::string> line = {std::move(what), std::move(size), group_digits(count)};
  for (const NumberType& kind : number_types) line.push_back(bytes_text(bytes_of(count, kind)));
  return line;
}

std::string several(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", group_digits(count), one, count == 1 ? "" : "s");
}

std::string parameter_table(const StackCount& count) {
  std::vector<std::vector<std::string>> lines = {{"parameters", "size", "count"}};
  for (const NumberType& kind : number_types) lines.front().emplace_back(kind.name);
  for (const MatrixCount& one : count.matrices) {
    lines.push_back(counted(
        one.also.empty() ? one.name : fmt::format("{} ({})", one.name, one.also),
        fmt::format("{} × {}", group_digits(one.rows), group_digits(one.columns)), one.count));
  }
  const StackSizes& sizes = count.sizes;
  lines.push_back(counted("a head", fmt::format("{} matrices", count.matrices.size()), count.head));
  lines.push_back(counted("a block", several(sizes.heads, "head"), count.block));
  lines.push_back(counted("in all", several(sizes.layers, "block"), count.all));
  return table(lines);
}

std::string pattern_table(const std::vector<AttentionCells>& patterns) {
  std::vector<std::vector<std::string>> lines = {{"", ""}, {"n", "n² cells"}};
  for (const std::string_view whose : {"a head:", "in all:"}) {
    for (const NumberType& kind : number_types) {
      lines[0].emplace_back(&kind == number_types ? whose : "");
      lines[1].emplace_back(kind.name);
    }
  }
  for (const AttentionCells& one : patterns) {
    lines.push_back({group_digits(one.context), group_digits(one.cells)});
    for (const std::uint64_t cells : {one.cells, one.all_cells}) {
      for (const NumberType& kind : number_types) {
        lines.back().push_back(bytes_text(bytes_of(cells, kind)));
      }
    }
  }
  return table(lines);
}

nlohmann::ordered_json bytes_json(std::uint64_t count) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const NumberType& kind : number_types) json[std::string(kind.name)] = bytes_of(count, kind);
  return json;
}

nlohmann::ordered_json counted_json(std::uint64_t count) {
  return {{"parameters", count}, {"bytes", bytes_json(count)}};
}

}  // namespace

std::string operations_text(std::size_t columns) {
  columns = std::min(std::max<std::size_t>(columns, 40), max_text_width);
  std::string text;
  for (const Operation* operation : catalogue()) {
    text += fmt::format("{:<12}  {}\n", operation->name, operation->title);
    if (!operation->operands.empty()) {
      text += put(fmt::format("of = {}", operation->operands), 6, columns);
    }
    for (const OptionRule& rule : operation->options) {
      text += put(fmt::format("{} = {}: {}{}", rule.name, choices(rule), rule.help,
                              rule.required ? " (must be there)" : ""),
                  6, columns);
    }
  }
  text += fmt::format("{:<12}  {}\n", backward_name, "Make the gradient of an operand");
  text += put("of = [\"d_scores\"]", 6, columns);
  text += put("through = the step whose gradient it starts from", 6, columns);
  text += put("to = an operand of that step (for all at once: [backward])", 6, columns);
  return text + "\n" +
         put("A step is a table [[step]] with name, op, of, its options, and the words: title, "
             "say, notice. If an option is not written, its first value is used. The names after "
             "of are examples.",
             0, columns);
}

StackCount parameters_of(const StackSizes& sizes) {
  StackCount count{.sizes = sizes, .matrices = {}};
  count.matrices = {
      matrix("W_Q", "", sizes.d_model, sizes.d_k),
      matrix("W_K", "", sizes.d_model, sizes.d_k),
      matrix("W_V", "value-down", sizes.d_model, sizes.d_v),
      matrix("W_O", "value-up", sizes.d_v, sizes.d_model),
  };
  for (const MatrixCount& one : count.matrices)
    count.head = plus(count.head, one.count, "parameters");
  count.block = times(count.head, sizes.heads, "parameters");
  count.all = times(count.block, sizes.layers, "parameters");
  return count;
}

AttentionCells attention_cells(std::uint64_t context, const StackSizes& sizes) {
  AttentionCells count{.context = context};
  count.cells = times(context, context, "cells");
  count.all_cells = times(times(count.cells, sizes.heads, "cells"), sizes.layers, "cells");
  return count;
}

std::uint64_t bytes_of(std::uint64_t count, const NumberType& kind) {
  return times(count, kind.bytes, "bytes");
}

std::vector<std::uint64_t> standard_contexts() {
  std::vector<std::uint64_t> contexts;
  for (std::uint64_t n = 1024; n <= 1048576; n *= 2) contexts.push_back(n);
  return contexts;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes);
  const auto rounded = [&] { return std::round(amount * 1000) / 1000; };
  for (; rounded() >= 1024; amount /= 1024) ++unit;
  return fmt::format("{} {}", rounded(), units[unit]);
}

std::string params_text(const StackCount& count, const std::vector<AttentionCells>& patterns) {
  const StackSizes& sizes = count.sizes;
  return fmt::format(
      "Attention with d_model {}, d_k {}, d_v {}: {} in a block, {}\n\n"
      "{}\n"
      "The attention pattern of a context of n tokens, {} in all\n\n"
      "{}",
      group_digits(sizes.d_model), group_digits(sizes.d_k), group_digits(sizes.d_v),
      several(sizes.heads, "head"), several(sizes.layers, "layer"), parameter_table(count),
      several(times(sizes.heads, sizes.layers, "heads"), "head"), pattern_table(patterns));
}

std::string params_json(const StackCount& count, const std::vector<AttentionCells>& patterns) {
  const StackSizes& sizes = count.sizes;
  nlohmann::ordered_json json = {{"d_model", sizes.d_model},
                                 {"d_k", sizes.d_k},
                                 {"d_v", sizes.d_v},
                                 {"heads", sizes.heads},
                                 {"layers", sizes.layers}};
  json["matrices"] = nlohmann::ordered_json::array();
  for (const MatrixCount& one : count.matrices) {
    nlohmann::ordered_json matrix = {
        {"name", one.name}, {"rows", one.rows}, {"columns", one.columns}};
    matrix.update(counted_json(one.count));
    json["matrices"].push_back(std::move(matrix));
  }
  json["head"] = counted_json(count.head);
  json["block"] = counted_json(count.block);
  json["all"] = counted_json(count.all);
  json["patterns"] = nlohmann::ordered_json::array();
  for (const AttentionCells& one : patterns) {
    json["patterns"].push_back(
        {{"context", one.context},
         {"head", {{"cells", one.cells}, {"bytes", bytes_json(one.cells)}}},
         {"all", {{"cells", one.all_cells}, {"bytes", bytes_json(one.all_cells)}}}});
  }
  return json_document(json);
}

}  // namespace qkv::inline terminal
