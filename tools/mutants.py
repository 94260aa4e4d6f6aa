#!/usr/bin/python3
"""Changes one operator or constant of the sources at a time and sees whether a test notices.

    mutants.py [--seconds N] [--seed S] [--limit N] [--again] [FILE...]

FILE is a source such as src/check/judge/judge.cpp; all of src/check, src/ops and src/trace without. It works in a copy
(build/mutants), builds the tests there and runs those that the room has below, and remembers in
build/mutants/results.jsonl what it has tried: the next run goes on from there. Who survives is listed
with its line: either a test is missing, or the change makes no difference.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from sizes import without_comments

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "mutants"
TREE, BUILD, RESULTS = HOME / "tree", HOME / "build", HOME / "results.jsonl"
PATIENCE = 120  # seconds for the tests of a mutant, many times what they take

# Which tests look at a room, or at a folder of it: the longest name that fits counts. The unit tests in
# tests/unit/ROOM come first, then what is here, quick ones first: tests of the program by name, and
# unit tests that take longer than all others of their room.
class Tests(NamedTuple):
    program: tuple
    slow_units: tuple = ()


JUDGED = Tests(("exact", "layouts", "habits", "submission_formats", "corpus"))
TESTS = {"check": Tests((*JUDGED.program, "marks", "compare", "compare_precision", "planted"),
                        ("whoever makes a known mistake is told so",)),
         "check/intake": JUDGED, "check/judge": JUDGED, "check/tolerance": JUDGED,
         "ops": Tests(("exact", "corpus", "lesson_commands", "reference"),
                      ("the interval of a step is at most 1.5 times as wide as its true range",)),
         "trace": Tests(("exact", "lesson_commands", "reference", "generated_shapes"))}
SLOW_UNITS = [name for tests in TESTS.values() for name in tests.slow_units]

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
# clang-format puts blanks around a binary operator, and none in a template's brackets.
OPERATOR = re.compile(r"(?<= )(" + "|".join(re.escape(o) for o in sorted(SWAPS, key=len)[::-1]) + r")(?= )")
CONSTANT = re.compile(r"(?<![\w.\"'])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.'])")
WORD = re.compile(r"\b(true|false)\b|(?<=[(\s])(!)(?=\w)")


class Mutant(NamedTuple):
    file: str
    at: int
    before: str
    after: str

    def key(self, text):
        """The same for the same change of the same line, wherever it stands."""
        line = text.count("\n", 0, self.at)
        column = self.at - text.rfind("\n", 0, self.at)
        return f"{self.file}|{text.splitlines()[line].strip()}|{column}|{self.before}|{self.after}"


def mutants_of(file, text):
    """All changes that one source can take."""
    code = re.sub(r"(?m)^[ \t]*#.*$", lambda m: " " * len(m[0]), without_comments(text))
    for found in OPERATOR.finditer(code):
        yield Mutant(file, found.start(), found[0], SWAPS[found[0]])
    for found in CONSTANT.finditer(code):
        number = found[0]
        more = str(int(number) + 1) if number.isdigit() else str(float(number) * 2)
        yield Mutant(file, found.start(), number, more)
    for found in WORD.finditer(code):
        after = {"true": "false", "false": "true", "!": ""}[found[0]]
        yield Mutant(file, found.start(), found[0], after)


def run(*words, timeout=None, **options):
    """Whether a command succeeds; one that takes too long is ended with all that it began."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, **options)
    try:
        return process.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def prepare():
    """The copy as the sources are now, built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for file in filter(None, listed.stdout.decode().split("\0")):
        source, copy = ROOT / file, TREE / file
        if source.is_file() and (not copy.is_file() or copy.read_bytes() != source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    if not (BUILD / "build.ninja").is_file():
        linker = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"] if shutil.which("ld.lld") else []
        run("cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g0 -D_GLIBCXX_ASSERTIONS", *linker)
    print("building the copy…", file=sys.stderr)
    if not build("qkv", "qkv_tests"):
        sys.exit("mutants: the copy does not build: cmake --build build/mutants/build")


def build(*targets):
    return run("cmake", "--build", BUILD, "--target", *targets)


def units_pass(spec):
    return run(BUILD / "tests" / "qkv_tests", "-a", "-#", spec, timeout=PATIENCE)


def tests_of(file):
    return TESTS[max((name for name in TESTS if file.startswith(f"src/{name}/")), key=len)]


def quick_units_pass(file):
    names = sorted(path.stem for path in (TREE / "tests" / "unit" / file.split("/")[1]).glob("*.cpp"))
    slow = "".join(f'~"{name}"' for name in SLOW_UNITS)
    return units_pass(",".join(f"[#{name}]{slow}" for name in names))  # Catch's tags of the files' names


def tests_pass(file):
    """Whether all tests that look at a source pass, the quickest first."""
    tests = tests_of(file)
    programs = [test for test in tests.program if test.startswith("generated_")]
    return (quick_units_pass(file) and build("qkv", *programs)
            and all(run("ctest", "-R", f"^{test}$", cwd=BUILD, timeout=PATIENCE) for test in tests.program)
            and all(units_pass(f'"{name}"') for name in tests.slow_units))


def try_one(mutant, text, passes):
    """What becomes of a mutant: "no program", "noticed" or "survived"."""
    path = TREE / mutant.file
    end = mutant.at + len(mutant.before)
    path.write_text(text[:mutant.at] + mutant.after + text[end:])
    try:
        if not build("qkv_tests"):
            return "no program"
        return "survived" if passes(mutant.file) else "noticed"
    finally:
        path.write_text(text)


def tried():
    lines = RESULTS.read_text().splitlines() if RESULTS.is_file() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def told(mutant, text, result):
    line = text.count("\n", 0, mutant.at) + 1
    change = f"{mutant.before} → {mutant.after or 'nothing'}"
    return f"{mutant.file}:{line}: {change}: {result}: {text.splitlines()[line - 1].strip()}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=10**9, help="so many mutants of each file")
    parser.add_argument("--again", action="store_true", help="only what has survived before, with the unit tests alone")
    chosen = parser.parse_args()
    chosen.files = chosen.files or sorted(
        str(file.relative_to(ROOT)) for room in {name.split("/")[0] for name in TESTS}
        for file in (ROOT / "src" / room).rglob("*.cpp"))
    for file in chosen.files:
        if not (ROOT / file).is_file():
            parser.error(f"there is no {file}: name a source, such as src/check/judge/judge.cpp")
    return chosen


def main():
    chosen = arguments()
    HOME.mkdir(parents=True, exist_ok=True)
    prepare()
    for file in {tests_of(file): file for file in chosen.files}.values():
        if not tests_pass(file):
            sys.exit(f"mutants: the tests of {file} fail before anything is changed")
    texts = {file: (ROOT / file).read_text() for file in chosen.files}
    shuffled = random.Random(chosen.seed)
    todo, known, counts = [], tried(), {}
    for file, text in texts.items():
        found = [mutant for mutant in mutants_of(file, text) if not chosen.again
                 or known.get(mutant.key(text), {}).get("result") == "survived"]
        todo += shuffled.sample(found, min(chosen.limit, len(found)))
    shuffled.shuffle(todo)
    until = time.monotonic() + chosen.seconds
    for mutant in todo:
        text = texts[mutant.file]
        entry = known.get(mutant.key(text))
        if entry is None or chosen.again:
            if time.monotonic() > until:
                counts["left"] = counts.get("left", 0) + 1
                continue
            passes = tests_pass if entry is None else quick_units_pass
            entry = {"key": mutant.key(text), "result": try_one(mutant, text, passes)}
            with open(RESULTS, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        counts[entry["result"]] = counts.get(entry["result"], 0) + 1
        if entry["result"] == "survived":
            print(told(mutant, text, "survived"), flush=True)
    print(f"{len(todo)} mutants:", ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
