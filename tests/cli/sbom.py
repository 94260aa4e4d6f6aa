#!/usr/bin/python3
"""Whether the bill of materials is a valid one and names everything that is linked in.

    sbom.py QKV
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from harness import Skipped, equal, main, qkv

# The fields of SPDX 2.3 that a document and each of its packages must have, and what they may hold.
DOCUMENT = {
    "SPDXVersion": r"SPDX-2\.3", "DataLicense": r"CC0-1\.0", "SPDXID": "SPDXRef-DOCUMENT",
    "DocumentName": r"qkv-[\d.]+", "DocumentNamespace": r"https://\S+-[0-9a-f]{32}",
    "Creator": r"(Tool|Person|Organization): \S+", "Created": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}
LICENCE = r"[A-Za-z0-9.-]+( (AND|OR|WITH) [A-Za-z0-9.-]+)*"
PACKAGE = {
    "PackageName": r"\S+", "SPDXID": r"SPDXRef-[A-Za-z0-9.-]+", "PackageVersion": r"[\w.:+~-]+",
    "PackageDownloadLocation": "NOASSERTION", "FilesAnalyzed": "false",
    "PackageLicenseConcluded": LICENCE, "PackageLicenseDeclared": LICENCE,
    "PackageCopyrightText": ".+", "PrimaryPackagePurpose": "LIBRARY|APPLICATION"}
OPTIONAL = {"PackageFileName", "PackageHomePage", "ExternalRef"}
RELATION = re.compile(r"(\S+) (DESCRIBES|STATIC_LINK|DYNAMIC_LINK|CONTAINS) (\S+)")

# Which part a library that is linked belongs to, and a folder of headers that is included. What the
# compiler adds by itself is always there.
ALWAYS = {"libstdc++", "libgcc", "glibc"}
LIBRARIES = {"openblas": "OpenBLAS", "pcre2-8": "PCRE2", "utf8proc": "utf8proc", "z": "zlib",
             "gfortran": "libgfortran", "quadmath": "libquadmath", "m": "glibc", "dl": "glibc",
             "pthread": "glibc"}
HEADERS = {"CLI": "CLI11", "fast_float": "fast_float", "fmt": "fmt", "nlohmann": "nlohmann-json",
           "toml++": "tomlplusplus", "xtensor": "xtensor", "xtensor-blas": "xtensor-blas",
           "xflens": "xtensor-blas", "xtl": "xtl", "c++": "libstdc++", "linux": "glibc",
           "asm-generic": "glibc", "x86_64-linux-gnu": "glibc"}


@cache
def paragraphs():
    """The document and its packages, each as field → value, and the relations."""
    text = qkv.printed("--version", "--verbose")
    parts, relations = [{}], []
    for line in text.splitlines():
        if not line:
            parts.append({})
            continue
        field, value = line.split(": ", 1)
        if field == "Relationship":
            relations.append(RELATION.fullmatch(value).groups())
            continue
        assert field not in parts[-1], f"{field} stands twice"
        parts[-1][field] = value
    return [part for part in parts if part], relations


def packages():
    return {part["PackageName"]: part for part in paragraphs()[0][1:]}


def check(part, fields, optional=frozenset()):
    equal(set(part) - optional, set(fields), part.get("PackageName", "document"))
    for field, pattern in fields.items():
        assert re.fullmatch(pattern, part[field]), f"{field}: {part[field]}"


def it_has_what_spdx_wants(folder):
    document, *parts = paragraphs()[0]
    check(document, DOCUMENT)
    for part in parts:
        check(part, PACKAGE, OPTIONAL)
    ids = [part["SPDXID"] for part in parts]
    equal(len(ids), len(set(ids)))
    equal(document["DocumentName"], f"qkv-{packages()['qkv']['PackageVersion']}")
    equal(qkv.printed("--version"), f"qkv {packages()['qkv']['PackageVersion']}\n")


def every_part_is_said_to_be_in_it(folder):
    related = {(kind == "DESCRIBES", to) for _, kind, to in paragraphs()[1]}
    due = {(name == "qkv", part["SPDXID"]) for name, part in packages().items()}
    equal(related, due)


def versions_are_known(folder):
    unknown = [name for name, part in packages().items() if part["PackageVersion"] == "NOASSERTION"]
    equal(unknown, [])


def ninja(*words):
    """What Ninja says of the build that made this program."""
    build = Path(qkv.path).parent
    if not (build / "build.ninja").is_file():
        raise Skipped("it was not built by Ninja here")
    return subprocess.run(["ninja", "-C", build, *words], check=True, capture_output=True, text=True).stdout


def every_library_is_listed(folder):
    link = [line for line in ninja("-t", "commands", "qkv").splitlines() if " -o qkv " in line][-1]
    named = set(re.findall(r" -l(\w+)", link))
    named |= set(re.findall(r"/lib(\w+)\.(?:a|so)\S*(?= )", re.sub(r" src/\S+", "", link)))
    assert named, link
    missing = {LIBRARIES.get(name, name) for name in named} | ALWAYS
    equal(missing - set(packages()), set())


def every_folder_of_headers_is_listed(folder):
    objects = re.split(r"\n(?=\S)", ninja("-t", "deps"))
    own = "\n".join(one for one in objects if not one.startswith(("tests/", "tools/")))
    included = set(re.findall(r"^ +/usr/include/([^/\n]+)/", own, re.M))
    assert "fmt" in included, "the build knows no includes"
    equal({HEADERS.get(name, name) for name in included} - set(packages()), set())


def verbose_alone_is_no_request(folder):
    done = qkv("lessons", "--verbose")
    equal((done.returncode, done.stderr),
          (2, "qkv: --verbose goes with --version: qkv --version --verbose\n"))
    equal(qkv.printed("--verbose", "--version"), qkv.printed("--version", "--verbose"))


CLAIMS = [
    it_has_what_spdx_wants,
    every_part_is_said_to_be_in_it,
    versions_are_known,
    every_library_is_listed,
    every_folder_of_headers_is_listed,
    verbose_alone_is_no_request,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
