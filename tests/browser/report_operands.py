#!/usr/bin/python3
"""What stands beside a result: its operands, their rows as arrows, a line as bars, and the map above.

    report_operands.py QKV            ends with status 77 (skipped) where there is no browser

The numbers are worked out by hand: in the-fat-cat Q of "cat" is (2, 0), Q of "sat" is (0, 3), K of
"fat" is (2, 0). In two-heads head 1 has the same Q of "cat" and K of "fat".
"""

import math
import sys

import report

# The captions and lit cells of the group in which a result stands.
GROUP = """
const group = arguments[0].closest(".group");
const lit = [...group.querySelectorAll("td.lit")].map((cell) => {
  const table = cell.closest("table");
  return [table.caption.textContent.replace(/ \\(.*/, ""), cell.parentElement.cells[0].textContent,
          table.tHead.rows[0].cells[cell.cellIndex].textContent].join(" ");
});
return {captions: [...group.querySelectorAll("caption")].map((each) => each.textContent),
        lit, all: document.querySelectorAll("main .copy td.lit").length};
"""
# Where the tables of the groups of a step stand: [left, top] of each, a list for each group.
PLACES = """
return [...document.querySelectorAll(arguments[0] + " .group")].map((group) =>
  [...group.querySelectorAll("table")].map((table) => {
    const {left, top} = table.getBoundingClientRect();
    return [Math.round(left), Math.round(top)];
  }));
"""
LOOK = """
const {boxShadow, textDecorationLine, fontWeight} = getComputedStyle(
  document.querySelector(".copy td.lit"));
return [boxShadow !== "none", textDecorationLine, fontWeight];
"""
ARROWS = """
return [...document.querySelectorAll(arguments[0] + " .plane g")].map((arrow) => {
  const path = arrow.querySelector("path");
  return [arrow.classList[0] + " " + arrow.querySelector("text").textContent, {
    rows: arrow.dataset.row ?? arrow.dataset.column, lit: arrow.classList.contains("lit"),
    length: Number(path.getAttribute("d").match(/H([\\d.]+)/)[1]),
    angle: Number(path.getAttribute("transform").match(/-?[\\d.]+/)[0])}];
});
"""
BARS = """
const bars = document.querySelector("#panel .bars");
return bars && {texts: [...bars.querySelectorAll("text")].map((text) => text.textContent),
                widths: [...bars.querySelectorAll("rect")].map((bar) => Number(bar.getAttribute("width"))),
                bold: [...bars.querySelectorAll(".this")].map((text) => text.textContent)};
"""
# What is wider than its place and has no scroll bar of its own; and what scrolls that is no matrix.
TOO_WIDE = """
return [...document.querySelectorAll("#page *")].filter((element) =>
  element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 &&
  !element.closest(".scroll, pre, .only-said, svg, caption.same") &&
  getComputedStyle(element).display !== "inline").map((element) => element.outerHTML.slice(0, 90));
"""
NAMES = """
const names = document.querySelector("#panel .names");
return {open: names.open, hidden: names.hidden, text: names.querySelector("p").textContent,
        first: document.querySelector("#panel .lines p").textContent.replaceAll("\\u00a0", " "),
        before: Boolean(names.compareDocumentPosition(document.querySelector("#panel .lines")) &
                        Node.DOCUMENT_POSITION_PRECEDING)};
"""

MAP = """
const map = document.getElementById("map");
const boxes = [...map.querySelectorAll("a")];
const nameOf = (box) => box.querySelector("text").textContent;
return {open: map.open, boxes: boxes.map((box) => [...box.querySelectorAll("text")].map(
          (text) => text.textContent).join(" ").trim()),
        links: boxes.map((box) => box.getAttribute("href")), arrows: map.querySelectorAll("path").length,
        here: boxes.filter((box) => box.getAttribute("aria-current")).map(nameOf),
        marked: boxes.filter((box) => box.classList.contains("here")).map(nameOf),
        summary: map.querySelector("summary").textContent, top: map.getBoundingClientRect().top,
        bottom: map.getBoundingClientRect().bottom};
"""
BOX = """
return [...document.querySelectorAll("#map a")].find(
  (box) => box.querySelector("text").textContent === arguments[0]);
"""

