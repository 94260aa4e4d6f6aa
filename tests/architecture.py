#!/usr/bin/python3
"""Checks the rules for src/ that no compiler knows: who may include what, banned calls, its size.

    architecture.py [--sizes] [--budget]

Prints the faults, one a line with its place; the exit status is 1 if there are any.
--sizes also lists the files and functions that have grown long.
--budget also prints a table of the rooms, and the totals beside tests/budget.toml.
"""

import functools
import posixpath
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import sizes  # noqa: E402
from sizes import without_comments  # noqa: E402

# src/CMakeLists.txt lists the rooms of src/, the lowest first. A file includes files of its own room or
# of rooms below; folders inside a room make no difference. NARROW has the rooms that may see less.
NARROW = {"formats": ["text", "tensor"]}

# One file includes xtensor, another one its products.
DOORS = {"xtensor": "src/tensor/xt.hpp", "xtensor-blas": "src/tensor/matmul.cpp",
         "xflens": "src/tensor/matmul.cpp"}

# What must not stand in src/: a pattern, the reason, and the folder that may have it all the same.
REDUCERS = ("sum|prod|mean|average|variance|stddev|amax|amin|minmax|norm_\\w+|nan(?:sum|prod|mean|var|std)"
            "|count_nonzero|reduce(?:_immediate)?")
BANNED = [
    (r"XTENSOR_USE_XSIMD", "other machines get other bits with XSIMD", None),
    (r"xlinalg\.hpp|\bxt::linalg\b", "xtensor-blas's xlinalg is wrong for views: tensor/matmul.hpp", None),
    (r"\busing\s+namespace\s+xt\b", "write xt:: so that the reducers are seen", None),
    (r"\bxt::xarray\b", "dynamic rank is broken in C++20: xt::xtensor", None),
    (r"\bxt::(?:strided_view|dynamic_view)\b", "dynamic rank is broken in C++20: xt::view", None),
    (r"\bxt::pad\b", "dynamic rank is broken in C++20: xt::view of a larger container", None),
    (r"\bxt::load_(?:csv|npy)\b", "it takes broken files: formats/", None),
    (rf"\bxt::(?:{REDUCERS})\s*[(<]", "an unevaluated reducer reads out of bounds: the helpers of "
     "tensor/ return owned containers", "src/tensor/"),
    (r"(?<!region\.)\baxes\.(?:size\(\) - |end\(\) - |erase\(|insert\()", "a shape may have fewer axes: AxisRoles",
     "src/tensor/"),
]


MOST_FILES = 30     # in one folder of src/, its sub-folders not counted
LEAST_INCLUDERS = 2  # of a header in src/, besides its own source

INCLUDE = re.compile(r'#\s*include\s*\\?"([^"\\\n]+)\\?"')  # in a CMake script quotes are escaped


@functools.cache
def rooms():
    """Returns what each room may include, by the room's name."""
    names = re.findall(r"^(?:add_subdirectory\(|set\(program_rooms )([\w ]+)\)",
                       (ROOT / "src" / "CMakeLists.txt").read_text(), re.M)
    listed = " ".join(names).split()
    return {room: {room, *NARROW.get(room, listed[:place])} for place, room in enumerate(listed)}


def faults_of_includes(path, text):
    """Finds includes of a higher room, stray ones of xtensor, and paths that don't begin in src/."""
    allowed = rooms()
    room = path.split("/")[1]
    if "/" in path[len("src/"):] and room not in allowed:
        yield 1, f"src/{room} is no room of src/CMakeLists.txt: say there on what it stands"
    for number, line in enumerate(text.split("\n"), 1):
        include = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if not include:
            continue
        folder = (include[1] or include[2]).partition("/")[0]
        if folder in DOORS and path != DOORS[folder]:
            yield number, f"{folder} is included by {DOORS[folder]} alone"
        if include[1] and folder not in allowed:
            yield number, f'"{include[1]}": write the path from src/, which begins with a room'
        elif include[1] and room in allowed and folder not in allowed[room]:
            yield number, f'"{include[1]}": {room} must not see {folder}, which stands above it'


def faults_of_words(path, text):
    """Finds what BANNED has."""
    for pattern, why, but_in in BANNED:
        if but_in and path.startswith(but_in):
            continue
        for found in re.finditer(pattern, text):
            yield text.count("\n", 0, found.start()) + 1, f"{found[0].strip('(<')}: {why}"


def faults_of(path, text):
    """Returns all faults of one source, each with its place."""
    text = without_comments(text)
    return [f"{path}:{line}: {fault}" for line, fault in
            sorted([*faults_of_includes(path, text), *faults_of_words(path, text)])]


def includers(texts):
    """Returns the files that include a header, by the header's path; texts has all files by path."""
    found = defaultdict(set)
    for path, text in texts.items():
        for name in INCLUDE.findall(text if path.endswith(".cmake") else without_comments(text)):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            found[beside if beside in texts else f"src/{name}"].add(path)
    return found


