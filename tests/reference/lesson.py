"""A lesson from its file, worked out with NumPy."""

import re
import tomllib
from pathlib import Path

import numpy as np

import backward
from errors import LessonError, Skipped
from givens import Draws, given_value
from model import layout_of
from operations import OPERATIONS, matrix, turned

# What a step holds besides its operation's options.
WORDS = {"name", "op", "of", "say", "notice", "title", "cell", "try", "answer", "show", "general"}


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
            names = step.get("of", []) if "op" in step else [step["name"]]
            if any(name.startswith("d_") and name not in self.values for name in names):
                self.go_back()
            if "op" in step or step["name"] not in self.values:  # else words for a gradient
                self.work_out(step)
        self.go_back()

    def go_back(self):
        """The gradients, once, after the steps that do without them."""
        table = self.table.pop("backward", None)
        if table is None:
            return
        forward = list(self.steps.values())
        way = backward.WayBack(table, self.givens, forward)
        for name, what in way.laid_out():
            if what == "loss":
                value = np.ones((1, 1))
            elif isinstance(what, list):
                value = sum((self.values[part] for part in what[1:]), self.values[what[0]])
            else:
                value = self.gradient(*what, self.values[way.gradient_of[what[0]["name"]]])
            self.steps[name] = {"name": name, "op": "backward"}
            self.keep(name, value)

    def gradient(self, step, k, change):
        """What comes back to operand k of a step."""
        there = [self.values[name] for name in self.operands_in_rows(step)]
        k = len(there) - 1 - k if self.in_columns and step["op"] == "matmul" else k
        return backward.gradient(lambda of: self.computed(step, of), there, k, change)

    def lay_out(self, table, own_steps):
        """Keeps the model's givens; its steps, and those of the lesson that are not its words."""
        layout = layout_of(self.path.parent / table["file"], table)
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
        if op == "backward":
            change = self.values[step["of"][0]]
            self.keep(name, self.gradient(*backward.through(self.steps, step), change))
            self.steps[name] = {"name": name, "op": op}
            return
        if op != "tokenise" and op not in OPERATIONS:
            raise LessonError(f"{name}: unknown operation {op}")
        unknown = [operand for operand in step.get("of", []) if operand not in self.values]
        if unknown:
            raise LessonError(f"{name}: {unknown[0]} is not known yet")
        operands = [self.values[operand] for operand in self.operands_in_rows(step)]
        try:
            value = tokenise(self, step) if op == "tokenise" else self.computed(step, operands)
        except ValueError as error:
            raise LessonError(f"{name}: {error}") from error
        self.steps[name] = step
        self.keep(name, value)
        if op == "tokenise":
            self.ids = name

    def operands_in_rows(self, step):
        """A product in columns is written as it is shown: (A·B)ᵀ = Bᵀ·Aᵀ."""
        turns = self.in_columns and step["op"] == "matmul"
        return step.get("of", [])[::-1] if turns else step.get("of", [])

    def computed(self, step, operands):
        """The operation, with those of its options that only the lesson knows."""
        options = {key: value for key, value in step.items() if key not in WORDS}
        if "axis" in options and self.in_columns:  # it is named as it is shown
            options["axis"] = {"rows": "columns", "columns": "rows"}[options["axis"]]
        if step["op"] == "take" and self.in_columns:
            options |= {"rows": step.get("columns"), "columns": step.get("rows")}
        if step["op"] == "scale" and "d_k" in str(step.get("by", "d_k")):
            options["d_k"] = self.width_of_queries(step)
        if step.get("kind") == "padding":
            operands = [*operands, *([self.values[self.ids]] if len(operands) < 2 else [])]
            pad = step.get("pad", self.pad)
            options["pad"] = self.id_of.get(pad, pad)
        return OPERATIONS[step["op"]](*operands, **options)

    def width_of_queries(self, step):
        """d_k: the width of the Q behind these scores, through masks and scales."""
        source = self.steps.get(step["of"][0])
        while source and source["op"] in ("mask", "scale"):
            source = self.steps.get(source["of"][0])
        if not source or source["op"] not in ("score", "matmul"):
            raise LessonError(f"{step['name']}: no Q behind {step['of'][0]}, so no d_k")
        return self.values[self.operands_in_rows(source)[0]].shape[-1]

    def shown(self, name):
        """A value as the lesson's reader sees it: in its convention, a vector as one row."""
        value = self.values[name]
        is_ids = self.steps.get(name, {}).get("op") == "tokenise"
        return matrix(value if is_ids else self.turn(value))
