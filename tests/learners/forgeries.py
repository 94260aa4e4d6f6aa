#!/usr/bin/python3
"""Wrong numbers that are seen through few steps: none may pass.

Right dumps of random decoders, and right hand sheets of small lessons, are spoiled: by other numbers
(zeros, noise, another text's) or by a bug in the program. Of each some steps are submitted. Where qkv
says nothing against a submission, room.py works out independently whether rounding explains it.

    forgeries.py QKV [--seed N] [--count N] [--layers N] [--keep DIR] [--verbose]
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import deep
import planted
from deep import DTYPES, decoder
from room import Room, apart, unit_of_decimals

COLUMNS = ("wrong", "undecided", "honest", "convention", "PASSED")
NUMBERS, BUGS = 7, 9  # how many forgeries of a model or lesson

SHARES = (0.25, 0.15, 0.15, 0.15, 0.2, 0.05, 0.05)  # of the subsets of deep.py: mostly few steps


def on_finite(work):
    """The cells that are finite are forged; hidden cells stay hidden."""
    def forged(rng, x):
        seen = np.isfinite(x)
        y = x.copy()
        y[seen] = work(rng, x[seen])
        return y
    return forged


def noise(share):
    return on_finite(lambda rng, x: x + share * x.std() * rng.normal(size=x.shape))


def one_cell(_, x):
    y = x.copy()
    y[len(y) // 2] += x.std()
    return y


# Other numbers in place of right ones.
FORGERIES = {
    "zeros": lambda rng, x: np.zeros_like(x),
    "negated": on_finite(lambda rng, x: -x),
    "rows reversed": lambda rng, x: x[..., ::-1, :].copy(),
    "shuffled": on_finite(lambda rng, x: rng.permutation(x)),
    "random": on_finite(lambda rng, x: x.mean() + x.std() * rng.normal(size=x.shape)),
    "times 0.5": on_finite(lambda rng, x: 0.5 * x),
    "times 4": on_finite(lambda rng, x: 4 * x),
    "plus 1": on_finite(lambda rng, x: x + 1),
    "one cell": on_finite(one_cell),
    "noise 1 %": noise(0.01), "noise 10 %": noise(0.1), "noise 50 %": noise(0.5),
}


def bugs_of_attention(model, h):
    """(name, {step: wrong version}) of the bugs that both kinds of decoders have."""
    mask = decoder.causal

    def scaled(by):
        return {h + "scaled_scores": lambda run, v: v[h + "scores"] / by}

    def masked(hidden):
        return {h + "masked_scores": lambda run, v: v[h + "scaled_scores"].masked_fill(
            hidden(v[h + "scores"].shape[-1]), -torch.inf)}

    def diagonal(n):
        hidden = ~torch.ones(n, n, dtype=torch.bool).tril(-1)
        hidden[0, 0] = False  # the first token sees itself, or it would see nothing
        return hidden

    def weights(work):
        return {h + "attention_weights": lambda run, v: run.fused(
            work, v[h + "masked_scores"], v[h + "scaled_scores"])}

    yield "scale by d_model", scaled(model.d ** 0.5)
    yield "scale by d_k", scaled(model.width)
    yield "scale none", scaled(1)
    yield "mask one ahead", masked(lambda n: mask(n, ahead=1))
    yield "mask diagonal", masked(diagonal)
    yield "mask none", masked(lambda n: torch.zeros(n, n, dtype=torch.bool))
    yield "softmax axis", weights(lambda s, raw: s.softmax(-2))
    yield "mask after softmax", weights(
        lambda s, raw: raw.softmax(-1).masked_fill(torch.isinf(s), 0))
    yield "heads merged", {h + "concat": lambda run, v: v[h + "context"].reshape(
        v[h + "context"].shape[-2], -1)}
    key, value = model.maths[h + "K"], model.maths[h + "V"]
    yield "K and V swapped", {h + "K": lambda run, v: value(run, v[h + "norm1"]),
                              h + "V": lambda run, v: key(run, v[h + "norm1"])}


def bugs_of_gpt(model, layer):
    h, own = f"h{layer}.", f"transformer.h.{layer}."
    yield from bugs_of_attention(model, h)
    for part in "QV":
        yield f"no bias of {part}", {h + part: lambda run, v, part=part: model.projected(
            part, own, biased=False)(run, v[h + "norm1"])}
    yield "no bias after", {h + "mlp_in": lambda run, v: run.fused(
        F.linear, v[h + "norm2"], run.get(own + "mlp.c_fc.weight"))}
    other = "none" if model.gelu == "tanh" else "tanh"
    yield "GELU's form", {h + "gelu": lambda run, v: run.fused(
        lambda x: F.gelu(x, approximate=other), v[h + "mlp_in"])}
    residual = model.of[h + "norm1"][0]
    yield "eps far off", {h + "norm1": lambda run, v: model.norm(own + "ln_1", 0.1)(run, v[residual])}


def bugs_of_llama(model, layer):
    h, own = f"h{layer}.", f"model.layers.{layer}."
    yield from bugs_of_attention(model, h)

    def rotated(parts="QK", **options):
        return {f"{h}{part}_rope": lambda run, v, part=part: model.rotated(**options)(run, v[h + part])
                for part in parts}

    yield "RoPE pairing", rotated(pairing="interleaved")
    yield "RoPE sign", rotated(sign=-1)
    yield "RoPE offset", rotated(first=1)
    yield "RoPE sign of Q", rotated("Q", sign=-1)
    yield "RoPE of Q only", {h + "K_rope": lambda run, v: v[h + "K"]}
    yield "gate swapped", {h + "silu": lambda run, v: run.fused(F.silu, v[h + "up"]),
                           h + "gated": lambda run, v: v[h + "silu"] * v[h + "gate"]}
    residual = model.of[h + "norm1"][0]
    yield "mean in RMSNorm", {h + "norm1": lambda run, v: model.norm(
        own + "input_layernorm", centred=True)(run, v[residual])}


def bugs(model, layer):
    return list((bugs_of_llama if isinstance(model, decoder.Llama) else bugs_of_gpt)(model, layer))


class Dumps:
    """One model and one type: its right steps, and forged dumps of them."""

    def __init__(self, rng, args, number, folder):
        self.rng, self.folder = rng, folder
        self.dtype = ("F32", "F64", "F32", "F16", "F32", "BF16")[number % 6]
        self.layers = deep.random_layers(rng, args.layers)
        self.model = decoder.random_decoder(rng, self.dtype, self.layers)
        self.named = decoder.write(self.model, folder, self.dtype)
        self.kernels = decoder.Kernels(self.model.weights, DTYPES[self.dtype])
        self.steps = self.model.run(self.kernels)
        exact = self.model.run(self.model.exact)
        self.right = {name: x.numpy() for name, x in exact.items()}
        self.submissions = []

    def subset(self):
        """The steps that are submitted: mostly few."""
        kind = str(self.rng.choice(deep.SUBSETS, p=SHARES))
        return deep.subset(self.rng, kind, self.model.order, self.layers)

    def add(self, kind, tensors):
        path = deep.write_dump(self.folder / f"forged-{len(self.submissions)}", tensors, self.dtype)
        self.submissions.append((kind, path, {n: x.double().numpy() for n, x in tensors.items()}))

    def other_numbers(self, kind, names):
        """(step, numbers) that stand in for right ones."""
        if kind == "other ids":
            ids = [int(i) for i in self.rng.integers(self.model.vocabulary, size=len(self.model.ids))]
            other = decoder.of_other_ids(self.model, ids).run(self.kernels)
            return {name: other[name] for name in names}
        made = {}
        for name in names:
            layer = deep.layer_of(name)
            if kind == "other layer":
                others = [k for k in range(self.layers) if k != layer]
                if layer is None or not others:
                    continue
                made[name] = self.steps[f"h{self.rng.choice(others)}." + name.split(".", 1)[1]]
            else:
                forged = FORGERIES[kind](self.rng, self.steps[name].double().numpy())
                made[name] = torch.from_numpy(forged).to(DTYPES[self.dtype])
        return made

    def forge(self):
        kinds = [*FORGERIES, "other ids", "other layer"]
        for kind in self.rng.choice(kinds, NUMBERS, replace=False):
            names = self.subset()
            some = names if self.rng.random() < 0.5 else [names[self.rng.integers(len(names))]]
            forged = self.other_numbers(str(kind), some)
            if forged:
                self.add(str(kind), {n: forged.get(n, self.steps[n]) for n in names})
        for _ in range(BUGS):
            layer = int(self.rng.integers(self.layers))
            made = bugs(self.model, layer)
            kind, instead = made[self.rng.integers(len(made))]
            steps = self.model.run(self.kernels, instead)
            self.add(f"bug: {kind}", {n: steps[n] for n in self.subset()})

    def room(self, submitted):
        return deep.room_of(self.model, self.right, submitted, self.dtype)


class LessonGraph:
    """A lesson of planted.py, as room.py wants it."""

    def __init__(self, lesson):
        self.givens, self.parts = lesson.givens, {name: (of, maths) for name, _, of, _, maths in lesson.steps}
        self.order = list(self.parts)
        self.of = {name: [n for n in of if n in self.parts] for name, (of, _) in self.parts.items()}

    def work(self, name, operands):
        of, maths = self.parts[name]
        own = iter(operands)
        with np.errstate(all="ignore"):
            return maths(*[self.givens[n] if n in self.givens else next(own) for n in of])


class Sheets:
    """One small lesson by hand, with 1 to 4 decimals, and forged sheets of it."""

    def __init__(self, rng, _, number, folder):
        self.rng, self.folder = rng, folder
        self.lesson = lesson = planted.Lesson(rng)
        self.places = lesson.places = int(rng.integers(1, 5))
        truncates = rng.random() < 0.3
        lesson.written = lambda x: self.written(x, truncates)
        path = folder / "lesson.toml"
        path.write_text(lesson.toml(), encoding="utf-8")
        self.named, self.graph = [str(path)], LessonGraph(lesson)
        self.steps = lesson.work()
        self.right = {}
        for name in self.graph.order:
            self.right[name] = self.graph.work(name, [self.right[n] for n in self.graph.of[name]])
        self.submissions = []

    def written(self, x, truncates=False):
        with np.errstate(invalid="ignore"):
            scaled = x * 10.0 ** self.places
            return np.where(np.isinf(x), x, (np.trunc(scaled) if truncates else np.rint(scaled))
                            / 10.0 ** self.places)

    def subset(self):
        share = self.rng.choice([0.1, 0.25, 0.5])
        names = [n for n in self.graph.order if self.rng.random() < share]
        return names or [self.graph.order[self.rng.integers(len(self.graph.order))]]

    def add(self, kind, values):
        path = self.folder / f"forged-{len(self.submissions)}"
        planted.write(path, values, self.places)
        self.submissions.append((kind, path, values))

    def forge(self):
        for kind in self.rng.choice([*FORGERIES], NUMBERS, replace=False):
            names = self.subset()
            some = names if self.rng.random() < 0.5 else [names[self.rng.integers(len(names))]]
            forged = {n: self.written(FORGERIES[kind](self.rng, self.steps[n])) for n in some}
            self.add(kind, {n: forged.get(n, self.steps[n]) for n in names})
        cases = [case for case in planted.planted(self.lesson) if case[1] == "whole"]
        for _ in range(BUGS):
            mistake, _, name, made = cases[self.rng.integers(len(cases))]
            steps = self.lesson.work(name, made)
            self.add(f"bug: {mistake}", {n: steps[n] for n in self.subset()})

    def room(self, submitted):
        units = {name: lambda right: unit_of_decimals(self.places, right) for name in submitted}
        return Room(self.graph, self.right, submitted, units)


def judged(work, submitted, report):
    """The outcome's column, and what room.py has against it."""
    found = deep.outcome(report)
    if found == "wrong":
        return found, []
    with np.errstate(all="ignore"):
        faults = work.room(submitted).faults()
    if found == "undecided":
        return found, faults
    if not faults:
        return "honest", []
    if any(step["convention"] for step in report["steps"]):
        return "convention", []
    return "PASSED", faults


