#include "page/pages.hpp"

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "exposition/arithmetic.hpp"
#include "page/report_view.hpp"
#include "text/number.hpp"

namespace qkv::inline page {
namespace {

// Returns the SHA-256 in base64: a content security policy names by it what may style or run.
std::string hash_of(std::string_view asset) {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, asset.size(), reinterpret_cast<const std::uint8_t*>(asset.data()));
  sha256_digest(&state, digest.size(), digest.data());
  std::string text(BASE64_ENCODE_RAW_LENGTH(digest.size()), '\0');
  base64_encode_raw(text.data(), digest.size(), digest.data());
  return text;
}

std::string head(const Lesson& lesson) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"description\" content=\"{}\">\n"
      "<meta name=\"generator\" content=\"qkv {}\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n",
      hash_of(report_style()), hash_of(report_script()), html_attribute(lesson.summary),
      QKV_VERSION, html_attribute(lesson.title), report_style());
}

std::string contents(const Lesson& lesson, const Trace& trace) {
  std::string text =
      "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n<ol>\n";
  for (const Step& step : trace.steps) {
    text += fmt::format(
        "<li value=\"{0}\"><a href=\"#step-{0}\"><b>{1}</b> <span>{2}</span></a></li>\n",
        step.number, html_text(step.name), html_inline(title_of(lesson, step.number)));
  }
  return text + "</ol>\n</nav>\n";
}

// Matrices up to this width fit in one of two columns on paper, if their numbers have so many
// characters.
constexpr std::size_t max_columns_side_by_side = 8;
constexpr std::size_t max_characters_side_by_side = 7;

bool fits_beside_another(const TensorView& view, TokenLayout token_layout, int digits) {
  const Tensor& tensor = *view.tensor;
  const bool is_transposed = is_shown_transposed(tensor, token_layout);
  const std::size_t columns = (is_transposed ? view.rows : view.columns).shown();
  if (columns > max_columns_side_by_side) return false;
  const NumberStyle style = style_for(tensor.values, digits);
  return std::ranges::all_of(view.cells(), [&](const CellIndex& at) {
    const std::string number = cell_text(tensor.at(at[0], at[1], at[2]), style);
    return columns * number.size() <= max_columns_side_by_side * max_characters_side_by_side;
  });
}

constexpr std::string_view reading_help =
    "<p class=\"how\" hidden>Point at a number, tap it, or go to it with Tab and the arrow keys: "
    "its arithmetic appears, and the numbers that it is made of are framed. Esc clears them."
    "<span class=\"changeable\" hidden> Where a given number has a field beside its arithmetic "
    "(Enter leads there), change it: all that follows is worked out again.</span></p>\n"
    "<p class=\"legend\">The stronger a cell's colour, the further it is from zero; a number below "
    "zero is brown and has its minus sign.</p>\n";

std::string aside_html(std::string_view heading, const std::vector<Passage>& passages) {
  return fmt::format("<div class=\"notice\">\n<h3>{}</h3>\n{}</div>\n", heading,
                     html_prose(passages));
}

struct PageWriter {
  const Lesson& lesson;
  const Trace& trace;
  const ReportOptions& wish;
  std::vector<TensorView> views;  // also of intermediates

  std::string operator()(const LessonTitle& title) const {
    return html_element("h1", title.text) + "\n";
  }

  std::string operator()(const StepTitle& step) const {
    return fmt::format(
        "<h2 id=\"title-{0}\"><span class=\"number\">{0}</span> <span class=\"name\">{1}</span> "
        "{2}</h2>\n",
        step.number, html_text(step.name), html_inline(step.title));
  }

