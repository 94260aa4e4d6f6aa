#include "render/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "render/arithmetic.hpp"
#include "render/changes.hpp"
#include "render/html.hpp"
#include "render/report_data.hpp"
#include "render/report_matrix.hpp"
#include "render/report_view.hpp"
#include "render/step_words.hpp"
#include "render/text.hpp"
#include "render/walk.hpp"

namespace qkv {
namespace {

// Everything that the parts of the page are made of.
struct Page {
  const Lesson& lesson;
  const Trace& trace;
  const ReportWish& wish;
  std::vector<TensorView> views;
  ReportLook look;
};

unsigned hex_digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

// A hash in hexadecimal as a content security policy writes it, in base 64.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 3) {  // 3 hexadecimal digits are 2 letters
    unsigned bits = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      bits = bits * 16 + (k < hex.size() ? hex_digit(hex[k]) : 0);
    text += letters[bits >> 6];
    if (i + 2 < hex.size() || (hex.size() - i) * 4 > 6) text += letters[bits & 63];
  }
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string head(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"description\" content=\"{}\">\n"
      "<meta name=\"generator\" content=\"qkv {}\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n",
      base64_of_hex(report_style().sha256), base64_of_hex(report_script().sha256),
      html_text(page.lesson.summary), QKV_VERSION, html_text(page.lesson.title),
      report_style().text);
}

std::string contents(const Page& page) {
  std::string text =
      "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n<ol>\n";
  for (const Step& step : page.trace.steps) {
    text += fmt::format("<li><a href=\"#step-{}\"><b>{}</b> <span>{}</span></a></li>\n",
                        step.number, html_text(step.name), html_text(title_of(page.lesson, step)));
  }
  return text + "</ol>\n</nav>\n";
}

std::string heading(const Page& page) {
  const Lesson& lesson = page.lesson;
  std::string text = fmt::format("<header>\n<h1>{}</h1>\n", html_text(lesson.title));
  if (!lesson.summary.empty()) {
    text += fmt::format("<div class=\"summary\">{}</div>\n", html_prose(lesson.summary));
  }
  if (!lesson.source.empty()) {
    text += fmt::format("<div class=\"source\">{}</div>\n",
                        html_prose("Numbers from: " + lesson.source));
  }
  if (page.trace.convention == Convention::columns) {
    text += "<p>Here a token is a column: keys run down, queries across.</p>\n";
  }
  if (page.lesson.changed) text += fmt::format("<p class=\"changed\">{}</p>\n", changed_words);
  return text + "</header>\n";
}

constexpr std::string_view how_to_read =
    "<p class=\"how\" hidden>Point at a number, tap it, or go to it with Tab and the arrow keys: "
    "how "
    "it comes about appears, and the numbers that it is made of are framed. Esc puts them out "
    "again.</p>\n"
    "<p class=\"legend\">The stronger a cell's colour, the further it is from zero; a number below "
    "zero is brown and has its minus sign.</p>\n";

// The command that shows all of a matrix.
std::string whole_matrix(const Page& page, const TensorView& view) {
  return view.step ? fmt::format("qkv export {} --step {} -o -", page.lesson.asked, view.name)
                   : fmt::format("qkv export {} -o DIR", page.lesson.asked);
}

const TensorView& view_of(const Page& page, std::string_view name) {
  return *std::find_if(page.views.begin(), page.views.end(),
                       [&](const TensorView& view) { return view.name == name; });
}

// By which the script finds the tensor in its data.
std::string mark_of(const Page& page, const TensorView& view) {
  return fmt::format(" data-tensor=\"{}\"", &view - page.views.data());
}

std::string tensor_html(const Page& page, const TensorView& view) {
  const std::string caption =
      view.tensor->matrices() > 1
          ? view.name
          : fmt::format("{} ({})", view.name, shown_shape(*view.tensor, page.trace.convention));
  return heatmaps(view, page.trace.convention, page.wish.digits, caption, mark_of(page, view),
                  whole_matrix(page, view));
}

// Those that the lesson leaves out are only named.
std::string givens_html(const Page& page, const Step& step) {
  std::string text, unshown;
  for (const Given* given : first_used_by(page.trace, step)) {
    const std::string title = fmt::format("{} ({})", html_text(given->name),
                                          shown_shape(given->tensor, page.trace.convention));
    if (is_shown(page.lesson, *given)) {
      text += fmt::format("<h3>Given: {}</h3>\n{}", title,
                          tensor_html(page, view_of(page, given->name)));
    } else {
      unshown += (unshown.empty() ? "" : ", ") + title;
    }
  }
  if (unshown.empty()) return text;
  return text + fmt::format("<p>Given, not shown: {}.</p>\n", unshown);
}

