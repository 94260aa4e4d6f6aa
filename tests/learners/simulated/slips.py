"""Slips of one cell or of two rows, which any step may have."""

import numpy as np


def dropped_term(rng, step, operands, right, at):
    """A cell with a term of its sum left out; None where it has no other."""
    i, j = at[-2:]
    lead = at[:-2]
    one = lambda x: np.broadcast_to(x, right.shape[:-2] + x.shape[-2:])[lead]
    left_out = lambda size: int(rng.integers(size))
    if step.op in ("project", "score", "weighted_sum"):
        x, w = one(operands[0]), one(operands[1])
        if step.op == "score" or step.options.get("layout") == "out-in":
            w = w.T
        k = left_out(x.shape[1])
        return right[at] - x[i, k] * w[k, j] if x.shape[1] > 1 else None
    if step.op == "softmax" or step.op == "normalise" and len(operands) == 1:
        x = one(operands[0])
        powers = np.exp(x - x.max(axis=-1, keepdims=True)) if step.op == "softmax" else x
        rest = powers[i].sum() - powers[i, left_out(x.shape[1])]
        return powers[i, j] / rest if rest != 0 else None
    if step.op == "sum_heads":
        return right[at] - operands[0][lead + (left_out(operands[0].shape[-3]), i, j)]
    return None


def swapped_digits(rng, text):
    """The number with two neighbouring digits exchanged; None where that changes nothing."""
    digits = [k for k, c in enumerate(text) if c.isdigit()]
    pairs = [(p, q) for p, q in zip(digits, digits[1:]) if text[p] != text[q]]
    if not pairs:
        return None
    p, q = pairs[rng.integers(len(pairs))]
    chars = list(text)
    chars[p], chars[q] = chars[q], chars[p]
    return float("".join(chars))


def swapped_in_cell(learner, step, honest, at):
    pen = learner.pen
    if not np.isfinite(honest[at]) or pen.keeps_all or pen.form == "e":
        return None
    return swapped_digits(learner.rng, pen.text(honest[at]))


def without_a_term(learner, step, honest, at):
    operands = [learner.own[n] for n in step.of]
    return dropped_term(learner.rng, step, operands, honest, at)


def shifted_point(learner, step, honest, at):
    return honest[at] * 10.0 ** learner.rng.choice([-3, -2, -1, 1, 2, 3])


def neighbour(learner, step, honest, at):
    down, along = ((0, 1), (0, -1), (1, 0), (-1, 0))[learner.rng.integers(4)]
    i, j = at[-2] + down, at[-1] + along
    inside = 0 <= i < honest.shape[-2] and 0 <= j < honest.shape[-1]
    return honest[at[:-2] + (i, j)] if inside else None


def noise(learner, step, honest, at):
    return honest[at] + float(learner.rng.normal(0, 1)) if np.isfinite(honest[at]) else None


# What stands in the slip's cell: f(learner, step, honest numbers, place), None where it can't be made.
OF_A_CELL = {"slip.digits-swapped": swapped_in_cell, "slip.neighbour": neighbour,
             "slip.decimal-point": shifted_point, "slip.dropped-term": without_a_term,
             "slip.noise": noise}
OF_A_STEP = ["slip.digits-swapped", "slip.neighbour", "slip.decimal-point", "slip.rows-swapped",
             "slip.dropped-term", "slip.noise"]
OF_A_GIVEN = ["slip.sign", "slip.decimal-point", "slip.digits-swapped"]


def cell_slipped(learner, step, honest, at):
    value = OF_A_CELL[learner.id](learner, step, honest, at)
    if value is None or not np.isfinite(value):
        return None
    bad = honest.copy()
    bad[at] = value
    return bad


def rows_swapped(learner, honest, at):
    k = int(learner.rng.integers(honest.shape[-2]))
    if k == at[-2]:
        return None
    bad = honest.copy()
    bad[at[:-1]], bad[at[:-2] + (k,)] = honest[at[:-2] + (k,)], honest[at[:-1]]
    return bad


def miscopied(learner, value, at):
    """A given's cell as it is miscopied; None where nobody would see it."""
    x = value[at]
    changed = {"slip.sign": -x, "slip.decimal-point": x * 10,
               "slip.digits-swapped": swapped_digits(learner.rng, repr(float(x)))}[learner.id]
    return None if changed is None or abs(changed - x) < 0.5 else changed
