"""A lesson: givens and steps, worked by NumPy, and its file."""

import json

import numpy as np
import operations

from . import backward

GOING_BACK = ("backward", "sum_of_uses")


class Step:
    def __init__(self, name, op, of, **options):
        self.name, self.op, self.of, self.options = name, op, of, options


class Lesson:
    """Givens and steps; inside, a token is always a row."""

    def __init__(self):
        self.convention, self.tokens = "rows", []
        self.givens, self.steps = {}, []
        self.weights = {}    # givens that projections use
        self.arriving = {}   # steps whose gradient is given, and the given

    def given(self, name, value, weight=False):
        self.givens[name] = np.asarray(value, float)
        if weight:
            self.weights[name] = True
        return name

    def step(self, name, op, *of, **options):
        self.steps.append(Step(name, op, list(of), **options))
        return name

    def find(self, name):
        return next((s for s in self.steps if s.name == name), None)

    def truth(self):
        values = dict(self.givens)
        for step in self.steps:
            values[step.name] = compute(self, step, values)
        return values


def chain(lesson, step):
    """The steps from this one back along the first operands, to a given."""
    links = []
    while step is not None:
        links.append(step)
        step = lesson.find(step.of[0]) if step.of else None
    return links


def behind(lesson, name, op):
    step = lesson.find(name)
    return next((s for s in chain(lesson, step) if s.op == op), None) if step else None


def query_width(lesson, step, values):
    score = behind(lesson, step.name, "score")
    return values[score.of[0]].shape[-1] if score else values[step.of[0]].shape[-1]


def divisor(lesson, step, values):
    """What a step of op scale divides by."""
    return operations.divisor(step.options.get("by", "sqrt(d_k)"), query_width(lesson, step, values))


def hidden_cells(step, values):
    """What a step of op mask hides."""
    return operations.hidden(*(values[n] for n in step.of), **step.options)


def compute(lesson, step, values, operands=None):
    """A step's numbers, from the operands or else from `values`."""
    a = operands if operands is not None else [values[n] for n in step.of]
    options = step.options
    if step.op in GOING_BACK:
        return backward.compute(lesson, step, a, values)
    if step.op == "scale":
        options = {**options, "d_k": query_width(lesson, step, values)}
    return operations.OPERATIONS[step.op](*a, **options)


def shown(lesson, x):
    """A matrix as the lesson's people see it."""
    return operations.turned(x) if lesson.convention == "columns" else x


def toml_value(x):
    if x.ndim == 0:
        v = float(x)
        return repr(int(v)) if v.is_integer() else repr(v)
    return "[" + ", ".join(toml_value(y) for y in x) + "]"


def lesson_toml(lesson):
    lines = ['title = "A simulated lesson"', 'summary = "Random numbers."', 'source = "simulate.py"']
    if lesson.tokens:
        lines.append("tokens = " + json.dumps(lesson.tokens))
    lines.append(f'convention = "{lesson.convention}"')
    for name, value in lesson.givens.items():
        lines += ["[[given]]", f'name = "{name}"', "value = " + toml_value(shown(lesson, value))]
    for step in (s for s in lesson.steps if s.op not in GOING_BACK):
        lines += ["[[step]]", f'name = "{step.name}"', f'op = "{step.op}"', "of = " + json.dumps(step.of)]
        for key, value in step.options.items():
            if key == "axis" and lesson.convention == "columns":
                value = {"rows": "columns", "columns": "rows"}[value]
            lines.append(f"{key} = {json.dumps(value)}")
    for step, given in lesson.arriving.items():
        lines += ["[backward]", f'from = {{ {step} = "{given}" }}']
    return "\n".join(lines) + "\n"
