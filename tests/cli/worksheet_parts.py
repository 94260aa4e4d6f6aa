#!/usr/bin/python3
"""Worksheets that ask for a part of a lesson can be worked from what they give, and checked.

    worksheet_parts.py QKV [LESSON.toml...]   by default every lesson of lessons/

Of each lesson random parts: steps, a range of them, a head, a row. The sheet says how many numbers it
asks for, and has as many blanks. A row's blanks are in that row alone, and every operand of a step
has a file. What is given is what NumPy gives. Filled in with NumPy's numbers, rounded to 2, 3 or 5
decimals, nothing is wrong and all marks are earned; with one number off, that is found and costs
marks. Two sheets are worked out here from nothing but their own files.
"""

import csv
import io
import json
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from worksheet import ROOT, as_written, faults_of_page, matrix_for, read_rows, reference, run, verdict

PARTS = 4  # of each lesson
MOST_CELLS = 4000  # of a part: more are nobody's handwork
SAID = re.compile(r"asks for ([\d,]+) number")


def random_part(chance, lesson):
    """Options that ask for a part: at least one."""
    options = []
    steps = list(lesson.steps)
    kind = chance.choice(["step", "range", "none", "none"])
    if kind == "step":
        for name in chance.sample(steps, min(len(steps), chance.randint(1, 3))):
            options += ["--step", name]
    elif kind == "range":
        first, last = sorted([chance.randrange(len(steps)), chance.randrange(len(steps))])
        options += ["--from", steps[first], "--to", steps[last]]
    if kind == "none" or chance.random() < 0.4:
        options += ["--row", str(chance.randint(1, 5))]
    if chance.random() < 0.4:
        options += ["--head", str(chance.randint(1, 2))]
    return options


