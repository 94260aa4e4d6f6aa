#!/usr/bin/python3
"""How little memory large work takes where only its end is looked at.

    lean.py QKV
"""

import sys

import numpy as np

import claims
from claims import equal, qkv
from limits import STEP, peak_of, written

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


CLAIMS = [an_output_alone_needs_no_scores, a_cell_of_it_is_explained_without_the_others]

if __name__ == "__main__":
    sys.exit(claims.main(CLAIMS, __doc__, sys.argv[1:]))
