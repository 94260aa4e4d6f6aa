#!/usr/bin/python3
"""Right programs of deep models, dumped in part: what `qkv check --model` says of them.

Random decoders of 1 to 12 layers are run in PyTorch in float64, float32, float16 and bfloat16, and a
random part of their steps is dumped. A right float64 or float32 dump must be right for qkv: neither
wrong nor undecided. A right dump in half precision must never be wrong.

    deep.py QKV [--seed N] [--count N] [--layers N] [--keep DIR] [--verbose]
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import decoder  # noqa: E402
import gpt  # noqa: E402
import schema  # noqa: E402
from decoder import DTYPES, Kernels  # noqa: E402
from room import Room, coarsest_type, unit_of_type  # noqa: E402

DECIDED = ("F64", "F32")  # a right dump of these types is never undecided
SUBSETS = ("only logits", "some residuals", "one layer", "queries, keys, scores", "a few", "half", "all")


def layer_of(name):
    found = re.match(r"h(\d+)\.", name)
    return int(found[1]) if found else None


def subset(rng, kind, order, layers):
    """The steps that a dump of a kind has, in order."""
    one = int(rng.integers(layers))
    chosen = {
        "only logits": lambda n: n == "logits",
        "some residuals": lambda n: n == "logits" or "residual" in n and rng.random() < 0.4,
        "one layer": lambda n: layer_of(n) == one,
        "queries, keys, scores": lambda n: n.split(".")[-1] in ("Q", "K", "scores"),
        "a few": lambda n: rng.random() < 0.1,
        "half": lambda n: rng.random() < 0.5,
        "all": lambda n: True,
    }[kind]
    return [n for n in order if chosen(n)] or ["logits"]


def write_dump(path, tensors, dtype):
    """The arrays as a program saves them: npz, or safetensors for bfloat16."""
    if dtype == "BF16":
        gpt.write_safetensors(path.with_suffix(".safetensors"), tensors, dtype="BF16")
        return path.with_suffix(".safetensors")
    np.savez(path.with_suffix(".npz"), **{name: x.numpy() for name, x in tensors.items()})
    return path.with_suffix(".npz")


def check(qkv, named, dumps):
    """The reports on several submissions, and the faults of status and form."""
    command = [qkv, "check", *named, *map(str, dumps), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"status {done.returncode}: {' '.join(command)}: {done.stderr[:500]}")
    reports = json.loads(done.stdout)
    reports = reports if isinstance(reports, list) else [reports]
    verdicts = {report["verdict"] for report in reports}
    faults = []
    if done.returncode != (1 if verdicts & {"wrong", "undecided"} else 0):
        faults.append(f"status {done.returncode} for {sorted(verdicts)}")
    if any(map(schema.fault_of, reports)):
        faults.append("a report does not fit schemas/check.schema.json")
    return reports, faults


def outcome(report):
    """passed, undecided or wrong."""
    verdict = report["verdict"]
    return verdict if verdict in ("wrong", "undecided") else "passed"


def first_fault(report):
    """The first step that is wrong or undecided, as text."""
    bad = [s for s in report["steps"] if s["verdict"] in ("wrong", "undecided", "shape")]
    return f"{bad[0]['step']} {bad[0]['verdict']} {bad[0]['cells']} first {bad[0]['first']}" if bad else ""


class Tally:
    """Counts of outcomes by row, and the failures."""

    def __init__(self, columns):
        self.columns, self.rows, self.failures = columns, defaultdict(Counter), []
        self.notes, self.dumps = Counter(), 0

    def count(self, row, column):
        self.rows[row][column] += 1

    def fail(self, text):
        self.failures.append(text)

    def form(self, faults, named, paths):
        """Notes faults of the exit status or of the report's form; each kind fails once."""
        for fault in faults:
            if not self.notes[fault]:
                self.fail(f"{fault}\n    qkv check {' '.join(named)} {paths[0]} … {paths[-1].name}")
            self.notes[fault] += 1

    def print(self, title):
        width = max([len(title), *(len(row) for row in self.rows)])
        print(f"{title:{width}} " + " ".join(f"{c:>9}" for c in self.columns))
        for row in sorted(self.rows):
            print(f"{row:{width}} " + " ".join(f"{self.rows[row][c]:>9}" for c in self.columns))
        for note, number in sorted(self.notes.items()):
            print(f"{note}: {number}")
        print("\n".join(text[:600] for text in self.failures[:40]))
        print(f"{self.dumps} submissions, {len(self.failures)} failures")
        return 1 if self.failures else 0


def band(layers):
    return "1-2" if layers <= 2 else "3-6" if layers <= 6 else "7-12"


def random_layers(rng, most):
    """Few layers as often as many, since many take time."""
    return int(min(most, np.floor(2 ** rng.uniform(0, np.log2(most + 1)))))


