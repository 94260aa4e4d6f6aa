#!/usr/bin/python3
"""How little memory large work takes where only its end is looked at.

    peak_memory.py QKV
"""

import sys

import numpy as np

import harness
from harness import equal, qkv
from resource_limits import STEP, peak_of, written

TOKENS, FEATURES, WINDOW = 16_384, 16, 2_000
NUMBERS = 4 * TOKENS * FEATURES * 8 / 2**20  # of Q, K, V and the output, in MiB

LESSON = ('[random]\ngenerator = "numpy"\nseed = 0\n'
          + "".join(f'[[given]]\nname = "{name}"\nrandn = [{TOKENS}, {FEATURES}]\n' for name in "QKV")
          + STEP.format("scores", "score", '["Q", "K"]') + STEP.format("scaled", "scale", '["scores"]')
          + STEP.format("masked", "mask", '["scaled"]') + f'kind = "sliding_window"\nwidth = {WINDOW}\n'
          + STEP.format("A", "softmax", '["masked"]') + STEP.format("output", "weighted_sum", '["A", "V"]'))


def outputs(places):
    """Those rows of the output, by NumPy."""
    draw = np.random.RandomState(0)
    q, k, v = (draw.randn(TOKENS, FEATURES) for _ in "QKV")
    rows = []
    for i in places:
        seen = slice(max(0, i + 1 - WINDOW), i + 1)
        scores = q[i] @ k[seen].T / FEATURES**0.5
        weights = np.exp(scores - scores.max())
        rows.append(weights / weights.sum() @ v[seen])
    return np.array(rows)


def an_output_alone_needs_no_scores(folder):
    """All scores would be 2 GiB."""
    lesson = written(folder, LESSON)
    peak, status, said = peak_of("export", lesson, "--step", "output", "--format", "npy", "-o", folder / "out",
                                 "--memory", "150M", "--threads", "2")
    equal(status, 0, said)
    assert peak < NUMBERS + 100, f"{peak:.0f} MiB"
    got = np.load(folder / "out" / "05-output.npy")
    places = [0, 1, 1999, 2000, 8191, 8192, 16383]
    assert np.allclose(got[places], outputs(places), rtol=0, atol=1e-12)


def a_cell_of_it_is_explained_without_the_others(folder):
    lesson = written(folder, LESSON + STEP.format("Y", "relu", '["output"]'))
    due = max(0, outputs([12_345])[0][6])
    peak, status, said = peak_of("explain", lesson, "Y[12346,7]", "--digits", "12", "--memory", "150M",
                                 "--threads", "2")
    equal(status, 0, said)
    assert peak < NUMBERS + 100, f"{peak:.0f} MiB"
    assert f"{due:.12f}".rstrip("0") in said, said


def between(step, options, of='["scores"]'):
    """The rest of a small lesson, with this step between the scores and their softmax."""
    return (STEP.format("scores", "score", '["Q", "K"]') + STEP.format("changed", step, of) + options
            + STEP.format("A", "softmax", '["changed"]') + STEP.format("output", "weighted_sum", '["A", "V"]'))


WITH_SINKS = (STEP.format("scores", "score", '["Q", "K"]') + STEP.format("A", "softmax", '["scores", "sinks"]')
              + STEP.format("output", "weighted_sum", '["A", "V"]'))
OTHERS = {
    "sinks": WITH_SINKS,
    "relative_bias": between("relative_bias", "", '["scores", "table"]'),
    "both": between("relative_bias", "bidirectional = true\nmax_distance = 40\n", '["scores", "table"]'),
    "mask": between("mask", "", '["scores", "keep"]'),
    "one row of it": between("mask", "", '["scores", "keep_keys"]'),
    "padding": between("mask", 'kind = "padding"\npad = 0\n', '["scores", "ids"]'),
}


def by_blocks_it_is_as_with_everything_kept(folder):
    """1,100 × 1,000 scores in each of two heads, which the output alone does not keep."""
    queries, keys = 1100, 1000
    givens = (("Q", (2, queries, 8)), ("K", (2, keys, 8)), ("V", (2, keys, 8)), ("sinks", (2,)),
              ("table", (8, 2)), ("keep", (queries, keys)), ("keep_keys", (1, keys)), ("ids", (1, keys)))
    draw = np.random.RandomState(3)
    lesson = ""
    for name, shape in givens:
        numbers = draw.randn(*shape)
        np.save(folder / f"{name}.npy", numbers > 0.3 if name[:3] in ("kee", "ids") else numbers)
        lesson += f'[[given]]\nname = "{name}"\nfile = "{name}.npy"\n'
    keep = np.load(folder / "keep.npy")
    keep[5] = False  # a query that sees nothing
    np.save(folder / "keep.npy", keep)
    for name, steps in OTHERS.items():
        path = written(folder, lesson + steps)
        for out, chosen in (("all", ()), ("alone", ("--step", "output"))):
            ran = qkv("export", path, "--format", "npy", "-o", folder / out, *chosen)
            equal(ran.returncode, 0, f"{name}: {ran.stderr}")
        output = next(path.name for path in (folder / "alone").glob("*output.npy"))
        whole, alone = (np.load(folder / out / output) for out in ("all", "alone"))
        assert np.allclose(alone, whole, rtol=0, atol=1e-12), f"{name}: {np.abs(alone - whole).max()}"


CLAIMS = [by_blocks_it_is_as_with_everything_kept, an_output_alone_needs_no_scores, a_cell_of_it_is_explained_without_the_others]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
