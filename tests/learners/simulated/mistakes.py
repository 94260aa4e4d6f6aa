"""The wrong versions of each operation that learners compute: (id, numbers), worked by NumPy.

The same id may come several times, once for each version; a version's shape may be another one.
"""

import math

import numpy as np
import operations
from operations import (HIDDEN, for_heads_of, gelu, layer_norm, normalise, relu, rms_norm, sigmoid, silu, sinusoidal,
                        softmax, turned)

from . import backward, modern, rotary, tile_mistakes
from .lesson import behind, chain, compute, divisor, hidden_cells, query_width


class Case:
    """A step of a lesson, with the numbers that it is worked from."""

    def __init__(self, lesson, step, values):
        self.lesson, self.step, self.values = lesson, step, values
        self.operands = [values[n] for n in step.of]
        self.right = compute(lesson, step, values)

    def again(self, *operands):
        """The step worked from other operands."""
        return compute(self.lesson, self.step, self.values, list(operands))

    def behind(self, name, op):
        return behind(self.lesson, name, op)

    def without(self, op):
        """The step if the nearest `op` before it had been left out: one version or none."""
        links = []
        for link in chain(self.lesson, self.step):
            if link.op == op:
                return [self.along(links, self.values[link.of[0]])] if links else []
            if link.op == "score":
                return []
            links.append(link)
        return []

    def along(self, links, first):
        """The links of a chain worked again, from another first operand."""
        for link in reversed(links):
            operands = [first] + [self.values[n] for n in link.of[1:]]
            first = compute(self.lesson, link, self.values, operands)
        return first


def of_project(case):
    x, w, *bias = case.operands
    if w.shape[-1] == w.shape[-2]:
        yield "project.transposed-weight", case.again(x, turned(w), *bias)
    for other in case.lesson.weights:
        if other != case.step.of[1] and case.lesson.givens[other].shape == w.shape:
            yield "project.wrong-weight", case.again(x, case.values[other], *bias)
    if bias:
        yield "project.missing-bias", case.again(x, w)
    if case.right.shape[:-2] != x.shape[:-2]:  # one product for all heads, cut without the transpose
        *batch, h, n, d = case.right.shape
        joined = np.swapaxes(case.right, -2, -3)
        yield "heads.interleaved", joined.reshape(case.right.shape)
        yield "heads.interleaved", np.moveaxis(joined.reshape(*batch, n, d, h), -1, -3)
        if w.ndim == 3 and w.shape[-2] == h * d:  # the square weight of all heads, transposed
            fused = np.concatenate(list(w), axis=-1).T
            yield "project.transposed-weight", case.again(x, np.stack(np.split(fused, h, axis=-1)), *bias)
    if case.behind(case.step.of[0], "weighted_sum"):
        yield "output.skipped", x


def of_score(case):
    q, shared = case.operands
    k = for_heads_of(q, shared)
    if q.shape[-1] == k.shape[-2]:
        yield "score.not-transposed", q @ k
    yield "score.swapped", k @ turned(q)
    yield from modern.of_groups(case)
    made = [case.behind(name, "project") for name in case.step.of]
    if all(made):
        scores = case.values[made[0].of[0]] @ turned(case.values[made[1].of[0]])
        yield "score.unprojected", np.broadcast_to(scores, case.right.shape).copy()
        if scores.shape != case.right.shape:
            yield "score.unprojected", scores


def of_scale(case):
    scores, = case.operands
    yield "scale.skipped", scores
    yield "scale.by-d", scores / query_width(case.lesson, case.step, case.values)
    queries = case.behind(case.behind(case.step.name, "score").of[0], "project")
    if queries:
        yield "scale.by-sqrt-d-model", scores / math.sqrt(case.values[queries.of[0]].shape[-1])
    yield "scale.multiplied", scores * divisor(case.lesson, case.step, case.values)


