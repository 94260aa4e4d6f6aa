"""The operations of lessons by NumPy alone: the second opinion of all tests that need one.

Each takes its operands and the options that a lesson file writes, with tokens as rows and axes named
as in a lesson in rows. Where a learner's wrong version differs in one detail, that is an option more.
Nothing here comes from the program.
"""

import math

import numpy as np
from biases import alibi, relative_bias, softcap, with_sinks
from rotary import rope

HIDDEN = -np.inf


def turned(a):
    """The last two axes exchanged; a vector stays as it is."""
    return np.swapaxes(a, -1, -2) if a.ndim > 1 else a


def matrix(a):
    """A vector as one row."""
    return a[np.newaxis, :] if a.ndim == 1 else a


def along(axis):
    """NumPy's axis for lines that are "rows" or "columns"."""
    return {"rows": -1, "columns": -2}[axis]


def embed(ids, table):
    return table[ids.astype(int)]


def sinusoidal(n, width, base=10000.0, first=0, exponent=None, swapped=False, halves=False):
    """The positions' waves, position by position: a sine and a cosine for each wave length."""
    table = np.zeros((n, width))
    sines = (width + 1) // 2 if halves else 0
    for p in range(n):
        for j in range(width):
            cosine, pair = (j >= sines, j % sines) if halves else (j % 2 == 1, j // 2)
            power = 2 * pair if exponent is None else exponent(j)
            angle = (p + first) / base ** (power / width)
            table[p, j] = math.cos(angle) if cosine != swapped else math.sin(angle)
    return table


def positions(e, table=None, method="sinusoidal", base=10000.0):
    n, width = e.shape[-2:]
    return table[:n] if method == "learned" else sinusoidal(n, width, base)


def add(a, b):
    return a + b


def project(x, w, b=None, layout="in-out"):
    product = matrix(x) @ (turned(w) if layout == "out-in" else w)
    return product if b is None else product + b


def split_heads(a, heads, axis="columns"):
    rows, columns = a.shape[-2:]
    if axis == "rows":
        return a.reshape(*a.shape[:-2], heads, rows // heads, columns)
    return np.swapaxes(a.reshape(*a.shape[:-2], rows, heads, columns // heads), -3, -2)


def concat_heads(*parts, heads=None):
    if len(parts) > 1:
        return np.concatenate(parts, axis=-1)
    if parts[0].ndim < 3:
        raise ValueError("nothing to join, there is no head axis")
    joined = np.swapaxes(parts[0], -3, -2)
    return joined.reshape(*joined.shape[:-2], -1)


def repeat_kv(k, times, dealt="in groups"):
    """`dealt` in turn is 1, 2, 1, 2; all the first; or tokens repeated, then counted off as heads."""
    if dealt == "tokens":
        longer = np.repeat(k, times, axis=-2)
        return longer.reshape(*k.shape[:-3], k.shape[-3] * times, *k.shape[-2:])
    heads = np.arange(k.shape[-3] * times)
    taken = {"in groups": heads // times, "in turn": heads % k.shape[-3], "first": 0 * heads}[dealt]
    return k[..., taken, :, :]


def for_heads_of(a, k, dealt="in groups"):
    """Keys or values with a head for each of a's, where these share them."""
    fewer = a.ndim > 2 and k.ndim > 2 and 1 < k.shape[-3] < a.shape[-3]
    return repeat_kv(k, a.shape[-3] // k.shape[-3], dealt) if fewer else k


def score(q, k):
    return matrix(q) @ turned(matrix(for_heads_of(q, k)))


def divisor(by, d_k):
    """What `by` means: a number, d_k, or the root of either."""
    if not isinstance(by, str):
        return float(by)
    is_root = by.startswith("sqrt(")
    inner = by[len("sqrt("):-1] if is_root else by
    number = d_k if inner == "d_k" else float(inner)
    return math.sqrt(number) if is_root else number


def scale(s, by="sqrt(d_k)", d_k=None):
    return s / divisor(by, d_k)


def seen_by_place(n, m, kind="causal", align="end", width=None, both=False, prefix=0, ahead=0):
    """Which keys a mask shows by where they stand; `ahead` shifts the queries."""
    query = (np.arange(n) + (max(m - n, 0) if align == "end" else 0) + ahead)[:, None]
    key = np.arange(m)[None, :]
    if kind == "sliding_window":
        return (key > query - width) & (key < query + (width if both else 1))
    return (key <= query) | (key < prefix)


def hidden(s, m=None, kind="causal", pad=0, **places):
    """Which scores a mask hides; `m` holds the ids of a padding mask, or a given one's 1 and 0."""
    if kind in ("causal", "sliding_window", "prefix"):
        away = ~seen_by_place(*s.shape[-2:], kind, **places)
    elif kind == "given":
        away = m == 0
    else:  # heads and queries stand between the batch and the keys
        away = (m == pad).reshape(*m.shape[:-1], *(1,) * (s.ndim - m.ndim), m.shape[-1])
    return np.broadcast_to(away, s.shape)


def mask(s, m=None, kind="causal", pad=0, **places):
    return np.where(hidden(s, m, kind, pad, **places), HIDDEN, s)


def softmax(x, sinks=None, axis="rows", base=math.e):
    if sinks is not None:
        return with_sinks(x, sinks, along(axis))
    top = np.max(x, axis=along(axis), keepdims=True)
    powers = np.power(base, x - np.where(np.isinf(top), 0, top))
    return normalise(np.where(np.isneginf(x), 0.0, powers), axis=axis)


def shift(x, axis="rows"):
    top = x.max(axis=along(axis), keepdims=True)
    return np.where(np.isneginf(x), -np.inf, x - np.where(np.isinf(top), 0, top))


def exp(x):
    return np.exp(x)


def normalise(x, sums=None, axis="rows"):
    """Shares of each line's sum, or of sums that are given; of a line of zeros, zeros."""
    total = x.sum(axis=along(axis), keepdims=True) if sums is None else sums
    unshared = np.where(x == 0, 0.0, np.inf).astype(x.dtype)
    return np.divide(x, total, out=unshared, where=total != 0)


def weighted_sum(a, v):
    return matrix(a) @ matrix(for_heads_of(a, v))


def sum_heads(a):
    return a.sum(axis=-3)


def switch_off(a, head):
    result = a.copy()
    result[..., head - 1, :, :] = 0
    return result


def layer_norm(x, gain=None, bias=None, eps=1e-5, axis="rows", less=0, divide="root"):
    """`less` is taken from the count that the variance is divided by; `divide` says by what."""
    axis = along(axis)
    mean = x.mean(axis=axis, keepdims=True)
    variance = ((x - mean) ** 2).sum(axis=axis, keepdims=True) / (x.shape[axis] - less)
    y = (x - mean) / {"root": np.sqrt(variance + eps), "variance": variance + eps,
                      "bare variance": variance, "root plus": np.sqrt(variance) + eps}[divide]
    y = y if gain is None else y * gain
    return y if bias is None else y + bias


def rms_norm(x, gain=None, eps=1e-5, unit_offset=False, axis="rows", centred=False, divide="root"):
    """`centred` subtracts the mean; `divide` says by what."""
    axis = along(axis)
    square = (x * x).mean(axis=axis, keepdims=True)
    total = (x * x).sum(axis=axis, keepdims=True)
    y = (x - x.mean(axis=axis, keepdims=True)) if centred else x
    y = y / {"root": np.sqrt(square + eps), "square": square + eps,
             "root plus": np.sqrt(square) + eps, "root of sum": np.sqrt(total + eps)}[divide]
    return y if gain is None else y * (1 + gain if unit_offset else gain)


ERF = np.vectorize(math.erf, otypes=[float])


def gelu(x, form="tanh"):
    if form == "erf":
        return 0.5 * x * (1 + ERF(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))  # 1 / (1 + e^(-x)), of which no x is too low


def silu(x):
    return x * sigmoid(x)


def multiply(a, b):
    return a * b


def append(past, new):
    leading = np.broadcast_shapes(past.shape[:-2], new.shape[:-2])
    parts = [np.broadcast_to(x, leading + x.shape[-2:]) for x in (matrix(past), matrix(new))]
    return np.concatenate(parts, axis=-2)


def take(a, rows=None, columns=None, heads=None):
    part = lambda span: slice(None) if span is None else slice(span[0] - 1, span[1])
    a = a if heads is None else a[..., part(heads), :, :]
    return matrix(a)[..., part(rows), part(columns)]


def row_max(x, axis="rows"):
    return x.max(axis=along(axis), keepdims=True)


def row_sum(x, axis="rows"):
    return x.sum(axis=along(axis), keepdims=True)


def row_mean(x, axis="rows"):
    return x.mean(axis=along(axis), keepdims=True)


def running_max(*before_and_s):
    *before, s = before_and_s
    return np.maximum(before[0], row_max(s)) if before else row_max(s)


def power(x, top, base=math.e):
    """base^(x - top), nothing where x is hidden, also where all is."""
    return np.where(np.isneginf(x), 0.0, np.power(base, x - np.where(np.isneginf(top), 0, top)))


def tile_weights(s, m):
    return power(s, m)


def running_sum(*of):
    if len(of) == 1:
        return row_sum(of[0])
    l, m_old, m, p = of
    return power(m_old, m) * l + row_sum(p)


def running_output(*of):
    if len(of) == 2:
        return of[0] @ of[1]
    o, m_old, m, p, v = of
    return power(m_old, m) * o + p @ v


def log_sum_exp(*of):
    top, total = of if len(of) == 2 else (row_max(of[0]), row_sum(power(of[0], row_max(of[0]))))
    with np.errstate(divide="ignore"):
        return top + np.log(total)


def merge(o_1, l_1, o_2, l_2):
    top = np.maximum(l_1, l_2)
    first, second = power(l_1, top), power(l_2, top)
    return normalise(first * o_1 + second * o_2, first + second)


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def cross_entropy(logits, targets, reduction="mean"):
    logs = log_softmax(logits)
    if targets.shape != logits.shape:
        ids = targets if targets.ndim < logits.ndim else targets[..., 0]
        targets = np.eye(logits.shape[-1])[ids.astype(int)]
    losses = -(targets * logs).sum(-1, keepdims=True)
    if reduction == "none":
        return losses
    return {"mean": np.mean, "sum": np.sum}[reduction](losses, axis=-2, keepdims=True)


def gradient_step(w, d_w, rate):
    return w - rate * d_w


def transpose(a):
    return turned(a)


def matmul(a, b):
    return matrix(a) @ matrix(b)


subtract, divide, maximum = np.subtract, np.divide, np.maximum
log, sqrt, tanh = np.log, np.sqrt, np.tanh

# A lesson's `op` is the function of that name.
OPERATIONS = {name: f for name, f in globals().items() if callable(f)}
