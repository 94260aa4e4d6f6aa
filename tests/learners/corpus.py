"""Published worked examples: each must get the verdicts that are due to it.

Usage: corpus.py QKV [DIRECTORY...]   A directory holds a folder for each case, with lesson.toml,
submission/ and expected.json. Without one: $QKV_CORPUS, or ../shared/corpus and ../shared/corpus-modern
beside the project. Where there is none, there is nothing to check; a case with an operation that
the program lacks waits for it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tomllib

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
    if run.returncode not in [due["exit"], *due.get("exit_acceptable", [])]:
        return [f"exit status {run.returncode}, due is {due['exit']}: {run.stderr.strip()}"]
    report = json.loads(run.stdout)
    fault = schema.fault_of(report)
    complaints = [fault] if fault else []
    if report["first_wrong"] not in [due["first_wrong"], *due.get("first_wrong_acceptable", [])]:
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


def operations_of(qkv):
    listed = subprocess.run([qkv, "lint", "--ops"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line[:1].isalpha()}


def is_due(case, operations):
    lesson = tomllib.loads((case / "lesson.toml").read_text(encoding="utf-8"))
    return "backward" not in lesson and {step["op"] for step in lesson["step"]} <= operations


def main():
    places = sys.argv[2:] or [directory(), *([] if "QKV_CORPUS" in os.environ else
                                             [directory().with_name("corpus-modern")])]
    examples = [case for place in places for case in cases(pathlib.Path(place))]
    if not examples:
        print(f"no published examples in {places[0]}: nothing to check")
        return 0
    operations = operations_of(sys.argv[1])
    due = [case for case in examples if is_due(case, operations)]
    failed = 0
    for case in due:
        complaints = complaints_about(sys.argv[1], case)
        failed += bool(complaints)
        for complaint in complaints:
            print(f"{case.name}: {complaint}")
    waiting = f", {len(examples) - len(due)} wait for operations" if len(due) < len(examples) else ""
    print(f"{len(due)} published examples, {failed or 'none'} not as due{waiting}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
