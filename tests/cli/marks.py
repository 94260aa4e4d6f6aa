#!/usr/bin/python3
"""Marks of a class: every submission has its line, work earns what it is worth, and a sheet of zeros,
of random numbers or a neighbour's earns at most a tenth. Called with the path of qkv."""
import csv
import io
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["submission", "student", "verdict", "marks", "of", "first_wrong", "mistakes", "reason"]
LESSONS = ["two-heads", "toy-attention", "masked-attention", "self-attention",
           ROOT / "examples" / "by-hand.toml"]

# X·A = [[1, 3], [4, 2]]; twice that is Y; hidden above the diagonal, so three of its cells count.
LESSON = """
title = "Marks"
tokens = ["a", "b"]
[[given]]
name = "X"
value = [[1, 0], [0, 2]]
[[given]]
name = "A"
value = [[1, 3], [2, 1]]
[[step]]
name = "P"
op = "matmul"
of = ["X", "A"]
marks = 2
[[step]]
name = "Y"
op = "add"
of = ["P", "P"]
[[step]]
name = "M"
op = "mask"
of = ["Y"]
marks = 6
"""


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


def table(lesson, paths, *options):
    done = run("check", lesson, *paths, "--summary", "csv", *options)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == len(paths), (done.stdout, done.stderr)
    return rows, done


def submitted(folder, texts):
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def filled(export, folder, number, with_givens=False):
    """A copy of an export with other numbers in its cells."""
    folder.mkdir()
    for path in export.glob("*.csv"):
        if path.name.startswith("given-") and not with_givens:
            continue
        rows = list(csv.reader(path.open()))
        labelled = rows[0][0] == ""
        with (folder / path.name).open("w", newline="") as out:
            csv.writer(out).writerows(
                [[cell if labelled and 0 in (i, j) else number(cell) for j, cell in enumerate(row)]
                 for i, row in enumerate(rows)])
    return folder


def at_most_a_tenth(lesson, paths, most_lucky=0):
    rows, _ = table(lesson, paths)
    rich = [row for row in rows if float(row["marks"]) > 0.1 * float(row["of"])]
    assert len(rich) <= most_lucky, (str(lesson), [(row["submission"], row["marks"], row["of"])
                                                   for row in rich])


def weights_and_carried(folder):
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON)
    right = {"P": "1,3\n4,2\n", "Y": "2,6\n8,4\n", "M": "2,-inf\n8,4\n"}
    slip = {"P": "1,3\n4,5\n", "Y": "2,6\n8,10\n", "M": "2,-inf\n8,10\n"}
    half = {"P": "1,3\n4,2\n", "Y": "2,6\n,\n"}
    changed = dict(slip, A="1,3\n2,2.5\n")  # column 2 of P and what follows rest on the changed cell
    paths = [submitted(folder / name, texts) for name, texts in
             (("right", right), ("slip", slip), ("half", half), ("changed", changed))]
    broken = submitted(folder / "broken", {"P": "1,3\n4\n"})
    rows, done = table(lesson, [*paths, broken, folder / "nobody"])
    assert done.returncode == 2, done
    assert list(rows[0]) == COLUMNS + ["P", "Y", "M"], list(rows[0])
    # 2 for P, 4 cells of Y, 6 for the 3 cells of M that are not hidden
    assert [row["of"] for row in rows] == ["12"] * 6
    assert [row["marks"] for row in rows] == ["12", "11.5", "4", "7", "0", "0"], rows
    assert [row["M"] for row in rows] == ["6", "6", "0", "4", "0", "0"], rows
    assert [row["verdict"] for row in rows] == ["correct", "wrong", "incomplete", "wrong",
                                                "unreadable", "unreadable"]
    assert [row["first_wrong"] for row in rows] == ["", "P", "", "A", "", ""]
    assert all(row["student"] == "" for row in rows)
    assert "row 2" in rows[4]["reason"] and "no such file" in rows[5]["reason"], rows
    rows, done = table(lesson, paths[:3], "--carried", "0.5")
    assert done.returncode == 1
    # half of one of Y's four cells, and half of one of M's three, which are worth 2 each
    assert [row["marks"] for row in rows] == ["12", "10", "4"], rows
    assert run("check", lesson, paths[0], "--carried", "2").returncode == 2


def hidden_cells_count_where_they_are_wrong(folder):
    """Who hides nothing, or hides with 0, loses that cell: 3 of 4 are right, of 6 marks."""
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON)
    work = {"P": "1,3\n4,2\n", "Y": "2,6\n8,4\n"}
    paths = [submitted(folder / name, dict(work, M=mask)) for name, mask in
             (("right", "2,-inf\n8,4\n"), ("nothing", "2,6\n8,4\n"), ("zero", "2,0\n8,4\n"))]
    rows, _ = table(lesson, paths)
    assert [row["M"] for row in rows] == ["6", "4.5", "4.5"], rows


