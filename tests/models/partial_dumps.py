#!/usr/bin/python3
"""Dumps that hold a part of a model: its last rows, a few of its steps, or arrays under unknown names.

    partial_dumps.py QKV

The steps are PyTorch's (llama.py), in float32; errors are planted in its arithmetic.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv, some  # noqa: E402

import llama  # noqa: E402

IDS = [3, 18, 0, 3, 11, 7, 22]


class Models:
    """A small model of each family, written once, and what PyTorch makes of it."""

    def __init__(self, folder):
        self.folder, self.weights, self.config = folder, {}, {}
        for family in llama.KINDS:
            (folder / family).mkdir()
            self.config[family] = llama.config_of(family)
            self.weights[family] = llama.random_weights(self.config[family])
            llama.write(folder / family, self.config[family], self.weights[family])

    def steps(self, family, instead=None, dtype=torch.float32):
        steps = llama.forward(self.weights[family], IDS, self.config[family], dtype, instead)
        return {name: tensor.numpy() for name, tensor in steps.items() if name != "token_ids"}

    def compared(self, family, arrays, *words):
        np.savez(self.folder / "dump.npz", **arrays)
        done = qkv("compare", self.folder / "dump.npz", "--model", self.folder / family,
                   "--ids", ",".join(map(str, IDS)), *words)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout) if "--json" in words else done.stdout


def last_rows_of(steps, draw):
    """The last token's row of each step, in one of the shapes that programs have."""
    rows = {}
    for name, array in steps.items():
        row = array[..., -1:, :]
        shapes = [row.shape, (1, *row.shape), (row.size,), (1, row.size)]
        if array.ndim == 3:
            shapes += [(1, *row[:, 0].shape), (1, 1, *row[:, 0].shape)]  # heads inside
        rows[name] = row.reshape(draw.choice(shapes))
    return rows


def last_rows_alone_are_known(folder):
    models, draw = Models(folder), random.Random(1)
    for family in some(llama.KINDS):
        steps = models.steps(family)
        rows = last_rows_of(steps, draw)
        status, said = models.compared(family, rows, "--json")
        equal((status, said["compared"], said["unknown"]), (0, len(rows), []), family)
        layouts = {step.get("layout") for step in said["steps"] if step["actual_shape"]}
        equal(layouts, {"the last row alone"}, family)
        mixed = {name: draw.choice([steps, rows])[name] for name in steps}
        equal(models.compared(family, mixed)[0], 0, f"{family}, some rows")
        half = {name: row.astype(np.float16) for name, row in rows.items()}
        equal(models.compared(family, half)[0], models.compared(
            family, {name: array.astype(np.float16) for name, array in steps.items()})[0], f"{family}, float16")


def wrong_last_rows_differ(folder):
    models, draw = Models(folder), random.Random(2)
    for family in some(llama.KINDS):
        steps = models.steps(family)
        rows = last_rows_of(steps, draw)
        for name in draw.sample(sorted(rows), 6):
            array = steps[name]
            first = array[..., :1, :].reshape(rows[name].shape)
            one = rows[name].copy()
            one.flat[draw.randrange(one.size)] += 0.01 * np.abs(array[np.isfinite(array)]).max() + 1e-3
            hole = rows[name].copy()
            hole.flat[draw.randrange(hole.size)] = np.nan
            for wrong in (first, one, hole, np.zeros_like(one), rows[name] * 1.01, -rows[name]):
                if np.array_equal(wrong, rows[name]):
                    continue
                status, said = models.compared(family, rows | {name: wrong}, "--json")
                equal((status, said["first"]), (1, name), f"{family} {name}")
    row = steps["logits"][-1].copy()
    for held in (torch.bfloat16, torch.float16):  # of a program that computes in it and stores float32
        short = torch.from_numpy(row).to(held).float().numpy()
        equal(models.compared(family, {"logits": short})[0], 0, f"{held}")
    row[3] += 1
    status, said = models.compared(family, {"logits": row}, "--json")
    equal((status, [step["verdict"] for step in said["steps"] if step["step"] == "logits"]), (1, ["differs"]))
    for wrong in (np.zeros(23), steps["logits"][0], steps["logits"].mean(0), np.full(23, np.nan)):
        status, said = models.compared(family, {"logits": wrong.astype(np.float32)}, "--json")
        (verdict,) = [step["verdict"] for step in said["steps"] if step["step"] == "logits"]
        equal((status, verdict), (1, "shape"), "no row holds")