def try_model(args, tally, number, folder):
    """One model, run in one type, dumped in each part."""
    rng = np.random.default_rng([args.seed, number])
    dtype = ("F64", "F32", "F32", "F16", "BF16")[number % 5]
    layers = random_layers(rng, args.layers)
    model = decoder.random_decoder(rng, dtype, layers)
    named = decoder.write(model, folder, dtype)
    native = dtype == "BF16" and rng.random() < 0.5
    steps = model.run(Kernels(model.weights, DTYPES[dtype], native))
    kinds = [kind for kind in SUBSETS for _ in range(2 if kind in ("a few", "half") else 1)]
    chosen = [subset(rng, kind, model.order, layers) for kind in kinds]
    dumps = [write_dump(folder / f"dump-{k}", {n: steps[n] for n in names}, dtype)
             for k, names in enumerate(chosen)]
    reports, faults = check(args.qkv, named, dumps)
    tally.form(faults, named, dumps)
    compare_agrees(args, tally, named, dumps[number % len(dumps)], reports[number % len(dumps)])
    for names, report in zip(chosen, reports):
        if outcome(report) == "undecided":
            undecided_for_a_reason(tally, model, steps, names, dtype, report)
            decided_by_decides(args, tally, (named, folder, dtype), steps, names, report)
            break
    for kind, dump, report in zip(kinds, dumps, reports):
        found = outcome(report)
        tally.dumps += 1
        for row in (f"{dtype}{' native' if native else ''} layers {band(layers)}", f"{dtype} {kind}"):
            tally.count(row, found)
        if found == "wrong" or found == "undecided" and dtype in DECIDED:
            tally.fail(f"{dtype} {type(model).__name__} of {layers} layers, {kind}: {first_fault(report)}"
                       f"\n    qkv check {' '.join(named)} {dump}")


def compare_agrees(args, tally, named, dump, report):
    """compare says "same" of a dump where check has nothing against it."""
    done = subprocess.run([args.qkv, "compare", str(dump), *named, "--json"], capture_output=True,
                          text=True, timeout=600)
    same = done.returncode in (0, 1) and json.loads(done.stdout)["same"]
    tally.notes["compared as well"] += 1
    if same != (outcome(report) == "passed") or done.returncode != (0 if same else 1):
        tally.fail(f"compare: status {done.returncode}, check: {report['verdict']}\n"
                   f"    qkv compare {dump} {' '.join(named)}")


def decided_by_decides(args, tally, where, steps, names, report):
    """With the steps that a report asks for, the undecided step is decided."""
    named, folder, dtype = where
    step = next(s for s in report["steps"] if s["verdict"] == "undecided")
    if not step.get("decided_by"):
        return
    more = [n for n in steps if n in names or n in step["decided_by"]]
    dump = write_dump(folder / "with-more", {n: steps[n] for n in more}, dtype)
    (again,), _ = check(args.qkv, named, [dump])
    now = next(s["verdict"] for s in again["steps"] if s["step"] == step["step"])
    tally.notes["undecided, submitted again with the steps asked for"] += 1
    if now in ("undecided", "wrong"):
        tally.fail(f"{step['step']} stays {now} with {step['decided_by']}\n"
                   f"    qkv check {' '.join(named)} {dump}")


def room_of(model, right, submitted, dtype):
    """The independent judge of one dump, as NumPy arrays in float64."""
    def unit(name, array):
        kind = coarsest_type(dtype, array)
        rotated = max(1.0, len(model.ids) / 4) if "_rope" in name else 1.0
        return lambda right: rotated * unit_of_type(kind, right)
    units = {name: unit(name, array) for name, array in submitted.items()}
    return Room(model, right, submitted, units)


def undecided_for_a_reason(tally, model, steps, names, dtype, report):
    """A step is undecided only where the room by trial is about as wide as the limit, or wider."""
    right = {name: x.numpy() for name, x in model.run(model.exact).items()}
    room = room_of(model, right, {n: steps[n].double().numpy() for n in names}, dtype)
    for step in report["steps"]:
        if step["verdict"] == "undecided":
            tally.notes["undecided steps"] += 1
            if not room.is_wide(step["step"], lenient=0.5):
                tally.fail(f"{step['step']} is undecided, and its room is not half as wide as the limit")


def agrees_with_the_other_forward_pass():
    """decoder.py and the plain forward passes of gpt.py and llama.py are the same in float64."""
    import llama  # noqa: PLC0415
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = (decoder.random_gpt if seed % 2 else decoder.random_llama)(rng, "F64", 2)
        own = model.run(model.exact)
        if isinstance(model, decoder.Llama):
            other = llama.forward(model.weights, model.ids, model.config)
        else:
            other = gpt.forward(model.weights, model.ids, model.heads, gelu=model.gelu)
        for name in model.order:
            torch.testing.assert_close(own[name], other[name], rtol=0, atol=1e-10, msg=name)


def arguments(doc, count):
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count, help="how many models")
    parser.add_argument("--layers", type=int, default=12, help="at most")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files of failures in this directory")
    parser.add_argument("--verbose", action="store_true")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return parser.parse_args()


def run_models(args, tally, work):
    """Calls work(args, tally, number, folder) for each model; --keep leaves the files of failures."""
    with tempfile.TemporaryDirectory(prefix="qkv-deep-") as temporary:
        for number in range(args.count):
            folder = pathlib.Path(args.keep or temporary) / f"{args.seed}-{number}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            failures = len(tally.failures)
            work(args, tally, number, folder)
            if len(tally.failures) == failures:
                shutil.rmtree(folder)


def main():
    args = arguments(__doc__, 15)
    agrees_with_the_other_forward_pass()
    tally = Tally(("passed", "undecided", "wrong"))
    run_models(args, tally, try_model)
    return tally.print("right dumps")


if __name__ == "__main__":
    sys.exit(main())
