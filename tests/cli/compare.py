#!/usr/bin/python3
"""qkv compare against numpy.testing.assert_allclose: the same numbers, said of the same arrays.

    compare.py QKV

Each function below is one claim.
"""

import json
import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np

from harness import equal, main, qkv
from exports import write_safetensors


def lesson_arrays(folder):
    equal(qkv("export", "two-heads", "-o", folder / "lesson", "--format", "npz").returncode, 0)
    return dict(np.load(folder / "lesson" / "lesson.npz"))


def numbers_of(text):
    """What a report of either program says of its mismatches."""
    found = [re.search(pattern, text) for pattern in (
        r"Mismatched elements: (\d+) / (\d+) \((\S+)%\)",
        r"Max absolute difference: (\S+)", r"Max relative difference: (\S+)")]
    assert all(found), text
    return [float(number) for match in found for number in match.groups()]


def numpy_says(actual, desired, **tolerance):
    try:
        np.testing.assert_allclose(actual, desired, **tolerance)
    except AssertionError as error:
        return numbers_of(str(error))
    return None


def report(actual, desired, *more):
    done = qkv("compare", actual, desired, "--json", *more)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def what_is_no_matrix_is_skipped_and_said(folder):
    """Notes and settings lie in many dumps; a broken matrix does not pass for one of them."""
    for side in "ab":
        (folder / side).mkdir()
        np.save(folder / side / "scores.npy", np.eye(2))
        (folder / side / "README.txt").write_text("Run of Friday, 8 heads\n")
    (folder / "a" / "config.json").write_text('{"model": "tiny"}')
    done = qkv("compare", folder / "a", folder / "b")
    equal(done.returncode, 0, done.stderr)
    skipped = [line.split(": ")[2] for line in done.stderr.splitlines()]
    equal(skipped, [str(folder / place) for place in
                    ("a/README.txt", "a/config.json, model", "b/README.txt")])
    (folder / "a" / "scores.npy").unlink()
    (folder / "a" / "Q.csv").write_text("1,2\n")
    (folder / "a" / "scores.csv").write_text("1,O\n0,1\n")
    equal(qkv("compare", folder / "a", folder / "b").returncode, 2, "a broken matrix")
    (folder / "a" / "scores.csv").unlink()
    (folder / "a" / "K.npy").write_bytes(b"\x93NUMPY")
    equal(qkv("compare", folder / "a", folder / "b").returncode, 2, "a broken array")
    (folder / "c").mkdir()
    (folder / "c" / "README.txt").write_text("nothing here\n")
    done = qkv("compare", folder / "c", folder / "b")
    equal((done.returncode, "README.txt" in done.stderr), (2, True), "nothing to read")


def the_advice_can_be_pasted(folder):
    (folder / "my dump").mkdir()
    np.save(folder / "my dump" / "scores.npy", np.ones((2, 3, 3)))
    done = qkv("compare", folder / "my dump", "two-heads", "--text", "the cat sat",
               "--set", "W_Q[head 1,1,2]=0.5")
    command = re.search(r"^Cell by cell: (.*)$", done.stdout, re.M).group(1)
    equal(shlex.split(command), ["qkv", "check", "two-heads", "--text", "the cat sat", "--set",
                                 "W_Q[head 1,1,2]=0.5", str(folder / "my dump")])


