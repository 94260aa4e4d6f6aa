#!/usr/bin/python3
"""An independent second opinion on a lesson: every step again, with NumPy.

    reference.py QKV [LESSON.toml...]      export each lesson with QKV, compare every given and step
    reference.py --expect [LESSON.toml...] no program: each [[expect]] against NumPy's own numbers

Without lessons: those of the course and of tests/data/lessons/good, and the folders of worked examples
(*/lesson.toml) in the directory that QKV_CORPUS names.

It shares nothing with the program but the description of lesson files: it reads the TOML with
tomllib, draws with NumPy's and PyTorch's own generators, and computes in double precision.
One line for each matrix that differs, one line for each lesson; exit status 1 on any difference.

Inside, rows are tokens. A lesson in columns is turned over as it is read (all but vectors and
token ids) and turned back before anything is compared.

What a lesson's [model] lays out is worked out from its file, as model.py says. Not covered: `tokenise`
by byte pairs, which is reported as skipped; ./dev tokens looks at it.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from errors import LessonError, Skipped
from lesson import Lesson
from operations import matrix
from pasted import as_array, flat, half_units, tokens_of

TOLERANCE = 1e-12  # of the largest finite magnitude in the matrix


def size(a):
    return " x ".join(str(n) for n in a.shape)


def cell(place):
    """'[head 2,3,1]' for people: from 1, the leading axis as it is."""
    return "[" + ",".join(str(i + 1) for i in place) + "]"


def difference(want, got, allowed):
    """None if every cell of `got` is within `allowed` of `want`, else a sentence about the first."""
    if want.shape != got.shape:
        return f"is {size(got)}, not {size(want)}"
    with np.errstate(invalid="ignore"):
        wrong = ~((want == got) | (np.abs(want - got) <= allowed))
    if not wrong.any():
        return None
    place = tuple(np.argwhere(wrong)[0])
    count = int(wrong.sum())
    others = f" ({count} cells differ)" if count > 1 else ""
    return f"{cell(place)} is {got[place]!r}, not {want[place]!r}{others}"


def check_expectations(lesson):
    """Each [[expect]] against NumPy's numbers, to the digits printed. Returns failures, rows."""
    failures, rows = [], 0
    for expect in lesson.table.get("expect", []):
        name = expect["of"]
        if name not in lesson.values:
            failures.append(f"{name}: expected, but neither a given nor a step")
            continue
        texts = tokens_of(expect["value"])
        want, got = matrix(as_array(texts)), lesson.shown(name)
        allowed = (half_units(flat(texts)) * (1 + 1e-9)).reshape(want.shape)
        if want.shape == got.shape:
            blank = np.isnan(want)  # a cell that the source does not print
            got, want = np.where(blank, 0.0, got), np.where(blank, 0.0, want)
        problem = difference(want, got, allowed)
        if problem:
            failures.append(f"{name}: {problem}")
        rows += want.size // want.shape[-1]
    return failures, rows


FILE_NAME = re.compile(r"(?:(\d+)-|given-)(.+?)((?:\.(?:batch|head)-\d+)*)\.csv")


def read_plain(path):
    with open(path, newline="", encoding="utf-8") as file:
        return np.array([[float(number) for number in row] for row in csv.reader(file)])


def read_export(folder):
    """{(is a given, name): {leading index: matrix}} and {name: step number} of an exported folder."""
    matrices, numbers = {}, {}
    for path in sorted(folder.glob("*.csv")):
        found = FILE_NAME.fullmatch(path.name)
        if not found:
            raise LessonError(f"exported a file with an unknown name, {path.name}")
        number, name, lead = found.groups()
        index = tuple(int(place) - 1 for place in re.findall(r"-(\d+)", lead))
        matrices.setdefault((number is None, name), {})[index] = read_plain(path)
        if number is not None:
            numbers[name] = int(number)
    return matrices, numbers


