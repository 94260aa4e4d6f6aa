"""The commands that are compared, part by part.

Each function yields the commands of a part, as words or as a `Command`; `quick` takes fewer of them.
"""

import dataclasses
import re
from pathlib import Path

import inputs
from outputs import Command

ROOT = Path(__file__).resolve().parents[2]


def exports(course, _, quick):
    """Every lesson in every format."""
    for lesson, steps in course.lessons.items():
        for form in () if quick else course.formats:
            yield "export", lesson, "--format", form, "-o", "out"
            yield "export", lesson, "--format", form, "--digits", "2", "-o", "out"
        yield "export", lesson, "--format", ",".join(course.formats), "-o", "out"
        yield "export", lesson, "--digits", "2", "-o", "out"
        yield "export", lesson, "--plain", "-o", "out"
        yield "export", lesson, "--step", steps[-1], "-o", "-"
        for form in ("markdown", "latex"):
            yield "export", lesson, "--format", form, "--plain", "-o", "-"
            yield "export", lesson, "--format", form, "--digits", "2", "-o", "-"


def walks(course, _, quick):
    """Every lesson at several widths, with colour and without."""
    for lesson, steps in course.lessons.items():
        for columns in (40, 80, 200):
            for color in ("never", "always"):
                yield Command("", ("run", lesson, "--color", color), columns)
        if quick:
            continue
        yield "run", lesson, "--digits", "2"
        yield "run", lesson, "--head", "2"
        yield "run", lesson, "--from", steps[1], "--to", steps[-2]
        for step in steps:
            yield "run", lesson, "--step", step, "--color", "always", "--digits", "6"


def reports(course, _, quick):
    """Every lesson as a page for a browser."""
    for lesson in course.lessons:
        yield "report", lesson, "-o", "page.html"
        if not quick:
            yield "report", lesson, "-o", "-", "--digits", "2"


def worksheets(course, _, quick):
    """Every lesson to fill in."""
    for lesson in course.lessons:
        yield "worksheet", lesson, "-o", "out"
        if not quick:
            yield "worksheet", lesson, "-o", "out", "--digits", "1"


