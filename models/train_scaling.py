#!/usr/bin/python3
"""Trains one head of attention with the division by √d_k and without it, and records both losses.

    train_scaling.py             trains both, and writes scaling.json beside this script
    train_scaling.py --check     trains both, and compares the losses with scaling.json

The task is looking up. A text holds 16 pairs of a name and a value, in random order, and asks for
the value of one name. Name and value are rows of two tables of random numbers. The head compares
the name that is asked for with each name of the text, and mixes the values. All of its matrices are
drawn so that queries and keys have a spread of 1, as in the lesson why-scale; then they are trained
by plain gradient descent. Both runs start from the same numbers and see the same texts.
"""

import json
import platform
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

RECORD = Path(__file__).with_name("scaling.json")
SEED, STEPS, TEXTS, RATE = 0, 2000, 64, 0.1
NAMES = VALUES = 16
D_MODEL, D_K = 32, 256
RECORDED = [0, 100, 200, 400, 700, 1000, 1500, 2000]


def weights(generator):
    def draw(*shape, spread):
        return (torch.randn(*shape, generator=generator) * spread).requires_grad_()

    narrow = D_MODEL ** -0.5
    return {"names": draw(NAMES, D_MODEL, spread=1), "values": draw(VALUES, D_MODEL, spread=1),
            "W_Q": draw(D_MODEL, D_K, spread=narrow), "W_K": draw(D_MODEL, D_K, spread=narrow),
            "W_V": draw(D_MODEL, D_MODEL, spread=narrow), "W_words": draw(D_MODEL, VALUES, spread=narrow)}


def texts(generator):
    """The values of the names in each text, and the name that it asks for."""
    return (torch.randint(VALUES, (TEXTS, NAMES), generator=generator),
            torch.randint(NAMES, (TEXTS,), generator=generator))


def loss_of(w, values, asked, divisor):
    q = w["names"][asked] @ w["W_Q"]
    k = w["names"] @ w["W_K"]
    v = w["values"][values] @ w["W_V"]
    attention = F.softmax(q @ k.T / divisor, -1)
    context = torch.einsum("tn,tnd->td", attention, v)
    targets = values[torch.arange(TEXTS), asked]
    return F.cross_entropy(context @ w["W_words"], targets), attention


def trained(divisor):
    """The mean loss of new texts, and the mean of the largest weight, at the steps to record."""
    generator = torch.Generator().manual_seed(SEED)
    w = weights(generator)
    fresh = torch.Generator().manual_seed(SEED + 1)
    seen = [texts(fresh) for _ in range(20)]
    losses = []
    for step in range(STEPS + 1):
        if step in RECORDED:
            with torch.no_grad():
                losses.append(float(sum(loss_of(w, *one, divisor)[0] for one in seen)) / len(seen))
        loss, _ = loss_of(w, *texts(generator), divisor)
        gradients = torch.autograd.grad(loss, list(w.values()))
        with torch.no_grad():
            for one, gradient in zip(w.values(), gradients):
                one -= RATE * gradient
    return [round(loss, 4) for loss in losses]


def main(arguments):
    torch.set_num_threads(1)
    with_scaling, without = trained(D_K ** 0.5), trained(1.0)
    if arguments == ["--check"]:
        record = json.loads(RECORD.read_text())
        for name, losses in (("with", with_scaling), ("without", without)):
            off = max(abs(a - b) for a, b in zip(record["loss"][name], losses))
            print(f"{name}: at most {off:.4f} from the record")
            if off > 0.01:
                sys.exit(1)
        return
    RECORD.write_text(json.dumps({
        "trained by": "models/train_scaling.py", "seed": SEED, "torch": torch.__version__,
        "python": platform.python_version(), "steps": STEPS, "texts in each": TEXTS, "rate": RATE,
        "d_model": D_MODEL, "d_k": D_K, "recorded at": RECORDED,
        "loss": {"with": with_scaling, "without": without}}, indent=2) + "\n")
    print(RECORD.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