def compare_one(want, parts):
    """One value against its exported slices."""
    leads = list(np.ndindex(want.shape[:-2]))
    if want.ndim == 2 and len(parts) == want.shape[0] and () not in parts:
        # the ids of a batch: one file of one row for each text
        parts = {(): np.concatenate([parts[index] for index in sorted(parts)])}
    if sorted(parts) != leads:
        return f"has {len(parts)} files, {len(leads)} are due"
    finite = np.abs(want[np.isfinite(want)])
    allowed = TOLERANCE * finite.max(initial=0.0)
    for lead in leads:
        problem = difference(want[lead], parts[lead], allowed)
        if problem:
            return (f"part {cell(lead)}: " if lead else "") + problem
    return None


def check_listing(lesson, folder, numbers):
    """The steps of 00-lesson.json, and the numbers of the files, against the lesson."""
    listing = json.loads((folder / "00-lesson.json").read_text(encoding="utf-8"))
    failures = []
    listed = [step["name"] for step in listing["steps"]]
    if listed != list(lesson.steps):
        failures.append(f"00-lesson.json lists the steps {listed}")
    for place, step in enumerate(listing["steps"], start=1):
        name = step["name"]
        if name not in lesson.steps:
            continue
        if numbers.get(name, place) != place:
            failures.append(f"{name}: is step {place}, its file says {numbers[name]}")
        for key in ("op", "of"):
            due = lesson.steps[name].get(key, [])
            if key == "of" and step["op"] == "backward":
                continue  # which numbers a gradient is worked from is the program's own
            if step.get(key, []) != due:
                failures.append(f"{name}: 00-lesson.json has {key} = {step.get(key)}, not {due}")
        value = lesson.values[name]
        due = list(lesson.shown(name).shape)
        if value.ndim > 1 and step.get("shape") != due:
            failures.append(f"{name}: 00-lesson.json has shape {step.get('shape')}, not {due}")
        files = step.get("files", step.get("file", []))
        for file in [files] if isinstance(files, str) else files:
            if not (folder / file).is_file():
                failures.append(f"{name}: 00-lesson.json names {file}, which is not there")
    return failures


def check_program(program, lesson):
    """Export with the program and compare everything. Returns failures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "export"
        command = [program, "export", str(lesson.path), "--plain", "-o", str(folder)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if ran.returncode != 0:
            return [f"export ended with status {ran.returncode}: {ran.stderr.strip()}"]
        matrices, numbers = read_export(folder)
        failures = check_listing(lesson, folder, numbers)
    for name in lesson.values:
        is_given = name in lesson.givens
        parts = matrices.pop((is_given, name), None)
        problem = compare_one(lesson.shown(name), parts) if parts else "was not exported"
        if problem:
            failures.append(f"{name}: {problem}")
    failures += [f"{name}: exported, but not in the lesson" for _, name in matrices]
    return failures


def all_lessons():
    """The course, the good lessons of the tests and, where it is there, the corpus."""
    root = Path(__file__).resolve().parents[2]
    corpus = Path(os.environ.get("QKV_CORPUS", root.parent / "shared" / "corpus"))
    return [*sorted((root / "lessons").glob("*.toml")),
            *sorted((root / "tests" / "data" / "lessons" / "good").glob("*.toml")),
            *sorted(corpus.glob("*/lesson.toml"))]


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    first, *paths = arguments
    paths = paths or all_lessons()
    all_right = True
    total_rows = 0
    for path in paths:
        label = Path(path).parent.name if Path(path).name == "lesson.toml" else Path(path).stem
        try:
            lesson = Lesson(path)
            if first == "--expect":
                failures, rows = check_expectations(lesson)
                total_rows += rows
                count = len(lesson.table.get("expect", []))
                summary = f"{count} expectations, {rows} rows"
            else:
                failures = check_program(first, lesson)
                summary = f"{len(failures) or 'no'} differences from NumPy beyond 1e-12"
            summary = f"{len(lesson.givens)} givens, {len(lesson.steps)} steps; {summary}"
        except Skipped as reason:
            print(f"{label}: skipped ({reason})")
            continue
        except (LessonError, OSError, KeyError, TypeError, ValueError,
                subprocess.TimeoutExpired) as error:
            print(f"{label}: {type(error).__name__}: {error}")
            all_right = False
            continue
        for failure in failures:
            print(f"{label}: {failure}")
        print(f"{label}: {'FAILED, ' if failures else ''}{summary}")
        all_right = all_right and not failures
    if first == "--expect":
        print(f"{total_rows} expected rows in all")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
