#!/usr/bin/python3
"""Has one call of the system after the other fail under qkv: memory, opening, writing, syncing,
renaming, closing.

    inject.py QKV SHIM [--every | --sample N] [--only COMMAND] [--fault KIND:N]

QKV is dynamically linked, SHIM is tests/cli/faults/shim.cpp. In a build with AddressSanitizer, what leaks
is an error, too. Whatever fails, and whenever: either it
shows nowhere (the same output, the same files, the same status), or the status is 2, one line says why,
each file is the older or the newer one whole, and no other is left. Of memory a sample is tried, the
n-th allocation alone and it with all after it; --every tries each.
"""

import argparse
import functools
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from harness import sanitized  # noqa: E402

LESSON = ROOT / "examples" / "two-words.toml"
MANIFEST = "00-lesson.json"  # goes first and comes last
EVERY = 20_000  # new, which tries seed after seed, allocates millions of times
PATIENCE = 60  # seconds
# What an interrupted command says: one line. lint's findings are its results, each with its place.
ONE_LINE = re.compile(r"qkv: [^\n]+\n")
FINDING = re.compile(r"[^\n]+:\d+:\d+: [^\n]+\n")


class Command(NamedTuple):
    """A command line of which {out} is a directory with what an older one left there."""
    name: str
    arguments: list
    older: list = []


def commands(work):
    """`work` has a lesson, its steps and those of another."""
    return [
        Command("run", ["run", LESSON]),
        Command("explain", ["explain", LESSON, "scores[1,1]"]),
        Command("lint", ["lint", LESSON]),
        Command("export", ["export", LESSON, "-o", "{out}"], ["export", work / "other.toml", "-o", "{out}"]),
        Command("npz", ["export", LESSON, "-o", "{out}", "--format", "npz"],
                ["export", work / "other.toml", "-o", "{out}", "--format", "npz"]),
        Command("print", ["export", LESSON, "-o", "-"]),
        Command("check", ["check", LESSON, work / "worked"]),
        Command("check-npz", ["check", LESSON, work / "packed"]),
        Command("compare", ["compare", LESSON, work / "other.toml"]),
        Command("new", ["new", "{out}/new.toml"]),
        Command("worksheet", ["worksheet", LESSON, "-o", "{out}"]),
        Command("report", ["report", LESSON, "-o", "{out}/page.html"],
                ["report", work / "other.toml", "-o", "{out}/page.html"]),
    ]


class Run(NamedTuple):
    """What there is to see of a run."""
    status: int
    printed: bytes
    told: bytes
    files: dict


class Tried(NamedTuple):
    run: Run
    counts: dict


