"""What a peer does for the same work, as a program of its own: peers.py WORK LIBRARY ARGUMENT…

It prints "inner SECONDS", the time without its imports. Everything that it makes on the way is
kept, as qkv keeps it, and numbers are float64.
"""

import sys
import time


def attention(directory, n, d, h):
    """The output, and everything on the way by name."""
    import numpy as np

    x, *weights = (np.load(f"{directory}/{name}.npy") for name in ("X", "W_Q", "W_K", "W_V", "W_O"))
    mask = np.triu(np.ones((n, n), dtype=bool), 1)
    q, k, v = ((x @ w).reshape(n, h, d // h).transpose(1, 0, 2) for w in weights[:3])
    scores = q @ k.transpose(0, 2, 1)
    scaled = scores / np.sqrt(d // h)
    masked = np.where(mask, -np.inf, scaled)
    shares = masked - masked.max(-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(-1, keepdims=True)
    context = shares @ v
    concat = context.transpose(1, 0, 2).reshape(n, d)
    output = concat @ weights[3]
    return output, {"Q": q, "K": k, "V": v, "scores": scores, "scaled_scores": scaled,
                    "masked_scores": masked, "attention_weights": shares, "context": context,
                    "concat": concat, "output": output}


def attention_numpy(directory, n, d, h):
    import numpy  # noqa: F401  (before the clock starts)

    start = time.perf_counter()
    output, kept = attention(directory, n, d, h)
    print(output, len(kept))
    return start


def lean_numpy(directory, n, d, h, out):
    """The output alone: what is on the way is worked out in place."""
    import numpy as np

    start = time.perf_counter()
    x, *weights = (np.load(f"{directory}/{name}.npy") for name in ("X", "W_Q", "W_K", "W_V", "W_O"))
    mask = np.triu(np.ones((n, n), dtype=bool), 1)
    q, k, v = ((x @ w).reshape(n, h, d // h).transpose(1, 0, 2) for w in weights[:3])
    shares = q @ k.transpose(0, 2, 1)
    shares /= np.sqrt(d // h)
    shares[:, mask] = -np.inf
    shares -= shares.max(-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(-1, keepdims=True)
    np.save(out, (shares @ v).transpose(1, 0, 2).reshape(n, d) @ weights[3])
    return start


def attention_torch(directory, n, d, h):
    import numpy as np
    import torch

    start = time.perf_counter()
    names = ("X", "W_Q", "W_K", "W_V", "W_O")
    x, *weights = (torch.from_numpy(np.load(f"{directory}/{name}.npy")) for name in names)
    mask = torch.ones(n, n, dtype=torch.bool).triu(1)
    q, k, v = ((x @ w).reshape(n, h, d // h).transpose(0, 1) for w in weights[:3])
    scores = q @ k.transpose(1, 2)
    scaled = scores / (d // h) ** 0.5
    masked = scaled.masked_fill(mask, float("-inf"))
    kept = torch.softmax(masked, -1)
    context = kept @ v
    concat = context.transpose(0, 1).reshape(n, d)
    output = concat @ weights[3]
    print(output, len((scores, scaled, masked, kept, context, concat)))
    return start


def both_ways_torch(directory, n, d, h):
    """The same with the gradient of every step and weight, each kept."""
    import numpy as np
    import torch

    start = time.perf_counter()
    names = ("X", "W_Q", "W_K", "W_V", "W_O")
    x, *weights = (torch.from_numpy(np.load(f"{directory}/{name}.npy")).requires_grad_()
                   for name in names)
    mask = torch.ones(n, n, dtype=torch.bool).triu(1)
    kept = []

    def keep(step):
        step.retain_grad()
        kept.append(step)
        return step

    q, k, v = (keep(keep(x @ w).reshape(n, h, d // h).transpose(0, 1)) for w in weights[:3])
    scaled = keep(keep(q @ k.transpose(1, 2)) / (d // h) ** 0.5)
    shares = keep(torch.softmax(keep(scaled.masked_fill(mask, float("-inf"))), -1))
    concat = keep(keep(shares @ v).transpose(0, 1).reshape(n, d))
    output = keep(concat @ weights[3])
    output.backward(torch.from_numpy(np.load(f"{directory}/d_output.npy")))
    print(x.grad, len(kept))
    return start


def safetensors(path):
    """Every tensor of the file in float64, by name."""
    import json
    import struct

    import numpy as np

    data = np.memmap(path, np.uint8, "r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = data[begin:end].view("<f4").reshape(entry["shape"])
        yield name, array.astype(np.float64)


def gpt2_numpy(path, n, heads, layers, whole, out):
    import numpy as np

    start = time.perf_counter()
    w = dict(safetensors(path))
    kept = []

    def keep(array):
        kept.append(array)
        return array

    def norm(x, name):
        shifted = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((shifted**2).mean(-1, keepdims=True) + 1e-5)
        return keep(shifted / spread * w[name + ".weight"] + w[name + ".bias"])

    def linear(x, name):
        return keep(x @ w[name + ".weight"] + w[name + ".bias"])

    ids = np.arange(n) * 7
    x = keep(keep(w["wte.weight"][ids]) + w["wpe.weight"][:n])
    mask = np.triu(np.ones((n, n), dtype=bool), 1)
    for layer in range(layers):
        own = f"h.{layer}."
        parts = np.split(linear(norm(x, own + "ln_1"), own + "attn.c_attn"), 3, axis=-1)
        q, k, v = (part.reshape(n, heads, -1).transpose(1, 0, 2) for part in parts)
        scores = keep(q @ k.transpose(0, 2, 1))
        scaled = keep(scores / np.sqrt(q.shape[-1]))
        masked = keep(np.where(mask, -np.inf, scaled))
        shares = masked - masked.max(-1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(-1, keepdims=True)
        context = keep(keep(shares) @ v)
        joined = keep(context.transpose(1, 0, 2).reshape(n, -1))
        x = keep(x + linear(joined, own + "attn.c_proj"))
        inside = linear(norm(x, own + "ln_2"), own + "mlp.c_fc")
        raised = np.tanh(np.sqrt(2 / np.pi) * (inside + 0.044715 * inside * inside * inside))
        x = keep(x + linear(keep(0.5 * inside * (1 + raised)), own + "mlp.c_proj"))
    last = norm(x, "ln_f")
    if whole:
        logits = keep(last @ w["wte.weight"].T)
        raised = np.exp(logits - logits.max(-1, keepdims=True))
        last = keep(raised / raised.sum(-1, keepdims=True))[-1]
    np.save(out, last)
    return start


def gpt2_torch(path, n, heads, layers, whole, out):
    import numpy as np
    import torch
    import torch.nn.functional as F

    start = time.perf_counter()
    w = {name: torch.from_numpy(array) for name, array in safetensors(path)}
    kept = []

    def keep(tensor):
        kept.append(tensor)
        return tensor

    def norm(x, name):
        return keep(F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"]))

    def linear(x, name):
        return keep(torch.addmm(w[name + ".bias"], x, w[name + ".weight"]))

    ids = torch.arange(n) * 7
    x = keep(keep(w["wte.weight"][ids]) + w["wpe.weight"][:n])
    mask = torch.ones(n, n, dtype=torch.bool).triu(1)
    for layer in range(layers):
        own = f"h.{layer}."
        parts = linear(norm(x, own + "ln_1"), own + "attn.c_attn").chunk(3, -1)
        q, k, v = (part.reshape(n, heads, -1).transpose(0, 1) for part in parts)
        scores = keep(q @ k.transpose(1, 2))
        masked = keep(keep(scores / q.shape[-1] ** 0.5).masked_fill(mask, float("-inf")))
        context = keep(keep(torch.softmax(masked, -1)) @ v)
        joined = keep(context.transpose(0, 1).reshape(n, -1))
        x = keep(x + linear(joined, own + "attn.c_proj"))
        inside = linear(norm(x, own + "ln_2"), own + "mlp.c_fc")
        x = keep(x + linear(keep(F.gelu(inside, approximate="tanh")), own + "mlp.c_proj"))
    last = norm(x, "ln_f")
    if whole:
        last = keep(torch.softmax(keep(last @ w["wte.weight"].T), -1))[-1]
    np.save(out, last.numpy())
    return start


def write_numpy(form, matrix, out):
    import numpy as np

    start = time.perf_counter()
    numbers = np.load(matrix)
    if form == "npy":
        np.save(out, numbers)
    else:
        np.savetxt(out, numbers, fmt="%.17g", delimiter=",")
    return start


def write_pandas(form, matrix, out):
    import numpy as np
    import pandas

    start = time.perf_counter()
    pandas.DataFrame(np.load(matrix)).to_csv(out, header=False, index=False)
    return start


def read_numpy(form, path):
    import numpy as np

    start = time.perf_counter()
    np.load(path) if form == "npy" else np.loadtxt(path, delimiter=",")
    return start


def read_pandas(form, path):
    import pandas

    start = time.perf_counter()
    pandas.read_csv(path, header=None, float_precision="round_trip").to_numpy()
    return start


def cell_numpy(directory):
    """One cell by hand: a row of X times a column of W_Q."""
    import numpy as np

    start = time.perf_counter()
    print(np.load(f"{directory}/X.npy")[899] @ np.load(f"{directory}/W_Q.npy")[:, 4])
    return start


def check_numpy(directory, n, d, h, handed_in):
    """Whether the weights handed in are the right ones."""
    import numpy as np

    start = time.perf_counter()
    x, w_q, w_k = (np.load(f"{directory}/{name}.npy") for name in ("X", "W_Q", "W_K"))
    q, k = ((x @ w).reshape(n, h, d // h).transpose(1, 0, 2) for w in (w_q, w_k))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // h)
    scores[:, np.triu(np.ones((n, n), dtype=bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    assert np.allclose(np.load(handed_in), weights)
    return start


def page_numpy(directory, n, d, h, out):
    """The same steps, each as JSON in one page."""
    import json

    start = time.perf_counter()
    _, kept = attention(directory, n, d, h)
    arrays = json.dumps({name: array.tolist() for name, array in kept.items()})
    with open(f"{out}.html", "w", encoding="ascii") as page:
        page.write(f"<script>const steps = {arrays};</script>")
    return start


def main():
    work, library, *arguments = sys.argv[1:]
    arguments = [int(word) if word.isdigit() else word for word in arguments]
    start = globals()[f"{work}_{library}"](*arguments)
    print(f"inner {time.perf_counter() - start}")


main()