# Where a line of the map passes behind a box, and where lines from two boxes run along each other.
LANES = """
const map = document.getElementById("map");
const boxes = [...map.querySelectorAll("rect")].map((each) => each.getBBox());
const names = [...map.querySelectorAll("a")].map((each) => each.querySelector("text").textContent);
const isIn = ({x, y, width, height}, at, edge) =>
  at.x > x + edge && at.x < x + width - edge && at.y > y && at.y < y + height;
const faults = new Set();
const seen = new Map();  // by pixel: points of lines, each with the step to it and its line's origin
for (const path of map.querySelectorAll("path")) {
  const length = path.getTotalLength() - 16;  // without the arrow's head
  const points = [...Array(Math.floor(length)).keys()].map((at) => path.getPointAtLength(at));
  const from = names[boxes.findIndex((box) => isIn(box, points[0], -1))];
  boxes.forEach((box, i) => {
    if (points.some((at) => isIn(box, at, 1))) faults.add(`${from} behind ${names[i]}`);
  });
  const along = new Map();
  const steps = points.slice(1).map((at, i) => [at, at.x - points[i].x, at.y - points[i].y, from]);
  for (const [at, dx, dy] of steps) {
    for (const [x, y] of [-1, 0, 1].flatMap((x) => [-1, 0, 1].map((y) => [x, y]))) {
      const there = seen.get(`${Math.round(at.x) + x} ${Math.round(at.y) + y}`) ?? [];
      for (const [other, ex, ey, name] of there) {
        if (name !== from && Math.hypot(other.x - at.x, other.y - at.y) < 1.2 &&
            Math.abs(dx * ey - dy * ex) < 0.05) along.set(name, (along.get(name) ?? new Set()).add(at));
      }
    }
  }
  for (const [name, places] of along) if (places.size > 8) faults.add(`${from} along ${name}`);
  for (const step of steps) {
    const key = `${Math.round(step[0].x)} ${Math.round(step[0].y)}`;
    seen.set(key, [...seen.get(key) ?? [], step]);
  }
}
return [...faults];
"""

# The names of cells, the words of commands and the signs that do not stand whole on one line with
# what follows them.
BROKEN = """
const linesOf = (element, from, to) => {
  const tops = new Set();
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let at = 0; at < to && walk.nextNode(); at += walk.currentNode.length) {
    const range = document.createRange();
    const [start, end] = [from, to].map((x) => Math.max(0, Math.min(x - at, walk.currentNode.length)));
    range.setStart(walk.currentNode, start);
    range.setEnd(walk.currentNode, end);
    if (start < end) for (const {top} of range.getClientRects()) tops.add(Math.round(top / 4));
  }
  return tops.size;
};
const broken = (selector, pattern) => [...document.querySelectorAll(selector)].flatMap((element) =>
  [...element.textContent.matchAll(pattern)].filter(({0: {length}, index}) =>
    length < 30 && linesOf(element, index, index + length) > 1).map(([text]) => text));
const lines = ".worked .lines p";
return [...broken(lines, /[\\w.]+\\[[^\\]]*\\]/g), ...broken(lines, /[=≈+]\\s\\S/g),
        ...broken("pre code", /\\S+/g)];
"""
TURNED = """
title = "A token is a column"
convention = "columns"
tokens = ["a", "b", "c"]
[[given]]
name = "X"
value = [[1, 2, 3], [4, 5, 6]]
[[given]]
name = "W"
value = [[1, 0], [2, 1]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W"]
[[step]]
name = "scores"
op = "score"
of = ["Q", "X"]
"""
LAYERS = """
title = "Two layers"
[[given]]
name = "X"
value = [[1, 2], [3, 4]]
[[step]]
name = "h0.Y"
op = "relu"
of = ["X"]
[[step]]
name = "h1.Y"
op = "relu"
of = ["h0.Y"]
[[step]]
name = "out"
op = "relu"
of = ["h1.Y"]
"""