def differs(work, submitted):
    """Whether a submission is forged at all: a bug may not reach the steps that are there."""
    unit = work.room(submitted).unit
    return any((apart(x, work.right[n]) > unit(n)).any() for n, x in submitted.items())


def try_one(args, tally, number, folder):
    """One model's dumps, or every third time one lesson's sheets."""
    rng = np.random.default_rng([args.seed, number, 7])
    by_hand = number % 3 == 2
    work = (Sheets if by_hand else Dumps)(rng, args, number // 3 * 2 + number % 3, folder)
    work.forge()
    paths = [path for _, path, _ in work.submissions]
    reports, faults = deep.check(args.qkv, work.named, paths)
    tally.form(faults, work.named, paths)
    for (kind, path, submitted), report in zip(work.submissions, reports):
        if not differs(work, submitted):
            continue
        tally.dumps += 1
        column, against = judged(work, submitted, report)
        tell(args, tally, work, (kind, path, column, against))


def tell(args, tally, work, case):
    """Counts a forgery in its rows; a pass that rounding does not explain is a failure."""
    kind, path, column, against = case
    form = "hand" if isinstance(work, Sheets) else work.dtype
    for row in (f"{'hand ' * (form == 'hand')}{kind}", f"all of {form}"):
        tally.count(row, column)
    text = f"{form} {kind}: {against[:2]}\n    qkv check {' '.join(work.named)} {path}"
    if column == "PASSED":
        tally.fail(text)
    if column == "undecided":
        decidable = any(what == "outside the room" for _, what, _ in against)
        tally.notes["undecided, and twice the room by trial decides it"] += decidable
        if decidable and args.verbose:
            print(f"undecided: {text}")


def main():
    np.seterr(invalid="ignore")  # -inf less -inf
    args = deep.arguments(__doc__, 9)
    tally = deep.Tally(COLUMNS)
    deep.run_models(args, tally, try_one)
    return tally.print("forgeries")


if __name__ == "__main__":
    sys.exit(main())
