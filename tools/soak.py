#!/usr/bin/python3
"""Random commands on random lessons, for as long as there is time.

    soak.py QKV [--minutes M] [--seed N] [--round N]

Each round makes a lesson (of the course, generated, or either with bytes and lines changed), work
that somebody might have handed in, whole or damaged, and a random command on them. Whatever it is:
the program ends by itself with status 0, 1 or 2; nothing that it prints moves a cursor; nothing is
left half written; and the same command again does the same, byte for byte. What a sanitizer reports
in a build that has them counts as well. A command that fails is printed with its round, which
--round repeats; its files are kept.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("learners", "models")]
import gpt  # its random models
import simulate  # its random lessons

COURSE = sorted((ROOT / "lessons").glob("*.toml"))
BY_HAND = [ROOT / "examples/by-hand.toml", ROOT / "examples/two-words.toml"]
MOST_WORK = 60  # seconds of the processor
PATIENCE = 900  # seconds on a machine that has other things to do
WORDS = ["the cat sat", "fat", "", "thé 猫 \u202e cat", "the the the", "zebra", "a" * 300, "\x1b[2J"]
NUMBERS = [b"0", b"1", b"2", b"3", b"-1", b"0.5", b"1e308", b"-inf", b"nan", b"1e-320", b"99999999999"]
FORMATS = "csv npy npz json safetensors markdown latex".split()
ESCAPES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
SANITIZER = re.compile(rb"Sanitizer|runtime error|mistake in qkv itself")


class Failure(Exception):
    """What a command did that none may."""


# ---- what there is to work on ---------------------------------------------------------------------

def damaged(rng, content):
    """Bytes with a few of them changed, lines lost, doubled or exchanged, or the end cut off."""
    for _ in range(rng.randint(1, 4)):
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        kind = rng.choice(["byte", "line", "double", "swap", "cut", "number", "number", "number"])
        if kind == "byte" and content:
            place = rng.randrange(len(content))
            content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1:]
        elif kind == "number" and (found := list(re.finditer(rb"-?\d+\.?\d*", content))):
            number = rng.choice(found)
            content = content[:number.start()] + rng.choice(NUMBERS) + content[number.end():]
        elif kind == "cut":
            content = content[:rng.randrange(len(content) + 1)]
        else:
            if kind == "line":
                del lines[at]
            elif kind == "double":
                lines.insert(at, lines[at])
            else:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            content = b"\n".join(lines)
    return content


def lesson(rng, folder, name):
    """A lesson's path, or its name in the course."""
    path = folder / f"{name}.toml"
    kind = rng.choice(["course", "generated", "generated", "by hand"])
    if kind == "generated":
        numbers = numpy.random.default_rng(rng.randrange(1 << 32))
        content = simulate.lesson_toml(simulate.random_lesson(numbers)).encode()
    else:
        source = rng.choice(COURSE if kind == "course" else BY_HAND)
        if kind == "course" and rng.random() < 0.6:
            return source.stem[3:]
        content = source.read_bytes()
    path.write_bytes(damaged(rng, content) if rng.random() < 0.3 else content)
    return str(path)


def model(rng, folder):
    """The options that name a small model with random weights, and what goes with it; bytes of its
    file may be changed, also in the header."""
    layout, tied = rng.choice(["out-in", "in-out"]), rng.random() < 0.3
    layers, heads, size = rng.randint(1, 3), rng.choice([1, 2, 4]), rng.choice([3, 5, 260])
    weights = gpt.random_weights(layers, 8, size, 9, layout, rng.randrange(99),
                                 rng.choice(["transformer.", ""]),
                                 layout == "in-out" or rng.random() < 0.7, tied, 0.3)
    path = folder / "model.safetensors"
    gpt.write_safetensors(path, weights, {"n_head": str(heads)},
                          rng.choice(["F64", "F32", "F16", "BF16"]))
    if rng.random() < 0.3:
        path.write_bytes(damaged(rng, path.read_bytes()))
    if size == 260:
        gpt.write_byte_pairs(folder, ["a t", "Ġ c", "Ġc at"], {"Ġc": 256, "Ġcat": 257, "at": 258})
        for file in ("vocab.json", "merges.txt"):
            if rng.random() < 0.1:
                (folder / file).write_bytes(damaged(rng, (folder / file).read_bytes()))
    text = rng.choice(["ABC", "CAB", "A", "BACABAB", "C A B"] * 4 + ["a cat", *WORDS])
    families = ["mingpt", "nanogpt"] if layout == "out-in" else ["gpt2"]
    words = ["--model", path, "--text", text,
             *some(rng, ["--continue", rng.choice(["1", "2", "3", "9", "0"])],
                   ["--family", rng.choice(families * 3 + ["gpt2", "bert"])],
                   ["--set", f"h{rng.randrange(layers)}.W_V[head 1,*,*]=0"])]
    if rng.random() < 0.1:
        words += some(rng, ["--model-heads", rng.choice(["1", "2", "4", "3", "0"])],
                      ["--vocabulary", rng.choice(["A,B,C", "A,B", "A,,B", "", "A,A"])])
    return words


