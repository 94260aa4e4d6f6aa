"""Two habits of programs are accepted and named: the columns of turned queries and keys in the order
of the other pairing, and ALiBi's distances counted from an end of the keys. Neither hides a mistake.

Usage: habits.py QKV [--seed N]   Small lessons, worked by NumPy.
"""

import pathlib
import sys
import tempfile

import numpy as np

from layouts import arguments, check, toml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))
from biases import paper_slopes  # noqa: E402
from operations import alibi, mask, rope, score, softmax  # noqa: E402


def rope_lesson(rng, pairing, width):
    givens = {name: rng.normal(size=(2, 4, 6)).round(2) for name in "QK"}
    more = f'pairing = "{pairing}"\nwidth = {width}'
    steps = [(f"{x}_rope", "rope", [x], more) for x in "QK"]
    steps.append(("scores", "score", ["Q_rope", "K_rope"], ""))
    values = {f"{x}_rope": rope(givens[x], pairing=pairing, width=width) for x in "QK"}
    values["scores"] = score(*values.values())
    return toml(givens, steps), values


def other_order(pairing, width):
    """The lesson's columns as the other pairing has them."""
    half = width // 2
    order = [*range(0, width, 2), *range(1, width, 2)] if pairing == "interleaved" else \
        [column for i in range(half) for column in (i, i + half)]
    return [*order, *range(width, 6)]


def put(folder, text):
    with open(f"{folder}/lesson.toml", "w", encoding="utf-8") as file:
        file.write(text)


def rope_faults(args, rng, folder, pairing, width):
    text, values = rope_lesson(rng, pairing, width)
    put(folder, text)
    permuted = lambda *names: {k: x[..., other_order(pairing, width)] if k in names else x
                               for k, x in values.items()}
    both = permuted("Q_rope", "K_rope")
    for step, got in check(args, folder, "both", both).items():
        due = None if step == "scores" else "convention.rope-layout"
        if (got["verdict"], got["convention"]) != ("correct", due):
            yield f"permuted alike: {step} is {got['verdict']} by {got['convention']}"
    if check(args, folder, "one", permuted("Q_rope"))["Q_rope"]["verdict"] != "wrong":
        yield "queries alone permuted pass"
    if check(args, folder, "strict", both, "--strict")["Q_rope"]["verdict"] != "wrong":
        yield "permuted columns pass --strict"
    slipped = {k: x.copy() for k, x in both.items()}
    slipped["Q_rope"][1, 2, 3] += 1
    if check(args, folder, "slipped", slipped)["Q_rope"]["cells"]["wrong"] != 1:
        yield "a slip in permuted queries is not one wrong cell"


def alibi_faults(args, rng, folder, hides):
    givens = {"scores": rng.normal(size=(4, 5, 5)).round(2)}
    steps = [("biased_scores", "alibi", ["scores"], ""),
             *([("masked_scores", "mask", ["biased_scores"], "")] if hides else []),
             ("attention_weights", "softmax", ["masked_scores" if hides else "biased_scores"], "")]
    put(folder, toml(givens, steps))
    hide = mask if hides else lambda x: x
    slopes = np.array(paper_slopes(4)).reshape(4, 1, 1)
    for name, biased in (("first", givens["scores"] + slopes * np.arange(5)),
                         ("last", givens["scores"] - slopes * (4 - np.arange(5)))):
        values = {"biased_scores": biased, "masked_scores": hide(biased),
                  "attention_weights": softmax(hide(alibi(givens["scores"])))}
        if not hides:
            del values["masked_scores"]
        got = check(args, folder, name, values)
        biased = got["biased_scores"]
        if hides and any(step["verdict"] != "correct" for step in got.values()):
            yield f"counted from the {name}: {[(k, s['verdict']) for k, s in got.items()]}"
        if (biased["convention"] == "convention.alibi-shift") != hides:
            yield f"counted from the {name}: named {biased['convention']}"
        if not hides and biased["verdict"] != "wrong":
            yield f"counted from the {name} without a mask: {biased['verdict']}"


def main():
    args = arguments(__doc__)
    found = []
    kinds = [(rope_faults, (pairing, width)) for pairing in ("interleaved", "halves") for width in (4, 6)]
    for number, (faults, kind) in enumerate([*kinds, (alibi_faults, (True,)), (alibi_faults, (False,))]):
        with tempfile.TemporaryDirectory(prefix="qkv-habits-") as folder:
            found += [f"{kind}: {fault}" for fault in
                      faults(args, np.random.default_rng([args.seed, number]), folder, *kind)]
    print("\n".join(found) or "6 lessons, all habits as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