// Softmax's exponentials, and whatever else an operation finds worth showing on its way. Where they
// lie on the way to one cell each, that cell's arithmetic says how they come about.
std::string parts_html(const Page& page, const Step& step) {
  if (!step.operation->parts) return {};
  const TensorView& result = view_of(page, step.name);
  std::string text;
  for (const Part& part : step.operation->parts(page.trace.call(step))) {
    TensorView view = result;
    const bool one_for_each = part.tensor.shape() == step.output.shape();
    if (!one_for_each) view = qkv::view_of(part.title, part.tensor);
    view.tensor = &part.tensor;
    text +=
        fmt::format("<h3>On the way: {}</h3>\n{}", html_text(part.title),
                    heatmaps(view, page.trace.convention, page.wish.digits, part.title,
                             one_for_each ? mark_of(page, result) + " data-way" : "",
                             fmt::format("qkv run {} --step {}", page.lesson.asked, step.name)));
  }
  return text;
}

std::string worked_html(const Page& page, const Step& step) {
  if (step.output.values.empty()) return {};
  const CellArithmetic worked =
      arithmetic_of(page.trace, cell_of(page.lesson, page.trace, step),
                    {.digits = page.look.digits, .most_terms = page.look.most_terms});
  if (worked.lines.size() < 2) return {};
  std::string text =
      fmt::format("<div class=\"worked\">\n<h3>One cell</h3>\n<p class=\"cell\">{}</p>\n",
                  html_text(worked.cell));
  for (const std::string& line : worked.lines) {
    text += fmt::format("<p>= {}</p>\n", html_text(line));
  }
  if (!worked.remark.empty()) text += fmt::format("<p>{}</p>\n", html_text(worked.remark));
  return text + "</div>\n";
}

std::string aside_html(std::string_view heading, const std::string& prose) {
  if (prose.empty()) return {};
  return fmt::format("<div class=\"notice\">\n<h3>{}</h3>\n{}</div>\n", heading, html_prose(prose));
}

// What to notice, and what to try then.
std::string notice_html(const Page& page, const Step& step) {
  const int digits = page.wish.digits;
  return aside_html("Notice", noticed_of(page.lesson, page.trace, step, digits)) +
         aside_html("Try", questions_of(page.lesson, page.trace, step, digits));
}

// What lies on the way, the step's matrix and one cell worked out.
std::string result_html(const Page& page, const Step& step) {
  if (!page.lesson.texts[step.number - 1].show) return {};
  return fmt::format("{}<h3>{} ({})</h3>\n{}{}", parts_html(page, step), html_text(step.name),
                     shown_shape(step.output, page.trace.convention),
                     tensor_html(page, view_of(page, step.name)), worked_html(page, step));
}

std::string step_html(const Page& page, const Step& step) {
  return fmt::format(
      "<section id=\"step-{0}\" aria-labelledby=\"title-{0}\">\n<h2 id=\"title-{0}\"><span "
      "class=\"number\">{0}</span> <span class=\"name\">{1}</span> {2}</h2>\n"
      "<div class=\"formula\">{3}</div>\n<div class=\"say\">{4}</div>\n{5}{6}{7}</section>\n",
      step.number, html_text(step.name), html_text(title_of(page.lesson, step)),
      mathml(formula_pieces(page.trace, step), step.name,
             shown_shape(step.output, page.trace.convention), formula_text(page.trace, step)),
      html_prose(said_of(page.lesson, page.trace, step, page.wish.digits)), givens_html(page, step),
      result_html(page, step), notice_html(page, step));
}

constexpr std::string_view panel =
    "<aside id=\"panel\" aria-label=\"How a cell comes about\" hidden>\n"
    "<div class=\"title\"><h2></h2><button type=\"button\" aria-label=\"Close\">×</button></div>\n"
    "<div class=\"lines\"></div>\n<div class=\"sources\" aria-hidden=\"true\"></div>\n</aside>\n"
    "<div id=\"said\" class=\"only-said\" aria-live=\"polite\"></div>\n";

}  // namespace

std::string report_page(const Lesson& lesson, const Trace& trace, const ReportWish& wish) {
  const Page page{.lesson = lesson,
                  .trace = trace,
                  .wish = wish,
                  .views = views_of(trace),
                  .look = {.digits = wish.digits}};
  std::string text = head(page);
  text += "<body>\n<a class=\"skip\" href=\"#step-1\">Skip to the first step</a>\n";
  text += "<div id=\"page\">\n" + heading(page) + contents(page) + "<main>\n";
  text.append(how_to_read);
  for (const Step& step : trace.steps) {
    text += step_html(page, step);
    if (wish.on_step) wish.on_step();
  }
  text += fmt::format(
      "</main>\n<footer><p>Made by <code>{}</code> (qkv {}). Everything is worked out "
      "in double precision and shown rounded.</p></footer>\n</div>\n",
      html_text(wish.command), QKV_VERSION);
  text.append(panel);
  text += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      json_for_html(report_data(trace, page.views, page.look)));
  text += fmt::format("<script>{}</script>\n</body>\n</html>\n", report_script().text);
  return text;
}

}  // namespace qkv
