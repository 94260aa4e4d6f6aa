"""Runs the program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, List, NamedTuple, Sequence


class QkvError(ValueError):
    """What qkv refuses, in its own words: an unknown lesson, an array that fits no step, a damaged file."""


class Result(NamedTuple):
    """What a command printed, and its exit status: 0 or 1."""

    status: int
    text: str


def program() -> str:
    """Path of the program: $QKV if that is set, else the one in this package, else the one in PATH."""
    inside = Path(__file__).with_name("bin") / "qkv"
    return os.environ.get("QKV") or (str(inside) if inside.is_file() else "qkv")


def run(*arguments: Any) -> Result:
    """Runs a command. Raises QkvError with the program's message where it exits with status 2."""
    command = [program(), *map(str, arguments), "--color", "never"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise QkvError(f"{command[0]} can't be run: {error.strerror}") from error
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode not in (0, 1):
        said = done.stderr.decode("utf-8", "replace").strip()
        raise QkvError(said or text or f"{command[0]} ended with status {done.returncode}")
    return Result(done.returncode, text)


def options_of(options: dict) -> List[str]:
    """Keyword arguments as options: strict=True is --strict, map=["a=b"] is --map a=b."""
    words: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name in ("ids", "targets") and not isinstance(value, str):
            words += [option, ",".join(str(int(one)) for one in value)]
        elif isinstance(value, (list, tuple)):
            for one in value:
                words += [option, str(one)]
        else:
            words += [option, str(value)]
    return words


def subject(lesson_or_model: Any) -> Sequence[str]:
    """A lesson's name or file as an argument, or a model's file or directory as --model."""
    path = Path(os.fspath(lesson_or_model))
    is_model = path.is_dir() or path.name.endswith((".safetensors", ".safetensors.index.json"))
    return ("--model", str(path)) if is_model else (str(lesson_or_model),)
