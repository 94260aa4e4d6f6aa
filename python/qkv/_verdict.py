"""What the program says of a program's arrays."""

from __future__ import annotations

import html
import json
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _arrays
from ._program import (Folder, QkvError, ended_by_signals, kept_files, options_of, options_of_subject, run,
                       subject)

Arrays = Mapping[str, Any]
Side = Union[str, Path, Arrays]


class Verdict:
    """The verdict on some arrays: true if nothing is wrong or undecided. `str` is the report.

    Attributes:
        json: what the command printed with --json (its schema is schemas/check.schema.json or compare.schema.json).
        verdict: "correct", "wrong", "undecided" or "incomplete" of `check`; "same" or "different" of `compare`.
        first_wrong: the first step, in the lesson's order, that is wrong; None if there is none.
        mistakes: the mistakes that make the first wrong step's numbers, best first; each has "id" and "says".
    """

    def __init__(self, command: Sequence[str], folder: Folder, page_of: Sequence[str] = (),
                 hint: str = "", note: str = ""):
        done = run(*command, "--json")
        try:
            self.json: Dict[str, Any] = json.loads(done.text.replace(folder.name + "/", ""))
        except json.JSONDecodeError as error:
            raise QkvError("these options ask the program for something else than a verdict") from error
        self._is_right = done.status == 0
        self._command = command
        self._folder = folder  # its files go with the verdict; the report is made of them when it is asked for
        self._text: Optional[str] = None
        self._page_of = page_of
        self._note = note  # what the report has to say beside the program's own
        self._hint = hint  # what to say where another activation function was taken

    def add_note(self, note: str) -> None:
        """Adds a line to what the report says beside the program's own words."""
        self._note += note

    def __bool__(self) -> bool:
        return self._is_right

    @ended_by_signals()
    def __str__(self) -> str:
        if self._text is None:
            done = run(*self._command)
            said = (done.text + done.messages).replace(self._folder.name + "/", "")
            lines = said.splitlines(keepends=True)
            self._text = "".join(line for line in lines if not line.startswith("Cell by cell: ")) + self._note
            if any(mistake["id"] == "activation.other" for mistake in self.mistakes):
                self._text += self._hint
        return self._text

    def __repr__(self) -> str:
        wrong = f", first_wrong={self.first_wrong!r}" if self.first_wrong else ""
        return f"<qkv.Verdict {self.verdict}{wrong}>"

    @property
    def verdict(self) -> str:
        return self.json.get("verdict") or ("same" if self.json["same"] else "different")

    @property
    def first_wrong(self) -> Optional[str]:
        return self.json.get("first_wrong", self.json.get("first"))

    @property
    def mistakes(self) -> List[Dict[str, Any]]:
        for step in self.json["steps"]:
            if step["step"] == self.first_wrong:
                return step.get("mistakes", [])
        return []

    @ended_by_signals()
    def _repr_html_(self) -> str:
        """The report, and the page of the first wrong step as it should be, for a notebook."""
        shown = f"<pre>{html.escape(str(self))}</pre>"
        if not self.first_wrong or not self._page_of:
            return shown
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            try:
                run("report", *self._page_of, "--step", self.first_wrong, "-o", page)
            except QkvError:  # a step too large for a page
                return shown
            frame = html.escape(page.read_text(encoding="utf-8"), quote=True)
        return f'{shown}<iframe srcdoc="{frame}" style="width: 100%; height: 30em; border: 0"></iframe>'


@ended_by_signals()
def trace(lesson_or_model: Union[str, Path], **options: Any) -> Dict[str, np.ndarray]:
    """Every matrix of a lesson or a model, computed in double precision: its givens and its steps, by name.

    Args:
        lesson_or_model: a lesson's name or file; a model's .safetensors file or directory.
        options: options of `qkv export`, such as text="the cat sat", ids=[1, 4, 3], targets="next".

    Returns:
        float64 arrays; of heads the first axis is the head. Raises QkvError for what qkv refuses.
    """
    with tempfile.TemporaryDirectory() as folder:
        run("export", *subject(lesson_or_model), *options_of(options), "--format", "npz", "-o", folder, "--no-sync")
        return _arrays.read(Path(folder) / "lesson.npz")


@ended_by_signals()
def check(lesson_or_model: Union[str, Path], arrays: Arrays, **options: Any) -> Verdict:
    """Judges arrays against a lesson or a model, each from the program's own arrays before it.

    Args:
        lesson_or_model: as for `trace`.
        arrays: a dictionary of steps and their tensors (PyTorch, JAX, NumPy); any subset of the steps. The names
            may be qkv's, or those of a known scheme.
        options: options of `qkv check` (strict=True, ids=[…], text="…", …).

    Returns:
        A Verdict, true if nothing is wrong or undecided. Raises QkvError if nothing fits.
    """
    with kept_files() as folder:
        file = Path(folder.name) / "arrays.safetensors"
        _arrays.write(file, arrays)
        about = subject(lesson_or_model)
        return Verdict(["check", *about, *options_of(options), str(file)], folder,
                       [*about, *options_of_subject(options)])


@ended_by_signals()
def compare(actual: Side, desired: Side, **options: Any) -> Verdict:
    """Compares two lessons, models, files of arrays or dictionaries of arrays, step by step.

    Args:
        actual, desired: a lesson's name or file, a model's, a file or directory of arrays, or a dictionary.
        options: options of `qkv compare` (rtol=1e-4, atol=0, map=["theirs=ours"], names="gpt2", ids=[…], batch=1, …).

    Returns:
        A Verdict, true if all are the same within the tolerance. Raises QkvError if nothing is compared.
    """
    words: List[str] = []
    page_of: List[str] = []
    with kept_files() as folder:
        for name, side in (("actual", actual), ("desired", desired)):
            if isinstance(side, Mapping):
                file = Path(folder.name) / f"{name}.safetensors"
                _arrays.write(file, side)
                words.append(str(file))
            else:
                of_side = subject(side)
                page_of = [*of_side, *options_of_subject(options)]
                words += of_side[-1:] if Path(side).is_dir() and not is_model(side) else of_side
        return Verdict(["compare", *words, *options_of(options)], folder, page_of)


def is_model(path: Union[str, Path]) -> bool:
    """Whether a directory holds a model's weights, not arrays."""
    names = {entry.name for entry in Path(path).iterdir()}
    return "config.json" in names or "model.safetensors.index.json" in names or "model.safetensors" in names


def assert_right(subject_of: Any, arrays: Optional[Arrays] = None, **options: Any) -> Verdict:
    """Raises AssertionError with the report unless all is right: for tests.

    Args:
        subject_of: a lesson or model as for `check`, with `arrays`; or a PyTorch module as for `verify`, with ids.
        arrays, options: as for `check` or `verify`.

    Returns:
        The Verdict, if it is right.
    """
    from ._torch import verify
    if arrays is None and "ids" not in options:
        raise QkvError("this needs arrays, as check does, or a PyTorch module and ids=[…], as verify does")
    verdict = check(subject_of, arrays, **options) if arrays is not None else verify(subject_of, **options)
    if not verdict:
        raise AssertionError(f"{verdict!r}\n{verdict}")
    return verdict
