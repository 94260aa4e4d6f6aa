#!/usr/bin/python3
"""The man page and the completions, in the shells that are there (bash always, zsh and fish if they
are installed), and where `cmake --install` puts them.

    shell.py QKV [BUILD_DIRECTORY]
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMPLETIONS = Path(__file__).resolve().parents[2] / "completions"
MAN_PAGE = Path(__file__).resolve().parents[2] / "tools" / "man_page.sh"
FIRST_STEPS = ["token_ids"]
SCORES = ["scores"]

# What is typed, and what is offered for its last word (all of it, or some of it after "…").
TYPED = [
    ("qkv ex", ["explain", "export"]),
    ("qkv run the-f", ["the-fat-cat"]),
    ("qkv run the-fat-cat --step token", FIRST_STEPS),
    ("qkv run --step token", FIRST_STEPS),  # of the first lesson, which run takes by itself
    ("qkv run --text x the-fat-cat --from scor", SCORES),
    ("qkv run toy-attention --step sco", ["scores", "scores_transposed"]),
    ("qkv run own.toml --step so", ["softened"]),
    ("qkv export the-fat-cat --form", ["--format"]),
    ("qkv export the-fat-cat --format cs", ["csv"]),
    ("qkv --color al", ["always"]),
    ("qkv check --digits 3 cau", ["causal"]),
    ("qkv explain causal --lat", ["--latex"]),
    ("qkv report the-fat-cat -o pa", ["page.html"]),
    ("qkv check the-fat-cat page.html my-w", ["my-work/"]),
    ("qkv compare the-f", ["the-fat-cat"]),
    ("qkv compare the-fat-cat pa", ["page.html"]),
    ("qkv run ow", ["own.toml"]),
]
OWN_LESSON = """title = "Own"
[[given]]
name = "S"
value = [[1, 2]]
[[step]]
name = "softened"
op = "softmax"
of = ["S"]
"""
BASH = """
source "$1"
IFS=$'\\t' read -ra COMP_WORDS <<< "$2"
[[ $2 == *$'\\t' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_qkv
printf '%s\\n' "${COMPREPLY[@]}"
"""

faults = []


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}\n  found  {found}\n  wanted {wanted}")


def output_of(*command, **options):
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    expect(f"{command[:3]}: messages", ran.stderr, "")
    return ran.stdout


def in_bash(script, typed):
    words = typed.replace("=", " = ").split(" ")  # as bash cuts them
    return sorted(set(output_of("bash", "-c", BASH, "bash", script, "\t".join(words)).split()))


def in_fish(script, typed):
    told = output_of("fish", "-c", f"source {script}; complete -C '{typed}'")
    return sorted(line.split("\t")[0] for line in told.splitlines())


class Zsh:
    """A zsh that believes that somebody sits before it."""

    def __init__(self, script):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(TERM="dumb", PS1="", LC_ALL="C.UTF-8")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type("unsetopt zle_bracketed_paste; PS1=; bindkey -e; LISTMAX=1000; "
                  "autoload -U compinit; compinit -u -D; "
                  f"source {script}; zstyle ':completion:*' insert-unambiguous false; "
                  "print -r -- rea'dy'\n")
        self.read_until("ready")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, mark, seconds=20):
        text, end = "", time.monotonic() + seconds
        while mark not in text and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                text += os.read(self.terminal, 4096).decode(errors="replace")
        return text

    def complete(self, typed):
        """The whole line after Tab; a single offer has been put in."""
        self.type(f"print -r -- sta'rt'\n")
        self.read_until("start")
        self.type(f"{typed}\t")
        time.sleep(0.7)
        self.type("\x01print -r -- \x05 en'd'\n")  # to the line's beginning, and to its end
        return self.read_until(" end").split("print -r -- ")[-1]

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def offers(program, folder):
    bin_directory = folder / "bin"
    bin_directory.mkdir()
    (bin_directory / "qkv").symlink_to(program)
    os.environ["PATH"] = f"{bin_directory}:{os.environ['PATH']}"
    (folder / "own.toml").write_text(OWN_LESSON)
    (folder / "page.html").write_text("")
    (folder / "my-work").mkdir()
    os.chdir(folder)
    for shell, complete in [("bash", in_bash), ("fish", in_fish)]:
        if not shutil.which(shell):
            print(f"{shell} is not there")
            continue
        script = COMPLETIONS / f"qkv.{shell}"
        for typed, wanted in TYPED:
            # bash puts the slash behind a directory by itself
            due = [word.rstrip("/") if shell == "bash" else word for word in wanted]
            expect(f"{shell}: {typed}", complete(script, typed), due)
        expect(f"{shell}: every command", set(complete(script, "qkv ")) >= {"run", "check"}, True)
        expect(f"{shell}: --step=sc", complete(script, "qkv run the-fat-cat --step=sco"),
               SCORES if shell == "bash" else ["--step=scores"])  # bash cuts the word there
        expect(f"{shell}: a cell", complete(script, "qkv explain the-fat-cat sco"), ["scores["])


def offers_in_zsh():
    if not shutil.which("zsh"):
        print("zsh is not there")
        return
    script = COMPLETIONS / "_qkv"
    output_of("zsh", "-n", script)
    zsh = Zsh(script)
    for typed, wanted in TYPED:
        if len(wanted) == 1:
            line = zsh.complete(typed)
            expect(f"zsh: {typed}: {line!r}", wanted[0].rstrip("/") in line, True)
    zsh.close()


def man_page(program, folder):
    page = folder / "qkv.1"
    page.write_text(output_of(MAN_PAGE, program))
    if shutil.which("groff"):
        environment = {**os.environ, "MANWIDTH": "80"}
        text = output_of("groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", str(page),
                         env=environment)
        for part in ["qkv check [OPTIONS] LESSON PATH...", "--no-answers", "qkv explain the-fat-cat "
                     "'scores[cat,fat]'", "EXIT STATUS", "(1024, 2048, … 1048576)", "the-fat-cat"]:
            expect(f"the man page says {part}", part in text, True)
    if shutil.which("mandoc"):
        told = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True,
                              text=True, timeout=60).stdout
        expect("mandoc", [line for line in told.splitlines() if "missing date" not in line], [])


def helps(program):
    listed = output_of(program, "help").split("Commands:\n", 1)[1].split("\n\n")[0]
    commands = re.findall(r"^  (\w+) ", listed, re.MULTILINE)
    expect("commands in the list", "params" in commands, True)
    for command in commands:
        text = output_of(program, command, "--help", env={**os.environ, "COLUMNS": "80"})
        expect(f"lines of {command} --help over 80 columns",
               [line for line in text.splitlines() if len(line) > 80], [])
        expect(f"qkv help {command}",
               output_of(program, "help", command, env={**os.environ, "COLUMNS": "80"}), text)


def installed(build, folder):
    output_of("cmake", "--install", build, "--prefix", str(folder / "prefix"))
    for file in ["bin/qkv", "share/man/man1/qkv.1", "share/bash-completion/completions/qkv",
                 "share/zsh/site-functions/_qkv", "share/fish/vendor_completions.d/qkv.fish"]:
        path = folder / "prefix" / file
        expect(f"{file} is there, and holds something", path.is_file() and path.stat().st_size > 500,
               True)


def main(arguments):
    program = str(Path(arguments[0]).resolve())
    build = Path(arguments[1]).resolve() if len(arguments) > 1 else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        offers(program, folder)
        offers_in_zsh()
        man_page(program, folder)
        helps(program)
        if build:
            installed(build, folder)
        os.chdir("/")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