  std::string operator()(const ProseBlock& words) const {
    const auto in_division = [&](std::string_view name) {
      return fmt::format("<div class=\"{}\">{}</div>\n", name,
                         html_prose(with_introduction(words)));
    };
    switch (words.role) {
      case ProseBlock::Role::summary: return in_division("summary");
      case ProseBlock::Role::source: return in_division("source");
      case ProseBlock::Role::explanation: return in_division("say");
      case ProseBlock::Role::token_layout:
      case ProseBlock::Role::changes: return html_prose(words.passages);
      case ProseBlock::Role::changed:
        return fmt::format("<p class=\"changed\">{}</p>\n",
                           html_text(words.passages.front().on_one_line()));
      case ProseBlock::Role::notice: return aside_html("Notice", words.passages);
      case ProseBlock::Role::questions: return aside_html("Try", words.passages);
      case ProseBlock::Role::answers:
        return fmt::format("<details class=\"notice\">\n<summary>Answers</summary>\n{}</details>\n",
                           html_prose(words.passages));
    }
    return {};
  }

  std::string operator()(const Formula& formula) const { return html_formula(formula); }

  std::string operator()(const MatrixBlock& matrix_block) const {
    if (matrix_block.role == MatrixBlock::Role::intermediate)
      return intermediate_html(matrix_block);
    const std::string_view lead = matrix_block.role == MatrixBlock::Role::result ? ""
                                  : is_step_output(matrix_block.title)           ? "From before: "
                                                                                 : "Given: ";
    return fmt::format("<h3>{}{}</h3>\n{}", lead,
                       html_text(fmt::format("{} ({})", matrix_block.title, matrix_block.shape)),
                       tensor_html(matrix_block));
  }

  std::string operator()(const HiddenGivens& givens) const {
    return fmt::format("<p>Given, not shown: {}.</p>\n", html_text(givens.names));
  }

  std::string operator()(const WorkedCell& cell) const {
    const CellArithmetic worked = arithmetic_of(
        trace, cell.cell,
        {.digits = wish.digits, .max_terms = max_report_terms, .minus = typeset_minus});
    if (worked.lines.size() < 2) return {};
    std::string text = fmt::format(
        "<div class=\"worked\" data-cell=\"{} {} {} {}\">\n<h3>One cell</h3>\n"
        "<p class=\"cell\">{}</p>\n<div class=\"lines\">\n",
        place_of(view_of(cell.cell.name)), cell.cell.matrix, cell.cell.row, cell.cell.column,
        html_text(worked.cell));
    for (std::size_t i = 0; i < worked.lines.size(); ++i) {
      text += fmt::format("<p>{} {}</p>\n", worked.signs[i], html_text(worked.lines[i]));
    }
    text += "</div>\n";
    if (!worked.remark.empty()) text += fmt::format("<p>{}</p>\n", html_text(worked.remark));
    return text + "</div>\n";
  }

  const TensorView& view_of(std::string_view name) const {
    return *std::ranges::find(views, name, &TensorView::name);
  }

  // True if it is the output of a step that is not on this page.
  bool is_step_output(const std::string& given) const {
    return step_in(lesson.recipe, given) != nullptr;
  }

  std::ptrdiff_t place_of(const TensorView& view) const { return &view - views.data(); }

  // Links the table to the tensor in the script's data.
  std::string data_attribute(const TensorView& view) const {
    return fmt::format(" data-tensor=\"{}\"", place_of(view));
  }

  // A given or step, and the command that shows all of it.
  std::string tensor_html(const MatrixBlock& matrix_block) const {
    const TensorView& view = view_of(matrix_block.title);
    const std::string caption = view.tensor->matrices() > 1
                                    ? view.name
                                    : fmt::format("{} ({})", view.name, matrix_block.shape);
    const std::string whole =
        matrix_block.step || is_step_output(view.name)
            ? fmt::format("qkv export {} --step {} -o -", lesson.asked, view.name)
            : fmt::format("qkv export {} -o DIR", lesson.asked);
    return heatmaps(view, trace.token_layout, wish.digits, caption, data_attribute(view), whole);
  }

  // Intermediates, such as softmax's exponentials, for readers who want more detail.
  std::string intermediate_html(const MatrixBlock& matrix_block) const {
    const Step& step = *matrix_block.step;
    const TensorView& view = view_of(intermediate_name(step.name, matrix_block.title));
    return fmt::format(
        "<details class=\"way\">\n<summary>In between: {}</summary>\n{}</details>\n",
        html_text(matrix_block.title),
        heatmaps(view, trace.token_layout, wish.digits, matrix_block.title, data_attribute(view),
                 fmt::format("qkv run {} --step {}", lesson.asked, step.name)));
  }
};

