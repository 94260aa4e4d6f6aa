#!/usr/bin/python3
"""Numbers at the ends of what a double can be, and those that are none, in every file that is read.

    float_extremes.py QKV
"""

import json
import sys
from pathlib import Path

import numpy as np

import harness
from harness import equal, qkv

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("models", "reference")]
import gpt  # noqa: E402
from safetensors_file import packed_arrays  # noqa: E402

INF, NAN = np.inf, np.nan
ENDS = np.array([[1.7976931348623157e308, -1e308], [5e-324, -2.5e-310], [2.2250738585072014e-308, -0.0]])

RELU = '[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\nsay = "Words."\n'
SCORES = '[[step]]\nname = "S"\nop = "score"\nof = ["X", "X"]\nsay = "Words."\n'
MASKED = ('[[given]]\nname = "X"\nvalue = [[1, 2], [3, 4]]\n' + SCORES
          + '[[step]]\nname = "M"\nop = "mask"\nof = ["S"]\nkind = "causal"\nsay = "Words."\n')


def written(folder, text):
    (folder / "lesson.toml").write_text(text)
    return folder / "lesson.toml"


def write_safetensors(path, array):
    path.write_bytes(packed_arrays({"X": array}, aligned=False))


def write_lines(path, array):
    path.write_text("".join(",".join(repr(float(x)) for x in row) + "\n" for row in array))


WRITERS = {
    "x.csv": write_lines,
    "x.npy": np.save,
    "x.npz": lambda path, array: np.savez(path, X=array),
    "x.safetensors": write_safetensors,
    "x.json": lambda path, array: path.write_text(json.dumps(array.tolist())),
    "x.txt": lambda path, array: path.write_text(
        np.array2string(array, separator=", ", floatmode="unique", max_line_width=200)),
}


def given(folder, name, array):
    """A lesson whose X is that array, in a file of that format."""
    WRITERS[name](folder / name, array)
    key = 'key = "X"\n' if name.endswith((".npz", ".safetensors")) else ""
    return written(folder, f'[[given]]\nname = "X"\nfile = "{name}"\n{key}{RELU}')


# ---- given files --------------------------------------------------------------------------------


def the_ends_are_read_and_written_to_the_last_bit(folder):
    for name in ("x.csv", "x.npy", "x.npz", "x.safetensors", "x.txt"):
        lesson = given(folder, name, ENDS)
        for form in ("csv", "npy", "json"):
            qkv.printed("export", lesson, "-o", folder / "out", "--format", form, "--plain")
        out = folder / "out"
        equal(np.load(out / "given-X.npy").tobytes(), ENDS.tobytes(), name)
        equal(np.loadtxt(out / "given-X.csv", delimiter=",").tobytes(), ENDS.tobytes(), name)
        equal(np.array(json.loads((out / "lesson.json").read_text())["X"]).tobytes(), ENDS.tobytes(), name)


def infinities_are_read_from_every_format(folder):
    array = np.array([[INF, 1], [-INF, 2]])
    for name in ("x.csv", "x.npy", "x.npz", "x.safetensors", "x.txt"):
        printed = qkv.printed("export", given(folder, name, array), "--step", "Y", "-o", "-", "--plain")
        equal(printed, "inf,1\n0,2\n", name)


def a_given_that_is_no_number_is_reported(folder):
    for name in ("x.csv", "x.npy", "x.npz", "x.safetensors", "x.txt"):
        lesson = given(folder, name, np.array([[1.0, 2], [3, NAN]]))
        done = qkv("run", lesson)
        equal((done.returncode, done.stderr), (2, f"qkv: {lesson}:3:8: X: {name}: row 2, column 2 is "
                                               "blank or nan; a given needs every number\n"))


def terms_that_overflow_both_ways_are_reported(folder):
    lesson = written(folder, '[[given]]\nname = "X"\nvalue = [[1e308, 1e308], [-1e308, 1e308]]\n' + SCORES)
    done = qkv("run", lesson)
    equal((done.returncode, done.stderr), (2, (
        f"qkv: {lesson}:5:8: S: row 1, column 2 is not a number: its terms grew beyond 1.8e308, the "
        "largest number; make its operands smaller\n")))


