#!/usr/bin/python3
"""Simulated learners: random lessons, worked by hand by people who round, forget and slip.

Makes lessons and submissions at random, runs `qkv check` on them and compares its verdicts with what
is known of each learner: who only rounds must never be told "wrong"; who makes one mistake must be
told the step and the mistake. All arithmetic here is NumPy's, written from SPEC, section 5, and not
from qkv. The same seed gives the same learners.

    tests/check/simulate.py QKV [--seed N] [--lessons N] [--learners N] [--keep DIR] [--verbose]
"""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, getcontext

import numpy as np

np.seterr(all="ignore")
getcontext().prec = 400
INF = math.inf


# ---- lessons -------------------------------------------------------------------------------------

class Step:
    def __init__(self, name, op, of, **options):
        self.name, self.op, self.of, self.options = name, op, of, options


class Lesson:
    """Givens and steps; inside, a token is always a row."""

    def __init__(self):
        self.convention, self.tokens = "rows", []
        self.givens, self.steps = {}, []
        self.weights = {}    # givens that projections use

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

    def index(self, name):
        return next(i for i, s in enumerate(self.steps) if s.name == name)

    def truth(self):
        values = dict(self.givens)
        for step in self.steps:
            values[step.name] = compute(self, step, values)
        return values


def last_two(x):
    return np.swapaxes(x, -1, -2)


def softmax(x, axis=-1, base=math.e):
    top = np.max(x, axis=axis, keepdims=True)
    powers = np.where(np.isneginf(x), 0.0, np.power(base, x - np.where(np.isinf(top), 0, top)))
    total = powers.sum(axis=axis, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total != 0)


def shares(x, axis=-1):
    total = x.sum(axis=axis, keepdims=True)
    return np.divide(x, total, out=np.where(x == 0, 0.0, np.inf * np.ones_like(x)), where=total != 0)


def sinusoidal(n, width, base=10000.0, first=0, exponent=None, swapped=False, halves=False):
    table = np.zeros((n, width))
    for p in range(n):
        for j in range(width):
            if halves:
                sines = (width + 1) // 2
                cosine, pair = j >= sines, j if j < sines else j - sines
            else:
                cosine, pair = j % 2 == 1, j // 2
            power = 2 * pair if exponent is None else exponent(j)
            angle = (p + first) / base ** (power / width)
            table[p, j] = math.cos(angle) if cosine != swapped else math.sin(angle)
    return table


def layer_norm(x, gain, bias, eps=1e-5, axis=-1, less=0, divide="root", use_gain=True, use_bias=True):
    mean = x.mean(axis=axis, keepdims=True)
    count = x.shape[axis] - less
    variance = ((x - mean) ** 2).sum(axis=axis, keepdims=True) / count
    divisor = {"root": np.sqrt(variance + eps), "variance": variance + eps, "bare variance": variance,
               "root plus": np.sqrt(variance) + eps}[divide]
    y = (x - mean) / divisor
    if use_gain:
        y = y * gain.reshape(-1)
    return y + bias.reshape(-1) if use_bias else y


ERF = np.vectorize(math.erf, otypes=[float])