def of_mask(case):
    scores = case.operands[0]
    away = hidden_cells(case.step, case.values)
    n, m = scores.shape[-2:]
    kind, options = case.step.options["kind"], case.step.options
    by_place = kind in ("causal", "sliding_window", "prefix")
    first = max(m - n, 0) if by_place and options.get("align", "end") == "end" else 0
    own = np.arange(m)[None, :] == np.arange(n)[:, None] + first
    yield "mask.skipped", scores
    yield "mask.zero", np.where(away, 0, scores)
    capped = case.lesson.find(case.step.of[0])
    if capped is not None and capped.op == "softcap":
        yield "softcap.after-mask", np.where(away, -capped.options["cap"], scores)
    if kind == "causal":
        yield "mask.wrong-triangle", np.where(np.tril(np.ones((n, m), bool), first - 1), HIDDEN, scores)
    yield "mask.diagonal", np.where(away | own, HIDDEN, scores)
    yield "mask.added", np.where(away, scores, scores + 1)
    yield "mask.added", np.where(away, scores + 1, scores)
    yield "mask.inverted", np.where(away, scores, HIDDEN)
    if by_place:
        yield from modern.of_places(scores, options, first)


def shown_as_zero(scores):
    """Scores without minus infinity, as they stand on paper where no e is raised to them."""
    return np.where(np.isneginf(scores), 0, scores)


def whole(powers):
    return powers / powers.sum(axis=(-1, -2), keepdims=True)


def of_softmax(case):
    x, *sinks = case.operands
    if sinks:
        yield from modern.of_sinks(case)
    powers = np.exp(x)
    top = x.max(-1)
    yield "softmax.columns", softmax(x, *sinks, axis="columns")
    yield "softmax.whole", whole(powers)
    yield "softmax.no-exp", normalise(shown_as_zero(x))
    yield "softmax.not-normalised", powers
    yield "softmax.not-normalised", np.exp(x - np.where(np.isinf(top), 0, top)[..., None])
    if not sinks:
        yield "softmax.base-2", softmax(x, base=2.0)
    yield from of_scores_before(case)


def of_exp(case):
    x, = case.operands
    yield "softmax.base-2", np.exp2(x)
    yield "softmax.no-exp", shown_as_zero(x)
    yield from of_scores_before(case)


def of_normalise(case):
    if len(case.operands) > 1:
        yield "flash.not-divided", case.operands[0]
        return
    x, = case.operands
    scores = case.values[case.behind(case.step.of[0], "exp").of[0]]
    yield "softmax.columns", normalise(x, axis="columns")
    yield "softmax.whole", whole(x)
    yield "softmax.not-normalised", x
    yield "softmax.no-exp", normalise(shown_as_zero(scores))
    yield "softmax.base-2", normalise(np.exp2(scores))
    yield from of_scores_before(case)


def of_scores_before(case):
    """What was forgotten before softmax."""
    yield from (("softmax.unscaled", x) for x in case.without("scale"))
    unmasked = case.without("mask")
    yield from (("softmax.unmasked", x) for x in unmasked)
    mask = case.behind(case.step.name, "mask")
    if mask and case.step.op != "exp":
        away = np.isneginf(case.values[mask.name])
        yield from (("softmax.mask-after", np.where(away, 0, x)) for x in unmasked)


def of_weighted_sum(case):
    weights, v = case.operands
    yield from modern.of_groups(case)
    v = for_heads_of(weights, v)
    scores = case.behind(case.step.of[0], "score")
    if weights.shape[-1] == weights.shape[-2]:
        yield "weighted-sum.transposed", turned(weights) @ v
    made = case.behind(case.step.of[0], "softmax")
    if made and len(made.of) > 1:
        kept = 1 - weights.sum(-1, keepdims=True)
        for row in (v[..., :1, :], v[..., -1:, :]):
            yield "sink.in-values", weights @ v + kept * row
    yield "weighted-sum.keys", weights @ for_heads_of(weights, case.values[scores.of[1]])
    made = case.behind(case.step.of[1], "project")
    if made:
        yield "weighted-sum.embeddings", weights @ case.values[made.of[0]]
    keys = case.behind(scores.of[1], "rope")
    if keys and keys.options.get("width", 0) <= v.shape[-1] and v.shape[-1] % 2 == 0:
        yield "rope.values-too", weights @ compute(case.lesson, keys, case.values, [v])
    for link in chain(case.lesson, case.lesson.find(case.step.of[0]))[1:]:
        if np.isfinite(case.values[link.name]).all():
            yield "weighted-sum.scores", case.values[link.name] @ v
        if link is scores:
            break


