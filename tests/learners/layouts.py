"""Heads in the middle (n × h × d) or side by side (n × h·d) are a convention, a leading axis of 1 is
no difference, and neither hides a mistake.

Usage: layouts.py QKV [--seed N]   Small lessons of several heads, worked by NumPy.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

SIZES = ((5, 2, 3), (4, 4, 3), (3, 3, 3), (2, 4, 5))  # tokens, heads, features: some have h = n


def toml(givens, steps):
    text = 'title = "layouts"\nsummary = "s"\nsource = "drawn"\n'
    for name, value in givens.items():
        text += f'[[given]]\nname = "{name}"\nvalue = {json.dumps(value.tolist())}\n'
    for name, op, of, more in steps:
        text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n{more}\n'
    return text


def lesson(rng, n, h, d):
    """The lesson's text and its numbers, heads first."""
    wide = h * d
    draw = lambda *shape: rng.normal(size=shape).round(2)
    givens = {"X": draw(n, wide)} | {f"W_{x}": draw(wide, wide) for x in "QKV"}
    steps, values = [], {}
    for x in "QKV":
        steps += [(f"{x}_all", "project", ["X", f"W_{x}"], ""), (x, "split_heads", [f"{x}_all"], f"heads = {h}")]
        values[x] = (givens["X"] @ givens[f"W_{x}"]).reshape(n, h, d).transpose(1, 0, 2)
    steps += [("scores", "score", ["Q", "K"], ""), ("scaled_scores", "scale", ["scores"], ""),
              ("attention_weights", "softmax", ["scaled_scores"], ""),
              ("context", "weighted_sum", ["attention_weights", "V"], "")]
    values["scores"] = values["Q"] @ values["K"].transpose(0, 2, 1)
    values["scaled_scores"] = values["scores"] / np.sqrt(d)
    powers = np.exp(values["scaled_scores"] - values["scaled_scores"].max(-1, keepdims=True))
    values["attention_weights"] = powers / powers.sum(-1, keepdims=True)
    values["context"] = values["attention_weights"] @ values["V"]
    return toml(givens, steps), values


def middle(x):
    return x.transpose(1, 0, 2)


def joined(x):
    return middle(x).reshape(x.shape[1], -1)


LAYOUTS = {"first": lambda x: x, "middle": middle, "joined": joined,
           "batch of one": lambda x: x[None], "middle, batch of one": lambda x: middle(x)[None],
           "joined, batch of one": lambda x: joined(x)[None]}


def check(args, folder, name, values, *options):
    at = f"{folder}/{name}"
    os.makedirs(at)
    for step, value in values.items():
        np.save(f"{at}/{step}.npy", value.astype(np.float32))
    run = subprocess.run([args.qkv, "check", f"{folder}/lesson.toml", at, "--json", *options],
                         capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr[:300])
    return {step["step"]: step for step in json.loads(run.stdout)["steps"]}


def faults(args, rng, folder, size):
    """What is not as it should be, in words."""
    text, values = lesson(rng, *size)
    with open(f"{folder}/lesson.toml", "w", encoding="utf-8") as file:
        file.write(text)
    wrong = values | {"scaled_scores": values["scores"]}
    for name, layout in LAYOUTS.items():
        due = None if name in ("first", "batch of one") else "convention.heads-inside"
        for step, got in check(args, folder, name, {k: layout(x) for k, x in values.items()}).items():
            if (got["verdict"], got["convention"]) != ("correct", due):
                yield f"{name}: {step} is {got['verdict']} by {got['convention']}"
        got = check(args, folder, f"{name} wrong", {k: layout(x) for k, x in wrong.items()})["scaled_scores"]
        if got["verdict"] != "wrong" or [m["id"] for m in got["mistakes"]] != ["scale.skipped"]:
            yield f"{name}: unscaled scores are {got['verdict']}, {got['mistakes']}"
    strict = check(args, folder, "strict", {k: middle(x) for k, x in values.items()}, "--strict")
    if strict["Q"]["verdict"] not in ("shape", "wrong"):
        yield "heads in the middle pass --strict"
    # One matrix among others whose heads are counted off in the wrong order is no convention.
    n, h, d = size
    if h == n:
        one = values | {"Q": middle(values["Q"])}
        if check(args, folder, "one", one)["Q"]["verdict"] != "wrong":
            yield "one matrix with its heads in the middle among others passes"


def arguments(about):
    parser = argparse.ArgumentParser(description=about.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    args = arguments(__doc__)
    found = []
    for number, size in enumerate(SIZES):
        with tempfile.TemporaryDirectory(prefix="qkv-layouts-") as folder:
            found += [f"{size}: {fault}" for fault in
                      faults(args, np.random.default_rng([args.seed, number]), folder, size)]
    print("\n".join(found) or f"{len(SIZES)} lessons, {len(LAYOUTS)} layouts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
