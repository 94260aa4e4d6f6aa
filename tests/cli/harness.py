"""What the tests that look at the program from outside share: claims, one a function, and a runner."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


class Skipped(Exception):
    """The machine can't stage this."""


# LeakSanitizer stops every thread before it looks for leaks. On a busy machine it now and then says
# that it could not; a leak would be reported, and change the exit status, all the same.
UNSUSPENDED = re.compile(r"^==\d+==Running thread \d+ was not suspended\. "
                         r"False leaks are possible\.\n", re.MULTILINE)


class Program:
    """qkv, run with its streams as text."""

    path = ""

    def __call__(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True,
                   "timeout": 120, "env": {**os.environ, "COLUMNS": "80", "TERM": "xterm"},
                   **options}
        done = subprocess.run([self.path, *map(str, arguments)], check=False, **options)
        if isinstance(done.stderr, str):
            done.stderr = UNSUSPENDED.sub("", done.stderr)
        return done

    def printed(self, *arguments, **options):
        """What it prints; it must succeed."""
        done = self(*arguments, **options)
        equal((done.returncode, done.stderr if done.returncode else ""), (0, ""))
        return done.stdout


qkv = Program()


def sanitized(path=None):
    """Whether qkv was built with sanitizers, which take time and memory of their own."""
    return b"__asan_init" in Path(path or qkv.path).read_bytes()


def some(cases):
    """The cases; with sanitizers, which make a test ten times as slow, every fourth."""
    return list(cases)[::4 if sanitized() else 1]


def for_sanitizers():
    """What a sanitized qkv wants of the surroundings, also where a test keeps the rest away."""
    return {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}


def equal(got, due, what=""):
    assert got == due, f"{what and what + ': '}got {repr(got)[:600]}, due is {repr(due)[:600]}"


def uncalled(script):
    """Returns the functions of a script that it names only where it defines them, such as a forgotten claim."""
    text = Path(script).read_text(encoding="utf-8")
    return [name for name in re.findall(r"^def (\w+)\(", text, re.MULTILINE)
            if "globals()" not in text and len(re.findall(rf"\b{name}\b", text)) == 1]


def main(claims, usage, arguments):
    """Runs each claim in a directory of its own; the exit status is 1 where one fails or nobody calls one."""
    forgotten = uncalled(sys.argv[0])
    if forgotten:
        print(f"{sys.argv[0]}: nothing calls {', '.join(forgotten)}")
        return 1
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(usage.strip(), file=sys.stderr)
        return 2
    qkv.path = str(Path(arguments[0]).resolve())
    failures = 0
    for claim in claims:
        name = claim.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                claim(Path(folder))
            except Skipped as reason:
                print(f"skipped: {name} ({reason})")
            except (AssertionError, OSError, KeyError, ValueError,
                    subprocess.SubprocessError) as error:
                failures += 1
                print(f"FAILED: {name}\n  {type(error).__name__}: {error}")
    print(f"{len(claims)} claims, {failures or 'no'} failed")
    return 1 if failures else 0
