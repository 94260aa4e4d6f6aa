#!/usr/bin/python3
"""The arithmetic that qkv prints can be followed on paper.

    printed_arithmetic.py QKV

Every "One cell" of every lesson, as the Markdown export prints it, and further cells drawn at random
from `explain`. Each line is parsed here, and each part of it that the next line replaces by a number
is worked out from its printed digits. After "=" the next line must have that number, rounded as it
is printed. A line after "≈" must have a part that differs, or an error function. The text and the
LaTeX of `explain` have the signs of its JSON, and `check` prints the same.
"""

import csv
import decimal
import functools
import json
import random
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(ROOT.glob("lessons/*.toml"))
DIGITS = 4
CELLS = 6  # of each lesson, from explain
PLANTED = 4  # wrong cells of each lesson
decimal.getcontext().prec = 40

TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?|inf|nan)|(?P<name>[a-z]+)|"
                   r"(?P<sign>[-−+·/^√(),]))")


class Parser:
    """A line as a tree: a number is its text, anything else (sign, parts)."""

    def __init__(self, line):
        self.tokens = []
        at = 0
        while at < len(line.rstrip()):
            found = TOKEN.match(line, at)
            if not found:
                raise ValueError(f"cannot read {line[at:]!r} of {line!r}")
            kind = found.lastgroup
            self.tokens.append((kind, found.group(kind).replace("-", "−") if kind == "sign"
                                else found.group(kind)))
            at = found.end()
        self.at = 0
        self.tree = self.sums()
        if self.at != len(self.tokens):
            raise ValueError(f"{line!r} goes on after its end")

    def next_is(self, *signs):
        return self.at < len(self.tokens) and self.tokens[self.at] in [("sign", s) for s in signs]

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def sums(self):
        left = self.products()
        while self.next_is("+", "−"):
            left = (self.take()[1], [left, self.products()])
        return left

    def products(self):
        left = self.signed()
        while self.next_is("·", "/"):
            left = (self.take()[1], [left, self.signed()])
        return left

    def signed(self):
        if self.next_is("−"):
            self.take()
            inside = self.signed()
            return "-" + inside if isinstance(inside, str) and inside[0] != "-" else ("~", [inside])
        return self.powers()

    def powers(self):
        base = self.atom()
        if self.next_is("^"):
            self.take()
            return ("exp", [self.powers()]) if base == "e" else ("^", [base, self.powers()])
        return base

    def atom(self):
        kind, text = self.take()
        if kind == "number":
            return text.replace(",", "")
        if kind == "name":
            if text == "e":
                return text
            return text, self.arguments()
        if text == "√":
            return "√", [self.atom()]
        if text == "(":
            inside = self.sums()
            self.take()
            return inside
        raise ValueError(f"{text!r} begins nothing")

    def arguments(self):
        self.take()
        parts = [self.sums()]
        while self.next_is(","):
            self.take()
            parts.append(self.sums())
        self.take()
        return parts


def sine(x):
    x %= 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097")
    total = term = x
    for k in range(1, 60):
        term *= -x * x / ((2 * k) * (2 * k + 1))
        total += term
    return total


def worth(tree):
    if isinstance(tree, str):
        return Decimal({"inf": "Infinity", "-inf": "-Infinity"}.get(tree, tree))
    sign, parts = tree
    x = [worth(part) for part in parts]
    match sign:
        case "+": return x[0] + x[1]
        case "−": return x[0] - x[1]
        case "·": return x[0] * x[1]
        case "/": return x[0] / x[1]
        case "~": return -x[0]
        case "^": return x[0] ** x[1]
        case "√": return x[0].sqrt()
        case "exp": return x[0].exp()
        case "ln": return x[0].ln()
        case "sin": return sine(x[0])
        case "cos": return sine(x[0] + Decimal("1.57079632679489661923132169163975144209858469968755"))
        case "tanh": return 1 - 2 / ((2 * x[0]).exp() + 1)
        case "max": return max(x)
    raise ValueError(f"what is {sign}?")


def has(tree, sign):
    return not isinstance(tree, str) and (tree[0] == sign or any(has(p, sign) for p in tree[1]))


