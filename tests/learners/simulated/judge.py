"""Holds the reports of `qkv check` against what is known of each learner."""

import json
import re
import subprocess
from collections import Counter

import numpy as np

import schema

from .due import Due

VERDICTS = {"correct", "rounding", "carried", "undecided", "wrong", "blank", "shape"}
WORST_FIRST = ("wrong", "undecided", "carried", "rounding", "correct")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")

# How often each must be right; everything else must be so each time.
BARS = {"first wrong (seen)": 0.99, "first wrong (unseen)": 0.99, "named (seen)": 0.97,
        "named (unseen)": 0.90, "nothing named for noise": 0.6, "first wrong (noise)": 0.99,
        "named (given)": 0.97, "right sheets decided": 0.97}


class Tally:
    """How often each claim held."""

    def __init__(self, args):
        self.args = args
        self.counts = Counter()
        self.notes = Counter()
        self.by_id = {}
        self.failures = []

    def count(self, what, right, learner=None, detail=""):
        self.counts[what] += 1
        if right:
            self.counts[what, "right"] += 1
        else:
            self.failures.append(f"{what}: {learner.where if learner else ''} {detail}")
            if self.args.verbose:
                print(self.failures[-1])

    def note(self, what, happened):
        """Counts what may happen; only its number is printed."""
        self.notes[what] += 1
        self.notes[what, "happened"] += bool(happened)

    def rate(self, what):
        return self.counts[what, "right"] / self.counts[what] if self.counts[what] else 1.0

    def report(self):
        """Prints all claims; 1 where one held too seldom."""
        failed = False
        for what in sorted(k for k in self.counts if isinstance(k, str)):
            bar, right = BARS.get(what, 1.0), self.counts[what, "right"]
            # Few of a kind may miss one: what a slip moves is bounded to first order only.
            missed = self.counts[what] - right
            enough = self.rate(what) >= bar or (bar < 1 and missed <= 1)
            failed = failed or not enough
            print(f"{'ok  ' if enough else 'LOW '} {what}: {right} of {self.counts[what]}")
        for what in sorted(k for k in self.notes if isinstance(k, str)):
            print(f"     {what}: {self.notes[what, 'happened']} of {self.notes[what]}")
        low = {i: n for i, n in sorted(self.by_id.items()) if n[0] < n[1]}
        print("named less than always:", {i: f"{a}/{b}" for i, (a, b) in low.items()})
        if failed:
            shown = Counter()
            for failure in self.failures:
                kind = failure.partition(":")[0]
                shown[kind] += 1
                if shown[kind] <= 5:
                    print("  " + failure[:400])
        return 1 if failed else 0


def run(args, lesson_path, folders, *options):
    command = [args.qkv, "check", lesson_path, *folders, "--json", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"status {result.returncode}: {' '.join(command)}: {result.stderr[:500]}")
    reports = json.loads(result.stdout)
    return result.returncode, reports if isinstance(reports, list) else [reports]


def shape_of_json(report):
    """What is wrong with the form of a report; empty where nothing is."""
    if list(report)[:2] != ["lesson", "submission"] or \
            report["verdict"] not in ("correct", "wrong", "undecided", "incomplete"):
        return "head"
    bad = [s["step"] for s in report["steps"] if s["verdict"] in ("wrong", "shape")]
    if report["first_wrong"] != (bad[0] if bad else None):
        return "first_wrong is not the first wrong step"
    if (report["verdict"] == "wrong") != bool(bad):
        return "verdict"
    if (report["verdict"] == "undecided") != bool(undecided_steps(report) and not bad):
        return "verdict of what is undecided"
    fault = next((fault for fault in map(shape_of_step, report["steps"]) if fault), "")
    return fault or schema.fault_of(report)


def undecided_steps(report):
    return [s["step"] for s in report["steps"] if s["verdict"] == "undecided"]


