"""Runs whole processes, a row's all in turn, and tells their times and their memory."""

import dataclasses
import os
import shutil
import statistics
import tempfile
import time


@dataclasses.dataclass
class Run:
    """One process: what the clock and the processor say of it."""

    wall: float
    user: float
    inner: float  # seconds of the work alone, where a peer tells: without its imports


def run_once(command, env):
    """Runs it to its end; a process that fails ends the benchmark. The clock starts when all that
    Python has to prepare is done: half of a short run would be that."""
    with tempfile.TemporaryFile() as output:
        words = list(map(str, command))
        environment = {**os.environ, **env}
        program = shutil.which(words[0], path=environment.get("PATH")) or words[0]
        file_actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), stream) for stream in (1, 2)]
        start = time.perf_counter()
        process = os.posix_spawn(program, words, environment, file_actions=file_actions)
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if status != 0:
        code = os.waitstatus_to_exitcode(status)
        raise SystemExit(f"{' '.join(words)}\nended with {code}:\n{text.decode()}")
    inner = [float(line.split()[1]) for line in text.splitlines() if line.startswith(b"inner ")]
    return Run(wall, usage.ru_utime, inner[0] if inner else float("nan"))


def peak_bytes(command, env):
    """The most that it has resident. The kernel counts what a process had before it became another
    program, so that it must be started by a small one: GNU time."""
    with tempfile.NamedTemporaryFile("r") as report:
        run_once(["/usr/bin/time", "-f", "%M", "-o", report.name, *command], env)
        return 1024 * int(report.read().split()[-1])


def clear(written):
    """Removes what the last run wrote, and waits till the disk has what is not yet on it: the next
    one writes new files, on a disk at rest."""
    for path in written:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
    if written:
        os.sync()


def interleaved(contestants, rounds, written=()):
    """({name: [Run, …]}, {name: peak bytes}): each round runs all in turn, so that a slow moment
    hits all. A first round, for the memory, warms up and is not timed. `written` are the paths that
    runs write to."""
    peaks = {name: peak_bytes(command, env) for name, command, env in contestants}
    runs = {name: [] for name, _, _ in contestants}
    for _ in range(rounds):
        for name, command, env in contestants:
            clear(written)
            runs[name].append(run_once(command, env))
    return runs, peaks


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def ratios(peer, ours, field="wall"):
    """Round by round, how many times as long the peer takes as we do."""
    return [getattr(p, field) / o.wall for p, o in zip(peer, ours)]
