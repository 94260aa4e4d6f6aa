#!/usr/bin/python3
"""The report in a real browser: what a reader sees, hears, types and prints.

    report.py QKV            ends with status 77 (skipped) where Chromium or chromedriver is missing

Expected numbers are worked out by hand; for the other cells the page, which works them out with its
own script, must say what `qkv explain` says.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import webdriver

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
LESSONS = [*sorted(ROOT.glob("lessons/*.toml")), *sorted(ROOT.glob("tests/data/lessons/good/*.toml"))]
WIDE_LESSONS = ("why-scale", "multi-head-512", "fluffy-blue-creature", "batches")
CELLS_OF_A_LESSON = 24  # compared with explain, drawn at random
ON_THE_WAY = ("minus_the_largest[", "e_to_that_power[")  # of which explain knows nothing

PANEL = """
const text = (element) => element.textContent.replaceAll("\\u00a0", " ");
const panel = document.getElementById("panel");
return {cell: text(panel.querySelector("h2")),
        lines: [...panel.querySelectorAll(".names:not([hidden]) p"),
                ...panel.querySelectorAll(".lines p")].map(text),
        empty: panel.hidden,
        lit: [...document.querySelectorAll("main [data-tensor] td.lit")].map((cell) =>
          cell.closest("table").caption.textContent.replace(/ \\(.*/, "") + ": " +
          cell.parentElement.cells[0].textContent + " " + cell.textContent),
        copies: [...panel.querySelectorAll(".sources caption")].map(text),
        said: document.getElementById("said").textContent,
        focus: document.activeElement.textContent};
"""
CELL = """
const table = [...document.querySelectorAll("table[data-tensor]")].find(
  (table) => table.caption.textContent.startsWith(arguments[0]));
return table.tBodies[0].rows[arguments[1] - 1].cells[arguments[2]];
"""
# One after the other, each cell's name and lines.
EVERY_CELL = """
const cells = [...document.querySelectorAll("table[data-tensor] tbody td:not(.gap)")];
const chosen = arguments[0] ? arguments[0].map((part) => cells[Math.floor(part * cells.length)])
                            : cells;
const text = (element) => element.textContent.replaceAll("\\u00a0", " ");
return chosen.map((cell) => {
  cell.dispatchEvent(new FocusEvent("focusin", {bubbles: true}));
  const panel = document.getElementById("panel");
  return [text(panel.querySelector("h2")),
          [...panel.querySelectorAll(".names:not([hidden]) p"),
           ...panel.querySelectorAll(".lines p")].map((line) => text(line))];
});
"""
STRUCTURE = """
const faults = [];
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size !== ids.length) faults.push("two elements have one id");
if (!document.documentElement.lang) faults.push("no language is named");
if (document.scripts.length !== 2) faults.push(document.scripts.length + " scripts");
for (const element of document.querySelectorAll("*")) {
  for (const {name, value} of element.attributes) {
    const own = name === "style" && element.matches("html, .made");  // the script's
    if (/^on|^style$|^src|^srcset$/.test(name) && !own) faults.push(element.tagName + " has " + name);
    if (name === "href" && !value.startsWith("#")) faults.push("a link leads to " + value);
  }
}
for (const link of document.querySelectorAll("a[href]")) {
  if (!document.getElementById(link.getAttribute("href").slice(1))) faults.push(link.href);
}
for (const table of document.querySelectorAll("main table")) {
  const name = table.caption?.textContent;
  if (!name) faults.push("a table without a caption");
  if ([...table.querySelectorAll("th")].some((th) => !th.scope && !th.closest(".gap")))
    faults.push(name + ": a label without scope");
  if (table.dataset.tensor !== undefined &&
      table.querySelectorAll("td[tabindex='0']").length !== 1)
    faults.push(name + ": not one way in for Tab");
}
for (const section of document.querySelectorAll("section")) {
  if (!section.querySelector(".formula .operand small")) faults.push("a step without its formula");
}
return faults;
"""
# The least contrast between a text and what is behind it (WCAG 2.1), over everything in the page.
CONTRAST = """
const part = (x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = rgb(getComputedStyle(element).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
let least = [21, ""];
for (const element of document.querySelectorAll("body *")) {
  if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  if (!element.getClientRects().length) continue;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 80)];
}
return least;
"""

HOSTILE = r'''
title   = "</title><script>hacked = 1</script><img src=x onerror='hacked = 1'>"
summary = "]]> <!-- <script> --!> \" onmouseover=\"hacked = 1 &lt;b&gt; javascript:hacked=1"
source  = "<a href=\"javascript:hacked=1\">here</a> \u202Egnp.exe"
text    = "<b> </script><script>hacked=1</script> <!--"

[[step]]
name = "token_ids"
op   = "tokenise"
say  = """<svg onload=hacked=1> {token_ids.shape} </section></main>

