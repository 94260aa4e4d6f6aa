#!/usr/bin/python3
"""Trained models, held against PyTorch's float32 run of the same weights, step by step.

    models.py QKV

Each function below is one claim. The sorting model is read from ../shared/data, or from where
QKV_MODELS says; where it is missing, its claims are skipped.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from claims import Skipped, equal, main, qkv  # noqa: E402

import gpt  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("QKV_MODELS", ROOT.parent / "shared" / "data"))
SINGLE, DOUBLE = 5e-6, 1e-12  # how close PyTorch's float32 run comes to the truth, and its float64


def sorting_model():
    path = MODELS / "nano-sort.safetensors"
    if not path.is_file():
        raise Skipped("the sorting model is not there")
    return path


def exported(folder, *arguments):
    qkv.printed("export", *arguments, "--format", "npz", "-o", folder / "out")
    (file,) = (folder / "out").glob("*.npz")
    return np.load(file)


def agree(steps, arrays, close=SINGLE):
    """Every step of PyTorch's is there under its name, of its shape, and as close as float32 is."""
    for name, tensor in steps.items():
        array = arrays[name]
        desired = tensor.numpy()
        equal(array.shape, desired.shape, name)
        both = np.isfinite(desired)
        equal(np.isfinite(array).tolist(), both.tolist(), f"{name}: what is finite")
        worst = np.abs(array[both] - desired[both]).max(initial=0)
        if worst > close:
            raise AssertionError(f"{name}: off by {worst:.2e}")


def the_sorting_model_agrees_with_pytorch_in_every_step(folder):
    path = sorting_model()
    weights, _ = gpt.read_safetensors(path)
    for text in ("CBABBC", "AAAAAA", "CCBBAAABBCC", "B"):
        arrays = exported(folder, "--model", path, "--text", text)
        steps = gpt.forward(weights, ["ABC".index(letter) for letter in text], heads=3)
        agree(steps, arrays)


def the_sorting_model_sorts(folder):
    path = sorting_model()
    text = "CBABBC"
    for answer in sorted(text):
        out = qkv.printed("run", "--model", path, "--text", text, "--step", "probabilities", "--no-pause")
        found = re.search(r"likeliest next: (\w)", out)
        equal(found and found[1], answer, f"after {text}")
        text += answer
        if len(text) > 11:
            break


def a_model_agrees(folder, layout, biases, tied, gelu, dtype, prefix, extra=()):
    weights = gpt.random_weights(2, 24, 19, 16, layout, 7, prefix, biases, tied, 0.15)
    gpt.write_safetensors(folder / "m.safetensors", weights, dtype=dtype)
    weights, _ = gpt.read_safetensors(folder / "m.safetensors")  # as they were rounded
    ids = [3, 18, 0, 3, 11, 7]
    arrays = exported(folder, "--model", folder / "m.safetensors", "--model-heads", "4", "--text",
                      " ".join("ABCDEFGHIJKLMNOPQRS"[i] for i in ids), *extra)
    agree(gpt.forward(weights, ids, 4, layout, gelu), arrays)
    doubles = {name: tensor.double() for name, tensor in weights.items()}
    agree(gpt.forward(doubles, ids, 4, layout, gelu), arrays, DOUBLE)


def a_hugging_face_model_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, True, "tanh", "F32", "")


def a_hugging_face_model_with_its_head_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "F32", "transformer.")


def a_model_without_biases_agrees_with_pytorch(folder):
    a_model_agrees(folder, "out-in", False, True, "erf", "F32", "transformer.",
                   ("--family", "nanogpt"))


def a_model_in_float16_agrees_with_pytorch(folder):
    a_model_agrees(folder, "out-in", True, False, "tanh", "F16", "transformer.")


def a_model_in_bfloat16_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "BF16", "")


def a_model_in_float64_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "F64", "")


CLAIMS = [
    the_sorting_model_agrees_with_pytorch_in_every_step,
    the_sorting_model_sorts,
    a_hugging_face_model_agrees_with_pytorch,
    a_hugging_face_model_with_its_head_agrees_with_pytorch,
    a_model_without_biases_agrees_with_pytorch,
    a_model_in_float16_agrees_with_pytorch,
    a_model_in_bfloat16_agrees_with_pytorch,
    a_model_in_float64_agrees_with_pytorch,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