def the_mismatches_are_numpy_s(folder):
    rng = np.random.default_rng(5)
    for case in range(60):
        shape = tuple(rng.integers(1, 5, size=rng.integers(1, 5)))
        desired = np.round(rng.normal(size=shape), 2)
        noise = rng.normal(size=shape) * 10.0 ** rng.integers(-9, 1)
        actual = desired + noise * (rng.random(shape) < 0.5)
        rtol, atol = rng.choice([0, 1e-7, 1e-3, 0.5]), rng.choice([0, 1e-8, 0.01, 1.0])
        np.savez(folder / "a.npz", S=actual)
        np.savez(folder / "b.npz", S=desired)
        due = numpy_says(actual, desired, rtol=rtol, atol=atol)
        done = qkv("compare", folder / "a.npz", folder / "b.npz", "--rtol", rtol, "--atol", atol)
        equal(done.returncode, 1 if due else 0, f"case {case}: {done.stdout}{done.stderr}")
        if due:
            got = numbers_of(done.stdout)
            assert np.allclose(got, due, rtol=1e-7, atol=1e-8), f"case {case}: {got}, NumPy {due}"
            place = np.argwhere(~np.isclose(actual, desired, rtol=rtol, atol=atol))[0]
            assert f"index [{', '.join(map(str, place))}] from 0" in done.stdout, done.stdout


def infinities_and_nan_are_equal_as_numpy_has_it(folder):
    cases = [([np.nan, 1], [np.nan, 1]), ([np.inf, 1], [np.inf, 1]), ([np.nan, 1], [1, 1]),
             ([np.inf, 1], [-np.inf, 1]), ([-5.0, 1], [-np.inf, 1]), ([0.0], [-0.0])]
    for actual, desired in cases:
        np.savez(folder / "a.npz", S=np.array(actual))
        np.savez(folder / "b.npz", S=np.array(desired))
        close = bool(np.isclose(actual, desired, rtol=1e-7, atol=0, equal_nan=True).all())
        status, said = report(folder / "a.npz", folder / "b.npz")
        equal((status, said["same"]), (0 if close else 1, close), f"{actual}, {desired}")


def every_form_of_the_right_numbers_is_the_same(folder):
    arrays = lesson_arrays(folder)
    for kind in ("float64", "float32", "float16"):
        cast = {f"{i + 1:02}-{name}": array.astype(kind)[None] for i, (name, array) in enumerate(arrays.items())}
        np.savez_compressed(folder / "d.npz", **cast)
        write_safetensors(folder / "d.safetensors", cast)
        (folder / kind).mkdir()
        for name, array in cast.items():
            np.save(folder / kind / f"{name}.npy", array)
        for there in (folder / "d.npz", folder / "d.safetensors", folder / kind):
            for sides in ((there, "two-heads"), ("two-heads", there)):
                status, said = report(*sides)
                verdicts = {step["verdict"] for step in said["steps"]}
                equal((status, len(said["steps"])), (0, len(arrays)), str(sides))
                assert verdicts <= ({"identical"} if kind == "float64" else {"identical", "close"}), verdicts


def a_wrong_cell_is_found_at_its_step(folder):
    arrays = lesson_arrays(folder)
    for kind, off in (("float64", 1e-5), ("float32", 1e-3), ("float16", 0.05)):
        for name in ("W_K", "scaled_scores", "context"):
            wrong = {key: array.astype(kind) for key, array in arrays.items()}
            wrong[name].flat[-1] += off
            np.savez(folder / "d.npz", **wrong)
            status, said = report(folder / "d.npz", "two-heads")
            first = next(step for step in said["steps"] if step["step"] == said["first"])
            equal((status, said["first"], first["mismatched"]), (1, name, 1), kind)
            equal(first["first"]["index"], [size - 1 for size in arrays[name].shape])


def the_cell_is_named_as_the_lesson_names_it(folder):
    arrays = lesson_arrays(folder)
    arrays["scores"][1, 2, 3] += 1
    np.savez(folder / "d.npz", scores=arrays["scores"])
    _, said = report(folder / "d.npz", "two-heads")
    equal(next(s for s in said["steps"] if s["step"] == "scores")["first"]["cell"], "scores[head 2,cat,sat]")
    done = qkv("compare", folder / "d.npz", "two-heads")
    assert f"qkv check two-heads {folder / 'd.npz'}" in done.stdout.replace("\n", " "), done.stdout


