#!/usr/bin/python3
"""Another given number in the report's page: what follows is what `qkv report --set` makes of it.

    report_following.py QKV            ends with status 77 (skipped) where there is no browser
"""

import random
import sys

import report

MATRICES = """
return [...document.querySelectorAll("main table[data-tensor]")].map((table) => [
  table.caption.textContent, ...[...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) =>
    cell.textContent + " " + [...cell.classList].filter((name) => /^(x|[pn]\\d)$/.test(name))))]);
"""
WORKED = """
return [...document.querySelectorAll(".worked")].map((worked) => [
  worked.querySelector(".cell").textContent,
  [...worked.querySelectorAll(".lines p")].map((line) => line.textContent.replaceAll("\\u00a0", " "))]);
"""
# The given cells that offer another number, with their names.
OFFERED = """
const data = JSON.parse(document.getElementById("data").textContent);
return data.changeable.map((t) => data.tensors[t].name);
"""
GIVEN_CELLS = """
const data = JSON.parse(document.getElementById("data").textContent);
return [...document.querySelectorAll("main table[data-tensor] tbody td:not(.gap)")].filter((cell) =>
  data.changeable.includes(Number(cell.closest("table").dataset.tensor)));
"""
TYPE = """
arguments[0].click();
const field = document.querySelector(".change input[type=text]");
field.value = arguments[1];
field.dispatchEvent(new Event("input", {bubbles: true}));
return [document.querySelector("#panel h2").textContent.replaceAll("\\u00a0", " "),
        document.querySelector(".change p").textContent];
"""
BAR = "return document.querySelector('#changes code')?.textContent ?? null"
NOTES = "return document.querySelectorAll('.of-before').length"
SHOWN = "return getComputedStyle(document.querySelector(arguments[0])).display !== 'none'"

DIVIDES = """
title = "Shares"
[[given]]
name = "A"
value = [[1, 3], [2, 2]]
[[step]]
name = "shares"
op = "normalise"
of = ["A"]
"""
DECIDES = """
title = "What decides is no amount"
[[given]]
name = "ids"
value = [[1, 0]]
[[given]]
name = "table"
value = [[1, 2], [3, 4]]
[[given]]
name = "keep"
value = [[1, 0], [1, 1]]
[[given]]
name = "row_of_zeros"
value = [[1, 2], [0, 0]]
[[given]]
name = "smooth"
value = [[0.5, -1]]
[[step]]
name = "X"
op = "embed"
of = ["ids", "table"]
[[step]]
name = "M"
op = "mask"
of = ["X", "keep"]
[[step]]
name = "shares"
op = "normalise"
of = ["row_of_zeros"]
[[step]]
name = "g"
op = "gelu"
of = ["smooth"]
form = "erf"
"""


def differing(found, wanted):
    """Those of the first and those of the second that are not the same."""
    pairs = [(a, b) for a, b in zip(found, wanted, strict=True) if a != b]
    return [a for a, _ in pairs], [b for _, b in pairs]


