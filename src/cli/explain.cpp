#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "cli/option_list.hpp"
#include "document/latex.hpp"
#include "exposition/arithmetic.hpp"
#include "exposition/sensitivity.hpp"
#include "exposition/step_words.hpp"
#include "terminal/walk.hpp"
#include "text/escape.hpp"
#include "text/wrapping.hpp"
#include "verdicts/checked.hpp"

namespace qkv::inline cli {
namespace {

constexpr std::size_t least_room = 20;
constexpr std::size_t margin = 2;

// Words behind a head, their further lines below the first one.
std::string hung(std::string head, const std::string& words, std::size_t indent,
                 std::size_t width) {
  std::string text;
  head.resize(std::max(head.size(), indent), ' ');
  for (const std::string& line : wrapped(words, std::max(width, indent + least_room) - indent)) {
    text += head + with_plain_blanks(line) + "\n";
    head.assign(indent, ' ');
  }
  return text;
}

std::string introduction(const SeenThrough& seen, const std::string& number) {
  if (!seen.steps.empty()) {
    return fmt::format(
        "Through these cells the loss sees {0}. Behind each: how much it gains for every 1 that "
        "{0} "
        "gains.",
        number);
  }
  if (seen.left_out == 0) {
    return fmt::format("The loss does not see {}: no cell on the way to it moves with it.", number);
  }
  return fmt::format(
      "Through which cells the loss sees {} is not told: what lies in between, {} steps, is too "
      "large to be kept.",
      number, seen.left_out);
}

/// Through which cells the loss sees what a gradient belongs to, a line or several for each step,
/// broken to `width` columns.
std::string seen_words(const SeenThrough& seen, const Trace& trace, int digits, std::size_t width) {
  const std::string number =
      visible(reference_text(seen.cell, trace.at(seen.cell.name), trace.convention));
  std::string text = "\n" + hung("", introduction(seen, number), margin, width);
  std::size_t widest = 0;
  for (const SeenStep& step : seen.steps) widest = std::max(widest, step.name.size());
  for (const SeenStep& step : seen.steps) {
    text += hung(std::string(2 * margin, ' ') + visible(step.name),
                 visible(seen_text(step, trace, digits)), widest + 3 * margin, width);
  }
  if (!seen.steps.empty() && seen.left_out > 0) {
    text += hung(
        "", fmt::format("Between them are {} more steps, too large to be kept.", seen.left_out),
        margin, width);
  }
  return text;
}

constexpr std::size_t usual_terms = 64;

struct ExplainOptions {
  LessonChoice lesson;
  std::string cell;
  int digits = 4;
  std::size_t terms = 0;  // 0: as many as can be read
  bool all = false;
  bool latex = false;
  bool json = false;
};

std::string as_text(const Trace& trace, CellArithmetic worked, const CellReference& cell,
                    std::size_t width) {
  const Step* step = trace.find_step(cell.name);
  if (!step) return fmt::format("{} = {} (given)\n", visible(worked.cell), worked.lines.front());
  const std::string remark = std::exchange(worked.remark, {});  // not broken into lines
  std::string text = visible(formula_text(formula_of(trace, *step))) + "\n\n" +
                     worked_text(worked, {.width = width}, 2);
  if (!remark.empty()) text += "  " + visible(remark) + "\n";
  if (worked.lines.front().find(" more … + ") != std::string::npos) {
    text += "\nLong sums lost their middle; all terms: --all\n";
  }
  return text;
}

std::string as_latex(const CellArithmetic& worked) {
  std::string text = "\\begin{aligned}\n";
  std::string start = visible(worked.cell);
  for (std::size_t i = 0; i < worked.lines.size(); ++i) {
    const bool last = i + 1 == worked.lines.size();
    const bool goes_on = !last || !worked.remark.empty();
    text += fmt::format("{} &= {}{}\n", start, visible(worked.lines[i]), goes_on ? " \\\\" : "");
    start.clear();
  }
  if (!worked.remark.empty()) {
    text += fmt::format(" &\\quad \\text{{{}}}\n", latex_text(visible(worked.remark)));
  }
  return text + "\\end{aligned}\n";
}

nlohmann::ordered_json seen_json(const SeenThrough& seen, const Trace& trace) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const SeenStep& step : seen.steps) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const SeenCell& cell : step.cells) {
      const Tensor& tensor = trace.at(step.name);
      nlohmann::ordered_json& one = cells.emplace_back(
          cell_json(cell_at(step.name, tensor, cell.index), tensor, trace.convention));
      one["gain"] = json_number(cell.gain);
    }
    steps.push_back({{"step", step.name}, {"cells", std::move(cells)}});
  }
  return steps;
}

