"""Compares qkv with its peers: each row runs ours and the peer in turn, and prints the ratio.

Usage: bench.py QKV [NAME]...   A figure never stands without its peer's beside it.
"""

import os
import statistics
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"
ROUNDS = 25

# name: (ours, peer, the ratio that we mean to stay below)
ROWS = {
    "start-up: help": (["QKV"], [PYTHON, "-c", "pass"], 0.2),
    "start-up: the first lesson whole": (
        ["QKV", "run", "the-fat-cat"],
        [PYTHON, "-c", "import numpy"],
        0.05,
    ),
}


def milliseconds(command):
    """Wall time of one whole process, its output read through a pipe."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return (time.perf_counter() - start) * 1000


def measure(ours, peer):
    """The times of both, interleaved, so that a slow moment of the machine hits both."""
    times = ([], [])
    for command in (ours, peer):
        milliseconds(command)
    for _ in range(ROUNDS):
        for command, results in zip((ours, peer), times):
            results.append(milliseconds(command))
    return times


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def main():
    qkv, wanted = sys.argv[1], sys.argv[2:]
    print(machine())
    print(f"{'work':36} {'ours ms':>9} {'peer ms':>9} {'ratio':>7} {'spread':>15} {'goal':>7}")
    for name, (ours, peer, goal) in ROWS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        ours = [qkv if word == "QKV" else word for word in ours]
        mine, theirs = measure(ours, peer)
        ratios = [a / b for a, b in zip(mine, theirs)]
        spread = f"{min(ratios):.3f}–{max(ratios):.3f}"
        print(
            f"{name:36} {statistics.median(mine):9.2f} {statistics.median(theirs):9.2f} "
            f"{statistics.median(ratios):7.3f} {spread:>15} {'≤ ' + str(goal):>7}"
        )


main()
