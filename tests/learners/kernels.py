"""Programs with a planted bug, and healthy ones, at every precision and in every form of file.

Usage: kernels.py QKV [--seed N] [--lessons N] [--verbose]   Each lesson is a random multi-head
attention that NumPy works out at a program's precision. Every healthy program must pass; each bug
must be found at its step, nine tenths of them named, and those that spoil a block told as one.
Bugs before the context are also looked for where a kernel gives nothing but its context, or nothing
but its output: there they are named as often.
"""

import argparse
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

import schema

PRECISIONS = ("float16", "bfloat16", "float32", "float64")
FORMS = ("npy", "npz", "safetensors", "json", "csv", "wide")


def to_bfloat16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    out = rounded.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), out, np.asarray(x, np.float32)).astype(np.float64)


def stored(x, precision):
    """What a program of that precision keeps of the numbers."""
    with np.errstate(over="ignore"):
        if precision == "bfloat16":
            return to_bfloat16(x)
        return np.asarray(x).astype(precision).astype(np.float64)


class Program:
    """Multi-head attention, each step kept at one precision; `spoil` changes one step's result."""

    def __init__(self, rng):
        self.rng = rng
        self.h = int(rng.choice([2, 3, 4, 8]))
        self.n = int(rng.choice([6, 8, 12, 16, 24]))
        self.d = int(rng.choice([4, 8, 16]))
        self.causal = rng.random() < 0.6
        self.bias = rng.random() < 0.5
        d_model = self.h * self.d
        draw = lambda *shape: rng.standard_normal(shape).astype(np.float32).astype(np.float64)
        self.X = draw(self.n, d_model)
        self.weights = {f"W_{name}": draw(d_model, d_model) / np.float32(np.sqrt(d_model)) for name in "QKVO"}
        self.weights = {k: w.astype(np.float32).astype(np.float64) for k, w in self.weights.items()}
        if self.bias:
            self.weights |= {f"b_{name}": draw(1, d_model) for name in "QKV"}

    def project(self, x, name):
        y = x @ self.weights[f"W_{name}"]
        return y + self.weights[f"b_{name}"] if f"b_{name}" in self.weights else y

    def heads(self, x):
        return x.reshape(self.n, self.h, self.d).transpose(1, 0, 2)

    def run(self, precision, at=None, bug=None):
        values = {}

        def keep(name, value):
            if name == at:
                value = bug(value, values)
            values[name] = stored(value, precision)
            return values[name]

        # Bugs of this lesson take the givens as they are.
        for name in "QKV":
            keep(f"{name}_all", self.project(self.X, name))
            keep(name, self.heads(values[f"{name}_all"]))
        scores = keep("scores", values["Q"] @ values["K"].transpose(0, 2, 1))
        scaled = keep("scaled_scores", scores / np.sqrt(self.d))
        if self.causal:
            scaled = keep("masked_scores", np.where(np.tril(np.ones((self.n, self.n))) > 0, scaled, -np.inf))
        weights = keep("attention_weights", softmax(scaled))
        context = keep("context", weights @ values["V"])
        joined = keep("concat", context.transpose(1, 0, 2).reshape(self.n, -1))
        output = keep("output", joined @ self.weights["W_O"])
        keep("residual", self.X + output)
        return values

    def toml(self, folder):
        text = 'title = "kernels"\nsummary = "s"\nsource = "drawn"\n'
        np.save(f"{folder}/X.npy", self.X)
        for name, value in [("X", self.X), *self.weights.items()]:
            np.save(f"{folder}/given-{name}.npy", value)
            text += f'[[given]]\nname = "{name}"\nfile = "given-{name}.npy"\n'

        def step(name, op, of, more=""):
            nonlocal text
            text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n{more}\n'

        for name in "QKV":
            step(f"{name}_all", "project", ["X", f"W_{name}"] + ([f"b_{name}"] if self.bias else []))
            step(name, "split_heads", [f"{name}_all"], f"heads = {self.h}")
        step("scores", "score", ["Q", "K"])
        step("scaled_scores", "scale", ["scores"])
        last = "scaled_scores"
        if self.causal:
            step("masked_scores", "mask", [last], 'kind = "causal"')
            last = "masked_scores"
        step("attention_weights", "softmax", [last])
        step("context", "weighted_sum", ["attention_weights", "V"])
        step("concat", "concat_heads", ["context"])
        step("output", "project", ["concat", "W_O"])
        step("residual", "add", ["X", "output"])
        return text


