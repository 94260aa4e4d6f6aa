"""The way back of a lesson, as docs/lessons.md describes it: its steps in order, and each gradient by
differences, in the longest floating point that there is."""

import numpy as np

from errors import LessonError

# Operands that only name, count or hide.
NO_NUMBERS = {("embed", 0), ("mask", 1), ("positions", 0), ("cross_entropy", 1)}


def flows(step, k):
    return step["op"] != "tokenise" and (step["op"], k) not in NO_NUMBERS


class WayBack:
    """What [backward] lays out: for each gradient its uses, (step, operand), or what they add up to."""

    def __init__(self, table, givens, steps):
        self.steps = steps
        self.of, self.arriving = table.get("of"), dict(table.get("from", {}))
        wanted = table.get("wanted", givens)
        flowing = set(wanted)
        for step in steps:
            if any(flows(step, k) and name in flowing for k, name in enumerate(step.get("of", []))):
                flowing.add(step["name"])
        arrived = set(self.arriving) | ({self.of} if self.of else set())
        self.uses = {}
        for step in reversed(steps):
            if step["name"] not in arrived or step["name"] not in flowing:
                continue
            for k, name in enumerate(step.get("of", [])):
                if flows(step, k):
                    arrived.add(name)
                    self.uses.setdefault(name, []).insert(0, (step, k))
        names = [name for name in givens if name in wanted] + [step["name"] for step in steps]
        self.names = [name for name in reversed(names) if name in flowing and name in arrived]
        self.gradient_of = dict(self.arriving)

    def laid_out(self):
        """(name, what it is: the loss, a use, or the names that are added up)."""
        for name in self.names:
            own = f"d_{name}"
            uses = sorted(self.uses.get(name, []), key=lambda use: (self.steps.index(use[0]), use[1]))
            if name == self.of:
                yield own, "loss"
            elif len(uses) == 1 and name not in self.arriving:
                yield own, uses[0]
            elif uses:
                yield from self.several(name, own, uses)
            else:
                continue
            self.gradient_of[name] = own

    def several(self, name, own, uses):
        parts = [self.arriving[name]] if name in self.arriving else []
        for step, k in uses:
            alike = [other for other in uses if other[0] is step]
            number = f"_{alike.index((step, k)) + 1}" if len(alike) > 1 else ""
            parts.append(f"{own}_by_{step['name']}{number}")
            yield parts[-1], (step, k)
        yield own, parts


def gradient(compute, there, k, change):
    """How much all results of `compute`, each as often as `change` says, move with each number of
    operand k: central differences of four widths, put together (Richardson)."""
    there = [np.asarray(x, np.longdouble) for x in there]
    change = np.asarray(change, np.longdouble)
    found = np.zeros(there[k].shape, np.longdouble)
    for at in np.ndindex(there[k].shape):
        if np.isfinite(there[k][at]):
            found[at] = slope(lambda by: moved(compute, there, k, at, by), change)
    found = found if found.ndim > 1 else found[np.newaxis, :]
    return found.astype(float)


def moved(compute, there, k, at, by):
    operands = list(there)
    operands[k] = there[k].copy()
    operands[k][at] += by
    return np.asarray(compute(operands), np.longdouble)


def slope(of, change):
    """Cell by cell first, so that what does not move takes no digit from what does."""
    row = []
    for h in [np.longdouble(h) for h in (0.0004, 0.0002, 0.0001, 0.00005)]:
        above, below = of(h), of(-h)
        both = np.isfinite(above) & np.isfinite(below)
        by = (above[both] - below[both]) / (2 * h)
        row.append((by * np.broadcast_to(change, above.shape)[both]).sum())
    for power in (4, 16, 64):
        row = [(power * b - a) / (power - 1) for a, b in zip(row, row[1:])]
    return row[0]


def through(steps, step):
    """The step and operand that op = "backward" goes back through."""
    found = steps.get(step["through"])
    if not found or step["to"] not in found.get("of", []):
        raise LessonError(f"{step['name']}: {step['through']} is not made of {step['to']}")
    return found, found["of"].index(step["to"])
