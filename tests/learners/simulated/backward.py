"""The way back of a lesson: gradients by central differences, and what learners make of them."""

import backward as reference
import numpy as np
from operations import turned

from . import lesson as lessons

# What is worked by formula: from the result, as written, or around a bend.
FROM_RESULT = {"softmax", "exp", "normalise", "mask", "relu", "shift"}


def flows(step, k):
    return (step.op, k) not in reference.NO_NUMBERS and step.op not in ("backward", "sum_of_uses")


def go_back(lesson, rng):
    """Adds the gradients of all that numbers flow from, the last step's being given."""
    last = lesson.steps[-1].name
    truth = lesson.truth()[last]
    lesson.arriving = {last: lesson.given("G", np.round(rng.normal(0, 1, truth.shape), 1))}
    forward = list(lesson.steps)
    flowing = set(lesson.givens)
    for step in forward:
        if any(flows(step, k) and name in flowing for k, name in enumerate(step.of)):
            flowing.add(step.name)
    arrived, gradient = {last}, {last: "G"}
    names = [name for name in lesson.givens if name != "G"] + [step.name for step in forward]
    for name in reversed(names):
        if name == last or name not in flowing:
            continue
        uses = [(step, k) for step in forward for k, of in enumerate(step.of)
                if of == name and step.name in arrived and flows(step, k)]
        if uses:
            arrived.add(name)
            gradient[name] = add_uses(lesson, name, uses, gradient)


def add_uses(lesson, name, uses, gradient):
    made = []
    for i, (step, k) in enumerate(uses):
        own = f"d_{name}"
        if len(uses) > 1:
            own += f"_by_{step.name}"
            same = [j for j, use in enumerate(uses) if use[0] is step]
            own += f"_{same.index(i) + 1}" if len(same) > 1 else ""
        of = [gradient[step.name], *step.of] + ([step.name] if step.op in FROM_RESULT and k == 0 else [])
        lesson.steps.append(lessons.Step(own, "backward", of, through=step, operand=k))
        made.append(own)
    if len(made) > 1:
        lesson.step(f"d_{name}", "sum_of_uses", *made)
    return f"d_{name}"


def compute(lesson, step, operands, values):
    """The numbers of a step of the way back."""
    if step.op == "sum_of_uses":
        return sum(operands[1:], operands[0])
    through, k = step.options["through"], step.options["operand"]
    change, *there = operands
    if through.op in FROM_RESULT and k == 0:
        return from_result(through, change, there)
    return by_differences(lesson, through, k, change, there, values)


def from_result(through, change, there):
    numbers, made = there[0], there[-1]
    if through.op == "exp":
        return change * made
    if through.op == "mask":
        return np.where(np.isneginf(made), 0, change)
    if through.op == "relu":
        return np.where(numbers > 0, change, 0)
    if through.op == "shift":
        tops = numbers == numbers.max(-1, keepdims=True)
        return change - tops * change.sum(-1, keepdims=True) / tops.sum(-1, keepdims=True)
    rest = change - (made * change).sum(-1, keepdims=True)
    if through.op == "softmax":
        return made * rest
    total = numbers.sum(-1, keepdims=True)
    return np.divide(rest, total, out=np.zeros(np.broadcast(rest, total).shape), where=total != 0)


def by_differences(lesson, through, k, change, there, values):
    """How much all results, each as often as its gradient says, change with each number."""
    compute = lambda of: lessons.compute(lesson, through, values, of)
    return np.round(reference.gradient(compute, there, k, change), 12)  # what is exact is so again


def mistakes(case):
    """(id, numbers) of a step of the way back."""
    if case.step.op == "sum_of_uses":
        yield from without_one(case)
        return
    through, k = case.step.options["through"], case.step.options["operand"]
    change, *there = case.operands
    if through.op == "softmax" and k == 0:
        weights = there[-1]
        yield "softmax-backward.elementwise", weights * (1 - weights) * change
        yield "softmax-backward.no-sum", weights * change
        yield "softmax-backward.columns", weights * (change - (weights * change).sum(-2, keepdims=True))
    elif through.op == "scale":
        by = lessons.divisor(case.lesson, through, case.values)
        yield "backward.scale-skipped", change
        yield "backward.scale-twice", change / by / by
    elif through.op in ("score", "weighted_sum"):
        yield from of_products(case, through, k, change, there)
    elif through.op == "project" and k == 2 and change.ndim == 2 and change.shape[0] > 1:
        for row in {0, len(change) // 2, len(change) - 1}:
            yield "backward.rows-not-summed", change[row:row + 1]


def of_products(case, through, k, change, there):
    """The product with a matrix turned over, or with the wrong one."""
    other = there[1 - k]
    if case.right.shape[:-2] != change.shape[:-2] or other.shape[:-2] != change.shape[:-2]:
        return
    if through.op == "score":
        left, right = (change, other) if k == 0 else (turned(change), other)
    else:
        left, right = (change, turned(other)) if k == 0 else (turned(other), change)
    for a in (left, turned(left)):
        for b in (right, turned(right)):
            if (a is left and b is right) or a.shape[-1] != b.shape[-2]:
                continue
            if (a @ b).shape == case.right.shape:
                yield "backward.transposed", a @ b
    if through.op == "score" and there[0].shape == there[1].shape:
        yield "backward.wrong-operand", left @ there[k]


def without_one(case):
    for name in case.step.of:
        through = case.lesson.find(name).options["through"]
        residual = through.op == "add"
        rest = [x for other, x in zip(case.step.of, case.operands) if other != name]
        yield ("backward.residual-skipped" if residual else "backward.one-path",
               sum(rest[1:], rest[0]))
