#!/usr/bin/python3
"""How the report's page lies on a screen and on paper, and in which direction it runs.

    report_layout.py QKV            ends with status 77 (skipped) where there is no browser
"""

import re
import sys

import report
import webdriver

# How far an element reaches over the one that it lies in, of all that match and are seen.
TOO_WIDE = """
return [...document.querySelectorAll(arguments[0])].filter((element) =>
  element.getClientRects().length).map((element) => [
    Math.round(element.getBoundingClientRect().right -
               element.closest(arguments[1]).getBoundingClientRect().right),
    element.textContent]).filter(([over]) => over > 1);
"""
SHOWN = "return getComputedStyle(document.querySelector(arguments[0])).display !== 'none'"
BOX = """
const {left, right, top, bottom} = document.querySelector(arguments[0]).getBoundingClientRect();
return [left, right, top, bottom];
"""
# The signs of a text from left to right, as they are drawn.
DRAWN = """
const walk = document.createTreeWalker(arguments[0], NodeFilter.SHOW_TEXT);
const signs = [];
while (walk.nextNode()) {
  const node = walk.currentNode;
  for (let i = 0; i < node.length; ++i) {
    const range = document.createRange();
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const {left, top} = range.getBoundingClientRect();
    if (node.data[i].trim()) signs.push([Math.round(top / 8), left, node.data[i]]);
  }
}
return signs.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , sign]) => sign).join("");
"""
HYPHENS = """
const texts = [...document.querySelectorAll("td, .worked p, .say p, .notice p, #panel p")];
return texts.map((element) => element.textContent).filter((text) => /(^|[\\s(])-(\\d|inf)/.test(text));
"""

HEBREW = """
title = "החתול השמן"
summary = "שלוש מילים."
tokens = ["החתול", "השמן", "ישן"]

[[given]]
name = "X"
value = [[1, -2], [0, 1], [2, 2]]

[[given]]
name = "W_Q"
value = [[1, 0], [0.5, 1]]

[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
cell = "Q[החתול,1]"
say = "המספר Q[החתול,1] הוא {Q[1,1]} והשני {Q[1,2]}."
"""
LONG = "a_label_as_long_as_a_line_of_a_book_which_no_column_has_the_room_for"
LABELS = f"""
title = "Long labels"
[[given]]
name = "A"
value = [[1, 2], [3, 4]]
rows = ["{LONG}", "short"]
columns = ["{LONG}", "b"]
[[step]]
name = "B"
op = "relu"
of = ["A"]
"""