def faults_of_headers(texts):
    """Finds headers of src/ that too few files include."""
    found = includers(texts)
    for path in sorted(texts):
        if path.startswith("src/") and path.endswith(".hpp"):
            others = found[path] - {path, path.removesuffix(".hpp") + ".cpp"}
            if len(others) < LEAST_INCLUDERS:
                yield (f"{path}: {' '.join(others) or 'nothing'} alone includes it besides its own source: "
                       "put it where it is used")


def faults_of_folders(paths):
    """Finds folders of src/ with too many files."""
    for folder, files in sorted(Counter(path.rpartition("/")[0] for path in paths).items()):
        if files > MOST_FILES:
            yield f"{folder}: {files} files in one folder, {MOST_FILES} at most: part it by subject"


def sizes_of(texts):
    """Returns how many lines, files and sources these files are."""
    return {"lines": sum(text.count("\n") for text in texts.values()), "files": len(texts),
            "sources": sum(path.endswith(".cpp") for path in texts)}


def faults_of_budget(texts, budget):
    """Finds what src/ has more of than the budget allows."""
    for what, there in sizes_of(texts).items():
        if there > budget[what]:
            yield f"src: {there} {what}, {there - budget[what]} more than tests/budget.toml allows"


# Each rule on a source that breaks it: the place and the beginning of the fault.
BROKEN = [
    ("src/ops/softmax.cpp", '// A comment.\n#include <xtensor/xmath.hpp>\n', "2: xtensor is included"),
    ("src/tensor/xt.hpp", '#include <xtensor-blas/xblas.hpp>\n', "1: xtensor-blas is included"),
    ("src/tensor/matmul.cpp", '#include <xtensor-blas/xlinalg.hpp>\n', "1: xlinalg.hpp: "),
    ("src/ops/softmax.cpp", '#include "formats/format.hpp"\n', '1: "formats/format.hpp": ops must'),
    ("src/ops/heads/heads.cpp", '#include "check/judge/judge.hpp"\n', '1: "check/judge/judge.hpp": ops must'),
    ("src/formats/arrays/npy.cpp", '#include "tokens/tokens.hpp"\n', '1: "tokens/tokens.hpp": formats must'),
    ("src/ops/attention/softmax.cpp", '#include "../relu.hpp"\n', '1: "../relu.hpp": write the path'),
    ("src/ops/catalogue.cpp", '#include "attention/softmax.hpp"\n', '1: "attention/softmax.hpp": write the'),
    ("src/formats/npy.cpp", '#include "ops/operation.hpp"\n', '1: "ops/operation.hpp": formats must'),
    ("src/attic/box.cpp", "\n", "1: src/attic is no room"),
    ("src/ops/softmax.cpp", "auto z = xt::sum(e, {1});\n", "1: xt::sum: "),
    ("src/check/slips.cpp", "xt::xarray<double> a;\n", "1: xt::xarray: "),
    ("src/ops/add.cpp", "#define XTENSOR_USE_XSIMD\n", "1: XTENSOR_USE_XSIMD: "),
    ("src/ops/add.cpp", "f(\n  xt::strided_view(a, {}));\n", "2: xt::strided_view: "),
]
SOUND = [
    ("src/ops/attention/softmax.cpp", '#include "ops/kinds/line.hpp"\n#include "tensor/xt.hpp"\n'),
    ("src/tensor/xt.hpp", '#include <xtensor/xmath.hpp>\nreturn xt::eval(xt::amax(m, {1}));\n'),
    ("src/tensor/matmul.cpp", '#include <xtensor-blas/xblas.hpp>\n#include "tensor/xt.hpp"\n'),
    ("src/cli/run.cpp", '#include "text/strings.hpp"  // no xt::xarray\n'),
    ("src/ops/relu.cpp", 'say("xt::sum(e)");\nm = xt::maximum(m, 0);\n'),
]


def faults_of_example_budget(texts):
    return faults_of_budget(texts, {"lines": 2, "files": 2, "sources": 1})


# The same for rules on all of src/: the rule, the files, and the beginning of the only fault or None.
TWO_USERS = {"src/ops/a.hpp": "", "src/ops/a.cpp": '#include "ops/a.hpp"\n',
             "src/cli/b.cpp": '#include "ops/a.hpp"\n'}
