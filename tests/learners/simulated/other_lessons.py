"""Random lessons that are no attention as a whole: tiles, a norm by hand, a loss and a step."""

import numpy as np


def other_lesson(author):
    """One of them, written by the author of lessons of attention."""
    author.pick(tiles, tiles, tiles, norm_by_hand, loss)(author)


def tiles(author):
    """Attention in tiles of a few keys; at times each tile by itself, and all merged."""
    author.n = author.whole(2, 6)
    width, d_v = author.whole(1, 4), author.whole(1, 4)
    lead = (2,) if author.chance(0.15) else ()
    q = author.drawn("Q", *lead, author.n, width) if author.chance(0.5) else None
    sizes = [author.whole(1, 4) for _ in range(author.whole(2, 4))]
    scores = [tile_scores(author, q, k + 1, keys, width, lead) for k, keys in enumerate(sizes)]
    values = [author.drawn(f"V_{k + 1}", *lead, keys, d_v) for k, keys in enumerate(sizes)]
    if author.chance(0.3):
        merged_parts(author, scores[:2], values)
    else:
        one_after_the_other(author, scores, values)


def tile_scores(author, q, number, keys, width, lead):
    if q is None:
        scores = author.drawn(f"S_{number}", *lead, author.n, keys)
        if author.chance(0.25):
            given = author.lesson.givens[scores]
            given[author.rng.random(given.shape) < 0.2] = -np.inf
        return scores
    at = author.step(f"scores_{number}", "score", q, author.drawn(f"K_{number}", *lead, keys, width))
    return author.step(f"S_{number}", "scale", at) if author.chance(0.7) else at


def one_after_the_other(author, scores, values):
    m, p, l, o = begun(author, scores[0], values[0], "_1")
    for k, (s, v) in enumerate(zip(scores[1:], values[1:]), 2):
        m_old, m = m, author.step(f"m_{k}", "running_max", m, s)
        p = author.step(f"P_{k}", "tile_weights", s, m)
        l = author.step(f"l_{k}", "running_sum", l, m_old, m, p)
        o = author.step(f"O_{k}", "running_output", o, m_old, m, p, v)
    author.step("context", "normalise", o, l)
    if author.chance(0.5):
        author.step("L", "log_sum_exp", m, l)


def begun(author, s, v, suffix):
    m = author.step("m" + suffix, "running_max", s)
    p = author.step("P" + suffix, "tile_weights", s, m)
    l = author.step("l" + suffix, "running_sum", p)
    return m, p, l, author.step("O" + suffix, "running_output", p, v)


def merged_parts(author, scores, values):
    of = []
    for k, (s, v) in enumerate(zip(scores, values), 1):
        m, _, l, o = begun(author, s, v, f"_{k}")
        of.append(author.step(f"part_{k}", "normalise", o, l))
        of.append(author.step(f"L_{k}", "log_sum_exp", *([s] if author.chance(0.3) else [m, l])))
    author.step("context", "merge", *of)


def norm_by_hand(author):
    """A norm, or a gate, in the strides that a person takes."""
    x = author.drawn("X", author.n, author.d_model)
    centred = author.step("centred", "subtract", x, author.step("mean", "row_mean", x))
    squares = author.step("squares", "multiply", centred, centred)
    eps = author.lesson.given("eps", [[0.5]])
    variance = author.step("variance", "row_mean", squares)
    above_0 = author.step("with_eps", "add", variance, eps)
    root = author.step("deviation", "sqrt", above_0)
    normed = author.step("normed", "divide", centred, root)
    gained = author.step("gained", "multiply", normed, author.drawn("gain", author.d_model))
    op = author.pick("sigmoid", "tanh", "maximum", "log")
    if op == "maximum":
        author.step("at_least", op, gained, author.lesson.given("floor", [[0]]))
    elif op == "log":
        author.step("logs", op, above_0)
    else:
        author.step("gates", op, gained)
    if author.chance(0.5):
        author.step("tops", "row_max", gained)
        author.step("totals", "row_sum", squares, axis="columns")


def loss(author):
    """The loss of a prediction, and a step against a gradient that is given."""
    vocabulary = author.whole(2, 6)
    w = author.drawn("W", author.d_model, vocabulary, weight=True)
    logits = author.step("logits", "project", author.drawn("X", author.n, author.d_model), w)
    if author.chance(0.7):
        targets = author.rng.integers(0, vocabulary, author.n)
    else:
        targets = np.full((author.n, vocabulary), 0.1 / (vocabulary - 1))
        targets[:, author.whole(0, vocabulary)] = 0.9
    reduction = author.pick({}, {}, {"reduction": "sum"}, {"reduction": "none"})
    author.step("loss", "cross_entropy", logits, author.lesson.given("targets", targets), **reduction)
    author.step("W_next", "gradient_step", w, author.drawn("d_W", author.d_model, vocabulary),
                rate=author.pick(0.1, 0.5, 0.01))