class Layout(report.Report):
    def lesson(self, name, text):
        path = self.folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def the_panel_takes_no_room_until_it_says_something(self):
        for width, height in ((1280, 800), (400, 800)):
            self.browser.look(width, height)
            self.open(self.write("two-heads"))
            self.expect(f"{width}: empty", self.browser.run(SHOWN, "#panel"), False)
            self.browser.run("arguments[0].click()", self.cell("X (7×4)", 3, 4))
            self.expect(f"{width}: with a cell", self.browser.run(SHOWN, "#panel"), True)
            self.browser.press("Escape")
            self.expect(f"{width}: put away", self.browser.run(SHOWN, "#panel"), False)
            self.expect(f"{width}: as wide as the screen",
                        self.browser.run("return document.documentElement.scrollWidth"), width)
        self.browser.look(1280, 800)
        self.expect("beside the text there is the way through it",
                    self.browser.run(BOX, "nav")[0] >= self.browser.run(BOX, "main")[1], True)
        self.expect("the first step begins on the first screen",
                    self.browser.run(BOX, "#step-1")[2] < 600, True)

    def the_first_lesson_prints_on_four_pages(self):
        self.open(self.write("two-heads"))
        for size in (webdriver.LETTER, webdriver.A4):
            self.browser.print(self.folder / "page.pdf", size)
            pages = re.findall(rb"/Type\s*/Page\b", (self.folder / "page.pdf").read_bytes())
            self.expect(f"pages of {size}", 1 < len(pages) <= 4, True)

    # 190 mm are between the margins of A4, 196 between those of Letter.
    def nothing_is_cut_off_on_paper(self):
        for lesson in report.LESSONS:
            page = self.write(lesson)
            for width in (718, 741):
                self.browser.look(width)
                self.browser.devtools("Emulation.setEmulatedMedia", media="print")
                self.open(page)
                self.expect(f"{lesson.stem}: as wide as paper",
                            self.browser.run("return document.documentElement.scrollWidth"), width)
                self.expect(f"{lesson.stem}: formulas too wide",
                            self.browser.run(TOO_WIDE, ".formula .operand", ".formula"), [])
                self.expect(f"{lesson.stem}: tables too wide",
                            self.browser.run(TOO_WIDE, "main table", "section"), [])

    # X[1,·] · W_Q is (1 · 1 - 2 · 0.5, -2): (0, -2).
    def what_runs_from_the_right_leaves_cells_in_order(self):
        self.browser.look(1280)
        page = self.write(self.lesson("hebrew", HEBREW))
        self.open(page)
        runs = "return [...document.querySelectorAll(arguments[0])].map(" \
            "(e) => getComputedStyle(e).direction)"
        for where in ("h1", ".summary p", ".say p"):
            self.expect(where, set(self.browser.run(runs, where)), {"rtl"})
        find = "return document.querySelector(arguments[0])"
        wanted = "Q[" + "החתול"[::-1] + ",1]"
        self.expect("the worked cell", self.browser.run(DRAWN, self.browser.run(find, ".worked .cell")),
                    wanted)
        self.browser.run("arguments[0].click()", self.cell("Q (3×2)", 1, 1))
        self.expect("the panel", self.browser.run(DRAWN, self.browser.run(find, "#panel h2")), wanted)
        said = self.browser.run(DRAWN, self.browser.run(find, ".say p"))
        self.expect("in a sentence from the right", (wanted in said, "−2" in said, said), (True, True, said))
        self.expect("a worksheet", self.qkv("worksheet", self.folder / "hebrew.toml", "-o",
                                            self.folder / "sheet").returncode, 0)
        self.open(self.folder / "sheet" / "worksheet.html")
        self.expect("its heading", self.browser.run(runs, "h1"), ["rtl"])
        formula = "return [...document.querySelectorAll('.formula')].at(-1)"
        drawn = self.browser.run(DRAWN, self.browser.run(formula))
        self.expect(f"its cell: {drawn}", drawn.startswith(wanted), True)

    def long_labels_use_the_room_and_are_reported_whole(self):
        self.browser.look(1280)
        self.open(self.write(self.lesson("labels", LABELS)))
        titles = "return [...document.querySelectorAll('main th[title]')].map((th) => th.title)"
        self.expect("tooltips", set(self.browser.run(titles)), {LONG})
        width = "return document.querySelector('tbody th').getBoundingClientRect().width"
        self.expect("a label of 67 letters beside two columns", self.browser.run(width) > 250, True)
        self.browser.look(400)
        self.expect("on a phone", self.browser.run(width) <= 180, True)

    def ids_are_no_amounts(self):
        self.open(self.write("two-heads"))
        classes = ("return [...new Set([...document.querySelectorAll('#step-' + arguments[0] + "
                   "' td')].map((cell) => cell.className))]")
        self.expect("token_ids", self.browser.run(classes, 1), [""])
        self.expect("X", "p8" in self.browser.run(classes, 4), True)

    def minus_signs_are_minus_signs(self):
        for lesson in ("two-heads", "self-attention"):
            self.open(self.write(lesson))
            self.expect(f"{lesson}: hyphens before numbers", self.browser.run(HYPHENS), [])
            text = self.browser.run("return document.querySelector('main').textContent")
            self.expect(f"{lesson}: minus signs", "−" in text, True)


TESTS = [
    Layout.the_panel_takes_no_room_until_it_says_something,
    Layout.the_first_lesson_prints_on_four_pages,
    Layout.nothing_is_cut_off_on_paper,
    Layout.what_runs_from_the_right_leaves_cells_in_order,
    Layout.long_labels_use_the_room_and_are_reported_whole,
    Layout.ids_are_no_amounts,
    Layout.minus_signs_are_minus_signs,
]

if __name__ == "__main__":
    sys.exit(report.main(sys.argv[1:], Layout, TESTS))