def blanks_of(folder):
    """The blank cells of each file, and its rows."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        rows = read_rows(path)
        places = [(i, j) for i, row in enumerate(rows[1:]) for j, cell in enumerate(row[1:]) if not cell]
        found[path] = (rows, places)
    return found


def write(path, rows):
    path.write_text("".join(",".join(quoted(cell) for cell in row) + "\n" for row in rows),
                    encoding="utf-8")


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[,;\t" ]', cell) else cell


def given_faults(lesson, blanks):
    for path, (rows, _) in blanks.items():
        number, name, lead = reference.FILE_NAME.fullmatch(path.name).groups()
        matrix = matrix_for(lesson, name, lead)
        for i, row in enumerate(rows[1:]):
            for j, cell in enumerate(row[1:]):
                if cell in ("", "-"):
                    continue
                right = matrix[i, j]
                if not (float(cell) == right or abs(float(cell) - right) <= 5.1e-5 * max(1, abs(right))):
                    yield f"{path.name}: {cell} is given for {right}"


def size_faults(folder, blanks, said, options):
    count = sum(len(places) for _, places in blanks.values())
    if said != count:
        yield f"it says {said} numbers and has {count} blanks"
    page = (folder / "worksheet.html").read_text(encoding="utf-8")
    if f"Numbers to work out: <b>{said:,}</b>" not in page:
        yield "the page says another number"
    if "too many for paper" not in page and page.count("<td></td>") != count:
        yield f"the page has {page.count('<td></td>')} empty cells for {count}"
    yield from faults_of_page(page)
    if "--row" in options:
        row = int(options[options.index("--row") + 1]) - 1
        for path, (_, places) in blanks.items():
            if {i for i, _ in places} not in ({row}, set()) and {j for _, j in places} != {row}:
                yield f"{path.name}: blanks outside row {row + 1}: {places[:9]}"


def operand_faults(program, lesson, folder, blanks):
    listed = folder / "list"
    run(program, "export", lesson.path, "--format", "npz", "-o", listed)
    steps = json.loads((listed / "00-lesson.json").read_text(encoding="utf-8"))["steps"]
    for path in listed.iterdir():
        path.unlink()
    listed.rmdir()
    names = {reference.FILE_NAME.fullmatch(path.name).group(2) for path in blanks}
    asked = {reference.FILE_NAME.fullmatch(path.name).group(2)
             for path, (_, places) in blanks.items() if places}
    for step in steps:
        # A row of joined matrices is made of one of them. A gradient may have no more than the shape of the
        # operand that it belongs to.
        needed = step["of"][:1] + step["of"][2:] if step["op"] == "backward" else step["of"]
        for operand in needed:
            if step["op"] != "append" and step["name"] in asked and operand not in names:
                yield f"{step['name']} is asked for without {operand}"


def fill(lesson, blanks, decimals):
    """Fills the blanks in; returns the places of finite numbers."""
    finite = []
    for path, (rows, places) in blanks.items():
        _, name, lead = reference.FILE_NAME.fullmatch(path.name).groups()
        matrix = matrix_for(lesson, name, lead) if places else None
        for i, j in places:
            rows[i + 1][j + 1] = as_written(matrix[i, j], decimals)
            if np.isfinite(matrix[i, j]):
                finite.append((path, i, j))
        if places:
            write(path, rows)
    return finite


def marks_of(program, lesson, folder, options):
    """What the sheet earns as this part, out of how many marks, and the verdict."""
    table = run(program, "check", lesson.path, folder, "--summary", "csv", *options).stdout
    row = next(csv.DictReader(io.StringIO(table)))
    return float(row["marks"]), float(row["of"]), row["verdict"]


def check_part(program, lesson, folder, chance):
    options = random_part(chance, lesson)
    made = run(program, "worksheet", lesson.path, "-o", folder, *options)
    if made.returncode == 2 and re.search(r"--head|--row|nothing to ask", made.stderr):
        return None, options
    if made.returncode != 0:
        return [f"status {made.returncode}: {made.stderr}"], options
    said = int(SAID.search(made.stderr).group(1).replace(",", ""))
    if said > MOST_CELLS:
        return None, options
    blanks = blanks_of(folder)
    faults = [*size_faults(folder, blanks, said, options), *given_faults(lesson, blanks),
              *operand_faults(program, lesson, folder, blanks)]
    decimals = chance.choice([2, 3, 5])
    finite = fill(lesson, blanks, decimals)
    status, word, report = verdict(program, lesson, folder)
    if (status, word) not in ((0, "correct"), (0, "incomplete")):
        wrong = [f"{step['step']} {step['verdict']} {step['first']}" for step in report.get("steps", [])
                 if step["verdict"] not in ("correct", "rounding")]
        faults.append(f"filled in, {decimals} decimals: {word}, status {status}: {wrong}")
    earned, most, word = marks_of(program, lesson, folder, options)
    if earned != most or most > said or (finite and most == 0) or word != "correct":
        faults.append(f"filled in: {earned} marks of {most} for {said} numbers, {word}")
    if finite:
        path, i, j = chance.choice(finite)
        rows = blanks[path][0]
        right = float(rows[i + 1][j + 1])
        rows[i + 1][j + 1] = f"{right + 1.37 * max(1.0, abs(right)):.{decimals}f}"
        write(path, rows)
        status, word, report = verdict(program, lesson, folder)
        name = reference.FILE_NAME.fullmatch(path.name).group(2)
        if status != 1 or word != "undecided" and report.get("first_wrong") != name:
            faults.append(f"{path.name} {i + 1},{j + 1}: {right} made {rows[i + 1][j + 1]}: {word}, "
                          f"first {report.get('first_wrong')}")
        earned, _, word = marks_of(program, lesson, folder, options)
        if not earned < most or word in ("correct", "incomplete"):
            faults.append(f"{path.name} {i + 1},{j + 1} is wrong: {word}, {earned} marks of {most}")
    return faults, options


def numbers(folder, name):
    """A file's numbers; blanks and dashes are NaN."""
    (path,) = folder.glob(f"*{name}.csv")
    return path, np.array([[float(cell) if cell not in ("", "-") else np.nan for cell in row[1:]]
                           for row in read_rows(path)[1:]])


def put(folder, name, row, values):
    path, _ = numbers(folder, name)
    rows = read_rows(path)
    assert all(cell == "" for cell in rows[row + 1][1:]), f"{name} is not blank there"
    rows[row + 1][1:] = [as_written(value, 3) for value in values]
    write(path, rows)


