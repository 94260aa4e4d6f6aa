"""The lessons and the numbers that rows work on, written into a scratch directory."""

import json
import shutil
import struct
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
    sizes = {name: (n if name == "X" else d, d) for name in GIVENS}
    text = write_lesson(directory, sizes, [(name, op, of, options.format(h=h))
                                           for name, op, of, options in STEPS])
    np.save(directory / "d_output.npy", np.random.RandomState(1).randn(n, d))
    text += '\n[[given]]\nname = "d_output"\nfile = "d_output.npy"\n'
    (directory / "back.toml").write_text(text + '\n[backward]\nfrom = {output = "d_output"}\n')


def write_lesson(directory, sizes, steps):
    """The lesson, which is returned, too, and its givens, drawn; a weight is divided by the root of
    what it adds up."""
    draw = np.random.RandomState(0)
    for name, size in sizes.items():
        np.save(directory / f"{name}.npy", draw.randn(*size) / (1 if name == "X" else size[0]**0.5))
    text = 'title = "Attention"\nsummary = "For the benchmark."\nsource = "Drawn."\n'
    for name in sizes:
        text += f'\n[[given]]\nname = "{name}"\nfile = "{name}.npy"\n'
    for name, op, operands, options in steps:
        of = ", ".join(f'"{operand}"' for operand in operands.split())
        text += f'\n[[step]]\nname = "{name}"\nop = "{op}"\nof = [{of}]\n'
        text += options + ('\nsay = "A step."\n')
    (directory / "lesson.toml").write_text(text)
    return text


def kept_bytes(n, d, h):
    """What all of its steps hold: Q, K, V twice, four score matrices a head, context, concat, output."""
    return 8 * (9 * n * d + 4 * h * n * n)


def flops(n, d, h):
    return 8 * n * d * d + 4 * n * n * d + 0 * h


GPT2 = {"layers": 12, "heads": 12, "d": 768, "vocabulary": 50257, "positions": 1024}


def gpt2(scratch):
    """Random weights in the shape of GPT-2 small, named as Hugging Face names them: 498 MB."""
    return Prepared(scratch / "gpt2", write_gpt2)


def gpt2_tensors():
    """(name, shape, centre) of each: weights in × out, as Conv1D stores them."""
    d = GPT2["d"]
    yield "wte.weight", (GPT2["vocabulary"], d), 0
    yield "wpe.weight", (GPT2["positions"], d), 0
    for layer in range(GPT2["layers"]):
        for name, inputs, outputs in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d),
                                      ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)):
            yield f"h.{layer}.{name}.weight", (inputs, outputs), 0
            yield f"h.{layer}.{name}.bias", (outputs,), 0
        for name in ("ln_1", "ln_2"):
            yield f"h.{layer}.{name}.weight", (d,), 1
            yield f"h.{layer}.{name}.bias", (d,), 0
    yield "ln_f.weight", (d,), 1
    yield "ln_f.bias", (d,), 0


def gpt2_flops(n, whole):
    d = GPT2["d"]
    layers = GPT2["layers"] * (24 * n * d * d + 4 * n * n * d)
    return layers + (2 * n * d * GPT2["vocabulary"] if whole else 0)


def gpt2_kept_bytes(n):
    """What all of its steps hold: of a layer two norms, Q, K, V, context, concat, output and two
    sums, the three of the MLP at four times the width but the last, and four score matrices a
    head; before and after the layers four of n × d, the logits and the probabilities. And the
    weights, as doubles."""
    d, vocabulary = GPT2["d"], GPT2["vocabulary"]
    layer = n * d * (11 + 4 + 4) + 4 * GPT2["heads"] * n * n
    weights = sum(int(np.prod(shape)) for _, shape, _ in gpt2_tensors())
    return 8 * (GPT2["layers"] * layer + 4 * n * d + 2 * n * vocabulary + weights)


def write_gpt2(directory):
    tensors = list(gpt2_tensors())
    header, end = {"__metadata__": {"n_head": str(GPT2["heads"])}}, 0
    for name, shape, _ in tensors:
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    draw = np.random.RandomState(2)
    with open(directory / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape, centre in tensors:
            numbers = centre + 0.02 * draw.randn(*shape)
            file.write(numbers.astype("<f4").tobytes())


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
