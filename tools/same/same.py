#!/usr/bin/python3
"""Proves that a redesign changed nothing that people see: compares two programs bit for bit.

    same.py OLD NEW [--quick] [--only PART]… [--expect PATTERN]… [--keep DIR]

Both are given the same commands in the same place; the status, both streams and every file that they
write must have the same sha256. Where a change is meant, --expect names the commands that it may show
in: a regular expression that is looked for in the command line.
"""

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import parts
from inputs import Course
from outputs import compared

TOLD = 5  # differences of a part that are told in full


class Tally:
    """What has been compared so far."""

    def __init__(self, expected):
        self.expected = expected
        self.used = set()
        self.counts = Counter()
        self.told = Counter()  # by part
        self.sum = hashlib.sha256()

    def add(self, result):
        self.counts["commands"] += 1
        self.counts["outputs"] += result.count
        self.counts["refused"] += result.refused
        self.sum.update(f"{result.command} {result.digest}\n".encode())
        if not result.differences:
            return
        meant = [pattern for pattern in self.expected if pattern.search(str(result.command))]
        self.used.update(meant)
        self.counts["meant" if meant else "different"] += 1
        if not meant:
            self.tell(result)

    def tell(self, result):
        self.told[result.command.part] += 1
        if self.told[result.command.part] > TOLD:
            return
        print(f"DIFFERENT ({result.command.part}): {result.command}", flush=True)
        for difference in result.differences[:3]:
            print("  " + difference)
        if len(result.differences) > 3:
            print(f"  and {len(result.differences) - 3} outputs more")


def compare_part(part, programs, course, folder, quick, tally):
    """Two commands at a time; the results in the order of the commands."""
    before = Counter(tally.counts)
    started = time.monotonic()
    inputs = folder / "in"
    with ThreadPoolExecutor(2) as pool:
        made = enumerate(parts.commands(part, course, inputs, quick))
        for result in pool.map(lambda each: compared(programs, each[1], inputs,
                                                     folder / f"{part}-{each[0]}"), made):
            tally.add(result)
    if tally.told[part] > TOLD:
        print(f"  and {tally.told[part] - TOLD} commands more")
    count = tally.counts - before
    refused = f", {count['refused']} of them refusals" if count["refused"] else ""
    meant = f", {count['meant']} different as expected" if count["meant"] else ""
    print(f"{part}: {count['commands']} commands{refused}, {count['outputs']} outputs, "
          f"{count['different'] or 'none'} different{meant} ({time.monotonic() - started:.0f} s)",
          flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer commands, under a minute")
    parser.add_argument("--only", action="append", choices=parts.PARTS, metavar="PART",
                        help="only this part (repeatable): " + ", ".join(parts.PARTS))
    parser.add_argument("--expect", action="append", default=[], type=re.compile, metavar="PATTERN",
                        help="commands that may differ (repeatable)")
    parser.add_argument("--keep", type=Path, metavar="DIR",
                        help="leave what the commands read in this new directory")
    return parser.parse_args()


def main():
    given = arguments()
    for program in (given.old, given.new):
        if not program.is_file():
            print(f"same: there is no program {program}", file=sys.stderr)
            return 2
    programs = [given.old.resolve(), given.new.resolve()]
    folder = given.keep or Path(tempfile.mkdtemp(prefix="qkv-same-"))
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "project").symlink_to(parts.ROOT)
    tally = Tally(given.expect)
    try:
        course = Course(programs[0], folder / "in")
        for part in given.only or parts.PARTS:
            compare_part(part, programs, course, folder, given.quick, tally)
    finally:
        if not given.keep:
            shutil.rmtree(folder)
    return concluded(tally)


def concluded(tally):
    for pattern in tally.expected:
        if pattern not in tally.used:
            print(f"--expect {pattern.pattern}: nothing differs there")
    count = tally.counts
    print(f"{count['commands']} commands, {count['outputs']} outputs: "
          f"{count['different'] or 'none'} different"
          f"{', ' + str(count['meant']) + ' as expected' if count['meant'] else ''}; "
          f"the old ones' sha256 is {tally.sum.hexdigest()}")
    return 1 if count["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