def by_hand(program, folder, lesson, head):
    """The row of "cat", from the sheet's own files: what a learner can do with it."""
    suffix = f".head-{head}" if head else ""
    options = ["--row", "cat", "--head", head or 1]  # the only head of a lesson is head 1
    made = run(program, "worksheet", lesson, "-o", folder, *options)
    cat = 2
    if head:
        x = numbers(folder, "-X")[1][cat]
    else:
        table = numbers(folder, "given-embedding_table")[1]
        put_ids = read_rows(numbers(folder, "-token_ids")[0])
        put_ids[1][1 + cat] = "2"
        write(numbers(folder, "-token_ids")[0], put_ids)
        x = table[2]
        put(folder, "-X", cat, x)
    q, k, v = (x @ numbers(folder, f"W_{letter}{suffix}")[1] for letter in "QKV")
    for letter, own in (("Q", q), ("K", k), ("V", v)):
        put(folder, f"-{letter}{suffix}", cat, own)
    keys, values = numbers(folder, f"-K{suffix}")[1], numbers(folder, f"-V{suffix}")[1]
    scores = keys @ q
    scaled = scores / np.sqrt(len(q))
    masked = np.where(np.arange(len(scaled)) <= cat, scaled, -np.inf)
    weights = np.exp(masked) / np.exp(masked).sum()
    for name, own in (("scores", scores), ("scaled_scores", scaled), ("masked_scores", masked),
                      ("attention_weights", weights), ("context", weights @ values)):
        put(folder, f"-{name}{suffix}", cat, own)
    ran = run(program, "check", lesson, folder, "--json")
    report = json.loads(ran.stdout)
    right = ran.returncode == 0 and all(
        step["verdict"] in ("correct", "rounding") for step in report["steps"])
    left = [path.name for path, (_, places) in blanks_of(folder).items() if places]
    said = int(SAID.search(made.stderr).group(1))
    told = run(program, "check", lesson, folder).stdout
    ends = "every number on this sheet is right" in " ".join(told.split())
    right = right and ends and "still blank" not in told
    put_back = read_rows(numbers(folder, f"-Q{suffix}")[0])
    put_back[1 + cat][1] = ""
    write(numbers(folder, f"-Q{suffix}")[0], put_back)
    told = run(program, "check", lesson, folder).stdout
    right = right and "still blank: 1 cell: Q (1 of 2)\n" in told and "nothing is wrong so far" in told
    return [] if right and not left and said <= 40 else [
        f"{lesson} by hand: {said} numbers, {report['verdict']}, blank: {left}"]


def a_row_of_four_heads(program, folder):
    """Three left-out rows of each of four heads of four rows are as many cells as three heads: it is a part all the same."""
    lesson = folder / "four.toml"
    run(program, "new", lesson, "--heads", "4", "--tokens", "4", "--d-model", "8", "--seed", "3")
    run(program, "worksheet", lesson, "-o", folder / "sheet", "--row", "2", "--step", "scores")
    told = run(program, "check", lesson, folder / "sheet").stdout
    return [] if "still blank: 16 cells" in told and "Not submitted" not in told else [f"four heads: {told}"]


def a_class_with_a_part(program, folder):
    """What was not asked for is not missing; what can't be read is named; without the part the line says how to ask."""
    part = ("--row", "2", "--step", "scores")
    for name in ("one", "two"):
        run(program, "worksheet", "two-heads", "-o", folder / name, *part)
    (numbers(folder / "two", "-scores.head-1")[0]).write_bytes(b"\xff\xfe\x00")
    one, two = run(program, "check", "two-heads", folder / "one", folder / "two", "--summary", "csv",
                   *part).stdout.splitlines()[1:]
    lines = run(program, "check", "two-heads", folder / "one", folder / "two").stdout.splitlines()
    right = ("not UTF-8" in two and "not submitted" not in one and "token_ids" not in two
             and lines[0].endswith(" marks (of a part: --summary csv and the sheet's options)"))
    return [] if right else [f"a class with a part: {one}\n{two}\n{lines}"]


EMPTY = """
title = "A step without numbers"
[[given]]
name = "none"
zeros = [0, 2]
[[given]]
name = "W"
value = [[1, 2], [3, 4]]
[[step]]
name = "nothing"
op = "matmul"
of = ["none", "W"]
[[step]]
name = "square"
op = "matmul"
of = ["W", "W"]
"""


def a_step_without_numbers(program, place):
    (place / "empty.toml").write_text(EMPTY)
    ran = run(program, "worksheet", place / "empty.toml", "-o", place / "empty", "--answers")
    asked = SAID.search(ran.stdout + ran.stderr)
    return [] if ran.returncode == 0 and asked and asked[1] == "4" else [f"an empty step: {ran}"]


def main(arguments):
    program = str(Path(arguments[0]).resolve())
    paths = [Path(path) for path in arguments[1:]] or sorted(ROOT.glob("lessons/*.toml"))
    chance = random.Random(7)
    all_faults, tried = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        all_faults += by_hand(program, place / "cat", "the-fat-cat", None)
        all_faults += by_hand(program, place / "two", "two-heads", "1")
        all_faults += a_row_of_four_heads(program, place)
        all_faults += a_class_with_a_part(program, place)
        all_faults += a_step_without_numbers(program, place)
        for number, path in enumerate(paths):
            try:
                lesson = reference.Lesson(path)
            except reference.Skipped as reason:
                print(f"{path.stem}: skipped ({reason})")
                continue
            for part in range(PARTS):
                faults, options = check_part(program, lesson, place / f"{number}-{part}", chance)
                tried += faults is not None
                all_faults += [f"{path.stem} {' '.join(options)}: {fault}" for fault in faults or []]
    if len(paths) > 9 and tried < 40:
        all_faults.append(f"only {tried} parts were tried")
    for fault in all_faults:
        print(fault)
    print(f"{tried} parts")
    return 1 if all_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
