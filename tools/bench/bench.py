"""Compares qkv with its peers, whole process against whole process.

Each round of a row runs ours and every peer in turn; what the table says are medians, and the ratio
is taken round by round. "× (whole)" is how many times as long the peer's process takes as ours;
"× (work)" is the peer's work alone, without starting Python and importing, over our whole process;
"× (cpu)" compares processor time in user mode, which other programs on the machine disturb least.
Nothing is subtracted from ours.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import grouped
import machine
import rows
import table
from measuring import interleaved


def asked():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0])
    parser.add_argument("qkv", type=lambda path: str(pathlib.Path(path).resolve()),
                        help=argparse.SUPPRESS)
    parser.add_argument("names", metavar="NAME", nargs="*", help="rows with this in their name")
    parser.add_argument("--quick", action="store_true", help="small rows only, two rounds of each")
    parser.add_argument("--json", action="store_true", help="print a record instead of a table")
    return parser, parser.parse_intermixed_args()


def wanted_rows(parser, options, scratch):
    groups = [*rows.GROUPS, grouped.grouped]
    everything = [row for group in groups for row in group(options.qkv, scratch)
                  if row.quick or not options.quick]
    for name in options.names:
        if not any(name in row.name for row in everything):
            parser.error(f"no row has '{name}' in its name; they are: "
                         + "; ".join(dict.fromkeys(row.name for row in everything)))
    return [row for row in everything
            if not options.names or any(name in row.name for name in options.names)]


def main():
    parser, options = asked()
    entries = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        scratch = pathlib.Path(directory)
        chosen = wanted_rows(parser, options, scratch)
        about = machine.description(options.qkv)
        limits = machine.Limits(scratch)
        for row in chosen:
            print(f"  {row.name} {row.size}, {row.threads} thread(s)", file=sys.stderr, flush=True)
            for prepare in row.prepare:
                prepare()
            contestants = [("ours", row.ours, row.environment()), *row.peers]
            runs, peaks = interleaved(contestants, 2 if options.quick else row.rounds, row.written)
            entries.append(table.figures(row, runs, peaks, limits.seconds(row.need, row.threads)))
    record = {"machine": about, "limits": limits.known, "rows": entries,
              "exponents": table.exponents(entries)}
    if options.json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    print(", ".join(f"{key} {value}" for key, value in about.items()) + "\n")
    print(table.text(entries))
    for name, slope in record["exponents"].items():
        print(f"\n{name} grows like n^{slope:.2f} (the last two doublings)")


main()
