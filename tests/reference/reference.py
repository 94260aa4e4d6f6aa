#!/usr/bin/python3
"""An independent second opinion on a lesson: every step again, with NumPy.

    reference.py QKV [LESSON.toml...]      export each lesson with QKV, compare every given and step
    reference.py --expect [LESSON.toml...] no program: each [[expect]] against NumPy's own numbers

Without lessons: those of the course and of tests/lessons/good, and the folders of worked examples
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
import functools
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np

from model import Layout

TOLERANCE = 1e-12  # of the largest finite magnitude in the matrix
HIDDEN = -np.inf


class LessonError(Exception):
    """The lesson says something that this program cannot work out; the text says what."""


class Skipped(LessonError):
    """A lesson that is outside what this program covers."""


# ---------------------------------------------------------------------------------------------
# Numbers as text

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|Inf|nan|NaN)")


def matching_bracket(text, start):
    """The place just after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "[") - (text[place] == "]")
        if depth == 0:
            return place + 1
    raise LessonError("a bracket in a pasted matrix is never closed")


def nested_tokens(text):
    """'[[1 2] [3 4]]' as nested lists of the numbers' own texts."""
    root = []
    open_lists = [root]
    for piece in re.findall(rf"\[|\]|{NUMBER.pattern}|[^\s,]", text):
        if piece == "[":
            inner = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif piece == "]":
            open_lists.pop()
        elif NUMBER.fullmatch(piece):
            open_lists[-1].append(piece)
        else:
            raise LessonError(f"'{piece}' in a pasted matrix is no number")
    return root[0]


def line_tokens(line):
    """One line of numbers: CSV (comma, semicolon with decimal commas, tab) or blanks between."""
    if ";" in line:
        return [cell.strip().replace(",", ".") for cell in line.split(";")]
    for mark in (",", "\t"):
        if mark in line:
            return [cell.strip() for cell in line.split(mark)]
    return line.split()


def pasted_tokens(text):
    """A pasted matrix as nested lists of texts, from NumPy, PyTorch, MATLAB or CSV."""
    text = text.lstrip("\ufeff")
    if "..." in text:
        raise LessonError("a pasted matrix was cut short with '...'")
    start = text.find("[")
    if start < 0:
        lines = [line for line in text.splitlines() if line.strip() and not line.endswith("=")]
        rows = [line_tokens(line.strip("\r")) for line in lines]
        if rows and rows[0] and rows[0][0] == "" and len(rows) > 1:  # labelled
            rows = [row[1:] for row in rows[1:]]
        return [[cell or "nan" for cell in row] for row in rows]
    body = text[start : matching_bracket(text, start)]
    if ";" in body:  # MATLAB: [1 2; 3 4]
        return [NUMBER.findall(row) for row in body.strip("[] \n").split(";") if row.strip()]
    return nested_tokens(body)


def flat(nested):
    """Every leaf of nested lists, in order."""
    if not isinstance(nested, list):
        return [nested]
    return [leaf for part in nested for leaf in flat(part)]


def as_array(nested):
    """Nested lists of numbers, or of their texts, as an array of doubles."""
    leaves = np.array([float(leaf) for leaf in flat(nested)])
    shape, level = [], nested
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0]
    if math.prod(shape) != leaves.size:
        raise LessonError("the rows of a matrix differ in length")
    return leaves.reshape(shape)


def tokens_of(value):
    """A lesson's `value` (nested arrays, or a string as pasted) as nested lists of texts."""
    if isinstance(value, str):
        return pasted_tokens(value)
    if isinstance(value, list):
        return [tokens_of(part) for part in value]
    return repr(value)


def half_units(texts):
    """How far off each number may be: half a unit of the last digit printed in its matrix.

    In e-notation the unit is the cell's own. A matrix of whole numbers is meant exactly.
    """
    decimals = [len(t.partition(".")[2]) for t in texts if "e" not in t.lower()]
    common = max(decimals, default=0)
    allowed = []
    for text in texts:
        mantissa, e, exponent = text.lower().partition("e")
        if e:
            allowed.append(0.5 * 10.0 ** (int(exponent) - len(mantissa.partition(".")[2])))
        else:
            allowed.append(0.5 * 10.0**-common if common else 0.0)
    return np.array(allowed)