WHOLE = [
    (faults_of_headers, {"src/ops/a.hpp": "", "src/ops/a.cpp": '#include "ops/a.hpp"\n'},
     "src/ops/a.hpp: nothing alone"),
    (faults_of_headers, TWO_USERS, "src/ops/a.hpp: src/cli/b.cpp alone"),
    (faults_of_headers, {**TWO_USERS, "src/cli/c.cpp": '// #include "ops/a.hpp"\n'}, "src/ops/a.hpp: src"),
    (faults_of_headers, {**TWO_USERS, "src/page/a.cpp": '#include "ops/a.hpp"\n'}, None),
    (faults_of_headers, {**TWO_USERS, "tests/unit/ops/a.cpp": '#include "ops/a.hpp"\n'}, None),
    (faults_of_headers, {**TWO_USERS, "tools/fuzz/a.cpp": '#include "ops/a.hpp"\n'}, None),
    (faults_of_headers, {**TWO_USERS, "cmake/a.cmake": 'file(WRITE a "#include \\"ops/a.hpp\\"")'}, None),
    (faults_of_headers, {**TWO_USERS, "tests/a.hpp": "", "tests/b.cpp": '#include "a.hpp"\n'}, "src/ops/a"),
    (faults_of_folders, [f"src/ops/{i}.cpp" for i in range(MOST_FILES + 1)], "src/ops: 31 files"),
    (faults_of_folders, [f"src/ops/{part}/{i}.cpp" for part in "ab" for i in range(MOST_FILES)], None),
    (faults_of_example_budget, {"a.cpp": "1\n2\n3\n"}, "src: 3 lines, 1 more"),
    (faults_of_example_budget, {"a.cpp": "", "b.hpp": "", "c.js": ""}, "src: 3 files, 1 more"),
    (faults_of_example_budget, {"a.cpp": "", "b.cpp": ""}, "src: 2 sources, 1 more"),
    (faults_of_example_budget, {"a.cpp": "1\n", "b.hpp": "1\n"}, None),
]


def faults_of_rules():
    """Finds rules that miss what they are for, or that find a fault where there is none."""
    for path, text, due in BROKEN:
        found = faults_of(path, text)
        if len(found) != 1 or not found[0].startswith(f"{path}:{due}"):
            yield f"tests/architecture.py: {path} with {text!r} should say {due!r} and says {found}"
    for path, text in SOUND:
        for fault in faults_of(path, text):
            yield f"tests/architecture.py: {text!r} is sound, but: {fault}"
    for rule, files, due in WHOLE:
        found = list(rule(files))
        if len(found) != (due is not None) or due and not found[0].startswith(due):
            yield f"tests/architecture.py: {files!r} should say {due!r} and says {found}"


def files_of(*folders):
    """Returns the texts of the files of src/, and of other folders the C++ and CMake files, by path."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders],
                            cwd=ROOT, check=False, capture_output=True)
    paths = listed.stdout.decode().split("\0") if listed.returncode == 0 else \
        [str(file.relative_to(ROOT)) for folder in folders for file in (ROOT / folder).rglob("*")]
    code = (".cpp", ".hpp", ".cmake")
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in sorted(set(paths))
            if (path.startswith("src/") or path.endswith(code)) and (ROOT / path).is_file()}


def print_budget(texts, budget):
    """Prints the rooms, the largest first, and the totals beside the budget."""
    by_room = defaultdict(dict)
    for path, text in texts.items():
        by_room[path.split("/")[1] if path.count("/") > 1 else "(none)"][path] = text
    line = "{:12} {:>6} {:>8} {:>8} {:>7} {:>11}".format
    print(line("room", "files", "sources", "headers", "lines", "lines/file"))

    def row(name, own):
        size = sizes_of(own)
        headers = sum(path.endswith(".hpp") for path in own)
        mean = round(size["lines"] / size["files"])
        print(line(name, size["files"], size["sources"], headers, size["lines"], mean))

    for name, own in sorted(by_room.items(), key=lambda room: -sizes_of(room[1])["lines"]):
        row(name, own)
    row("all", texts)
    print(line("budget", budget["files"], budget["sources"], "", budget["lines"], ""))
    left = {what: budget[what] - there for what, there in sizes_of(texts).items()}
    print(line("left", left["files"], left["sources"], "", left["lines"], ""))


def main():
    wanted = set(sys.argv[1:])
    if not wanted <= {"--sizes", "--budget"}:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    budget = tomllib.loads((ROOT / "tests" / "budget.toml").read_text(encoding="utf-8"))
    texts = files_of("src", "tests", "tools", "cmake")
    own = {path: text for path, text in texts.items() if path.startswith("src/")}
    code = {path: text for path, text in own.items() if path.endswith((".cpp", ".hpp"))}
    faults = [*faults_of_rules(), *(fault for path, text in code.items() for fault in faults_of(path, text)),
              *faults_of_headers(texts), *faults_of_folders(own), *faults_of_budget(own, budget)]
    for fault in faults:
        print(fault)
    if "--sizes" in wanted:
        sizes.report(ROOT)
    if "--budget" in wanted:
        print_budget(own, budget)
    print(f"{len(code)} sources and headers, {len(rooms())} rooms; faults: {len(faults) or 'none'}")
    return 1 if faults or not code else 0


if __name__ == "__main__":
    sys.exit(main())
