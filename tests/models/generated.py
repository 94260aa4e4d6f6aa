#!/usr/bin/python3
"""Models whose config.json and tensors contradict each other: each is walked, or refused in a line.

    generated.py QKV [--count N] [--seed S]

Small right models of GPT-2's and LLaMA's kind, with some settings and tensors changed by structure:
missing, of another type, size or rank, at a bound or beyond it. Whatever it is, qkv ends with status 0
or 2 and says in one line what is wrong.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
from harness import qkv  # noqa: E402
from safetensors_file import packed  # noqa: E402

import gpt  # noqa: E402
import llama  # noqa: E402

FAMILIES = [*llama.KINDS, "gpt2"]
VALUES = [None, True, "x", [], {}, 0, -1, 1, 2, 3, 5, 64, 0.5, 1e-320, 1e9, 2**31, 2**63, 2**64, "2"]
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "I64": torch.int64,
         "BOOL": torch.bool, "F8_E4M3": torch.uint8}


def right_model(family):
    """The settings and the tensors of a small model."""
    if family == "gpt2":
        return {"model_type": "gpt2", "n_head": 4, "n_embd": 24, "n_layer": 2, "n_positions": 8,
                "vocab_size": 3, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
                }, gpt.random_weights(2, 24, 3, 8, "in-out", 3)
    config = llama.config_of(family)
    return config, llama.random_weights(config)


def change_settings(config, choose):
    for _ in range(choose.choice([0, 1, 1, 2])):
        key = choose.choice(sorted(config))
        if choose.random() < 0.2:
            del config[key]
        else:
            config[key] = choose.choice(VALUES)


def change_tensors(weights, choose):
    for _ in range(choose.choice([0, 0, 0, 1, 2])):
        name = choose.choice(sorted(weights))
        tensor = torch.atleast_1d(weights.pop(name))
        changes = [lambda: tensor.T if tensor.dim() == 2 else tensor.reshape(1, -1),
                   lambda: tensor.unsqueeze(0), lambda: tensor.flatten(), lambda: tensor[:-1],
                   lambda: tensor[:0], lambda: torch.cat([tensor, tensor]),
                   lambda: tensor * choose.choice([0.0, 1e30, float("nan"), float("inf")]),
                   lambda: tensor.to(choose.choice(list(TYPES.values()))), lambda: tensor.sum()]
        if choose.random() < 0.8:
            other = name if choose.random() < 0.9 else "model." + name
            weights[other] = choose.choice(changes)().contiguous().clone()


def write(path, weights):
    names = {type_: name for name, type_ in TYPES.items()}
    path.write_bytes(packed({name: (names[tensor.dtype], tensor.shape, tensor.numpy().tobytes())
                             for name, tensor in weights.items()}, {"format": "pt"}))


def tried(folder, seed):
    """Makes one model and uses it; returns the command and what is wrong with how it ended, if anything."""
    choose = random.Random(seed)
    family = choose.choice(FAMILIES)
    config, weights = right_model(family)
    change_settings(config, choose)
    change_tensors(weights, choose)
    write(folder / "model.safetensors", weights)
    (folder / "config.json").write_text(json.dumps(config))
    ids = choose.choice(["1,2,0", "1,2,0", "0", "1,1,1,1,1,1", "2,1", "22", "23", "-1", "4294967296"])
    command = choose.choice([["run"], ["run", "--continue", "2"], ["report", "-o", folder / "page.html"],
                             ["export", "-o", folder / "out"], ["run", "--lens"], ["heads"]])
    model = choose.choice([folder, folder / "model.safetensors"])
    words = [*command, "--model", model, "--ids", ids]
    try:
        done = qkv(*words, timeout=60)
    except subprocess.TimeoutExpired:
        return words, "took more than a minute"
    lines = done.stderr.strip().splitlines()
    if done.returncode not in (0, 2):
        return words, f"status {done.returncode}: {done.stderr[-500:]}"
    if done.returncode == 2 and (len(lines) != 1 or not lines[0].startswith("qkv: ")):
        return words, f"{len(lines)} lines: {done.stderr[-500:]}"
    return words, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("qkv", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    qkv.path = options.qkv
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            words, wrong = tried(Path(folder), seed)
        if wrong:
            failures += 1
            print(f"FAILED: --seed {seed} --count 1: {' '.join(map(str, words))}\n  {wrong}")
    print(f"{options.count} models, {failures or 'no'} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
