"""Runs the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np


class QkvError(ValueError, TypeError):
    """What qkv refuses, in one line: an unknown lesson, an array that fits no step, an argument of another kind."""


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Lets SIGTERM end Python by an exception, so that files are removed and the program is ended."""
    is_ours = (threading.current_thread() is threading.main_thread()
               and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)

    def end(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)
    if is_ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Folder:
    """A directory that goes with the object or at the end of Python, without a ResourceWarning."""

    def __init__(self, place: Optional[str] = None):
        self.name = tempfile.mkdtemp(dir=place)
        self.cleanup = weakref.finalize(self, remove, self.name, os.getpid())


def remove(folder: str, owner: int) -> None:
    """Removes a directory, unless this process is only a copy (by fork) of the one that needs it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def kept_files(place: Optional[str] = None) -> Iterator[Folder]:
    """A directory for a verdict's files, which is removed at once if there is none. Messages don't name it."""
    folder = Folder(place)
    try:
        yield folder
    except QkvError as error:
        folder.cleanup()
        raise QkvError(str(error).replace(folder.name + "/", "")) from error.__cause__
    except BaseException:
        folder.cleanup()
        raise


class Result(NamedTuple):
    """What a command printed, its exit status (0 or 1), and what it said beside the result."""

    status: int
    text: str
    messages: str


def program() -> str:
    """Path of the program: $QKV if that is set, else the one in this package, else the one in PATH."""
    inside = Path(__file__).with_name("bin") / "qkv"
    return os.environ.get("QKV") or (str(inside) if inside.is_file() else "qkv")


def run(*arguments: Any) -> Result:
    """Runs a command. Raises QkvError with the program's message where it exits with status 2."""
    command = [program(), *map(str, arguments), "--color", "never"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except (OSError, ValueError) as error:  # no program, or an argument with a NUL
        raise QkvError(f"{command[0]} can't be run: {getattr(error, 'strerror', None) or error}") from error
    text, said = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    if done.returncode not in (0, 1):
        raise QkvError(said.strip() or text or f"{command[0]} ended with status {done.returncode}")
    return Result(done.returncode, text, said)


def options_of(options: dict) -> List[str]:
    """Keyword arguments as options: strict=True is --strict, map=["a=b"] is --map a=b."""
    words: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if name in ("help", "version", "watch"):
            raise QkvError(f"{option} gives no verdict and no arrays, or never ends: write it in a shell")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name in ("ids", "targets") and not isinstance(value, str):
            words += [option, ",".join(str(one) for one in whole_numbers(name, value))]
        elif isinstance(value, Mapping):
            for one, other in value.items():
                words += [option, f"{one}={other}"]
        elif name == "require" and isinstance(value, (list, tuple)):
            words += [option, ",".join(str(one) for one in value)]
        elif isinstance(value, (list, tuple)):
            for one in value:
                words += [option, str(one)]
        else:
            words += [option, str(value)]
    return words


# Options that say what is computed, not how it is judged: `qkv report` has them, too.
OF_SUBJECTS = ("text", "ids", "targets", "set", "patch", "family", "model_heads", "tokenizer", "vocabulary", "continue",
               "memory", "allow_outside_files")


def options_of_subject(options: Mapping[str, Any]) -> List[str]:
    """Those of `options_of` that say what is computed."""
    return options_of({name: value for name, value in options.items() if name.replace("-", "_") in OF_SUBJECTS})


def whole_numbers(name: str, value: Any) -> List[int]:
    """The whole numbers of one sentence: of a list, an array or a tensor of n, or of 1 × n."""
    try:
        numbers = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, NotImplementedError):  # lists of several lengths; a tensor without numbers
        numbers = np.asarray(())
    if numbers.dtype.kind not in "iu" or numbers.size == 0 or numbers.size != max(numbers.shape, default=0):
        raise QkvError(f"{name} are whole numbers, those of one sentence: n of them, or 1 × n")
    return [int(one) for one in numbers.reshape(-1)]


def subject(lesson_or_model: Any) -> Sequence[str]:
    """A lesson's name or file as an argument, or a model's file or directory as --model."""
    if not isinstance(lesson_or_model, (str, os.PathLike)):
        raise QkvError(f"a lesson or a model is a name or a path, not {type(lesson_or_model).__name__}; arrays are a "
                       "dictionary of steps and their arrays")
    if str(lesson_or_model).startswith("-"):  # a name, not an option
        lesson_or_model = f"./{lesson_or_model}"
    path = Path(lesson_or_model)
    is_model = path.is_dir() or path.name.endswith((".safetensors", ".safetensors.index.json"))
    return ("--model", str(path)) if is_model else (str(lesson_or_model),)
