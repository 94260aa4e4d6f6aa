"""One command of two programs, and what of its outputs differs."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 300  # seconds, far more than any command here takes
PLACE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm"}


@dataclass(frozen=True)
class Command:
    """What is typed: in a directory of its own, where `in` leads to what all commands may read."""

    part: str
    words: tuple
    columns: int = 80
    typed: str = ""
    keys: str = ""  # pressed on a terminal of 24 lines

    def __str__(self):
        if self.keys:
            return f"qkv {shlex.join(self.words)} (24×{self.columns}, keys {self.keys!r})"
        width = "" if self.columns == 80 else f"COLUMNS={self.columns} "
        keys = self.typed.replace("\n", "\\n").replace("'", "'\\''")
        typed = f"printf '{keys}' | " if keys else ""
        return f"{typed}{width}qkv {shlex.join(self.words)}"

    def line(self, program):
        """What is run."""
        if not self.keys:
            return [program, *self.words]
        screen = Path(__file__).resolve().parent / "screen.py"
        return [sys.executable, screen, self.keys, "24", str(self.columns), program, *self.words]


def outputs(program, command, inputs, place):
    """All that a command gives, as bytes by name: its status, both streams and every file."""
    place.mkdir(parents=True)
    (place / "in").symlink_to(inputs)
    try:
        done = subprocess.run(command.line(program), input=command.typed.encode(), cwd=place,
                              capture_output=True, check=False, timeout=LIMIT,
                              env={**PLACE, "COLUMNS": str(command.columns)})
        found = {"exit status": str(done.returncode).encode(),
                 "standard output": done.stdout, "standard error": done.stderr}
        for folder, _, names in os.walk(place):  # which does not follow `in`
            for name in names:
                file = Path(folder) / name
                found[str(file.relative_to(place))] = file.read_bytes()
        return found
    finally:
        shutil.rmtree(place)


def shortened(line, at):
    """What stands around one place of a line."""
    start = max(0, at - 60)
    text = line[start:at + 140].decode(errors="backslashreplace")
    return ("…" if start else "") + text.replace("\x1b", "␛") + ("…" if at + 140 < len(line) else "")


def first_difference(old, new):
    """Where two outputs part, in words: by lines, or by bytes where they are no text."""
    at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    if b"\0" in old or b"\0" in new:
        return (f"byte {at} of {len(old)}, now of {len(new)}\n"
                f"    old  {old[at:at + 16].hex(' ') or 'the end'}\n"
                f"    new  {new[at:at + 16].hex(' ') or 'the end'}")
    line = old.count(b"\n", 0, at)
    start = old.rfind(b"\n", 0, at) + 1
    told = [text[start:].split(b"\n", 1)[0] if start < len(text) else None for text in (old, new)]
    shown = ["the end" if line is None else shortened(line, at - start) for line in told]
    return f"line {line + 1}\n    old  {shown[0]}\n    new  {shown[1]}"


@dataclass
class Comparison:
    """What two programs made of one command."""

    command: Command
    count: int = 0
    refused: bool = False
    digest: str = ""
    differences: list = field(default_factory=list)


def compared(programs, command, inputs, place):
    """Runs a command with the old program and the new one, and compares all that they give."""
    old, new = (outputs(program, command, inputs, place / which)
                for program, which in zip(programs, ("old", "new")))
    if command.keys and old["exit status"] != b"0":
        raise RuntimeError(f"{command}: {old['standard error'].decode()}")
    result = Comparison(command, len(old), old["exit status"] == b"2")
    whole = hashlib.sha256()
    for name in sorted(old.keys() | new.keys()):
        if name not in new or name not in old:
            result.differences.append(f"{name}: only the {'old' if name in old else 'new'} one has it")
            continue
        sums = [hashlib.sha256(given[name]).hexdigest() for given in (old, new)]
        whole.update(f"{name} {sums[0]}\n".encode())
        if sums[0] != sums[1]:
            result.differences.append(f"{name}: {first_difference(old[name], new[name])}")
    result.digest = whole.hexdigest()
    return result