class Operands(report.Report):
    def choose(self, caption, row, column):
        """Clicks a cell and returns it."""
        cell = self.cell(caption, row, column)
        self.browser.run("arguments[0].click()", cell)
        return cell

    def operands_stand_beside_their_result(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        scores = self.cell("scores (4×4)", 1, 1)
        self.expect("of scores", self.browser.run(GROUP, scores)["captions"],
                    ["Q (4×2)", "K (4×2)", "scores (4×4)"])
        [places] = self.browser.run(PLACES, "#step-6")
        self.expect("side by side", (len({top for _, top in places}), places), (1, sorted(places)))
        self.expect("a given moves to its result",
                    self.browser.run(GROUP, self.cell("Q (4×2)", 1, 1))["captions"],
                    ["X (4×3)", "W_Q (3×2)", "Q (4×2)"])
        self.expect("and is there once", self.browser.run(
            "return [...document.querySelectorAll('main caption')].filter("
            "(caption) => caption.textContent.startsWith('W_Q')).length"), 1)

    def heads_stand_side_by_side_where_there_is_room(self):
        page = self.write("two-heads")
        for width, beside in ((1280, True), (390, False)):
            self.browser.look(width)
            self.open(page)
            first, second = self.browser.run(PLACES, "#step-8")
            self.expect(f"scores at {width}", first[-1][1] == second[-1][1], beside)
            self.expect(f"in order at {width}", first[-1] < second[-1], True)
        [[words, weights, result], _] = self.browser.run(PLACES, "#step-7")
        self.expect("X, W_V and V at 390: one below the other, or beside",
                    words[1] < weights[1] <= result[1], True)

    # scores[cat,fat] is row "cat" of Q times row "fat" of K. context[cat,1] is row "cat" of the
    # weights times the first column of V.
    def a_cell_lights_what_it_is_made_of(self):
        self.browser.look(1280)
        self.open(self.write("two-heads"))
        seen = self.browser.run(GROUP, self.choose("scores, head 1", 3, 2))
        wanted = ["Q, head 1 cat 1", "Q, head 1 cat 2", "K, head 1 fat 1", "K, head 1 fat 2"]
        self.expect("scores", (seen["lit"], seen["all"]), (wanted, 4))
        self.expect("told without colour", self.browser.run(LOOK), [True, "underline", "700"])
        seen = self.browser.run(GROUP, self.choose("context, head 2", 3, 1))
        words = ["the", "fat", "cat", "sat", "on", "the", "mat"]
        self.expect("context", sorted(seen["lit"]), sorted(
            [f"attention_weights, head 2 cat {word}" for word in words] +
            [f"V, head 2 {word} 1" for word in words]))
        self.browser.point(self.cell("Q, head 2", 2, 1))
        seen = self.browser.run(GROUP, self.cell("Q, head 2", 2, 1))
        dims = ["thing", "describes", "across", "up"]
        self.expect("a pointer does it too", sorted(seen["lit"]), sorted(
            [f"X fat {dim}" for dim in dims] + [f"W_Q, head 2 {dim} 1" for dim in dims]))
        self.browser.press("Escape")
        self.expect("Escape", self.browser.run("return document.querySelectorAll('.lit').length"), 0)

    # Tokens are columns here: Q[1,b] is row 1 of W times column b of X, 1·2 + 0·5 = 2.
    def columns_are_lit_where_tokens_are_columns(self):
        lesson = self.folder / "turned.toml"
        lesson.write_text(TURNED, encoding="utf-8")
        self.open(self.write(lesson))
        seen = self.browser.run(GROUP, self.choose("Q (2×3)", 1, 2))
        self.expect("lit", sorted(seen["lit"]), ["W 1 1", "W 1 2", "X 1 b", "X 2 b"])
        self.expect("its value", self.panel()["lines"][-1], "= 2")
        self.expect("in the order of the formula",
                    self.browser.run(GROUP, self.cell("scores (3×3)", 1, 1))["captions"],
                    ["X (2×3)", "Q (2×3)", "scores (3×3)"])
        arrows = dict(map(tuple, self.browser.run(ARROWS, "#step-2")))
        self.expect("arrows", sorted(name[-1] for name in arrows), ["a", "a", "b", "b", "c", "c"])

    def the_panel_begins_with_numbers(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        self.choose("scores", 3, 2)
        seen = self.browser.run(NAMES)
        self.expect("folded", (seen["open"], seen["first"], seen["before"]),
                    (False, "= 2·2 + 0·0", True))
        self.browser.run("document.querySelector('#panel summary').click()")
        self.choose("scores", 4, 2)
        seen = self.browser.run(NAMES)
        self.expect("unfolded, it stays so", (seen["open"], "Q[sat,1]" in seen["text"]), (True, True))
        self.choose("W_Q", 1, 1)
        self.expect("a given has no names", self.browser.run(NAMES)["hidden"], True)

    # Row "cat": 2/√2, 4/√2, 0 and a masked one; e^(x − 4/√2) is e^−√2, 1, e^−2√2.
    def softmax_shows_its_row_as_bars(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        self.choose("attention_weights", 3, 2)
        seen = self.browser.run(BARS)
        powers = [math.exp(-math.sqrt(2)), 1, math.exp(-2 * math.sqrt(2)), 0]
        longest = max(seen["widths"])
        self.expect("widths", [round(bar / longest, 3) for bar in seen["widths"]],
                    [0.5, 1, 0, 0] + [round(power, 3) for power in powers])
        self.expect("bold", seen["bold"], ["fat", "2.8284", "0.7679"])
        self.expect("texts", seen["texts"][:4], ["the", "fat", "cat", "sat"])
        self.choose("attention_weights", 1, 1)
        self.expect("a row with one number", len(self.browser.run(BARS)["widths"]), 8)
        for step in ("scores", "scaled_scores", "context", "X"):
            self.choose(step, 1, 1)
            self.expect(f"{step} has none", self.browser.run(BARS), None)
        self.open(self.write("the-fat-cat", "--step", "attention_weights", "--force"))
        self.choose("attention_weights", 3, 2)
        self.expect("a step alone", self.browser.run(BARS), seen)

    def queries_and_keys_are_arrows(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        arrows = dict(map(tuple, self.browser.run(ARROWS, "#step-6")))
        self.expect("arrows", sorted(arrows), ["column K: sat", "column K: the", "row Q: cat = K: fat",
                                               "row Q: fat", "row Q: sat", "row Q: the = K: cat"])
        cat, sat = arrows["row Q: cat = K: fat"], arrows["row Q: sat"]
        self.expect("Q of cat and sat", (cat["angle"], sat["angle"], sat["length"] / cat["length"]),
                    (0, -90, 1.5))
        self.expect("K of sat is (−1, −1)", arrows["column K: sat"]["angle"], 135)
        self.choose("scores", 3, 2)
        lit = [name for name, arrow in self.browser.run(ARROWS, "#step-6") if arrow["lit"]]
        self.expect("lit: one arrow, of both", lit, ["row Q: cat = K: fat"])
        self.choose("scores", 4, 4)
        lit = [name for name, arrow in self.browser.run(ARROWS, "#step-6") if arrow["lit"]]
        self.expect("lit: two", sorted(lit), ["column K: sat", "row Q: sat"])
        for step in (3, 7, 9, 10):  # a projection, a division, softmax, a mixture: no dot products
            self.expect(f"step {step}", self.browser.run(ARROWS, f"#step-{step}"), [])

    def what_is_changed_is_changed_beside_its_results(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        self.choose("W_K", 2, 1)  # K of fat, (2, 0), is twice this number
        self.browser.run("const field = document.querySelector('.change input');"
                         "field.value = 3; field.dispatchEvent(new Event('input', {bubbles: true}))")
        copy = "return document.querySelectorAll('#step-6 .copy table')[1].tBodies[0].rows[1].cells[1]"
        self.expect("K[fat,1] beside scores", self.browser.run(copy + ".textContent"), "6")
        arrows = dict(map(tuple, self.browser.run(ARROWS, "#step-6")))
        self.expect("its arrow, thrice Q of cat",
                    arrows["column K: fat"]["length"] / arrows["row Q: cat"]["length"], 3)
        moved = "return document.querySelectorAll(`#step-${arguments[0]} [data-tensor] td.moved`).length"
        # W_K's own, K of "the" and "fat", whose X has a 2nd number, and their scores with "cat".
        self.expect("cells that have moved: of Q, of W_K and K, of scores",
                    [self.browser.run(moved, step) for step in (3, 4, 6)], [0, 1 + 2, 2])
        seen = self.browser.run(GROUP, self.choose("scores", 3, 2))
        self.expect("lit afterwards", seen["lit"], ["Q cat 1", "Q cat 2", "K fat 1", "K fat 2"])

    def a_copy_tells_where_its_number_comes_from(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        copy = "document.querySelectorAll('#step-6 .copy table')[1].tBodies[0].rows[1].cells[1]"
        place = self.browser.run("return scrollY")
        self.browser.run(f"{copy}.click()")
        seen = self.browser.run("return [document.querySelector('#panel h2').textContent, "
                                "document.querySelector('#panel .lines').textContent, scrollY]")
        self.expect("K of fat, without going there", (seen[0], "2·1" in seen[1].replace("\u00a0", ""), seen[2]),
                    ("K[fat,1]", True, place))
        self.browser.run(f"{copy}.nextElementSibling.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}))")
        seen = self.browser.run("return document.querySelector('#panel h2').textContent")
        self.expect("pointed at", seen, "K[fat,2]")

    # text → token_ids → X; from X come Q, K and V, from Q and K the scores, and so on: 12 arrows.
    def the_map_says_where_one_is(self):
        self.browser.look(1280)
        self.open(self.write("the-fat-cat"))
        seen = self.browser.run(MAP)
        self.expect("boxes", seen["boxes"], [
            "text", "token_ids 4", "X 4×3", "Q 4×2", "K 4×2", "V 4×2", "scores 4×4",
            "scaled_scores 4×4", "masked_scores 4×4", "attention_weights 4×4", "context 4×2"])
        self.expect("links", seen["links"], ["#step-1", *(f"#step-{step}" for step in range(1, 11))])
        self.expect("arrows", seen["arrows"], 12)
        top = "return document.getElementById(arguments[0]).getBoundingClientRect().top"
        for name, step in (("scores", 6), ("K", 4), ("attention_weights", 9)):
            self.browser.run("arguments[0].focus()", self.browser.run(BOX, name))
            self.browser.press("Enter")
            self.browser.wait(0.2)
            seen = self.browser.run(MAP)
            self.expect(f"at {name}", (seen["here"], seen["marked"], seen["summary"]),
                        ([name], [name], f"Map, here: {name}"))
            self.expect(f"{name}: the map stays in view", round(seen["top"]), 0)
            below = self.browser.run(top, f"step-{step}") - seen["bottom"]
            self.expect(f"{name}: it begins below the map, {below}", -1 <= below < 40, True)
        self.browser.run("document.getElementById('step-7').scrollIntoView()")
        self.browser.wait(0.2)
        self.expect("after scrolling", self.browser.run(MAP)["here"], ["scaled_scores"])

    def each_line_of_the_map_can_be_followed(self):
        for width in (1280, 390):
            self.browser.look(width)
            for lesson in sorted(report.ROOT.glob("lessons/*.toml")):
                self.open(self.write(lesson))
                self.browser.run("document.getElementById('map').open = true")
                self.browser.wait(0.1)
                self.expect(f"{lesson.stem} at {width}", self.browser.run(LANES), [])

    def the_map_folds_on_a_phone(self):
        self.browser.look(390, 844)
        self.open(self.write("two-heads"))
        self.browser.run("document.getElementById('step-8').scrollIntoView()")
        self.browser.wait(0.2)
        seen = self.browser.run(MAP)
        self.expect("folded", (seen["open"], seen["summary"], round(seen["top"])),
                    (False, "Map, here: scores", 0))
        self.browser.run("document.querySelector('#map summary').click()")
        self.browser.wait(0.2)
        over = "return document.querySelector('#map svg').getBoundingClientRect().right <= 390"
        self.expect("unfolded it fits", self.browser.run(over), True)
        self.browser.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))",
                         self.browser.run(BOX, "output"))
        self.browser.wait(0.2)
        self.expect("a tap leads there", self.browser.run(MAP)["here"], ["output"])

    def one_layer_stands_for_those_built_alike(self):
        lesson = self.folder / "layers.toml"
        lesson.write_text(LAYERS, encoding="utf-8")
        self.browser.look(1280)
        self.open(self.write(lesson))
        self.browser.run("document.getElementById('step-2').scrollIntoView()")
        self.browser.wait(0.2)
        seen = self.browser.run(MAP)
        self.expect("boxes", seen["boxes"], ["X 2×2", "h0.Y 2×2", "out 2×2"])
        self.expect("in the second layer", (seen["here"], seen["summary"]),
                    (["h0.Y"], "Map, here: h1.Y (h0 stands for each of 2 layers)"))

    def nothing_but_matrices_scrolls_sideways_on_a_phone(self):
        self.browser.look(390, 844)
        for lesson in report.LESSONS:
            self.open(self.write(lesson))
            self.expect(f"{lesson.stem}: too wide", self.browser.run(TOO_WIDE), [])
            if lesson.parent.name == "lessons":
                self.expect(f"{lesson.stem}: broken", self.browser.run(BROKEN), [])
            self.expect(f"{lesson.stem}: the page", self.browser.run(
                "return document.documentElement.scrollWidth"), 390)


TESTS = [
    Operands.operands_stand_beside_their_result,
    Operands.heads_stand_side_by_side_where_there_is_room,
    Operands.a_cell_lights_what_it_is_made_of,
    Operands.columns_are_lit_where_tokens_are_columns,
    Operands.the_panel_begins_with_numbers,
    Operands.softmax_shows_its_row_as_bars,
    Operands.queries_and_keys_are_arrows,
    Operands.what_is_changed_is_changed_beside_its_results,
    Operands.a_copy_tells_where_its_number_comes_from,
    Operands.the_map_says_where_one_is,
    Operands.each_line_of_the_map_can_be_followed,
    Operands.the_map_folds_on_a_phone,
    Operands.one_layer_stands_for_those_built_alike,
    Operands.nothing_but_matrices_scrolls_sideways_on_a_phone,
]

if __name__ == "__main__":
    sys.exit(report.main(sys.argv[1:], Operands, TESTS))
