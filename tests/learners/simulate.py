#!/usr/bin/python3
"""Simulated learners: random lessons, worked by hand by people who round, forget and slip.

Makes lessons and submissions at random, runs `qkv check` on them and compares its verdicts with what
is known of each learner: who only rounds must never be told "wrong"; who makes one mistake must be
told the step and the mistake. All arithmetic here is NumPy's (reference/operations.py), and none is
qkv's. The same seed gives the same learners. "Undecided" is no error, but few right sheets may be so.

With --right nobody makes a mistake, and all write 1 to 4 decimals.

    tests/learners/simulate.py QKV [--seed N] [--lessons N] [--learners N] [--right] [--keep DIR]
                               [--verbose]
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter

import numpy as np

from simulated import slips
from simulated.files import Writer, make_blanks
from simulated.judge import Tally, judge, judge_options, run
from simulated.learner import Learner
from simulated.lesson import lesson_toml
from simulated.mistakes import mistakes_of
from simulated.random_lesson import random_lesson


def candidates(lesson, truth):
    """All (step, id, version) that can be made in a lesson."""
    found = []
    for step in lesson.steps:
        seen = Counter()
        for mistake, _ in mistakes_of(lesson, step, truth):
            found.append((step.name, mistake, seen[mistake]))
            seen[mistake] += 1
        if truth[step.name].ndim >= 2:
            found += [(step.name, slip, 0) for slip in slips.OF_A_STEP]
    used = {n for s in lesson.steps for n in s.of}
    for name in lesson.givens:
        if name in used and lesson.givens[name].ndim >= 2 and name not in ("M", "ids"):
            found += [(name, slip, 0) for slip in slips.OF_A_GIVEN]
    return found


def generator(seed, number):
    """The random numbers of one lesson: the same ones each time."""
    return np.random.default_rng([seed, number])


def handed_in(args, rng, folder, number):
    """Writes a lesson and what the learners make of it: the lesson's path, and the learners."""
    lesson = random_lesson(rng)
    truth = lesson.truth()
    path = f"{folder}/lesson-{number}.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(lesson_toml(lesson))
    made = candidates(lesson, truth)
    ids = sorted({c[1] for c in made})
    learners = []
    for k in range(args.learners):
        mistake = None
        if k % 5 >= 2 and not args.right:
            wanted = ids[rng.integers(len(ids))]
            fitting = [c for c in made if c[1] == wanted]
            mistake = fitting[rng.integers(len(fitting))]
        learner = Learner(rng, lesson, truth, mistake, 4 if args.right else 8)
        if learner.is_stuck():
            learner = Learner(rng, lesson, truth, None)
        make_blanks(learner)
        learner.folder = f"{folder}/lesson-{number}-learner-{k}"
        Writer(learner, learner.folder)
        learner.where = where(path, learner)
        learners.append(learner)
    return path, learners


def where(path, learner):
    """Where a learner's files are, and what is peculiar about them."""
    pen = learner.pen
    words = [pen.form, str(pen.decimals), pen.mode, learner.form, str(learner.convention)]
    words += ["blanks"] * learner.blanks + ["full"] * (not pen.works_from_written)
    return f"{path} {learner.folder} [{' '.join(words)}]"


def simulate(args, tally, folder, number):
    path, learners = handed_in(args, generator(args.seed, number), folder, number)
    status, reports = run(args, path, [l.folder for l in learners])
    found = {report["verdict"] for report in reports}
    tally.count("status", status == (1 if found & {"wrong", "undecided"} else 0))
    for learner, report in zip(learners, reports):
        judge(tally, learner, report)
    judge_options(tally, args, path, learners, reports)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("qkv")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=20)
    parser.add_argument("--learners", type=int, default=20)
    parser.add_argument("--right", action="store_true", help="nobody makes a mistake")
    parser.add_argument("--keep", help="leave the files in this directory")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="qkv-simulate-")
    if args.keep:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    tally = Tally(args)
    try:
        for number in range(args.lessons):
            simulate(args, tally, folder, number)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
