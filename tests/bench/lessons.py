"""The lessons and the numbers that rows work on, written into a scratch directory."""

import shutil
import subprocess

import numpy as np

STEPS = [
    ("Q_all", "project", "X W_Q", ""),
    ("K_all", "project", "X W_K", ""),
    ("V_all", "project", "X W_V", ""),
    ("Q", "split_heads", "Q_all", "heads = {h}"),
    ("K", "split_heads", "K_all", "heads = {h}"),
    ("V", "split_heads", "V_all", "heads = {h}"),
    ("scores", "score", "Q K", ""),
    ("scaled_scores", "scale", "scores", ""),
    ("masked_scores", "mask", "scaled_scores", ""),
    ("attention_weights", "softmax", "masked_scores", ""),
    ("context", "weighted_sum", "attention_weights V", ""),
    ("concat", "concat_heads", "context", ""),
    ("output", "project", "concat W_O", ""),
]
GIVENS = ["X", "W_Q", "W_K", "W_V", "W_O"]


class Prepared:
    """A directory that is filled when a row that needs it is about to run."""

    def __init__(self, directory, fill):
        self.directory = directory
        self.fill = fill

    def ready(self):
        if not self.directory.exists():
            self.directory.mkdir(parents=True)
            self.fill(self.directory)


def attention(scratch, n, d, h):
    """A lesson of multi-head attention and its givens as .npy files."""
    return Prepared(scratch / f"attention-{n}-{d}-{h}", lambda at: write_attention(at, n, d, h))


def write_attention(directory, n, d, h):
    draw = np.random.RandomState(0)
    for name in GIVENS:
        rows = n if name == "X" else d
        np.save(directory / f"{name}.npy", draw.randn(rows, d) / (1 if name == "X" else d**0.5))
    text = 'title = "Attention"\nsummary = "For the benchmark."\nsource = "Drawn."\n'
    for name in GIVENS:
        text += f'\n[[given]]\nname = "{name}"\nfile = "{name}.npy"\n'
    for name, op, operands, options in STEPS:
        of = ", ".join(f'"{operand}"' for operand in operands.split())
        text += f'\n[[step]]\nname = "{name}"\nop = "{op}"\nof = [{of}]\n'
        text += options.format(h=h) + ('\nsay = "A step."\n')
    (directory / "lesson.toml").write_text(text)


def kept_bytes(n, d, h):
    """What all of its steps hold: Q, K, V twice, four score matrices a head, context, concat, output."""
    return 8 * (9 * n * d + 4 * h * n * n)


def flops(n, d, h):
    return 8 * n * d * d + 4 * n * n * d + 0 * h


def one_matrix(scratch, n):
    """An n × n matrix as CSV and as npy, and a lesson for each that reads it."""
    return Prepared(scratch / f"matrix-{n}", lambda at: write_matrix(at, n))


def write_matrix(directory, n):
    matrix = np.random.RandomState(1).randn(n, n)
    np.save(directory / "A.npy", matrix)
    with open(directory / "A.csv", "w", encoding="ascii") as file:
        file.writelines(",".join(map(repr, row)) + "\n" for row in matrix.tolist())
    for form in ("csv", "npy"):
        (directory / f"{form}.toml").write_text(
            'title = "A matrix"\nsummary = "For the benchmark."\nsource = "Drawn."\n\n'
            f'[[given]]\nname = "A"\nfile = "A.{form}"\n\n'
            '[[given]]\nname = "few"\nvalue = [[1, 2]]\n\n'
            '[[step]]\nname = "B"\nop = "relu"\nof = ["few"]\nsay = "A step."\n'
        )


def submissions(scratch, qkv, lesson, count):
    """`count` directories, "0" and on, with the lesson's own numbers handed in."""
    return Prepared(scratch / f"submissions-{lesson}-{count}",
                    lambda at: write_submissions(at, qkv, lesson, count))


def write_submissions(parent, qkv, lesson, count):
    first = parent / "0"
    subprocess.run([qkv, "export", lesson, "-o", first, "--plain"], check=True, capture_output=True)
    (first / "00-lesson.json").unlink()
    for index in range(1, count):
        shutil.copytree(first, parent / str(index))


def hand_in(directory, qkv):
    """The weights of an attention lesson as somebody's submission."""
    subprocess.run([qkv, "export", directory / "lesson.toml", "--format", "npy", "--step",
                    "attention_weights", "-o", directory / "handed-in"], check=True,
                   capture_output=True)
