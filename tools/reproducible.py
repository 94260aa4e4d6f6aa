#!/usr/bin/python3
"""Builds the release twice, in directories of different names and lengths and with different numbers
of jobs, and compares the binaries byte for byte.

    reproducible.py
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = [("a", 1), ("a much longer directory", 3)]


def built(place, jobs):
    """The binary made of a copy of the sources in `place`."""
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for file in filter(None, files):
        if (ROOT / file).is_file():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, place / file)
    quiet = {"cwd": place, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "--preset", "release", "-DQKV_TESTS=OFF"], **quiet)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "qkv", "-j", str(jobs)], **quiet)
    return (place / "build" / "release" / "qkv").read_bytes()


def main():
    made = []
    for name, jobs in PLACES:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / name
            place.mkdir()
            made.append(built(place, jobs))
        print(f"{hashlib.sha256(made[-1]).hexdigest()}  built in a directory named \"{name}\"")
    if made[0] == made[1]:
        print("the same bytes")
        return 0
    differing = sum(x != y for x, y in zip(*made)) + abs(len(made[0]) - len(made[1]))
    print(f"{differing} bytes differ, the first at "
          f"{next((i for i, (x, y) in enumerate(zip(*made)) if x != y), 'the end')}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
