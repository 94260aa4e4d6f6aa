"""A peer's attention with rotary positions and shared keys, as a program of its own:

    grouped_peers.py LIBRARY DIRECTORY N WHOLE

It prints "inner SECONDS", the time without its imports. Everything on the way is kept, as qkv keeps
it, and keys that heads share are not copied where the library can do without. WHOLE (0 or 1): with
both norms, SwiGLU and both residuals.
"""

import sys
import time

KEY_HEADS, WIDTH = 8, 64


def numpy_angles(n):
    import numpy as np

    turns = np.outer(np.arange(n), 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH))
    return np.cos(turns), np.sin(turns)


def numpy_layer(directory, n, whole):
    import numpy as np

    def given(name):
        return np.load(f"{directory}/{name}.npy")

    kept = []

    def keep(array):
        kept.append(array)
        return array

    def norm(x, gain):
        return keep(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * given(gain))

    def heads(x):
        return x.reshape(n, -1, WIDTH).transpose(1, 0, 2)

    def turned(x):
        cosines, sines = numpy_angles(n)
        result = np.empty(x.shape)
        even, odd = x[..., 0::2], x[..., 1::2]
        result[..., 0::2] = even * cosines - odd * sines
        result[..., 1::2] = odd * cosines + even * sines
        return keep(result)

    x = given("X")
    inside = norm(x, "gain1") if whole else x
    q, k, v = (heads(keep(inside @ given(name))) for name in ("W_Q", "W_K", "W_V"))
    groups = turned(q).reshape(KEY_HEADS, -1, n, WIDTH)
    scores = keep(groups @ turned(k)[:, None].transpose(0, 1, 3, 2))
    scaled = keep(scores / np.sqrt(WIDTH))
    masked = keep(np.where(np.triu(np.ones((n, n), dtype=bool), 1), -np.inf, scaled))
    shares = keep(masked - masked.max(-1, keepdims=True))
    np.exp(shares, out=shares)
    shares /= shares.sum(-1, keepdims=True)
    context = keep(shares @ v[:, None])
    joined = keep(context.reshape(-1, n, WIDTH).transpose(1, 0, 2).reshape(n, -1))
    result = keep(joined @ given("W_O"))
    if whole:
        result = keep(x + result)
        inside = norm(result, "gain2")
        gate, up = keep(inside @ given("W_gate")), keep(inside @ given("W_up"))
        silu = keep(gate / (1 + np.exp(-gate)))
        result = keep(result + keep(keep(silu * up) @ given("W_down")))
    return result, kept


def torch_layer(directory, n, whole):
    import numpy as np
    import torch
    import torch.nn.functional as F

    def given(name):
        return torch.from_numpy(np.load(f"{directory}/{name}.npy"))

    kept = []

    def keep(tensor):
        kept.append(tensor)
        return tensor

    def norm(x, gain):
        return keep(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * given(gain))

    def heads(x):
        return x.reshape(n, -1, WIDTH).transpose(0, 1)

    def turned(x):
        cosines, sines = (torch.from_numpy(table) for table in numpy_angles(n))
        even, odd = x[..., 0::2], x[..., 1::2]
        pairs = (even * cosines - odd * sines, odd * cosines + even * sines)
        return keep(torch.stack(pairs, -1).flatten(-2))

    x = given("X")
    inside = norm(x, "gain1") if whole else x
    q, k, v = (heads(keep(inside @ given(name))) for name in ("W_Q", "W_K", "W_V"))
    groups = turned(q).reshape(KEY_HEADS, -1, n, WIDTH)
    scores = keep(groups @ turned(k)[:, None].transpose(2, 3))
    scaled = keep(scores / WIDTH**0.5)
    mask = torch.ones(n, n, dtype=torch.bool).triu(1)
    shares = keep(torch.softmax(keep(scaled.masked_fill(mask, float("-inf"))), -1))
    context = keep(shares @ v[:, None])
    joined = keep(context.reshape(-1, n, WIDTH).transpose(0, 1).reshape(n, -1))
    result = keep(joined @ given("W_O"))
    if whole:
        result = keep(x + result)
        inside = norm(result, "gain2")
        silu, up = keep(F.silu(keep(inside @ given("W_gate")))), keep(inside @ given("W_up"))
        result = keep(result + keep(keep(silu * up) @ given("W_down")))
    return result, kept


def main():
    library, directory, n, whole = sys.argv[1:]
    __import__(library)  # before the clock starts
    start = time.perf_counter()
    result, kept = globals()[f"{library}_layer"](directory, int(n), whole == "1")
    print(result, len(kept))
    print(f"inner {time.perf_counter() - start}")


main()
