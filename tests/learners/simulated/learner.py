"""One learner: works a lesson by hand, rounds, and makes at most one mistake."""

import math

import numpy as np
from operations import HIDDEN

from . import slips
from .lesson import compute, divisor
from .mistakes import mistakes_of
from .pen import Pen


class Learner:
    """One submission: its texts by name, and the numbers that they stand for."""

    def __init__(self, rng, lesson, truth, mistake, most_decimals=8):
        self.rng, self.lesson, self.truth = rng, lesson, truth
        self.pen = Pen(rng, most_decimals)
        self.mistake = mistake          # None, or (step name, id, version)
        self.id = mistake[1] if mistake else None
        self.at = mistake[0] if mistake else None
        self.raw, self.texts, self.own, self.written, self.units = {}, {}, {}, {}, {}
        self.blank = {}
        self.part = None
        self.convention = None
        self.misshapen = None
        if not mistake and not lesson.arriving and "scaled_scores" in truth and rng.random() < 0.12:
            self.convention = "scaled-queries"
        if rng.random() < 0.08 and lesson.convention == "rows":
            self.convention = self.convention or "columns"
        self.choose_steps()
        self.work()
        if self.pen.form.endswith(" rounded") and not self.shows_rounding():
            self.pen.keeps_all = True
            self.id = self.mistake[1] if self.mistake else None
            self.work()

    def is_stuck(self):
        """Whether the mistake leads to what has no number, such as the root of a negative one."""
        return any(np.isnan(x).any() for x in self.own.values())

    def choose_steps(self):
        """Which steps are handed in, and whether cells stay blank."""
        names = [s.name for s in self.lesson.steps]
        rng = self.rng
        everything = rng.random() < 0.5 or self.pen.form == "e" or self.convention
        # Who makes no mistake may hand in few steps: rounding is then seen through many missing ones.
        share = 0.6 if self.mistake else (0.1, 0.3, 0.6)[rng.integers(3)]
        self.handed = set(names) if everything else {n for n in names if rng.random() < share}
        hide = self.at and rng.random() < 0.2 and not everything
        if self.at in names and not hide:
            self.handed.add(self.at)
        if self.at in names and hide:
            self.handed.discard(self.at)
            self.handed |= set(names[names.index(self.at) + 1:])
        if self.at in self.lesson.givens:
            self.handed.add(self.at)
        if not self.handed & set(names):
            self.handed.add(names[-1])
        # In a binary array NaN is a number.
        self.blanks = rng.random() < 0.15 and self.pen.form != "e" and not self.pen.binary

    def shows_rounding(self):
        """Whether the numbers that are handed in show that a program rounded: halves and one single
        decimal may be by chance."""
        telling = set()
        for name in self.handed & set(self.raw):
            written = self.written[name]
            with np.errstate(invalid="ignore"):
                cut = np.abs(written - self.raw[name]) > 1e-2 * 10.0 ** -self.pen.decimals
                telling |= set(written[cut & (written * 2 ** self.pen.decimals % 1 != 0)])
        return len(telling) * self.pen.decimals > 1

    def scaled_at(self):
        """Where the scaling is done, for a learner who scales the queries."""
        if self.convention != "scaled-queries":
            return None
        score = next(s for s in self.lesson.steps if s.op == "score")
        places = [score.name]
        step = self.lesson.find(score.of[0])
        while step is not None and step.op in ("project", "split_heads"):
            places.append(step.name)
            step = self.lesson.find(step.of[0])
        return places[self.rng.integers(len(places))]

    def put_down(self, name, raw):
        """Writes a matrix; what the learner goes on with is `own`, what is on paper `written`."""
        texts = np.vectorize(self.pen.text, otypes=[object])(raw)
        value = lambda t: float(t) if t else math.nan
        # Beside whole numbers, three decimals are supposed of what was not handed in.
        drops_zeros = self.pen.form == "whole" or self.pen.form.endswith(" rounded") or self.pen.trimmed
        may_look_whole = self.pen.decimals < 3 and drops_zeros
        if name not in self.handed and may_look_whole:
            texts = np.vectorize(self.pen.in_full, otypes=[object])(raw)
        written = np.vectorize(value, otypes=[float])(texts)
        is_mask = np.isneginf(raw) & np.isfinite(written)
        taken = np.where(is_mask, HIDDEN, written)
        self.raw[name], self.texts[name], self.written[name] = raw, texts, taken
        self.own[name] = taken if self.pen.works_from_written else raw
        self.units[name] = self.pen.unit(np.where(is_mask, "0", texts))

    def work(self):
        for name, value in self.lesson.givens.items():
            self.own[name] = self.written[name] = value
            if self.at == name:
                self.miscopy(name, value)
        scaled_at = self.scaled_at()
        if scaled_at:
            scale = next(s for s in self.lesson.steps if s.op == "scale")
            self.by = divisor(self.lesson, scale, self.truth)
        for step in self.lesson.steps:
            self.put_down(step.name, self.worked(step, scaled_at))
            if self.misshapen:
                self.handed.add(step.name)
                self.handed = {n for n in self.handed if n in self.texts}
                return

    def worked(self, step, scaled_at):
        """The step's numbers before they are rounded, with the mistake where it is this step's."""
        honest = compute(self.lesson, step, self.own)
        if step.name == self.at:
            bad = self.mistaken(step, honest)
            if bad is None:
                self.id = None
                return honest
            if bad.shape != honest.shape:
                self.misshapen = step.name
            return bad
        if step.name == scaled_at:
            return honest / self.by
        return self.own[step.of[0]] if scaled_at and step.op == "scale" else honest

    def miscopy(self, name, value):
        at = tuple(self.rng.integers(s) for s in value.shape)
        change = slips.miscopied(self, value, at)
        if change is None:
            self.id = None
            return
        bad = value.copy()
        bad[at] = change
        self.texts[name] = np.vectorize(lambda v: repr(float(v)), otypes=[object])(bad)
        self.own[name] = self.written[name] = bad
        self.units[name] = np.full(value.shape, 1e-6)
        self.handed.add(name)

    def a_part(self, shape):
        """A random part of a matrix: the whole, a head, a row, a column or a cell."""
        mask = np.zeros(shape, bool)
        at = tuple(self.rng.integers(s) for s in shape)
        # Of a step that was not handed in, no cell or column alone can be told from what follows.
        kinds = ("whole", "whole", "whole", "head", "row", "column", "cell")
        self.part = kinds[self.rng.integers(7 if self.at in self.handed else 3)]
        places = {"whole": ..., "head": at[:-2], "row": at[:-1],
                  "column": at[:-2] + (slice(None), at[-1]), "cell": at}
        mask[places[self.part]] = True
        return mask

    def mistaken(self, step, honest):
        """The step's numbers with the mistake in them; None where it cannot be made here."""
        _, mistake, version = self.mistake
        if mistake.startswith("slip.") and step.name not in self.handed and \
                mistake not in ("slip.sign", "slip.transposed"):
            return None
        at = tuple(self.rng.integers(s) for s in honest.shape)
        if mistake in slips.OF_A_CELL:
            self.part = "cell"
            return slips.cell_slipped(self, step, honest, at)
        if mistake == "slip.rows-swapped":
            self.part = "rows"
            return slips.rows_swapped(self, honest, at)
        versions = [x for i, x in mistakes_of(self.lesson, step, self.own) if i == mistake]
        if version >= len(versions):
            return None
        bad = versions[version]
        if bad.shape != honest.shape or mistake == "slip.transposed":
            self.part = "whole"
            return bad
        return np.where(self.a_part(honest.shape), bad, honest)