- <script>hacked = 1</script>

    </code></pre><iframe srcdoc='<script>parent.hacked=1</script>'>"""
notice = "<style>*{display:none}</style>"

[[given]]
name  = "X"
value = [[1, 2], [3, 4]]
rows  = ["</script><script>hacked=1</script>", "\"><img src=x onerror=hacked=1>"]
columns = ["\u202Eabc", "' onclick='hacked=1"]

[[step]]
name = "Y"
op   = "relu"
of   = ["X"]
'''


def typeset(line):
    """Arithmetic as the page has it: with minus signs where a terminal has hyphens."""
    names = re.findall(r"\[[^\]]*\]", line)
    signs = re.sub(r"-(?=[\w(])", "−", re.sub(r"\[[^\]]*\]", "\0", line))
    signs = re.sub(r"(?<=\de)−", "-", signs)
    for name in names:
        signs = signs.replace("\0", name, 1)
    return signs


def signed_lines(told, given):
    """The lines of `explain --json`, each after its sign."""
    return [f"{sign} {typeset(line)}{given}"
            for sign, line in zip(told["signs"], told["arithmetic"], strict=True)]


class Report:
    def __init__(self, program, browser, folder):
        self.program, self.browser, self.folder = program, browser, folder
        self.faults = []

    def expect(self, what, found, wanted):
        if found != wanted:
            self.faults.append(f"{what}:\n  found  {found}\n  wanted {wanted}")

    def qkv(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120)

    def write(self, lesson, *arguments):
        path = self.folder / f"{Path(lesson).stem}.html"
        ran = self.qkv("report", lesson, "-o", path, *arguments)
        self.expect(f"{lesson}: exit status ({ran.stderr})", ran.returncode, 0)
        return path

    def open(self, path):
        self.browser.open(path)
        self.expect(f"{path.name}: complaints", self.browser.faults(), [])
        self.expect(f"{path.name}: requests", self.browser.requests(), [f"file://{path}"])

    def cell(self, caption, row, column):
        return self.browser.run(CELL, caption, row, column)

    def panel(self):
        return self.browser.run(PANEL)

    # X of cat is (2, 0, 0, 3), of fat (1, 2, 2, 2). Head 1: Q of cat is (2, 0), K of fat is
    # (2, 1 - 1) = (2, 0); their product is 4.
    def hover_shows_where_a_score_comes_from(self):
        self.browser.look(1280)
        self.open(self.write("two-heads"))
        self.browser.point(self.cell("scores, head 1", 3, 2))
        seen = self.panel()
        self.expect("the cell", seen["cell"], "scores[head 1,cat,fat]")
        self.expect("its arithmetic", seen["lines"],
                    ["= Q[head 1,cat,1]·K[head 1,fat,1] + Q[head 1,cat,2]·K[head 1,fat,2]",
                     "= 2·2 + 0·0", "= 4 + 0", "= 4"])
        self.expect("lit cells", seen["lit"], ["Q, head 1: cat 2.0", "Q, head 1: cat 0",
                                               "K, head 1: fat 2.0", "K, head 1: fat 0"])
        self.expect("copies", seen["copies"], ["Q, head 1 (7×2)", "K, head 1 (7×2)"])
        self.expect("nothing is said aloud for a mouse", seen["said"], "")
        self.browser.point(self.cell("W_Q, head 1", 2, 2))
        self.expect("a given", self.panel()["lines"], ["= 0.5 (given)"])
        self.browser.point(self.browser.run("return document.querySelector('h1')"))
        self.expect("away from the matrices", (self.panel()["empty"], self.panel()["lit"]),
                    (True, []))

    # Scores of cat in head 1: 2, 4, 0; by √2: 1.4142, 2.8284, 0. e^(-1.4142) is 0.2431.
    def what_is_on_the_way_has_its_own_arithmetic(self):
        ways = "return [...document.querySelectorAll('details.way')]"
        self.expect("folded", self.browser.run(ways + ".map((way) => way.open)"), [False, False])
        after = """
