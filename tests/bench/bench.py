"""Compares qkv with its peers, whole process against whole process.

Usage: bench.py QKV [--quick] [--json] [NAME]…

NAME picks rows by a part of their name. Each round of a row runs ours and every peer in turn; what
the table says are medians, and the ratio is taken round by round. "× (whole)" is how many times as
long the peer's process takes as ours; "× (work)" is the peer's work alone, without starting Python
and importing, over our whole process; "× (cpu)" compares processor time in user mode, which other
programs on the machine disturb least. Nothing is subtracted from ours.
"""

import json
import pathlib
import sys
import tempfile

import machine
import rows
import table
from measuring import interleaved


def main():
    qkv, *words = sys.argv[1:]
    qkv = str(pathlib.Path(qkv).resolve())
    quick, as_json = "--quick" in words, "--json" in words
    wanted = [word for word in words if not word.startswith("--")]
    about = machine.description(qkv)
    entries = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        scratch = pathlib.Path(directory)
        limits = machine.Limits(scratch)
        for row in (row for group in rows.GROUPS for row in group(qkv, scratch)):
            if (quick and not row.quick) or (wanted and not any(w in row.name for w in wanted)):
                continue
            print(f"  {row.name} {row.size}, {row.threads} thread(s)", file=sys.stderr, flush=True)
            for prepare in row.prepare:
                prepare()
            contestants = [("ours", row.ours, row.environment()), *row.peers]
            runs, peaks = interleaved(contestants, 2 if quick else row.rounds, row.written)
            entries.append(table.figures(row, runs, peaks, limits.seconds(row.need, row.threads)))
    record = {"machine": about, "limits": limits.known, "rows": entries,
              "exponents": table.exponents(entries)}
    if as_json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    print(", ".join(f"{key} {value}" for key, value in about.items()) + "\n")
    print(table.text(entries))
    for name, slope in record["exponents"].items():
        print(f"\n{name} grows like n^{slope:.2f} (the last two doublings)")


main()
