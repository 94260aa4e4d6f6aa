"""The wrong versions of attention in tiles, of a loss and of a step, worked by NumPy."""

import math

import numpy as np
from operations import normalise, power, row_max, row_sum


def of_running_max(case):
    if len(case.operands) > 1:
        yield "flash.max-not-updated", case.operands[0]


def old_weights(case, name):
    """What a tile's weights would be by the maximum before it: one version or none."""
    weights = case.lesson.find(name)
    top = case.lesson.find(weights.of[1])
    if top is not None and len(top.of) > 1:
        yield power(case.values[weights.of[0]], case.values[top.of[0]])


def of_tile_weights(case):
    s, m = case.operands
    yield from (("flash.max-not-updated", x) for x in old_weights(case, case.step.name))
    yield "flash.normalised-each-tile", normalise(case.right)
    yield "softmax.base-2", power(s, m, 2.0)


def of_running(kind):
    """The sum, or the output, which goes on from what was before."""
    def versions(case):
        if len(case.operands) < 3:
            return
        before, m_old, m, p, *v = case.operands
        made = lambda weights: weights @ v[0] if v else row_sum(weights)
        factor, tile = power(m_old, m), made(p)
        yield f"flash.{kind}-not-rescaled", before + tile
        yield "flash.rescaled-twice", factor ** 2 * before + tile
        with np.errstate(over="ignore", invalid="ignore"):
            yield "flash.rescaled-backwards", np.exp(m - m_old) * before + tile
        if v:
            yield "flash.normalised-each-tile", factor * before + made(normalise(p))
        for weights in old_weights(case, case.step.of[3]):
            yield "flash.max-not-updated", before + made(weights)
    return versions


def of_log_sum_exp(case):
    if len(case.operands) > 1:
        m, total = case.operands
    else:
        m = row_max(case.operands[0])
        total = row_sum(power(case.operands[0], m))
    with np.errstate(divide="ignore"):
        yield "flash.lse-base-2", m + np.log2(total)
        yield "flash.lse-without-max", np.log(total)


def of_merge(case):
    o_1, l_1, o_2, l_2 = case.operands
    yield "flash.plain-average", (o_1 + o_2) / 2
    yield "flash.rescaled-backwards", case.again(o_1, l_2, o_2, l_1)
    yield "flash.not-divided", np.exp(l_1) * o_1 + np.exp(l_2) * o_2


def of_cross_entropy(case):
    yield "cross-entropy.no-minus", -case.right
    yield "cross-entropy.base-2", case.right / math.log(2)
    if case.step.options.get("reduction", "mean") == "mean":
        yield "cross-entropy.sum", case.right * case.operands[0].shape[-2]


def of_gradient_step(case):
    w, d_w = case.operands
    yield "gradient-step.sign", w + case.step.options["rate"] * d_w
    yield "gradient-step.rate", w - d_w


MISTAKES = {"running_max": of_running_max, "tile_weights": of_tile_weights,
            "running_sum": of_running("sum"), "running_output": of_running("output"),
            "log_sum_exp": of_log_sum_exp, "merge": of_merge,
            "cross_entropy": of_cross_entropy, "gradient_step": of_gradient_step}