def gradients_are_found_as_pytorch_names_them(folder):
    """Autograd keeps Q.grad; people write grad_Q and dQ."""
    export = folder / "way-back"
    equal(qkv("export", "way-back", "-o", export, "--format", "npz").returncode, 0)
    arrays = dict(np.load(next(export.glob("*.npz"))))
    names = {"d_Q": "Q.grad", "d_K": "grad_K", "d_V": "dV", "d_W_Q": "W_Q.grad"}
    np.savez(folder / "dump.npz", **{names.get(name, name): a for name, a in arrays.items()})
    done = qkv("compare", "way-back", folder / "dump.npz")
    equal(done.returncode, 0, done.stdout)
    assert "no step is missing; each array fits a step" in done.stdout, done.stdout
    np.savez(folder / "wrong.npz", **{"Q.grad": arrays["d_Q"] + 0.1})
    equal(qkv("compare", "way-back", folder / "wrong.npz").returncode, 1)


def a_step_missing_from_an_export_counts_and_from_a_dump_does_not(folder):
    qkv("export", "two-heads", "-o", folder / "out", "--format", "npy")
    (folder / "out" / "12-context.npy").unlink()
    equal(report(folder / "out", "two-heads")[1]["first"], "context")
    (folder / "out" / "00-lesson.json").unlink()
    for file in (folder / "out").iterdir():  # now it is any directory of arrays
        file.rename(file.with_name(file.name.split("-", 1)[1]))
    status, said = report(folder / "out", "two-heads")
    equal((status, said["first"]), (0, None))
    qkv("export", "two-heads", "-o", folder / "part", "--step", "Q")
    equal(report(folder / "part", "two-heads")[0], 0)


def a_zip_and_a_folder_inside_are_read_as_their_files(folder):
    out = folder / "box" / "out"
    equal(qkv("export", "two-heads", "-o", out, "--format", "npy").returncode, 0)
    flat = shutil.make_archive(folder / "flat", "zip", out)
    nested = shutil.make_archive(folder / "nested", "zip", folder, "box")
    for place in (flat, nested, folder / "box"):
        equal([said["first"] for said in (report(place, "two-heads")[1], report(out, place)[1])], [None, None])
    file = next(out.glob("*-Q.npy"))
    np.save(file, np.load(file) + 1)
    (out / "12-context.npy").unlink()
    for place in (folder / "box", shutil.make_archive(folder / "wrong", "zip", folder, "box")):
        status, said = report(place, "two-heads")
        equal((status, said["first"], said["missing"]), (1, "Q", ["context"]))
    (folder / "box" / "README.txt").write_text("nothing here\n")
    equal(report(folder / "box", "two-heads")[1]["first"], "Q")
    # A folder beside files of numbers is something else: an older dump, perhaps.
    np.save(folder / "box" / "Q.npy", np.load(file))
    (folder / "box" / "scores").mkdir()
    equal(report(folder / "box", "two-heads")[1]["compared"], 1)
    refusals = {nested: "have different numbers for Q", folder / "cut.zip": "pack the files again"}
    (folder / "cut.zip").write_bytes(Path(flat).read_bytes()[:-30])
    with zipfile.ZipFile(nested, "a") as archive:
        archive.write(file, "other/Q.npy")
    for place, why in refusals.items():
        done = qkv("compare", place, "two-heads")
        equal((done.returncode, why in done.stderr), (2, True))


def shapes_that_differ_are_reported_in_words(folder):
    arrays = lesson_arrays(folder)
    np.savez(folder / "d.npz", X=arrays["X"][:5])
    done = qkv("compare", folder / "d.npz", "two-heads")
    equal(done.returncode, 1)
    assert "The first that differs is X: ACTUAL is 5×4, DESIRED is 7×4." in done.stdout
    np.savez(folder / "d.npz", X=arrays["X"].T)
    np.savez(folder / "e.npz", X=arrays["X"])
    done = qkv("compare", folder / "d.npz", folder / "e.npz")
    equal(done.returncode, 1)
    assert "One has the shape of the other's transpose." in done.stdout