# ---------------------------------------------------------------------------------------------
# Givens


class Draws:
    """The lesson's random stream, from the generator itself."""

    def __init__(self, table):
        self.generator = table.get("generator", "numpy")
        self.restart(table.get("seed", 0))

    def restart(self, seed):
        if self.generator == "torch":
            import torch  # slow to load: only for the lessons that need it

            torch.manual_seed(seed)
        else:
            np.random.seed(seed)

    def draw(self, kind, sizes):
        if self.generator == "numpy":
            if kind not in ("rand", "randn"):
                raise LessonError(f"{kind} is PyTorch's; the lesson's generator is numpy")
            return getattr(np.random, kind)(*sizes)
        import torch

        if kind in ("rand", "randn"):
            return getattr(torch, kind)(*sizes).double().numpy()
        inputs, outputs = sizes
        if kind == "linear":  # as nn.Linear's own reset_parameters does it
            drawn = torch.empty(outputs, inputs)
            torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5))
        else:
            drawn = torch.empty(outputs)
            torch.nn.init.uniform_(drawn, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))
        return drawn.double().numpy()


def read_safetensors(path, key):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])[key]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    raw, kind = data[begin:end], entry["dtype"]
    if kind == "BF16":  # the upper half of a float32
        values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    else:
        types = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
        values = np.frombuffer(raw, types[kind])
    return values.reshape(entry["shape"]).astype(float)


def read_file(path, key):
    if path.suffix == ".npy":
        return np.load(path).astype(float)
    if path.suffix == ".npz":
        return np.load(path)[key].astype(float)
    if path.suffix == ".safetensors":
        return read_safetensors(path, key)
    return as_array(pasted_tokens(path.read_text(encoding="utf-8-sig")))


def given_value(given, draws, folder):
    """A [[given]] as the lesson writes it, in the lesson's own convention."""
    if "seed" in given:
        draws.restart(given["seed"])
    if "value" in given:
        value = as_array(tokens_of(given["value"]))
    elif "file" in given:
        value = read_file(folder / given["file"], given.get("key"))
    elif "eye" in given:
        value = np.eye(given["eye"])
    elif "tril" in given:
        value = np.tril(np.ones((given["tril"], given["tril"])))
    elif "ones" in given:
        value = np.ones(given["ones"])
    elif "zeros" in given:
        value = np.zeros(given["zeros"])
    else:
        kinds = [kind for kind in ("randn", "rand", "linear", "linear_bias") if kind in given]
        if not kinds:
            raise LessonError(f"given {given['name']} has no value")
        sizes = given[kinds[0]]
        value = draws.draw(kinds[0], [sizes] if isinstance(sizes, int) else sizes)
    return turned(value) if given.get("transpose", False) else value


# ---------------------------------------------------------------------------------------------
# The operations, one function each: f(lesson, step, operands) with rows as tokens


def turned(a):
    """The last two axes exchanged; a vector stays as it is."""
    return np.swapaxes(a, -1, -2) if a.ndim > 1 else a


def matrix(a):
    """A vector as one row."""
    return a[np.newaxis, :] if a.ndim == 1 else a


def words(text):
    """Runs of letters, digits and apostrophes; each other visible mark by itself."""
    return re.findall(r"(?:[^\W_]|['\u2019])+|\S", text)


def tokenise(lesson, step):
    method = step.get("method", "words")
    if method == "bpe":
        raise Skipped("tokenises by byte pairs")
    text = lesson.table["text"]
    batch = [text] if isinstance(text, str) else text
    if step.get("lowercase", False):
        batch = [one.lower() for one in batch]
    split = [words(one) if method == "words" else list(one) for one in batch]
    longest = max(len(one) for one in split)
    pad = step.get("pad", "<pad>")
    if isinstance(pad, str):
        split = [one + [pad] * (longest - len(one)) for one in split]
    vocabulary = lesson.table.get("vocabulary")
    if vocabulary is None:
        vocabulary = list(dict.fromkeys(token for one in split for token in one if token != pad))
        vocabulary += [pad] if isinstance(pad, str) else []
    lesson.id_of = {token: place for place, token in enumerate(vocabulary)}
    missing = [token for one in split for token in one if token not in lesson.id_of]
    if missing:
        raise LessonError(f"'{missing[0]}' is not in the vocabulary")
    lesson.pad = lesson.id_of.get(pad, pad)  # a word that fills up nothing may be missing
    ids = [[lesson.id_of[token] for token in one] for one in split]
    ids = [one + [lesson.pad] * (longest - len(one)) for one in ids]
    return np.array(ids[0] if isinstance(text, str) else ids, float)


