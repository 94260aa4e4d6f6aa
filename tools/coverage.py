#!/usr/bin/python3
"""Which lines and branches of each room the tests reach, by gcov, as one table.

    coverage.py BUILD_DIRECTORY [--readers | --lines PLACE | --branches PLACE]

BUILD_DIRECTORY is a build with --coverage whose tests, or fuzzers, have run. Branches that only an
exception takes are not counted. --readers is a table of what reads files of strangers. --lines lists
the lines of a room (check) or of files (check/judge) that nothing reaches, --branches those that
never go one of their ways.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What reads bytes that come from a stranger: the room and the file, whichever folder of the room it is in.
READERS = {
    "CSV, TSV and their labels": "formats/csv.cpp formats/table.*",
    "JSON": "formats/json.cpp",
    "`.npy`, `.npz`": "formats/npy.cpp formats/dtype.* formats/npz.cpp",
    "`.safetensors`": "formats/safetensors.cpp",
    "pasted text": "formats/printed_text.cpp",
    "a number, a cell": "formats/numeral.cpp",
    "files of a directory or an archive": "formats/find_files.cpp formats/format.cpp formats/read_file.cpp",
    "a submission": "check/submission.cpp check/step_names.cpp check/layout.* check/interpretation.cpp",
    "a lesson's TOML": "lesson/read.cpp lesson/given.cpp lesson/tables.cpp",
    "a lesson's prose": "lesson/prose.cpp",
    "a cell, `--set`, `--patch`": "trace/cell_reference.cpp lesson/overrides.cpp",
    "config.json": "model/config.*",
    "a model's files, index and tensors": "model/architecture.* model/gpt.cpp model/llama.cpp model/build_recipe.cpp",
    "a tokeniser's files": "tokens/tokenizer_files.cpp model/model.cpp",
    "how a tokeniser cuts": "tokens/bpe.* tokens/pre_tokenizer.*",
    "keys": "interactive/keys.cpp",
}


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


def counted(lines):
    """Lines reached and lines, branches taken and branches."""
    return (sum(times > 0 for times, _ in lines), len(lines),
            sum(sum(taken) for _, taken in lines), sum(len(taken) for _, taken in lines))


def table(found):
    rooms = defaultdict(list)
    for source, lines in found.items():
        for name in (source.parts[0] if len(source.parts) > 1 else "main", "all"):
            rooms[name] += lines.values()
    print(f"{'room':12} {'lines':>7}  {'reached':>7}   {'branches':>8}  {'reached':>7}")
    for name in sorted(rooms, key=lambda name: (name == "all", name)):
        lines_reached, lines, taken, branches = counted(rooms[name])
        print(f"{name:12} {lines:7}  {percent(lines_reached, lines)}   {branches:8}  "
              f"{percent(taken, branches)}")


def readers(found):
    print("| reader | lines | reached | branches | reached |\n|---|---|---|---|---|")
    for name, patterns in READERS.items():
        own = [line for source, lines in found.items() for line in lines.values()
               if any(fnmatch(f"{source.parts[0]}/{source.name}", pattern) for pattern in patterns.split())]
        lines_reached, lines, taken, branches = counted(own)
        print(f"| {name} | {lines} | {percent(lines_reached, lines).strip()} | {branches} | "
              f"{percent(taken, branches).strip()} |")


def unreached(found, place, branches):
    for source in sorted(found):
        if not str(source).startswith(place):
            continue
        text = (ROOT / "src" / source).read_text(encoding="utf-8").splitlines()
        for number, (times, taken) in sorted(found[source].items()):
            if times and not all(taken) if branches else not times:
                print(f"src/{source}:{number}: {text[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=lambda path: Path(path).resolve())
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--readers", action="store_true")
    what.add_argument("--lines", metavar="PLACE")
    what.add_argument("--branches", metavar="PLACE")
    chosen = parser.parse_args()
    found = gathered(chosen.build)
    if not found:
        print("coverage: no test has run in this build, or not with --coverage", file=sys.stderr)
        return 1
    if chosen.lines or chosen.branches:
        unreached(found, chosen.lines or chosen.branches, bool(chosen.branches))
    else:
        (readers if chosen.readers else table)(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