def right_numbers_in_another_shape_are_reported(folder):
    scores = lesson_arrays(folder)["scores"]
    for shape in ((98,), (2, 7, 7, 1)):
        for wrong in (0, 1):
            np.savez(folder / "d.npz", scores=scores.reshape(shape) + wrong)
            for command in (("compare", folder / "d.npz", "two-heads"),
                            ("check", "two-heads", folder / "d.npz")):
                done = qkv(*command)
                equal((done.returncode, "only the shape is not." in done.stdout), (1, not wrong),
                      f"{shape}, {done.stdout}")


def heads_one_below_the_other_are_known(folder):
    scores = lesson_arrays(folder)["scores"]
    for wrong in (0, 1):
        np.savez(folder / "d.npz", scores=scores.reshape(14, 7) + wrong)
        for command in (("compare", folder / "d.npz", "two-heads"),
                        ("check", "two-heads", folder / "d.npz")):
            done = qkv(*command)
            equal((done.returncode, "one below the other" in done.stdout + done.stderr), (wrong, True))


def a_batch_of_one_may_go_without_its_axis(folder):
    equal(qkv("export", "multi-head-512", "-o", folder / "m", "--format", "npz").returncode, 0)
    arrays = {name: array[0] if array.shape[0] == 1 and array.ndim > 2 else array
              for name, array in np.load(folder / "m" / "lesson.npz").items()}
    np.savez(folder / "d.npz", **arrays)
    for command in (("check", "multi-head-512", folder / "d.npz"),
                    ("compare", folder / "d.npz", "multi-head-512")):
        done = qkv(*command)
        equal((done.returncode, "shape;" in done.stdout), (0, False), done.stdout)


def a_batch_is_named_with_what_mends_it(folder):
    arrays = lesson_arrays(folder)
    some = {name: arrays[name] for name in ("Q", "scores", "output")}
    for kind, two in (("heads first", {name: np.stack([a, a + 1]) for name, a in some.items()}),
                      ("heads inside", {name: np.stack([a, a + 1]).swapaxes(1, 2) if a.ndim == 3 and name == "Q"
                                        else np.stack([a, a + 1]) for name, a in some.items()})):
        np.savez(folder / "two.npz", **two)
        for sides, which in (((folder / "two.npz", "two-heads"), "ACTUAL"),
                             (("two-heads", folder / "two.npz"), "DESIRED")):
            done = qkv("compare", *sides)
            equal(done.returncode, 1)
            hint = f"\n{which} may hold a batch of 2 sentences: --batch 1 compares the first of them.\n"
            assert hint in done.stdout, (kind, done.stdout)
            equal(qkv("compare", *sides, "--batch", "1").returncode, 0, kind)
            equal(qkv("compare", *sides, "--batch", "2").returncode, 1, kind)
    np.savez(folder / "one.npz", **{name: a[None] for name, a in some.items()})
    equal(qkv("compare", folder / "one.npz", "two-heads", "--batch", "1").returncode, 0)
    equal(qkv("compare", folder / "one.npz", "two-heads", "--batch", "2").returncode, 2)
    # Heads after the tokens are no batch, whatever the first size is.
    np.savez(folder / "mixed.npz", Q=arrays["Q"].swapaxes(0, 1), output=arrays["output"][None])
    equal(qkv("compare", folder / "mixed.npz", "two-heads", "--batch", "1").returncode, 0)
    for other in (some["output"][:-1], some["output"].T, np.concatenate([some["output"]] * 2)):
        np.savez(folder / "no.npz", output=other)
        assert "batch" not in qkv("compare", folder / "no.npz", "two-heads").stdout


def what_is_wrong_behind_another_shape_is_reported(folder):
    arrays = lesson_arrays(folder)
    np.savez(folder / "d.npz", scores=arrays["scores"].reshape(98), context=arrays["context"] + 1)
    text = qkv("compare", folder / "d.npz", "two-heads").stdout
    assert "The first that differs is scores: ACTUAL is 98" in text, text
    assert "The first that differs in more than that is context.\n" in text, text


