#!/usr/bin/python3
"""Exports, read back by the programs that people will read them with.

    exports.py QKV

Each function below is one claim. NumPy reads npy and npz, Python's json reads JSON and jsonschema
checks it, twenty lines of the published layout read safetensors, pandoc reads Markdown, pdflatex
sets LaTeX. What is not installed is skipped and said.
"""

import csv
import json
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

from harness import Skipped, equal, main, qkv, sanitized

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import reference  # noqa: E402
from safetensors_file import packed_arrays  # noqa: E402

HOSTILE = ROOT / "tests" / "data" / "exports" / "hostile.toml"
WIDE = ROOT / "tests" / "data" / "exports" / "wide.toml"
COURSE = sorted((ROOT / "lessons").glob("*.toml"))
GOOD = sorted((ROOT / "tests" / "data" / "lessons" / "good").glob("*.toml"))
FORMATS = ("csv", "npy", "npz", "json", "safetensors")


# ---------------------------------------------------------------------------------------------
# Readers


def read_safetensors(path):
    """The published layout: a length of 8 bytes, a header in JSON, the numbers."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0 and data[8:9] == b"{", "the header is not aligned"
    header = json.loads(data[8 : 8 + length].decode("utf-8"))
    metadata = header.pop("__metadata__", {})
    equal(list(header), sorted(header), "names in order")
    numbers, end, arrays = data[8 + length :], 0, {}
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        equal((begin, entry["dtype"]), (end, "F64"), name)
        arrays[name] = np.frombuffer(numbers[begin:stop], "<f8").reshape(entry["shape"])
        end = stop
    equal(end, len(numbers), "bytes of numbers")
    return arrays, metadata


def write_safetensors(path, arrays, metadata=None):
    """The same the other way round, as another program might order and space it."""
    path.write_bytes(packed_arrays(arrays, metadata or {"format": "np"}, aligned=False))


def as_number(cell):
    return {"inf": np.inf, "-inf": -np.inf}.get(cell, cell)


def as_array(nested):
    if isinstance(nested, list):
        return np.array([as_array(part) for part in nested], dtype="f8")
    return float(as_number(nested))


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])


def exported(lesson, folder, *formats):
    """Exports in one call; the list of files."""
    named = [part for name in formats for part in ("--format", name)]
    equal(qkv("export", lesson, "-o", folder, *named).returncode, 0, f"export {lesson}")
    return json.loads((folder / "00-lesson.json").read_text(encoding="utf-8"))


def entries_of(listed):
    return listed["givens"] + listed["steps"]


def file_of(entry, ending):
    files = entry["file"] if isinstance(entry["file"], list) else [entry["file"]]
    found = [name for name in files if name.endswith(ending)]
    return found


def same(got, want, what):
    equal(got.shape, want.shape, what)
    assert np.array_equal(got, want), f"{what}: the numbers differ"


# ---------------------------------------------------------------------------------------------
# Numbers


def every_format_holds_the_numbers_that_numpy_works_out(folder):
    for path in [*COURSE, *GOOD]:
        lesson = reference.Lesson(path)
        listed = exported(path, folder / path.stem, "npz,npy", "json", "safetensors", "csv")
        here = folder / path.stem
        npz = np.load(here / "lesson.npz")
        tensors, metadata = read_safetensors(here / "lesson.safetensors")
        lists = json.loads((here / "lesson.json").read_text(encoding="utf-8"))
        names = [entry["name"] for entry in entries_of(listed)]
        equal((list(npz), list(lists), sorted(tensors)), (names, names, sorted(names)), path.stem)
        equal(metadata["lesson"], listed["lesson"])
        for entry in entries_of(listed):
            name, array = entry["name"], npz[entry["name"]]
            equal((list(array.shape), array.dtype.str), (entry["shape"], "<f8"), name)
            problem = reference.difference(lesson.shown(name), reference.matrix(array),
                                           1e-12 * np.abs(array[np.isfinite(array)]).max(initial=1.0))
            assert not problem, f"{path.stem}: {name} {problem}"
            same(np.load(here / file_of(entry, ".npy")[0]), array, f"{name}.npy")
            same(as_array(lists[name]), array, f"{name} in JSON")
            same(tensors[name], array, f"{name} in safetensors")
            parts = np.stack([read_csv(here / part) for part in file_of(entry, ".csv")])
            same(parts.reshape(array.shape), array, f"{name} in CSV")
        shutil.rmtree(here)


def what_qkv_exports_it_reads_back(folder):
    """Of every lesson one format by itself and all at once; of the small ones each by itself."""
    all_at_once = ",".join(FORMATS) + ",markdown,latex"
    for number, path in enumerate([*COURSE, *GOOD]):
        alone = FORMATS if path in GOOD else [FORMATS[number % len(FORMATS)]]
        for form in (*alone, all_at_once):
            here = folder / "export"
            exported(path, here, form)
            checked = qkv("check", path, here, "--json")
            report = json.loads(checked.stdout)
            equal((report["verdict"], checked.stderr), ("correct", ""), f"{path.stem} as {form}")
            compared = json.loads(qkv.printed("compare", here, path, "--json"))
            verdicts = {step["verdict"] for step in compared["steps"]}
            equal(verdicts, {"identical"}, f"{path.stem} as {form}")
            shutil.rmtree(here)


def npz_and_safetensors_are_the_same_bytes_every_time(folder):
    exported("two-heads", folder / "one", "npz,safetensors")
    exported("two-heads", folder / "two", "npz,safetensors")
    with zipfile.ZipFile(folder / "one" / "lesson.npz") as archive:  # no clock is in it
        equal({member.date_time for member in archive.infolist()}, {(1980, 1, 1, 0, 0, 0)})
    for name in ("lesson.npz", "lesson.safetensors"):
        equal((folder / "one" / name).read_bytes(), (folder / "two" / name).read_bytes(), name)


def half_floats_are_read_as_numpy_reads_them(folder):
    scores = np.array([[0.1, -2.5], [65504, 6e-8]])
    for kind in ("float16", "float32", "float64"):
        array = scores.astype(kind)
        np.save(folder / "S.npy", array)
        np.savez_compressed(folder / "S.npz", S=array)
        write_safetensors(folder / "S.safetensors", {"S": array, "other": np.arange(3)})
        for name in ("S.npy", "S.npz", "S.safetensors"):
            key = "" if name == "S.npy" else 'key = "S"\n'
            (folder / "l.toml").write_text(f'title = "t"\n[[given]]\nname = "S"\nfile = "{name}"\n{key}'
                                           '[[step]]\nname = "R"\nop = "transpose"\nof = ["S"]\n')
            printed = qkv.printed("export", folder / "l.toml", "--step", "S", "--plain", "-o", "-")
            rows = [[float(cell) for cell in line.split(",")] for line in printed.splitlines()]
            same(np.array(rows), array.astype("f8"), f"{kind} in {name}")


def a_key_that_is_not_there_gets_the_nearest(folder):
    write_safetensors(folder / "w.safetensors", {"wte": np.eye(2), "wpe": np.eye(2)})
    text = 'title = "t"\n[[given]]\nname = "S"\nfile = "w.safetensors"\n{}' \
           '[[step]]\nname = "R"\nop = "relu"\nof = ["S"]\n'
    for key, says in (('key = "wtee"\n', 'nothing in it is named "wtee"; did you mean "wte"?'),
                      ("", 'it holds several matrices; write key = "wte", or another of wte, wpe')):
        (folder / "l.toml").write_text(text.format(key))
        done = qkv("run", folder / "l.toml")
        equal(done.returncode, 2)
        assert says in done.stderr, done.stderr


def a_tensor_is_read_without_reading_the_rest_of_a_large_file(folder):
    header = {"Q": {"dtype": "F64", "shape": [1, 2], "data_offsets": [0, 16]},
              "wte": {"dtype": "F32", "shape": [2**20, 2**12], "data_offsets": [16, 16 + 2**34]}}
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + np.array([3.0, 4.0]).tobytes())
        file.truncate(8 + len(text) + 16 + 2**34)  # sparse: it takes no room
    (folder / "l.toml").write_text('title = "t"\n[[given]]\nname = "Q"\nfile = "model.safetensors"\n'
                                   'key = "Q"\n[[step]]\nname = "R"\nop = "relu"\nof = ["Q"]\n')
    if sanitized():
        raise Skipped("sanitizers reserve more than can be left to them here")
    limited = f"ulimit -v {2**25}; exec \"$0\" \"$@\""
    done = subprocess.run(["bash", "-c", limited, qkv.path, "export", folder / "l.toml", "--plain",
                           "--step", "R", "-o", "-"], capture_output=True, text=True, timeout=20)
    equal((done.stdout, done.stderr), ("3,4\n", ""))


def digits_and_plain_apply_where_they_mean_something(folder):
    there = folder / "out"
    equal(qkv("export", "two-heads", "-o", there, "--format", "csv,json,npy,markdown", "--digits",
              2, "--plain", "--step", "scaled_scores").returncode, 0)
    array = np.load(there / "09-scaled_scores.npy")
    rounded = as_array(json.loads((there / "lesson.json").read_text())["scaled_scores"])
    assert np.abs(rounded - array).max() <= 0.005 and not np.array_equal(rounded, array)
    same(np.loadtxt(there / "09-scaled_scores.head-2.csv", delimiter=","), rounded[1], "CSV")
    equal(re.findall(r"the|fat", (there / "lesson.md").read_text().split("head 1:")[1].split("head")[0]),
          [], "labels")


# ---------------------------------------------------------------------------------------------
# The list of files


def the_json_is_as_its_schema_says(folder):
    try:
        import jsonschema
    except ImportError as error:
        raise Skipped("python3-jsonschema is not installed") from error

    def valid(name, text):
        schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        faults = list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text)))
        assert not faults, f"{name}: {faults[0].message[:300]}"

    for path in [*COURSE, *GOOD, HOSTILE]:
        here = folder / path.stem
        exported(path, here, "json,csv,latex")
        valid("export-list", (here / "00-lesson.json").read_text(encoding="utf-8"))
        numbers = (here / "lesson.json").read_text(encoding="utf-8")
        if len(numbers) < 200_000:  # the validator takes its time
            valid("export-numbers", numbers)
    qkv("export", "causal", "-o", folder / "part", "--step", "masked_scores")
    valid("export-list", (folder / "part" / "00-lesson.json").read_text())
    valid("compare", qkv("compare", "two-heads", "causal", "--json").stdout)
    np.savez(folder / "d.npz", scores=np.full((2, 7, 7), np.nan), Q=np.full((2, 7, 2), np.inf))
    valid("compare", qkv("compare", folder / "d.npz", "two-heads", "--json").stdout)



def an_older_export_in_the_directory_is_not_taken_for_this_one(folder):
    def lesson(name, steps):
        given = '[[given]]\nname = "X"\nvalue = [[1, 2], [3, 4]]\n'
        made = "".join(f'[[step]]\nname = "{step}"\nop = "{op}"\nof = ["X"]\n' for step, op in steps)
        (folder / name).write_text(f'title = "{name}"\n{given}{made}')
        return folder / name

    old = lesson("old.toml", [("scores", "transpose"), ("gone", "relu")])
    new = lesson("new.toml", [("first", "relu"), ("scores", "relu"), ("gone", "gelu")])
    there = folder / "out"
    exported(old, there, "csv")
    (there / "notes.txt").write_text("mine")
    listed = exported(new, there, "npy")
    equal([entry["file"] for entry in listed["steps"]],
          ["01-first.npy", "02-scores.npy", "03-gone.npy"])
    assert (there / "01-scores.csv").exists() and (there / "notes.txt").read_text() == "mine"
    done = qkv("check", new, there / ".", "--json")
    equal(json.loads(done.stdout)["verdict"], "correct", done.stderr)
    equal(json.loads(qkv.printed("compare", there, new, "--json"))["same"], True)


# ---------------------------------------------------------------------------------------------
# Documents


def need(program):
    if not shutil.which(program):
        raise Skipped(f"{program} is not installed")


def cells_of(table):
    """The texts of a pandoc table: the header, then the rows."""
    def text(node):
        if isinstance(node, dict):
            kind, content = node.get("t"), node.get("c")
            return {"Space": " ", "SoftBreak": " "}.get(kind, content if kind == "Str" else text(content))
        return "".join(map(text, node)) if isinstance(node, list) else ""

    head, bodies = table["c"][3], table["c"][4]
    rows = [*head[1], *(row for body in bodies for row in body[3])]
    return [[text(cell[4]) for cell in row[1]] for row in rows]


def markdown_tables_hold_every_label_and_number(folder):
    need("pandoc")
    for form in ("gfm", "markdown-smart"):
        for path in [HOSTILE, ROOT / "lessons" / "02-two-heads.toml"]:
            text = qkv.printed("export", path, "--format", "markdown", "--digits", "6", "-o", "-")
            tree = json.loads(subprocess.run(["pandoc", "-f", form, "-t", "json"], input=text, text=True,
                                             capture_output=True, check=True, timeout=60).stdout)
            kinds = {block["t"] for block in tree["blocks"]}
            assert kinds <= {"Header", "Para", "Table", "CodeBlock", "BulletList", "RawBlock"}, kinds
            raw = [block for block in tree["blocks"] if block["t"] == "RawBlock"]
            equal([block["c"][1].strip() for block in raw], ["<!-- -->"] * len(raw), "raw HTML")
            tables = [cells_of(block) for block in tree["blocks"] if block["t"] == "Table"]
            wide = [table for table in tables if len(table) == 8 and len(table[0]) == 8]
            assert wide, "no 7×7 table"
            if path == HOSTILE:
                labels = ["=1+1", "a|b", "\\x{}", "<script>", "new␊␊line", "␛[2Jesc", "猫 é $x$ %"]
                equal(wide[0][0][1:], labels, "column labels")
                equal([row[0] for row in wide[0][1:]], labels, "row labels")
                csv_text = qkv.printed("export", path, "--step", "scores", "--plain", "-o", "-")
                want = np.array([[float(c) for c in line.split(",")] for line in csv_text.splitlines()])
                got = np.array([[float(cell.replace("−", "-")) for cell in row[1:]]
                                for row in wide[0][1:]])
                assert np.abs(got - want).max() <= 1e-6


def latex_is_a_document_that_pdflatex_sets(folder):
    need("pdflatex")
    for path in [HOSTILE, WIDE, *COURSE[:1], *GOOD]:
        for more in ([], ["--plain"]) if path in (HOSTILE, WIDE) else ([],):
            here = folder / path.stem
            equal(qkv("export", path, "-o", here, "--format", "latex", *more).returncode, 0)
            done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error",
                                   "-no-shell-escape", "lesson.tex"], cwd=here, timeout=120,
                                  capture_output=True, check=False)
            log = done.stdout.decode("utf-8", "replace")
            faults = [line for line in log.splitlines() if line.startswith("!") or "Overfull \\hbox" in line]
            equal((done.returncode, faults), (0, []), path.stem)
            assert (here / "lesson.pdf").stat().st_size > 1000


def a_document_never_sends_an_escape_code_to_the_screen(folder):
    for form in ("csv", "json", "markdown", "latex"):
        printed = qkv.printed("export", HOSTILE, "--format", form, "-o", "-")
        equal([c for c in printed if ord(c) < 32 and c != "\n"], [], form)


def a_matrix_without_numbers_is_written_or_refused(folder):
    for shape in ("[0, 3]", "[3, 0]", "[2, 0, 3]"):
        lesson = folder / "l.toml"
        lesson.write_text(f'title = "t"\n[[given]]\nname = "X"\nzeros = {shape}\n'
                          '[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\n')
        for form in ("markdown", "latex"):
            assert "It holds no numbers." in qkv.printed("export", lesson, "--format", form, "-o", "-")
        for form in ("csv", "npy", "npz", "json", "safetensors"):
            assert qkv("export", lesson, "--format", form, "-o", folder / form).returncode in (0, 2)


# Feature 2 of "on" is -1 in the table of embeddings.
def markdown_is_typeset_and_csv_is_not(folder):
    text = qkv.printed("export", "two-heads", "--format", "markdown", "-o", "-")
    equal(re.findall(r"(?<=[ (|])-(?:\d|inf)", text), [], "hyphens for minus signs")
    assert "| on | 0 | −1 | 0 | 0 |" in text
    table = ("export", "two-heads", "--step", "embedding_table", "--format", "csv", "-o", "-")
    assert "on,0,-1,0,0" in qkv.printed(*table), qkv.printed(*table)


CLAIMS = [
    every_format_holds_the_numbers_that_numpy_works_out,
    what_qkv_exports_it_reads_back,
    npz_and_safetensors_are_the_same_bytes_every_time,
    half_floats_are_read_as_numpy_reads_them,
    a_key_that_is_not_there_gets_the_nearest,
    a_tensor_is_read_without_reading_the_rest_of_a_large_file,
    digits_and_plain_apply_where_they_mean_something,
    the_json_is_as_its_schema_says,
    an_older_export_in_the_directory_is_not_taken_for_this_one,
    markdown_tables_hold_every_label_and_number,
    markdown_is_typeset_and_csv_is_not,
    latex_is_a_document_that_pdflatex_sets,
    a_document_never_sends_an_escape_code_to_the_screen,
    a_matrix_without_numbers_is_written_or_refused,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