def gelu(x, form):
    if form == "erf":
        return 0.5 * x * (1 + ERF(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def hidden_cells(lesson, step, values):
    scores = values[step.of[0]]
    kind = step.options["kind"]
    if kind == "causal":
        return np.broadcast_to(np.triu(np.ones(scores.shape[-2:], bool), 1), scores.shape)
    if kind == "given":
        return np.broadcast_to(values[step.of[1]] == 0, scores.shape)
    ids = np.atleast_2d(values[step.of[1]])
    is_pad = ids == step.options["pad"]
    if scores.ndim == 2:
        return np.broadcast_to(is_pad, scores.shape)
    while is_pad.ndim < scores.ndim:
        is_pad = is_pad[:, None]
    return np.broadcast_to(is_pad, scores.shape)


def divisor(lesson, step, values):
    by = step.options.get("by", "sqrt(d_k)")
    if not isinstance(by, str):
        return float(by)
    d_k = query_width(lesson, step, values)
    if by == "d_k":
        return d_k
    if by == "sqrt(d_k)":
        return math.sqrt(d_k)
    return math.sqrt(float(by[5:-1]))


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


def compute(lesson, step, values, operands=None):
    a = operands if operands is not None else [values[n] for n in step.of]
    o = step.options
    op = step.op
    if op == "embed":
        return a[1][a[0].astype(int)]
    if op == "positions":
        n, width = a[0].shape[-2:]
        return a[1][:n] if len(a) > 1 else sinusoidal(n, width, o.get("base", 10000.0))
    if op == "add":
        return a[0] + a[1]
    if op == "project":
        y = a[0] @ (last_two(a[1]) if o.get("layout") == "out-in" else a[1])
        return y + a[2] if len(a) > 2 else y
    if op == "split_heads":
        n, width = a[0].shape[-2:]
        h = o["heads"]
        if o.get("axis") == "rows":
            return a[0].reshape(a[0].shape[:-2] + (h, n // h, width))
        return np.swapaxes(a[0].reshape(a[0].shape[:-1] + (h, width // h)), -2, -3)
    if op == "concat_heads":
        if len(a) > 1:
            return np.concatenate(a, axis=-1)
        x = np.swapaxes(a[0], -2, -3)
        return x.reshape(x.shape[:-2] + (-1,))
    if op == "score":
        return a[0] @ last_two(a[1])
    if op == "scale":
        return a[0] / divisor(lesson, step, values)
    if op == "mask":
        where = hidden_cells(lesson, step, {**values, step.of[0]: a[0]})
        return np.where(where, -INF, a[0])
    axis = -2 if o.get("axis") == "columns" else -1
    if op == "softmax":
        return softmax(a[0], axis)
    if op == "shift":
        top = a[0].max(axis=axis, keepdims=True)
        return np.where(np.isneginf(a[0]), -INF, a[0] - top)
    if op == "exp":
        return np.exp(a[0])
    if op == "normalise":
        return shares(a[0], axis)
    if op in ("weighted_sum", "matmul"):
        return a[0] @ a[1]
    if op == "sum_heads":
        return a[0].sum(axis=-3)
    if op == "layer_norm":
        return layer_norm(a[0], a[1], a[2], o.get("eps", 1e-5))
    if op == "gelu":
        return gelu(a[0], o.get("form", "tanh"))
    if op == "relu":
        return np.maximum(a[0], 0)
    if op == "transpose":
        return last_two(a[0])
    raise ValueError(op)


def random_matrix(rng, shape, kind):
    if kind == "whole":
        return rng.integers(-3, 4, shape).astype(float)
    if kind == "small whole":
        return rng.integers(-1, 3, shape).astype(float)
    return np.round(rng.normal(0, 0.8, shape), int(rng.integers(1, 4)))


WORDS = "the cat sat on mat dog ran far sky sea red sun".split()


def random_lesson(rng):
    lesson = Lesson()
    pick = lambda *options: options[rng.integers(len(options))]
    chance = lambda p: rng.random() < p
    kind = pick("decimal", "decimal", "whole", "small whole")
    n, d_model = int(rng.integers(2, 8)), int(rng.integers(2, 9))
    draw = lambda *shape: random_matrix(rng, shape, kind)
    batch = 2 if chance(0.12) else 0
    lesson.tokens = [WORDS[i] for i in rng.permutation(len(WORDS))[:n]] if chance(0.5) else []
    if chance(0.15) and not batch:
        lesson.convention = "columns"

    start = pick("X", "X", "X", "positions", "embed", "QK")
    if start == "QK" or chance(0.1):
        m = n if chance(0.5) else int(rng.integers(2, 8))
        d_k = int(rng.integers(1, 6))
        d_v = d_k if chance(0.4) else int(rng.integers(1, 6))
        heads = int(rng.integers(2, 4)) if chance(0.25) else 0
        lead = (heads,) if heads else ()
        Q, K, V = (lesson.given(name, draw(*lead, *shape)) for name, shape in
                   (("Q", (n, d_k)), ("K", (m, d_k)), ("V", (m, d_v))))
        split, batch = False, 0
    else:
        shape = ((batch,) if batch else ()) + (n, d_model)
        if start == "positions":
            E = lesson.given("token_embeddings", draw(*shape))
            if chance(0.6):
                P = lesson.step("position_embeddings", "positions", E,
                                **({"base": 100} if chance(0.3) else {}))
            else:
                table = lesson.given("position_table", draw(n + int(rng.integers(0, 3)), d_model))
                P = lesson.step("position_embeddings", "positions", E, table, method="learned")
            X = lesson.step("X", "add", E, P)
        elif start == "embed" and not batch:
            ids = lesson.given("token_ids", rng.integers(0, 5, n))
            table = lesson.given("embedding_table", draw(5, d_model))
            X = lesson.step("X", "embed", ids, table)
        else:
            X = lesson.given("X", draw(*shape))
        source, m = X, n
        if chance(0.15) and not batch:
            m = int(rng.integers(2, 8))
            source = lesson.given("Y", draw(m, d_model))
        if chance(0.15):
            gain, bias = lesson.given("gain_1", draw(d_model)), lesson.given("bias_1", draw(d_model))
            X_in = lesson.step("norm", "layer_norm", X, gain, bias)
            source = X_in if source == X else source
        else:
            X_in = X
        heads = int(rng.integers(2, 4)) if chance(0.4) and not batch else 0
        split = heads and chance(0.5)
        d_k = int(rng.integers(1, 6)) if not chance(0.3) else d_model if d_model < 6 and not split else 2
        d_v = d_k if chance(0.4) else int(rng.integers(1, 6))
        layout = "out-in" if chance(0.25) else "in-out"
        biased = chance(0.25)
        made = []
        for name, of, width in (("Q", X_in, d_k), ("K", source, d_k), ("V", source, d_v)):
            wide = width * heads if split else width
            size = (wide, d_model) if layout == "out-in" else (d_model, wide)
            lead = (heads,) if heads and not split else ()
            W = lesson.given("W_" + name, draw(*lead, *size), weight=True)
            operands = [of, W]
            if biased:
                operands.append(lesson.given("b_" + name, draw(*lead, 1, wide) if lead else draw(wide)))
            options = {"layout": layout} if layout == "out-in" else {}
            if split:
                whole = lesson.step(name + "_all", "project", *operands, **options)
                made.append(lesson.step(name, "split_heads", whole, heads=heads))
            else:
                made.append(lesson.step(name, "project", *operands, **options))
        Q, K, V = made

    at = lesson.step("scores", "score", Q, K)
    scaled = chance(0.8)
    masked = pick("none", "none", "causal", "causal", "given", "padding")
    by = {} if chance(0.8) else {"by": pick("d_k", "sqrt(5)", 2.5)}
    mask_first = chance(0.3)

    def add_mask(at):
        if masked == "causal":
            return lesson.step("masked_scores", "mask", at, kind="causal")
        if masked == "given":
            M = rng.integers(0, 2, (n, m)).astype(float)
            if not chance(0.1):
                M[:, 0] = 1
            if M.all():
                M[-1, -1] = 0
            lesson.given("M", M)
            return lesson.step("masked_scores", "mask", at, "M", kind="given")
        ids = rng.integers(1, 5, (batch, m) if batch else m).astype(float)
        ids[..., -1] = 0
        lesson.given("ids", ids)
        return lesson.step("masked_scores", "mask", at, "ids", kind="padding", pad=0)

    if masked == "padding" and (lesson.convention == "columns" or (m == 1)):
        masked = "none"
    if masked != "none" and mask_first:
        at = add_mask(at)
    if scaled:
        at = lesson.step("scaled_scores", "scale", at, **by)
    if masked != "none" and not mask_first:
        at = add_mask(at)
    if chance(0.3):
        at = lesson.step("shifted", "shift", at) if chance(0.6) else at
        at = lesson.step("exp_scores", "exp", at)
        at = lesson.step("attention_weights", "normalise", at)
    else:
        at = lesson.step("attention_weights", "softmax", at)
    at = lesson.step("context", "weighted_sum", at, V)
    rank = lesson.truth()[at].ndim
    if heads and rank > 2 and chance(0.85):
        if chance(0.6):
            at = lesson.step("concat", "concat_heads", at)
        elif chance(0.5):
            at = lesson.step("summed", "sum_heads", at)
    width = lesson.truth()[at].shape[-1]
    if chance(0.5):
        layout = "out-in" if chance(0.25) else "in-out"
        W = lesson.given("W_O", draw(*((d_model, width) if layout == "out-in" else (width, d_model))),
                         weight=True)
        operands = [at, W] + ([lesson.given("b_O", draw(d_model))] if chance(0.3) else [])
        at = lesson.step("output", "project", *operands, layout=layout)
        truth = lesson.truth()
        if "X" in truth and truth["X"].shape == truth[at].shape and chance(0.5):
            at = lesson.step("residual", "add", "X", at)
            if chance(0.6):
                gain, bias = lesson.given("gain", draw(d_model)), lesson.given("bias", draw(d_model))
                at = lesson.step("normed", "layer_norm", at, gain, bias)
            if chance(0.5):
                W = lesson.given("W_in", draw(d_model, 3), weight=True)
                at = lesson.step("mlp_in", "project", at, W)
                at = lesson.step("mlp_act", pick("gelu", "gelu", "relu"), at)
                if lesson.steps[-1].op == "gelu" and chance(0.5):
                    lesson.steps[-1].options["form"] = "erf"
    if rng.random() < 0.05 and lesson.truth()[at].ndim >= 2:
        lesson.step("turned", "transpose", at)
    if any(np.isnan(v).any() or np.abs(v[np.isfinite(v)]).max(initial=0) > 1e7
           for v in lesson.truth().values()):
        return random_lesson(rng)
    return lesson


def toml_value(x):
    if x.ndim == 0:
        v = float(x)
        return repr(int(v)) if v.is_integer() else repr(v)
    return "[" + ", ".join(toml_value(y) for y in x) + "]"


def shown(lesson, name, x):
    """A matrix as the lesson's people see it."""
    if lesson.convention == "columns" and x.ndim >= 2:
        return last_two(x)
    return x


def lesson_toml(lesson):
    lines = ['title = "A simulated lesson"', 'summary = "Random numbers."', 'source = "simulate.py"']
    if lesson.tokens:
        lines.append("tokens = " + json.dumps(lesson.tokens))
    lines.append(f'convention = "{lesson.convention}"')
    for name, value in lesson.givens.items():
        lines += ["[[given]]", f'name = "{name}"', "value = " + toml_value(shown(lesson, name, value))]
    for step in lesson.steps:
        lines += ["[[step]]", f'name = "{step.name}"', f'op = "{step.op}"', "of = " + json.dumps(step.of)]
        for key, value in step.options.items():
            if key == "axis" and lesson.convention == "columns":
                value = {"rows": "columns", "columns": "rows"}[value]
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


# ---- mistakes: SPEC's table ----------------------------------------------------------------------

def again(lesson, links, first, values):
    """The links of a chain worked again, from another first operand."""
    for link in reversed(links):
        operands = [first] + [values[n] for n in link.of[1:]]
        first = compute(lesson, link, values, operands)
    return first


def without(lesson, step, values, op):
    """The step if the nearest `op` before it had been left out."""
    links = []
    for link in chain(lesson, step):
        if link.op == op:
            return [again(lesson, links, values[link.of[0]], values)] if links else []
        if link.op == "score":
            return []
        links.append(link)
    return []


def mistakes_of(lesson, step, values):
    """All (id, numbers) that the table's mistakes make of a step; the shapes may differ."""
    a = [values[n] for n in step.of]
    right = compute(lesson, step, values)
    o, op = step.options, step.op
    out = []
    add = lambda mistake, *versions: out.extend((mistake, v) for v in versions)
    if op == "project":
        W = a[1]
        redo = lambda w: compute(lesson, step, values, [a[0], w] + a[2:])
        if W.shape[-1] == W.shape[-2]:
            add("project.transposed-weight", redo(last_two(W)))
        for other in lesson.weights:
            if other != step.of[1] and lesson.givens[other].shape == W.shape:
                add("project.wrong-weight", redo(values[other]))
        if len(a) > 2:
            add("project.missing-bias", compute(lesson, step, values, a[:2]))
        if right.shape[:-2] != a[0].shape[:-2]:  # one product for all heads, cut without the transpose
            joined = np.swapaxes(right, -2, -3)
            add("heads.interleaved", joined.reshape(right.shape))
        if behind(lesson, step.of[0], "weighted_sum"):
            add("output.skipped", a[0])
    elif op == "score":
        Q, K = a
        if Q.shape[-1] == K.shape[-2]:
            add("score.not-transposed", Q @ K)
        add("score.swapped", K @ last_two(Q))
        q, k = behind(lesson, step.of[0], "project"), behind(lesson, step.of[1], "project")
        if q and k:
            scores = values[q.of[0]] @ last_two(values[k.of[0]])
            add("score.unprojected", np.broadcast_to(scores, right.shape).copy())
            if scores.shape != right.shape:
                add("score.unprojected", scores)
    elif op == "scale":
        by = divisor(lesson, step, values)
        add("scale.skipped", a[0])
        add("scale.by-d", a[0] / query_width(lesson, step, values))
        queries = behind(lesson, behind(lesson, step.name, "score").of[0], "project")
        if queries:
            add("scale.by-sqrt-d-model", a[0] / math.sqrt(values[queries.of[0]].shape[-1]))
        add("scale.multiplied", a[0] * by)
    elif op == "mask":
        where = hidden_cells(lesson, step, values)
        diagonal = np.broadcast_to(np.eye(*a[0].shape[-2:], dtype=bool), a[0].shape)
        add("mask.skipped", a[0])
        add("mask.zero", np.where(where, 0, a[0]))
        if o["kind"] == "causal":
            past = np.broadcast_to(np.tril(np.ones(a[0].shape[-2:], bool), -1), a[0].shape)
            add("mask.wrong-triangle", np.where(past, -INF, a[0]))
        add("mask.diagonal", np.where(where | diagonal, -INF, a[0]))
        add("mask.added", np.where(where, a[0], a[0] + 1), np.where(where, a[0] + 1, a[0]))
        add("mask.inverted", np.where(where, a[0], -INF))
    elif op == "softmax":
        x = a[0]
        zeroed = np.where(np.isneginf(x), 0, x)
        add("softmax.columns", softmax(x, -2))
        e = np.exp(x)
        add("softmax.whole", e / e.sum(axis=(-1, -2), keepdims=True))
        add("softmax.no-exp", shares(zeroed))
        add("softmax.not-normalised", e, np.exp(x - np.where(np.isinf(x.max(-1)), 0, x.max(-1))[..., None]))
        add("softmax.base-2", softmax(x, base=2.0))
    elif op == "exp":
        add("softmax.base-2", np.exp2(a[0]))
        add("softmax.no-exp", np.where(np.isneginf(a[0]), 0, a[0]))
    elif op == "normalise":
        raised = behind(lesson, step.of[0], "exp")
        scores = values[raised.of[0]]
        add("softmax.columns", shares(a[0], -2))
        add("softmax.whole", a[0] / a[0].sum(axis=(-1, -2), keepdims=True))
        add("softmax.not-normalised", a[0])
        add("softmax.no-exp", shares(np.where(np.isneginf(scores), 0, scores)))
        add("softmax.base-2", shares(np.exp2(scores)))
    elif op == "weighted_sum":
        A, V = a
        scores = behind(lesson, step.of[0], "score")
        if A.shape[-1] == A.shape[-2]:
            add("weighted-sum.transposed", last_two(A) @ V)
        K = values[scores.of[1]]
        add("weighted-sum.keys", A @ K)
        v = behind(lesson, step.of[1], "project")
        if v:
            add("weighted-sum.embeddings", A @ values[v.of[0]])
        for link in chain(lesson, lesson.find(step.of[0]))[1:]:
            x = values[link.name]
            if np.isfinite(x).all():
                add("weighted-sum.scores", x @ V)
            if link is scores:
                break
    elif op in ("split_heads", "concat_heads"):
        heads = o["heads"] if op == "split_heads" else a[0].shape[-3]
        if op == "split_heads":
            x = a[0]
            dealt = np.swapaxes(x.reshape(x.shape[:-1] + (x.shape[-1] // heads, heads)), -1, -2)
            add("heads.interleaved", np.swapaxes(dealt, -2, -3))
            if o.get("axis", "columns") == "columns":
                add("heads.interleaved", x.reshape(right.shape))  # without the transpose
            add("heads.reversed", right[..., ::-1, :, :])
        else:
            x = a[0]
            add("heads.interleaved", np.moveaxis(x, -3, -1).reshape(right.shape))
            add("heads.interleaved", x.reshape(right.shape))  # without the transpose
            y = np.swapaxes(x[..., ::-1, :, :], -2, -3)
            add("heads.reversed", y.reshape(right.shape))
            add("heads.summed", x.sum(axis=-3))
            add("heads.averaged", x.mean(axis=-3))
    elif op == "sum_heads":
        add("heads.averaged", a[0].mean(axis=-3))
    elif op == "add":
        for x in a:
            add("add.skipped", np.broadcast_to(x, right.shape).copy())
    elif op == "positions":
        n, width = right.shape
        base = o.get("base", 10000.0)
        if len(a) == 1:
            add("positions.from-one", sinusoidal(n, width, base, first=1))
            add("positions.sin-cos-swapped", sinusoidal(n, width, base, swapped=True))
            for share in (lambda j: j // 2, lambda j: 4 * (j // 2), lambda j: j, lambda j: 2 * j):
                add("positions.exponent", sinusoidal(n, width, base, exponent=share))
            add("positions.halves", sinusoidal(n, width, base, halves=True))
        elif a[1].shape[0] > n:
            add("positions.from-one", a[1][1:n + 1])
    elif op == "layer_norm":
        eps = o.get("eps", 1e-5)
        if a[0].shape[-1] > 1:
            add("layer-norm.sample-variance", layer_norm(*a, eps, less=1))
        add("layer-norm.columns", layer_norm(*a, eps, axis=-2))
        add("layer-norm.no-gain", layer_norm(*a, eps, use_gain=False),
            layer_norm(*a, eps, use_gain=False, use_bias=False))
        add("layer-norm.standard-deviation", layer_norm(*a, eps, divide="variance"),
            layer_norm(*a, eps, divide="root plus"), layer_norm(*a, eps, divide="bare variance"))
    if op in ("softmax", "exp", "normalise"):
        add("softmax.unscaled", *without(lesson, step, values, "scale"))
        unmasked = without(lesson, step, values, "mask")
        add("softmax.unmasked", *unmasked)
        mask = behind(lesson, step.name, "mask")
        if mask and op != "exp":
            where = np.isneginf(values[mask.name])
            add("softmax.mask-after", *(np.where(where, 0, x) for x in unmasked))
    if min(right.shape[-2:], default=1) > 1:  # one line may be written as a row or a column
        add("slip.transposed", last_two(right))
    add("slip.sign", -right)
    return [(i, np.asarray(x, float)) for i, x in out if is_written(np.asarray(x, float))]


def is_written(x):
    """Whether a learner could write these numbers down without wondering."""
    return x.size and not np.isnan(x).any() and np.where(np.isneginf(x), 0, np.abs(x)).max() < 1e7


def dropped_term(rng, lesson, step, values, right, at):
    """One cell with a term of its sum left out."""
    a = [values[n] for n in step.of]
    t = lambda size: int(rng.integers(size))
    i, j = at[-2:]
    lead = at[:-2]
    pick = lambda x: np.broadcast_to(x, right.shape[:-2] + x.shape[-2:])[lead]
    if step.op in ("project", "score", "weighted_sum"):
        x, w = pick(a[0]), pick(a[1])
        if step.op == "score" or step.options.get("layout") == "out-in":
            w = w.T
        k = t(x.shape[1])
        return right[at] - x[i, k] * w[k, j] if x.shape[1] > 1 else None
    if step.op in ("softmax", "normalise"):
        x = pick(a[0])
        powers = np.exp(x - x.max(axis=-1, keepdims=True)) if step.op == "softmax" else x
        k = t(x.shape[1])
        rest = powers[i].sum() - powers[i, k]
        return powers[i, j] / rest if rest != 0 else None
    if step.op == "sum_heads":
        return right[at] - a[0][lead + (t(a[0].shape[-3]), i, j)]
    return None


def swapped_digits(rng, text):
    places = [k for k in range(len(text) - 1)]
    digits = [k for k, c in enumerate(text) if c.isdigit()]
    pairs = [(p, q) for p, q in zip(digits, digits[1:]) if text[p] != text[q]]
    if not pairs:
        return None
    p, q = pairs[rng.integers(len(pairs))]
    chars = list(text)
    chars[p], chars[q] = chars[q], chars[p]
    return float("".join(chars))


# ---- learners ------------------------------------------------------------------------------------

MODES = {"half up": ROUND_HALF_UP, "half even": ROUND_HALF_EVEN, "truncate": ROUND_DOWN}


class Pen:
    """How a learner writes numbers down."""

    def __init__(self, rng):
        pick = lambda *options: options[rng.integers(len(options))]
        self.form = pick("decimals", "decimals", "decimals", "whole", "e", "npy64", "npy32",
                         "npy64 rounded", "npy32 rounded")
        self.mode = pick(*MODES)
        self.decimals = int(rng.integers(1, 9)) if rng.random() < 0.5 else int(rng.integers(2, 5))
        self.trimmed = rng.random() < 0.3
        # Works from what is written, or keeps everything in the calculator and rounds on paper only.
        self.works_from_written = rng.random() < 0.8
        self.binary = self.form.startswith("npy")
        self.float32 = self.form.startswith("npy32")
        self.keeps_all = self.form in ("npy64", "npy32")
        if self.float32:
            self.decimals = min(self.decimals, 5)
        self.mask = pick("-inf", "-inf", "-1e9", "-1000", "-10000", "-1e30")

    def text(self, x):
        if math.isnan(x):
            return ""
        if math.isinf(x):
            return ("-inf" if x < 0 else "inf") if self.mask == "-inf" or x > 0 else self.mask
        if self.keeps_all:
            return repr(float(np.float32(x))) if self.float32 else repr(float(x))
        if self.form == "e":
            return f"{x:.{self.decimals}e}"
        value = Decimal(repr(float(x)))
        if self.form == "whole" and abs(x - round(x)) < 1e-9:
            return str(int(round(x)))
        text = str(value.quantize(Decimal(1).scaleb(-self.decimals), rounding=MODES[self.mode]))
        if "E" in text:
            text = f"{float(text):.{self.decimals}f}"
        if self.trimmed and "." in text:
            text = text.rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text

    def unit(self, texts, values):
        """The unit of each cell by SPEC, at least."""
        finite = [abs(float(t)) for t in texts.flat if t and not math.isinf(float(t))]
        floor = (1e-12 if self.binary and not self.float32 else 1e-6) * max([1.0] + finite)
        if self.keeps_all:
            return np.full(texts.shape, floor)
        if self.form != "e":
            decimals = max((len(t.partition(".")[2]) for t in texts.flat), default=0)
            # Whole numbers go by the others' decimals, or are exact: this is at least what is meant.
            return np.full(texts.shape, max(floor, 10.0 ** -(decimals or self.decimals)))
        if self.form == "e":
            place = lambda t: 10.0 ** (int(t.split("e")[1]) - self.decimals) if "e" in t else 0
            return np.maximum(floor, np.vectorize(place, otypes=[float])(texts))


class Learner:
    """One submission: its texts by name, and what the check owes it."""

    def __init__(self, rng, lesson, truth, mistake):
        self.rng, self.lesson, self.truth = rng, lesson, truth
        self.pen = Pen(rng)
        self.mistake = mistake          # None, or (step name, id, version)
        self.id = mistake[1] if mistake else None
        self.at = mistake[0] if mistake else None
        self.texts, self.own, self.written, self.units = {}, {}, {}, {}
        self.blank = {}
        self.part = None
        self.convention = None
        self.misshapen = None
        self.notes = []
        if not mistake and "scaled_scores" in truth and rng.random() < 0.12:
            self.convention = "scaled-queries"
        if rng.random() < 0.08 and lesson.convention == "rows":
            self.convention = self.convention or "columns"
        self.choose_steps()
        self.work()

    def choose_steps(self):
        names = [s.name for s in self.lesson.steps]
        rng = self.rng
        everything = rng.random() < 0.5 or self.pen.form == "e" or self.convention
        self.handed = set(names) if everything else {n for n in names if rng.random() < 0.6}
        hide = self.at and rng.random() < 0.2 and not everything
        if self.at in names and not hide:
            self.handed.add(self.at)
        if self.at in names and hide:
            self.handed.discard(self.at)
            self.handed |= set(names[names.index(self.at) + 1:])
        if self.at in self.lesson.givens:
            self.handed.add(self.at)
        if not self.handed & set(names):
            self.handed.add(names[-1])
        self.blanks = rng.random() < 0.15 and self.pen.form != "e"

    # Where the scaling is done, for a learner who scales the queries.
    def scaled_at(self):
        score = next(s for s in self.lesson.steps if s.op == "score")
        places = [score.name]
        step = self.lesson.find(score.of[0])
        while step is not None and step.op in ("project", "split_heads"):
            places.append(step.name)
            step = self.lesson.find(step.of[0])
        return places[self.rng.integers(len(places))]

    def put_down(self, name, raw):
        """Writes a matrix; what the learner goes on with is `own`, what is on paper `written`."""
        texts = np.vectorize(self.pen.text, otypes=[object])(raw)
        value = lambda t: float(t) if t else math.nan
        written = np.vectorize(value, otypes=[float])(texts)
        is_mask = np.isneginf(raw) & np.isfinite(written)
        taken = np.where(is_mask, -INF, written)
        self.texts[name], self.written[name] = texts, taken
        self.own[name] = taken if self.pen.works_from_written else raw
        self.units[name] = self.pen.unit(np.where(is_mask, "0", texts), taken)

    def work(self):
        lesson = self.lesson
        for name, value in lesson.givens.items():
            self.own[name] = self.written[name] = value
            if self.at == name:
                self.miscopy(name, value)
        scaled_at = self.scaled_at() if self.convention == "scaled-queries" else None
        if scaled_at:
            scale = next(s for s in lesson.steps if s.op == "scale")
            self.by = divisor(lesson, scale, self.truth)
        for step in lesson.steps:
            honest = compute(lesson, step, self.own)
            raw = honest
            if step.name == scaled_at:
                raw = honest / self.by
            elif scaled_at and step.op == "scale":
                raw = self.own[step.of[0]]
            if step.name == self.at:
                raw = self.mistaken(step, honest)
                if raw is None:
                    self.id = None
                    raw = honest
                elif raw.shape != honest.shape:
                    self.misshapen = step.name
                    self.handed.add(step.name)
                    self.put_down(step.name, raw)
                    self.handed = {n for n in self.handed if n in self.texts}
                    return
            self.put_down(step.name, raw)

    def miscopy(self, name, value):
        texts = np.vectorize(lambda x: repr(float(x)), otypes=[object])(value)
        at = tuple(self.rng.integers(s) for s in value.shape)
        x = value[at]
        change = {"slip.sign": -x, "slip.decimal-point": x * 10,
                  "slip.digits-swapped": swapped_digits(self.rng, repr(float(x)))}[self.id]
        if change is None or abs(change - x) < 0.5:
            self.id = None
            return
        bad = value.copy()
        bad[at] = change
        self.texts[name] = np.vectorize(lambda v: repr(float(v)), otypes=[object])(bad)
        self.own[name] = self.written[name] = bad
        self.units[name] = np.full(value.shape, 1e-6)
        self.handed.add(name)

    def a_part(self, shape):
        """A random part of a matrix: the whole, a head, a row, a column or a cell."""
        mask = np.zeros(shape, bool)
        at = tuple(self.rng.integers(s) for s in shape)
        # Of a step that was not handed in, no cell or column alone can be told from what follows.
        kinds = ("whole", "whole", "whole", "head", "row", "column", "cell")
        kind = kinds[self.rng.integers(7 if self.at in self.handed else 3)]
        if kind == "whole":
            mask[...] = True
        elif kind == "head":
            mask[at[:-2]] = True
        elif kind == "row":
            mask[at[:-1]] = True
        elif kind == "column":
            mask[at[:-2] + (slice(None), at[-1])] = True
        else:
            mask[at] = True
        self.part = kind
        return mask

    def mistaken(self, step, honest):
        """The step's numbers with the mistake in them; None where it cannot be made here."""
        _, mistake, version = self.mistake
        rng = self.rng
        if mistake.startswith("slip.") and step.name not in self.handed and \
                mistake not in ("slip.sign", "slip.transposed"):
            return None
        at = tuple(rng.integers(s) for s in honest.shape)
        if mistake in ("slip.digits-swapped", "slip.dropped-term", "slip.decimal-point",
                       "slip.neighbour", "slip.rows-swapped", "slip.noise"):
            bad = honest.copy()
            if mistake == "slip.digits-swapped":
                value = swapped_digits(rng, self.pen.text(honest[at])) \
                    if np.isfinite(honest[at]) and not self.pen.keeps_all and self.pen.form != "e" else None
            elif mistake == "slip.dropped-term":
                value = dropped_term(rng, self.lesson, step, self.own, honest, at)
            elif mistake == "slip.decimal-point":
                value = honest[at] * 10.0 ** rng.choice([-3, -2, -1, 1, 2, 3])
            elif mistake == "slip.neighbour":
                down, along = ((0, 1), (0, -1), (1, 0), (-1, 0))[rng.integers(4)]
                i, j = at[-2] + down, at[-1] + along
                inside = 0 <= i < honest.shape[-2] and 0 <= j < honest.shape[-1]
                value = honest[at[:-2] + (i, j)] if inside else None
            elif mistake == "slip.noise":
                value = honest[at] + float(rng.normal(0, 1)) if np.isfinite(honest[at]) else None
            else:
                k = int(rng.integers(honest.shape[-2]))
                if k == at[-2]:
                    return None
                bad[at[:-1]], bad[at[:-2] + (k,)] = honest[at[:-2] + (k,)], honest[at[:-1]]
                self.part = "rows"
                return bad
            if value is None or not np.isfinite(value):
                return None
            bad[at] = value
            self.part = "cell"
            return bad
        versions = [x for i, x in mistakes_of(self.lesson, step, self.own) if i == mistake]
        if version >= len(versions):
            return None
        bad = versions[version]
        if bad.shape != honest.shape or mistake == "slip.transposed":
            self.part = "whole"
            return bad
        return np.where(self.a_part(honest.shape), bad, honest)

    # -- what the check owes

    def radius(self, name, cache):
        """How far the rounding so far can move a step's cells, to first order, not the own unit."""
        if name in cache:
            return cache[name]
        step = self.lesson.find(name)
        if step is None:
            return np.zeros_like(self.own[name])
        operands = [self.written[n].copy() for n in step.of]
        centre = compute(self.lesson, step, self.written, operands)
        total = np.zeros_like(centre)
        for k, n in enumerate(step.of):
            width = self.input_radius(n, cache)
            for at in zip(*np.nonzero(width)):
                x = operands[k][at]
                if not np.isfinite(x):
                    continue
                moved = np.zeros_like(centre)
                for sign in (1, -1):
                    operands[k][at] = x + sign * width[at]
                    y = compute(self.lesson, step, self.written, operands)
                    moved = np.maximum(moved, np.where(y == centre, 0, np.abs(y - centre)))
                operands[k][at] = x
                total += np.nan_to_num(moved, posinf=INF)
        cache[name] = total
        return total

    def input_radius(self, name, cache):
        if name not in self.units or name in self.lesson.givens:
            return np.zeros_like(self.own[name])
        if name in self.handed and not self.blanks:
            return self.units[name]
        return self.radius(name, cache) + self.units[name]

    def may_be_columns(self):
        """Whether a matrix on its side is all that there is to see: then tokens may be columns."""
        handed = [n for n in sorted(self.handed) if n in self.written and self.written[n].ndim >= 2]
        return len(handed) <= 2 and self.id in ("slip.transposed", "score.swapped")

    def shows_at(self):
        """The step at which the mistake shows, or None where it may be hidden."""
        names = [s.name for s in self.lesson.steps]
        if self.may_be_columns():
            return None
        if self.at in self.lesson.givens:
            return self.at
        if self.misshapen:
            return self.misshapen
        cache = {}
        start = names.index(self.at)
        unseen = {self.at} - self.handed
        if self.at in self.handed:
            return self.at if self.differs(self.at, self.own_honest(self.at), cache) else None
        for name in names[start + 1:]:
            step = self.lesson.find(name)
            if not unseen & set(step.of):
                continue
            if name in self.handed:
                return name if self.differs(name, self.through_unseen(name), cache) else None
            unseen.add(name)
        return None

    def own_honest(self, name):
        return compute(self.lesson, self.lesson.find(name), self.written)

    def through_unseen(self, name):
        """The step from the handed numbers, what was not handed in worked honestly."""
        values = dict(self.written)
        for step in self.lesson.steps:
            if step.name not in self.handed or step.name == name:
                values[step.name] = compute(self.lesson, step, values)
            if step.name == name:
                return values[name]
        return None

    def differs(self, name, honest, cache):
        x = self.written[name]
        seen = ~self.blank.get(name, np.zeros(x.shape, bool))
        apart = lambda y: np.where(x == y, 0, np.nan_to_num(np.abs(x - y), nan=INF, posinf=INF))
        margin = 2 * self.units[name] + 1.5 * self.radius(name, cache)
        return bool((seen & (apart(honest) > margin) &
                     (apart(self.truth[name]) > 2 * self.units[name])).any())


# ---- files ---------------------------------------------------------------------------------------

def make_blanks(learner):
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


def numpy_text(x, opening, closing, comma):
    if x.ndim == 1:
        return "[" + comma.join(t if t else "nan" for t in x) + "]"
    inner = [numpy_text(y, "", "", comma) for y in x]
    gap = ("," if comma == ", " else "") + "\n " * 1
    return "[" + gap.join(inner) + "]"


def write_files(learner, folder):
    """The submission in a random file form."""
    rng, lesson = learner.rng, learner.lesson
    os.makedirs(folder)
    form = ["csv", "csv", "labelled", "semicolon", "tab", "numpy", "torch", "array", "matlab"][rng.integers(9)]
    if learner.pen.binary:
        form = "npy"
    bom, crlf = rng.random() < 0.2, rng.random() < 0.3
    for number, name in enumerate(n for n in learner.texts if n in learner.handed):
        texts = learner.texts[name].copy()
        if name in learner.blank:
            texts[learner.blank[name]] = ""
        if learner.convention == "columns" and texts.ndim >= 2:
            texts = last_two(texts)
        texts = shown(lesson, name, texts)
        stem = (f"{number + 1:02d}-" if rng.random() < 0.5 else "") + \
            ("given-" if name in lesson.givens and rng.random() < 0.5 else "") + name
        if learner.pen.binary and name not in lesson.givens:
            dtype = np.float32 if learner.pen.float32 else np.float64
            values = np.vectorize(lambda t: float(t) if t else math.nan, otypes=[float])(texts)
            values = values.astype(dtype)
            if values.ndim == 3 and rng.random() < 0.3:
                for h in range(values.shape[0]):
                    np.save(f"{folder}/{stem}.head-{h + 1}.npy", values[h])
            else:
                np.save(f"{folder}/{stem}.npy", np.asfortranarray(values) if rng.random() < 0.2 else values)
            continue
        if name in lesson.givens and form in ("numpy", "matlab", "npy"):
            form_here = "csv"
        else:
            form_here = form
        brackets = form_here in ("numpy", "torch", "array")
        if texts.ndim > 2 and (texts.ndim > 3 or not (brackets and rng.random() < 0.5)):
            lead = texts.shape[:-2]
            for index in np.ndindex(*lead):
                names = ["head"] if len(lead) == 1 else ["batch", "head"]
                if len(lead) == 1 and lesson.truth()[name].shape[0] == 2 and "ids" in lesson.givens \
                        and lesson.givens["ids"].ndim == 2:
                    names = ["batch"]
                suffix = "".join(f".{n}-{i + 1}" for n, i in zip(names, index))
                write_matrix(f"{folder}/{stem}{suffix}", texts[index], form_here, learner, bom, crlf)
        else:
            write_matrix(f"{folder}/{stem}", texts, form_here, learner, bom, crlf)
    learner.form = form


def write_matrix(stem, texts, form, learner, bom, crlf):
    if not any(texts.flat):
        return  # nothing was worked: no file
    end = "\r\n" if crlf else "\n"
    if texts.ndim == 1 and form not in ("numpy", "torch", "array"):
        texts = texts.reshape(1, -1)
    if form == "semicolon" and texts.shape[1] == 1:
        form = "csv"  # one column has no semicolon that would tell a decimal comma
    if form in ("csv", "labelled", "semicolon", "tab"):
        comma = {"semicolon": ";", "tab": "\t"}.get(form, ",")
        rows = [[t.replace(".", ",") if form == "semicolon" else t for t in row] for row in texts]
        if form == "labelled":
            columns = [f"c{j + 1}" for j in range(texts.shape[1])]
            rows = [[""] + columns] + [[f"r{i + 1}"] + row for i, row in enumerate(rows)]
        text = "".join(comma.join(row) + end for row in rows)
        path = stem + (".tsv" if form == "tab" and learner.rng.random() < 0.5 else ".csv")
    else:
        path = stem + ".txt"
        if form == "matlab":
            if learner.rng.random() < 0.5:
                text = "".join("   " + "   ".join(t or "NaN" for t in row) + end for row in texts)
            else:
                text = "[" + "; ".join(" ".join(t or "NaN" for t in row) for row in texts) + "]" + end
        else:
            body = numpy_text(texts, "", "", " " if form == "numpy" else ", ")
            text = {"numpy": body, "torch": f"tensor({body})",
                    "array": f"array({body}, dtype=float64)"}[form] + end
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(("\ufeff" if bom else "") + text)


# ---- the check -----------------------------------------------------------------------------------

VERDICTS = {"correct", "rounding", "carried", "wrong", "blank", "shape"}


class Tally:
    def __init__(self, args):
        self.args = args
        self.counts = Counter()
        self.by_id = {}
        self.failures = []

    def count(self, what, right, learner=None, detail=""):
        self.counts[what] += 1
        if right:
            self.counts[what, "right"] += 1
        else:
            self.failures.append(f"{what}: {learner.where if learner else ''} {detail}")
            if self.args.verbose:
                print(self.failures[-1])

    def rate(self, what):
        return self.counts[what, "right"] / self.counts[what] if self.counts[what] else 1.0


def shape_of_json(report):
    """What is wrong with the form of a report; empty where nothing is."""
    if list(report)[0] != "lesson" or report["verdict"] not in ("correct", "wrong", "incomplete"):
        return "head"
    bad = [s["step"] for s in report["steps"] if s["verdict"] in ("wrong", "shape")]
    if report["first_wrong"] != (bad[0] if bad else None):
        return "first_wrong is not the first wrong step"
    if (report["verdict"] == "wrong") != bool(bad):
        return "verdict"
    for s in report["steps"]:
        if s["verdict"] not in VERDICTS or set(s["cells"]) != VERDICTS - {"shape"}:
            return "step"
        worst = next((v for v in ("wrong", "carried", "rounding", "correct") if s["cells"][v]), "blank")
        if s["verdict"] not in (worst, "shape"):
            return f"{s['step']}: not its worst cell's verdict"
        if (s["first"] is None) != (s["cells"]["wrong"] == 0 or s["verdict"] == "shape"):
            return "first"
        if s["first"] is not None and not {"row", "column", "given"} <= set(s["first"]):
            return "first's keys"
        if any(set(m) != {"id", "cells", "says"} for m in s["mistakes"]):
            return "mistakes"
        if any(m["cells"] > s["cells"]["wrong"] for m in s["mistakes"]):
            return "a mistake explains more than there is"
    return ""


def run(args, lesson_path, folders, *options):
    command = [args.qkv, "check", lesson_path, *folders, "--json", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"status {result.returncode}: {' '.join(command)}: {result.stderr[:500]}")
    reports = json.loads(result.stdout)
    return result.returncode, reports if isinstance(reports, list) else [reports], result.stderr


def judge(tally, learner, report):
    fault = shape_of_json(report)
    tally.count("json", not fault, learner, fault)
    wrong = {s["step"]: s for s in report["steps"] if s["verdict"] in ("wrong", "shape")}
    names = [s.name for s in learner.lesson.steps]
    handed = [n for n in names if n in learner.handed]
    expected = [n for n in handed]
    listed = [s["step"] for s in report["steps"] if s["step"] in names]
    tally.count("steps listed", listed == expected, learner, f"{listed} not {expected}")
    if learner.id is None:
        tally.count("no false alarm", not wrong, learner,
                    f"{[(n, s['cells'], s['first']) for n, s in wrong.items()]}")
        if not wrong:
            blanks = any(m.any() for m in learner.blank.values())
            due = "incomplete" if blanks or set(names) - learner.handed else "correct"
            tally.count("verdict", report["verdict"] == due, learner, f"{report['verdict']} not {due}")
            check_convention(tally, learner, report)
        return
    due = learner.shows_at()
    tally.count("mistakes made", True)
    if due is None:
        return
    kind = "given" if learner.at in learner.lesson.givens else \
        "seen" if learner.at in learner.handed else "unseen"
    if learner.id == "slip.noise":
        tally.count("first wrong (noise)", report["first_wrong"] == due, learner, f"{report['first_wrong']} not {due}")
        if due in wrong:
            ids = [m["id"] for m in wrong[due]["mistakes"]]
            tally.count("nothing named for noise", not ids, learner, f"{ids}")
        return
    right = report["first_wrong"] == due
    where = f"{learner.id} ({learner.part}, {kind})"
    tally.count(f"first wrong ({kind})", right, learner, f"{where}: {report['first_wrong']} not {due}")
    if not right:
        return
    ids = [m["id"] for m in wrong[due]["mistakes"]]
    named = learner.id in ids
    tally.count(f"named ({kind})", named, learner, f"{where} at {due}: {ids} {wrong[due]['cells']}")
    by = tally.by_id.setdefault(learner.id, [0, 0])
    by[0] += named
    by[1] += 1
    if kind == "seen" and not learner.misshapen:
        others = [n for n in wrong if n != due]
        tally.count("later steps carried", not others, learner, f"{where}: {others}")


def check_convention(tally, learner, report):
    named = {s["convention"] for s in report["steps"]} - {None}
    if learner.convention == "scaled-queries":
        scores = np.asarray(learner.written["scores"])
        apart = np.abs(scores - learner.truth["scores"])
        margin = 3 * learner.units["scores"] + 2 * learner.radius("scores", {})
        if learner.by != 1 and "scores" in learner.handed and (apart > margin).any():
            tally.count("convention named", "convention.scaled-queries" in named, learner, f"{named}")
    elif learner.convention == "columns":
        pass
    else:
        tally.count("convention not named", "convention.scaled-queries" not in named, learner, f"{named}")
    has_masks = any(np.isneginf(learner.written[n]).any() and
                    (~learner.blank.get(n, np.zeros(learner.written[n].shape, bool)) &
                     np.isneginf(learner.written[n])).any()
                    for n in learner.handed if n in learner.written and n not in learner.lesson.givens)
    if has_masks and learner.pen.mask != "-inf":
        tally.count("finite mask named", "convention.finite-mask" in named, learner, f"{named}")


def candidates(lesson, truth):
    """All (step, id, version) that can be made in a lesson."""
    found = []
    for step in lesson.steps:
        seen = Counter()
        for mistake, _ in mistakes_of(lesson, step, truth):
            found.append((step.name, mistake, seen[mistake]))
            seen[mistake] += 1
        for slip in ("slip.digits-swapped", "slip.neighbour", "slip.decimal-point", "slip.rows-swapped",
                     "slip.dropped-term", "slip.noise"):
            if truth[step.name].ndim >= 2:
                found.append((step.name, slip, 0))
    used = {n for s in lesson.steps for n in s.of}
    for name in lesson.givens:
        if name in used and lesson.givens[name].ndim >= 2 and name not in ("M", "ids"):
            for slip in ("slip.sign", "slip.decimal-point", "slip.digits-swapped"):
                found.append((name, slip, 0))
    return found


def simulate(args, tally, rng, folder, number):
    lesson = random_lesson(rng)
    truth = lesson.truth()
    path = f"{folder}/lesson-{number}.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(lesson_toml(lesson))
    made = candidates(lesson, truth)
    ids = sorted({c[1] for c in made})
    learners = []
    for k in range(args.learners):
        mistake = None
        if k % 5 >= 2:
            wanted = ids[rng.integers(len(ids))]
            fitting = [c for c in made if c[1] == wanted]
            mistake = fitting[rng.integers(len(fitting))]
        learner = Learner(rng, lesson, truth, mistake)
        make_blanks(learner)
        learner.folder = f"{folder}/lesson-{number}-learner-{k}"
        write_files(learner, learner.folder)
        learner.where = f"{path} {learner.folder} [{learner.pen.form} {learner.pen.decimals} " \
                        f"{learner.pen.mode} {learner.form} {learner.convention}" \
                        f"{' blanks' if learner.blanks else ''}{'' if learner.pen.works_from_written else ' full'}]"
        learners.append(learner)
    status, reports, _ = run(args, path, [l.folder for l in learners])
    tally.count("status", status == (1 if any(r["verdict"] == "wrong" for r in reports) else 0))
    for learner, report in zip(learners, reports):
        judge(tally, learner, report)
    check_options(args, tally, rng, path, learners, reports)


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def check_options(args, tally, rng, path, learners, reports):
    """--no-answers, --strict and --digits on a few of them, one at a time."""
    wrong = [(l, r) for l, r in zip(learners, reports) if r["verdict"] == "wrong"]
    for learner, report in wrong[:1]:
        status, again_, _ = run(args, path, [learner.folder])
        tally.count("status of one", status == 1 and again_[0]["steps"] == report["steps"], learner)
        _, kept, _ = run(args, path, [learner.folder], "--no-answers")
        text = subprocess.run([args.qkv, "check", path, learner.folder, "--no-answers"],
                              capture_output=True, text=True).stdout
        firsts = [s["first"] for s in report["steps"] if s["first"]]
        own = {t for x in learner.texts.values() for t in x.flat}
        mine = {round(float(t), 6) for t in own if t}
        mine |= {round(v, k) for v in mine for k in range(6)}
        secret = {first[key] for first in firsts for key in ("expected", "from_yours")
                  if isinstance(first[key], float) and len(repr(abs(first[key]))) > 4}
        secret = {x for x in secret if round(x, 6) not in mine}
        found = {float(t) for t in NUMBER.findall(text + json.dumps(kept))}
        leaked = {x for x in secret if x in found}
        absent = all(not ({"expected", "from_yours", "arithmetic"} & set(s["first"]))
                     for s in kept[0]["steps"] if s["first"])
        tally.count("no answers", not leaked and absent, learner, f"{leaked}")
    for learner in learners[:1]:
        status, strict, _ = run(args, path, [learner.folder], "--strict")
        named = [s["convention"] for s in strict[0]["steps"] if s["convention"]]
        tally.count("strict", not named, learner, f"{named}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=20)
    parser.add_argument("--learners", type=int, default=20)
    parser.add_argument("--keep", help="leave the files in this directory")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="qkv-simulate-")
    if args.keep:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    tally = Tally(args)
    try:
        for number in range(args.lessons):
            simulate(args, tally, np.random.default_rng([args.seed, number]), folder, number)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return report_on(tally)


# The bars that SPEC and its readers set; everything else must be right each time.
BARS = {"first wrong (seen)": 0.99, "first wrong (unseen)": 0.99, "named (seen)": 0.97,
        "named (unseen)": 0.90, "nothing named for noise": 0.6, "first wrong (noise)": 0.99,
        "named (given)": 0.97}


def report_on(tally):
    failed = False
    for what in sorted(k for k in tally.counts if isinstance(k, str)):
        bar = BARS.get(what, 1.0)
        # Few of a kind may miss one: what a slip moves is bounded to first order only.
        missed = tally.counts[what] - tally.counts[what, "right"]
        enough = tally.rate(what) >= bar or (bar < 1 and missed <= 1)
        failed = failed or not enough
        print(f"{'ok  ' if enough else 'LOW '} {what}: {tally.counts[what, 'right']} of {tally.counts[what]}")
    low = {i: n for i, n in sorted(tally.by_id.items()) if n[0] < n[1]}
    print("named less than always:", {i: f"{a}/{b}" for i, (a, b) in low.items()})
    if failed:
        for failure in tally.failures[:20]:
            print("  " + failure[:400])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