def bad_input_ends_with_status_2(folder):
    np.savez(folder / "strange.npz", np.eye(2))
    (folder / "empty").mkdir()
    (folder / "broken.npz").write_bytes(b"PK")
    for name, says in (("strange.npz", "no step in common"), ("empty", "there are no matrices in it"),
                       ("broken.npz", "broken.npz"), ("nothing.npy", "there is no such file")):
        done = qkv("compare", folder / name, "two-heads")
        equal((done.returncode, done.stdout), (2, ""), name)
        assert says in done.stderr, done.stderr
    for bad in ("-1", "x", "nan", "inf"):
        done = qkv("compare", "two-heads", "two-heads", "--rtol=" + bad)
        equal(done.returncode, 2, bad)
        assert f'"{bad}" is not a tolerance; write a number of 0 or more' in done.stderr, done.stderr
        equal(done.stderr.count("\n"), 1, done.stderr)


def one_tolerance_alone_leaves_the_other_to_numpy(folder):
    desired = np.array([1e-6, 1], dtype="f4")
    for actual in ([2e-6, 1], [1e-6, 1.000001], [1e-6, 1.01]):
        actual = np.array(actual, dtype="f4")
        np.savez(folder / "a.npz", S=actual)
        np.savez(folder / "b.npz", S=desired)
        for tolerance in ({"rtol": 1e-3}, {"atol": 1e-7}, {"atol": 1e-4}):
            options = [word for key, value in tolerance.items() for word in (f"--{key}", value)]
            close = numpy_says(actual.astype("f8"), desired.astype("f8"), **tolerance) is None
            equal(report(folder / "a.npz", folder / "b.npz", *options)[0], 0 if close else 1,
                  f"{actual}, {tolerance}")


def nan_on_one_side_is_said_and_counted(folder):
    np.savez(folder / "a.npz", S=[np.nan, 1, np.nan, 4])
    np.savez(folder / "b.npz", S=[1.0, 1, np.nan, 4])
    done = qkv("compare", folder / "a.npz", folder / "b.npz")
    equal(re.search(r"^S .*", done.stdout, re.M).group().split(), ["S", "4", "nan", "nan", "DIFFERS"])
    assert "nan location mismatch: 1 of these" in done.stdout, done.stdout
    assert "Max absolute difference: 0, nan aside\n" in done.stdout, done.stdout
    equal(report(folder / "a.npz", folder / "b.npz")[1]["steps"][0]["nan_mismatched"], 1)


def nan_is_wrong_whatever_it_follows_from(folder):
    """The root of a number that is a little below 0, as rounding leaves it where 0 is due."""
    root = 2 ** 0.5
    (folder / "l.toml").write_text(f'''title = "Roots"
[[given]]
name = "A"
value = [[2, 4], [9, 16]]
[[given]]
name = "B"
value = [[{root!r}, 0], [0, 0]]
''' + "".join(f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {of}\n' for name, op, of in (
        ("S", "sqrt", '["A"]'), ("D", "subtract", '["S", "B"]'), ("R", "sqrt", '["D"]'))))
    for own, status in ((root, 0), (np.nextafter(root, 0), 1)):
        roots = np.array([[own, 2], [3, 4]])
        difference = roots - [[root, 0], [0, 0]]
        with np.errstate(invalid="ignore"):
            np.savez(folder / "d.npz", S=roots, D=difference, R=np.sqrt(difference))
        equal(report(folder / "d.npz", folder / "l.toml")[0], status, str(own))


def nan_on_both_sides_is_no_difference_and_said(folder):
    np.savez(folder / "a.npz", S=[np.nan, 1, np.nan, 4])
    np.savez(folder / "b.npz", S=[np.nan, 1, np.nan, 4])
    status, told = report(folder / "a.npz", folder / "b.npz")
    equal((status, told["steps"][0]["nan_both"]), (0, 2))
    text = qkv("compare", folder / "a.npz", folder / "b.npz").stdout
    assert "nan in both at the same places: S (2 of 4)\n" in text, text


