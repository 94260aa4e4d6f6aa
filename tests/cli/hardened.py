#!/usr/bin/python3
"""How the binary that users run is protected, read off the binary itself.

    hardened.py QKV

A library brings protected functions of its own, so what counts is what qkv's own functions do.
"""

import os
import re
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

from harness import Skipped, equal, main, qkv, sanitized

ROOT = Path(__file__).resolve().parents[2]


@cache
def said(*command):
    """What one of the binutils says of the program."""
    if sanitized():
        raise Skipped("a build with sanitizers is protected by them")
    return subprocess.run([*command, qkv.path], check=True, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}).stdout


def segments(kind):
    """Number and flags of the segments of a kind."""
    rows = re.findall(r"^  ([A-Z_]+) +(?:0x\w+ ){5}(.{3})", said("readelf", "-lW"), re.M)
    return [(number, flags) for number, (name, flags) in enumerate(rows) if name == kind]


@cache
def functions():
    """Name, address and size of each function."""
    rows = re.findall(r"^(\w+) (\w+) [tTwWi] (\S+)$", said("nm", "-S", "--defined-only"), re.M)
    return [(name, int(address, 16), int(size, 16)) for address, size, name in rows]


@cache
def own_functions():
    """Address and code of qkv's own functions, and of fmt's, which are compiled with them; only what
    this processor's compiler writes is known here."""
    if "X86-64" not in said("readelf", "-hW"):
        raise Skipped("only the code of x86-64 is known here")
    address, offset = re.search(r" \.text +PROGBITS +(\w+) (\w+)", said("readelf", "-SW")).groups()
    moved, content = int(offset, 16) - int(address, 16), Path(qkv.path).read_bytes()
    found = {name: (begin, content[begin + moved:begin + moved + size])
             for name, begin, size in functions() if re.match(r"main$|_ZNK?3(?:qkv|fmt)", name)}
    assert len(found) > 1000, f"only {len(found)} functions"
    return found


def calling(pattern):
    """Those of qkv's functions that call one whose name matches."""
    targets = {address for name, address, _ in functions() if re.search(pattern, name)}
    for name, (address, code) in own_functions().items():
        for call in re.finditer(rb"[\xe8\xe9](?=(....))", code, re.S):
            if address + call.start() + 5 + struct.unpack("<i", call[1])[0] in targets:
                yield name
                break


def it_is_loaded_wherever_the_system_likes(folder):
    assert "DYN (Position-Independent" in said("readelf", "-hW")


def the_release_needs_no_other_file(folder):
    if "QKV_STATIC:BOOL=ON" not in (Path(qkv.path).parent / "CMakeCache.txt").read_text():
        raise Skipped("this build links shared libraries")
    equal(segments("INTERP"), [])
    assert "(NEEDED)" not in said("readelf", "-dW"), "it needs a shared library"


def no_memory_is_both_written_and_run(folder):
    equal([flags for _, flags in segments("GNU_STACK")], ["RW "])
    equal([flags for _, flags in segments("LOAD") if "W" in flags and "E" in flags], [])


def what_is_mended_at_the_start_is_read_only_afterwards(folder):
    (number, _), = segments("GNU_RELRO")
    inside = re.search(rf"^   {number:02} +(.*)", said("readelf", "-lW"), re.M)[1].split()
    for name in (".dynamic", ".got", ".data.rel.ro", ".init_array"):
        assert name in inside, f"{name} can be written"
    assert re.search(r"\(FLAGS_1\) +Flags: NOW", said("readelf", "-dW")), "addresses are looked up later"


def functions_with_arrays_have_a_canary(folder):
    own_functions()
    guarded = sum(bool(re.search(rb"\x64\x48..\x25\x28\0\0\0", code, re.S))
                  for _, code in own_functions().values())
    assert guarded > 500, f"only {guarded} functions"
    assert len(set(calling("^__stack_chk_fail"))) > 500, "nothing looks at the canaries"


def calls_of_the_c_library_are_checked(folder):
    checked = set(calling(r"^__\w+_chk$"))
    assert checked, "no function calls a checked one"


def an_index_beyond_a_vector_ends_the_program(folder):
    checked = set(calling("^_ZSt21__glibcxx_assert_fail"))
    assert len(checked) > 300, f"only {len(checked)} functions"


def large_frames_touch_each_page(folder):
    probing = sum(b"\x48\x83\x0c\x24\x00" in code for _, code in own_functions().values())
    assert probing, "no function probes its stack"


def jumps_land_where_they_may(folder):
    # Those that a pointer can lead to; a part that was cut out of one, or is called here alone, is not.
    public = [code for name, (_, code) in own_functions().items()
              if "." not in name and "_GLOBAL__N_" not in name]
    marked = sum(code.startswith(b"\xf3\x0f\x1e\xfa") for code in public)
    assert marked > 0.99 * len(public), f"{marked} of {len(public)} functions"


def the_libraries_in_it_are_listed_with_versions(folder):
    listed = " ".join(qkv.printed("--version", "--verbose").split())
    for name in ("openblas", "utf8proc", "zlib", "nettle", "gcc-12", "glibc", "cli11", "fmtlib",
                 "nlohmann-json3", "tomlplusplus", "xtensor"):
        assert re.search(rf"\b{re.escape(name)} \d[\w.:+~-]+", listed), f"{name} is not in {listed}"


def no_path_of_the_build_stands_in_it(folder):
    said("readelf", "-hW")
    content = Path(qkv.path).read_bytes()
    for path in {ROOT, Path(qkv.path).parent}:
        at = content.find(os.fsencode(path))
        assert at < 0, f"{content[at:at + 100]} at byte {at}"


CLAIMS = [
    it_is_loaded_wherever_the_system_likes,
    the_release_needs_no_other_file,
    no_memory_is_both_written_and_run,
    what_is_mended_at_the_start_is_read_only_afterwards,
    functions_with_arrays_have_a_canary,
    calls_of_the_c_library_are_checked,
    an_index_beyond_a_vector_ends_the_program,
    large_frames_touch_each_page,
    jumps_land_where_they_may,
    the_libraries_in_it_are_listed_with_versions,
    no_path_of_the_build_stands_in_it,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
