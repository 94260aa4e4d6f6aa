#!/usr/bin/python3
"""Measures what a clean build costs, as a multiple of one reference compile on the same machine.

    build.py [--quick]

Builds the release preset in a temporary directory: first qkv, then everything else (--quick: only qkv).
Prints the processor seconds (user and system) of all compilers and linkers, the same as a multiple of
the reference compile, and the time that passed. The configuration of the build is not counted.

A busy machine slows all processors. So the reference is compiled before and after the build, each time
by as many compilers at once as the build uses, and the mean counts.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A file that many of ours are like: it takes its time for one library's header.
REFERENCE = """#include <nlohmann/json.hpp>

std::string again(const std::string& text) { return nlohmann::json::parse(text).dump(); }
"""


def measured(*command, **options):
    """Runs a command and returns the processor seconds of all that it starts, and the seconds passed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    after, passed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
    if done.returncode != 0:
        sys.exit(f"build: {' '.join(map(str, command))}:\n{done.stdout[-4000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, passed


def reference_seconds(folder):
    """Returns the mean processor seconds of a reference compile, on each processor at once."""
    source = folder / "reference.cpp"
    source.write_text(REFERENCE)
    jobs = len(os.sched_getaffinity(0))
    command = (f"seq {3 * jobs} | xargs -P {jobs} -I {{}} "
               f"g++ -std=c++20 -O1 -c {source} -o {folder}/reference-{{}}.o")
    return measured("sh", "-c", command)[0] / (3 * jobs)


def row(name, processor, passed, reference):
    """Prints a line of the table."""
    minutes, seconds = divmod(round(passed), 60)
    print(f"{name:16} {processor:9.1f} {processor / reference:9.1f} {minutes:5} min {seconds:2} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="build only qkv, not the tests")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(prefix="qkv-build-") as folder:
        before = reference_seconds(Path(folder))
        build = Path(folder) / "build"
        measured("cmake", "--preset", "release", "-B", build, cwd=ROOT)
        own, own_passed = measured("ninja", "-C", build, "qkv")
        after = reference_seconds(Path(folder))
        reference = (before + after) / 2
        print(f"one reference compile: {before:.1f} processor seconds before, {after:.1f} after\n")
        print(f"{'built':16} {'seconds':>9} {'multiple':>9} {'passed':>14}", flush=True)
        row("qkv", own, own_passed, reference)
        if not quick:
            rest, rest_passed = measured("ninja", "-C", build)
            row("the rest", rest, rest_passed, reference)
            row("all", own + rest, own_passed + rest_passed, reference)
    return 0


if __name__ == "__main__":
    sys.exit(main())
