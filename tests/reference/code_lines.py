#!/usr/bin/python3
"""The lines of NumPy and PyTorch that `qkv run --code` prints, run one after the other.

    code_lines.py QKV [LESSON...]

Each lesson's lines start from its givens alone, and each line goes on from the results of the lines
before it. Every result must be the exported one. Without lessons: those of the course, those of
tests/data/lessons/good, and models of each family with random weights.
"""

import json
import keyword
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "tests/models")]
from harness import qkv  # noqa: E402

import gpt  # noqa: E402
import llama  # noqa: E402

TOLERANCE = 1e-9  # of the largest finite magnitude of a matrix
IDS = "3,18,0,3,11,7,22"
RESERVED = """
[[given]]
name = "lambda"
value = [[1, 2], [3, 4]]
[[step]]
name = "np"
op = "softmax"
of = "lambda"
[[step]]
name = "in"
op = "matmul"
of = ["np", "lambda"]
[[given]]
name = "M"
value = [[1, 0], [1, 0]]
[[step]]
name = "hidden"
op = "mask"
kind = "given"
of = ["in", "M"]
[[step]]
name = "down"
op = "softmax"
axis = "columns"
of = "hidden"
"""
STEP = re.compile(r"^(\d+)/\d+  (\S+)")
LINE = re.compile(r"^ {6}(NumPy  |PyTorch|       )  (\S.*)$")


def identifier(name):
    name = name.replace(".", "_")
    return name + "_" if keyword.iskeyword(name) or name in ("np", "torch", "math") else name


def printed_lines(*lesson):
    """(step, library) -> line"""
    lines, step, library = {}, None, None
    text = qkv.printed("run", *lesson, "--no-pause", "--code", "--color", "never")
    for row in text.splitlines():
        if found := STEP.match(row):
            step = found[2]
        found = LINE.match(row)
        if found and (library := found[1].strip() or library):
            lines[step, library] = "; ".join(filter(None, [lines.get((step, library)), found[2]]))
        else:
            library = None
    return lines


def exported_arrays(folder, *lesson):
    qkv.printed("export", *lesson, "--format", "npz", "-o", folder)
    listing = json.loads((folder / "00-lesson.json").read_text())
    with np.load(next(folder.glob("*.npz"))) as file:
        arrays = {name: np.asarray(file[name], dtype=float) for name in file.files}
    names = [[one["name"] for one in listing[kind]] for kind in ("givens", "steps")]
    return *names, arrays


def as_array(value, shape):
    array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    assert array.shape == shape, f"has the shape {array.shape}, not {shape}"
    return array.astype(float)


def differs(got, due):
    finite = np.abs(due[np.isfinite(due)])
    allowed = TOLERANCE * (finite.max() if finite.size else 1)
    with np.errstate(invalid="ignore"):
        same = (got == due) | (np.abs(got - due) <= allowed) | (np.isnan(got) & np.isnan(due))
    return not same.all()


def faults_of(library, givens, steps, arrays, lines):
    def own(name):
        return torch.from_numpy(arrays[name].copy()) if library == "PyTorch" else arrays[name]

    scope = {"np": np, "torch": torch}
    scope.update((identifier(name), own(name)) for name in givens)
    for step in steps:
        line = lines.get((step, library))
        if line is None:
            yield f"{step}: no line"
            continue
        try:
            with np.errstate(all="ignore"):
                exec(line, scope)  # noqa: S102
            if line.startswith("#"):
                scope[identifier(step)] = own(step)
            if differs(as_array(scope[identifier(step)], arrays[step].shape), arrays[step]):
                yield f"{step}: other numbers: {line}"
        except Exception as error:  # noqa: BLE001
            yield f"{step}: {type(error).__name__}: {error}: {line}"
        scope[identifier(step)] = own(step) if step not in scope else scope[identifier(step)]


def check(name, *lesson):
    with tempfile.TemporaryDirectory() as folder:
        givens, steps, arrays = exported_arrays(Path(folder), *lesson)
    lines = printed_lines(*lesson)
    faults = [f"{name}: {library}: {fault}" for library in ("NumPy", "PyTorch")
              for fault in faults_of(library, givens, steps, arrays, lines)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return len(steps), len(faults)


def models(folder):
    """A model of each family: its name, and what names it on a command line."""
    for family in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2"):
        path = folder / family
        path.mkdir()
        config = llama.config_of(family)
        llama.write(path, config, llama.random_weights(config))
        yield family, ("--model", path, "--ids", IDS)
    path = folder / "gpt.safetensors"
    weights = gpt.random_weights(2, 16, 23, 12, "out-in", 5, tied=False, spread=0.2)
    gpt.write_safetensors(path, weights, {"n_head": "2"}, "F64")
    yield "mingpt", ("--model", path, "--family", "mingpt", "--ids", IDS)


def main(program, *lessons):
    qkv.path = str(Path(program).resolve())
    counts = [check(lesson, lesson) for lesson in lessons]
    if not lessons:
        course = json.loads(qkv.printed("lessons", "--json"))
        course = course["lessons"] if isinstance(course, dict) else course
        counts = [check(one["name"], one["name"]) for one in course]
        good = sorted((ROOT / "tests" / "data" / "lessons" / "good").glob("*.toml"))
        counts += [check(path.name, path) for path in good]
        with tempfile.TemporaryDirectory() as folder:
            reserved = Path(folder) / "reserved.toml"
            reserved.write_text(RESERVED)
            counts += [check("reserved words", reserved)]
            counts += [check(name, *named) for name, named in models(Path(folder))]
    steps, faults = (sum(column) for column in zip(*counts))
    print(f"{len(counts)} lessons and models, {steps} steps, {faults} faults")
    return 1 if faults or not steps else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
