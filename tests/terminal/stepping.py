#!/usr/bin/python3
"""Steps through lessons on a pseudo-terminal, and answers a quiz through pipes.

    stepping.py QKV [--timed] [CLAIM…]

Each function of tests/terminal/screens/ that takes nothing is one claim.
"""

import inspect
import os
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("cli", "reference")]
from screens import drawn, keys, lines, quiz, restored  # noqa: E402
from screens.terminal import Program  # noqa: E402

TIMED = ("keys_are_answered_as_soon_on_a_large_matrix",)  # --timed: while nothing else runs
BESIDES = ("by_hand",)  # it takes nothing, but claims nothing either


def claims():
    return [f for module in (restored, drawn, keys, lines, quiz) for f in vars(module).values()
            if inspect.isfunction(f) and f.__module__ == module.__name__
            and not inspect.signature(f).parameters and f.__name__ not in BESIDES]


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    Program.path = str(Path(arguments[0]).resolve())
    wanted = [*(TIMED if "--timed" in arguments else ()), *arguments[1:]]
    failures = 0
    chosen = [claim for claim in claims()
              if (claim.__name__ in wanted if wanted else claim.__name__ not in TIMED)]
    for claim in chosen:
        start = time.monotonic()
        try:
            claim()
        except Exception as error:  # each claim stands by itself
            failures += 1
            print(f"{claim.__name__}: {type(error).__name__}: {str(error)[:3000]}")
        if os.environ.get("QKV_TIMES"):
            print(f"  {claim.__name__}: {time.monotonic() - start:.1f} s")
    print(f"{len(chosen)} claims, {failures or 'no'} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