def the_stretch_has_the_planted_error(folder):
    models, draw = Models(folder), random.Random(3)
    for case in some(range(60)):
        family = draw.choice(list(llama.KINDS))
        steps = models.steps(family)
        planted = draw.choice([name for name in steps if name.startswith("h")])
        wrong = models.steps(family, {planted: lambda x: torch.where(x.isfinite(), x * 1.25 + 0.01, x)})
        later = list(steps).index(planted)
        names = [name for at, name in enumerate(steps) if at >= later or draw.random() < 0.5]
        dumped = [name for name in names if draw.random() < 0.3] + ["logits"]
        status, said = models.compared(family, {name: wrong[name] for name in dumped}, "--json", "--bisect")
        equal(status, 1, f"case {case}")
        found = said["bisection"]
        equal((found["differs"], found["differs"] in dumped), (said["first"], True))
        stretch = [*found["not_submitted"], found["differs"]]
        assert planted in stretch, (case, family, planted, found)
        equal([name for name in found["not_submitted"] if name in dumped], [], "not submitted")
        assert found["agrees"] is None or found["agrees"] in dumped, found
        equal(found["dump"] is None, len(stretch) == 1)
        if found["dump"]:  # a second dump searches fewer steps
            again = models.compared(family, {name: wrong[name] for name in [*dumped, found["dump"]]},
                                    "--json", "--bisect")[1]["bisection"]
            assert len(again["not_submitted"]) < len(found["not_submitted"]), (found, again)
            assert planted in [*again["not_submitted"], again["differs"]], (planted, again)


def a_last_row_does_not_clear_the_rows_before_it(folder):
    """An error in the other rows of a layer shows in the last row of the next one alone."""
    models = Models(folder)
    wrong = models.steps("llama", {"h0.context": lambda x: x + torch.arange(x.shape[-2]).flip(0)[:, None]})
    rows = {name: array[..., -1, :] for name, array in wrong.items() if name in ("h0.V", "h0.output", "h1.V", "h1.output")}
    status, said = models.compared("llama", rows, "--json", "--bisect")
    found = said["bisection"]
    equal((status, said["first"], found["agrees"], "h0.context" in found["not_submitted"]), (1, "h1.output", None, True))


def the_stretch_is_reported_in_words(folder):
    models = Models(folder)
    wrong = models.steps("llama", {"h1.scores": lambda x: x * 2})
    status, text = models.compared("llama", {name: wrong[name] for name in ("h0.context", "h2.residual2")},
                                   "--bisect")
    flat = " ".join(text.split())
    # What h0.context is made of stands last.
    assert ("The first difference arises between h0.context (agrees) and h2.residual2 (differs): h0.concat, "
            "h0.output, h0.residual1, " in flat), text
    assert " not submitted; dump h1." in flat, text
    status, text = models.compared("llama", {name: wrong[name] for name in ("h1.Q_rope", "h1.K_rope", "h1.scores")},
                                   "--bisect")
    assert "arises in h1.scores itself, after h1.K_rope (agrees)" in " ".join(text.split()), text
    equal("arises" in models.compared("llama", models.steps("llama"), "--bisect")[1], False)
    np.savez(folder / "a.npz", S=np.ones(2))
    done = qkv("compare", folder / "a.npz", folder / "a.npz", "--bisect")
    equal((done.returncode, done.stdout), (2, ""))
    assert "--bisect needs a lesson or a model on one side" in done.stderr, done.stderr