std::string as_json(const Lesson& lesson, const Trace& trace, const CellArithmetic& worked,
                    const CellReference& cell, const std::optional<SeenThrough>& seen) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["lesson"] = lesson.name;
  json["cell"] = worked.cell;
  json["step"] = cell.name;
  json.update(cell_json(cell, trace.at(cell.name), trace.convention));
  json["value"] = json_number(worked.value);
  json["arithmetic"] = worked.lines;
  if (!worked.remark.empty()) json["remark"] = worked.remark;
  if (const Step* step = trace.find_step(cell.name)) {
    json["op"] = std::string(step->operation->name);
    json["of"] = step->operation->turned(step->of, trace.convention);
    json["formula"] = formula_text(formula_of(trace, *step));
  }
  if (seen) json["seen_through"] = seen_json(*seen, trace);
  return visible_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

// A line longer than this is not read, and a sum within a sum makes one of few terms.
constexpr std::size_t longest_line = 8000;

CellArithmetic worked_out(const ExplainOptions& options, const Trace& trace,
                          const CellReference& cell) {
  ArithmeticLook look{.digits = options.digits,
                      .most_terms = options.terms,
                      .notation = options.latex ? Notation::latex : Notation::text};
  if (options.all || options.terms > 0) return arithmetic_of(trace, cell, look);
  CellArithmetic worked;
  for (const std::size_t most_terms : {usual_terms, usual_terms / 4, usual_terms / 16}) {
    look.most_terms = most_terms;
    worked = arithmetic_of(trace, cell, look);
    if (worked.lines.front().size() <= longest_line) break;
  }
  return worked;
}

int run(const ExplainOptions& options, const Common& common) {
  const LoadedLesson loaded =
      load(options.lesson, {options.cell.substr(0, options.cell.find('['))});
  const CellReference cell = find_cell(options.cell, loaded.trace);
  const CellArithmetic worked = worked_out(options, loaded.trace, cell);
  if (options.latex) {
    print(as_latex(worked));
    return 0;
  }
  const auto seen = seen_through(loaded, cell);
  if (options.json) {
    print(as_json(loaded.lesson, loaded.trace, worked, cell, seen));
    return 0;
  }
  const std::size_t width = terminal(common.colour).width;
  print(as_text(loaded.trace, worked, cell, width));
  if (seen) print(seen_words(*seen, loaded.trace, options.digits, width));
  return 0;
}

std::function<int()> set_up_explain(OptionList& app, const Common& common) {
  const auto options = std::make_shared<ExplainOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::required);
  app.add_argument(options->cell, a_cell(),
                   "The cell: 'scores[cat,fat]', with heads 'scores[head 2,3,2]'")
      ->required();
  add_digits_option(app, options->digits);
  Option* terms =
      app.add_option("--terms", options->terms, whole_number(4, 1000000),
                     fmt::format("Sums of more terms lose their middle ({})", usual_terms));
  app.add_flag("--all", options->all, "Every term of every sum, however long")->excludes(terms);
  Option* latex = app.add_flag("--latex", options->latex, "As LaTeX, to paste into a page");
  app.add_flag("--json", options->json, "As JSON, for programs")->excludes(latex);
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command explain_command{
    .name = "explain",
    .summary = "one cell's arithmetic, term by term",
    .examples =
        "  qkv explain the-fat-cat 'scores[head 1,cat,fat]'\n"
        "  qkv explain the-fat-cat 'attention_weights[head 1,3,2]' --digits 6\n"
        "  qkv explain the-fat-cat 'context[head 2,3,1]' --latex\n"
        "  qkv explain --model model.safetensors --text \"…\" 'h0.scores[head 2,3,1]'\n",
    .setup = set_up_explain,
    .model = ModelPlace::first,
};

}  // namespace qkv::inline cli
