"""How a learner writes numbers down."""

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import numpy as np

MODES = {"half up": ROUND_HALF_UP, "half even": ROUND_HALF_EVEN, "truncate": ROUND_DOWN}


class Pen:
    """A form of numbers, so many decimals, and a way to round."""

    def __init__(self, rng, most_decimals=8):
        pick = lambda *options: options[rng.integers(len(options))]
        self.form = pick("decimals", "decimals", "decimals", "whole", "e", "npy64", "npy32",
                         "npy64 rounded", "npy32 rounded")
        self.mode = pick(*MODES)
        self.decimals = int(rng.integers(1, 9)) if rng.random() < 0.5 else int(rng.integers(2, 5))
        if most_decimals < 8:
            self.decimals = 1 + self.decimals % most_decimals
        self.trimmed = rng.random() < 0.3
        # Works from what is written, or keeps everything in the calculator and rounds on paper only.
        self.works_from_written = rng.random() < 0.8
        self.binary = self.form.startswith("npy")
        self.float32 = self.form.startswith("npy32")
        self.keeps_all = self.form in ("npy64", "npy32")
        if self.float32:
            self.decimals = min(self.decimals, 5)
        self.mask = pick("-inf", "-inf", "-1e9", "-1000", "-10000", "-1e30")

    def text(self, x):
        if math.isnan(x):
            return ""
        if math.isinf(x):
            return ("-inf" if x < 0 else "inf") if self.mask == "-inf" or x > 0 else self.mask
        if self.keeps_all:
            return repr(float(np.float32(x))) if self.float32 else repr(float(x))
        if self.form == "e":
            return f"{x:.{self.decimals}e}"
        if self.form == "whole" and abs(x - round(x)) < 1e-9:
            return str(int(round(x)))
        return self.rounded(x)

    def rounded(self, x):
        # By hand 0.1 + 0.2 is 0.3; what float32 makes of 1.56 is not cut to 1.559.
        value = Decimal(repr(round(float(x), 6 if self.float32 else 13)))
        text = str(value.quantize(Decimal(1).scaleb(-self.decimals), rounding=MODES[self.mode]))
        if "E" in text:
            text = f"{float(text):.{self.decimals}f}"
        if self.trimmed and "." in text:
            text = text.rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text

    def in_full(self, x):
        if not math.isfinite(x):
            return self.text(x)
        return repr(float(np.float32(x))) if self.float32 else repr(float(x))

    def unit(self, texts):
        """The unit of each cell by the rules of the check, at least."""
        finite = [abs(float(t)) for t in texts.flat if t and not math.isinf(float(t))]
        floor = (1e-12 if self.binary and not self.float32 else 1e-6) * max([1.0] + finite)
        if self.keeps_all:
            return np.full(texts.shape, floor)
        if self.form == "e":
            place = lambda t: 10.0 ** (int(t.split("e")[1]) - self.decimals) if "e" in t else 0
            return np.maximum(floor, np.vectorize(place, otypes=[float])(texts))
        decimals = max((len(t.partition(".")[2]) for t in texts.flat), default=0)
        # Whole numbers go by the others' decimals, or are exact: this is at least what is meant.
        return np.full(texts.shape, max(floor, 10.0 ** -(decimals or self.decimals)))
