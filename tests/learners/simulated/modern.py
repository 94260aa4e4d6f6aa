"""The wrong versions of what newer models add to attention: (id, numbers), worked by NumPy: shared
heads, caches, windows, caps, distances and sinks.
"""

import math

import numpy as np
import operations
from operations import HIDDEN, for_heads_of, softmax

from .lesson import query_width

DEALT = {"gqa.tiled": "in turn", "gqa.first-only": "first", "gqa.tokens-repeated": "tokens"}


def of_groups(case):
    """Shared heads dealt out in another way."""
    first, shared = case.operands
    if for_heads_of(first, shared) is not shared:
        for mistake, dealt in DEALT.items():
            yield mistake, case.again(first, for_heads_of(first, shared, dealt))


def of_repeat_kv(case):
    for mistake, dealt in DEALT.items():
        yield mistake, operations.repeat_kv(*case.operands, case.step.options["times"], dealt)
    yield "gqa.tokens-repeated", np.repeat(*case.operands, case.step.options["times"], axis=-2)


def of_places(scores, options, first):
    """Keys seen by place, but other ones."""
    seen = lambda **changes: np.where(
        operations.seen_by_place(*scores.shape[-2:], **{**options, **changes}), scores, HIDDEN)
    if options["kind"] == "sliding_window":
        for width in {max(options["width"] - 1, 1), options["width"] + 1} - {options["width"]}:
            yield "window.off-by-one", seen(width=width)
        if not options.get("both"):
            yield "window.no-causal", seen(both=True)
            yield "window.skipped", seen(kind="causal")
    if first:
        yield "cache.masked-first-row", seen(align="start")


def of_sinks(case):
    """A number that joins each row's sum: left out, scaled, or kept as a column."""
    x, sinks = case.operands
    kept = 1 - case.right.sum(-1, keepdims=True)
    yield "sink.skipped", softmax(x)
    yield "sink.scaled", case.again(x, sinks / math.sqrt(query_width(case.lesson, case.step, case.values)))
    yield "sink.in-values", np.concatenate([case.right, kept], axis=-1)
    yield "sink.in-values", np.concatenate([kept, case.right], axis=-1)


def of_softcap(case):
    x, = case.operands
    cap = case.step.options["cap"]
    yield "softcap.skipped", x
    yield "softcap.clipped", np.clip(x, -cap, cap)
    for later in case.lesson.steps:
        if later.op == "mask" and later.of[0] == case.step.name:
            away = operations.hidden(case.right, *(case.values[n] for n in later.of[1:]), **later.options)
            yield "softcap.after-mask", np.where(away, -cap, case.right)


def of_alibi(case):
    x, = case.operands[:1]
    heads = x.shape[-3] if x.ndim > 2 else 1
    align = case.step.options.get("align", "end")
    yield "alibi.sign", 2 * x - case.right
    counted = np.arange(heads)
    yield "alibi.slopes", operations.alibi(x, np.ones(heads), align)
    if len(case.operands) == 1:
        yield "alibi.slopes", operations.alibi(x, 2.0 ** (-8 * counted / heads), align)


def of_append(case):
    past, right = case.operands[0], case.right
    before = right[..., [0, *range(right.shape[-2] - 1)], :]
    new = np.arange(right.shape[-2])[:, None] >= past.shape[-2]
    yield "cache.stale", before
    yield "cache.stale", np.where(new, before, right)
    yield "cache.not-appended", np.where(new, 0, right)
    yield "cache.not-appended", past
