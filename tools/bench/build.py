#!/usr/bin/python3
"""Measures what a clean build costs, as a multiple of one reference compile on the same machine.

    build.py [--quick]

Builds the release preset in a temporary directory: first qkv, then everything else (--quick: only qkv).
Prints the processor seconds (user and system) of all compilers and linkers, the same as a multiple of
the reference compile, and the time that passed. The configuration of the build is not counted.
"""

import argparse
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
    """Returns the processor seconds of the reference compile: the best of three."""
    source = folder / "reference.cpp"
    source.write_text(REFERENCE)
    command = ["g++", "-std=c++20", "-O1", "-c", source, "-o", folder / "reference.o"]
    return min(measured(*command)[0] for _ in range(3))


def row(name, processor, passed, reference):
    minutes, seconds = divmod(round(passed), 60)
    print(f"{name:16} {processor:9.1f} {processor / reference:9.1f} {minutes:5} min {seconds:2} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="build only qkv, not the tests")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(prefix="qkv-build-") as folder:
        reference = reference_seconds(Path(folder))
        build = Path(folder) / "build"
        measured("cmake", "--preset", "release", "-B", build, cwd=ROOT)
        print(f"one reference compile: {reference:.1f} processor seconds\n")
        print(f"{'built':16} {'seconds':>9} {'multiple':>9} {'passed':>14}", flush=True)
        own, own_passed = measured("ninja", "-C", build, "qkv")
        row("qkv", own, own_passed, reference)
        if not quick:
            rest, rest_passed = measured("ninja", "-C", build)
            row("the rest", rest, rest_passed, reference)
            row("all", own + rest, own_passed + rest_passed, reference)
    return 0


if __name__ == "__main__":
    sys.exit(main())
