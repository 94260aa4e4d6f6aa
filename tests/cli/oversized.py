#!/usr/bin/python3
"""An array far larger than its step costs next to nothing: its numbers are neither read nor unpacked.

    oversized.py QKV
"""

import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np

import harness
from harness import equal, qkv
from resource_limits import peak_of

LESSON = Path(__file__).resolve().parents[2] / "examples" / "two-words.toml"

# Two words of two numbers, worked by hand: Q·Kᵀ. The largest matrices of the lesson have 8 numbers.
SCORES = [[1, 3], [3, 5]]
TOO_MANY = ("it has more than 64 numbers, 16 times as many as the lesson can use of it: keep the step's own "
            "numbers")


def too_large(shape, of="2×2", step="scores"):
    return f"{step} is {shape}, which is more than 16 times the {of} of the lesson: keep the step's own numbers"


def write_safetensors(path, **arrays):
    head, data = {}, b""
    for name, array in arrays.items():
        numbers = np.asarray(array, dtype="<f8").tobytes()
        head[name] = {"dtype": "F64", "shape": np.shape(array),
                      "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


BINARY = {
    "all.npz": lambda path, scores: np.savez(path, scores=scores),
    "packed.npz": lambda path, scores: np.savez_compressed(path, scores=scores),
    "scores.npy": np.save,
    "all.safetensors": lambda path, scores: write_safetensors(path, scores=scores),
}
TEXTS = {
    "scores.csv": lambda path, scores: np.savetxt(path, scores, "%d", ","),
    "scores.tsv": lambda path, scores: np.savetxt(path, scores, "%d", "\t"),
    "scores.txt": lambda path, scores: path.write_text(str(scores.tolist())),
    "scores.json": lambda path, scores: path.write_text(json.dumps(scores.tolist())),
}


def checked(path):
    done = qkv("check", LESSON, path)
    return done.returncode, done.stderr


def sixteen_times_its_step_is_a_wrong_shape_and_more_is_not_read(folder):
    for name, write in {**BINARY, **TEXTS}.items():
        file = folder / name
        write(file, np.zeros((4, 16), dtype=int))
        done = qkv("check", LESSON, file)
        equal((done.returncode, done.stderr), (1, ""), name)
        assert "✗ scores: shape; you have 4×16, it should be 2×2\n" in done.stdout, done.stdout
        write(file, np.zeros((5, 13), dtype=int))
        why = too_large("5×13") if name in BINARY else TOO_MANY
        equal(checked(file), (2, f"qkv: {file}: {why}\n"), name)


def beside_others_it_counts_as_missing(folder):
    right = {"Q.csv": "1,0,1,0\n1,2,1,0\n", "scores.csv": "1,3\n3,5\n"}
    for name, content in {"big": "0,0\n" * 5000, "cut": '"1,3\n', "bytes": "1,\udcff\n3,5\n"}.items():
        (folder / name).mkdir()
        for file, text in {**right, "scores.csv": content}.items():
            (folder / name / file).write_bytes(text.encode(errors="surrogateescape"))
        done = qkv("check", LESSON, folder / name, "--json")
        report = json.loads(done.stdout)
        equal((done.returncode, report["verdict"], [step["step"] for step in report["steps"]]),
              (2, "incomplete", ["Q"]), name)
        assert "scores" in report["missing"], report["missing"]
        assert done.stderr.startswith(f"qkv: {folder / name}/scores.csv: ") and done.stderr.count("\n") == 1
    (folder / "big" / "Q.csv").write_text("1,0,1,0\n1,2,1,7\n")
    done = qkv("check", LESSON, folder / "big")
    equal(done.returncode, 2)
    assert "first slip is in Q" in done.stdout, done.stdout
    equal(qkv("check", LESSON, folder / "big" / "scores.csv").stdout, "")


def compare_lists_the_shape_of_what_it_does_not_read(folder):
    for name, write in BINARY.items():
        file = folder / name
        write(file, np.zeros((5, 13)))
        for sides, shapes in (((file, LESSON), "5×13, 2×2"), ((LESSON, file), "2×2, 5×13")):
            done = qkv("compare", *sides)
            equal((done.returncode, done.stderr), (1, ""), name)
            assert f"scores  {shapes}" in done.stdout and "OTHER SHAPE" in done.stdout, done.stdout
        report = json.loads(qkv("compare", file, LESSON, "--json").stdout)
        step = next(step for step in report["steps"] if step["step"] == "scores")
        equal((step["verdict"], step["actual_shape"], step["desired_shape"]), ("shape", [5, 13], [2, 2]))
    for name, write in TEXTS.items():
        file = folder / name
        write(file, np.zeros((5, 13), dtype=int))
        done = qkv("compare", file, LESSON)
        equal((done.returncode, done.stdout, done.stderr), (2, "", f"qkv: {file}: {TOO_MANY}\n"), name)


def a_bomb_costs_what_its_file_costs(folder):
    """64 MB of zeros, and as many numbers in lines of CSV, in files of some 65 KB."""
    bomb = folder / "bomb.npz"
    np.savez_compressed(bomb, scores=np.zeros((2828, 2828)))
    np.save(folder / "scores.npy", np.zeros((2828, 2828)))
    for name, content in (("scores.npy", (folder / "scores.npy").read_bytes()),
                          ("scores.csv", b"0\n" * 32_000_000), ("scores.json", b"[" + b"0," * 32_000_000)):
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr(name, content)
    plain, status, _ = peak_of("check", LESSON, "/dev/null")
    equal(status, 2)
    done = {}
    for command in (("check", LESSON, bomb), ("compare", bomb, LESSON), ("compare", LESSON, bomb),
                    *(("check", LESSON, folder / f"scores.{kind}.zip") for kind in ("npy", "csv", "json"))):
        peak, status, said = peak_of(*command)
        assert peak < plain + 8, f"{command}: {peak:.0f} MiB, {plain:.0f} without it"
        done[command] = status, said
    equal(done["check", LESSON, bomb], (2, f"qkv: {bomb}: {too_large('2828×2828')}\n"))
    equal(done["compare", bomb, LESSON][0], 1)
    for kind in ("npy", "csv", "json"):
        path = folder / f"scores.{kind}.zip"
        equal(done["check", LESSON, path],
              (2, f"qkv: {path}/scores.{kind}: {63 if kind == 'npy' else 64} MB is more than all 56 numbers of "
                  "the lesson can take; is it the right file?\n"))


def an_array_that_fits_no_step_may_be_large(folder):
    """Dumps hold more than the lesson: caches, tables of tokens."""
    files = {"dump.npz": lambda path, **arrays: np.savez_compressed(path, **arrays),
             "dump.safetensors": write_safetensors}
    for name, write in files.items():
        file = folder / name
        write(file, scores=np.array(SCORES, dtype=float), cache=np.zeros((300, 300)))
        done = qkv("check", LESSON, file)
        equal((done.returncode, done.stderr),
              (0, f"qkv: {file}, cache fits no step of this lesson; an array is named after its step, as in "
                  "\"context\"\n"), name)
        done = qkv("compare", file, LESSON)
        equal((done.returncode, done.stderr), (0, ""), name)
        assert "1 array fits no step: cache." in done.stdout, done.stdout


def a_name_that_only_looks_like_a_step_s_changes_nothing(folder):
    """Scores.npz is scores, whatever its only array is called; it may have what the largest step may."""
    np.savez(folder / "Scores.npz", arr_0=np.zeros((5, 13)))
    equal(checked(folder / "Scores.npz"), (2, f"qkv: {folder / 'Scores.npz'}: {too_large('5×13')}\n"))
    np.save(folder / "stray.npy", np.zeros((50, 50)))
    equal(checked(folder / "stray.npy"), (2, (
        f"qkv: {folder / 'stray.npy'} fits no step of this lesson; a file is named after its step, as in "
        "context.csv\n")))


def a_batch_and_renamed_arrays_are_read(folder):
    """One sentence of a batch is compared, and a name that is mapped says nothing of the size."""
    batch = folder / "batch.npz"
    np.savez(batch, scores=np.array([np.zeros((2, 2))] * 29 + [SCORES]))
    equal(qkv("compare", batch, LESSON).returncode, 1)
    done = qkv("compare", batch, LESSON, "--batch", "30")
    equal((done.returncode, done.stderr), (0, ""))
    assert "scores: sentence 30 of the batch\n" in done.stdout, done.stdout
    renamed = folder / "renamed.npz"
    np.savez(renamed, context=np.array(SCORES, dtype=float), Q=np.zeros((9, 9)))
    done = qkv("compare", renamed, LESSON, "--map", "context=scores")
    assert "Q       9×9, 2×4" in done.stdout, done.stdout


def two_dumps_are_compared_whole(folder):
    for name in ("a.npz", "b.npz"):
        np.savez_compressed(folder / name, scores=np.zeros((300, 300)))
    done = qkv("compare", folder / "a.npz", folder / "b.npz")
    equal((done.returncode, done.stderr), (0, ""))
    assert "All 1 are identical" in done.stdout, done.stdout


CLAIMS = [
    sixteen_times_its_step_is_a_wrong_shape_and_more_is_not_read,
    beside_others_it_counts_as_missing,
    compare_lists_the_shape_of_what_it_does_not_read,
    a_bomb_costs_what_its_file_costs,
    an_array_that_fits_no_step_may_be_large,
    a_name_that_only_looks_like_a_step_s_changes_nothing,
    a_batch_and_renamed_arrays_are_read,
    two_dumps_are_compared_whole,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