def step_of_model(rng):
    name = rng.choice(["Q", "scores", "weights", "context", "residual", "gelu", "W_Q", "output"])
    return rng.choice([f"h{rng.randrange(3)}.{name}"] * 3 + ["probabilities", "logits", "embed"])


def work(soak, rng, lesson_path, name):
    """A directory with an export of the lesson, part of it damaged, lost or called otherwise."""
    folder = soak.folder / name
    soak.quietly("export", lesson_path, "-o", folder, "--format",
                 ",".join(rng.sample(FORMATS[:5], rng.randint(1, 2))),
                 *rng.choice([[], ["--digits", "2"], ["--plain"]]))
    if rng.random() < 0.2:
        soak.quietly("worksheet", lesson_path, "-o", folder, "--force")
    folder.mkdir(exist_ok=True)
    for file in sorted(folder.iterdir()):
        fate = rng.random()
        if fate < 0.1:
            file.unlink()
        elif fate < 0.4:
            file.write_bytes(damaged(rng, file.read_bytes()))
        elif fate < 0.45:
            file.rename(file.with_name(rng.choice(["Scores.csv", "q.npy", "x y.txt", "K.json"])))
    return str(folder)


# ---- what can be asked for ------------------------------------------------------------------------

def names_in(path):
    source = next((p for p in COURSE if p.stem[3:] == path), path)
    try:
        text = Path(source).read_text(errors="replace")
    except OSError:
        return ["scores"]
    return re.findall(r'^name\s*=\s*"([^"\n]+)"', text, re.M) or ["scores"]


def cell(rng, path):
    index = lambda: rng.choice(["1", "1", "2", "2"] * 4 + ["cat", "head 1", "0", "99", '"the"', "*", ""])
    count = rng.choice([2, 2, 2, 2, 3, 3, 1])
    return f"{rng.choice(names_in(path))}[{','.join(index() for _ in range(count))}]"


def changes(rng, path):
    words = []
    if rng.random() < 0.08:
        words += ["--text", rng.choice(WORDS)]
    while rng.random() < 0.1:
        words += ["--set", f"{cell(rng, path)}={rng.choice(NUMBERS).decode()}"]
    return words


def some(rng, *options):
    """Each of the options with a chance of one in five; one that is a list goes whole."""
    words = []
    for option in options:
        if rng.random() < 0.2:
            words += option if isinstance(option, list) else [option]
    return words


def digits(rng):
    return ["--digits", rng.choice(["0", "1", "2", "3", "9", "17"] * 3 + ["18", "-1", "x"])]