const [way] = document.querySelectorAll("details.way");
const result = [...document.querySelectorAll("main caption")].find(
  (caption) => caption.textContent.startsWith("attention_weights")).closest("table");
return Boolean(result.compareDocumentPosition(way) & Node.DOCUMENT_POSITION_FOLLOWING);
"""
        self.expect("the result comes first", self.browser.run(after), True)
        self.browser.run(ways + ".forEach((way) => { way.open = true; })")
        self.browser.point(self.cell("minus the largest, head 1", 3, 1))
        seen = self.panel()
        self.expect("the cell", seen["cell"], "minus_the_largest[head 1,cat,1]")
        self.expect("its arithmetic", seen["lines"],
                    ["= masked_scores[head 1,cat,1] − masked_scores[head 1,cat,fat]",
                     "= 1.4142 − 2.8284", "= −1.4142"])
        self.browser.point(self.cell("e to that power, head 1", 3, 1))
        seen = self.panel()
        self.expect("the power", seen["cell"], "e_to_that_power[head 1,cat,1]")
        self.expect("its arithmetic", seen["lines"],
                    ["= e^minus_the_largest[head 1,cat,1]", "= e^(−1.4142)", "= 0.2431"])
        self.expect("what is lit", seen["lit"], ["minus the largest, head 1: cat −1.4142"])

    # Scores of cat in head 1: 2, 4, 0; by √2: 1.4142, 2.8284, 0.
    def steps_alone_have_what_they_are_made_of(self):
        self.open(self.write("two-heads", "--step", "scaled_scores", "--head", "1", "--force"))
        self.expect("its matrices", self.browser.run(
            "return [...document.querySelectorAll('main caption')].map((c) => c.textContent)"),
            ["scores, head 1 (7×7)", "scaled_scores, head 1 (7×7)"])
        self.expect("its headings", self.browser.run(
            "return [...document.querySelectorAll('main h3')].map((h) => h.textContent).slice(0, 2)"),
            ["From before: scores (2×7×7)", "scaled_scores (2×7×7)"])
        self.browser.point(self.cell("scaled_scores, head 1", 3, 2))
        seen = self.panel()
        self.expect("its arithmetic", seen["lines"],
                    ["= scores[head 1,cat,fat] / √2", "= 4 / √2", "= 4 / 1.4142", "≈ 2.8284"])
        self.expect("what is lit", seen["lit"], ["scores, head 1: cat 4.00"])
        self.expect("nothing can be changed where what follows is not there", self.browser.run(
            "return document.querySelector('.changeable').hidden"), True)
        for arguments, said in ((["--step", "score"], "did you mean"), (["--head", "3"], "1 to 2")):
            ran = self.qkv("report", "two-heads", "-o", "-", *arguments)
            self.expect(f"{arguments}", (ran.returncode, said in ran.stderr), (2, True))
        self.open(self.write("two-heads", "--force"))

    # 4 / √2 is 2.8284…; the other way round 1.4142.
    def keys_lead_from_cell_to_cell(self):
        self.browser.run("arguments[0].focus()", self.cell("scaled_scores, head 1", 1, 1))
        self.browser.press("ArrowDown", "ArrowDown", "ArrowRight")
        seen = self.panel()
        self.expect("down, down, right", seen["cell"], "scaled_scores[head 1,cat,fat]")
        self.expect("its arithmetic", seen["lines"],
                    ["= scores[head 1,cat,fat] / √2", "= 4 / √2", "= 4 / 1.4142", "≈ 2.8284"])
        self.expect("what a screen reader says", seen["said"],
                    "scaled_scores[head 1,cat,fat] = scores[head 1,cat,fat] / √2 = 4 / √2 = "
                    "4 / 1.4142 ≈ 2.8284")
        for keys, cell in [(["Home"], "cat,1"), (["End"], "cat,mat"), (["ArrowRight"], "cat,mat"),
                           (["Control+Home"], "1,1"), (["ArrowUp", "ArrowLeft"], "1,1"),
                           (["Control+End"], "mat,mat")]:
            self.browser.press(*keys)
            self.expect(" ".join(keys), self.panel()["cell"], f"scaled_scores[head 1,{cell}]")
        self.browser.press("Tab")
        self.expect("Tab", self.panel()["cell"], "scaled_scores[head 2,1,1]")
        self.browser.press("Shift+Tab")
        self.expect("back", self.panel()["cell"], "scaled_scores[head 1,mat,mat]")
        self.browser.press("Escape")
        seen = self.panel()
        self.expect("Escape", (seen["empty"], seen["lit"], seen["said"]), (True, [], ""))
        self.browser.press("Enter")
        self.expect("Enter", self.panel()["cell"], "scaled_scores[head 1,mat,mat]")

    def a_finger_opens_the_sheet(self):
        self.browser.look(390, 844, touch=True)
        self.open(self.write("two-heads"))
        hidden = "return getComputedStyle(document.getElementById('panel')).display"
        self.expect("the sheet before", self.browser.run(hidden), "none")
        self.browser.point(self.cell("X (7×4)", 3, 4), press=True, kind="touch")
        self.expect("X[cat,up] = 0 + 3", self.panel()["lines"][1:], ["= 0 + 3", "= 3"])
        self.expect("the sheet after", self.browser.run(hidden), "block")
        self.browser.point(self.browser.run("return document.querySelector('#panel button')"),
                           press=True, kind="touch")
        self.expect("closed", self.browser.run(hidden), "none")

    def every_lesson_is_sound_and_agrees_with_explain(self):
        self.browser.look(390, 844)
        chance = random.Random(1)
        for lesson in LESSONS:
            digits = chance.choice([0, 2, 4, 9, 17])
            path = self.write(lesson, "--digits", digits)
            whole = path.read_text(encoding="utf-8").replace(
                '"most_terms":9', '"most_terms":0')
            path.write_text(whole, encoding="utf-8")
            self.open(path)
            for fault in self.browser.run(STRUCTURE):
                self.faults.append(f"{lesson.stem}: {fault}")
            self.expect(f"{lesson.stem}: as wide as a phone",
                        self.browser.run("return document.documentElement.scrollWidth"), 390)
            large = path.stat().st_size > 1e6
            parts = [chance.random() for _ in range(CELLS_OF_A_LESSON // (4 if large else 1))]
            for cell, lines in self.browser.run(EVERY_CELL, parts):
                if cell.startswith(ON_THE_WAY):
                    continue
                told = self.qkv("explain", lesson, cell, "--all", "--json", "--digits", digits)
                worked = json.loads(told.stdout)
                given = "" if "op" in worked else " (given)"
                self.expect(f"{lesson.stem}: {cell}, {digits} digits", lines,
                            signed_lines(worked, given))

    def long_sums_lose_their_middle(self):
        self.open(self.write("multi-head-512"))
        self.browser.run("arguments[0].focus()", self.cell("output", 1, 1))
        first, second = self.panel()["lines"][:2]
        self.expect("names", re.findall(r"… \d+ more …", first), ["… 508 more …"])
        self.expect("terms", re.findall(r"… \d+ more …", second), ["… 508 more …"])
        self.expect("size in MB", (self.folder / "multi-head-512.html").stat().st_size < 5e6, True)

    # What is halfway between two decimals goes away from zero, as on paper and in explain.
    def halves_round_as_people_do(self):
        lesson = self.folder / "halves.toml"
        values = [0.125, 0.375, -0.625, 2.5, 0.5, 1.5, 1e-9, 12500000.0, 33500000.0, 1e16, 1e-5,
                  1.005, -2.675, 57982058496.0, -123456.0, 99999.0, 9007199254740992.0]
        lesson.write_text('title = "Halves"\n[[given]]\nname = "A"\n'
                          f"value = [{values}]\n[[step]]\nname = \"B\"\nop = \"add\"\n"
                          'of = ["A", "A"]\n[[step]]\nname = "C"\nop = "relu"\nof = ["A"]\n')
        for digits in (0, 1, 2, 3):
            self.open(self.write(lesson, "--digits", digits))
            for cell, lines in self.browser.run(EVERY_CELL, None):
                told = json.loads(self.qkv("explain", lesson, cell, "--json", "--digits",
                                           digits).stdout)
                given = "" if "op" in told else " (given)"
                self.expect(f"{cell}, {digits} digits", lines,
                            signed_lines(told, given))
        self.open(self.write(lesson, "--digits", 2))
        self.browser.run("arguments[0].focus()", self.cell("C", 1, 1))
        self.expect("0.125 with 2 digits", self.panel()["lines"][-1], "= 0.13")

    # No pair of two queries and two keys uses the fourth bias of the table.
    def a_sum_of_no_terms_is_zero(self):
        lesson = self.folder / "buckets.toml"
        lesson.write_text('title = "Buckets"\n[[given]]\nname = "S"\nvalue = [[1, 2], [3, 4]]\n'
                          '[[given]]\nname = "T"\nvalue = [[1], [2], [3], [4]]\n'
                          '[[given]]\nname = "d_out"\nvalue = [[1, 2], [3, 4]]\n'
                          '[[step]]\nname = "y"\nop = "relative_bias"\nof = ["S", "T"]\n'
                          'max_distance = 8\n[backward]\nfrom = { y = "d_out" }\n')
        self.open(self.write(lesson))
        lines = dict(self.browser.run(EVERY_CELL, None))
        told = json.loads(self.qkv("explain", lesson, "d_T[4,1]", "--json").stdout)
        self.expect("on the page", lines["d_T[4,1]"], ["= 0"])
        self.expect("explained", signed_lines(told, ""), ["= 0"])

    def a_hostile_lesson_stays_text(self):
        lesson = self.folder / "hostile.toml"
        lesson.write_text(HOSTILE, encoding="utf-8")
        path = self.write(lesson)
        self.browser.look(1280)
        self.open(path)
        for _, lines in self.browser.run(EVERY_CELL, None):
            self.expect("worked out", bool(lines), True)
        self.expect("what ran", self.browser.run("return window.hacked === undefined"), True)
        self.expect("elements", self.browser.run(STRUCTURE), [])
        strange = "return document.querySelectorAll('img, iframe, section svg, section style').length"
        self.expect("strangers", self.browser.run(strange), 0)
        self.expect("the title", self.browser.run("return document.title"),
                    "</title><script>hacked = 1</script><img src=x onerror='hacked = 1'>")
        page = self.browser.run("return document.body.innerText")
        self.expect("an override is named", "<U+202E>gnp.exe" in page, True)
        self.expect("… and isn't there", "\u202e" in path.read_text(encoding="utf-8"), False)
        self.expect("complaints at the end", self.browser.faults(), [])

    def the_policy_keeps_other_scripts_out(self):
        self.open(self.write("counting"))
        self.browser.run("const script = document.createElement('script');"
                         "script.textContent = 'window.hacked = 1'; document.body.append(script);"
                         "const image = new Image(); image.src = 'https://example.org/x.png';"
                         "document.body.append(image); return new Promise((r) => setTimeout(r, 300))")
        self.expect("what ran", self.browser.run("return window.hacked === undefined"), True)
        refused = " ".join(self.browser.faults())
        self.expect("refused", ("script-src" in refused, "default-src" in refused or
                                "img-src" in refused), (True, True))

    def colours_can_be_told_from_their_ground(self):
        for lesson in ("two-heads", "why-scale"):
            path = self.write(lesson)
            for dark in (False, True):
                self.browser.look(1280, dark=dark)
                self.open(path)
                self.browser.run("arguments[0].focus()", self.cell("scores", 1, 1))
                least, where = self.browser.run(CONTRAST)
                self.expect(f"{lesson}: contrast of {least:.2f} at {where}", least >= 4.5, True)

    def it_prints_without_what_is_for_screens(self):
        self.browser.look(1280, dark=True)
        self.open(self.write("two-heads"))
        self.browser.run("arguments[0].focus()", self.cell("scores", 1, 1))
        self.browser.print(self.folder / "page.pdf")
        self.expect("a PDF", (self.folder / "page.pdf").read_bytes()[:5], b"%PDF-")
        self.browser.devtools("Emulation.setEmulatedMedia", media="print")
        shown = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        self.expect("the panel", self.browser.run(shown, "#panel", "display"), "none")
        self.expect("the ground", self.browser.run(shown, "body", "backgroundColor"),
                    "rgb(255, 255, 255)")
        least, where = self.browser.run(CONTRAST)
        self.expect(f"contrast of {least:.2f} on paper at {where}", least >= 7, True)
        for lesson in LESSONS:  # 182 mm are between the margins of A4
            if lesson.stem[3:] not in WIDE_LESSONS:
                continue
            self.browser.look(688)
            self.browser.devtools("Emulation.setEmulatedMedia", media="print")
            self.open(self.write(lesson))
            wide = "return document.documentElement.scrollWidth"
            self.expect(f"{lesson.stem}: as wide as paper", self.browser.run(wide), 688)

    def nothing_but_an_older_page_is_replaced(self):
        lesson, own, page = self.folder / "own.toml", self.folder / "own.txt", self.folder / "p.html"
        equal = self.expect
        shutil.copy(LESSONS[0], lesson)
        shutil.copy(lesson, own)
        for arguments, file, says in [
            ((lesson, "-o", lesson), lesson, "own.toml is the lesson's file"),
            ((lesson, "-o", lesson, "--force"), lesson, "own.toml is the lesson's file"),
            ((lesson, "-o", own), own, "own.txt exists and is not a page of qkv"),
        ]:
            ran = self.qkv("report", *arguments)
            equal(f"{arguments}: {ran.stderr}", (ran.returncode, says in ran.stderr), (2, True))
            equal(f"{file} afterwards", file.read_bytes(), LESSONS[0].read_bytes())
        for arguments in [(lesson, "-o", own, "--force"), (lesson, "-o", page),
                          (lesson, "-o", page, "--digits", "2")]:
            equal(f"{arguments}", self.qkv("report", *arguments).returncode, 0)
        equal("the forced page", own.read_text(encoding="utf-8")[:15], "<!DOCTYPE html>")

    def bad_places_are_refused(self):
        for place, says in [(self.folder, "directory"),
                            (self.folder / "no" / "x.html", "x.html: its directory does not exist")]:
            ran = self.qkv("report", "counting", "-o", place)
            self.expect(f"-o {place}: {ran.stderr}", (ran.returncode, says in ran.stderr), (2, True))
        ran = self.qkv("report", "counting", "-o", "-")
        self.expect("on standard output", (ran.returncode, ran.stdout[:15], ran.stderr),
                    (0, "<!DOCTYPE html>", ""))


TESTS = [
    Report.hover_shows_where_a_score_comes_from,
    Report.what_is_on_the_way_has_its_own_arithmetic,
    Report.steps_alone_have_what_they_are_made_of,
    Report.keys_lead_from_cell_to_cell,
    Report.a_finger_opens_the_sheet,
    Report.every_lesson_is_sound_and_agrees_with_explain,
    Report.a_sum_of_no_terms_is_zero,
    Report.long_sums_lose_their_middle,
    Report.halves_round_as_people_do,
    Report.a_hostile_lesson_stays_text,
    Report.the_policy_keeps_other_scripts_out,
    Report.colours_can_be_told_from_their_ground,
    Report.it_prints_without_what_is_for_screens,
    Report.nothing_but_an_older_page_is_replaced,
    Report.bad_places_are_refused,
]


def main(arguments, kind=Report, tests=None):
    if not webdriver.is_there():
        print("skipped: this needs chromium and chromedriver (Debian: chromium-driver)")
        return SKIPPED
    program = str(Path(arguments[0]).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as folder, webdriver.Browser() as browser:
        report = kind(program, browser, Path(folder))
        for test in tests or TESTS:
            report.faults = []
            begin = time.monotonic()
            test(report)
            print(f"{'FAILED' if report.faults else 'passed'}  {test.__name__.replace('_', ' ')}"
                  f" ({time.monotonic() - begin:.1f} s)")
            for fault in report.faults[:5]:
                print("  " + fault.replace("\n", "\n  "))
            failed += len(report.faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