def softmax(x, axis=-1, base=np.e):
    top = x.max(axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):
        e = np.where(np.isneginf(x), 0, base ** np.where(np.isneginf(x), 0, x - top))
        total = e.sum(axis=axis, keepdims=True)
        return np.where(total > 0, e / np.where(total > 0, total, 1), 0)


def block(p, shape):
    """A tile: some heads, rows and columns, at least two each, that a causal mask does not hide."""
    heads = sorted(p.rng.choice(shape[0], 2, replace=False)) if len(shape) == 3 else None
    size = max(2, shape[-2] // 4)
    row = int(p.rng.integers(shape[-2] // 2, shape[-2] - size + 1))
    column = int(p.rng.integers(0, max(1, min(shape[-1], shape[-2] // 2) - size + 1)))
    where = (slice(row, row + size), slice(column, column + min(size, shape[-1] - column)))
    if heads is None:
        return where, {"rows": [row + 1, row + size]}
    one = int(heads[0])
    region = {"heads": [one + 1, one + 1], "rows": [row + 1, row + size],
              "columns": [where[1].start + 1, where[1].stop]}
    return (one,) + where, region


def spoiled(place, value):
    def bug(x, _):
        y = x.copy()
        y[place] = value(y[place]) if callable(value) else value
        return y
    return bug


def dropout(p):
    keep = p.rng.random((p.h, p.n, p.n)) > 0.3
    return lambda x, _: np.where(keep, x / 0.7, 0)


def bugs(p):
    """(name, step, bug, ids of which one is due, the region that is due or None)"""
    tile, region = block(p, (p.h, p.n, p.n))
    masked = "masked_scores" if p.causal else "scaled_scores"
    weights = lambda f: (lambda x, v: f(v[masked]))
    yield "zero tile", "attention_weights", spoiled(tile, 0.0), {"tile.zero"}, dict(region, what="zero")
    yield "nan tile", "attention_weights", spoiled(tile, np.nan), set(), dict(region, what="nan")
    yield "constant tile", "scores", spoiled(tile, 3.25), set(), dict(region, what="constant")
    yield "doubled tile", "scores", spoiled(tile, lambda y: y * 2), set(), dict(region, what="multiple")
    yield "accumulator", "context", lambda x, v: x * 1.25, set(), {"what": "multiple"}
    yield "lost head", "context", spoiled(p.h - 1, 0.0), {"tile.zero"}, {"heads": [p.h, p.h], "what": "zero"}
    yield "unscaled", "scaled_scores", lambda x, v: v["scores"], {"scale.skipped"}, None
    if p.d != p.n:
        yield "by sqrt n", "scaled_scores", lambda x, v: v["scores"] / np.sqrt(p.n), {"scale.by-sqrt-n"}, None
    yield "by d", "scaled_scores", lambda x, v: v["scores"] / p.d, {"scale.by-d"}, None
    yield "heads", "attention_weights", weights(lambda s: softmax(s, axis=0)), {"softmax.heads"}, None
    yield "columns", "attention_weights", weights(lambda s: softmax(s, axis=1)), {"softmax.columns"}, None
    yield "base 2", "attention_weights", weights(lambda s: softmax(s, base=2.0)), {"softmax.base-2"}, None
    yield "negative", "attention_weights", weights(lambda s: softmax(np.where(np.isneginf(s), s, -s))), \
        {"softmax.negative"}, None
    yield "dropout", "attention_weights", dropout(p), {"dropout.on"}, None
    if p.causal:
        ahead = np.tril(np.ones((p.n, p.n)), 1) > 0
        yield "one ahead", "masked_scores", lambda x, v: np.where(ahead, v["scaled_scores"], -np.inf), \
            {"mask.one-ahead"}, None
        yield "no mask", "masked_scores", lambda x, v: v["scaled_scores"], {"mask.skipped"}, None
    else:
        seen = np.tril(np.ones((p.n, p.n))) > 0
        yield "needless mask", "attention_weights", \
            weights(lambda s: softmax(np.where(seen, s, -np.inf))), {"mask.needless"}, None
    yield "other head's keys", "scores", \
        lambda x, v: v["Q"] @ np.roll(v["K"], -1, axis=0).transpose(0, 2, 1), {"heads.other", "heads.reversed"}, None
    yield "first head's values", "context", \
        lambda x, v: v["attention_weights"] @ v["V"][:1], {"heads.other"}, None
    yield "keys for values", "context", lambda x, v: v["attention_weights"] @ v["K"], {"weighted-sum.keys"}, None
    yield "heads interleaved", "Q", \
        lambda x, v: v["Q_all"].reshape(p.n, p.d, p.h).transpose(2, 0, 1), {"heads.interleaved"}, None
    yield "heads reshaped", "concat", lambda x, v: v["context"].reshape(p.n, -1), {"heads.interleaved"}, None
    yield "residual early", "output", lambda x, v: x + p.X, {"add.early"}, None
    yield "no residual", "residual", lambda x, v: v["output"], {"add.skipped"}, None
    yield "weight on its side", "K_all", lambda x, v: x + p.X @ (p.weights["W_K"].T - p.weights["W_K"]), \
        {"project.transposed-weight"}, None
    yield "other weight", "K_all", lambda x, v: x + p.X @ (p.weights["W_V"] - p.weights["W_K"]), \
        {"project.wrong-weight"}, None
    if p.bias:
        yield "no bias", "V_all", lambda x, v: x - p.weights["b_V"], {"project.missing-bias"}, None
    other = p.rng.standard_normal((1, p.h * p.d))
    yield "a bias", "V_all", lambda x, v: x + other, {"project.unknown-offset"}, {"what": "offset"}
    yield "overflow", "attention_weights", \
        lambda x, v: np.where(np.arange(p.n)[:, None] < 3, np.nan, x), set(), {"rows": [1, 3], "what": "nan"}


def save(folder, values, precision, form):
    """One file a step, or one for all; `wide` keeps the numbers in a wider type."""
    os.makedirs(folder)
    if form == "safetensors" or precision == "bfloat16" and form in ("npy", "npz"):
        return save_safetensors(f"{folder}/all.safetensors", values, precision)
    dtype = {"bfloat16": "float32"}.get(precision, precision)
    if form == "wide":
        dtype = "float64" if precision != "float16" else "float32"
    arrays = {name: value.astype(dtype) for name, value in values.items()}
    if form == "npz":
        np.savez(f"{folder}/all.npz", **arrays)
    for name, value in arrays.items():
        if form in ("npy", "wide"):
            np.save(f"{folder}/{name}.npy", value)
        elif form == "json":
            as_json = lambda x: x if np.isfinite(x) else str(x).replace("nan", "NaN")
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
                json.dump(np.vectorize(as_json, otypes=[object])(value.astype(float)).tolist(), file)
        elif form == "csv":
            for k, matrix in enumerate(value if value.ndim == 3 else [value]):
                suffix = f".head-{k + 1}" if value.ndim == 3 else ""
                np.savetxt(f"{folder}/{name}{suffix}.csv", matrix, delimiter=",")


def save_safetensors(path, values, precision):
    names = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
    header, data = {}, b""
    for name, value in values.items():
        if precision == "bfloat16":
            raw = (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        else:
            raw = value.astype(precision).tobytes()
        header[name] = {"dtype": names[precision], "shape": list(value.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + data)


class Tally:
    def __init__(self, verbose):
        self.right, self.all = collections.Counter(), collections.Counter()
        self.verbose, self.said = verbose, []

    def count(self, what, right, where):
        self.all[what] += 1
        self.right[what] += bool(right)
        if not right:
            self.said.append(f"{what}: {where}")
            if self.verbose:
                print(self.said[-1])


def check(args, lesson, folder):
    run = subprocess.run([args.qkv, "check", lesson, folder, "--json"], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{folder}: {run.stderr[:300]}")
    report = json.loads(run.stdout)
    fault = schema.fault_of(report)
    if fault:
        raise RuntimeError(f"{folder}: {fault}")
    return run.returncode, report


def blocks_agree(due, got):
    return got is not None and all(got.get(key) == value for key, value in due.items())


def try_program(args, tally, rng, folder):
    program = Program(rng)
    os.makedirs(folder)
    lesson = f"{folder}/lesson.toml"
    with open(lesson, "w", encoding="utf-8") as file:
        file.write(program.toml(folder))
    for precision in PRECISIONS:
        form = FORMS[rng.integers(len(FORMS))]
        at = f"{folder}/healthy-{precision}-{form}"
        save(at, program.run(precision), precision, form)
        status, report = check(args, lesson, at)
        tally.count(f"healthy {precision}", status == 0, f"{at}: {report['first_wrong']}")
    for number, (name, step, bug, ids, region) in enumerate(bugs(program)):
        precision = PRECISIONS[rng.integers(len(PRECISIONS))]
        form = FORMS[rng.integers(len(FORMS))]
        if "nan" in name or name == "overflow":
            form = "npz" if form in ("csv", "json") else form  # text's nan is a blank
        at = f"{folder}/bug-{number}-{precision}-{form}"
        values = program.run(precision, step, bug)
        save(at, values, precision, form)
        status, report = check(args, lesson, at)
        where = f"{at} [{name} at {step}]"
        tally.count("found", report["first_wrong"] == step and status == 1, f"{where}: {report['first_wrong']}")
        wrong = next((s for s in report["steps"] if s["step"] == step), None)
        if report["first_wrong"] != step:
            continue
        named = [m["id"] for m in wrong["mistakes"]]
        if ids and step in KERNEL and name not in SHOWN_AT_THEIR_STEP:
            again = lambda kept, step=step, bug=bug: program.run(kept, step, bug)
            try_kernel(args, tally, rng, lesson, at, (name, ids), again)
        if ids:
            tally.count("named", ids & set(named), f"{where}: {named} {wrong['cells']}")
            tally.count(f"named: {name}", ids & set(named), "")
        if region and wrong["cells"]["undecided"] == 0:  # rounding may hide a part of the block
            tally.count("block", blocks_agree(region, wrong["region"]), f"{where}: {region} {wrong['region']}")


KERNEL = ("scores", "scaled_scores", "masked_scores", "attention_weights", "context")
SHOWN_AT_THEIR_STEP = ("zero tile", "dropout")  # which cells are 0 can't be told from sums


def try_kernel(args, tally, rng, lesson, folder, bugged, values):
    """Hands in Q, K, V and one result, as who tests a kernel has them."""
    name, ids = bugged
    precision = PRECISIONS[rng.integers(len(PRECISIONS))]
    for seen in ("context", "output"):
        at = f"{folder}-{seen}"
        save(at, {step: values(precision)[step] for step in ("Q", "K", "V", seen)}, precision, "npz")
        _, report = check(args, lesson, at)
        tally.count(f"seen in {seen}", report["first_wrong"] == seen, f"{at} [{name}]")
        if report["first_wrong"] != seen:
            continue  # rounding may hide it
        named = [m["id"] for step in report["steps"] for m in step["mistakes"]]
        tally.count(f"named in {seen}", ids & set(named), f"{at} [{name}]: {named}")


def bar_of(what):
    if what.startswith("seen in"):
        return 0.8  # rounding may hide a small one
    if what == "named" or what.startswith("named in"):
        return 0.9
    return 0 if what.startswith("named:") else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=4)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="qkv-kernels-")
    if args.keep:
        shutil.rmtree(folder, ignore_errors=True)
    tally = Tally(args.verbose)
    try:
        for number in range(args.lessons):
            try_program(args, tally, np.random.default_rng([args.seed, number]), f"{folder}/{number}")
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    low = False
    for what in sorted(tally.all):
        rate = tally.right[what] / tally.all[what]
        bar = bar_of(what)
        low = low or rate < bar
        print(f"{'ok  ' if rate >= bar else 'LOW '} {what}: {tally.right[what]} of {tally.all[what]}")
    if low and not args.verbose:
        print("\n".join(tally.said[:20]))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
