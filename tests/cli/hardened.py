#!/usr/bin/python3
"""How the binary that users run is protected, read off the binary itself.

    hardened.py QKV

A library brings protected functions of its own, so what counts is what qkv's own functions do.
"""

import os
import re
import struct
import sys
from functools import cache
from pathlib import Path

import elf
from harness import Skipped, equal, main, qkv, sanitized

ROOT = Path(__file__).resolve().parents[2]
BIND_NOW, FLAGS, FLAGS_1 = 24, 30, 0x6FFFFFFB


@cache
def program():
    if sanitized():
        raise Skipped("a build with sanitizers is protected by them")
    return elf.Elf(Path(qkv.path).read_bytes())


@cache
def own_functions():
    """Address and code of qkv's own functions, and of fmt's, which are compiled with them; only what this processor's compiler writes
    is known here."""
    if program().machine != elf.X86_64:
        raise Skipped("only the code of x86-64 is known here")
    found = {symbol.name: (symbol.address, program().code(symbol)) for symbol in program().symbols
             if symbol.size and re.match(r"main$|_ZNK?3(?:qkv|fmt)", symbol.name)}
    assert len(found) > 1000, f"only {len(found)} functions"
    return found


def calling(pattern):
    """Those of qkv's functions that call one whose name matches."""
    targets = {symbol.address for symbol in program().symbols if re.search(pattern, symbol.name)}
    for name, (address, code) in own_functions().items():
        for call in re.finditer(rb"[\xe8\xe9](?=(....))", code, re.S):
            if address + call.start() + 5 + struct.unpack("<i", call[1])[0] in targets:
                yield name
                break


def it_is_loaded_wherever_the_system_likes(folder):
    equal(program().type, 3, "the type of a position independent program")
    assert program().dynamic.get(FLAGS_1, 0) & 0x08000000, "it is not marked as PIE"


def the_release_needs_no_other_file(folder):
    if "QKV_STATIC:BOOL=ON" not in (Path(qkv.path).parent / "CMakeCache.txt").read_text():
        raise Skipped("this build links shared libraries")
    equal(program().of_kind(elf.INTERP), [])
    assert 1 not in program().dynamic, "it needs a shared library"


def no_memory_is_both_written_and_run(folder):
    equal([segment.flags & elf.EXECUTABLE for segment in program().of_kind(elf.STACK)], [0])
    both = elf.EXECUTABLE | elf.WRITABLE
    equal([segment for segment in program().of_kind(elf.LOAD) if segment.flags & both == both], [])


def what_is_mended_at_the_start_is_read_only_afterwards(folder):
    relro, = program().of_kind(elf.RELRO)
    inside = range(relro.address, relro.address + relro.memory)
    for name in (".dynamic", ".got", ".data.rel.ro", ".init_array", ".preinit_array"):
        if name in program().sections:
            assert program().sections[name][3] in inside, f"{name} can be written"
    now = BIND_NOW in program().dynamic or program().dynamic.get(FLAGS, 0) & 8
    assert now and program().dynamic.get(FLAGS_1, 0) & 1, "addresses are looked up later"


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
    program()
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
