#!/usr/bin/python3
"""What people hand in is read as they meant it: fractions, roots, percentages, decimal commas, tables
with bars, headings, copies of files, heads in one file, zips and folders; and a cell that can't be
read costs that cell alone. Called with the path of qkv."""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
LESSONS = pathlib.Path(__file__).resolve().parents[2] / "examples"
TWO = LESSONS / "two-words.toml"

# Two words of two numbers, worked by hand: Q·Kᵀ is [[1, 3], [3, 5]], d_k = 4.
SCALED = "0.5,1.5\n1.5,2.5\n"

HEADS = """
title = "Two heads"
tokens = ["a", "b", "c"]
[[given]]
name = "X"
value = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
[[step]]
name = "Q"
op = "split_heads"
of = ["X"]
heads = 2
[[step]]
name = "joined"
op = "concat_heads"
of = ["Q"]
"""


def checked(folder, files, lesson=TWO, *options):
    """The report on a directory of these files, and what was said of it."""
    work = folder / "work"
    work.mkdir()
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            (work / name).write_bytes(text)
        else:
            (work / name).write_text(text)
    return report(work, lesson, *options)


def report(path, lesson=TWO, *options):
    done = subprocess.run([PROGRAM, "check", lesson, path, "--json", *options], capture_output=True,
                          text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.stderr


def cells(found, step):
    for one in found["steps"]:
        if one["step"] == step:
            return one["cells"]
    raise AssertionError(f"{step} was not read: {found}")


def all_right(found, step, count):
    assert cells(found, step)["correct"] == count, (step, cells(found, step))


def each_way_to_write_it_is_right(folder_of):
    ways = {
        "fractions.csv": "1/2,3/2\n 3/2 ,5/2\n",
        "roots.csv": "√0.25,3/√4\n3/√4,√6.25\n",
        "more-roots.csv": "√1/2,1.5√1\n3/√(4),5/sqrt(4)\n",
        "percent.csv": "50%,150 %\n150%,250%\n",
        "commas.csv": "0,5;1,5\n1,5;2,5\n",
        "tabs.tsv": "0,5\t1,5\n1,5\t2,5\n",
        "tabs.csv": "0,5\t1,5\n1,5\t2,5\n",
        "bars.txt": "fat | 0.5 1.5\ncat | 1.5 2.5\n",
        "headed-bars.txt": "    | fat cat\nfat | 0.5 1.5\ncat | 1.5 2.5\n",
        "markdown.txt": "| | fat | cat |\n|---|---|---|\n| fat | 0.5 | 1.5 |\n| cat | 1.5 | 2.5 |\n",
        "names-over.csv": "fat,cat\n0.5,1.5\n1.5,2.5\n",
        "counted-over.csv": "0,1\n0.5,1.5\n1.5,2.5\n",
        "title.csv": "My scaled scores\n0.5,1.5\n1.5,2.5\n",
        "names-before.csv": "fat,0.5,1.5\ncat,1.5,2.5\n",
        "token.csv": "token,fat,cat\nfat,0.5,1.5\ncat,1.5,2.5\n",
        "minus.txt": "[[0.5, 1.5], [1.5, 5/2]]\n",
    }
    for way, text in ways.items():
        name = "scaled_scores" + pathlib.Path(way).suffix
        found, said = checked(folder_of(), {name: text})
        assert found["verdict"] != "wrong", (way, found, said)
        all_right(found, "scaled_scores", 4)


def a_typeset_minus_is_a_minus(folder_of):
    lesson = folder_of() / "minus.toml"
    lesson.write_text(TWO.read_text().replace("[[1, 0], [1, 2]]", "[[-1, 0], [1, 2]]"))
    # Q = [[-1, 0, -1, 0], [1, 2, 1, 0]]; K = [[0, -1, -1, 0], [2, 1, 1, 2]]
    found, _ = checked(folder_of(), {"Q.csv": "\u22121;0;\u22121;0\n1;2;1;0\n"}, lesson)
    all_right(found, "Q", 8)


def a_wrong_fraction_is_wrong(folder_of):
    found, _ = checked(folder_of(), {"scaled_scores.csv": "1/2,3/2\n3/2,5/3\n"})
    assert cells(found, "scaled_scores") == {"correct": 3, "rounding": 0, "carried": 0,
                                             "undecided": 0, "wrong": 1, "blank": 0}
    # 1/3 for 1/2 among decimals: as precise as those, which is not enough
    found, _ = checked(folder_of(), {"scaled_scores.csv": "1/3,1.50\n1.50,2.50\n"})
    assert cells(found, "scaled_scores")["wrong"] == 1
    # e / (1 + e) = 0.7311: a percentage has its own decimals and two
    found, _ = checked(folder_of(), {"attention_weights.csv": "100%,0%\n27%,73%\n"})
    all_right(found, "attention_weights", 4)
    found, _ = checked(folder_of(), {"attention_weights.csv": "100%,0%\n27%,80%\n"})
    assert cells(found, "attention_weights")["wrong"] == 1


def one_bad_cell_costs_itself(folder_of):
    bad = {"scaled_scores.csv": "0.5,1.5\n1.5,abc\n",
           "scaled_scores.json": json.dumps([[0.5, 1.5], [1.5, "abc"]]),
           "scaled_scores.txt": "[[0.5 1.5]\n [1.5 abc]]\n"}
    for name, text in bad.items():
        found, _ = checked(folder_of(), {name: text})
        assert cells(found, "scaled_scores") == {"correct": 3, "rounding": 0, "carried": 0,
                                                 "undecided": 0, "wrong": 1, "blank": 0}, (name, found)
        assert found["verdict"] == "wrong", name


def commas_alone_get_a_clear_word(folder_of):
    _, said = checked(folder_of(), {"scaled_scores.csv": "0,5,1,5\n1,5,2,5\n"})
    assert "decimal commas" in said and "; between the numbers" in said, said
    done = subprocess.run([PROGRAM, "check", TWO, "/dev/stdin"], input="", capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    folder = folder_of() / "work"
    folder.mkdir()
    (folder / "scaled_scores.csv").write_text("0,5,1\n1,5,2,5\n")
    done = subprocess.run([PROGRAM, "check", TWO, folder], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "decimal commas" in done.stderr, done.stderr


def names_of_copies_and_heads(folder_of):
    lesson = folder_of() / "heads.toml"
    lesson.write_text(HEADS)
    first, second = "1,2\n5,6\n9,10\n", "3,4\n7,8\n11,12\n"
    pairs = [("Q head 1.csv", "Q head 2 (1).csv"), ("Q.head-1 - Copy.csv", "Q.head-2.csv"),
             ("Q_h1 copy.csv", "Q_h2 copy 2.csv"), ("a/Q head 1.csv", "b/c/Q head 2.csv")]
    for one, two in pairs:
        found, said = checked(folder_of(), {one: first, two: second}, lesson)
        all_right(found, "Q", 12)
        assert "Q" not in said, said


def a_head_without_a_file_is_missing(folder_of):
    folder = folder_of()
    lesson = folder / "heads.toml"
    lesson.write_text(HEADS)
    for text, ends, missing in (("1,2\n5,6\n9,10\n", "incomplete; nothing is wrong so far", "head 2 of Q"),
                                ("-,-\n5,6\n-,-\n", "every number on this sheet is right (a part of the lesson)", "")):
        (folder / "Q.head-1.csv").write_text(text)
        done = subprocess.run([PROGRAM, "check", lesson, folder / "Q.head-1.csv"], capture_output=True, text=True,
                              check=False)
        said = " ".join(done.stdout.split())
        assert said.endswith(ends) and missing in said, done.stdout


def a_single_row_with_its_label_is_that_row(folder_of):
    def row(text):
        found, said = checked(folder_of(), {"scaled_scores.csv": text})
        return next(s for s in found["steps"] if s["step"] == "scaled_scores"), said

    step, said = row(",fat,cat\ncat,1.5,2.5\n")
    assert (step["cells"]["correct"], step["cells"]["blank"]) == (2, 2), step
    assert "taken for the row cat of scaled_scores" in said, said
    wrong, _ = row(",fat,cat\nfat,1.5,2.5\n")  # cat's numbers
    assert wrong["verdict"] == "wrong" and wrong["first"]["row"] == 1, wrong
    for text in (",fat,cat\ndog,1.5,2.5\n", "1.5,2.5\n"):
        assert row(text)[0]["verdict"] == "shape", text


def the_sheet_of_another_lesson_is_recognised(folder_of):
    sheet = folder_of() / "sheet"
    subprocess.run([PROGRAM, "export", "the-fat-cat", "-o", sheet, "--digits", "3"], capture_output=True, check=True)
    _, said = report(sheet, "causal")
    assert said == "qkv: this looks like the sheet of the-fat-cat: qkv check the-fat-cat\n", said
    assert "looks like" not in report(sheet, "the-fat-cat")[1]
    (sheet / "06-scores.csv").write_text("1,2,3,4\n5,6,7,8\n9,1,2,3\n4,5,6,7\n")
    assert "looks like" not in report(sheet / "06-scores.csv", "causal")[1]


def heads_in_one_file(folder_of):
    lesson = folder_of() / "heads.toml"
    lesson.write_text(HEADS)
    rows = ["1,2", "5,6", "9,10", "3,4", "7,8", "11,12"]
    ways = [rows, rows[:3] + [""] + rows[3:], ["head 1"] + rows[:3] + ["head 2"] + rows[3:],
            ["x,y"] + rows[:3] + ["x,y"] + rows[3:], ["x,y"] + rows]
    for way in ways:
        found, said = checked(folder_of(), {"Q.csv": "\n".join(way) + "\n"}, lesson)
        all_right(found, "Q", 12)
        assert "one below the other" in said, said


def json_with_something_around(folder_of):
    scaled = [[0.5, 1.5], [1.5, 2.5]]
    ways = [{"steps": {"scaled_scores": scaled}}, {"lesson": "two-words", "steps": {"scaled_scores": scaled}},
            {"name": "Ann", "submission": {"steps": {"scaled_scores": scaled}}},
            {"steps": [{"step": "scaled_scores", "values": scaled}]},
            [{"name": "scaled_scores", "rows": ["fat", "cat"], "matrix": scaled}]]
    for way in ways:
        found, said = checked(folder_of(), {"mine.json": json.dumps(way)})
        all_right(found, "scaled_scores", 4)
        assert found["verdict"] != "wrong", (way, said)


def a_shape_that_only_one_has_is_taken(folder_of):
    _, said = checked(folder_of(), {"Q.csv": "1,0,1,0\n1,2,1,0\n", "mine.csv": "0,1,1,0\n2,1,1,2\n"})
    # Q is there, so that 2 × 4 fits W_Q, W_K and K: nothing is taken
    assert "mine.csv fits no step" in said, said
    weights = [[1, 0, 1, 0], [0, 1, 0, 0]]
    keys = [[0, 1, 1, 0], [1, 0, 0, 1]]
    found, said = checked(folder_of(), {
        "Q.csv": "1,0,1,0\n1,2,1,0\n", "my second matrix.csv": "0,1,1,0\n2,1,1,2\n",
        "W_Q.json": json.dumps(weights), "W_K.json": json.dumps(keys), "notes.txt": "see page 7\n"})
    all_right(found, "K", 8)
    assert "taken for K" in said and "notes.txt fits no step" in said, said


def a_zip_is_a_directory(folder_of):
    folder = folder_of()
    archive = folder / "ann.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("ann/", "")
        packed.writestr("ann/Q.csv", "1,0,1,0\n1,2,1,0\n")
        packed.writestr("..\\deeper\\scaled_scores.csv", SCALED)  # it stays in the archive
        packed.writestr("__MACOSX/ann/._Q.csv", "\0\1")
    found, _ = report(archive)
    all_right(found, "Q", 8)
    all_right(found, "scaled_scores", 4)
    assert found["verdict"] == "incomplete"
    archive.write_bytes(archive.read_bytes()[:100])
    done = subprocess.run([PROGRAM, "check", TWO, archive], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "pack the files again" in done.stderr, done.stderr


def folders_with_the_same_steps_are_several_submissions(folder_of):
    folder = folder_of() / "class"
    works = {"ann": "1,0,1,0\n1,2,1,0\n", "ben": "1,0,1,0\n1,2,1,7\n", "cy": "\0"}
    for name, text in works.items():
        (folder / name / "notes").mkdir(parents=True)
        (folder / name / "Q.csv").write_text(text)
        (folder / name / "notes" / "read me.txt").write_text("seen\n")
    (folder / "feedback").mkdir()
    (folder / "feedback" / "ann.html").write_text("<p>well done")
    archive = shutil.make_archive(folder, "zip", folder.parent, "class")
    for path, above in ((folder, folder), (f"{folder}/", folder), (archive, f"{archive}/class")):
        done = subprocess.run([PROGRAM, "check", TWO, path, "--json"], capture_output=True, text=True,
                              check=False)
        reports = json.loads(done.stdout)
        assert done.returncode == 2, done
        assert [(one["submission"], one["verdict"]) for one in reports] == [
            (f"{above}/ann", "incomplete"), (f"{above}/ben", "wrong"), (f"{above}/cy", "unreadable")], reports
    (folder / "ben" / "Q.csv").rename(folder / "ben" / "K.csv")  # a step of one folder alone
    shutil.rmtree(folder / "cy")
    found, _ = report(folder)
    all_right(found, "Q", 8)
    assert cells(found, "K")["wrong"] > 0


def noise_in_the_only_array_of_a_large_lesson_is_wrong(folder_of):
    """96 tokens and 4 heads: heads and tokens swapped in a missing step have another shape."""
    folder = folder_of()
    givens = "".join(f'[[given]]\nname = "{name}"\nrandn = [{rows}, 64]\n'
                     for name, rows in (("X", 96), ("W_Q", 64), ("W_K", 64)))
    steps = "".join(f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n{more}\n'
                    for name, op, of, more in (
        ("Q0", "project", ["X", "W_Q"], ""), ("K0", "project", ["X", "W_K"], ""),
        ("Q", "split_heads", ["Q0"], "heads = 4"), ("K", "split_heads", ["K0"], "heads = 4"),
        ("s", "score", ["Q", "K"], ""), ("A", "softmax", ["s"], "")))
    (folder / "large.toml").write_text(f'title = "t"\n[random]\ngenerator = "numpy"\nseed = 1\n{givens}{steps}')
    chance = random.Random(2)
    noise = [[[chance.gauss(0, 1) for _ in range(96)] for _ in range(96)] for _ in range(4)]
    (folder / "A.json").write_text(json.dumps({"A": noise}))
    found, _ = report(folder / "A.json", folder / "large.toml")
    assert found["verdict"] == "wrong" and found["first_wrong"] == "A", found["verdict"]


def a_file_that_cannot_be_used_costs_itself(folder_of):
    for name in ("scores.npz", "scores.head-1.csv", "scores.csv"):
        folder = folder_of()
        (folder / "scaled_scores.csv").write_text(SCALED)
        (folder / name).write_text("{")
        done = subprocess.run([PROGRAM, "check", TWO, folder, "--json"], capture_output=True, text=True, check=False)
        all_right(json.loads(done.stdout), "scaled_scores", 4)
        assert done.returncode == 2 and str(folder / name) in done.stderr, done


def a_vector_lies_as_it_likes_where_tokens_are_columns(folder_of):
    folder = folder_of()
    lesson = folder / "bias.toml"
    lesson.write_text('''
title = "A bias"
[[given]]
name = "X"
value = [[1, 2], [0, 1], [3, 1]]
[[given]]
name = "W"
value = [[1, 0, 2], [0, 1, 1]]
[[given]]
name = "b"
value = [1, 2, 3]
[[step]]
name = "Q"
op = "project"
of = ["X", "W", "b"]
''')
    for written in ("1\n2\n3\n", "1,2,3\n"):
        found, _ = checked(folder_of(), {"Q.csv": "2,1,4\n4,3,3\n7,4,10\n", "X.csv": "1,0,3\n2,1,1\n", "b.csv": written},
                           lesson)
        assert found["verdict"] == "correct", found


def all_zeros_are_a_region_too(folder_of):
    found, _ = checked(folder_of(), {"scaled_scores.csv": "0,0\n0,0\n"})
    region, = (one["region"] for one in found["steps"] if one["step"] == "scaled_scores")
    assert region == {"rows": [1, 2], "columns": [1, 2], "what": "zero"}, region


def main():
    tests = [each_way_to_write_it_is_right, a_typeset_minus_is_a_minus, a_wrong_fraction_is_wrong,
             one_bad_cell_costs_itself, commas_alone_get_a_clear_word, names_of_copies_and_heads,
             a_head_without_a_file_is_missing, a_single_row_with_its_label_is_that_row,
             the_sheet_of_another_lesson_is_recognised, heads_in_one_file, json_with_something_around, a_shape_that_only_one_has_is_taken,
             a_zip_is_a_directory, folders_with_the_same_steps_are_several_submissions,
             noise_in_the_only_array_of_a_large_lesson_is_wrong,
             a_file_that_cannot_be_used_costs_itself, a_vector_lies_as_it_likes_where_tokens_are_columns,
             all_zeros_are_a_region_too]
    wanted = sys.argv[2:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as name:
            count = iter(range(10000))

            def folder_of(base=pathlib.Path(name), count=count):
                folder = base / str(next(count))
                folder.mkdir()
                return folder

            test(folder_of)
    print(f"{len(tests)} claims hold")


if __name__ == "__main__":
    main()
