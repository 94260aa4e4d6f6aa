"""Numbers as text: matrices as lessons and files hold them, and how exactly they are meant."""

import math
import re

import numpy as np

from errors import LessonError

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