def run(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    step = lambda: rng.choice(names_in(path))
    return ["run", path, *changes(rng, path), *some(rng, digits(rng), ["--step", step()],
            ["--from", step()], ["--to", step()], "--pause", "--quiz", "--plain", ["--seed", "3"])]


def explain(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    return ["explain", path, cell(rng, path), *changes(rng, path),
            *some(rng, digits(rng), "--latex", "--json", "--all", ["--terms", "5"])]


def export(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    where = rng.choice([soak.folder / "out", soak.folder / "out", "-"])
    formats = [["--format", rng.choice(FORMATS)] for _ in range(rng.randint(0, 2))]
    return ["export", path, "-o", where, *sum(formats, []), *changes(rng, path),
            *some(rng, digits(rng), "--plain", ["--step", rng.choice(names_in(path))])]


def check(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    others = [work(soak, rng, path, f"work-{i}") for i in range(rng.choice([1, 1, 1, 2]))]
    return ["check", path, *others, *changes(rng, path),
            *some(rng, digits(rng), "--strict", "--no-answers", "--all", "--json",
                  ["--summary", "csv"])]


def compare(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    other = rng.choice([lambda: work(soak, rng, path, "work"), lambda: lesson(rng, soak.folder, "b")])
    return ["compare", *rng.sample([path, other()], 2),
            *some(rng, "--json", ["--rtol", "1e-3"], ["--atol", "inf"], ["--text", rng.choice(WORDS)])]


def report(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    return ["report", path, "-o", rng.choice([soak.folder / "page.html", "-"]), *changes(rng, path),
            *some(rng, digits(rng), "--force")]


def worksheet(soak, rng):
    path = lesson(rng, soak.folder, "lesson")
    return ["worksheet", path, "-o", soak.folder / "out", *changes(rng, path),
            *some(rng, digits(rng), "--force")]


def lint(soak, rng):
    return ["lint", *(lesson(rng, soak.folder, f"lesson-{i}") for i in range(rng.randint(1, 3))),
            *some(rng, "--strict", "--mistakes")]


def new(soak, rng):
    size = lambda: rng.choice(["2", "3", "4", "6", "8", "8", "1", "17", "-3", "x"])
    return ["new", soak.folder / "new.toml",
            *some(rng, ["--seed", size()], ["--tokens", size()], ["--d-model", size()],
                  ["--heads", size()], ["--kv-heads", size()], ["--style", rng.choice(["llama", "classic", "x"])],
                  "--causal", "--force")]


def params(soak, rng):
    size = lambda: rng.choice(["1", "2", "12", "768", "12288", "0", "-1", "18446744073709551615", "1e9"])
    return ["params", "--d-model", size(), *some(rng, ["--d-k", size()], ["--d-v", size()],
            ["--heads", size()], ["--layers", size()], ["--context", size()], "--json")]


def lessons(soak, rng):
    return ["lessons", *rng.choice([[], [lesson(rng, soak.folder, "lesson")]]),
            *some(rng, "--json", "--source", "--names")]


def heads(soak, rng):
    which = model(rng, soak.folder) if rng.random() < 0.7 else [lesson(rng, soak.folder, "lesson")]
    return ["heads", *which,
            *some(rng, digits(rng), "--json", ["--sort", rng.choice(["largest", "previous", "itself", "x"])])]


def of_model(soak, rng):
    """What is done with a lesson, done with a model."""
    which, step = model(rng, soak.folder), step_of_model(rng)
    exported = soak.folder / "work"
    soak.quietly("export", *which, "-o", exported)
    count = lambda: rng.choice(["1", "1", "2", "2", "3", "0"])
    return rng.choice([
        ["run", *which, *some(rng, ["--layer", count()], ["--head", count()], ["--step", step], "--quiz")],
        ["explain", *which, f"{step}[{rng.choice(['1,1', '2,1', 'head 1,2,1', '*,*', '9,9'])}]",
         *some(rng, "--json", "--all")],
        ["export", *which, "-o", soak.folder / "out", "--format", rng.choice(FORMATS),
         *some(rng, ["--step", step])],
        ["report", *which, "-o", soak.folder / "page.html"],
        ["compare", exported, *which], ["check", *which, exported, "--digits", "4"],
        ["worksheet", *which, "-o", soak.folder / "out"]])


COMMANDS = [heads, of_model, of_model, run, run, run, explain, explain, export, export, check, check, check, check, compare,
            compare, report, worksheet, lint, lint, new, params, lessons]


# ---- what must hold of it -------------------------------------------------------------------------

class Soak:
    def __init__(self, qkv, folder, rng):
        self.qkv, self.folder, self.rng = qkv, folder, rng
        self.environment = {**os.environ, "COLUMNS": rng.choice(["80", "80", "40", "1", "200", "x"]),
                            "OPENBLAS_NUM_THREADS": "1", "TERM": "xterm"}

    @staticmethod
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_WORK, MOST_WORK))

    def call(self, arguments, keys=b""):
        return subprocess.run([self.qkv, *map(str, arguments)], input=keys, env=self.environment,
                              capture_output=True, timeout=PATIENCE, check=False,
                              preexec_fn=self.limits)

    def quietly(self, *arguments):
        """A command that only prepares another: it must not crash, either."""
        judge(self.call(arguments), list(arguments))


def judge(done, arguments):
    if done.returncode not in (0, 1, 2):
        raise Failure(f"status {done.returncode}")
    if done.returncode == 1 and arguments[0] not in ("check", "compare"):
        raise Failure("status 1 is for check and compare")
    if done.returncode == 2 and not done.stderr.startswith(b"qkv: ") and arguments[0] != "lint":
        raise Failure("it failed and said nothing")
    if found := SANITIZER.search(done.stderr):
        raise Failure(f"it says {found.group().decode()}")
    binary = arguments[0] == "export" and "-" in arguments
    for stream, text in (("stdout", b"" if binary else done.stdout), ("stderr", done.stderr)):
        if "always" in arguments:
            text = COLOUR.sub(b"", text)
        if found := ESCAPES.search(text):
            raise Failure(f"{stream} has {found.group()!r}")


def files_in(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def judge_files(files, before):
    """What was written is whole."""
    for name, content in files.items():
        if before.get(name) == content:
            continue
        if Path(name).name.startswith(".") or name.endswith((".tmp", ".part")):
            raise Failure(f"{name} was left behind")
        if name.endswith(".json"):
            json.loads(content)
        if name.endswith((".html", ".csv", ".md", ".tex")) and not content.endswith(b"\n"):
            raise Failure(f"{name} is not whole")


def restored(folder, before):
    shutil.rmtree(folder)
    shutil.copytree(before, folder)


def keys_for(rng):
    typed = ["", "b", "e", "scores[1,1]", "g", "2", "q", "?", "s", "1", "0.5", "\x1b[A", "u", "\x00"]
    return "".join(rng.choice(typed) + "\n" for _ in range(rng.randrange(12))).encode()


def one_round(qkv, seed, number, folder, commands):
    """Plays round `number`; its command is left in `commands`."""
    rng = random.Random(f"{seed} {number}")
    soak = Soak(qkv, folder, rng)
    arguments = rng.choice(COMMANDS)(soak, rng)
    arguments += some(rng, ["--color", rng.choice(["always", "never", "auto"])])
    keys = keys_for(rng)
    commands.append([str(a) for a in arguments])
    copy = folder.with_name("before")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    first = soak.call(arguments, keys)
    judge(first, list(map(str, arguments)))
    files = files_in(folder)
    judge_files(files, files_in(copy))
    restored(folder, copy)
    again = soak.call(arguments, keys)
    if (first.returncode, first.stdout, first.stderr) != (again.returncode, again.stdout, again.stderr):
        raise Failure("the same command again says something else")
    if files != files_in(folder):
        raise Failure("the same command again writes something else")
    return first.returncode


def told(qkv, options, number, command, failure):
    print(f"round {number} (again: soak.py {qkv} --seed {options.seed} --round {number})\n"
          f"  {' '.join(map(repr, command))}\n  {failure}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("qkv")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int)
    parser.add_argument("--first", type=int, default=0, help="the round to begin with")
    options = parser.parse_args()
    qkv = str(Path(options.qkv).resolve())
    end = time.monotonic() + 60 * options.minutes
    number, failures, by_status = options.first, 0, {0: 0, 1: 0, 2: 0}
    # The same name in every round, as it is in the messages; another beside it has its own.
    scratch = Path(tempfile.gettempdir()) / f"qkv-soak-{os.getpid()}"
    while time.monotonic() < end if options.round is None else number == options.first:
        at = number if options.round is None else options.round
        folder = scratch / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        commands = []
        try:
            by_status[one_round(qkv, options.seed, at, folder, commands)] += 1
        except (Failure, subprocess.TimeoutExpired, ValueError) as failure:
            failures += 1
            told(qkv, options, at, commands[-1] if commands else ["(while preparing)"], failure)
        number += 1
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{number - options.first} commands, {failures} failures; "
          f"status 0: {by_status[0]}, 1: {by_status[1]}, 2: {by_status[2]}")
    return 0 if failures == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
