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


def the_courses_own_model_agrees_with_pytorch_in_every_step(folder):
    path = ROOT / "lessons" / "adjectives.safetensors"
    weights, facts = gpt.read_safetensors(path)
    words = json.loads(facts["vocabulary"])
    for text in ("the smooth red bird shines above while a very fluffy and blue creature drifts",
                 "a green prickly snail hides along .", "fish"):
        arrays = exported(folder, "--model", path, "--text", text)
        ids = [words.index(word) for word in text.split()]
        agree(gpt.forward(weights, ids, heads=int(facts["n_head"]), gelu="erf"), arrays)


def courses_own_model():
    sys.path.insert(0, str(ROOT / "models"))
    import train_adjectives

    torch.set_num_threads(1)
    model = train_adjectives.Model()
    weights = train_adjectives.read_safetensors(ROOT / "lessons" / "adjectives.safetensors")
    model.load_state_dict(weights)
    return train_adjectives, model


def the_lesson_without_head_3_agrees_with_pytorch_without_it(folder):
    trainer, model = courses_own_model()
    arrays = exported(folder, "trained-adjectives")
    ids = torch.tensor(arrays["token_ids"].astype(int).reshape(1, -1))
    model.transformer["h"][0].attn.off = 2
    with torch.no_grad():
        logits = model(ids)[0]
    agree({"off_logits": logits, "off_probabilities": logits.softmax(-1)}, arrays)
    words = np.array(trainer.VOCABULARY)[arrays["token_ids"].astype(int).ravel()]
    equal(" ".join(words), "a fluffy blue creature drifts around while the prickly red bird", "text")


def the_record_of_the_courses_own_model_is_what_its_weights_measure(folder):
    train_adjectives, model = courses_own_model()
    record = json.loads((ROOT / "models" / "adjectives.json").read_text())
    close_to(record, train_adjectives.measured(model))


def close_to(record, measured, where="record"):
    """Every figure that was measured stands in the record; a close call may fall otherwise."""
    for name, value in measured.items():
        if isinstance(value, dict):
            close_to(record[name], value, f"{where}: {name}")
        elif abs(record[name] - value) > 0.002:
            raise AssertionError(f"{where}: {name} is {record[name]}, and {value} was measured")


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
    the_courses_own_model_agrees_with_pytorch_in_every_step,
    the_lesson_without_head_3_agrees_with_pytorch_without_it,
    the_record_of_the_courses_own_model_is_what_its_weights_measure,
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
