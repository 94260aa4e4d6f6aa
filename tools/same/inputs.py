"""What the compared commands read: numbers handed in, dumps of arrays, simulated learners."""

import json
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.insert(0, str(TESTS / "learners"))
import corpus  # noqa: E402
import simulate  # noqa: E402

LEARNERS = 20  # of each simulated lesson
SEED = 7


class Course:
    """The built-in lessons, as the old program tells of them."""

    def __init__(self, program, inputs):
        self.program = program
        self.lessons = {lesson["name"]: lesson["steps"]
                        for lesson in json.loads(self.said("lessons", "--json"))}
        self.formats = self.listed("export", next(iter(self.lessons)), "-o", ".", "--format", "none")
        self.commands = self.listed("none")
        self.manifests = {}
        for name in self.lessons:
            self.said("export", name, "-o", f"{inputs}/exported/{name}")
            manifest = inputs / "exported" / name / "00-lesson.json"
            self.manifests[name] = json.loads(manifest.read_text(encoding="utf-8"))

    def said(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, check=True,
                              timeout=300).stdout

    def listed(self, *words):
        """What a refusal lists: `there is no format "none"; there are csv, npy`."""
        refusal = subprocess.run([self.program, *words], capture_output=True, text=True,
                                 check=False, timeout=300).stderr
        return re.search(r"there are ([\w, -]+\w)", refusal)[1].split(", ")

    def answers(self, lesson, seed):
        """What the old program's quiz would hear gladly, a line a question."""
        asked = subprocess.run([self.program, "run", lesson, "--quiz", "--seed", str(seed)],
                               input="\n" * 100, capture_output=True, text=True, check=True,
                               timeout=300).stdout
        return re.findall(r"Skipped: .* = (.*)\.\n", re.sub(r"\n +", " ", asked) + "\n")


def altered_dumps(course, inputs):
    """Every lesson's arrays as .npz, with one number in each third of them moved a little."""
    (inputs / "altered").mkdir()
    for name in course.lessons:
        course.said("export", name, "--format", "npz", "-o", f"{inputs}/npz/{name}")
        file, = (inputs / "npz" / name).glob("*.npz")
        arrays = dict(np.load(file))
        for array in list(arrays.values())[2::3]:
            finite = np.argwhere(np.isfinite(array))
            if len(finite):
                array[tuple(finite[len(finite) // 2])] += 0.25
        np.savez(inputs / "altered" / f"{name}.npz", **arrays)


def simulated_lesson(folder, number, learners):
    wanted = SimpleNamespace(learners=learners, right=False)
    path, made = simulate.handed_in(wanted, simulate.generator(SEED, number), folder, number)
    return Path(path).name, [Path(learner.folder).name for learner in made]


def simulated(inputs, count):
    """That many simulated submissions: each lesson's file, and its submissions' directories."""
    folder = inputs / "simulated"
    folder.mkdir()
    numbers = range(count // LEARNERS)
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(simulated_lesson, [str(folder)] * len(numbers), numbers,
                             [LEARNERS] * len(numbers), chunksize=4))


def published(inputs):
    """The names of the published examples, which `in/corpus` leads to; none where there are none."""
    directory = corpus.directory()
    if not corpus.cases(directory):
        return []
    (inputs / "corpus").symlink_to(directory.resolve())
    return [case.name for case in corpus.cases(directory)]
