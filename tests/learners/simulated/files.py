"""A submission as files: CSV of many kinds, what NumPy, PyTorch and MATLAB print, and .npy."""

import functools
import math
import os

import numpy as np
from operations import turned

from .lesson import shown

FORMS = ["csv", "csv", "labelled", "semicolon", "tab", "numpy", "torch", "array", "matlab"]
BRACKETS = ("numpy", "torch", "array")


def make_blanks(learner):
    """Leaves a fifth of the cells empty, where the learner does."""
    if not learner.blanks:
        return
    for name in sorted(learner.handed):
        texts = learner.texts.get(name)
        if texts is None or name in learner.lesson.givens or learner.misshapen == name:
            continue
        mask = learner.rng.random(texts.shape) < 0.2
        if mask.all(axis=(-2, -1) if mask.ndim > 1 else None).any():  # a file with nothing in it
            mask[...] = False
        if name == learner.at:
            mask[...] = False
        learner.blank[name] = mask


class Writer:
    """Writes a submission in one random form."""

    def __init__(self, learner, folder):
        self.learner, self.rng, self.folder = learner, learner.rng, folder
        learner.form = FORMS[self.rng.integers(len(FORMS))]
        if learner.pen.binary:
            learner.form = "npy"
        self.bom, self.crlf = self.rng.random() < 0.2, self.rng.random() < 0.3
        self.end = "\r\n" if self.crlf else "\n"
        os.makedirs(folder)
        for number, name in enumerate(n for n in learner.texts if n in learner.handed):
            self.write(number, name)

    def write(self, number, name):
        learner, lesson = self.learner, self.learner.lesson
        texts = learner.texts[name].copy()
        if name in learner.blank:
            texts[learner.blank[name]] = ""
        if learner.convention == "columns":
            texts = turned(texts)
        texts = shown(lesson, texts)
        stem = f"{self.folder}/" + (f"{number + 1:02d}-" if self.rng.random() < 0.5 else "") + \
            ("given-" if name in lesson.givens and self.rng.random() < 0.5 else "") + name
        if learner.pen.binary and name not in lesson.givens:
            self.write_binary(stem, texts)
            return
        is_odd = name in lesson.givens and learner.form in ("numpy", "matlab", "npy")
        form = "csv" if is_odd else learner.form
        if texts.ndim > 2 and (texts.ndim > 3 or not (form in BRACKETS and self.rng.random() < 0.5)):
            axes = self.leading_axes(name, texts.ndim - 2)
            for index in np.ndindex(*texts.shape[:-2]):
                suffix = "".join(f".{axis}-{i + 1}" for axis, i in zip(axes, index))
                self.write_text(stem + suffix, texts[index], form)
        else:
            self.write_text(stem, texts, form)

    @functools.cached_property
    def truth(self):
        return self.learner.lesson.truth()

    def leading_axes(self, name, count):
        ids = self.learner.lesson.givens.get("ids")
        if count > 1:
            return ["batch", "head"]
        has_batch = self.truth[name].shape[0] == 2 and ids is not None and ids.ndim == 2
        return ["batch"] if has_batch else ["head"]

    def write_binary(self, stem, texts):
        values = np.vectorize(lambda t: float(t) if t else math.nan, otypes=[float])(texts)
        values = values.astype(np.float32 if self.learner.pen.float32 else np.float64)
        if values.ndim == 3 and self.rng.random() < 0.3:
            for h in range(values.shape[0]):
                np.save(f"{stem}.head-{h + 1}.npy", values[h])
        else:
            np.save(f"{stem}.npy", np.asfortranarray(values) if self.rng.random() < 0.2 else values)

    def write_text(self, stem, texts, form):
        if not any(texts.flat):
            return  # nothing was worked: no file
        if texts.ndim == 1 and form not in BRACKETS:
            texts = texts.reshape(1, -1)
        if form == "semicolon" and texts.shape[1] == 1:
            form = "csv"  # one column has no semicolon that would tell a decimal comma
        if form in ("csv", "labelled", "semicolon", "tab"):
            text = self.separated(texts, form)
            ending = ".tsv" if form == "tab" and self.rng.random() < 0.5 else ".csv"
        else:
            text = self.matlab(texts) if form == "matlab" else printed(texts, form) + self.end
            ending = ".txt"
        with open(stem + ending, "w", encoding="utf-8", newline="") as file:
            file.write(("\ufeff" if self.bom else "") + text)

    def separated(self, texts, form):
        comma = {"semicolon": ";", "tab": "\t"}.get(form, ",")
        rows = [[t.replace(".", ",") if form == "semicolon" else t for t in row] for row in texts]
        if form == "labelled":
            columns = [f"c{j + 1}" for j in range(texts.shape[1])]
            rows = [[""] + columns] + [[f"r{i + 1}"] + row for i, row in enumerate(rows)]
        return "".join(comma.join(row) + self.end for row in rows)

    def matlab(self, texts):
        if self.rng.random() < 0.5:
            return "".join("   " + "   ".join(t or "?" for t in row) + self.end for row in texts)
        return "[" + "; ".join(" ".join(t or "?" for t in row) for row in texts) + "]" + self.end


def printed(texts, form):
    """As Python prints an array of NumPy's or PyTorch's."""
    body = nested(texts, " " if form == "numpy" else ", ")
    return {"numpy": body, "torch": f"tensor({body})", "array": f"array({body}, dtype=float64)"}[form]


def nested(x, comma):
    if x.ndim == 1:
        return "[" + comma.join(t if t else "?" for t in x) + "]"
    return "[" + (comma.strip() + "\n ").join(nested(y, comma) for y in x) + "]"
