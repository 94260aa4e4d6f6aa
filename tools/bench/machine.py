"""What the figures were measured on, and the limits that no program gets past there."""

import datetime
import os
import platform
import re
import subprocess
import time

PYTHON = "/usr/bin/python3"


def cpu_field(field):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        found = [line.split(":")[1].strip() for line in lines if line.startswith(field)]
    return found[0] if found else ""


def best_core_type():
    """OpenBLAS's name for what this processor can do: its own guess may be years too old."""
    flags = set(cpu_field("flags").split())
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else ""


def version_of(module):
    command = [PYTHON, "-c", f"import {module}; print({module}.__version__)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not installed"


def description(qkv):
    done = subprocess.run([qkv, "--version"], capture_output=True, text=True, check=True)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": cpu_field("model name"),
        "cores": os.cpu_count(),
        "best core type": best_core_type() or "as OpenBLAS thinks",
        "qkv": done.stdout.strip(),
        "python": platform.python_version(),
        **{module: version_of(module) for module in ("numpy", "torch", "pandas")},
    }


GEMM = """
import time, numpy as np
a = np.random.rand(2048, 2048); a @ a
def once():
    start = time.perf_counter(); a @ a; return time.perf_counter() - start
print(2 * 2048**3 / min(once() for _ in range(3)))
"""

FRESH_PAGES = """
import time, numpy as np
def once():
    start = time.perf_counter(); np.full(1 << 26, 1.0); return time.perf_counter() - start
print(8 * (1 << 26) / min(once() for _ in range(3)))
"""


def figure_of(script, threads):
    env = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
    if best_core_type():
        env["OPENBLAS_CORETYPE"] = best_core_type()
    done = subprocess.run([PYTHON, "-c", script], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def write_speed(scratch):
    """Bytes a second of one write(2) to a new file: nothing that makes a file is faster."""
    block = b"7" * (1 << 26)
    best = 0
    for round_ in range(3):
        path = scratch / f"limit-{round_}"
        start = time.perf_counter()
        with open(path, "wb", buffering=0) as file:
            file.write(block)
        best = max(best, len(block) / (time.perf_counter() - start))
        path.unlink()
    return best


class Limits:
    """Measured once each, when a row first asks."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.known = {}

    def get(self, name, measure):
        if name not in self.known:
            self.known[name] = measure()
        return self.known[name]

    def seconds(self, need, threads):
        """The least time for `need`: flops, bytes of fresh memory, bytes of files."""
        total = 0
        if need.get("flops"):
            total += need["flops"] / self.get(f"dgemm {threads}", lambda: figure_of(GEMM, threads))
        if need.get("fresh"):
            total += need["fresh"] / self.get("fresh pages", lambda: figure_of(FRESH_PAGES, 1))
        if need.get("written"):
            total += need["written"] / self.get("write", lambda: write_speed(self.scratch))
        return total


def slug():
    return re.sub(r"[^a-z0-9]+", "-", cpu_field("model name").lower()).strip("-")