def what_is_unexplained_is_reported_and_may_be_given_in_part(folder):
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON)
    path = submitted(folder / "odd", {"P": "7.3,11.9\n5.7,13.1\n", "Y": "14.6,23.8\n11.4,26.2\n",
                                      "M": "14.6,-inf\n11.4,26.2\n"})
    rows, _ = table(lesson, [path])
    assert rows[0]["marks"] == "0" and "too little of P is right: 10" in rows[0]["reason"], rows
    rows, _ = table(lesson, [path], "--unexplained", "0.5")  # of 4 cells of Y and 6 marks of M
    assert rows[0]["marks"] == "5" and "is right: 5" in rows[0]["reason"], rows


def the_reason_names_every_mistake_that_fits(folder):
    """A sheet whose hidden cell is 0 because nothing was hidden there, or because 0 was written."""
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON.replace("[[1, 3]", "[[1, 0]"))
    work = {"P": "1,0\n4,2\n", "Y": "2,0\n8,4\n"}
    paths = [submitted(folder / name, dict(work, M=mask)) for name, mask in
             (("zero", "2,0\n8,4\n"), ("word", "2,#NAME?\n8,4\n"))]
    rows, _ = table(lesson, paths)
    assert rows[0]["mistakes"] == "mask.skipped mask.zero mask.one-ahead", rows
    assert "(mask.skipped); or: " in rows[0]["reason"] and "(mask.zero)" in rows[0]["reason"], rows
    assert rows[1]["reason"] == "M: a cell is not a number", rows


def a_lone_unreadable_one_has_its_row_and_its_entry(folder):
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON)
    rows, done = table(lesson, [folder / "nobody"])
    assert done.returncode == 2 and rows[0]["verdict"] == "unreadable"
    done = run("check", lesson, folder / "nobody", "--json")
    entry = json.loads(done.stdout)
    assert done.returncode == 2 and entry["verdict"] == "unreadable" and entry["error"], done
    done = run("check", lesson, folder / "nobody", folder / "nobody else", "--json")
    assert [entry["verdict"] for entry in json.loads(done.stdout)] == ["unreadable"] * 2
    done = run("check", lesson, folder / "nobody")
    assert done.returncode == 2 and "no such file" in done.stderr and done.stdout == ""


def a_student_without_a_readable_file_has_a_row(folder):
    lesson, group = folder / "marks.toml", folder / "class"
    lesson.write_text(LESSON)
    for name in ("ann", "bob/week 1"):
        submitted(group / name, {"P": "1,3\n4,2\n"})
    for path in ("dee/week 1/sheet.xlsx", "eve/notes.txt", "bob/photo.png", "readme.txt"):
        (group / path).parent.mkdir(parents=True, exist_ok=True)
        (group / path).write_text("no numbers")
    done = run("check", lesson, group, "--summary", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["submission"].split("class/")[1], row["verdict"]) for row in rows] == [
        ("ann", "incomplete"), ("bob/week 1", "incomplete"), ("dee/week 1", "unreadable"),
        ("eve", "unreadable")], rows
    assert "sheet.xlsx was not read" in rows[2]["reason"] and done.returncode == 2, done


def a_step_in_a_file_of_another_kind_is_missing(folder):
    """Unless another file has the step. What copies and tables on the web are called is understood."""
    lesson = folder / "marks.toml"
    lesson.write_text(LESSON)
    for other in ("Y.xlsx", "Y.md", "Y (1).docx"):  # and one of a head that Y does not have
        sheet = folder / f"with {other}"
        submitted(sheet, {"Copy of P": "1,3\n4,2\n"})
        (sheet / other).write_text("no numbers")
        for beside in ("notes.md", "Y head 9.xlsx"):
            (sheet / beside).write_text("no numbers")
        rows, done = table(lesson, [sheet])
        assert done.returncode == 2 and f"{other} was not read" in rows[0]["reason"], rows
        assert "notes.md" not in done.stdout + done.stderr, done
        (sheet / "Y - Sheet1.csv").write_text("2,6\n8,4\n")
        rows, done = table(lesson, [sheet])
        assert done.returncode == 0 and rows[0]["Y"] == "4", (rows, done.stderr)


