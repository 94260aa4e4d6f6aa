"""What is done to scores beside scaling and hiding them, by NumPy alone: caps, distances, sinks."""

import math

import numpy as np


def softcap(s, cap):
    return cap * np.tanh(s / cap)


def paper_slopes(heads):
    """The slopes of Press, Smith and Lewis (2022): a geometric sequence where the heads are a power
    of two, else that of the next lower one and every other of twice as many."""
    if math.log2(heads).is_integer():
        start = 2 ** (-8 / heads)
        return [start ** (k + 1) for k in range(heads)]
    lower = 2 ** math.floor(math.log2(heads))
    return paper_slopes(lower) + paper_slopes(2 * lower)[0::2][:heads - lower]


def distances(n, m, align="end"):
    query = np.arange(n) + (max(m - n, 0) if align == "end" else 0)
    return np.abs(query[:, None] - np.arange(m)[None, :])


def alibi(s, slopes=None, align="end"):
    heads = s.shape[-3] if s.ndim > 2 else 1
    slopes = np.array(paper_slopes(heads) if slopes is None else slopes).reshape(heads, 1, 1)
    penalty = slopes * distances(*s.shape[-2:], align)
    return s - (penalty if s.ndim > 2 else penalty[0])


def bucket(distance, buckets, max_distance, bidirectional):
    """T5's: `distance` is the key's place less the query's."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    large = exact + int(math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact))
    return first + min(large, buckets - 1)


def relative_bias(s, table, max_distance=128, bidirectional=False):
    n, m = s.shape[-2:]
    places = [[bucket(j - (i + max(m - n, 0)), table.shape[0], max_distance, bidirectional)
               for j in range(m)] for i in range(n)]
    bias = np.moveaxis(table[np.array(places)], -1, 0)
    return s + (bias if s.ndim > 2 else bias[0])


def with_sinks(s, sinks, axis):
    """Softmax whose every line has one number more, which is then cut off."""
    s = s if axis == -1 else np.swapaxes(s, -1, -2)
    column = np.broadcast_to(np.reshape(sinks, (-1, 1, 1)) if s.ndim > 2 else sinks, s.shape[:-1] + (1,))
    powers = np.exp(np.concatenate([s, column], axis=-1))
    weights = (powers / powers.sum(-1, keepdims=True))[..., :-1]
    return weights if axis == -1 else np.swapaxes(weights, -1, -2)
