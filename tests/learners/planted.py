"""Mistakes planted one by one, each in the whole of a step and in a part of it.

Usage: planted.py QKV [--seed N] [--lessons N] [--verbose]   Random lessons of several heads, worked
by NumPy with a few decimals, every step from the numbers that were written before it. Each mistake
must be found at its step and named; who makes none must be told nothing.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HIDDEN = -np.inf


def softmax(x, axis=-1, base=np.e):
    top = x.max(axis=axis, keepdims=True)
    powers = np.where(np.isneginf(x), 0, base ** np.where(np.isneginf(x), 0, x - np.where(np.isinf(top), 0, top)))
    return shares(powers, axis)


def shares(powers, axis=-1):
    total = powers.sum(axis=axis, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=np.broadcast_to(total, powers.shape) != 0)


def turned(x):
    return np.swapaxes(x, -1, -2)


def layer_norm(x, gain, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias


class Lesson:
    """Attention of several heads, its steps as (name, op, of, options, how NumPy works it)."""

    def __init__(self, rng):
        self.rng = rng
        self.n = int(rng.integers(3, 7))
        self.h = int(rng.choice([1, 2, 3, 4]))
        self.d = int(rng.integers(2, 5))
        self.width = self.h * self.d
        self.places = int(rng.choice([3, 4]))
        self.causal = rng.random() < 0.5
        self.strides = rng.random() < 0.4
        self.bias = rng.random() < 0.5
        self.early = rng.random() < 0.4      # positions are added before the projections
        self.cut = rng.random() < 0.6        # heads are cut from wide matrices; else the weights make them
        self.joined = rng.random() < 0.7 or self.cut  # else the heads' proposals are added
        draw = lambda *shape: np.round(rng.normal(0, 0.5, shape), 2)
        n, h, d, width = self.n, self.h, self.d, self.width
        self.givens = {"E": draw(n, width)} if self.early else {"X": draw(n, width)}
        if self.early:
            self.givens["P"] = draw(n, width)
        shape = (width, width) if self.cut else (h, width, d)
        for name in "QKV":
            self.givens[f"W_{name}"] = draw(*shape)
            if self.bias:
                self.givens[f"b_{name}"] = draw(1, width) if self.cut else draw(h, 1, d)
        self.givens["W_O"] = draw(width, width) if self.joined else draw(h, d, width)
        self.givens |= {"gain": np.round(draw(1, width) + 2, 2), "bias": draw(1, width)}
        self.steps = list(self.all_steps())

    def all_steps(self):
        h, d = self.h, self.d
        if self.early:
            yield "X", "add", ["E", "P"], {}, lambda e, p: e + p
        bias = lambda name: [f"b_{name}"] if self.bias else []
        project = lambda x, w, *b: x @ w + (b[0] if b else 0)
        cut = lambda x: x.reshape(len(x), h, d).transpose(1, 0, 2)
        for name in "QKV":
            wide = f"{name}_all" if self.cut else name
            yield wide, "project", ["X", f"W_{name}"] + bias(name), {}, project
            if self.cut:
                yield name, "split_heads", [wide], {"heads": h}, cut
        yield "scores", "score", ["Q", "K"], {}, lambda q, k: q @ turned(k)
        yield "scaled_scores", "scale", ["scores"], {}, lambda s: s / np.sqrt(d)
        last = "scaled_scores"
        if self.causal:
            seen = np.tri(self.n) > 0
            yield "masked_scores", "mask", [last], {"kind": "causal"}, lambda s: np.where(seen, s, HIDDEN)
            last = "masked_scores"
        if self.strides:
            yield "exps", "exp", [last], {}, np.exp
            yield "attention_weights", "normalise", ["exps"], {}, shares
        else:
            yield "attention_weights", "softmax", [last], {}, softmax
        yield "context", "weighted_sum", ["attention_weights", "V"], {}, lambda a, v: a @ v
        if self.joined:
            yield "concat", "concat_heads", ["context"], {}, \
                lambda c: c.transpose(1, 0, 2).reshape(c.shape[1], -1)
            yield "output", "project", ["concat", "W_O"], {}, lambda c, w: c @ w
        else:
            yield "proposals", "project", ["context", "W_O"], {}, lambda c, w: c @ w
            yield "output", "sum_heads", ["proposals"], {}, lambda c: c.sum(0)
        yield "residual", "add", ["X", "output"], {}, lambda a, b: a + b
        yield "norm", "layer_norm", ["residual", "gain", "bias"], {}, layer_norm

    def toml(self):
        text = 'title = "planted"\nsummary = "s"\nsource = "drawn"\n'
        for name, value in self.givens.items():
            text += f'[[given]]\nname = "{name}"\nvalue = {json.dumps(value.tolist())}\n'
        for name, op, of, options, _ in self.steps:
            text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n'
            text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
        return text

    def written(self, x):
        return np.where(np.isinf(x), x, np.round(x, self.places))

    def work(self, at=None, made=None):
        """Every step from what was written before it; `made` stands for the one at `at`."""
        values = dict(self.givens)
        for name, _, of, _, maths in self.steps:
            honest = maths(*[values[n] for n in of])
            values[name] = self.written(made if name == at else honest)
        return {name: values[name] for name, *_ in self.steps}


def of_others(x, rng):
    """The numbers of heads taken from other heads, in every way that a program does."""
    h = len(x)
    yield np.roll(x, 1, axis=0)
    yield np.roll(x, -1, axis=0)
    yield x[::-1]
    a, b = rng.choice(h, 2, replace=False)
    order = np.arange(h)
    order[a], order[b] = b, a
    yield x[order]
    order = np.arange(h)
    order[a] = b
    yield x[order]
    yield x[np.full(h, a)]


def other_heads(lesson, name, op, operands, right, again):
    if lesson.h < 2:
        return
    if right.ndim == 3:
        for made in of_others(right, lesson.rng):
            yield "heads.other", made
    for k, x in enumerate(operands):
        if x.ndim == 3 and op in ("score", "weighted_sum", "concat_heads", "softmax"):
            for made in of_others(x, lesson.rng):
                yield "heads.other", again(*operands[:k], made, *operands[k + 1:])


def mistakes(lesson, values, step):
    """(id, numbers) of what is planted in a step."""
    name, op, of, _, maths = step
    known = {**lesson.givens, **values}
    operands = [known[n] for n in of]
    again = maths
    right = maths(*operands)
    n = lesson.n
    seen = np.tri(n) > 0
    if op == "project":
        yield "project.unknown-offset", right + np.round(lesson.rng.normal(0, 1, right.shape[-1:]), 2)
        if name == "output":
            yield "add.early", right + known["X"]
        if name in ("Q", "K", "V", "Q_all", "K_all", "V_all"):
            others = [w for w in "QKV" if w != name[0]]
            for other in others:
                yield "project.wrong-weight", again(operands[0], known[f"W_{other}"], *operands[2:])
                if lesson.bias:
                    yield "project.wrong-weight", again(operands[0], known[f"W_{other}"], known[f"b_{other}"])
            if lesson.bias:
                yield "project.missing-bias", again(*operands[:2])
            if lesson.early and right.shape == known["P"].shape:
                yield "add.early", again(known["E"], *operands[1:]) + known["P"]
            if lesson.early:
                yield "add.skipped", again(known["E"], *operands[1:])
        if operands[1].shape[-1] == operands[1].shape[-2]:
            yield "project.transposed-weight", again(operands[0], turned(operands[1]), *operands[2:])
        if name == "output":
            yield "output.skipped", operands[0]
    if op == "scale":
        scores = operands[0]
        if lesson.n != lesson.d:
            yield "scale.by-sqrt-n", scores / np.sqrt(n)
        yield "scale.by-sqrt-d-model", scores / np.sqrt(lesson.width)
        yield "scale.by-d", scores / lesson.d
        yield "scale.skipped", scores
        yield "scale.multiplied", scores * np.sqrt(lesson.d)
    if op in ("scale", "score") and not lesson.causal:
        yield "mask.needless", np.where(seen, right, HIDDEN)
    if op == "score":
        yield "score.same-operand", operands[0] @ turned(operands[0])
        yield "score.same-operand", operands[1] @ turned(operands[1])
    if op == "mask":
        yield "mask.one-ahead", np.where(np.tri(n, k=1) > 0, operands[0], HIDDEN)
        yield "mask.skipped", operands[0]
        yield "mask.zero", np.where(seen, operands[0], 0)
        yield "mask.diagonal", np.where(np.tri(n, k=-1) > 0, operands[0], HIDDEN)
        yield "mask.wrong-triangle", np.where(np.tri(n).T > 0, operands[0], HIDDEN)
        yield "mask.inverted", np.where(seen, HIDDEN, operands[0])
        yield "mask.added", operands[0] + seen
        yield "mask.added", operands[0] + ~seen
    if op in ("softmax", "normalise", "exp"):
        yield from powers(lesson, known, op, right)
    if op == "weighted_sum":
        a, v = operands
        yield "weighted-sum.transposed", turned(a) @ v
        yield "weighted-sum.keys", a @ known["K"]
        yield "weighted-sum.scores", known["scores"] @ v
        yield "weighted-sum.scores", known["scaled_scores"] @ v
    if op == "concat_heads" and lesson.h > 1:
        yield "heads.reversed", again(operands[0][::-1])
        yield "heads.interleaved", np.moveaxis(operands[0], 0, -1).reshape(right.shape)
        yield "heads.interleaved", operands[0].reshape(right.shape)
        yield "heads.summed", np.tile(operands[0].sum(0), lesson.h)
    if op == "sum_heads" and lesson.h > 1:
        yield "heads.averaged", operands[0].mean(0)
    if op == "add":
        yield "add.skipped", operands[0]
        yield "add.skipped", operands[1]
        if name == "residual" and lesson.early:
            yield "add.wrong-operand", known["E"] + operands[1]
    if op == "layer_norm":
        x, gain, bias = operands
        centred = x - x.mean(-1, keepdims=True)
        yield "layer-norm.sample-variance", centred / np.sqrt(x.var(-1, ddof=1, keepdims=True) + 1e-5) * gain + bias
        yield "layer-norm.no-gain", layer_norm(x, 1, bias)
        yield "layer-norm.no-mean", x / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias
        yield "layer-norm.no-mean", x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain + bias
        yield "layer-norm.standard-deviation", centred / (x.var(-1, keepdims=True) + 1e-5) * gain + bias
        down = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * gain + bias
        yield "layer-norm.columns", down
    yield from other_heads(lesson, name, op, operands, right, again)
    yield "slip.sign", -right
    if op == "softmax" and n >= 4:
        keep = lesson.rng.random(right.shape) > 0.3
        yield "dropout.on", np.where(keep, right / 0.7, 0)
    zero = right.copy()
    zero[..., : max(2, n // 2), : 2] = 0
    if np.isfinite(right).all() and (right[..., : max(2, n // 2), : 2] != 0).all():
        yield "tile.zero", zero


def powers(lesson, known, op, right):
    last = "masked_scores" if lesson.causal else "scaled_scores"
    s = known[last]
    upside = np.where(np.isneginf(s), s, -s)
    seen = np.tri(lesson.n) > 0
    hide = lambda x: np.where(seen, x, HIDDEN) if lesson.causal else x
    if op == "exp":
        yield "softmax.base-2", 2.0 ** s
        yield "softmax.base-2", 10.0 ** s
        yield "softmax.negative", np.exp(upside)
        yield "softmax.unscaled", np.exp(hide(known["scores"]))
        if lesson.causal:
            yield "softmax.unmasked", np.exp(known["scaled_scores"])
        return
    yield "softmax.base-2", softmax(s, base=2.0)
    yield "softmax.base-2", softmax(s, base=10.0)
    yield "softmax.negative", softmax(upside)
    yield "softmax.columns", softmax(s, axis=-2)
    yield "softmax.unscaled", softmax(hide(known["scores"]))
    yield "softmax.not-normalised", np.exp(s)
    yield "softmax.no-exp", shares(np.where(np.isneginf(s), 0, s))
    if lesson.h > 1:
        yield "softmax.heads", softmax(s, axis=0)
    yield "softmax.whole", np.exp(s) / np.exp(s).sum((-1, -2), keepdims=True)
    if lesson.causal:
        yield "softmax.unmasked", softmax(known["scaled_scores"])
        yield "softmax.mask-after", np.where(seen, softmax(known["scaled_scores"]), 0)
    else:
        yield "mask.needless", softmax(np.where(seen, s, HIDDEN))


def parts(rng, shape):
    """(name, the places that the mistake is made in)"""
    at = tuple(int(rng.integers(s)) for s in shape)
    yield "whole", ...
    if len(shape) == 3:
        yield "head", at[:-2]
    yield "row", at[:-1]
    yield "column", at[:-2] + (slice(None), at[-1])
    yield "cell", at


# These are what they are only as a whole, or where enough cells are off.
WHOLE = ("dropout.on", "tile.zero", "project.unknown-offset")


def planted(lesson):
    """(id, part, step, the numbers with the mistake in them)"""
    values = lesson.work()
    for step in lesson.steps:
        name, _, of, _, maths = step
        right = maths(*[{**lesson.givens, **values}[n] for n in of])
        for mistake, made in mistakes(lesson, values, step):
            if np.isnan(made).any() or np.abs(np.where(np.isinf(made), 0, made)).max() > 1e7:
                continue
            for part, places in parts(lesson.rng, right.shape):
                if part != "whole" and mistake in WHOLE or made.shape != right.shape:
                    continue
                spoiled = right.copy()
                spoiled[places] = made[places]
                if is_visible(lesson, values[name], lesson.written(spoiled)):
                    yield mistake, part, name, spoiled
                if part != "whole" and lesson.rng.random() < 0.5:
                    break


def is_visible(lesson, right, spoiled):
    """Whether a number that is neither 0 nor hidden is off by more than any rounding."""
    unit = 10.0 ** -lesson.places
    gap = np.where(right == spoiled, 0, np.abs(right - np.where(np.isinf(spoiled), 1e9, spoiled)))
    return (gap > 4 * unit).any()


def telling(lesson, right, spoiled):
    off = (right != spoiled) & (np.abs(right - spoiled) > 4 * 10.0 ** -lesson.places)
    return int((off & np.isfinite(spoiled) & (spoiled != 0)).sum())


def write(folder, values, places):
    os.makedirs(folder)
    text = lambda x: "-inf" if x == HIDDEN else f"{x:.{places}f}"
    for name, value in values.items():
        heads = value if value.ndim == 3 else [value]
        for k, matrix in enumerate(heads):
            suffix = f".head-{k + 1}" if value.ndim == 3 else ""
            with open(f"{folder}/{name}{suffix}.csv", "w", encoding="utf-8") as file:
                file.write("\n".join(",".join(text(x) for x in row) for row in matrix) + "\n")


def check(args, path, folders):
    run = subprocess.run([args.qkv, "check", path, "--json", *folders], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stderr[:500])
    reports = json.loads(run.stdout)
    return reports if isinstance(reports, list) else [reports]


ZEROS_TELL = ("mask.", "tile.")


def try_lesson(args, tally, number, folder):
    rng = np.random.default_rng([args.seed, number])
    lesson = Lesson(rng)
    os.makedirs(folder)
    path = f"{folder}/lesson.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(lesson.toml())
    honest = lesson.work()
    write(f"{folder}/honest", honest, lesson.places)
    cases = list(planted(lesson))
    for k, (_, _, step, made) in enumerate(cases):
        write(f"{folder}/{k}", lesson.work(step, made), lesson.places)
    healthy, *reports = check(args, path, [f"{folder}/honest"] + [f"{folder}/{k}" for k in range(len(cases))])
    tally.count("healthy", healthy["verdict"] == "correct", f"{folder}/honest")
    for k, ((mistake, part, name, made), report) in enumerate(zip(cases, reports)):
        where = f"{path} {folder}/{k}: {mistake} in a {part} of {name}"
        tally.count("found", report["first_wrong"] == name, f"{where}: {report['first_wrong']}")
        step = next((s for s in report["steps"] if s["step"] == name), None)
        if report["first_wrong"] != name or step is None:
            continue
        ids = [m["id"] for m in step["mistakes"]]
        enough = telling(lesson, honest[name], lesson.written(made)) > 0 or \
            mistake.startswith(ZEROS_TELL) and mistake != "mask.needless"
        if enough:
            what = f"{mistake} ({part})"
            tally.count(what, mistake in ids, f"{where}: {ids} {step['cells']}")


class Tally:
    def __init__(self):
        self.right, self.all, self.said = collections.Counter(), collections.Counter(), []

    def count(self, what, right, where):
        self.all[what] += 1
        self.right[what] += bool(right)
        if not right:
            self.said.append(f"{what}: {where}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=4)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep")
    args = parser.parse_args()
    np.seterr(invalid="ignore")  # -inf less -inf
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="qkv-planted-") as folder:
        for number in range(args.lessons):
            try_lesson(args, tally, number, f"{args.keep or folder}/{number}")
    for what in sorted(tally.all):
        if args.verbose or tally.right[what] < tally.all[what]:
            print(f"{what}: {tally.right[what]} of {tally.all[what]}")
    print(f"{sum(tally.right.values())} of {sum(tally.all.values())} as they should be")
    print("\n".join(tally.said if args.verbose else tally.said[:40]))
    return 1 if tally.said else 0


if __name__ == "__main__":
    sys.exit(main())
