"""Published worked examples: each must get the verdicts that are due to it.

Usage: corpus.py QKV [DIRECTORY]   The directory holds a folder for each case, with lesson.toml,
submission/ and expected.json. Without it: $QKV_CORPUS, or ../shared/corpus beside the project.
Where there is none, there is nothing to check.
"""

import json
import os
import pathlib
import subprocess
import sys

import schema


def cell_of(first):
    """The place of the first wrong cell, outermost index first."""
    return [first[key] for key in ("batch", "head", "row", "column") if key in first]


def complaints_about_step(name, due, got):
    if got is None:
        return [f"{name}: not in the report"]
    complaints = []
    if got["verdict"] != due["verdict"] and got["verdict"] not in due.get("acceptable", []):
        complaints.append(f"{name}: {got['verdict']}, due is {due['verdict']}")
    wanted = due.get("first_wrong_cell")
    if wanted and got["first"]:
        good = [wanted] + due.get("first_wrong_cells_acceptable", [])
        if cell_of(got["first"]) not in good:
            complaints.append(f"{name}: first wrong cell {cell_of(got['first'])}, due is {wanted}")
    named = {mistake["id"] for mistake in got["mistakes"]}
    if due.get("mistakes") and not named & set(due["mistakes"]):
        complaints.append(f"{name}: {sorted(named)} named, due is one of {due['mistakes']}")
    if due.get("convention") and got["convention"] != due["convention"]:
        complaints.append(f"{name}: {got['convention']}, due is {due['convention']}")
    return complaints


def complaints_about(qkv, case):
    due = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    command = [qkv, "check", str(case / "lesson.toml"), str(case / "submission"), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != due["exit"]:
        return [f"exit status {run.returncode}, due is {due['exit']}: {run.stderr.strip()}"]
    report = json.loads(run.stdout)
    fault = schema.fault_of(report)
    complaints = [fault] if fault else []
    if report["first_wrong"] != due["first_wrong"]:
        complaints.append(f"first wrong {report['first_wrong']}, due is {due['first_wrong']}")
    steps = {step["step"]: step for step in report["steps"]}
    for name in sorted(set(steps) - set(due["steps"])):
        complaints.append(f"{name}: in the report, but was not handed in")
    for name, step in due["steps"].items():
        complaints += complaints_about_step(name, step, steps.get(name))
    return complaints


def directory(given=None):
    """Where the published examples are, or would be."""
    here = pathlib.Path(__file__).resolve().parents[2]
    beside = os.environ.get("QKV_CORPUS", str(here.parent / "shared" / "corpus"))
    return pathlib.Path(given or beside)


def cases(directory):
    return sorted(path.parent for path in directory.glob("*/expected.json"))


def main():
    examples = directory(sys.argv[2] if len(sys.argv) > 2 else None)
    if not cases(examples):
        print(f"no published examples in {examples}: nothing to check")
        return 0
    failed = 0
    for case in cases(examples):
        complaints = complaints_about(sys.argv[1], case)
        failed += bool(complaints)
        for complaint in complaints:
            print(f"{case.name}: {complaint}")
    print(f"{len(cases(examples))} published examples, {failed or 'none'} not as due")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