def half_precision_near_zero_is_off_by_what_the_large_numbers_were_rounded_by(folder):
    desired = np.array([4.0, 0.001], "f4")
    for off, due in ((0.003, 0), (0.005, 1)):  # 4 · 2^-10 = 0.0039
        np.savez(folder / "a.npz", S=(desired + [0, off]).astype("f2"))
        np.savez(folder / "b.npz", S=desired)
        equal(report(folder / "a.npz", folder / "b.npz")[0], due, off)


def a_directory_does_not_tell_what_was_computed_first(folder):
    """Its files are sorted by name, so the order of the other side counts, whichever side that is."""
    names = [f"blocks.{layer}.{part}" for layer in range(11) for part in ("v", "pattern", "z", "mlp")] + ["a_head"]
    right = {name: np.full((2, 2), i + 1.0) for i, name in enumerate(names)}
    wrong = {name: array * (2 if i >= 8 else 1) for i, (name, array) in enumerate(right.items())}  # from blocks.2.v on
    for folder_of, arrays in (("right", right), ("wrong", wrong)):
        (folder / folder_of).mkdir()
        np.savez(folder / f"{folder_of}.npz", **arrays)
        for name, array in arrays.items():
            np.save(folder / folder_of / f"{name}.npy", array)
    for sides in (("right", "wrong.npz"), ("right.npz", "wrong"), ("wrong", "right.npz")):
        done = qkv("compare", *(folder / side for side in sides), "--json")
        equal(json.loads(done.stdout)["first"], "blocks.2.v", " ".join(sides))
    done = qkv("compare", folder / "right", folder / "wrong")
    assert "Neither side says what was computed first. By name, the first that differs is a_head." in \
        " ".join(done.stdout.split()), done.stdout
    said = json.loads(qkv("compare", folder / "right", folder / "wrong", "--json").stdout)
    equal((said["first"], said["sorted_by_name"]), ("a_head", True))
    shown = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("blocks.")]
    equal(shown, sorted(shown, key=lambda name: (int(name.split(".")[1]), name.split(".")[2])))


def what_names_nothing_is_refused(folder):
    np.savez(folder / "a.npz", scores=[1.0, 2])
    for more, says in (("--tol", "scorse=1"), ': no step has that name; did you mean "scores"?\n'), \
                      (("--map", "weights=scores"), ' has no array "weights"; it has scores\n'), \
                      (("--map", "scores=weights"), ' has no array "weights"; it has scores\n'), \
                      (("--map", "scores=*"), " more * after the = than before it; each stands for one of those"), \
                      (("--batch", "5"), " is a batch of 5 sentences or more where the other side has one;"), \
                      (("--require", ""), ': ' + str(folder / "a.npz") + " has no such step\n"):
        done = qkv("compare", folder / "a.npz", folder / "a.npz", *more)
        equal((done.returncode, says in done.stderr), (2, True), done.stderr)


def tokens_as_columns_stand_beside_what_they_are(folder):
    arrays = lesson_arrays(folder)
    turned = {name: np.swapaxes(arrays[name], -1, -2).copy() for name in
              ("Q", "K", "V", "scores", "scaled_scores", "attention_weights", "context")}
    turned["scores"][..., 1, 4] += 3
    np.savez(folder / "turned.npz", **turned)
    equal(report(folder / "turned.npz", "two-heads")[1]["first"], "Q")
    status, told = report(folder / "turned.npz", "two-heads", "--columns")
    first = next(step for step in told["steps"] if step["step"] == "scores")
    equal((status, told["first"]), (1, "scores"))
    right = arrays["scores"].reshape(-1, 7, 7)[0, 4, 1]
    equal((first["first"]["index"][-2:], first["first"]["actual"], first["first"]["desired"]),
          ([4, 1], right + 3, right))
    equal(first["max_absolute"], 3)


