#!/usr/bin/python3
"""What lessons/README.md says of the course, held to what each lesson prints.

    course.py QKV

Each function below is one claim.
"""

import json
import re
import sys
from pathlib import Path

from harness import equal, main, qkv

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "lessons" / "README.md").read_text(encoding="utf-8")


def rows(columns):
    """The rows of the tables with so many columns, without their heads."""
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == columns and not cells[0].startswith(("---", "what ")):
            yield cells


def places(cell):
    """The lessons and steps that a cell names: `lesson`: `step`, `step`; `lesson`: `step`."""
    for part in cell.split("; "):
        lesson, *steps = re.findall("`([^`]+)`", part)
        yield lesson, steps


def plain(text):
    return " ".join(text.split())


def what_the_sources_say_is_in_the_words_of_the_steps(folder):
    del folder
    walks, missing, count = {}, [], 0
    for claim, where, words in rows(3):
        text = ""
        for lesson, steps in places(where):
            assert steps, f"{claim}: {lesson} without a step"
            for step in steps:
                if (lesson, step) not in walks:
                    walks[lesson, step] = plain(qkv.printed("run", lesson, "--step", step))
                text += " " + walks[lesson, step]
        for piece in words.split(" … "):
            count += 1
            if piece not in text:
                missing.append(f"{where}: {piece}")
    equal(missing, [])
    assert count > 130, count


def the_table_of_lessons_is_the_course(folder):
    del folder
    listed = [re.findall("`([^`]+)`", name)[0] for name, _ in rows(2) if name.startswith("`")]
    equal(listed, [lesson["name"] for lesson in json.loads(qkv("lessons", "--json").stdout)])
    groups = [name.strip("*") for name, _ in rows(2) if name.startswith("**")]
    names = [line[2:16].strip() for line in qkv("lessons").stdout.splitlines()
             if line.startswith("  ") and line[2] != " "]
    equal(groups, names)


def both_lists_of_lessons_fit_a_terminal(folder):
    del folder
    for words in ((), ("lessons",)):
        lines = qkv(*words).stdout.splitlines()
        assert len(lines) <= 24, f"{words}: {len(lines)} lines"
        assert max(map(len, lines)) <= 80, words
        assert "qkv run the-fat-cat" in lines[-1], lines[-1]


def the_losses_of_why_scale_are_the_recorded_ones(folder):
    """What models/train_scaling.py wrote into models/scaling.json."""
    record = json.loads((ROOT / "models" / "scaling.json").read_text())
    qkv("export", "why-scale", "-o", folder / "out", "--format", "json", "--step", "loss_curve")
    curve = json.loads((folder / "out" / "lesson.json").read_text())["loss_curve"]
    equal(curve, [list(pair) for pair in zip(record["loss"]["with"], record["loss"]["without"])])
    told = qkv.printed("run", "why-scale", "--step", "loss_curve")
    equal([int(step) for step in re.findall(r"^ {2}(\d+) +\d\.\d{4} +\d\.\d{4}$", told, re.M)],
          record["recorded at"])


CLAIMS = [
    what_the_sources_say_is_in_the_words_of_the_steps,
    the_table_of_lessons_is_the_course,
    both_lists_of_lessons_fit_a_terminal,
    the_losses_of_why_scale_are_the_recorded_ones,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
