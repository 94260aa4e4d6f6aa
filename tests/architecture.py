#!/usr/bin/python3
"""Holds the sources to the rules of the house that no compiler knows.

    architecture.py [--sizes]

Faults go to standard output, one a line with its place; the exit status is 1 where there are any.
--sizes also lists files and functions that have grown long.
"""

import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import sizes  # noqa: E402
from sizes import without_comments  # noqa: E402

# The rooms of src/ stand in src/CMakeLists.txt, the lowest first: a file includes what is in its own
# room or below. Here is what a room sees that must not see all below it.
NARROW = {"formats": ["text", "tensor"]}

# xtensor has one door, and its products another.
DOORS = {"xtensor": "src/tensor/xt.hpp", "xtensor-blas": "src/tensor/matmul.cpp",
         "xflens": "src/tensor/matmul.cpp"}

# What must not stand anywhere in src/: a pattern, why, and the folder that may have it all the same.
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
]


@functools.cache
def rooms():
    """What each room may include, by its name."""
    listed = re.findall(r"^add_subdirectory\((\w+)\)", (ROOT / "src" / "CMakeLists.txt").read_text(), re.M)
    return {room: {room, *NARROW.get(room, listed[:place])} for place, room in enumerate(listed)}


def faults_of_includes(path, text):
    """Includes that go up, or that pass xtensor's door."""
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
        if include[1] and room in allowed and folder in allowed and folder not in allowed[room]:
            yield number, f'"{include[1]}": {room} must not see {folder}, which stands above it'


def faults_of_words(path, text):
    for pattern, why, but_in in BANNED:
        if but_in and path.startswith(but_in):
            continue
        for found in re.finditer(pattern, text):
            yield text.count("\n", 0, found.start()) + 1, f"{found[0].strip('(<')}: {why}"


def faults_of(path, text):
    """All faults of one source, each with its place."""
    text = without_comments(text)
    return [f"{path}:{line}: {fault}" for line, fault in
            sorted([*faults_of_includes(path, text), *faults_of_words(path, text)])]


# Each rule on a source that breaks it: the place and the beginning of the fault.
BROKEN = [
    ("src/ops/softmax.cpp", '// A comment.\n#include <xtensor/xmath.hpp>\n', "2: xtensor is included"),
    ("src/tensor/xt.hpp", '#include <xtensor-blas/xblas.hpp>\n', "1: xtensor-blas is included"),
    ("src/tensor/matmul.cpp", '#include <xtensor-blas/xlinalg.hpp>\n', "1: xlinalg.hpp: "),
    ("src/ops/softmax.cpp", '#include "formats/numeral.hpp"\n', '1: "formats/numeral.hpp": ops must'),
    ("src/formats/npy.cpp", '#include "ops/mistake.hpp"\n', '1: "ops/mistake.hpp": formats must'),
    ("src/attic/box.cpp", "\n", "1: src/attic is no room"),
    ("src/ops/softmax.cpp", "auto z = xt::sum(e, {1});\n", "1: xt::sum: "),
    ("src/check/slips.cpp", "xt::xarray<double> a;\n", "1: xt::xarray: "),
    ("src/ops/add.cpp", "#define XTENSOR_USE_XSIMD\n", "1: XTENSOR_USE_XSIMD: "),
    ("src/ops/add.cpp", "f(\n  xt::strided_view(a, {}));\n", "2: xt::strided_view: "),
]
SOUND = [
    ("src/tensor/xt.hpp", '#include <xtensor/xmath.hpp>\nreturn xt::eval(xt::amax(m, {1}));\n'),
    ("src/tensor/matmul.cpp", '#include <xtensor-blas/xblas.hpp>\n#include "tensor/xt.hpp"\n'),
    ("src/cli/run.cpp", '#include "text/error.hpp"  // no xt::xarray\n'),
    ("src/ops/relu.cpp", 'say("xt::sum(e)");\nm = xt::maximum(m, 0);\n'),
]


def faults_of_rules():
    """Whether the rules find what they are there for, and nothing else."""
    for path, text, due in BROKEN:
        found = faults_of(path, text)
        if len(found) != 1 or not found[0].startswith(f"{path}:{due}"):
            yield f"tests/architecture.py: {path} with {text!r} should say {due!r} and says {found}"
    for path, text in SOUND:
        for fault in faults_of(path, text):
            yield f"tests/architecture.py: {text!r} is sound, but: {fault}"


def main():
    if sys.argv[1:] not in ([], ["--sizes"]):
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    faults = list(faults_of_rules())
    sources = sorted(file for end in ("cpp", "hpp") for file in (ROOT / "src").rglob(f"*.{end}"))
    for file in sources:
        faults += faults_of(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))
    for fault in faults:
        print(fault)
    if sys.argv[1:]:
        sizes.report(ROOT)
    print(f"{len(sources)} sources, {len(rooms())} rooms; faults: {len(faults) or 'none'}")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