def rounded_digits_are_right_within_what_was_written(folder):
    qkv("export", "two-heads", "-o", folder / "r", "--digits", "3")
    done = qkv("compare", folder / "r", "two-heads")
    equal(done.returncode, 0, done.stdout)
    output = next((folder / "r").glob("*-output.csv"))
    output.write_text(output.read_text().replace("\nthe,", "\nthe,7", 1))
    text = qkv("compare", folder / "r", "two-heads").stdout
    assert "The first that differs is output.\n" in text, text


def names_are_known_whatever_their_capitals(folder):
    arrays = lesson_arrays(folder)
    np.savez(folder / "low.npz", **{"q": arrays["Q"] + 1, "Scaled-Scores": arrays["scaled_scores"]})
    done = qkv("compare", folder / "low.npz", "two-heads")
    equal((done.returncode, "The first that differs is Q.\n" in done.stdout), (1, True))
    np.savez(folder / "both.npz", q=arrays["Q"] + 1, Q=arrays["Q"])  # which of them is meant?
    done = qkv("compare", folder / "both.npz", "two-heads", "--all")
    equal((done.returncode, re.search("^q .* only in ACTUAL$", done.stdout, re.M) is not None),
          (0, True))


def a_finite_mask_is_named_and_no_difference(folder):
    masked = lesson_arrays(folder)["masked_scores"]
    for low, hides in ((-1e9, True), (np.finfo("f4").min, True), (-5.0, False)):
        np.savez(folder / "d.npz", masked_scores=np.where(np.isinf(masked), low, masked))
        done = qkv("compare", folder / "d.npz", "two-heads")
        equal((done.returncode, "both hide" in done.stdout), (0 if hides else 1, hides),
              str(low))


def a_finite_mask_does_not_hide_what_is_wrong(folder):
    """In its own matrix or behind it."""
    arrays = lesson_arrays(folder)
    masked = arrays["masked_scores"]
    finite = np.where(np.isinf(masked), -1e9, masked)
    seen = finite.copy()
    seen[1, 5, 6] = 0.5  # a later word is seen
    for change, first, cell in (({"context": arrays["context"] + 1}, "context", [0, 0, 0]),
                                ({"masked_scores": seen}, "masked_scores", [1, 5, 6])):
        np.savez(folder / "d.npz", **{**arrays, "masked_scores": finite, **change})
        status, said = report(folder / "d.npz", "two-heads")
        equal((status, said["first"]), (1, first))
        steps = {step["step"]: step for step in said["steps"]}
        equal(steps[first]["first"]["index"], cell)
        equal(steps["masked_scores"]["finite_masks"], 42 - (first == "masked_scores"))


def a_row_without_a_key_to_see_is_no_finite_mask(folder):
    """Softmax makes equal weights of it, and none of -inf."""
    np.savez(folder / "a.npz", S=[[-1e9, -1e9], [1, -1e9], [-9000, -1000]])
    np.savez(folder / "b.npz", S=[[-np.inf, -np.inf], [1, -np.inf], [-9000, -np.inf]])
    status, said = report(folder / "a.npz", folder / "b.npz")
    equal((status, said["steps"][0]["finite_masks"], said["steps"][0]["mismatched"]), (1, 1, 3))


