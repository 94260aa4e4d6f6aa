#!/usr/bin/python3
"""Worksheets filled in with the right numbers check as right.

    worksheet.py QKV [LESSON.toml...]   by default every lesson of lessons/ and tests/data/lessons/good/

For each lesson: the blank worksheet is incomplete; filled in with what NumPy gives, rounded to 2, 3,
… 8 decimals, it is correct; and then a second worksheet does not replace it. Every label stays where
it was, every given has the lesson's numbers, and the page holds nothing that could run. The same
numbers as .npz (stored, deflated, float32) and as one .json are correct, too.
"""

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import reference  # noqa: E402

DECIMALS = (2, 3, 5, 8)
MANY_CELLS = 10_000  # a larger lesson takes long to fill in: two precisions will do
FEW_DECIMALS = (2, 8)


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def matrix_for(lesson, name, lead):
    """The matrix that the file of this name and these heads is to hold."""
    value = lesson.shown(name)
    index = tuple(int(place) - 1 for place in re.findall(r"-(\d+)", lead))
    if index and value.ndim == 2:  # the ids of a batch: a file for each text
        return value[index[0]][np.newaxis, :]
    return value[index]


def as_written(value, decimals):
    if np.isinf(value):
        return "-inf" if value < 0 else "inf"
    return f"{value:.{decimals}f}"


def fill(path, rows, matrix, decimals):
    """The blank file with its cells filled in, as a spreadsheet saves it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    for labelled, numbers in zip(rows[1:], matrix, strict=True):
        writer.writerow([labelled[0], *(as_written(number, decimals) for number in numbers)])
    path.write_text(text.getvalue(), encoding="utf-8")


def verdict(program, lesson, folder):
    ran = run(program, "check", lesson.path, folder, "--json")
    if not ran.stdout:
        return ran.returncode, ran.stderr.strip(), {}
    report = json.loads(ran.stdout)
    return ran.returncode, report["verdict"], report


def faults_of_page(page):
    """What the printable page must not have."""
    faults = []
    if "Content-Security-Policy" not in page or "default-src 'none'" not in page:
        faults.append("worksheet.html has no content security policy")
    if re.search(r"<script|<link|<img|<iframe|\son\w+=|javascript:|https?://[^<]*\"", page, re.I):
        faults.append("worksheet.html holds something that loads or runs")
    return faults


def check_lesson(program, lesson, folder):
    made = run(program, "worksheet", lesson.path, "-o", folder)
    if made.returncode != 0:
        return [f"worksheet ended with status {made.returncode}: {made.stderr.strip()}"]
    faults = faults_of_page((folder / "worksheet.html").read_text(encoding="utf-8"))
    status, said, _ = verdict(program, lesson, folder)
    if (status, said) != (0, "incomplete"):
        faults.append(f"blank: {said}, exit status {status}")
    blanks = {}
    for path in sorted(folder.glob("*.csv")):
        number, name, lead = reference.FILE_NAME.fullmatch(path.name).groups()
        rows, matrix = read_rows(path), matrix_for(lesson, name, lead)
        size = (len(rows) - 1, len(rows[0]) - 1)
        if size != matrix.shape:
            faults.append(f"{path.name}: {size[0]} × {size[1]} cells for {matrix.shape}")
        elif number is None:
            numbers = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
            if reference.difference(matrix, numbers, 1e-12 * np.abs(matrix).max(initial=1.0)):
                faults.append(f"{path.name}: not the lesson's numbers")
        elif any(cell for row in rows[1:] for cell in row[1:]):
            faults.append(f"{path.name}: is not blank")
        else:
            blanks[path] = (rows, matrix)
    if faults:
        return faults
    many = sum(lesson.shown(name).size for name in lesson.steps) > MANY_CELLS
    for decimals in FEW_DECIMALS if many else DECIMALS:
        for path, (rows, matrix) in blanks.items():
            fill(path, rows, matrix, decimals)
        status, said, report = verdict(program, lesson, folder)
        if (status, said) != (0, "correct"):
            wrong = [f"{step['step']}: {step['verdict']} {step['first']}"
                     for step in report.get("steps", []) if step["verdict"] not in ("correct", "rounding")]
            faults.append(f"{decimals} decimals: {said}, exit status {status}; {'; '.join(wrong)}")
    again = run(program, "worksheet", lesson.path, "-o", folder)
    if again.returncode != 2 or "--force" not in again.stderr:
        faults.append("a filled-in worksheet was replaced without --force")
    forced = run(program, "worksheet", lesson.path, "-o", folder, "--force")
    status, said, _ = verdict(program, lesson, folder)
    if forced.returncode != 0 or said != "incomplete":
        faults.append("--force did not make it blank again")
    return faults


def other_forms(program, lesson, folder):
    """The right numbers as NumPy and Python write them, all steps in one file."""
    faults = []
    folder.mkdir()
    steps = {name: lesson.shown(name) for name in lesson.steps}
    np.savez(folder / "stored.npz", **steps)
    np.savez_compressed(folder / "deflated.npz", **steps)
    np.savez_compressed(folder / "float32.npz", **{k: v.astype("f4") for k, v in steps.items()})
    lists = {name: value.tolist() for name, value in steps.items()}
    (folder / "python.json").write_text(json.dumps(lists), encoding="utf-8")  # with -Infinity
    for path in sorted(folder.iterdir()):
        status, said, _ = verdict(program, lesson, path)
        if (status, said) != (0, "correct"):
            faults.append(f"{path.name}: {said}, exit status {status}")
    return faults


def new_lessons(folder, program):
    """Lessons of several shapes that the program writes itself."""
    wishes = ["--seed 1", "--seed 2 --causal", "--tokens 2 --d-model 2", "--heads 2 --d-model 4",
              "--tokens 6 --d-model 8 --heads 4 --causal --seed 3", "--style llama --seed 4",
              "--style llama --heads 4 --tokens 5 --d-model 4 --seed 5", "--style llama --heads 1"]
    for number, wish in enumerate(wishes):
        path = Path(folder) / f"new-{number}.toml"
        ran = run(program, "new", path, *wish.split())
        if ran.returncode != 0:
            raise SystemExit(f"qkv new {wish}: {ran.stderr}")
        yield path


def main(arguments):
    program = str(Path(arguments[0]).resolve())
    all_right = True
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(path) for path in arguments[1:]] or [
            *sorted(ROOT.glob("lessons/*.toml")),
            *sorted(ROOT.glob("tests/data/lessons/good/*.toml")),
            *new_lessons(temporary, program),
        ]
        for number, path in enumerate(paths):
            try:
                lesson = reference.Lesson(path)
            except reference.Skipped as reason:
                print(f"{path.stem}: skipped ({reason})")
                continue
            faults = check_lesson(program, lesson, Path(temporary) / str(number))
            faults += other_forms(program, lesson, Path(temporary) / f"{number}-forms")
            for fault in faults:
                print(f"{path.stem}: {fault}")
            all_right = all_right and not faults
            if not faults:
                print(f"{path.stem}: right at {DECIMALS[0]} to {DECIMALS[-1]} decimals")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
