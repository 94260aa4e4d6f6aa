#!/usr/bin/python3
"""A row and a column have one name everywhere, their label or else their number, and files with
such names are read as they were meant.

    labels.py QKV

Random lessons of small and odd shapes, with and without words, some of which are numbers, tokens as
rows or as columns, with heads: what qkv writes, with labels and without, it reads back as the same
numbers: as a submission, as one side of a comparison, and as a lesson's file.
"""

import csv
import io
import json
import re
import shutil
import sys

import numpy as np

from harness import equal, main, qkv

WORDS = (["the", "fat", "cat", "sat"], ["1984", "7", "2", "12"], ["2", "1", "4", "3"],
         ["1", "2", "3", "4"], ["=1", "-2", "1/3", "nan"], ["|", "a|b", "||", "1"], [])
LESSONS = 30


def random_lessons(folder):
    """Directories with a lesson each, and its words."""
    rng = np.random.default_rng(0)
    for number in range(LESSONS):
        n, width, d_k = (int(size) for size in rng.integers(1, 5, 3))
        heads = int(rng.integers(0, 3))
        words = WORDS[number % len(WORDS)][:n]
        columns = number % 4 == 3
        here = folder / str(number)
        here.mkdir()
        (here / "lesson.toml").write_text(lesson(rng, (n, width, d_k, heads), words, columns),
                                          encoding="utf-8")
        yield here, words
        shutil.rmtree(here)


def lesson(rng, sizes, words, columns):
    n, width, d_k, heads = sizes
    x = rng.integers(-8, 9, (n, width)) / 4 + 0.125
    w = rng.integers(-8, 9, (heads, width, d_k) if heads else (width, d_k)) / 4
    if columns:
        x, w = x.T, np.swapaxes(w, -1, -2)
    return (f"title = \"t\"\ntokens = {json.dumps(words)}\n" * bool(words)
            + f"convention = \"{'columns' if columns else 'rows'}\"\n"
            + f"[[given]]\nname = \"X\"\nvalue = {x.tolist()}\n"
            + f"[[given]]\nname = \"W\"\nvalue = {w.tolist()}\n"
            + f"[[step]]\nname = \"Q\"\nop = \"project\"\nof = [\"X\", \"W\"]\n"
            + "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"Q\", \"Q\"]\n"
            + "[[step]]\nname = \"A\"\nop = \"softmax\"\nof = [\"S\"]\n")


def export(here, name, *options):
    equal(qkv("export", here / "lesson.toml", "-o", here / name, *options).returncode, 0)
    return sorted((here / name).glob("*.csv"))


def arrays(here):
    export(here, "numpy", "--format", "npz")
    return dict(np.load(here / "numpy" / "lesson.npz"))


def matrix_of(path, worked):
    """The matrix of a file's name."""
    name, head = re.fullmatch(r"(?:\d+|given)-(\w+?)(?:\.head-(\d+))?\.csv", path.name).groups()
    return worked[name][int(head) - 1] if head else worked[name]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def verdict(here, name):
    done = qkv("check", here / "lesson.toml", here / name, "--json")
    return json.loads(done.stdout)["verdict"]


def names_are_labels_or_numbers(folder):
    """In a file's first row and column: with words the words, without them 1, 2, 3."""
    for here, words in random_lessons(folder):
        for path in export(here, "labelled"):
            rows = rows_of(path)
            for names in (rows[0][1:], [row[0] for row in rows[1:]]):
                plain = [name.lstrip("'") for name in names]
                numbers = [str(i + 1) for i in range(len(names))]
                assert plain in (numbers, words), (path.name, names, words)
            is_labelled = [row[0].lstrip("'") for row in rows[1:]] == words or [
                name.lstrip("'") for name in rows[0][1:]] == words
            assert is_labelled or not words or "-W" in path.name, (path.name, rows)


def a_submission_is_read_back(folder):
    for here, _ in random_lessons(folder):
        export(here, "labelled")
        export(here, "plain", "--plain")
        for path in export(here, "older"):  # as exports called their columns once
            rows = rows_of(path)
            numbers = [str(i + 1) for i in range(len(rows[0]) - 1)]
            if rows[0][1:] == numbers:
                rows[0][1:] = ["d" + number for number in numbers]
            path.write_text("".join(";".join(row) + "\n" for row in rows), encoding="utf-8")
        for name in ("labelled", "plain", "older"):
            equal((here.name, name, verdict(here, name)), (here.name, name, "correct"))