def a_cell_of_a_large_matrix_is_as_exact_as_that_of_a_small_one(folder):
    """Sums and differences of whole numbers are rounded nowhere, however many cells there are."""
    rng = np.random.default_rng(20261130)
    a, p = rng.integers(-9, 10, (80, 80)), rng.integers(-10**6, 10**6, (80, 80))
    b = a + p + rng.integers(-1, 2, (80, 80))
    text = 'title = "Large"\n' + "".join(
        f'[[given]]\nname = "{name}"\nvalue = {array.tolist()}\n' for name, array in (("A", a), ("P", p), ("B", b)))
    for name, op, of in (("S", "add", '["A", "P"]'), ("C", "subtract", '["S", "B"]'), ("D", "add", '["C", "C"]')):
        text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {of}\n'
    (folder / "l.toml").write_text(text)
    sums = (a + p).astype(float)
    for off, cell, first in ((0, 0, None), (0.9e-6, 0, "C"), (0, 1e-9, "C"), (0, 3, "C"), (5, 0, "S")):
        wrong = sums.copy()
        wrong[4, 6] += off
        change = wrong - b
        change[7, 7] += cell
        np.savez(folder / "d.npz", S=wrong, C=change)
        status, said = report(folder / "d.npz", folder / "l.toml")
        equal((status, said["first"]), (int(first is not None), first), f"{off} {cell}")
        changed = (sums - b) * 2
        changed[9, 9] += cell
        np.savez(folder / "d.npz", D=changed)  # of a step that follows from one that is not there
        equal(report(folder / "d.npz", folder / "l.toml")[0], int(cell != 0), f"D {cell}")


def text_of_float32_numbers_is_compared_like_float32(folder):
    """A program's arrays by json.dump, and by numpy.savetxt; short numbers in full width show no type."""
    x = np.random.default_rng(3).normal(size=(6, 8)).astype(np.float32)
    near = x * np.float32(1 + 1e-6)
    for name, array in (("a", x), ("b", near), ("c", x * np.float32(1.001))):
        (folder / f"{name}.json").write_text(json.dumps({"h0.gate": array.tolist()}))
    equal([report(folder / "a.json", folder / f"{name}.json")[0] for name in "abc"], [0, 0, 1])
    np.savez(folder / "b.npz", **{"h0.gate": near.astype(np.float64)})  # a type of its own
    equal(report(folder / "b.npz", folder / "a.json")[0], 0)
    for right, wrong in ((9.0, 9.03), (0.25, 0.252), (1.0, 1.00001)):
        for name, number in (("right", right), ("wrong", wrong)):
            (folder / name).mkdir(exist_ok=True)
            np.savetxt(folder / name / "scores.csv", np.array([[1, 0], [number, 1]]), delimiter=",")
        equal(report(folder / "wrong", folder / "right")[0], 1, f"{wrong} for {right}")


CLAIMS = [
    text_of_float32_numbers_is_compared_like_float32,
    a_cell_of_a_large_matrix_is_as_exact_as_that_of_a_small_one,
    what_is_no_matrix_is_skipped_and_said,
    the_advice_can_be_pasted,
    the_mismatches_are_numpy_s,
    infinities_and_nan_are_equal_as_numpy_has_it,
    every_form_of_the_right_numbers_is_the_same,
    a_wrong_cell_is_found_at_its_step,
    the_cell_is_named_as_the_lesson_names_it,
    gradients_are_found_as_pytorch_names_them,
    a_step_missing_from_an_export_counts_and_from_a_dump_does_not,
    a_zip_and_a_folder_inside_are_read_as_their_files,
    shapes_that_differ_are_reported_in_words,
    right_numbers_in_another_shape_are_reported,
    heads_one_below_the_other_are_known,
    a_batch_of_one_may_go_without_its_axis,
    a_batch_is_named_with_what_mends_it,
    what_is_wrong_behind_another_shape_is_reported,
    bad_input_ends_with_status_2,
    one_tolerance_alone_leaves_the_other_to_numpy,
    nan_on_one_side_is_said_and_counted,
    nan_is_wrong_whatever_it_follows_from,
    nan_on_both_sides_is_no_difference_and_said,
    half_precision_near_zero_is_off_by_what_the_large_numbers_were_rounded_by,
    a_directory_does_not_tell_what_was_computed_first,
    what_names_nothing_is_refused,
    tokens_as_columns_stand_beside_what_they_are,
    rounded_digits_are_right_within_what_was_written,
    names_are_known_whatever_their_capitals,
    a_finite_mask_is_named_and_no_difference,
    a_finite_mask_does_not_hide_what_is_wrong,
    a_row_without_a_key_to_see_is_no_finite_mask,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
