#!/usr/bin/python3
"""Whether the binary depends on where and when it was built: a part of it is built anew in two places,
and the binary is searched for what only this machine can have said. ./dev reproducible builds all of
it twice.

    same_bytes.py QKV
"""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from harness import Skipped, equal, main, qkv

ROOT = Path(__file__).resolve().parents[2]
# A room's sources together, one with templates and lambdas, and files that the assembler copies in.
SAMPLES = [("text", "unity_0_cxx.cxx"), ("trace", "unity_0_cxx.cxx"), ("lesson", "unity_0_cxx.cxx")]  # room, file


def build():
    """The directory of the build, which must be a release: others have their places in them."""
    directory = Path(qkv.path).parent
    if not re.search(r"^CMAKE_BUILD_TYPE:\w+=Release$", (directory / "CMakeCache.txt").read_text(), re.M):
        raise Skipped("only a release has the same bytes everywhere")
    return directory


def there(text, place):
    """A text as it were if the sources lay in `place`."""
    return re.sub(re.escape(str(ROOT)) + r"(?![\w.-])", str(place), text)


def copied(place):
    """The sources, and what the build has made of some of them, in a place of their own."""
    place.mkdir()
    for folder in ("src", "lessons", "models"):
        shutil.copytree(ROOT / folder, place / folder)
    for made in [file for name in ("cmake_pch.hxx", "embed_*.cpp", "unity_*.cxx")
                 for file in build().rglob(name)]:
        copy = place / made.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(there(made.read_text(), place))


def object_in(place, entry):
    """The object file that the build's own command makes of a source there."""
    words = [there(word, place) for word in shlex.split(entry["command"])]
    output = Path(there(entry["directory"], place)) / words[words.index("-o") + 1]
    output.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(words, cwd=there(entry["directory"], place), check=False, capture_output=True)
    equal(done.returncode, 0, done.stderr.decode()[:600])
    return output.read_bytes()


def two_places_give_the_same_bytes(folder):
    commands = json.loads((build() / "compile_commands.json").read_text())
    if ROOT not in build().parents:
        raise Skipped("the build lies elsewhere than its sources")
    places = [folder / "a", folder / "a-much-longer-name"]
    for place in places:
        copied(place)
    for room, sample in SAMPLES:
        entry, = [one for one in commands if re.search(rf"/src/{room}/(.+/)?{sample}$", one["file"])]
        one, other = [object_in(place, entry) for place in places]
        assert len(one) > 1000 and one == other, f"{sample} is not the same in two places"


def the_binary_tells_neither_place_nor_time(folder):
    build()
    content = Path(qkv.path).read_bytes()
    made = time.localtime(Path(qkv.path).stat().st_mtime)
    told = {"where its sources lay": str(ROOT), "where it was built": str(Path(qkv.path).parent),
            "the day, as __DATE__ has it": time.strftime("%b %e %Y", made)}
    if len(socket.gethostname()) > 6 and socket.gethostname() != "localhost":
        told["on which machine"] = socket.gethostname()
    for what, text in told.items():
        assert text.encode() not in content, f"it tells {what}: {text}"


CLAIMS = [two_places_give_the_same_bytes, the_binary_tells_neither_place_nor_time]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__.split("\n\n")[1], sys.argv[1:]))
