"""How far rounding can move a number, by trials as in src/check/judge/room.cpp, in NumPy alone.

A graph has `order` (names of steps), `of` (the operands of each that are steps) and
`work(name, operands)`. Nothing here is qkv's.
"""

import numpy as np

INFINITE = np.inf
LENIENT = 2.0  # a pass is a fault from so many rooms on: other random moves give another room


def largest(x):
    finite = np.abs(x[np.isfinite(x)])
    return float(finite.max()) if finite.size else 0.0


def unit_of_type(kind, right):
    """u of a binary array of a type, whose right numbers are these."""
    share = {"F64": 1e-12, "F32": 1e-6, "F16": 2.0 ** -10, "BF16": 2.0 ** -7}[kind]
    return share * (max(1.0, largest(right)) if kind in ("F64", "F32") else largest(right))


def unit_of_decimals(decimals, right):
    return max(10.0 ** -decimals, 1e-6 * max(1.0, largest(right)))


def coarsest_type(kind, array):
    """The type that all numbers of an array have, where that is coarser than its own."""
    a = np.where(np.isfinite(array), array, 0)
    if kind == "F64" and (a.astype("f4") == a).all():
        kind = "F32"
    if kind == "F32" and not (a.astype("f4").view("u4") & 0xffff).any():
        kind = "BF16"
    return kind


def apart(a, b):
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0, np.nan_to_num(np.abs(a - b), nan=INFINITE, posinf=INFINITE))


class Room:
    """The rooms of one submission: {step: array} and {step: f(right numbers) -> unit}."""

    def __init__(self, graph, right, submitted, units, seed=0):
        self.graph, self.right, self.submitted, self.units = graph, right, submitted, units
        self.rng = np.random.default_rng(seed)

    def stretch(self, name):
        """The missing steps that lead to a step, in order, and the submitted ones they start from."""
        missing, sources, todo = set(), set(), list(self.graph.of[name])
        while todo:
            at = todo.pop()
            if at in self.submitted:
                sources.add(at)
            elif at not in missing:
                missing.add(at)
                todo += self.graph.of[at]
        return [n for n in self.graph.order if n in missing], sorted(sources)

    def worked(self, name, missing, values, move=lambda name, x: x):
        values = {n: move(n, x) for n, x in values.items()}
        for at in [*missing, name]:
            made = self.graph.work(at, [values[n] for n in self.graph.of[at]])
            values[at] = made if at == name else move(at, made)
        return values[name]

    def sources(self, names):
        return {n: self.submitted[n] for n in names}

    def from_own(self, name):
        """The step's numbers as they follow from the submitted ones before it."""
        missing, sources = self.stretch(name)
        return self.worked(name, missing, self.sources(sources))

    def unit(self, name, at=None):
        """The unit of a step, or of a missing step on the way to it."""
        at = at or name
        return self.units[at if at in self.submitted else name](self.right[at])

    def moves(self, name, trials):
        """How a trial moves a step's cells: at random, all up, all down, away from 0, towards it."""
        def fixed(x, direction):
            return direction if direction in (1, -1) else np.sign(x) * (1 if direction == 2 else -1)
        for direction in (1, -1, 2, -2):
            yield lambda at, x, d=direction: x + self.unit(name, at) * fixed(x, d)
        for _ in range(trials):
            yield lambda at, x: x + self.unit(name, at) * self.rng.uniform(-1, 1, x.shape)

    def trial_room(self, name, trials=32):
        """1 u and 4 times the root mean square of the moves, and at least the largest of them."""
        missing, sources = self.stretch(name)
        centre = self.worked(name, missing, self.sources(sources))
        moved = [apart(self.worked(name, missing, self.sources(sources), move), centre)
                 for move in self.moves(name, trials)]
        spread = 4 * np.sqrt(np.mean(np.square(moved), axis=0))
        return self.unit(name) + np.maximum(spread, np.max(moved, axis=0))

    def first_order(self, name):
        """Where all operands are there: the sum of what each of their cells can move, and 1 u."""
        missing, sources = self.stretch(name)
        if missing:
            return 0.0
        centre = self.worked(name, [], self.sources(sources))
        total = np.zeros_like(centre)
        for source in sources:
            x = self.submitted[source]
            for at in zip(*np.nonzero(np.isfinite(x))):
                near = x.copy()
                near[at] += self.unit(source)
                total += apart(self.worked(name, [], {**self.sources(sources), source: near}), centre)
        return self.unit(name) + total

    def faults(self, lenient=LENIENT):
        """(step, what, times the room) of the steps that no rule of rounding lets pass."""
        return [fault for name in self.graph.order if name in self.submitted
                for fault in self.faults_of(name, lenient)]

    def faults_of(self, name, lenient):
        given, unit = self.submitted[name], self.unit(name) * (1 + 1e-9)
        own = self.from_own(name)
        open_cells = (apart(given, self.right[name]) > unit) & (apart(given, own) > unit)
        if not open_cells.any():
            return
        room = np.broadcast_to(self.trial_room(name), given.shape)
        outside = open_cells & (apart(given, own) > lenient * room)
        if outside.any():
            room = np.maximum(room, 1.5 * self.first_order(name))
            outside = open_cells & (apart(given, own) > lenient * room)
        if outside.any():
            yield name, "outside the room", float((apart(given, own) / room)[outside].max())
            return
        wide = room > lenient * self.widest(name)
        if (open_cells & wide).any():
            yield name, "the room is too wide", float((room / unit)[open_cells & wide].max())

    def is_wide(self, name, lenient):
        """Whether the room leaves a cell open: from so many times the limit on."""
        given, unit = self.submitted[name], self.unit(name) * (1 + 1e-9)
        open_cells = (apart(given, self.right[name]) > unit) & \
            (apart(given, self.from_own(name)) > unit)
        return bool((open_cells & (self.trial_room(name) > lenient * self.widest(name))).any())

    def widest(self, name):
        """The room from which on rounding alone decides nothing."""
        return np.maximum(3 * self.unit(name), 0.1 * self.size_of_head(name))

    def size_of_head(self, name):
        """The root mean square of the right numbers, of each head."""
        right = np.where(np.isfinite(self.right[name]), self.right[name], np.nan)
        with np.errstate(invalid="ignore"):
            return np.sqrt(np.nanmean(np.square(right), axis=(-2, -1), keepdims=True))