def norm_of(row, eps):
    size = len(row.split(","))
    return (f'[[given]]\nname = "X"\nvalue = [[{row}]]\n[[given]]\nname = "g"\nones = [{size}]\n'
            f'[[given]]\nname = "b"\nzeros = [{size}]\n[[step]]\nname = "Y"\nop = "layer_norm"\n'
            f'of = ["X", "g", "b"]\neps = {eps}\n')


def a_division_of_0_by_0_is_reported_as_such(folder):
    lesson = written(folder, norm_of("2, 2", 0))
    done = qkv("run", lesson)
    equal((done.returncode, done.stderr), (2, (
        f"qkv: {lesson}:11:8: Y: row 1, column 1 is not a number: 0 was divided by 0; a row whose "
        "numbers are all the same needs an eps above 0\n")))


def a_fault_is_reported_of_the_rows_and_columns_that_are_shown(folder):
    lesson = written(folder, 'convention = "columns"\n' + norm_of("2, 2", 0).replace("[[2, 2]]", "[[2], [2]]"))
    done = qkv("run", lesson)
    assert done.returncode == 2 and "a column whose numbers are all the same" in done.stderr, done.stderr


def squares_and_sums_too_large_for_a_double_are_no_zeros(folder):
    for lesson in (norm_of("1e200, 2e200, 3e200", 1e-5),
                   '[[given]]\nname = "X"\nvalue = [[1e308, 1e308]]\n[[step]]\nname = "Y"\n'
                   'op = "normalise"\nof = ["X"]\n'):
        done = qkv("run", written(folder, lesson))
        equal(done.returncode, 2, lesson)
        assert "its terms grew beyond 1.8e308, the largest number" in done.stderr, done.stderr


def a_number_too_large_for_a_double_is_reported(folder):
    for value in ("[[1e309]]", '"[[1e309]]"'):
        lesson = written(folder, f'[[given]]\nname = "X"\nvalue = {value}\n{RELU}')
        done = qkv("run", lesson)
        equal(done.returncode, 2, value)
        assert f"{lesson}:3:" in done.stderr and "1e309" in done.stderr, done.stderr


# ---- submissions --------------------------------------------------------------------------------


def verdict_of(folder, lesson, name, array):
    work = folder / "work"
    work.mkdir(exist_ok=True)
    for older in work.iterdir():
        older.unlink()
    WRITERS[f"x.{name.split('.')[1]}"](work / name, array)
    done = qkv("check", lesson, work, "--json")
    report = json.loads(done.stdout)
    return done.returncode, report["steps"][0]["verdict"], report["steps"][0]["cells"]


def cells(**counted):
    return {"correct": 0, "rounding": 0, "carried": 0, "undecided": 0, "wrong": 0,
            "blank": 0, **counted}


def what_is_handed_in_may_be_any_number(folder):
    """X Xᵀ is [[5, 11], [11, 25]]; masked, its first row is [5, -inf]."""
    lesson = written(folder, MASKED)
    for form in ("csv", "npy", "txt"):
        for name, array, due in (
                (f"S.{form}", [[5, 11], [11, 25.0]], (0, "correct", cells(correct=4))),
                (f"S.{form}", [[NAN, 11], [11, 25.0]], (1, "wrong", cells(correct=3, wrong=1))),
                (f"S.{form}", [[INF, 11], [11, -INF]], (1, "wrong", cells(correct=2, wrong=2))),
                (f"S.{form}", [[1e308, 11], [11, -1e308]], (1, "wrong", cells(correct=2, wrong=2))),
                (f"S.{form}", [[5e-324, 11], [11, 25]], (1, "wrong", cells(correct=3, wrong=1))),
                (f"M.{form}", [[5, -INF], [11, 25]], (0, "correct", cells(correct=4))),
                (f"M.{form}", [[5, INF], [11, 25]], (1, "wrong", cells(correct=3, wrong=1))),
                (f"M.{form}", [[5, -1e308], [11, 25]], (0, "correct", cells(correct=4)))):
            equal(verdict_of(folder, lesson, name, np.array(array, dtype=float)), due, f"{name} {array}")


