#!/usr/bin/python3
"""Whether the tests that docs/promises.md names are there, and are run.

    promises.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "promises.md"
RUN_BY = {"terminal/screens": "terminal/stepping.py"}  # folders of claims, and who runs them


def names_in(file):
    """The claims of a test file, in words."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        listed = re.search(r"^CLAIMS = \[(.*?)^\]", text, re.M | re.S)
        listed = listed or re.search(r"^[A-Z]+ = [\[(](.*?)^[\])]", text, re.M | re.S)
        # Without a list every function that takes nothing is a claim, as in screens/.
        names = (re.findall(r"(\w+),\n", listed[1]) if listed
                 else re.findall(r"^def (\w+)\(\):", text, re.M))
        assert names, f"{file.name} has no claims"
        return {name.replace("_", " ") for name in names}
    return set(re.findall(r'TEST_CASE\("((?:[^"\\]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def faults():
    promised = PAGE.read_text(encoding="utf-8").split("\n## Thrown at it so far")[0]
    rows = [line for line in promised.splitlines()
            if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) >= 20, f"only {len(rows)} promises"
    known = {}
    for row in rows:
        held = re.findall(r"`(tests/[\w/]+\.\w+): ([^`]+)`", row.rsplit("|", 2)[1])
        if not held:
            yield f"nothing holds: {row[:60]}…"
        for name, claim in held:
            file = ROOT / name
            if not file.is_file():
                yield f"there is no {name}"
                continue
            known.setdefault(name, names_in(file))
            if claim not in known[name]:
                yield f"{name} has no \"{claim}\""
            lists = (ROOT / "tests" / "CMakeLists.txt").read_text(encoding="utf-8")
            file = name.removeprefix("tests/")
            if RUN_BY.get(str(Path(file).parent), file).removesuffix(".py") not in lists:
                yield f"{name} is not run"


def main():
    wrong = sorted(set(faults()))
    for fault in wrong:
        print(fault)
    print(f"{PAGE.relative_to(ROOT)}: {len(wrong) or 'no'} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