def files_in(folder):
    return {str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*")) if file.is_file() or file.is_symlink()}


class Bench:
    """A program with the shim before it."""

    def __init__(self, program, shim, work):
        self.program, self.shim, self.work = program, shim, work

    @functools.cached_property
    def preloaded(self):
        """What the environment says so that the shim comes first."""
        if not sanitized(self.program):
            return {"LD_PRELOAD": str(self.shim)}
        needed = subprocess.run(["ldd", self.program], check=True, capture_output=True, text=True).stdout
        sanitizer = re.search(r"=> (\S*/libasan\S*)", needed)[1]
        return {"LD_PRELOAD": f"{self.shim} {sanitizer}",
                "ASAN_OPTIONS": "verify_asan_link_order=0:alloc_dealloc_mismatch=0:detect_leaks=1:"
                                "fast_unwind_on_malloc=0",  # whose stacks the suppressions can read
                "LSAN_OPTIONS": f"suppressions={Path(__file__).parent / 'leaks.supp'}:print_suppressions=0"}

    def start(self, arguments, out, fault=None):
        """Runs it in `out`; the calls of each kind come through a file."""
        words = [str(word).replace("{out}", out.name) for word in arguments]
        environment = {"PATH": "/bin", "COLUMNS": "80", **self.preloaded, "QKV_FAULT": fault or "none:0"}
        with tempfile.TemporaryFile() as counted:
            done = subprocess.run([self.program, *words], cwd=out.parent, check=False, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=PATIENCE,
                                  env={**environment, "QKV_COUNTS": str(counted.fileno())},
                                  pass_fds=[counted.fileno()])
            counted.seek(0)
            lines = counted.read().decode().split("\n")[:-1]
        counts = {name: int(count) for name, count in map(str.split, lines)}
        return Tried(Run(done.returncode, done.stdout, done.stderr, files_in(out)), counts)

    def older(self, command, out):
        out.mkdir()
        if command.older:
            assert self.start(command.older, out).run.status == 0, command.name
        return files_in(out)

    def try_fault(self, command, older, fault=None):
        with tempfile.TemporaryDirectory(dir=self.work) as scratch:
            out = Path(scratch) / "out"
            out.mkdir()
            for name, content in older.items():
                (out / name).write_bytes(content)
            return self.start(command.arguments, out, fault)


def complaint(run, sound, older):
    """What is wrong with a run in which something failed, or None."""
    if run == sound:
        return None
    if b"CHECK failed" in run.told and b"pthread_getattr_np" in run.told:
        return None  # the sanitizer had no memory for its own work
    # glibc ends the program without memory to note that a thread's own data is to be destroyed.
    is_of_glibc = b"glibc error: failed to register TLS destructor" in run.told
    if run.status != 2 and not is_of_glibc:
        return f"status {run.status}, and something is different: {run.told[:200]!r}"
    found = FINDING.fullmatch(run.printed.decode()) and not run.told
    if not found and not is_of_glibc and not ONE_LINE.fullmatch(run.told.decode()):
        return f"not one line: {run.told[:300]!r}"
    for name, content in run.files.items():
        if content not in (older.get(name), sound.files.get(name)):
            return f"{name} is neither the older nor the newer"
    lost = set(older) - set(run.files) - {MANIFEST}
    return f"lost: {', '.join(sorted(lost))}" if lost else None


def faults(counts, chosen):
    """The orders for the shim, by how many calls of each kind there are."""
    for kind, count in counts.items():
        places = range(1, count + 1)
        most = EVERY if chosen.every else chosen.sample
        if count > most:
            first = most // 3
            later = random.Random(count).sample(places[first:], most - first)
            places = [*places[:first], *sorted(later)]
        for place in places:
            yield f"{kind}:{place}"
            yield f"{kind}:{place}+"


def judge(bench, command, chosen):
    """Prints what is wrong with a command; how many faults it was given, and how many went wrong."""
    with tempfile.TemporaryDirectory(dir=bench.work) as scratch:
        older = bench.older(command, Path(scratch) / "out")
    sound = bench.try_fault(command, older)
    assert sound.run.status in (0, 1) and sound.counts["alloc"] > 10, (command.name, sound)
    orders = [chosen.fault] if chosen.fault else list(faults(sound.counts, chosen))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda order: bench.try_fault(command, older, order).run, orders)
        wrong = [(order, said) for order, run in zip(orders, runs)
                 if (said := complaint(run, sound.run, older))]
    for order, said in wrong[:20]:
        print(f"FAILED: {command.name} {order}: {said}")
    calls = ", ".join(f"{count} {kind}" for kind, count in sound.counts.items() if count)
    print(f"{command.name}: {len(orders)} faults in {calls}; {len(wrong) or 'none'} went wrong")
    return len(orders), len(wrong)


def prepare(bench):
    """The lesson worked by hand, as files and as one, and another lesson of the same form."""
    text = LESSON.read_text()
    changed = re.sub(r"\[\[1,", "[[2,", text, count=1)
    assert changed != text, "the example has changed: change another number of it"
    (bench.work / "other.toml").write_text(changed)
    for folder, form in (("worked", "csv"), ("packed", "npz")):
        done = bench.start(["export", LESSON, "-o", bench.work / folder, "--format", form], bench.work)
        assert done.run.status == 0, done.run.told


def whatever_fails_is_reported_in_a_line_or_seen_by_none():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=lambda path: Path(path).resolve())
    parser.add_argument("shim", type=lambda path: Path(path).resolve())
    parser.add_argument("--every", action="store_true", help="each call, not a sample")
    parser.add_argument("--sample", type=int, default=24, help="so many calls of each kind")
    parser.add_argument("--only", metavar="COMMAND")
    parser.add_argument("--fault", metavar="KIND:N", help="this one alone")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(chosen.program, chosen.shim, Path(folder))
        prepare(bench)
        totals = [judge(bench, command, chosen) for command in commands(bench.work)
                  if chosen.only in (None, command.name)]
    wrong = sum(bad for _, bad in totals)
    print(f"{sum(count for count, _ in totals)} faults, {wrong or 'none'} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(whatever_fails_is_reported_in_a_line_or_seen_by_none())