def is_rounded_to(exact, text, digits):
    """True if the printed number is the exact one rounded: a half may go either way."""
    text = text.replace(",", "")
    printed = Decimal({"inf": "Infinity", "-inf": "-Infinity"}.get(text, text))
    if not exact.is_finite() or not printed.is_finite():
        return exact == printed
    unit = Decimal(10) ** -digits
    if "e" in text or abs(printed) >= 10**7:  # two figures fewer after the point, two at least
        unit = Decimal(10) ** (printed.adjusted() - max(2, digits - 2))
    return abs(exact - printed) <= unit / 2


def chain(tree, sign):
    """The terms of a + b − c, with a minus as ("~", [c]), or the factors of a product."""
    if isinstance(tree, str) or tree[0] not in ("+−" if sign == "+" else sign):
        return [tree]
    left, right = tree[1]
    return [*chain(left, sign), ("~", [right]) if tree[0] == "−" else right]


class Impossible(ValueError):
    pass


def differing(before, after, digits):
    """The parts of a line that the next one replaces by another number than theirs."""
    if isinstance(after, str):
        if before == after:
            return []
        exact = worth(before)
        return [] if is_rounded_to(exact, after, digits) else [(exact, after)]
    if isinstance(before, str):
        raise Impossible(f"{before} does not become {after}")
    for sign in "+·":
        if before[0] in ("+−" if sign == "+" else sign):
            return differing_chain(chain(before, sign), chain(after, sign), sign, digits)
    if before[0] != after[0] or len(before[1]) != len(after[1]):
        raise Impossible(f"{before} does not become {after}")
    return [off for one, two in zip(before[1], after[1]) for off in differing(one, two, digits)]


def differing_chain(ones, twos, sign, digits):
    """The same for a chain: a + (b + c) is printed as a + b + c, and becomes a + 5. Of the ways to
    group the terms, the one with the fewest differences."""
    @functools.lru_cache(None)
    def best(i, j):
        if j == len(twos):
            return () if i == len(ones) else None
        found = None
        for size in range(1, len(ones) - i - (len(twos) - j) + 2):
            rest = best(i + size, j + 1)
            if rest is None:
                continue
            tree = ones[i]
            for part in ones[i + 1:i + size]:
                tree = (sign, [tree, part])
            try:
                here = (*differing(tree, twos[j], digits), *rest) if size == 1 or isinstance(
                    twos[j], str) else None
            except Impossible:
                continue
            if here is not None and (found is None or len(here) < len(found)):
                found = here
        return found
    off = best(0, 0)
    if off is None:
        raise Impossible(f"{ones} do not become {twos}")
    return list(off)


def faults_of(lines, signs, digits=DIGITS):
    """What is wrong with lines of numbers, each after its sign."""
    faults = []
    for before, after, sign in zip(lines, lines[1:], signs[1:]):
        if "…" in before:
            continue
        one, two = Parser(before).tree, Parser(after).tree
        if has(one, "erf") and not has(two, "erf"):
            if sign != "≈":
                faults.append(f"an error function is looked up: {before} {sign} {after}")
            continue
        off = differing(one, two, digits)
        if sign == "=" and off:
            faults.append(f"{before} {sign} {after}: {off}")
        if sign == "≈" and not off and "5" not in before:  # a tie may go either way
            faults.append(f"{before} {sign} {after}: nothing differs")
    return faults


def run(program, *arguments):
    ran = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{arguments}: {ran.stderr}")
    return ran.stdout


def boxes(markdown):
    """The lines under each "One cell", as (sign, line)."""
    for block in re.findall(r"One cell:\n\n((?:    .*\n|```\n|[^\n`]*[=≈][^\n]*\n)+)", markdown):
        found = [re.fullmatch(r"\s*([=≈]) (.*)", line) for line in block.splitlines()]
        yield [(line[1], line[2].replace("−", "-")) for line in found if line]


