"""Runs the fuzzers: fuzz.py BUILD [NAME…] [SECONDS] [--short | --fast BUILD | --replay BUILD]; all of
them in turn.

With --fast that build's fuzzers run, several times as fast since they don't watch the memory; what they
learned then runs once more through BUILD's, which do.
With --replay that build's fuzzers, of a compiler without libFuzzer, only call their readers with
what was learned.

What they find stays in BUILD/found/NAME/ (crash-…, leak-…, timeout-…, oom-…: a file with the bytes),
what they learn in BUILD/corpus/NAME/, so that the next run goes on from there. BUILD/runs.json keeps
how often each has run with sanitizers and without ("fast"), since when and until when.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

import seeds

HERE = pathlib.Path(__file__).parent
CATALOGUE = HERE.parent.parent / "src/ops/operation.hpp"
LONGEST = {"lesson": 8192, "walk": 8192, "reference": 100, "set": 100, "name": 100, "npy": 600,
           "csv": 400, "csv_size": 400, "keys": 200, "npz": 1200, "model": 6000,
           "checkpoint": 10000, "submission": 1500, "patch": 200, "shapes": 1024, "dumps": 1024}
DICTIONARY = {"lesson": "toml", "walk": "toml", "csv_size": "csv", "model": "safetensors",
              "submission": "csv", "patch": "csv"}
LIMITS = ["-rss_limit_mb=1024", "-malloc_limit_mb=1024"]
LARGE = {"dumps"}  # needs all the course's lessons in memory, and seconds for some inputs: not with --short
# BLAS's threads would have no work; a short memory of who allocated what makes runs a third faster.
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1",
                   ASAN_OPTIONS="malloc_context_size=3:quarantine_size_mb=16")


# A moment for each, the same on every machine that is fast enough; slow ones are given time.
SHORT = ["-seed=1", "-runs=20000", "-max_total_time=8", "-timeout=60"]


def words_for(build, name):
    """The option with the words that a fuzzer tries; for lessons, also the name of every operation."""
    dictionary = HERE / "dictionaries" / f"{DICTIONARY.get(name, name)}.dict"
    if not dictionary.exists():
        return []
    if dictionary.stem == "toml":
        operations = re.findall(r"QKV_OPERATION\((\w+)\)", CATALOGUE.read_text())
        words = dictionary.read_text() + "".join(f'"\\"{name}\\""\n' for name in operations)
        dictionary = build / f"{name}.dict"
        dictionary.write_text(words)
    return [f"-dict={dictionary}"]


def command(build, binaries, name, how_long):
    found = build / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    words = words_for(build, name)
    limits = ["-rss_limit_mb=4096"] if name in LARGE else LIMITS
    return [str(binaries / "tools/fuzz" / f"fuzz_{name}"), str(build / "corpus" / name),
            f"-max_len={LONGEST.get(name, 2048)}", *words,
            f"-artifact_prefix={found}/", "-print_final_stats=1", *how_long, *limits]


def ran(build, binaries, name, how_long):
    """How often the fuzzer of these binaries ran, and what it found: nothing, if all is well."""
    log = build / f"{name}.log"
    with open(log, "wb") as out:
        status = subprocess.run(command(build, binaries, name, how_long), stdout=out, stderr=out,
                                env=ENVIRONMENT).returncode
    text = log.read_text(errors="replace")
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    runs = runs or re.findall(r"^#(\d+)\s", text, re.M)
    found = re.findall(r"SUMMARY: .*|a law is broken: .*|Test unit written to .*", text)
    return int(runs[-1]) if runs else 0, [] if status == 0 else [f"FAILED: {log}", *found]


def fuzz(build, fast, name, how_long):
    """The name of one fuzzer, how often it ran with sanitizers and without, and what it found."""
    if not fast:
        runs, found = ran(build, build, name, how_long)
        return name, {"runs": runs}, found
    runs, found = ran(build, fast, name, how_long)
    again = 0
    if not found:
        again, found = ran(build, build, name, ["-runs=0"])
    return name, {"runs": again, "fast": runs}, found


def replay(build, binaries, names):
    """Whether each reader got through what its fuzzer has learned."""
    good = True
    for name in names:
        done = subprocess.run([binaries / "tools/fuzz" / f"fuzz_{name}", build / "corpus" / name],
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        print(f"{name:<12} {done.stdout.strip() or 'FAILED'}", flush=True)
        good = good and done.returncode == 0
    return 0 if good else 1


def count(build, name, runs):
    """Adds to the totals of that fuzzer, and returns their sum."""
    file = build / "runs.json"
    totals = json.loads(file.read_text()) if file.exists() else {}
    today = datetime.date.today().isoformat()
    own = totals.setdefault(name, {"since": today})
    own.update({kind: own.get(kind, 0) + more for kind, more in runs.items()}, until=today)
    whole = file.with_suffix(".new")
    whole.write_text(json.dumps(totals, indent=2, sort_keys=True) + "\n")
    whole.replace(file)
    return own.get("runs", 0) + own.get("fast", 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("words", nargs="*", metavar="NAME or SECONDS")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--fast", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--replay", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    names = [word for word in options.words if not word.isdigit()]
    seconds = next((word for word in options.words if word.isdigit()), "60")
    unknown = set(names) - set(seeds.SEEDS)
    if unknown:
        sys.exit(f"fuzz: no fuzzer {', '.join(sorted(unknown))}; there are {' '.join(seeds.SEEDS)}")
    seeds.write(options.build / "corpus")
    if options.replay:
        return replay(options.build, options.replay, names or seeds.SEEDS)
    how_long = SHORT if options.short else [f"-max_total_time={seconds}", "-timeout=10"]
    good = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        run = lambda name: fuzz(options.build, options.fast, name, how_long)
        usual = [name for name in seeds.SEEDS if not (options.short and name in LARGE)]
        waiting = [pool.submit(run, name) for name in names or usual]
        for ended in concurrent.futures.as_completed(waiting):
            name, runs, found = ended.result()
            total = count(options.build, name, runs)
            now = sum(runs.values())
            print("\n  ".join([f"{name:<12} {now:>12,} runs, {total:>13,} in all", *found]), flush=True)
            good = good and not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