def a_worksheet_is_read_back(folder):
    for here, _ in random_lessons(folder):
        worked = arrays(here)
        equal(qkv("worksheet", here / "lesson.toml", "-o", here / "sheet").returncode, 0)
        equal(verdict(here, "sheet"), "incomplete")
        for path in (here / "sheet").glob("*.csv"):
            rows, matrix = rows_of(path), matrix_of(path, worked)
            for row, numbers in zip(rows[1:], matrix.tolist(), strict=True):
                equal(len(row), len(numbers) + 1)
                row[1:] = map(repr, numbers)
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            path.write_text(text.getvalue(), encoding="utf-8")
        equal((here.name, verdict(here, "sheet")), (here.name, "correct"))


def dumps_are_compared(folder):
    for here, _ in random_lessons(folder):
        arrays(here)
        export(here, "labelled")
        export(here, "plain", "--plain")
        (here / "labelled" / "00-lesson.json").unlink()
        for one, other in (("labelled", "numpy"), ("plain", "numpy"), ("labelled", "plain"),
                           ("lesson.toml", "labelled")):
            done = qkv("compare", here / one, here / other)
            equal((here.name, one, other, done.returncode), (here.name, one, other, 0))


def a_lesson_reads_such_files(folder):
    for here, words in random_lessons(folder):
        worked = arrays(here)
        files = [*export(here, "labelled"), *export(here, "plain", "--plain")]
        givens = "".join(f"[[given]]\nname = \"G{i}\"\nfile = \"{path.parent.name}/{path.name}\"\n"
                         for i, path in enumerate(files))
        (here / "reads.toml").write_text(
            givens + "[[step]]\nname = \"T\"\nop = \"transpose\"\nof = [\"G0\"]\n")
        done = qkv("export", here / "reads.toml", "-o", here / "read", "--format", "npz")
        equal((here.name, done.returncode), (here.name, 0))
        read = np.load(here / "read" / "lesson.npz")
        for i, path in enumerate(files):
            want = matrix_of(path, worked)
            assert np.array_equal(read[f"G{i}"], want), (path, words, read[f"G{i}"], want)


BLANKS = """
[[given]]
name = "X"
value = [[1, -2], [-3, 4], [5, 6]]
rows = ["the", " cat", " sat"]
[[step]]
name = "R"
op = "relu"
of = ["X"]
"""

HEADS = """
[[given]]
name = "S"
value = [[[1, 2], [3, 4]], [[5, 6], [7, 9]]]
[[step]]
name = "M"
op = "mask"
of = ["S"]
kind = "sliding_window"
width = 1
[[step]]
name = "A"
op = "softmax"
of = ["M"]
"""


def checked(folder, lesson, **files):
    (folder / "lesson.toml").write_text(lesson)
    (folder / "sheet").mkdir()
    for name, text in files.items():
        (folder / "sheet" / f"{name}.csv").write_text(text)
    return qkv("check", folder / "lesson.toml", folder / "sheet", "--json")


def a_label_without_quotes_may_have_lost_its_blank(folder):
    done = checked(folder, BLANKS, R=",1,2\n cat,0,4\n sat,5,6\nthe,1,0\n")
    equal(json.loads(done.stdout)["verdict"], "correct", done.stderr)


def some_labels_may_have_lost_their_blanks(folder):
    lesson = BLANKS.replace('" cat", " sat"', '" cat", " the"')
    done = checked(folder, lesson, R=',1,2\n" the",5,6\ncat,0,4\nthe,1,0\n')
    equal(json.loads(done.stdout)["verdict"], "correct", done.stderr)


def one_head_is_taken_for_a_head_where_all_have_its_numbers(folder):
    done = checked(folder, HEADS, M="1,-inf\n-inf,4\n", A="1,0\n0,1\n")
    equal((json.loads(done.stdout)["verdict"], done.returncode), ("incomplete", 0), done.stderr)


def a_step_of_a_long_text_is_shown_alone(_folder):
    """Beyond 256 tokens the scores before it are let go as soon as they were used."""
    text = "the " * 257
    for step in ("attention_weights", "context"):
        done = qkv("run", "the-fat-cat", "--text", text, "--step", step, "--no-pause")
        assert done.returncode == 0 and step in done.stdout, done.stderr


CLAIMS = (
    a_step_of_a_long_text_is_shown_alone,
    a_label_without_quotes_may_have_lost_its_blank,
    some_labels_may_have_lost_their_blanks,
    one_head_is_taken_for_a_head_where_all_have_its_numbers,
    names_are_labels_or_numbers,
    a_submission_is_read_back,
    a_worksheet_is_read_back,
    dumps_are_compared,
    a_lesson_reads_such_files,
)

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