def shape_of_step(s):
    if s["verdict"] not in VERDICTS or set(s["cells"]) != VERDICTS - {"shape"}:
        return "step"
    if s["verdict"] == "undecided" and not (s.get("room", 0) > 0 and "decided_by" in s):
        return "an undecided step without its room, or the steps that decide it"
    worst = next((v for v in WORST_FIRST if s["cells"][v]), "blank")
    if s["verdict"] not in (worst, "shape"):
        return f"{s['step']}: not its worst cell's verdict"
    if (s["first"] is None) != (s["cells"]["wrong"] == 0 or s["verdict"] == "shape"):
        return "first"
    if s["first"] is not None and not {"row", "column", "given"} <= set(s["first"]):
        return "first's keys"
    if any(m["cells"] > s["cells"]["wrong"] for m in s["mistakes"]):
        return "a mistake explains more than there is"
    return ""


def judge(tally, learner, report):
    fault = shape_of_json(report)
    tally.count("json", not fault, learner, fault)
    names = [s.name for s in learner.lesson.steps]
    handed = [n for n in names if n in learner.handed]
    listed = [s["step"] for s in report["steps"] if s["step"] in names]
    tally.count("steps listed", listed == handed, learner, f"{listed} not {handed}")
    wrong = {s["step"]: s for s in report["steps"] if s["verdict"] in ("wrong", "shape")}
    due = Due(learner)
    if learner.id is None:
        judge_honest(tally, due, report, wrong)
        return
    tally.count("mistakes made", True)
    shows_at = due.shows_at()
    if shows_at is None:
        return
    if learner.id == "slip.noise":
        judge_noise(tally, learner, report, wrong, shows_at)
    else:
        judge_mistake(tally, learner, report, wrong, shows_at)


def judge_honest(tally, due, report, wrong):
    """Who only rounds must never be told that anything is wrong."""
    learner = due.learner
    tally.count("no false alarm", not wrong, learner,
                f"{[(n, s['cells'], s['first']) for n, s in wrong.items()]}")
    if wrong:
        return
    blanks = any(m.any() for m in learner.blank.values())
    missing = {s.name for s in learner.lesson.steps} - learner.handed
    undecided = undecided_steps(report)
    tally.count("right sheets decided", not undecided, learner, f"{undecided}")
    share = len(learner.handed & set(learner.truth)) / len(learner.lesson.steps)
    kind = "every step" if not missing else "half of the steps or more" if share >= 0.5 else "few steps"
    tally.note(f"right sheets of {kind}, undecided", undecided)
    verdict = "undecided" if undecided else "incomplete" if blanks or missing else "correct"
    tally.count("verdict", report["verdict"] == verdict, learner, f"{report['verdict']} not {verdict}")
    judge_convention(tally, due, report)


def judge_convention(tally, due, report):
    learner = due.learner
    named = {s["convention"] for s in report["steps"]} - {None}
    if learner.convention == "scaled-queries":
        apart = np.abs(learner.written["scores"] - learner.truth["scores"])
        margin = 3 * learner.units["scores"] + 2 * due.radius("scores")
        if learner.by != 1 and "scores" in learner.handed and (apart > margin).any():
            tally.count("convention named", "convention.scaled-queries" in named, learner, f"{named}")
    elif learner.convention != "columns":
        tally.count("convention not named", "convention.scaled-queries" not in named, learner, f"{named}")
    if learner.pen.mask != "-inf" and any(shows_mask(learner, n) for n in learner.handed):
        tally.count("finite mask named", "convention.finite-mask" in named, learner, f"{named}")


def shows_mask(learner, name):
    if name not in learner.written or name in learner.lesson.givens:
        return False
    written = learner.written[name]
    return (~learner.blank.get(name, np.zeros(written.shape, bool)) & np.isneginf(written)).any()


def judge_noise(tally, learner, report, wrong, due):
    """A cell that is wrong for no reason: found, and no reason made up."""
    if is_open(tally, learner, report, due):
        return
    tally.count("first wrong (noise)", report["first_wrong"] == due, learner,
                f"{report['first_wrong']} not {due}")
    if due in wrong:
        ids = [m["id"] for m in wrong[due]["mistakes"]]
        tally.count("nothing named for noise", not ids, learner, f"{ids}")