def embed(lesson, step, ids, table):
    return table[ids.astype(int)]


def positions(lesson, step, e, table=None):
    n, width = e.shape[-2:]
    if step.get("method", "sinusoidal") == "learned":
        return table[:n]
    column = np.arange(width)
    angle = np.arange(n)[:, None] / step.get("base", 10000) ** ((column - column % 2) / width)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


def add(lesson, step, a, b):
    return a + b


def project(lesson, step, x, w, b=None):
    w = turned(w) if step.get("layout", "in-out") == "out-in" else w
    product = matrix(x) @ w
    return product if b is None else product + b


def split_heads(lesson, step, a):
    # The axis is named as it is shown: in a lesson in columns the features run down the rows.
    features = "rows" if lesson.in_columns else "columns"
    rows, columns = a.shape[-2:]
    h = step["heads"]
    if step.get("axis", features) == features:
        parts = a.reshape(*a.shape[:-2], rows, h, columns // h)
        return np.swapaxes(parts, -3, -2)
    return a.reshape(*a.shape[:-2], h, rows // h, columns)


def concat_heads(lesson, step, *heads):
    if len(heads) > 1:
        return np.concatenate(heads, axis=-1)
    (a,) = heads
    if a.ndim < 3:
        raise LessonError(f"{step['name']}: nothing to join, there is no head axis")
    joined = np.swapaxes(a, -3, -2)
    return joined.reshape(*joined.shape[:-2], -1)


def score(lesson, step, q, k):
    return matrix(q) @ turned(matrix(k))


def scale(lesson, step, s):
    by = step.get("by", "sqrt(d_k)")
    if not isinstance(by, str):
        return s / by
    root = re.fullmatch(r"sqrt\((.*)\)", by)
    inner = root.group(1) if root else by
    divisor = lesson.width_of_queries(step) if inner == "d_k" else float(inner)
    return s / (math.sqrt(divisor) if root else divisor)


def mask(lesson, step, s, m=None):
    kind = step["kind"]
    if kind == "causal":
        keep = np.tril(np.ones(s.shape[-2:]))
    elif kind == "padding":
        ids = lesson.values[lesson.ids] if m is None else m
        pad = step.get("pad", lesson.pad)
        pad = lesson.id_of.get(pad, pad)
        lead = (1,) * (s.ndim - ids.ndim - 1)  # heads, between the batch and the queries
        keep = (ids != pad).reshape(*ids.shape[:-1], *lead, 1, ids.shape[-1])
    else:
        keep = m
    return np.where(keep != 0, s, HIDDEN)


def along_lines(operation):
    """The operation down the columns where the step's axis says so.

    The axis is named as it is shown: in a lesson in columns each column is a line by default.
    """

    @functools.wraps(operation)
    def either_way(lesson, step, a):
        default = "columns" if lesson.in_columns else "rows"
        if step.get("axis", default) == default:
            return operation(lesson, step, a)
        return turned(operation(lesson, step, turned(a)))

    return either_way


@along_lines
def shift(lesson, step, a):
    top = a.max(axis=-1, keepdims=True)
    return a - np.where(np.isfinite(top), top, 0.0)


def exp(lesson, step, a):
    return np.exp(a)


@along_lines
def normalise(lesson, step, a):
    total = a.sum(axis=-1, keepdims=True)
    empty = (a == 0).all(axis=-1, keepdims=True)  # nothing to share out: zeros, not 0 / 0
    return np.where(empty, 0.0, a / np.where(empty, 1.0, total))


@along_lines
def softmax(lesson, step, a):
    return normalise(lesson, {}, np.exp(shift(lesson, {}, a)))


def weighted_sum(lesson, step, a, v):
    return matrix(a) @ matrix(v)


def sum_heads(lesson, step, a):
    return a.sum(axis=-3)


def switch_off(lesson, step, a):
    result = a.copy()
    result[..., step["head"] - 1, :, :] = 0
    return result


def layer_norm(lesson, step, x, gain=None, bias=None):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    result = (x - mean) / np.sqrt(variance + step.get("eps", 1e-5))
    result = result if gain is None else result * gain
    return result if bias is None else result + bias


def gelu(lesson, step, x):
    if step.get("form", "tanh") == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def relu(lesson, step, x):
    return np.maximum(x, 0.0)


def transpose(lesson, step, a):
    return turned(a)


def matmul(lesson, step, a, b):
    return matrix(a) @ matrix(b)


OPERATIONS = {
    f.__name__: f
    for f in (tokenise, embed, positions, add, project, split_heads, concat_heads, score, scale,
              mask, softmax, shift, exp, normalise, weighted_sum, sum_heads, switch_off, layer_norm,
              gelu, relu, transpose, matmul)
}


# ---------------------------------------------------------------------------------------------
# A lesson, worked out


class Lesson:
    def __init__(self, path):
        self.path = Path(path)
        self.table = tomllib.loads(self.path.read_text(encoding="utf-8"))
        self.in_columns = self.table.get("convention", "rows") == "columns"
        self.values, self.steps, self.id_of, self.pad, self.ids = {}, {}, {}, 0, None
        self.givens = []
        own_steps = self.table.get("step", [])
        if "model" in self.table:
            own_steps = self.lay_out(self.table["model"], own_steps)
        self.givens += [given["name"] for given in self.table.get("given", [])]
        draws = Draws(self.table.get("random", {}))
        for given in self.table.get("given", []):
            self.keep(given["name"], self.turn(given_value(given, draws, self.path.parent)))
        for step in own_steps:
            if isinstance(step.get("of"), str):  # one operand needs no list
                step["of"] = [step["of"]]
            self.work_out(step)

    def lay_out(self, table, own_steps):
        """Keeps the model's givens; its steps, and those of the lesson that are not its words."""
        layout = Layout(self.path.parent / table["file"], table)
        self.table.setdefault("vocabulary", layout.vocabulary)
        self.givens = list(layout.givens)
        for name, value in layout.givens.items():
            self.keep(name, value)
        return [*layout.steps, *(step for step in own_steps if "op" in step)]

    def turn(self, a):
        """Between the file's convention and rows; the same both ways."""
        return turned(a) if self.in_columns else a

    def keep(self, name, value):
        if name in self.values:
            raise LessonError(f"{name} is defined twice")
        self.values[name] = value

    def work_out(self, step):
        name, op = step["name"], step["op"]
        if op not in OPERATIONS:
            raise LessonError(f"{name}: unknown operation {op}")
        unknown = [operand for operand in step.get("of", []) if operand not in self.values]
        if unknown:
            raise LessonError(f"{name}: {unknown[0]} is not known yet")
        operands = [self.values[operand] for operand in step.get("of", [])]
        try:
            value = OPERATIONS[op](self, step, *operands)
        except ValueError as error:
            raise LessonError(f"{name}: {error}") from error
        self.steps[name] = step
        self.keep(name, value)
        if op == "tokenise":
            self.ids = name

    def width_of_queries(self, step):
        """d_k: the width of the Q behind these scores, through masks and scales."""
        source = self.steps.get(step["of"][0])
        while source and source["op"] in ("mask", "scale"):
            source = self.steps.get(source["of"][0])
        if not source or source["op"] not in ("score", "matmul"):
            raise LessonError(f"{step['name']}: no Q behind {step['of'][0]}, so no d_k")
        return self.values[source["of"][0]].shape[-1]

    def shown(self, name):
        """A value as the lesson's reader sees it: in its convention, a vector as one row."""
        value = self.values[name]
        is_ids = self.steps.get(name, {}).get("op") == "tokenise"
        return matrix(value if is_ids else self.turn(value))


# ---------------------------------------------------------------------------------------------
# Comparing


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
            *sorted((root / "tests" / "lessons" / "good").glob("*.toml")),
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