def nan_is_wrong_on_paper_and_in_an_array(folder):
    lesson = written(folder, MASKED)
    nothing = np.full((2, 2), NAN)
    equal(verdict_of(folder, lesson, "S.csv", nothing), (1, "wrong", cells(wrong=4)))
    equal(verdict_of(folder, lesson, "S.npy", nothing), (1, "wrong", cells(wrong=4)))
    (folder / "S.json").write_text(json.dumps({"S": nothing.tolist()}))  # as Python spells it
    done = qkv("check", lesson, folder / "S.json", "--json")
    equal((done.returncode, json.loads(done.stdout)["steps"][0]["cells"]), (1, cells(wrong=4)))


# ---- dumps --------------------------------------------------------------------------------------


def dumps_compare_as_torch_compares_them(folder):
    """As torch.testing.assert_close has it for float64, written with NumPy: nan is nan, inf is inf."""
    for one, other, same in (([1, NAN], [1, NAN], True), ([1, NAN], [1, 2], False),
                             ([1, INF], [1, INF], True), ([1, INF], [1, -INF], False),
                             ([1, INF], [1, 1e308], False), ([1e308, -1e308], [1e308, -1e308], True),
                             ([1e308, 0], [-1e308, 0], False), ([5e-324, 1], [0, 1], True), ([3e-7, 1], [0, 1], False),
                             ([5e-324, 1], [5e-324, 1], True)):
        for name, numbers in (("a.npz", one), ("b.npz", other)):
            np.savez(folder / name, S=np.array([numbers], dtype=float))
        try:
            np.testing.assert_allclose(np.array(one, dtype=float), np.array(other, dtype=float), rtol=1e-7, atol=1e-7)
            as_torch = True
        except AssertionError:
            as_torch = False
        done = qkv("compare", folder / "a.npz", folder / "b.npz")
        equal((as_torch, done.returncode, done.stderr), (same, 0 if same else 1, ""), f"{one} {other}")


# ---- models -------------------------------------------------------------------------------------


def probabilities(folder, tensor, value, dtype="F64"):
    weights = gpt.random_weights(2, 24, 3, 8, "out-in", 3)
    name = next(name for name in weights if name.endswith(tensor))
    weights[name].view(-1)[5] = value
    gpt.write_safetensors(folder / "m.safetensors", weights, {"n_head": "4"}, dtype)
    return qkv("export", "--model", folder / "m.safetensors", "--text", "A B C", "--step",
               "probabilities", "-o", "-", "--plain")


def a_weight_that_is_no_number_is_reported(folder):
    """Number 5 of W_in's 96 biases; number 5 of 24 columns of the first word's row."""
    for value, what in ((NAN, "NaN"), (INF, "an infinity"), (-INF, "an infinity")):
        for tensor, name, place in (("h.1.mlp.c_fc.bias", "transformer.h.1.mlp.c_fc.bias", "5"),
                                    ("lm_head.weight", "lm_head.weight", "0, 5")):
            done = probabilities(folder, tensor, value)
            equal((done.returncode, done.stderr), (2, (
                f"qkv: {folder / 'm.safetensors'}: {name} holds {what} at [{place}]; the file is "
                "damaged, or training failed\n")))


def the_largest_and_the_smallest_weights_give_probabilities(folder):
    for value in (3e38, -3e38, 1e-45, -1e-45):
        for tensor in ("wte.weight", "h.0.attn.c_attn.weight", "lm_head.weight"):
            done = probabilities(folder, tensor, value, "F32")
            equal((done.returncode, done.stderr), (0, ""), f"{tensor} {value}")
            rows = np.loadtxt(done.stdout.splitlines(), delimiter=",")
            assert np.all(np.abs(rows.sum(axis=1) - 1) < 1e-12), f"{tensor} {value}: {rows}"


CLAIMS = [
    the_ends_are_read_and_written_to_the_last_bit,
    infinities_are_read_from_every_format,
    a_given_that_is_no_number_is_reported,
    terms_that_overflow_both_ways_are_reported,
    a_division_of_0_by_0_is_reported_as_such,
    a_fault_is_reported_of_the_rows_and_columns_that_are_shown,
    squares_and_sums_too_large_for_a_double_are_no_zeros,
    a_number_too_large_for_a_double_is_reported,
    what_is_handed_in_may_be_any_number,
    nan_is_wrong_on_paper_and_in_an_array,
    dumps_compare_as_torch_compares_them,
    a_weight_that_is_no_number_is_reported,
    the_largest_and_the_smallest_weights_give_probabilities,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