def last_places(actual, desired, kind):
    """The largest difference in last places, by NumPy's own spacing."""
    larger = np.maximum(np.abs(actual), np.abs(desired)).astype(kind)
    return (np.abs(actual - desired) / np.spacing(larger).astype(float)).max()


def the_statistics_are_numpy_s(folder):
    draw = np.random.default_rng(4)
    for case in some(range(40)):
        kind = draw.choice(["float64", "float32", "float16"])
        desired = draw.normal(size=draw.integers(1, 40, size=2)).astype(kind)
        actual = (desired + draw.normal(size=desired.shape) * 10.0 ** draw.integers(-2, 2)).astype(kind)
        np.savez(folder / "a.npz", S=actual)
        np.savez(folder / "b.npz", S=desired)
        (step,) = json.loads(qkv("compare", folder / "a.npz", folder / "b.npz", "--json", "--rtol", "0").stdout)["steps"]
        one, two = actual.astype(float), desired.astype(float)
        apart = np.abs(one - two)
        due = {"mean_absolute": apart.mean(), "percentile_99": np.percentile(apart, 99),
               "units_in_the_last_place": last_places(one, two, kind),
               "cosine": (one * two).sum() / np.linalg.norm(one) / np.linalg.norm(two)}
        for name, value in due.items():
            assert np.isclose(step[name], value, rtol=1e-9), (case, kind, name, step[name], value)
    np.savez(folder / "a.npz", S=[-np.inf, 1.0, np.nan, 3.0])
    np.savez(folder / "b.npz", S=[-np.inf, 1.0, 2.0, 4.0])
    text = qkv("compare", folder / "a.npz", folder / "b.npz").stdout
    assert "\nMean: 0.5, 99th percentile: 0.99, units in the last place (float64): 1.13e+15, cosine: " in text, text


def arrays_under_unknown_names_are_found_by_their_numbers(folder):
    models, draw = Models(folder), random.Random(5)
    for family in some(llama.KINDS):
        steps = models.steps(family)
        hidden = draw.sample([name for name in steps if name.startswith("h1.")], 4)
        arrays = {f"secret.{at}": steps[name] for at, name in enumerate(hidden)}
        arrays = {theirs: array.transpose(1, 0, 2)[None] if array.ndim == 3 and array.shape[1] != array.shape[2]
                  and draw.random() < 0.5 else array for theirs, array in arrays.items()}
        nobodys = {"noise": np.full_like(draw.choice(list(steps.values())), 1.5), "zeros": np.zeros((len(IDS), 20)),
                   "doubled": steps["h0.norm1"] * 2}
        status, said = models.compared(family, arrays | nobodys | {"norm": steps["norm"]}, "--json")
        found = dict(one.split("=") for one in said["maps"])
        equal((status, set(found)), (0, set(arrays)), family)
        for theirs, ours in found.items():
            one, two = (np.sort(steps[name], axis=None) for name in (ours, hidden[int(theirs[-1])]))
            assert np.allclose(one, two, rtol=1e-2, atol=1e-2), (theirs, ours)
        maps = [word for one in said["maps"] for word in ("--map", one)]
        equal(models.compared(family, arrays | {"norm": steps["norm"]}, *maps)[0], 0, f"{family}: the maps fit")
    done = qkv("compare", folder / "dump.npz", "two-heads")
    equal(done.returncode, 2, done.stdout)
    np.savez(folder / "dump.npz", it=steps["h0.norm1"])
    done = qkv("compare", folder / "dump.npz", "--model", folder / family, "--ids", ",".join(map(str, IDS)))
    equal(done.returncode, 2, done.stdout)
    assert done.stderr.endswith("by their numbers: --map 'it=h0.norm1'\n"), done.stderr


CLAIMS = [last_rows_alone_are_known, wrong_last_rows_differ, the_stretch_has_the_planted_error,
          a_last_row_does_not_clear_the_rows_before_it, the_stretch_is_reported_in_words, the_statistics_are_numpy_s,
          arrays_under_unknown_names_are_found_by_their_numbers]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
