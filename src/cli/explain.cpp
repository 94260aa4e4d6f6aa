#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "document/document.hpp"
#include "terminal/grid.hpp"
#include "terminal/walk.hpp"
#include "text/json.hpp"
#include "verdicts/verdicts.hpp"

namespace qkv::inline cli {
namespace {

constexpr std::size_t min_spare_width = 20;
constexpr std::size_t margin = 2;

// Wraps words after a head; further lines are indented.
std::string hanging_indent(std::string head, const std::string& words, std::size_t indent,
                           std::size_t width) {
  head.resize(std::max(head.size(), indent), ' ');
  const std::size_t room = std::max(width, indent + min_spare_width) - indent;
  return with_plain_blanks(hanging_lines(std::move(head), wrapped(words, room), indent));
}

std::string introduction(const Sensitivity& seen, const std::string& number) {
  if (!seen.steps.empty()) {
    return fmt::format(
        "{0} changes the loss through these cells. Behind each cell is its derivative with respect "
        "to {0}.",
        number);
  }
  if (seen.left_out == 0) {
    return fmt::format("{} does not change the loss: no cell between them depends on it.", number);
  }
  return fmt::format(
      "The cells between {} and the loss are not listed: the {} steps in between are too large to "
      "be kept.",
      number, seen.left_out);
}

/// The sensitivity of the loss to a number: a line or several for each step, wrapped to `width`.
std::string sensitivity_lines(const Sensitivity& seen, const Trace& trace, int digits,
                              std::size_t width) {
  const std::string number =
      sanitise(reference_text(seen.cell, trace.at(seen.cell.name), trace.token_layout));
  std::string text = "\n" + hanging_indent("", introduction(seen, number), margin, width);
  std::size_t widest = 0;
  for (const StepSensitivity& step : seen.steps) widest = std::max(widest, step.name.size());
  for (const StepSensitivity& step : seen.steps) {
    text +=
        hanging_indent(std::string(2 * margin, ' ') + sanitise(step.name),
                       sanitise(sensitivity_text(step, trace, digits)), widest + 3 * margin, width);
  }
  if (!seen.steps.empty() && seen.left_out > 0) {
    text += hanging_indent(
        "", fmt::format("{} more steps in between are too large to be kept.", seen.left_out),
        margin, width);
  }
  return text;
}

constexpr std::size_t default_terms = 64;

struct ExplainOptions {
  LessonSelection lesson;
  std::string cell;
  int digits = 4;
  std::size_t terms = 0;  // 0: as many as are readable
  bool all = false;
  bool latex = false;
  bool json = false;
};

std::string plain_text(const Trace& trace, const CellArithmetic& worked, const CellReference& cell,
                       std::size_t width) {
  const Step* step = trace.find_step(cell.name);
  if (!step) return fmt::format("{} = {} (given)\n", sanitise(worked.cell), worked.lines.front());
  std::string text =
      indented_lines(wrapped_arithmetic(sanitise(formula_text(formula_of(trace, *step))), width),
                     0) +
      "\n" + arithmetic_text(worked, width);
  if (worked.lines.front().find(" more … + ") != std::string::npos) {
    text += "\nLong sums are shortened; --all prints all terms.\n";
  }
  return text;
}

std::string latex_block(const CellArithmetic& worked) {
  std::string text = "\\begin{aligned}\n";
  std::string start = sanitise(worked.cell);
  for (std::size_t i = 0; i < worked.lines.size(); ++i) {
    const bool last = i + 1 == worked.lines.size();
    const bool goes_on = !last || !worked.remark.empty();
    text += fmt::format("{} &{} {}{}\n", start, worked.signs[i], sanitise(worked.lines[i]),
                        goes_on ? " \\\\" : "");
    start.clear();
  }
  if (!worked.remark.empty()) {
    text += fmt::format(" &\\quad \\text{{{}}}\n", latex_text(sanitise(worked.remark)));
  }
  return text + "\\end{aligned}\n";
}

nlohmann::ordered_json sensitivity_json(const Sensitivity& seen, const Trace& trace) {
  return mapped(seen.steps, [&](const StepSensitivity& step) -> nlohmann::ordered_json {
    const Tensor& tensor = trace.at(step.name);
    const auto cells = mapped(step.cells, [&](const CellSensitivity& cell) {
      auto one = cell_json(cell_at(step.name, tensor, cell.index), tensor, trace.token_layout);
      one["gain"] = json_number(cell.derivative);
      return one;
    });
    return {{"step", step.name}, {"cells", cells}};
  });
}

std::string json_text(const Lesson& lesson, const Trace& trace, const CellArithmetic& worked,
                      const CellReference& cell, const std::optional<Sensitivity>& seen) {
  nlohmann::ordered_json json{{"lesson", lesson.name}, {"cell", worked.cell}, {"step", cell.name}};
  json.update(cell_json(cell, trace.at(cell.name), trace.token_layout));
  json["value"] = json_number(worked.value);
  json["arithmetic"] = worked.lines;
  json["signs"] = worked.signs;
  if (!worked.remark.empty()) json["remark"] = worked.remark;
  if (const Step* step = trace.find_step(cell.name)) {
    json["op"] = std::string(step->operation->name);
    json["of"] = step->operation->operands_for_layout(step->of, trace.token_layout);
    json["formula"] = formula_text(formula_of(trace, *step));
  }
  if (seen) json["seen_through"] = sensitivity_json(*seen, trace);
  return json_document(json);
}

// A longer line is unreadable, and nested sums make one of few terms.
constexpr std::size_t max_line_bytes = 8000;

CellArithmetic readable_arithmetic(const ExplainOptions& options, const Trace& trace,
                                   const CellReference& cell) {
  ArithmeticStyle look{.digits = options.digits,
                       .max_terms = options.terms,
                       .notation = options.latex ? Notation::latex : Notation::text};
  if (options.all || options.terms > 0) return arithmetic_of(trace, cell, look);
  CellArithmetic worked;
  for (const std::size_t max_terms : {default_terms, default_terms / 4, default_terms / 16}) {
    look.max_terms = max_terms;
    worked = arithmetic_of(trace, cell, look);
    if (worked.lines.front().size() <= max_line_bytes) break;
  }
  return worked;
}

int run(const ExplainOptions& options, const CommonOptions& common) {
  const LoadedLesson loaded =
      load(options.lesson, {options.cell.substr(0, options.cell.find('['))});
  const CellReference cell = find_cell(options.cell, loaded.trace);
  const CellArithmetic worked = readable_arithmetic(options, loaded.trace, cell);
  if (options.latex) {
    print(latex_block(worked));
    return 0;
  }
  const auto seen = sensitivity_of(loaded, cell);
  if (options.json) {
    print(json_text(loaded.lesson, loaded.trace, worked, cell, seen));
    return 0;
  }
  const std::size_t width = output_terminal(common.colour).width;
  print(plain_text(loaded.trace, worked, cell, width));
  if (seen) print(sensitivity_lines(*seen, loaded.trace, options.digits, width));
  return 0;
}

void declare(CLI::App& app, ExplainOptions& options) {
  add_lesson_options(app, options.lesson);
  app.add_option("CELL", options.cell,
                 "The cell: 'scores[cat,fat]', with heads 'scores[head 2,3,2]'")
      ->required();
  add_digits_option(app, options.digits);
  add_number(app, "--terms", options.terms, CLI::Range(4, 1'000'000),
             fmt::format("Longer sums are shortened in the middle ({})", default_terms));
  app.add_flag("--all", options.all, "Every term of every sum, however long")->excludes("--terms");
  app.add_flag("--latex", options.latex, "As LaTeX, to paste into a page");
  app.add_flag("--json", options.json, "As JSON, for programs")->excludes("--latex");
}

}  // namespace

constinit const Command explain_command{
    .name = "explain",
    .summary = "one cell's arithmetic, term by term",
    .examples =
        "  qkv explain the-fat-cat 'scores[cat,fat]'\n"
        "  qkv explain the-fat-cat 'attention_weights[3,2]' --digits 6\n"
        "  qkv explain two-heads 'context[head 2,3,1]' --latex\n"
        "  qkv explain --model model.safetensors --text \"…\" 'h0.scores[head 2,3,1]'\n",
    .setup = set_up_command<ExplainOptions, declare, run>,
};

}  // namespace qkv::inline cli