def two_groups_keep_all_their_students(folder):
    lesson, group = folder / "marks.toml", folder / "class"
    lesson.write_text(LESSON)
    for name in ("1/ann", "2/cyd"):
        submitted(group / name, {"P": "1,3\n4,2\n"})
    for path in ("1/bob/sheet.pdf", "2/dee/sheet.pdf", "1/notes.pdf"):
        (group / path).parent.mkdir(parents=True, exist_ok=True)
        (group / path).write_text("no numbers")
    rows = list(csv.DictReader(io.StringIO(run("check", lesson, group, "--summary", "csv").stdout)))
    assert [row["submission"].split("class/")[1] for row in rows] == ["1/ann", "1/bob", "2/cyd", "2/dee"], rows


def a_folder_of_archives_is_a_class(folder):
    lesson, group = folder / "marks.toml", folder / "class"
    lesson.write_text(LESSON)
    group.mkdir()
    for name, inside in (("ann", "P.csv"), ("bob", "./P.csv"), ("cyd", "work/P.csv")):
        with zipfile.ZipFile(group / f"{name}.zip", "w") as archive:
            archive.writestr(inside, "1,3\n4,2\n")
    (group / "dee.zip").write_text("no archive")
    (group / "eve").mkdir()
    for path in (group, shutil.make_archive(group, "zip", folder, "class")):
        done = run("check", lesson, path, "--summary", "csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [(row["submission"].split("class/")[1], row["verdict"]) for row in rows] == [
            ("ann.zip", "incomplete"), ("bob.zip", "incomplete"), ("cyd.zip/work", "incomplete"),
            ("dee.zip", "unreadable"), ("eve", "unreadable")], rows
        assert done.returncode == 2 and "dee.zip" in rows[3]["reason"], done
    for name in ("bob.zip", "cyd.zip"):
        (group / name).unlink()
    (group / "eve").rmdir()
    done = run("check", lesson, group, "--summary", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.returncode == 2 and len(rows) == 2 and rows[1]["verdict"] == "unreadable", done
    assert "dee.zip: this is not a zip archive" in rows[1]["reason"], rows


def what_is_no_work_earns_nothing(folder):
    draw = random.Random(4)
    lessons = list(LESSONS)
    for k in range(4):
        lessons.append(folder / f"new{k}.toml")
        assert run("new", lessons[-1], "--seed", 40 + k, *(["--causal"] if k % 2 else [])).returncode == 0
    # Most of its numbers are 0.
    assert run("export", "fluffy-blue-creature", "-o", folder / "mostly-zeros").returncode == 0
    at_most_a_tenth("fluffy-blue-creature", [filled(folder / "mostly-zeros", folder / "zeros", lambda _: "0")])
    for n, lesson in enumerate(lessons):
        right = folder / f"right{n}"
        assert run("export", lesson, "-o", right, "--digits", 3).returncode == 0
        rows, _ = table(lesson, [right])
        assert rows[0]["marks"] == rows[0]["of"] and rows[0]["verdict"] == "correct", rows
        at_most_a_tenth(lesson, [filled(right, folder / f"zeros{n}", lambda _: "0"),
                                 filled(right, folder / f"all-zeros{n}", lambda _: "0", True)])
        at_most_a_tenth(lesson, [
            filled(right, folder / f"random{n}-{k}",
                   lambda _, d=k % 4: f"{draw.uniform(-1, 3):.{d}f}", k % 3 == 0)
            for k in range(8)])


def zeros_and_ones_at_random_earn_nothing(folder):
    """Products of 0 and 1 often follow from each other by chance."""
    draw = random.Random(55)
    right = folder / "right"
    assert run("export", "one-row-all", "-o", right).returncode == 0
    at_most_a_tenth("one-row-all", [filled(right, folder / f"random-{k}", lambda _: str(draw.randint(0, 1)))
                                    for k in range(40)])


def a_step_that_is_mostly_right_keeps_its_marks_among_others_at_chance(folder):
    draw = random.Random(2)
    right = folder / "right"
    assert run("export", "self-attention", "-o", right, "--digits", 2).returncode == 0
    sheet = filled(right, folder / "sheet", lambda _: f"{draw.uniform(0, 3):.2f}")
    [path] = right.glob("*-Q.csv")
    rows = list(csv.reader(path.open()))
    rows[1][1] = "7.77"
    with (sheet / path.name).open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    [row], _ = table("self-attention", [sheet])
    asked = sum(map(len, rows[1:])) - len(rows[1:])
    assert float(row["Q"]) == asked - 1, row


def a_neighbours_sheet_earns_nothing(folder):
    for options in (["--heads", 2], ["--causal"], ["--tokens", 4, "--d-model", 4]):
        words = "-".join(map(str, options))
        class_ = []
        for seed in range(6):
            lesson = folder / f"{words}{seed}.toml"
            assert run("new", lesson, "--seed", 100 + seed, *options).returncode == 0
            export = folder / f"{words}{seed}"
            assert run("export", lesson, "-o", export, "--digits", 3).returncode == 0
            class_.append((lesson, export))
        for i, (lesson, _) in enumerate(class_):
            for givens in (False, True):
                at_most_a_tenth(lesson, [
                    filled(export, folder / f"{words}{i}-{j}-{givens}", lambda cell: cell, givens)
                    for j, (_, export) in enumerate(class_) if j != i])


def numbers_that_a_bias_would_fit_by_chance_earn_nothing(folder):
    """Two rows of a neighbour's X · W_V, both off by nearly the same, and the heads cut from them."""
    lesson = folder / "values.toml"
    lesson.write_text("""title = "Values"
[[given]]
name = "X"
value = [[3, -2, 3], [1, 0, 0]]
[[given]]
name = "W_V"
value = [[-2, 0, 1, 0], [1, -2, 1, -2], [2, -1, -1, 1]]
[[step]]
name = "V_all"
op = "project"
of = ["X", "W_V"]
[[step]]
name = "V"
op = "split_heads"
of = ["V_all"]
heads = 2
""", encoding="utf-8")
    sheet = folder / "neighbour"
    sheet.mkdir()
    for name, text in (("V_all", "-1,2,1,2\n-1,-5,3,-5\n"), ("V.head-1", "-1,2\n-1,-5\n"), ("V.head-2", "1,2\n3,-5\n")):
        (sheet / f"{name}.csv").write_text(text, encoding="utf-8")
    rows, _ = table(lesson, [sheet])
    assert rows[0]["mistakes"] == "project.unknown-offset" and float(rows[0]["marks"]) == 0, rows


def what_is_taken_over_from_a_neighbour_earns_nothing(folder):
    """The new rows of a cache follow from a step that nothing explains: that they follow is no own work."""
    lesson = folder / "cache.toml"
    steps = (("K", "project", '"X", "W"'), ("cache", "append", '"past", "K"'), ("T", "tanh", '"cache"'),
             ("G", "sigmoid", '"T"'))
    lesson.write_text("""
title = "Cache"
[[given]]
name = "past"
value = [[-0.33, 0.88], [-2.0, -0.79], [-1.41, -1.63]]
[[given]]
name = "X"
value = [[-1.25, -0.62, -0.41], [0.16, -0.32, 0.74]]
[[given]]
name = "W"
value = [[-1.18, 1.51], [-1.89, 0.68], [-0.33, 0.23]]
""" + "".join(f'[[step]]\nname = "{name}"\nop = "{op}"\nof = [{of}]\n' for name, op, of in steps), encoding="utf-8")
    rng = np.random.default_rng(20261130)
    most = 0.0
    for student in range(40):
        sheet = folder / f"neighbour-{student}"
        sheet.mkdir()
        new = rng.normal(size=(2, 3)) @ rng.normal(size=(3, 2))
        cache = np.concatenate([rng.normal(size=(3, 2)), new])
        arrays = {"K": new, "cache": cache, "T": np.tanh(cache), "G": 1 / (1 + np.exp(-np.tanh(cache)))}
        for name, array in arrays.items():
            np.savetxt(sheet / f"{name}.csv", array, "%.2f", ",")
        rows, _ = table(lesson, [sheet])
        most = max(most, float(rows[0]["marks"]) / float(rows[0]["of"]))
    assert most <= 0.1, most


def zeros_of_a_head_that_is_off_earn_nothing(folder):
    lesson = folder / "off.toml"
    lesson.write_text("""
title = "Off"
[[given]]
name = "X"
value = [[1.5, -2], [0.5, 3]]
[[given]]
name = "W"
value = [[[1, 2], [3, -1]], [[2, 1], [-1, 4]]]
[[step]]
name = "changes"
op = "project"
of = ["X", "W"]
[[step]]
name = "without"
op = "switch_off"
of = ["changes"]
head = 1
""", encoding="utf-8")
    sheet = folder / "zeros"
    sheet.mkdir()
    for name in ("changes.head-1", "changes.head-2", "without.head-1", "without.head-2"):
        (sheet / f"{name}.csv").write_text("0,0\n0,0\n", encoding="utf-8")
    rows, _ = table(lesson, [sheet])
    assert (float(rows[0]["marks"]), float(rows[0]["of"])) == (0, 12), rows  # of 8 and 4 cells


def zeros_that_have_to_be_worked_out_count(folder):
    """The sine of position 0 is 0 in every lesson, and is worked out as that of the others is; so is an id of 0."""
    lesson = folder / "sines.toml"
    lesson.write_text('title = "Sines"\ntext = "a b"\nvocabulary = ["a", "b"]\n'
                      '[[step]]\nname = "ids"\nop = "tokenise"\n[[given]]\nname = "E"\nvalue = [[1, 2], [3, 4]]\n'
                      '[[step]]\nname = "P"\nop = "positions"\nof = ["E"]\n', encoding="utf-8")
    sheet = folder / "sheet"
    sheet.mkdir()
    (sheet / "P.csv").write_text("0,1\n0.8415,0.5403\n", encoding="utf-8")
    (sheet / "ids.csv").write_text("0,1\n", encoding="utf-8")
    rows, _ = table(lesson, [sheet])
    assert (float(rows[0]["marks"]), float(rows[0]["of"])) == (6, 6), rows


def one_slip_costs_little(folder):
    """Who makes one mistake and goes on rightly has nearly all marks."""
    by_hand = ROOT / "examples" / "by-hand"
    rows, _ = table(ROOT / "examples" / "by-hand.toml", sorted(by_hand.iterdir()))
    for row in rows:
        assert float(row["marks"]) > 0.8 * float(row["of"]), row


def a_slip_in_a_small_part_costs_its_cell(folder):
    """Of two cells one is right, which chance would give as well: the rest of the sheet shows whose work it is."""
    made = run("worksheet", "two-heads", "-o", folder / "sheet", "--row", "cat", "--head", "1")
    assert made.returncode == 0, made
    key = folder / "key"
    assert run("export", "two-heads", "-o", key).returncode == 0
    for name, numbers in (("right", None), ("slip", "5")):
        own = folder / name
        own.mkdir()
        for path in (folder / "sheet").glob("*.csv"):
            rows, right = (list(csv.reader(one.open())) for one in (path, key / path.name))
            for i, row in enumerate(rows[1:], 1):
                for j, cell in enumerate(row[1:], 1):
                    if cell == "":
                        row[j] = numbers if numbers and "-Q." in path.name and j == 1 else right[i][j]
            with (own / path.name).open("w", newline="") as out:
                csv.writer(out).writerows(rows)
    rows, _ = table("two-heads", [folder / "right", folder / "slip"], "--row", "cat", "--head", "1")
    assert [float(row["of"]) - float(row["marks"]) for row in rows] == [0, 1], rows


def zeros_beside_a_worksheet_s_own_numbers_earn_nothing(folder):
    lesson, part = folder / "l.toml", ("--row", "chases", "--head", "3")
    sizes = ("--seed", "140", "--tokens", "5", "--d-model", "4", "--heads", "3", "--causal")
    assert run("new", lesson, *sizes).returncode == 0
    assert run("worksheet", lesson, "-o", folder / "sheet", *part).returncode == 0
    for path in (folder / "sheet").glob("*.csv"):
        rows = list(csv.reader(path.open()))
        with path.open("w", newline="") as out:
            csv.writer(out).writerows([rows[0], *([row[0], *(cell or "0" for cell in row[1:])] for row in rows[1:])])
    rows, _ = table(lesson, [folder / "sheet"], *part)
    assert float(rows[0]["marks"]) <= float(rows[0]["of"]) / 10, rows


def main():
    tests = [weights_and_carried, hidden_cells_count_where_they_are_wrong,
             what_is_unexplained_is_reported_and_may_be_given_in_part, the_reason_names_every_mistake_that_fits,
             a_lone_unreadable_one_has_its_row_and_its_entry, a_student_without_a_readable_file_has_a_row,
             a_step_in_a_file_of_another_kind_is_missing,
             two_groups_keep_all_their_students, a_folder_of_archives_is_a_class,
             what_is_no_work_earns_nothing, zeros_beside_a_worksheet_s_own_numbers_earn_nothing,
             zeros_and_ones_at_random_earn_nothing,
             a_step_that_is_mostly_right_keeps_its_marks_among_others_at_chance, a_neighbours_sheet_earns_nothing,
             what_is_taken_over_from_a_neighbour_earns_nothing, zeros_of_a_head_that_is_off_earn_nothing,
             zeros_that_have_to_be_worked_out_count,
             numbers_that_a_bias_would_fit_by_chance_earn_nothing, one_slip_costs_little,
             a_slip_in_a_small_part_costs_its_cell]
    for test in tests:
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name))
    print(f"{len(tests)} claims hold")


if __name__ == "__main__":
    main()
