"""What a lesson gives: numbers written down, drawn at random, or read from files."""

import math

import numpy as np

from errors import LessonError
from operations import turned
from pasted import as_array, pasted_tokens, tokens_of
from safetensors_file import arrays_of


class Draws:
    """The lesson's random stream, from the generator itself."""

    def __init__(self, table):
        self.generator = table.get("generator", "numpy")
        self.restart(table.get("seed", 0))

    def restart(self, seed):
        if self.generator == "torch":
            import torch  # slow to load: only for the lessons that need it

            torch.manual_seed(seed)
        else:
            np.random.seed(seed)

    def draw(self, kind, sizes):
        if self.generator == "numpy":
            if kind not in ("rand", "randn"):
                raise LessonError(f"{kind} is PyTorch's; the lesson's generator is numpy")
            return getattr(np.random, kind)(*sizes)
        import torch

        if kind in ("rand", "randn"):
            return getattr(torch, kind)(*sizes).double().numpy()
        inputs, outputs = sizes
        if kind == "linear":  # as nn.Linear's own reset_parameters does it
            drawn = torch.empty(outputs, inputs)
            torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5))
        else:
            drawn = torch.empty(outputs)
            torch.nn.init.uniform_(drawn, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))
        return drawn.double().numpy()


def read_file(path, key):
    if path.suffix == ".npy":
        return np.load(path).astype(float)
    if path.suffix == ".npz":
        return np.load(path)[key].astype(float)
    if path.suffix == ".safetensors":
        return arrays_of(path)[0][key].astype(float)
    return as_array(pasted_tokens(path.read_text(encoding="utf-8-sig")))


def given_value(given, draws, folder):
    """A [[given]] as the lesson writes it, in the lesson's own convention."""
    if "seed" in given:
        draws.restart(given["seed"])
    if "value" in given:
        value = as_array(tokens_of(given["value"]))
    elif "file" in given:
        value = read_file(folder / given["file"], given.get("key"))
    elif "eye" in given:
        value = np.eye(given["eye"])
    elif "tril" in given:
        value = np.tril(np.ones((given["tril"], given["tril"])))
    elif "ones" in given:
        value = np.ones(given["ones"])
    elif "zeros" in given:
        value = np.zeros(given["zeros"])
    else:
        kinds = [kind for kind in ("randn", "rand", "linear", "linear_bias") if kind in given]
        if not kinds:
            raise LessonError(f"given {given['name']} has no value")
        sizes = given[kinds[0]]
        value = draws.draw(kinds[0], [sizes] if isinstance(sizes, int) else sizes)
    return turned(value) if given.get("transpose", False) else value
