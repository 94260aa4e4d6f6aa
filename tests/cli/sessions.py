#!/usr/bin/python3
"""Runs the examples: each `$ command` of a session must print what stands below it.

    sessions.py QKV [SESSION...]            all of examples/*.session, or those named
    sessions.py QKV --rewrite [SESSION...]  puts what QKV prints into the sessions: read the diff!

A session is a text file:

    # A comment, after a blank line.
    $ qkv explain examples/two-words.toml 'scores[cat,fat]'
    Q (2×4) · Kᵀ (4×2) → scores (2×2)
    ...
    [exit 2]

Standard error comes with standard output. A line of three dots stands for any lines, also for
none. The exit status must be the one in brackets, 0 where there is none. The commands of a session
run one after the other in one temporary directory that has examples/ in it, at 80 columns.
"""

import difflib
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import for_sanitizers

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ANY_LINES = "..."
SECONDS = 30


class Part:
    """A command with the lines above it (comments, blanks) and the lines that it must print."""

    def __init__(self, above, command):
        self.above, self.command, self.due, self.status = above, command, [], 0


def parts_of(text):
    """A session as a list of parts, and the comment lines after the last command."""
    parts, above = [], []
    for before, line in itertools.pairwise(["", *text.splitlines()]):
        ending = re.fullmatch(r"\[exit (\d+)\]", line)
        if line.startswith("$ "):
            parts.append(Part(above, line[2:]))
            above = []
        elif ending and parts:
            parts[-1].status = int(ending.group(1))
        elif not parts or above or (line.startswith("#") and before == ""):
            above.append(line)
        else:
            parts[-1].due.append(line)
    for part in parts:  # blank lines part the commands of a session
        while part.due and not part.due[-1]:
            part.due.pop()
    return parts, above


def environment(program):
    variables = {"PATH": f"{Path(program).resolve().parent}:/usr/bin:/bin", "COLUMNS": "80",
                 "LANG": "C.UTF-8", "HOME": "/nonexistent", "NO_COLOR": "1"}
    return {**variables, **for_sanitizers()}


def run(command, folder, program):
    """What the command prints on both streams, as lines without trailing blank ones; its status."""
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment(program),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    while lines and not lines[-1]:
        lines.pop()
    return lines, done.returncode


def agree(due, got):
    """Whether the lines are those that are due, three dots standing for any."""
    if not due:
        return not got
    if due[0] == ANY_LINES:
        return any(agree(due[1:], got[skipped:]) for skipped in range(len(got) + 1))
    return bool(got) and due[0] == got[0] and agree(due[1:], got[1:])


def complaint(part, got, status):
    """What is wrong, with a diff; empty where nothing is."""
    text = ""
    if not agree(part.due, got):
        text += "\n".join(difflib.unified_diff(part.due, got, "due", "printed", lineterm="")) + "\n"
    if status != part.status:
        text += f"exit status {status}, due is {part.status}\n"
    return text and f"$ {part.command}\n{text}"


def play(session, program):
    """Runs a session. Returns [(part, lines, status)] and the comments after the last one."""
    parts, below = parts_of(session.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLES, Path(folder) / "examples")
        played = [(part, *run(part.command, folder, program)) for part in parts]
    return played, below


def rewritten(played, below):
    blocks = []
    for part, got, status in played:
        # A part that agrees stays as it is, with its dots.
        lines = part.due if agree(part.due, got) else got
        ending = [f"[exit {status}]"] if status else []
        blocks.append("\n".join([*part.above, f"$ {part.command}", *lines, *ending]))
    return "\n\n".join(blocks) + "\n" + "".join("\n" + line for line in below)


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program, *names = arguments
    rewrite = "--rewrite" in names
    sessions = [Path(name) for name in names if name != "--rewrite"]
    sessions = sessions or sorted(EXAMPLES.glob("*.session"))
    failures = 0
    commands = 0
    for session in sessions:
        played, below = play(session, program)
        if rewrite:
            session.write_text(rewritten(played, below), encoding="utf-8")
        for part, got, status in played:
            commands += 1
            wrong = "" if rewrite else complaint(part, got, status)
            if wrong:
                failures += 1
                print(f"{session.name}\n{wrong}")
    if commands == 0:
        print("there is no session to run")
        return 1
    print(f"{commands} commands in {len(sessions)} sessions, {failures or 'no'} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