def cells(step):
    """A few cells of a step, as people write them: the first, the last and one between."""
    files = step["file"] if isinstance(step["file"], list) else [step["file"]]
    leading = [[f"{axis} {k}" for axis, k in re.findall(r"\.(batch|head)-(\d+)", file)]
               for file in (files[0], files[-1])]
    size = step["shape"][-2:]
    places = [[1] * len(size), size, [(n + 1) // 2 for n in size]]
    chosen = [leading[0] + places[0], leading[1] + places[1], leading[1] + places[2]]
    return {f"{step['name']}[{','.join(map(str, cell))}]": None for cell in chosen}


def explained(course, _, quick):
    """A few cells of every step."""
    forms = ((), ("--latex",), ("--json",), ("--digits", "7"))
    for lesson, manifest in course.manifests.items():
        for k, step in enumerate(manifest["steps"]):
            if quick:
                yield "explain", lesson, next(iter(cells(step))), *forms[k % len(forms)]
                continue
            for cell in cells(step):
                for form in forms[:3]:
                    yield "explain", lesson, cell, *form
            yield "explain", lesson, cell, *forms[3]
            yield Command("", ("explain", lesson, cell), 40)


def stepping(course, _, quick):
    """Every lesson by lines typed at it, and its quiz."""
    for lesson, steps in course.lessons.items():
        yield typed(("run", lesson, "--pause"), "\n" * (len(steps) + 1))
        keys = ["?", "e", "g 3", "e", "+", "h", "b", f"g {steps[-1]}", "e", "-", "h", "x out",
                "g nonsense", "nonsense"]
        yield typed(("run", lesson, "--plain", "--pause"), "\n".join(keys) + "\nq\n")
        first = next(iter(cells(course.manifests[lesson]["givens"][0]))) \
            if course.manifests[lesson]["givens"] else "X[1,1]"
        keys = [f"s {first}=0.5", "", "h", "", "u", f"g {steps[-1]}"]
        yield typed(("run", lesson, "--pause"), "\n".join(keys) + "\nq\n")
        for seed in range(1 if quick else 3):
            words = ("run", lesson, "--quiz", "--seed", str(seed))
            right = course.answers(lesson, seed)
            yield typed(words, "\n" * 100)
            yield typed(words, "\n".join(right) + "\n")
            yield typed(words, "".join(f"77.5\nabout 2\n{answer}\n" for answer in right))


def typed(words, keys):
    return Command("", words, typed=keys)


LEFT, RIGHT, UP, DOWN = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
LOOKING_AROUND = f"ne{RIGHT}{DOWN}\t{DOWN}{LEFT}\rn?\rjjkh+h-hbe\r{UP}\rG g2\r"


def screens(course, _, quick):
    """Every lesson on a terminal."""
    for lesson, steps in course.lessons.items():
        yield pressed(("run", lesson), "n" * len(steps))
        yield pressed(("run", lesson, "--from", steps[-1]), LOOKING_AROUND)
        if quick:
            continue
        yield pressed(("run", lesson), LOOKING_AROUND)
        for columns in (40, 200):
            yield pressed(("run", lesson), "n" * len(steps), columns)
        yield pressed(("run", lesson, "--quiz"), "\r77.5\rs\r" * len(steps))
        for given in course.manifests[lesson]["givens"][:2]:
            cell = next(iter(cells(given)))
            yield pressed(("run", lesson), f"s{cell}=0.5\r" + "n" * len(steps) + "bu")


def pressed(words, keys, columns=80):
    return Command("", words, columns, keys=keys)


def changed(course, _, quick):
    """Every lesson with another number in its first givens."""
    for lesson, manifest in course.manifests.items():
        for given in manifest["givens"][:1 if quick else 3]:
            change = ("--set", f"{next(iter(cells(given)))}=0.5")
            yield "run", lesson, *change
            if not quick:
                yield "export", lesson, "--format", "npz,json,markdown", "-o", "out", *change
                yield "report", lesson, "-o", "page.html", *change
    for text in ("the cat sat", "the fat mat sat on the cat", "no such words"):
        yield "run", "the-fat-cat", "--text", text
        yield "export", "the-fat-cat", "--text", text, "-o", "out"


def helped(course, _, quick):
    """Help, completions, lists, counts and refusals."""
    yield from ((), ("--version",), ("--help",), ("lessons",), ("lessons", "--json"),
                ("lint", "--ops"))
    for command in course.commands:
        for columns in (80,) if quick else (40, 80, 200):
            yield Command("", (command, "--help"), columns)
            yield Command("", ("help", command), columns)
    for words in ("--d-model 12288 --d-k 128 --heads 96 --layers 96",
                  "--d-model 768 --heads 12 --layers 12 --context 1024",
                  "--d-model 512 --heads 8 --context 512 --context 4096", "--d-model 7 --d-v 3"):
        yield "params", *words.split()
        yield "params", *words.split(), "--json"
    for words in ("frob", "run frob", "run the-fat-cat --step score", "run the-fat-cat --digits x",
                  "explain the-fat-cat", "explain the-fat-cat scores[9,9,9]", "export the-fat-cat",
                  "export the-fat-cat -o out --format cvs", "check the-fat-cat nothing-there",
                  "run the-fat-cat --from output --to Q", "params", "compare the-fat-cat frob",
                  "run the-fat-cat --set W_Q[1,1]=two", "--color none", "new", "lint"):
        yield tuple(words.split())


def linted(course, _, quick):
    """Lesson files good and broken, each lesson's list of steps and of heads, and new lessons."""
    for lesson in course.lessons:
        yield "lessons", lesson
        yield "lint", lesson, "--mistakes", "--strict"
        yield "heads", lesson
        yield "heads", lesson, "--json"
    for file in sorted(file for pattern in ("tests/data/lessons/**/*.toml", "lessons/*.toml",
                                            "examples/*.toml") for file in ROOT.glob(pattern)):
        path = f"in/project/{file.relative_to(ROOT)}"
        yield "lint", path
        if not quick:
            yield "lint", path, "--strict", "--mistakes"
            yield "run", path
            yield "export", path, "-o", "out"
    for seed in range(5 if quick else 40):
        yield "new", "new.toml", "--seed", str(seed), *(["--causal"] if seed % 2 else [])
        yield ("new", "-", "--seed", str(seed), "--tokens", str(2 + seed % 9),
               "--d-model", str(2 + seed % 15), "--heads", str(1 + seed % 3))
        yield "new", "-", "--style", "llama", "--seed", str(seed), "--heads", str(1 + seed % 4)


def checks(course, folder, quick):
    """Published examples, exported lessons and simulated learners, judged."""
    for case in inputs.published(folder):
        words = ("check", f"in/corpus/{case}/lesson.toml", f"in/corpus/{case}/submission")
        for options in ((), ("--json",), ("--all",), ("--no-answers",), ("--strict", "--digits", "3")):
            yield (*words, *options)
    for lesson in course.lessons:
        for options in ((), ("--json",), ("--digits", "2", "--all")):
            yield "check", lesson, f"in/exported/{lesson}", *options
    for lesson, learners in inputs.simulated(folder, 200 if quick else 3000):
        paths = [f"in/simulated/{learner}" for learner in learners]
        lesson = f"in/simulated/{lesson}"
        yield "check", lesson, *paths, "--json"
        yield "check", lesson, *paths
        yield "check", lesson, *paths, "--summary", "csv"
        yield "check", lesson, *paths, "--json", "--no-answers", "--strict"
        for k, path in enumerate(paths):
            yield "check", lesson, path
            if k % 4 == 0:
                yield "check", lesson, path, "--all"
                yield "check", lesson, path, "--no-answers"
                yield "check", lesson, path, "--strict", "--digits", "3"


def comparisons(course, folder, quick):
    """Lessons with each other, with their own exports and with numbers that were moved."""
    inputs.altered_dumps(course, folder)
    names = list(course.lessons)
    for k, first in enumerate(names):
        for second in names[k + 1:k + 2] if quick else names:
            yield "compare", first, second
        yield "compare", f"in/exported/{first}", first
        for options in ((), ("--json",), ("--rtol", "0.01"), ("--atol", "0.5")):
            yield "compare", f"in/altered/{first}.npz", first, *options
    yield "compare", "two-heads", "two-heads", "--set", "W_Q[head 1,1,2]=0.5"


def models(course, _, quick):
    """A trained model's file in place of a lesson."""
    model = ("--model", "in/project/lessons/adjectives.safetensors", "--text",
             "a fluffy blue creature drifts around while the prickly red bird")
    yield "run", *model
    yield "run", *model, "--color", "always", "--continue", "3"
    yield "heads", *model
    yield "heads", *model, "--ablate"
    yield "heads", *model, "--targets", "next", "--sort", "helps"
    yield "run", *model, "--targets", "next", "--layer", "0"
    yield "run", *model, "--lens"
    yield "run", *model, "--set", "h0.context[head 3,*,*]=0", "--step", "logits"
    adder = ("--model", "in/project/lessons/adder.safetensors", "--ids", "0,8,5,3,0,1,6,4,7,2,9")
    yield "run", *adder, "--continue", "3"
    for form in course.formats[:1 if quick else None]:
        yield "export", *model, "--format", form, "-o", "out"
    yield "report", *model, "-o", "page.html"
    yield "explain", *model, "h0.scores[head 2,3,1]"
    yield "compare", "in/exported/trained-adjectives", *model


PARTS = {"exports": exports, "walks": walks, "reports": reports, "worksheets": worksheets,
         "explain": explained, "stepping": stepping,
         "screens": screens, "changes": changed, "help": helped,
         "lint": linted, "check": checks, "compare": comparisons, "models": models}


def commands(part, course, folder, quick):
    """The commands of a part, each with its name."""
    for given in PARTS[part](course, folder, quick):
        if isinstance(given, Command):
            yield dataclasses.replace(given, part=part)
        else:
            yield Command(part, tuple(given))
