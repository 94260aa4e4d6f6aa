#!/usr/bin/python3
"""Holds README.md and the pages of docs/ to the program: each example in them is run.

    pages.py QKV              every page
    pages.py QKV --rewrite    puts what QKV prints into their examples: read the diff!

Every fenced block of a page is one of these; the blocks of a page share a temporary directory that
has examples/ and lessons/ in it:

    ```console     a session as in examples/*.session; where it shows no output at all, a list of
                   commands, each of which must succeed
    ```toml NAME   a lesson file, which the commands behind it find by that name; lint must like it
    ```sh          for the developer's own shell: not run
    ```python      run by tests/python/package.py

A command or an option of qkv's that stands in a sentence (`qkv run --step`) must exist, links must
lead to a file, and docs/options.md must have all of them.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import sessions

ROOT = sessions.EXAMPLES.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")),
         ROOT / "lessons" / "README.md", ROOT / "models" / "README.md"]
FENCE = re.compile(r"^```(\w*) ?(.*)\n((?:.*\n)*?)^```$", re.M)


def run_block(parts, folder, program):
    """What is wrong with the commands of a block, and the block as it should be."""
    is_list = not any(part.due for part in parts)
    faults, played = [], []
    for part in parts:
        got, status = sessions.run(part.command, folder, program)
        if is_list:
            part.due = got
        faults.append(sessions.complaint(part, got, status))
        played.append((part, got, status))
    return [fault for fault in faults if fault], is_list, played


def run_page(text, program):
    """The faults of a page's blocks, how many commands it has, and its text rewritten."""
    faults, commands = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "lessons"):
            shutil.copytree(ROOT / name, Path(folder) / name)

        def played(block):
            nonlocal commands
            kind, name, body = block.groups()
            if kind == "console":
                parts, below = sessions.parts_of(body)
                commands += len(parts)
                wrong, is_list, done = run_block(parts, folder, program)
                faults.extend(wrong)
                return block[0] if is_list else f"```console\n{sessions.rewritten(done, below)}```"
            if kind == "toml" and name:
                (Path(folder) / name).write_text(body, encoding="utf-8")
                lines, status = sessions.run(f"qkv lint {name}", folder, program)
                faults.extend(lines if status else [])
            elif kind not in ("sh", "text", "python"):  # text: a picture
                faults.append(f"```{kind} {name}: no kind of block that is tested; see tests/cli/pages.py")
            return block[0]

        again = FENCE.sub(played, text)
    return faults, commands, again


def declared(program):
    """The options of each command, those of qkv itself under ""."""
    def offered(words):
        return {line.split("\t")[0] for line in sessions.run(f"qkv --complete {words}", ROOT, program)[0]}

    return {name: offered(f"{name} -") for name in ["", *offered("''")]}


def faults_of_spans(text, options):
    """Commands and options in sentences that qkv does not have."""
    every = set().union(*options.values())
    for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        words = span.split()
        if words[0] == "qkv" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            if words[1] not in {*options, "help"}:
                yield f"`{span}`: there is no command {words[1]}"
            allowed = options.get(words[1], set()) | options[""]
        elif words[0].startswith("--") or words[0] == "qkv":
            allowed = every
        else:
            continue
        for word in words:
            option = re.match(r"--[\w-]+", word)
            if option and option[0] not in allowed:
                yield f"`{span}`: there is no option {option[0]}"


def faults_of_links(page, text):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", text):
        if not (page.parent / target).exists():
            yield f"there is no {target} to link to"


def missing_options(options):
    """What docs/options.md leaves out."""
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    names = set().union(*options.values()) | {f"qkv {command}" for command in options if command}
    return [f"docs/options.md: {name} is not in it" for name in sorted(names)
            if not re.search(rf"`{re.escape(name)}(?![\w-])", text)]


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--rewrite"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program = arguments[0]
    options = declared(program)
    faults = missing_options(options)
    commands = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        wrong, count, again = run_page(text, program)
        commands += count
        if arguments[1:]:
            page.write_text(again, encoding="utf-8")
        faults += [f"{page.relative_to(ROOT)}: {fault}" for fault in
                   [*wrong, *faults_of_spans(text, options), *faults_of_links(page, text)]]
    for fault in faults:
        print(fault)
    print(f"{commands} commands in {len(PAGES)} pages; faults: {len(faults) or 'none'}")
    return 1 if faults or not commands or not options else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
