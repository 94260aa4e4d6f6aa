"""Rows of attention as it is built now: rotary positions, 32 heads of queries, 8 heads of keys."""

import pathlib

import lessons
from machine import PYTHON, best_core_type
from rows import Row, best, threads_in

PEERS = str(pathlib.Path(__file__).with_name("grouped_peers.py"))
HEADS, KEY_HEADS, WIDTH = 32, 8, 64
D_MODEL = HEADS * WIDTH
D_FF = 5632  # two thirds of four times the width, in units of 256: TinyLlama's

ATTENTION = [
    *lessons.STEPS[:3],
    ("Q", "split_heads", "Q_all", f"heads = {HEADS}"),
    ("K", "split_heads", "K_all", f"heads = {KEY_HEADS}"),
    ("V", "split_heads", "V_all", f"heads = {KEY_HEADS}"),
    ("Q_rope", "rope", "Q", ""),
    ("K_rope", "rope", "K", ""),
    ("scores", "score", "Q_rope K_rope", ""),
    *lessons.STEPS[7:],  # from the scaled scores on as everywhere
]
NETWORK = [
    ("residual1", "add", "X output", ""),
    ("norm2", "rms_norm", "residual1 gain2", ""),
    ("gate", "project", "norm2 W_gate", ""),
    ("up", "project", "norm2 W_up", ""),
    ("silu", "silu", "gate", ""),
    ("gated", "multiply", "silu up", ""),
    ("mlp_out", "project", "gated W_down", ""),
    ("residual2", "add", "residual1 mlp_out", ""),
]
NORMED = [("norm1", "rms_norm", "X gain1", "")]
SIZES = {"W_Q": (D_MODEL, D_MODEL), "W_K": (D_MODEL, KEY_HEADS * WIDTH),
         "W_V": (D_MODEL, KEY_HEADS * WIDTH), "W_O": (D_MODEL, D_MODEL)}
NETWORK_SIZES = {"gain1": (D_MODEL,), "gain2": (D_MODEL,), "W_gate": (D_MODEL, D_FF),
                 "W_up": (D_MODEL, D_FF), "W_down": (D_FF, D_MODEL)}


def lesson(scratch, n, whole):
    """The lesson of a block, or of its attention alone, and its givens as .npy files."""
    sizes = {"X": (n, D_MODEL), **SIZES, **(NETWORK_SIZES if whole else {})}
    from_norm = [(name, op, of.replace("X ", "norm1 "), options)
                 for name, op, of, options in ATTENTION]
    steps = NORMED + from_norm + NETWORK if whole else ATTENTION
    kind = "block" if whole else "grouped"
    return lessons.Prepared(scratch / f"{kind}-{n}",
                            lambda at: lessons.write_lesson(at, sizes, steps))


def kept_bytes(n, whole):
    """Q, K, V and the turned Q and K, context, concat, output; four score matrices a head."""
    of_attention = n * (6 * D_MODEL + 5 * KEY_HEADS * WIDTH) + 4 * HEADS * n * n
    return 8 * (of_attention + (n * (5 * D_MODEL + 4 * D_FF) if whole else 0))


def flops(n, whole):
    projections = 4 * n * D_MODEL * (D_MODEL + KEY_HEADS * WIDTH)
    return projections + 4 * n * n * D_MODEL + (6 * n * D_MODEL * D_FF if whole else 0)


def row(qkv, scratch, n, threads, whole):
    files = lesson(scratch, n, whole)
    tuned = " " + best_core_type()
    arguments = [str(files.directory), str(n), str(int(whole))]
    peers = [(kind + core, [PYTHON, PEERS, kind, *arguments], env)
             for kind, core, env in (("numpy", "", threads_in(threads)),
                                     ("torch", "", threads_in(threads)),
                                     ("numpy", tuned, best(threads)))]
    return Row("LLaMA's layer, all kept" if whole else "grouped attention, all kept",
               f"{n}×{D_MODEL}, {HEADS} and {KEY_HEADS} heads",
               [qkv, "run", str(files.directory / "lesson.toml"), "--from",
                "residual2" if whole else "output", "--threads", str(threads)],
               peers, {"numpy": 2.8, "torch": 3, "numpy" + tuned: 1.6 if threads > 1 else 1.1},
               threads, {"flops": flops(n, whole), "fresh": kept_bytes(n, whole)},
               kept_bytes(n, whole), rounds=3, quick=False, prepare=[files.ready])


def grouped(qkv, scratch):
    return [row(qkv, scratch, n, threads, whole) for whole in (False, True) for n in (1024, 2048)
            for threads in (1, 2) if n == 1024 or not whole]
