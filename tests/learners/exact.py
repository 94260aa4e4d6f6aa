"""Sheets in which one cell with nothing to round is off by one in its last place: all are wrong;
the same sheets without it are not.

Usage: exact.py QKV [--seed N] [--sheets N]   The numbers are worked out in fractions, and so is how
many decimals each product, quotient and sum takes.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np


def decimals(x):
    """How many decimals the number has; many where it never ends."""
    for places in range(9):
        if (x * 10 ** places).denominator == 1:
            return places
    return 99


class Cell:
    """A number as a fraction, and the most decimals that its arithmetic takes; `known` is false
    where something before it was rounded."""

    def __init__(self, value, places=0, known=True):
        self.value, self.places, self.known = Fraction(value), places, known

    def needs(self):
        return max(self.places, decimals(self.value))


def dot(row, column):
    total = Cell(0)
    for a, b in zip(row, column):
        product = a.value * b.value
        value = total.value + product
        total = Cell(value, max(total.places, a.places, b.places, decimals(product), decimals(value)),
                     total.known and a.known and b.known)
    return total


def product(a, b):
    return [[dot(row, column) for column in zip(*b)] for row in a]


def divided(m, by):
    if by is None:  # by a root that never ends
        return [[Cell(0, known=False) for _ in row] for row in m]
    return [[Cell(c.value / by, max(c.places, decimals(c.value / by)), c.known) for c in row] for row in m]


class Sheet:
    """A lesson of whole numbers and halves, worked by hand with a few decimals."""

    def __init__(self, rng):
        self.rng = rng
        self.n, d_model = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        self.d_k = int(rng.choice([1, 2, 4]))
        step = Fraction(1, int(rng.choice([1, 2, 4, 10])))
        draw = lambda r, c: [[Cell(int(rng.integers(-4, 5)) * step) for _ in range(c)] for _ in range(r)]
        self.X, self.W_Q, self.W_K = draw(self.n, d_model), draw(d_model, self.d_k), draw(d_model, self.d_k)
        self.places = int(rng.integers(1, 3))
        names = ["Q", "K", "scores", "scaled_scores"]
        self.handed = [n for n in names if rng.random() < 0.7] or ["scores"]
        self.work()

    def lesson(self):
        text = 'title = "exact"\nsummary = "s"\nsource = "drawn"\n'
        for name in ("X", "W_Q", "W_K"):
            value = [[float(c.value) for c in row] for row in getattr(self, name)]
            text += f'[[given]]\nname = "{name}"\nvalue = {value}\n'
        for name, op, of in (("Q", "project", ["X", "W_Q"]), ("K", "project", ["X", "W_K"]),
                             ("scores", "score", ["Q", "K"]), ("scaled_scores", "scale", ["scores"])):
            text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n'
        return text

    def settle(self, name, cells):
        """What is handed in is exact where it needs no more decimals than are written."""
        self.due[name] = cells
        here = self.places if name in self.handed else None
        self.exact[name] = [[c.known and (here is None or c.needs() <= here) for c in row] for row in cells]
        self.real[name] = [[float(c.value) for c in row] for row in cells]
        if here is None:
            return cells
        # A cell that was written enters what follows afresh.
        return [[Cell(c.value, 0, c.known and c.needs() <= here) for c in row] for row in cells]

    def work(self):
        self.due, self.exact, self.real = {}, {}, {}
        q = self.settle("Q", product(self.X, self.W_Q))
        k = self.settle("K", product(self.X, self.W_K))
        scores = self.settle("scores", product(q, [list(c) for c in zip(*k)]))
        root = {1: 1, 4: 2}.get(self.d_k)
        self.settle("scaled_scores", divided(scores, root))
        real = np.array(self.real["scores"]) / np.sqrt(self.d_k)
        self.real["scaled_scores"] = real.tolist()

    def exact_cells(self):
        return [(n, r, c) for n in self.handed for r, row in enumerate(self.exact[n])
                for c, is_exact in enumerate(row) if is_exact]

    def write(self, folder, wrong=None):
        os.makedirs(folder)
        for name in self.handed:
            rows = []
            for r, row in enumerate(self.real[name]):
                texts = []
                for c, x in enumerate(row):
                    off = 10.0 ** -self.places * self.sign if (name, r, c) == wrong else 0
                    texts.append(f"{round(x, 9) + off:.{self.places}f}")
                rows.append(",".join(texts))
            with open(f"{folder}/{name}.csv", "w", encoding="utf-8") as file:
                file.write("\n".join(rows) + "\n")


def check(args, lesson, folder):
    run = subprocess.run([args.qkv, "check", lesson, folder, "--json"], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sheets", type=int, default=40)
    args = parser.parse_args()
    tried, faults = 0, []
    # Numbers that all round to 0 or 0.01: whether the queries were scaled before cannot be seen.
    sheets = itertools.chain([[8815, 370], [8815, 505]], ([args.seed, n] for n in itertools.count(1)))
    with tempfile.TemporaryDirectory(prefix="qkv-exact-") as folder:
        while tried < args.sheets:
            seed = next(sheets)
            number = "{}-{}".format(*seed)
            sheet = Sheet(np.random.default_rng(seed))
            cells = sheet.exact_cells()
            if not cells:
                continue
            tried += 1
            wrong = cells[sheet.rng.integers(len(cells))]
            sheet.sign = int(sheet.rng.choice([-1, 1]))
            lesson = f"{folder}/{number}.toml"
            with open(lesson, "w", encoding="utf-8") as file:
                file.write(sheet.lesson())
            sheet.write(f"{folder}/{number}-clean")
            sheet.write(f"{folder}/{number}-off", wrong)
            clean = check(args, lesson, f"{folder}/{number}-clean")
            off = check(args, lesson, f"{folder}/{number}-off")
            if clean["first_wrong"]:
                faults.append(f"sheet {number}: clean, but {clean['first_wrong']} is called wrong")
            if off["first_wrong"] != wrong[0]:
                faults.append(f"sheet {number}: {wrong} with {sheet.places} decimals of {sheet.handed}: "
                              f"{off['first_wrong']} is called wrong")
    print("\n".join(faults[:20]))
    print(f"{tried} sheets with an exact cell off by one, and clean: {len(faults) or 'no'} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
