"""What a check owes a learner: the step at which the mistake shows, if it must."""

import math

import numpy as np

from .lesson import compute

INF = math.inf


class Due:
    """What can be told from a learner's submission."""

    def __init__(self, learner):
        self.learner = learner
        self.lesson, self.written, self.units = learner.lesson, learner.written, learner.units
        self.radii = {}

    def radius(self, name):
        """How far the rounding so far can move a step's cells, to first order, not the own unit."""
        step = self.lesson.find(name)
        if step is None:
            return np.zeros_like(self.learner.own[name])
        if name not in self.radii:
            operands = [self.written[n].copy() for n in step.of]
            centre = compute(self.lesson, step, self.written, operands)
            self.radii[name] = sum((self.moved(step, centre, operands, k)
                                    for k in range(len(operands))), np.zeros_like(centre))
        return self.radii[name]

    def moved(self, step, centre, operands, k):
        """How far the rounding of one operand moves the step."""
        total = np.zeros_like(centre)
        width = self.input_radius(step.of[k])
        for at in zip(*np.nonzero(width)):
            x = operands[k][at]
            if not np.isfinite(x):
                continue
            most = np.zeros_like(centre)
            for sign in (1, -1):
                operands[k][at] = x + sign * width[at]
                y = compute(self.lesson, step, self.written, operands)
                most = np.maximum(most, np.where(y == centre, 0, np.abs(y - centre)))
            operands[k][at] = x
            total += np.nan_to_num(most, posinf=INF)
        return total

    def input_radius(self, name):
        if name not in self.units or name in self.lesson.givens:
            return np.zeros_like(self.learner.own[name])
        if name in self.learner.handed and not self.learner.blanks:
            return self.units[name]
        return self.radius(name) + self.units[name]

    def may_be_columns(self):
        """Whether a matrix on its side is all that there is to see: then tokens may be columns."""
        handed = [n for n in sorted(self.learner.handed)
                  if n in self.written and min(self.written[n].shape[-2:]) > 1
                  and self.written[n].ndim >= 2]
        return len(handed) <= 2 and self.learner.id in ("slip.transposed", "score.swapped")

    def shows_at(self):
        """The step at which the mistake shows, or None where it may be hidden."""
        learner = self.learner
        if self.may_be_columns():
            return None
        if learner.at in self.lesson.givens:
            return learner.at
        if learner.misshapen:
            return learner.misshapen
        if learner.at in learner.handed:
            honest = compute(self.lesson, self.lesson.find(learner.at), self.written)
            return learner.at if self.differs(learner.at, honest) else None
        return self.shows_after({learner.at})

    def shows_after(self, unseen):
        """The first step handed in that what was not seen leads to."""
        names = [s.name for s in self.lesson.steps]
        for name in names[names.index(self.learner.at) + 1:]:
            if not unseen & set(self.lesson.find(name).of):
                continue
            if name in self.learner.handed:
                return name if self.differs(name, self.through_unseen(name)) else None
            unseen.add(name)
        return None

    def through_unseen(self, name):
        """The step from the handed numbers, what was not handed in worked honestly."""
        values = dict(self.written)
        for step in self.lesson.steps:
            if step.name not in self.learner.handed or step.name == name:
                values[step.name] = compute(self.lesson, step, values)
            if step.name == name:
                return values[name]
        return None

    def differs(self, name, honest):
        """Whether the numbers differ from honest ones, and from the right ones, by more than all
        rounding can cause."""
        x = self.written[name]
        seen = ~self.learner.blank.get(name, np.zeros(x.shape, bool))
        apart = lambda y: np.where(x == y, 0, np.nan_to_num(np.abs(x - y), nan=INF, posinf=INF))
        margin = 2 * self.units[name] + 1.5 * self.radius(name)
        return bool((seen & (apart(honest) > margin) &
                     (apart(self.learner.truth[name]) > 2 * self.units[name])).any())