def test_boxes(program, folder):
    faults, count, about = [], 0, 0
    for lesson in LESSONS:
        run(program, "export", lesson, "--format", "markdown", "-o", folder / lesson.stem)
        for box in boxes((folder / lesson.stem / "lesson.md").read_text(encoding="utf-8")):
            count += 1
            about += any(sign == "≈" for sign, _ in box)
            found = faults_of([line for _, line in box], [sign for sign, _ in box])
            faults += [f"{lesson.stem}: {fault}" for fault in found]
    if count < 400 or about < 40:
        faults.append(f"only {count} boxes, {about} of them with ≈")
    print(f"{count} boxes, {about} of them with ≈")
    return faults


def test_explained(program, folder):
    faults = []
    chance = random.Random(4)
    for lesson in LESSONS:
        manifest = folder / lesson.stem / "00-lesson.json"
        steps = json.loads(manifest.read_text(encoding="utf-8"))["steps"]
        for drawn in range(CELLS):
            step = chance.choice(steps)
            shape = step["shape"]
            if not all(shape):
                continue
            cell = f"{step['name']}[{','.join(str(chance.randint(1, n)) for n in shape)}]"
            digits = chance.choice([2, 3, 4, 6])
            told = json.loads(run(program, "explain", lesson, cell, "--json", "--digits", digits))
            lines, signs = told["arithmetic"], told["signs"]
            if len(signs) != len(lines):
                faults.append(f"{lesson.stem} {cell}: {len(lines)} lines, {len(signs)} signs")
            found = faults_of(lines[1:], signs[1:], digits)
            faults += [f"{lesson.stem} {cell}, {digits} digits: {fault}" for fault in found]
            if drawn > 1:
                continue
            found = []
            text = run(program, "explain", lesson, cell, "--digits", digits)
            if re.findall(r"(?m)^  ([=≈]) ", text) != signs[1:]:
                found.append("other signs in text")
            latex = run(program, "explain", lesson, cell, "--digits", digits, "--latex")
            if re.findall(r"(?m)&(=|\\approx)", latex) != [
                    "\\approx" if sign == "≈" else sign for sign in signs]:
                found.append("other signs in LaTeX")
            faults += [f"{lesson.stem} {cell}, {digits} digits: {fault}" for fault in found]
    return faults


def test_checked(program, folder):
    """The arithmetic of the first wrong cell, from the learner's own printed numbers."""
    faults, count, chance = [], 0, random.Random(5)
    for lesson in LESSONS:
        out = folder / f"check-{lesson.stem}"
        if sum(p.stat().st_size for p in lesson.parent.glob(lesson.name)) > 10**6:
            continue
        run(program, "export", lesson, "--digits", 3, "-o", out)
        (out / "00-lesson.json").unlink()
        paths = sorted(out.glob("[0-9]*.csv"))
        for path in chance.sample(paths, min(PLANTED, len(paths))):
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            if path.stat().st_size > 20_000 or rows[1][1] in ("-inf", "inf"):
                continue
            right = rows[1][1]
            rows[1][1] = str(round(float(right) + 777.123, 3))
            text = path.read_text(encoding="utf-8")
            with open(path, "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(rows)
            report = json.loads(run(program, "check", lesson, out, "--json"))
            path.write_text(text, encoding="utf-8")
            for step in report["steps"]:
                sum_ = (step.get("first") or {}).get("arithmetic")
                if not sum_ or "[" in sum_ or "…" in sum_:
                    continue
                line, sign, result = re.fullmatch(r"(.*) ([=≈]) (\S+)", sum_).groups()
                tree = Parser(line).tree
                if has(tree, "erf"):
                    continue
                count += 1
                same = is_rounded_to(worth(tree), result, step["digits"])
                if (sign == "=") != same and result != "0":
                    faults.append(f"{lesson.stem}: {sum_}: paper gives {worth(tree):.12}")
    if count < 40:
        faults.append(f"only {count} wrong cells")
    print(f"{count} wrong cells")
    return faults


def main(program):
    with tempfile.TemporaryDirectory() as temporary:
        faults = test_boxes(program, Path(temporary))
        faults += test_explained(program, Path(temporary))
        faults += test_checked(program, Path(temporary))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
