#!/usr/bin/python3
"""Runs every command that the course tells people to try, and walks every lesson at 80 columns.

    lesson_commands.py QKV

A command must succeed and say nothing on standard error; no line of a walk may be wider than the
terminal; every lesson but the last must name the one that comes next.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unicodedata

WIDTH = 80


def columns(line):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def run(qkv, words, directory):
    return subprocess.run([qkv, *words], cwd=directory, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "COLUMNS": str(WIDTH)})


def faults_of(qkv, name, following, directory):
    """What is wrong with one lesson, a line each; and how many commands it has."""
    walk = run(qkv, ["run", name, "--no-pause"], directory).stdout
    faults = [f"a line of {columns(line)} columns: {line}"
              for line in walk.splitlines() if columns(line) > WIDTH]
    commands = re.findall(r"^ {6}qkv (.*(?<!\\))$", walk.replace("\\\n", ""), re.M)
    for command in commands:
        done = run(qkv, shlex.split(command), directory)
        if done.returncode != 0 or done.stderr or not done.stdout:
            faults.append(f"qkv {command}: exit {done.returncode}: {done.stderr.strip()}")
    if not 2 <= len(commands):
        faults.append("fewer than two commands to try")
    if f"Next: {following}" not in walk:
        faults.append(f"the end does not name {following}")
    return faults, len(commands)


def main():
    qkv = os.path.abspath(sys.argv[1])
    lessons = [lesson["name"]
               for lesson in json.loads(subprocess.check_output([qkv, "lessons", "--json"]))]
    failed, tried = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for name, following in zip(lessons, lessons[1:] + lessons[:1]):
            faults, count = faults_of(qkv, name, following, directory)
            tried += count
            failed += len(faults)
            for fault in faults:
                print(f"{name}: {fault}")
    print(f"{len(lessons)} lessons, {tried} commands, {failed or 'no'} faults")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