def of_split_heads(case):
    x, = case.operands
    heads = case.step.options["heads"]
    dealt = np.swapaxes(x.reshape(x.shape[:-1] + (x.shape[-1] // heads, heads)), -1, -2)
    yield "heads.interleaved", np.swapaxes(dealt, -2, -3)
    if case.step.options.get("axis", "columns") == "columns":
        yield "heads.interleaved", x.reshape(case.right.shape)  # without the transpose
    yield "heads.reversed", case.right[..., ::-1, :, :]


def of_concat_heads(case):
    x = case.operands[0]
    shape = case.right.shape
    yield "heads.interleaved", np.moveaxis(x, -3, -1).reshape(shape)
    yield "heads.interleaved", x.reshape(shape)  # without the transpose
    yield "heads.reversed", np.swapaxes(x[..., ::-1, :, :], -2, -3).reshape(shape)
    yield "heads.summed", x.sum(axis=-3)
    yield "heads.averaged", x.mean(axis=-3)


def of_sum_heads(case):
    yield "heads.averaged", case.operands[0].mean(axis=-3)


def of_add(case):
    for x in case.operands:
        yield "add.skipped", np.broadcast_to(x, case.right.shape).copy()


def of_positions(case):
    n, width = case.right.shape
    base = case.step.options.get("base", 10000.0)
    if len(case.operands) > 1:
        if case.operands[1].shape[0] > n:
            yield "positions.from-one", case.operands[1][1:n + 1]
        return
    yield "positions.from-one", sinusoidal(n, width, base, first=1)
    yield "positions.sin-cos-swapped", sinusoidal(n, width, base, swapped=True)
    for share in (lambda j: j // 2, lambda j: 4 * (j // 2), lambda j: j, lambda j: 2 * j):
        yield "positions.exponent", sinusoidal(n, width, base, exponent=share)
    yield "positions.halves", sinusoidal(n, width, base, halves=True)


def skipped_norm(case):
    """The norm of queries or keys; the norm of a whole token has no such name."""
    if case.operands[0].ndim > 2:
        yield "qk-norm.skipped", case.operands[0]


def of_layer_norm(case):
    x, gain, bias = case.operands
    eps = case.step.options.get("eps", 1e-5)
    if x.shape[-1] > 1:
        yield "layer-norm.sample-variance", layer_norm(x, gain, bias, eps, less=1)
    yield from skipped_norm(case)
    yield "layer-norm.columns", layer_norm(x, gain, bias, eps, axis="columns")
    yield "layer-norm.no-gain", layer_norm(x, None, bias, eps)
    yield "layer-norm.no-gain", layer_norm(x, None, None, eps)
    for divide in ("variance", "root plus", "bare variance"):
        yield "layer-norm.standard-deviation", layer_norm(x, gain, bias, eps, divide=divide)


def of_rms_norm(case):
    x, gain = case.operands
    eps = case.step.options.get("eps", 1e-5)
    offset = case.step.options.get("unit_offset", False)
    yield "rms-norm.mean-subtracted", rms_norm(x - x.mean(-1, keepdims=True), gain, eps, offset)
    yield "rms-norm.mean-subtracted", rms_norm(x, gain, eps, offset, centred=True)
    yield "rms-norm.no-gain", rms_norm(x, None, eps)
    yield "rms-norm.unit-offset", rms_norm(x, gain, eps, not offset)
    for other in (1e-5, 1e-6):
        if other != eps:
            yield "rms-norm.eps", rms_norm(x, gain, other, offset)
    yield "rms-norm.eps", rms_norm(x, gain, eps, offset, divide="root plus")
    yield from skipped_norm(case)
    yield "rms-norm.sum", rms_norm(x, gain, eps, offset, divide="root of sum")
    yield "rms-norm.squared", rms_norm(x, gain, eps, offset, divide="square")
    yield "rms-norm.columns", rms_norm(x, gain, eps, offset, axis="columns")


def other_gates(x):
    """What is taken for SiLU."""
    yield "swiglu.sigmoid", sigmoid(x)
    yield "swiglu.relu", relu(x)
    yield from (("swiglu.gelu", gelu(x, form)) for form in ("tanh", "erf"))


def of_gate(step, x):
    """The function of a gate: SiLU, or a form of GELU."""
    return silu(x) if step.op == "silu" else gelu(x, step.options.get("form", "tanh"))


def of_function(case):
    x, = case.operands
    if case.step.op == "silu":
        yield from other_gates(x)
    else:
        others = [relu(x), silu(x), *(gelu(x, form) for form in ("tanh", "erf"))]
        yield from (("activation.other", other) for other in others if not np.array_equal(other, case.right))
    for later in case.lesson.steps:
        if later.op == "multiply" and case.step.name in later.of:
            up, = (name for name in later.of if name != case.step.name)
            yield "swiglu.swapped", of_gate(case.step, case.values[up])


def of_multiply(case):
    a, b = case.operands
    yield "swiglu.added", a + b
    for name, up in zip(case.step.of, (b, a)):
        made = case.lesson.find(name)
        if made is None or made.op not in ("silu", "gelu"):
            continue
        gate = case.values[made.of[0]]
        yield "swiglu.swapped", gate * of_gate(made, up)
        yield "swiglu.no-silu", gate * up
        if made.op == "silu":
            yield "swiglu.of-product", silu(gate * up)
        yield from ((mistake, x * up) for mistake, x in other_gates(gate) if not np.array_equal(x * up, case.right))


def of_rope(case):
    options = case.step.options
    yield from rotary.of_rope(case.operands, options)
    for later in case.lesson.steps:
        kept = case.lesson.givens[later.of[0]].shape[-2] if later.op == "append" else 0
        if kept and kept != options.get("first", 0):
            yield "cache.evicted-position", operations.rope(*case.operands, **{**options, "first": kept})
    norms = [link for link in chain(case.lesson, case.step) if link.op in ("rms_norm", "layer_norm")]
    if norms and case.step.of[0] == norms[0].name:
        x = case.values[norms[0].of[0]]
        yield "qk-norm.skipped", case.again(x, *case.operands[1:])
        rest = [case.values[name] for name in norms[0].of[1:]]
        yield "qk-norm.after-rope", compute(case.lesson, norms[0], case.values,
                                            [case.again(x, *case.operands[1:]), *rest])


MISTAKES = {"softcap": modern.of_softcap, "alibi": modern.of_alibi, "append": modern.of_append,
            "project": of_project, "rope": of_rope, "repeat_kv": modern.of_repeat_kv, "score": of_score, "scale": of_scale, "mask": of_mask,
            "softmax": of_softmax, "exp": of_exp, "normalise": of_normalise,
            "weighted_sum": of_weighted_sum, "split_heads": of_split_heads,
            "concat_heads": of_concat_heads, "sum_heads": of_sum_heads, "add": of_add,
            "positions": of_positions, "layer_norm": of_layer_norm,
            "rms_norm": of_rms_norm, "silu": of_function, "gelu": of_function, "multiply": of_multiply,
            "backward": backward.mistakes, "sum_of_uses": backward.mistakes,
            **tile_mistakes.MISTAKES}


def mistakes_of(lesson, step, values):
    """All (id, numbers) that mistakes make of a step, in an order that stays."""
    case = Case(lesson, step, values)
    made = list(MISTAKES.get(step.op, lambda _: ())(case))
    if min(case.right.shape[-2:], default=1) > 1:  # one line may be written as a row or a column
        made.append(("slip.transposed", operations.turned(case.right)))
    made.append(("slip.sign", -case.right))
    made = [(mistake, np.asarray(x, float)) for mistake, x in made]
    return [(mistake, x) for mistake, x in made if is_written(x)]


def is_written(x):
    """Whether a learner could write these numbers down without wondering."""
    return x.size and not np.isnan(x).any() and np.where(np.isneginf(x), 0, np.abs(x)).max() < 1e7