// The result comes before its intermediates, which are folded.
constexpr Topic result_first[] = {Topic::title,  Topic::formula, Topic::explanation,
                                  Topic::givens, Topic::result,  Topic::intermediates,
                                  Topic::cell,   Topic::notice,  Topic::questions};

std::string step_html(const PageWriter& page, const Step& step) {
  const StepText& words = page.lesson.texts[step.number - 1];
  const bool is_general =  // prose that is true of any numbers; a lesson's has live ones
      words.say.text.empty() && words.notice.text.empty() && words.questions.text.empty();
  return fmt::format("<section id=\"step-{0}\" aria-labelledby=\"title-{0}\"{1}>\n{2}</section>\n",
                     step.number, is_general ? " data-general" : "",
                     render(describe_step(page.lesson, page.trace, step,
                                          {.topics = result_first,
                                           .digits = page.wish.digits,
                                           .intermediates = true,
                                           .answers = true,
                                           .head = page.wish.head}),
                            page));
}

// What stays in view above the steps: the map, and which numbers are changed.
constexpr std::string_view above =
    "<div id=\"above\">\n<details id=\"map\" hidden><summary>Map, here: <b></b></summary>"
    "<div></div></details>\n<div id=\"changes\" role=\"status\" hidden></div>\n</div>\n";

constexpr std::string_view panel =
    "<aside id=\"panel\" aria-label=\"The arithmetic of a cell\" hidden>\n"
    "<div class=\"title\"><h2></h2><button type=\"button\" aria-label=\"Close\">×</button></div>\n"
    "<div class=\"lines\"></div>\n<details class=\"names\"><summary>With names</summary><p></p>"
    "</details>\n<div class=\"change\" hidden></div>\n"
    "<div class=\"sources\" aria-hidden=\"true\"></div>\n</aside>\n"
    "<div id=\"said\" class=\"only-said\" aria-live=\"polite\"></div>\n";

}  // namespace

void write_report(const Lesson& lesson, const Trace& whole, const ReportOptions& wish,
                  const Sink& sink) {
  const Trace trace = wish.steps.empty() ? whole : only_steps(whole, wish.steps);
  const Trace worked = with_intermediates(lesson, trace);
  const PageWriter page{
      .lesson = lesson, .trace = trace, .wish = wish, .views = views_of(worked, wish.head)};
  const auto is_narrow = [&](const TensorView& view) {
    return fits_beside_another(view, trace.token_layout, wish.digits);
  };
  std::string text = head(lesson);
  text += std::ranges::all_of(page.views, is_narrow) ? "<body class=\"narrow\">\n" : "<body>\n";
  text += fmt::format("<a class=\"skip\" href=\"#step-{}\">Skip to the first step</a>\n",
                      trace.steps.front().number);
  text += "<div id=\"page\">\n<header>\n" + render(lesson_opening(lesson), page) + "</header>\n";
  text += contents(lesson, trace) + "<main>\n";
  sink(text.append(reading_help).append(above));
  constexpr std::size_t operations_a_step = std::size_t{1} << 20;
  in_order(
      trace.steps.size(), operations_a_step,
      [&](std::size_t s) { return step_html(page, trace.steps[s]); },
      [&](std::string_view step) {
        sink(step);
        if (wish.on_step) wish.on_step();
      });
  sink(
      fmt::format("</main>\n<footer><p>Made by <code>{}</code> (qkv {}). Everything is worked out "
                  "in double precision and shown rounded.</p></footer>\n</div>\n",
                  html_text(wish.command), QKV_VERSION));
  sink(panel);
  sink("<script type=\"application/json\" id=\"data\">");
  write_report_data(lesson, worked, page.views, map_of(trace), wish, sink);
  sink(fmt::format("</script>\n<script>{}</script>\n</body>\n</html>\n", report_script()));
}

}  // namespace qkv::inline page
