"""Runs whole processes, a row's all in turn, and tells their times and their memory."""

import dataclasses
import os
import resource  # noqa: F401  (os.wait4 fills its structure)
import statistics
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Run:
    """One process: what the clock, the processor and the kernel say of it."""

    wall: float
    user: float
    peak: int  # bytes resident at most
    inner: float  # seconds of the work alone, where a peer tells: without its imports


def run_once(command, env):
    """Runs it to its end, its output kept; a process that fails ends the benchmark."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, env={**os.environ, **env}, stdout=output,
                                   stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}:\n{text.decode()}")
    inner = [float(line.split()[1]) for line in text.splitlines() if line.startswith(b"inner ")]
    return Run(wall, usage.ru_utime, usage.ru_maxrss * 1024, inner[0] if inner else float("nan"))


def interleaved(contestants, rounds):
    """{name: [Run, …]}: each round runs all in turn, so that a slow moment hits all. The first
    round warms up and does not count."""
    runs = {name: [] for name, _, _ in contestants}
    for round_ in range(rounds + 1):
        for name, command, env in contestants:
            run = run_once(command, env)
            if round_ > 0:
                runs[name].append(run)
    return runs


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def ratios(peer, ours, field="wall"):
    """Round by round, how many times as long the peer takes as we do."""
    return [getattr(p, field) / o.wall for p, o in zip(peer, ours)]
