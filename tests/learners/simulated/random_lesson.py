"""Random lessons of attention: other sizes, steps and numbers for each stream of random numbers."""

import numpy as np

from .backward import go_back
from .lesson import Lesson
from .other_lessons import other_lesson

WORDS = "the cat sat on mat dog ran far sky sea red sun".split()


def random_matrix(rng, shape, kind):
    if kind == "whole":
        return rng.integers(-3, 4, shape).astype(float)
    if kind == "small whole":
        return rng.integers(-1, 3, shape).astype(float)
    return np.round(rng.normal(0, 0.8, shape), int(rng.integers(1, 4)))


def random_lesson(rng):
    """A lesson whose numbers are of a size that people write."""
    lesson = Author(rng).lesson
    if any(np.isnan(v).any() or np.abs(v[np.isfinite(v)]).max(initial=0) > 1e7
           for v in lesson.truth().values()):
        return random_lesson(rng)
    return lesson


class Author:
    """Writes one lesson. The order in which random numbers are asked for is the lesson's own: with
    another one, the same seed gives other lessons."""

    def __init__(self, rng):
        self.rng, self.lesson = rng, Lesson()
        self.kind = self.pick("decimal", "decimal", "whole", "small whole")
        self.n, self.d_model = self.whole(2, 8), self.whole(2, 9)
        self.m = self.n
        self.batch = 2 if self.chance(0.12) else 0
        if self.chance(0.5):
            self.lesson.tokens = [WORDS[i] for i in rng.permutation(len(WORDS))[:self.n]]
        if self.chance(0.15) and not self.batch:
            self.lesson.convention = "columns"
        if self.chance(0.25):
            other_lesson(self)
            return
        start = self.pick("X", "X", "X", "positions", "embed", "QK")
        q, k, v = self.given_queries() if start == "QK" or self.chance(0.1) else \
            self.projections(*self.inputs(self.embeddings(start)))
        q, k = (q, k) if self.lesson.find("K") and self.lesson.find("K").op == "append" else \
            self.turned(q, k)
        at = self.step("context", "weighted_sum", self.weights(self.step("scores", "score", q, k)), v)
        at = self.joined(at)
        if self.chance(0.5):
            at = self.output(at)
        if rng.random() < 0.05 and self.lesson.truth()[at].ndim >= 2:
            self.step("turned", "transpose", at)
        if rng.random() < 0.25:
            go_back(self.lesson, rng)

    # What is random.
    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def chance(self, share):
        return self.rng.random() < share

    def whole(self, low, below):
        return int(self.rng.integers(low, below))

    def drawn(self, name, *shape, weight=False):
        return self.lesson.given(name, random_matrix(self.rng, shape, self.kind), weight)

    def step(self, name, op, *of, **options):
        return self.lesson.step(name, op, *of, **options)

    def cached_queries(self):
        """Queries of the newest tokens; keys and values of all of them, the earlier ones kept."""
        self.heads, self.batch = 0, 0
        self.n, past, d_k = self.whole(1, 3), self.whole(1, 6), self.pick(2, 3, 4)
        self.m = past + self.n
        q, k, v = (self.drawn(name, self.n, width) for name, width in
                   (("Q", d_k), ("K_new", d_k), ("V_new", self.whole(1, 5))))
        if d_k % 2 == 0 and self.chance(0.6):
            options = {**self.rope_options(d_k), "first": past + self.pick(0, 0, 2)}
            q, k = (self.step(f"{name}_rope", "rope", of, **options) for name, of in
                    (("Q", q), ("K_new", k)))
        return [q, *(self.step(name, "append", self.drawn(f"past_{name}", past, width), new)
                     for name, new, width in (("K", k, d_k), ("V", v, self.lesson.givens["V_new"].shape[1])))]

    def given_queries(self):
        """Q, K and V are given."""
        if self.chance(0.3):
            return self.cached_queries()
        self.m = self.n if self.chance(0.5) else self.whole(2, 8)
        d_k = self.whole(1, 6)
        d_v = d_k if self.chance(0.4) else self.whole(1, 6)
        self.heads = self.whole(2, 4) if self.chance(0.25) else 0
        grouped = self.heads and self.chance(0.5)
        shared = self.heads
        self.heads *= 2 if grouped else 1
        lead = lambda heads: (heads,) if heads else ()
        self.batch = 0
        q = self.drawn("Q", *lead(self.heads), self.n, d_k)
        return [q, *(self.repeated(self.drawn(name, *lead(shared), self.m, width), grouped)
                     for name, width in (("K", d_k), ("V", d_v)))]

    def repeated(self, name, grouped):
        """Keys or values with a head for each of the queries', or as they are shared."""
        if not grouped or self.chance(0.5):
            return name
        return self.step(f"{name}_repeated", "repeat_kv", name, times=2)

    def embeddings(self, start):
        """The name of X, given or made."""
        shape = ((self.batch,) if self.batch else ()) + (self.n, self.d_model)
        if start == "positions":
            return self.step("X", "add", *self.with_positions(shape))
        if start == "embed" and not self.batch:
            ids = self.lesson.given("token_ids", self.rng.integers(0, 5, self.n))
            return self.step("X", "embed", ids, self.drawn("embedding_table", 5, self.d_model))
        return self.drawn("X", *shape)

    def with_positions(self, shape):
        embeddings = self.drawn("token_embeddings", *shape)
        if self.chance(0.6):
            base = {"base": 100} if self.chance(0.3) else {}
            return embeddings, self.step("position_embeddings", "positions", embeddings, **base)
        table = self.drawn("position_table", self.n + self.whole(0, 3), self.d_model)
        return embeddings, self.step("position_embeddings", "positions", embeddings, table,
                                     method="learned")

    def inputs(self, x):
        """What queries are made of, and what keys and values are."""
        source = x
        if self.chance(0.15) and not self.batch:
            self.m = self.whole(2, 8)
            source = self.drawn("Y", self.m, self.d_model)
        if not self.chance(0.15):
            return x, source
        norm = self.normed("norm", x, "_1")
        return norm, norm if source == x else source

    def normed(self, name, x, suffix=""):
        """Layer norm, or the norm without mean and bias."""
        gain = self.drawn("gain" + suffix, self.d_model)
        if self.chance(0.6):
            return self.step(name, "layer_norm", x, gain, self.drawn("bias" + suffix, self.d_model))
        eps = {} if self.chance(0.5) else {"eps": self.pick(1e-6, 0.01)}
        offset = {"unit_offset": True} if self.chance(0.3) else {}
        return self.step(name, "rms_norm", x, gain, **eps, **offset)

    def projections(self, x, source):
        """Q, K and V by weights: with a head axis, cut into heads, or with one head."""
        self.heads = self.whole(2, 4) if self.chance(0.4) and not self.batch else 0
        split = self.heads and self.chance(0.5)
        d_k = self.whole(1, 6) if not self.chance(0.3) else \
            self.d_model if self.d_model < 6 and not split else 2
        d_v = d_k if self.chance(0.4) else self.whole(1, 6)
        layout = "out-in" if self.chance(0.25) else "in-out"
        biased = self.chance(0.25)
        return [self.projection(name, of, width, split, layout, biased)
                for name, of, width in (("Q", x, d_k), ("K", source, d_k), ("V", source, d_v))]

    def projection(self, name, of, width, split, layout, biased):
        wide = width * self.heads if split else width
        size = (wide, self.d_model) if layout == "out-in" else (self.d_model, wide)
        lead = (self.heads,) if self.heads and not split else ()
        operands = [of, self.drawn("W_" + name, *lead, *size, weight=True)]
        if biased:
            operands.append(self.drawn("b_" + name, *((*lead, 1, wide) if lead else (wide,))))
        options = {"layout": layout} if layout == "out-in" else {}
        if not split:
            return self.step(name, "project", *operands, **options)
        whole = self.step(name + "_all", "project", *operands, **options)
        return self.step(name, "split_heads", whole, heads=self.heads)

    def turned(self, q, k):
        """Rotary positions, perhaps behind a norm of queries and keys."""
        width = self.lesson.truth()[q].shape[-1]
        if width % 2 or not self.chance(0.3):
            return q, k
        if self.chance(0.2):
            gains = self.drawn("gain_Q", width), self.drawn("gain_K", width)
            q, k = (self.step(f"{name}_norm", "rms_norm", name, gain) for name, gain in zip((q, k), gains))
        options = self.rope_options(width)
        return [self.step(f"{name}_rope", "rope", of, **options) for name, of in (("Q", q), ("K", k))]

    def rope_options(self, width):
        options = {"pairing": "halves"} if self.chance(0.5) else {}
        if self.chance(0.3):
            options["base"] = self.pick(100, 500000)
        if self.chance(0.2):
            options["first"] = self.whole(1, 9)
        if width > 2 and self.chance(0.2):
            options["width"] = 2
        if self.chance(0.7):
            return options
        scaling = self.pick("linear", "ntk", "dynamic", "yarn", "llama3")
        options |= {"scaling": scaling, "factor": self.pick(2, 4, 8)}
        if scaling in ("dynamic", "yarn", "llama3"):
            options["original_length"] = self.whole(2, 40)
        if scaling == "yarn":
            options |= {"beta_fast": 4, "beta_slow": 0.5}
        return options

    def weights(self, at):
        """The attention weights: scaled or not, masked before or after, softmax whole or in parts."""
        scaled = self.chance(0.8)
        kind = self.pick("none", "none", "causal", "causal", "given", "padding", "sliding_window", "prefix")
        by = {} if self.chance(0.8) else {"by": self.pick("d_k", "sqrt(5)", 2.5)}
        mask_first = self.chance(0.3)
        if kind == "padding" and (self.lesson.convention == "columns" or self.m == 1):
            kind = "none"
        if kind != "none" and mask_first:
            at = self.masked(at, kind)
        if scaled:
            at = self.step("scaled_scores", "scale", at, **by)
        if not mask_first:
            at = self.biased(at)
        if kind != "none" and not mask_first:
            at = self.masked(at, kind)
        if not self.chance(0.3):
            heads = self.lesson.truth()[at].shape[:-2]
            sinks = [self.drawn("sinks", *(heads or (1,)))] if not self.batch and self.chance(0.15) else []
            return self.step("attention_weights", "softmax", at, *sinks)
        at = self.step("shifted", "shift", at) if self.chance(0.6) else at
        return self.step("attention_weights", "normalise", self.step("exp_scores", "exp", at))

    def biased(self, at):
        """Scores below a cap, or lowered by distance."""
        if self.chance(0.15):
            at = self.step("capped_scores", "softcap", at, cap=self.pick(1, 2, 5))
        if not self.batch and self.chance(0.15):
            heads = self.lesson.truth()[at].shape[:-2]
            slopes = [self.drawn("slopes", *(heads or (1,)))] if self.chance(0.3) else []
            return self.step("biased_scores", "alibi", at, *slopes)
        if not self.batch and self.chance(0.08):
            heads = self.lesson.truth()[at].shape[:-2]
            return self.step("biased_scores", "relative_bias", at, self.drawn("table", 6, *(heads or (1,))),
                             max_distance=5)
        return at

    def masked(self, at, kind):
        if kind in ("causal", "sliding_window", "prefix"):
            width = {"sliding_window": "width", "prefix": "prefix"}.get(kind)
            options = {width: self.whole(1, max(2, self.m))} if width else {}
            if kind == "sliding_window" and self.chance(0.3):
                options["both"] = True
            if self.n < self.m and self.chance(0.3):
                options["align"] = "start"
            return self.step("masked_scores", "mask", at, kind=kind, **options)
        if kind == "given":
            keep = self.rng.integers(0, 2, (self.n, self.m)).astype(float)
            if not self.chance(0.1):
                keep[:, 0] = 1
            if keep.all():
                keep[-1, -1] = 0
            return self.step("masked_scores", "mask", at, self.lesson.given("M", keep), kind=kind)
        ids = self.rng.integers(1, 5, (self.batch, self.m) if self.batch else self.m).astype(float)
        ids[..., -1] = 0
        return self.step("masked_scores", "mask", at, self.lesson.given("ids", ids), kind=kind, pad=0)

    def joined(self, at):
        """The heads side by side, added up, or left as they are."""
        if self.heads and self.lesson.truth()[at].ndim > 2 and self.chance(0.85):
            if self.chance(0.6):
                return self.step("concat", "concat_heads", at)
            if self.chance(0.5):
                return self.step("summed", "sum_heads", at)
        return at

    def output(self, at):
        """W_O, and perhaps what follows it in a layer."""
        width = self.lesson.truth()[at].shape[-1]
        layout = "out-in" if self.chance(0.25) else "in-out"
        size = (self.d_model, width) if layout == "out-in" else (width, self.d_model)
        operands = [at, self.drawn("W_O", *size, weight=True)]
        if self.chance(0.3):
            operands.append(self.drawn("b_O", self.d_model))
        at = self.step("output", "project", *operands, layout=layout)
        truth = self.lesson.truth()
        if "X" in truth and truth["X"].shape == truth[at].shape and self.chance(0.5):
            return self.rest_of_layer(self.step("residual", "add", "X", at))
        return at

    def rest_of_layer(self, at):
        if self.chance(0.6):
            at = self.normed("normed", at)
        if not self.chance(0.5):
            return at
        if self.chance(0.4):
            return self.gated(at)
        at = self.step("mlp_in", "project", at, self.drawn("W_in", self.d_model, 3, weight=True))
        return self.function("mlp_act", self.pick("gelu", "gelu", "relu"), at)

    def function(self, name, op, at):
        erf = {"form": "erf"} if op == "gelu" and self.chance(0.5) else {}
        return self.step(name, op, at, **erf)

    def gated(self, at):
        gate, up = (self.step(name, "project", at, self.drawn("W_" + name, self.d_model, 3, weight=True))
                    for name in ("gate", "up"))
        active = self.function("active", self.pick("silu", "gelu"), gate)
        return self.step("gated", "multiply", *((active, up) if self.chance(0.7) else (up, active)))