class Following(report.Report):
    def change(self, cell, number):
        return self.browser.run(TYPE, cell, str(number))

    # X of cat is (2, 0, 0, 3); W_Q of head 1 has 1 for "thing" in its first column: Q of cat begins
    # with 2 · 1, and with 2 · -0.5 where that is -0.5.
    def a_number_is_changed_with_keys_alone(self):
        self.browser.look(1280)
        self.open(self.write("two-heads"))
        before = self.browser.run(MATRICES), self.browser.run(WORKED)
        self.browser.run("arguments[0].focus()", self.cell("W_Q, head 1", 1, 1))
        self.browser.press("Enter", *"-0.5", "Enter")
        seen = self.panel()
        self.expect("the given number", seen["lines"], ["= −0.5 (changed; given: 1)"])
        self.expect("the focus is back on it", seen["focus"], "−0.5")
        self.browser.run("arguments[0].click()", self.cell("Q, head 1", 3, 1))
        self.expect("Q of cat", self.panel()["lines"][-2:], ["= −1 + 0 + 0 + 0", "= −1"])
        command = "qkv run two-heads --set 'W_Q[head 1,thing,1]=-0.5'"
        self.expect("the command", self.browser.run(BAR), command)
        sections = "return document.querySelectorAll('section:not([data-general])').length"
        self.expect("words are marked in each step",
                    self.browser.run(NOTES) >= self.browser.run(sections) > 10, True)
        self.browser.run("document.querySelectorAll('#changes button')[1].click()")
        for was, now in zip(before, (self.browser.run(MATRICES), self.browser.run(WORKED))):
            self.expect("as before", *differing(now, was))
        self.expect("nothing is marked", (self.browser.run(NOTES), self.browser.run(BAR)), (0, None))
        self.expect("complaints", self.browser.faults(), [])

    def the_slider_moves_the_number(self):
        self.browser.run("arguments[0].focus()", self.cell("W_Q, head 1", 1, 1))
        self.browser.press("Enter", "Tab", "ArrowRight")  # from 1, a hundredth of 2 further
        self.expect("one step of the slider", self.panel()["lines"],
                    ["= 1.02 (changed; given: 1)"])
        self.browser.press("Escape")
        self.expect("back on the cell", self.panel()["focus"], "1.02")

    def a_number_is_typed_as_on_paper(self):
        self.open(self.write("two-heads"))
        for text, number in (("1/4", "0.25"), ("0,5", "0.5"), ("80%", "0.8"), ("−1", "-1"), ("√4", "2"),
                             ("3/√4", "1.5"), (" 2e-1", "0.2"), ("-.5", "-0.5"), ("2√4", "4"), ("+3·√4", "6"),
                             ("3 / 2", "1.5")):
            self.change(self.cell("W_Q, head 1", 1, 1), text)
            self.expect(text, self.browser.run(BAR), f"qkv run two-heads --set 'W_Q[head 1,thing,1]={number}'")
        before = self.browser.run(BAR)
        for text in ("", "-", "1/", "1/0", "1,000.5", "0x10", "2;3", "half", "1 2", "√", "2√", "1/2%"):
            _, fault = self.change(self.cell("W_Q, head 1", 1, 1), text)
            self.expect(text, ("not a number yet" in fault, self.browser.run(BAR)), (True, before))

    def what_follows_is_what_set_makes_of_it(self):
        chance = random.Random(7)
        followed = []
        for lesson in report.LESSONS:
            self.open(self.write(lesson, "--digits", digits := chance.choice([2, 4, 6])))
            cells = self.browser.run(GIVEN_CELLS)
            if not cells:
                continue
            followed.append(lesson.stem)
            sets = []
            for number in (round(chance.uniform(-3, 3), 2), 0, chance.choice([-2, 7, 0.125])):
                name, fault = self.change(chance.choice(cells), number)
                self.expect(f"{lesson.stem}: {name} = {number}", fault, "")
                sets = [one for one in sets if not one.startswith(f"{name}=")]
                sets.append(f"{name}={number}")
            found = self.browser.run(MATRICES), self.browser.run(WORKED)
            changes = [word for one in sets for word in ("--set", one)]
            self.open(self.write(lesson, "--digits", digits, *changes))
            self.expect(f"{lesson.stem} with {sets}",
                        *differing(found[0], self.browser.run(MATRICES)))
            told = dict(map(tuple, ((cell, lines) for cell, lines in self.browser.run(WORKED))))
            self.expect(f"{lesson.stem}: worked cells", [
                (cell, lines) for cell, lines in found[1] if told.get(cell, lines) != lines], [])
        self.expect("most lessons of hand-work size follow", len(followed) >= 10, True)

    def where_the_page_cannot_follow_it_offers_nothing(self):
        lesson = self.folder / "decides.toml"
        lesson.write_text(DECIDES, encoding="utf-8")
        self.open(self.write(lesson))
        self.expect("ids, masks, rows of zeros and erf decide", self.browser.run(OFFERED), ["table"])
        self.browser.run("arguments[0].focus()", self.cell("ids", 1, 1))
        self.expect("no field", self.browser.run(SHOWN, ".change"), False)
        self.open(self.write("multi-head-512"))
        self.expect("a large lesson", self.browser.run(OFFERED), [])
        self.open(self.write("two-heads", "--digits", 12))
        self.browser.run("arguments[0].focus()", self.cell("W_Q, head 1", 1, 1))
        self.expect("too many decimals", self.browser.run(SHOWN, ".change"), False)

    # 1 + -1 is nothing to divide by.
    def what_divides_by_zero_is_refused(self):
        lesson = self.folder / "divides.toml"
        lesson.write_text(DIVIDES, encoding="utf-8")
        self.open(self.write(lesson))
        before = self.browser.run(MATRICES)
        _, fault = self.change(self.cell("A (2×2)", 1, 2), -1)
        self.expect("the reason", "divided by zero" in fault, True)
        self.expect("all as before", self.browser.run(MATRICES), before)
        self.change(self.cell("A (2×2)", 1, 2), 1)  # 1 of 1 + 1
        self.expect("shares", self.browser.run(MATRICES)[1][1], ["1 ", "0.5 p8", "0.5 p8"])

    def what_is_changed_can_be_read(self):
        page = self.write("two-heads")
        for dark in (False, True):
            self.browser.look(400, 800, dark=dark)
            self.open(page)
            self.change(self.cell("W_Q, head 1", 1, 1), 0.5)
            least, where = self.browser.run(report.CONTRAST)
            self.expect(f"contrast of {least:.2f} at {where}", least >= 4.5, True)
            self.expect("as wide as a phone",
                        self.browser.run("return document.documentElement.scrollWidth"), 400)


TESTS = [
    Following.a_number_is_changed_with_keys_alone,
    Following.the_slider_moves_the_number,
    Following.a_number_is_typed_as_on_paper,
    Following.what_follows_is_what_set_makes_of_it,
    Following.where_the_page_cannot_follow_it_offers_nothing,
    Following.what_divides_by_zero_is_refused,
    Following.what_is_changed_can_be_read,
]

if __name__ == "__main__":
    sys.exit(report.main(sys.argv[1:], Following, TESTS))