def judge_mistake(tally, learner, report, wrong, due):
    """Who makes one mistake must be told the step and the mistake."""
    kind = "given" if learner.at in learner.lesson.givens else \
        "seen" if learner.at in learner.handed else "unseen"
    if is_open(tally, learner, report, due):
        return
    right = report["first_wrong"] == due
    where = f"{learner.id} ({learner.part}, {kind})"
    tally.count(f"first wrong ({kind})", right, learner, f"{where}: {report['first_wrong']} not {due}")
    if not right:
        return
    ids = [m["id"] for m in wrong[due]["mistakes"]]
    named = learner.id in ids
    first = wrong[due]["first"]
    is_lone_zero = first and wrong[due]["cells"]["wrong"] == 1 and first["given"] == 0
    if not named and (is_lone_zero or not tells(learner, due)):
        return
    tally.count(f"named ({kind})", named, learner, f"{where} at {due}: {ids} {wrong[due]['cells']}")
    by = tally.by_id.setdefault(learner.id, [0, 0])
    by[0] += named
    by[1] += 1
    if kind == "seen" and not learner.misshapen and not hides_by_number(learner):
        others = [n for n in wrong if n != due]
        tally.count("later steps carried", not others, learner, f"{where}: {others}")


def hides_by_number(learner):
    """Whether -10000 or the like stands where nothing is to be hidden: nobody can tell it from a number."""
    written, right = learner.written[learner.at], learner.truth.get(learner.at)
    return learner.pen.mask != "-inf" and right is not None and \
        bool((np.isneginf(written) & ~np.isneginf(right)).any())


def is_open(tally, learner, report, due):
    """Whether a mistake is left undecided, as it may be behind missing steps; counted."""
    step = learner.lesson.find(due)
    operands = [n for n in step.of if learner.lesson.find(n)] if step else []
    hidden = learner.blanks or any(n not in learner.handed for n in operands)
    is_undecided = report["first_wrong"] is None and due in undecided_steps(report)
    if hidden:
        tally.note("mistakes behind missing steps, undecided", is_undecided)
    return hidden and is_undecided


def tells(learner, name):
    """Whether a number that is off is neither 0 nor infinite: those prove nothing."""
    if learner.misshapen or learner.id.startswith(("mask.", "window.", "cache.")):
        return True
    written = np.asarray(learner.written[name])
    reference = learner.truth[name] if name in learner.truth else learner.lesson.givens[name]
    with np.errstate(invalid="ignore"):
        off = np.abs(written - reference) > 0.5 * learner.units[name]
    return bool((off & np.isfinite(written) & (written != 0)).any())


def judge_options(tally, args, path, learners, reports):
    """--no-answers and --strict on a few of them, one at a time."""
    wrong = [(l, r) for l, r in zip(learners, reports) if r["verdict"] == "wrong"]
    for learner, report in wrong[:1]:
        status, alone = run(args, path, [learner.folder])
        tally.count("status of one", status == 1 and alone[0]["steps"] == report["steps"], learner)
        leaked = answers_leaked(args, path, learner, report)
        tally.count("no answers", not leaked, learner, f"{leaked}")
    for learner in learners[:1]:
        _, strict = run(args, path, [learner.folder], "--strict")
        named = [s["convention"] for s in strict[0]["steps"] if s["convention"]]
        tally.count("strict", not named, learner, f"{named}")


def answers_leaked(args, path, learner, report):
    """Right values that --no-answers tells all the same, and keys that would hold them."""
    _, kept = run(args, path, [learner.folder], "--no-answers")
    text = subprocess.run([args.qkv, "check", path, learner.folder, "--no-answers"],
                          capture_output=True, text=True).stdout
    own = {t for x in learner.texts.values() for t in x.flat}
    mine = {round(float(t), 6) for t in own if t}
    mine |= {round(v, k) for v in mine for k in range(6)}
    firsts = [s["first"] for s in report["steps"] if s["first"]]
    secret = {first[key] for first in firsts for key in ("expected", "from_yours")
              if isinstance(first[key], float) and len(repr(abs(first[key]))) > 4}
    found = {float(t) for t in NUMBER.findall(text + json.dumps(kept))}
    keys = {key for s in kept[0]["steps"] for key in s["first"] or ()}
    return {x for x in secret if round(x, 6) not in mine and x in found} | \
        keys & {"expected", "from_yours", "arithmetic"}
