"""The wrong versions of rotary positions that learners compute: (id, numbers), worked by NumPy."""

import math

import numpy as np
from operations import concat_heads, rope, split_heads

PAIRINGS = {"interleaved": "halves", "halves": "interleaved"}


def of_rope(operands, options):
    x = operands[0]
    other = PAIRINGS[options.get("pairing", "interleaved")]
    wrong = lambda **changes: rope(*operands, **{**options, **changes})
    yield "rope.pairing", wrong(pairing=other)
    yield "rope.mixed-layout", wrong(table=other)
    yield "rope.sign", wrong(times=-1.0)
    yield "rope.sin-cos-swapped", wrong(swapped=True)
    yield "rope.degrees", wrong(times=math.pi / 180)
    yield "rope.degrees", wrong(times=180 / math.pi)
    yield "rope.skipped", np.broadcast_to(x, wrong().shape).copy()
    yield "rope.twice", rope(wrong(), *operands[1:], **options)
    if options.get("width", x.shape[-1]) < x.shape[-1] and len(operands) == 1:
        yield "rope.width", wrong(width=x.shape[-1])
    if len(operands) == 1:
        yield from of_angles(x, options, wrong)


def of_angles(x, options, wrong):
    """What may be wrong about the angles, where they are not given."""
    first = options.get("first", 0)
    yield "rope.offset", wrong(first=first + 1)
    yield "rope.offset", wrong(first=first - 1)
    base, width = options.get("base", 10000.0), options.get("width", x.shape[-1])
    pairs = np.arange(width // 2)
    for power in (pairs, 4 * pairs, 2 * pairs + 2):
        yield "rope.exponent", wrong(speeds=lambda own, e=power - 2 * pairs: own * base ** (-e / width))
    for instead in (10000.0, 500000.0, 1000000.0):
        if instead != base:
            yield "rope.base", wrong(base=instead)
    if options.get("scaling", "none") != "none":
        plain = 1 / base ** (2 * pairs / width)
        yield "rope.scaling", wrong(speeds=lambda own: plain)
        yield "rope.scaling", wrong(speeds=lambda own: plain * plain / own)
    if x.ndim > 2 and x.shape[-3] > 1:
        heads = x.shape[-3]
        joined = concat_heads(x)
        yield "rope.before-split", split_heads(rope(joined, **{**options, "width": joined.shape[-1]}), heads)
    if first:
        yield "cache.position-restarted", wrong(first=0)
