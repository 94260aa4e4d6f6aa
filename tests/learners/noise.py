"""Random lessons with batches, heads and masks that repeat over them, and noise handed in for them.

Usage: noise.py QKV [--seed N] [--lessons N]   Whatever is handed in, check and compare end with a
verdict (status 0 or 1) or refuse it (2); what qkv itself exported passes.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


class Drawn:
    """A random lesson: some steps from E to a context or an output."""

    def __init__(self, rng):
        self.rng, self.givens, self.steps = rng, [], []
        self.n, self.heads = int(rng.integers(1, 5)), self.pick(1, 2)
        self.batch, self.d = self.pick(0, 0, 1, 2, 3), 2 * int(rng.integers(1, 5))
        self.columns = self.pick(False, False, True)
        self.draw()

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def maybe(self, share):
        return self.rng.random() < share

    def given(self, name, *shape):
        self.givens.append((name, self.rng.integers(-6, 7, size=shape) / 2))
        return name

    def step(self, name, op, *of, **options):
        self.steps.append((name, op, list(of), options))
        return name

    def leading(self):
        return (self.batch,) if self.batch and self.maybe(0.7) else ()

    def draw(self):
        x = self.given("E", *self.leading(), self.n, self.d)
        if self.maybe(0.6):
            x = self.step("X", "add", x, self.given("P", *self.leading(), self.n, self.d))
        if self.maybe(0.4):
            x = self.step("norm", "layer_norm", x, self.given("gain", self.d), self.given("bias", self.d))
        for name in "QKV":
            bias = [self.given(f"b_{name}", self.d)] if self.maybe(0.4) else []
            weight = self.given(f"W_{name}", self.d, self.d)
            if self.heads == 1:
                self.step(name, "project", x, weight, *bias)
            else:
                whole = self.step(f"{name}_all", "project", x, weight, *bias)
                self.step(name, "split_heads", whole, heads=self.heads)
        last = self.step("scores", "score", "Q", "K")
        if self.maybe(0.5):
            last = self.step("scaled_scores", "scale", last)
        if self.maybe(0.4):
            last = self.step("masked_scores", "mask", last, kind="causal")
        elif self.maybe(0.6):
            shape = self.pick((), (self.heads,), (self.batch or 1, self.heads)) + (self.n, self.n)
            self.givens.append(("M", (self.rng.random(shape) < 0.7).astype(float)))
            last = self.step("masked_scores", "mask", last, "M", kind="given")
        last = self.step("attention_weights", "softmax", last, axis=self.pick("rows", "rows", "columns"))
        last = self.step("context", "weighted_sum", last, "V")
        if self.heads > 1:
            last = self.step("joined", self.pick("concat_heads", "concat_heads", "sum_heads"), last)
        if self.maybe(0.5) and self.steps[-1][1] != "sum_heads":
            last = self.step("output", "project", last, self.given("W_O", self.d, self.d))
            last = self.step("residual", "add", x, last)
        if self.maybe(0.3):
            self.step("active", self.pick("relu", "gelu"), last)

    def toml(self):
        turned = lambda v: np.swapaxes(v, -1, -2) if self.columns and v.ndim > 1 else v
        text = f'title = "t"\nsummary = "s"\nsource = "drawn"\nconvention = "{"columns" if self.columns else "rows"}"\n'
        for name, value in self.givens:
            text += f'[[given]]\nname = "{name}"\nvalue = {json.dumps(turned(value).tolist())}\n'
        for name, op, of, options in self.steps:
            text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n'
            text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
        return text


def spoiled(rng, a):
    """The array with noise, or in another shape."""
    kind = rng.integers(9)
    if kind == 0:
        return a + rng.integers(-1, 2, size=a.shape)
    if kind == 1:
        return np.zeros_like(a)
    if kind == 2 and a.ndim > 1:
        return np.swapaxes(a, -1, -2).copy()
    if kind == 3 and a.ndim > 2:
        return a[0]
    if kind == 4 and a.shape[-1] > 1:
        return a[..., :-1]
    if kind == 5:
        return np.full_like(a, np.nan)
    if kind == 6:
        a = a.copy()
        a[..., 0] = np.inf
    return a


def hand_in(rng, arrays, folder):
    folder.mkdir()
    for name, a in arrays.items():
        if rng.random() < 0.3:
            continue
        with np.errstate(all="ignore"):
            a = spoiled(rng, a).astype(["f8", "f4", "f2"][rng.integers(3)])
        if a.ndim <= 2 and rng.random() < 0.5:
            form = ["%.2f", "%g", "%.0f", "%.3e"][rng.integers(4)]
            np.savetxt(folder / f"{name}.csv", np.atleast_2d(a), delimiter=",", fmt=form)
        else:
            np.save(folder / f"{name}.npy", a)


def try_lesson(qkv, rng, folder):
    """What went wrong with a lesson, as texts."""
    wrong = []

    def run(statuses, *words):
        done = subprocess.run([qkv, *map(str, words)], capture_output=True, text=True)
        if done.returncode not in statuses:
            wrong.append(f"status {done.returncode}: {' '.join(map(str, words))}: {(done.stderr or done.stdout)[:300]}")
        return done.returncode

    folder.mkdir()
    lesson = folder / "lesson.toml"
    lesson.write_text(Drawn(rng).toml())
    if run((0, 2), "export", lesson, "-o", folder / "out", "--format", "npy") != 0:
        return wrong  # infinities met, or there is no axis of heads
    run((0,), "check", lesson, folder / "out")
    run((0,), "compare", folder / "out", lesson)
    arrays = {path.stem.split("-", 1)[1]: np.load(path) for path in sorted((folder / "out").glob("[0-9]*.npy"))}
    for trial in range(3):
        work = folder / f"work-{trial}"
        hand_in(rng, arrays, work)
        if any(work.iterdir()):
            run((0, 1, 2), "check", lesson, work, "--json")
            run((0, 1, 2), "compare", work, lesson)
            run((0, 1, 2), "compare", work, folder / "out")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=25)
    args = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="qkv-noise-") as folder:
        for number in range(args.lessons):
            rng = np.random.default_rng([args.seed, number])
            wrong += [f"lesson {number}: {text}" for text in try_lesson(args.qkv, rng, pathlib.Path(folder) / str(number))]
    print("\n".join(wrong) or f"{args.lessons} lessons, each with noise handed in three times: no fault")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
