#!/usr/bin/python3
"""Which lines and branches of each room the tests reach, by gcov, as one table.

    coverage.py BUILD_DIRECTORY [--lines ROOM]

BUILD_DIRECTORY is a build with --coverage whose tests have run. Branches that only an exception takes
are not counted. --lines lists the lines of a room that nothing reaches.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def seen_by(notes):
    """What gcov knows of one object file: (source, line, times, [branches taken]) of each line."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcov", "--json-format", "--branch-probabilities", notes], cwd=folder,
                       check=True, capture_output=True)
        for made in Path(folder).glob("*.gcov.json.gz"):
            with gzip.open(made) as file:
                said = json.load(file)
            for source in said["files"]:
                path = (Path(said["current_working_directory"]) / source["file"]).resolve()
                if not path.is_relative_to(ROOT / "src"):
                    continue
                for line in source["lines"]:
                    taken = [b["count"] > 0 for b in line["branches"] if not b["throw"]]
                    yield path.relative_to(ROOT / "src"), line["line_number"], line["count"], taken


def gathered(build):
    """Source → line → [times, branches taken]: a header's, or a template's, of whoever reached most."""
    found = defaultdict(dict)
    if not any((build / "src").rglob("*.gcda")):
        return found
    notes = sorted((build / "src").rglob("*.gcno"))  # what no test has reached is there, too
    with ThreadPoolExecutor() as pool:
        for rows in pool.map(lambda note: list(seen_by(note)), notes):
            for source, number, times, taken in rows:
                before = found[source].setdefault(number, [0, []])
                before[0] += times
                if len(taken) > len(before[1]) or sum(taken) > sum(before[1]):
                    before[1] = taken
    return found


def percent(reached, there):
    return f"{100 * reached / there:5.1f} %" if there else "      –"


def table(found):
    rooms = defaultdict(lambda: [0, 0, 0, 0])
    for source, lines in found.items():
        for name in (source.parts[0] if len(source.parts) > 1 else "main", "all"):
            room = rooms[name]
            for times, taken in lines.values():
                room[0] += times > 0
                room[1] += 1
                room[2] += sum(taken)
                room[3] += len(taken)
    print(f"{'room':12} {'lines':>7}  {'reached':>7}   {'branches':>8}  {'reached':>7}")
    for name in sorted(rooms, key=lambda name: (name == "all", name)):
        lines_reached, lines, taken, branches = rooms[name]
        print(f"{name:12} {lines:7}  {percent(lines_reached, lines)}   {branches:8}  "
              f"{percent(taken, branches)}")


def unreached(found, room):
    for source in sorted(found):
        if source.parts[0] != room:
            continue
        text = (ROOT / "src" / source).read_text(encoding="utf-8").splitlines()
        for number, (times, _) in sorted(found[source].items()):
            if not times:
                print(f"src/{source}:{number}: {text[number - 1].strip()}")


def main(words):
    if len(words) not in (1, 3) or len(words) == 3 and words[1] != "--lines":
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    found = gathered(Path(words[0]).resolve())
    if not found:
        print("coverage: no test has run in this build, or not with --coverage", file=sys.stderr)
        return 1
    if len(words) == 3:
        unreached(found, words[2])
    else:
        table(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
