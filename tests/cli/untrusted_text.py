#!/usr/bin/python3
"""Text that means to do more than be read: in lessons, files, names and options, through every command.

    untrusted_text.py QKV

Nothing that moves a cursor, turns the reading direction or hides may reach standard output or
standard error as it is.
"""

import csv
import concurrent.futures
import fcntl
import io
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import unicodedata

import harness
from harness import equal, qkv

# ESC, BEL, backspace, DEL, a C1 control; overrides and isolates; zero-width characters, the byte
# order mark; line and paragraph separators; a tag character and a language's invisible letter.
EVIL = ("\x1b[2J\x07\x08\x7f\u009b31m\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u2028\u2029\U000e0041\u3164")
IN_NAMES = EVIL.replace("\x08", "")
ALLOWED = set("\n")


def escaped(text):
    return "".join(f"\\U{ord(c):08X}" if not c.isascii() or c < " " or c in '"\\\x7f' else c
                   for c in text)


E = escaped(EVIL)
LESSON = f"""
title = "{E} title"
summary = "{E} summary"
source = "{E} source"
tokens = ["{E} one", "two"]
[[given]]
name = "X"
value = [[1, 2], [3, 4]]
columns = ["{E} three", "four"]
[[given]]
name = "M"
value = [[1, 0], [1, 1]]
rows = ["{E} r", "s"]
columns = ["{E} a", "b"]
[[step]]
name = "Y"
op = "transpose"
of = ["X"]
title = "{E} title"
say = "{E} say {{Y[1,1]}}"
notice = "{E} notice"
try = \"\"\"
{E} try

    qkv run {E}
\"\"\"
[[step]]
name = "A"
op = "softmax"
of = ["X"]
say = "Words."
[[step]]
name = "B"
op = "score"
of = ["A", "M"]
say = "Words."
"""

BROKEN = f"""
"{E}key" = 1
text = "{E}"
vocabulary = ["{E}"]
convention = "{E}"
[random]
generator = "{E}"
[[given]]
name = "{E}"
value = [[1]]
[[given]]
name = "F"
file = "{E}.csv"
[[given]]
name = "G"
file = "/{E}.npz"
key = "{E}"
[[given]]
name = "P"
value = "1, {E}"
[[given]]
name = "L"
value = [[1]]
rows = ["{E}", "{E}"]
[[step]]
name = "{E}"
op = "{E}op"
of = ["{E}"]
[[step]]
name = "T"
op = "tokenise"
method = "{E}"
"{E}option" = 1
[[step]]
name = "S"
op = "softmax"
of = ["L"]
axis = "{E}"
say = "{{{E}}}"
cell = "{E}"
[[expect]]
of = "{E}"
value = "{E}"
"""


def unsafe(text):
    """The characters of the text that must not reach a terminal."""
    hidden = set()
    for c in text:
        if c not in ALLOWED and (unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")
                                 or c == "\u3164"):
            hidden.add(f"U+{ord(c):04X}")
    return hidden


def harmless(arguments, **options):
    # The order to set the terminal up is qkv's own; nothing here is a terminal, so there is none.
    done = subprocess.run([qkv.path, *map(os.fsencode, map(str, arguments))], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
                          **{"stdin": subprocess.DEVNULL, **options})
    what = " ".join(map(ascii, map(str, arguments)))[:300]
    assert done.returncode in (0, 1, 2), f"{what}: exit status {done.returncode}: {done.stderr!r}"
    for stream in (done.stdout, done.stderr):
        assert not unsafe(stream.decode()), f"{what}: {sorted(unsafe(stream.decode()))} got through"
    return done


def staged(folder):
    lesson = folder / f"lesson{IN_NAMES}.toml"
    lesson.write_text(LESSON)
    broken = folder / f"broken{IN_NAMES}.toml"
    broken.write_text(BROKEN)
    return lesson, broken


def walks_and_exports_show_no_raw_text(folder):
    lesson, _ = staged(folder)
    out = folder / f"out{IN_NAMES}"
    for arguments in (
            ["run", lesson], ["run", lesson, "--step", "A"], ["run", lesson, "--pause", "--plain"],
            ["run", lesson, "--quiz"], ["run", lesson, "--set", "X[1,1]=7"], ["lessons", lesson],
            ["explain", lesson, "B[1,1]"], ["explain", lesson, "B[1,1]", "--json"],
            ["explain", lesson, "B[1,1]", "--latex"], ["explain", lesson, "X[1,1]"],
            ["explain", lesson, "Y"], ["export", lesson, "-o", out],
            ["export", lesson, "-o", out, "--format", "csv,npy,npz,json,safetensors,markdown,latex"],
            ["export", lesson, "-o", "-"], ["export", lesson, "-o", "-", "--format", "json"],
            ["export", lesson, "-o", "-", "--format", "markdown"],
            ["export", lesson, "-o", "-", "--format", "latex"],
            ["worksheet", lesson, "-o", folder / f"sheet{IN_NAMES}"],
            ["report", lesson, "-o", folder / f"page{IN_NAMES}.html"],
            ["report", lesson, "-o", lesson], ["compare", lesson, out], ["compare", out, lesson],
            ["compare", out, lesson, "--json"], ["check", lesson, out], ["lint", lesson],
            ["compare", lesson, lesson, "--set", "X[1,1]=9"]):
        harmless(arguments)


def stepping_by_lines_shows_no_raw_text(folder):
    lesson, _ = staged(folder)
    keys = f"e\nY[{EVIL} three,1]\ns\nX[1,1]=5\ng\n{EVIL}\n/{EVIL}\n?\n\n\n\nq\n".encode()
    for mode in (["--pause"], ["--pause", "--plain"], ["--quiz"], ["--quiz", "--plain"]):
        harmless(["run", lesson, *mode], input=keys, stdin=None)


def screen_after(lesson, keys):
    """All that a terminal gets until the last of the keys is answered."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    running = subprocess.Popen([qkv.path, "run", os.fsencode(lesson)], stdin=side, stdout=side,
                               stderr=side, env={**os.environ, "TERM": "xterm"})
    os.close(side)
    shown = b""
    for key in [b"", *(keys[i:i + 1] for i in range(len(keys))), b"q"]:
        try:
            os.write(main, key)
            while select.select([main], [], [], 0.15 if shown else 30)[0]:  # slow to start at times
                shown += os.read(main, 65536)
        except OSError:  # it has ended
            break
    running.kill()
    running.wait()
    os.close(main)
    return shown


def the_screen_gets_no_raw_text(folder):
    """On a terminal qkv moves the cursor by itself: what it never sends is the rest."""
    lesson, _ = staged(folder)
    all_keys = (b"?q\x1bq", b"e\r?\x1b\x1bq", b"s\x1bgA\rq", b"\r\r\r\rq", b"hhh++q")
    with concurrent.futures.ThreadPoolExecutor(len(all_keys)) as side_by_side:  # most of it is waiting
        screens = list(side_by_side.map(lambda keys: screen_after(lesson, keys), all_keys))
    for keys, shown in zip(all_keys, screens, strict=True):
        assert b"title" in shown, shown[-300:]
        raw = unsafe(shown.decode()) - {"U+001B", "U+000D", "U+0008"}
        assert not raw and b"\x1b[2J\x07" not in shown, f"{keys!r}: {sorted(raw)} got through"


def faults_and_refusals_show_no_raw_text(folder):
    lesson, broken = staged(folder)
    for arguments in (
            ["run", broken], ["lint", broken], ["lint", folder / f"no{IN_NAMES}"], [EVIL],
            ["run", EVIL], ["run", f"{IN_NAMES}.toml"], [f"--{EVIL}"], ["--color", EVIL, "run"],
            ["--memory", EVIL, "run"], ["run", lesson, f"--{EVIL}"], ["run", lesson, EVIL],
            ["run", lesson, "--step", EVIL], ["run", lesson, "--from", EVIL],
            ["run", lesson, "--digits", EVIL], ["run", lesson, "--seed", EVIL],
            ["run", lesson, "--text", EVIL], ["run", "the-fat-cat", "--text", f"the {EVIL} cat"],
            ["run", lesson, "--set", f"{EVIL}=1"], ["run", lesson, "--set", EVIL],
            ["run", lesson, "--set", f"X[1,1]={EVIL}"], ["run", lesson, "--set", f"X[{EVIL},1]=1"],
            ["run", "--model", f"{IN_NAMES}.safetensors", "--text", EVIL],
            ["explain", lesson, EVIL], ["explain", lesson, f"Y[{EVIL},1]"],
            ["explain", lesson, f"{EVIL}[1,1]"], ["explain", lesson, "Y[1,1]", "--terms", EVIL],
            ["export", lesson, "-o", lesson], ["export", lesson, "-o", "-", "--step", EVIL],
            ["export", lesson, "-o", "-", "--format", EVIL], ["compare", EVIL, EVIL],
            ["compare", lesson, lesson, "--rtol", EVIL], ["check", lesson, EVIL],
            ["check", lesson, lesson, "--summary", EVIL], ["lessons", EVIL], ["params", EVIL],
            ["params", "--heads", EVIL], ["new", folder / EVIL / "x.toml"],
            ["new", folder / f"n{IN_NAMES}.toml", "--seed", EVIL], ["new", folder / f"n{IN_NAMES}.toml"], ["--color", EVIL]):
        harmless(arguments)


def submissions_and_dumps_show_no_raw_text(folder):
    lesson, _ = staged(folder)
    work = folder / f"work{IN_NAMES}"
    work.mkdir()
    (work / "Y.csv").write_text(f',"{EVIL}",b\n{IN_NAMES.replace(chr(0x2028), "")},1,3\nb,2,9\n')
    (work / f"{IN_NAMES}.csv").write_text("1,2\n3,4\n")
    (work / "A.csv").write_text(f"1,{EVIL}\n2,3\n")
    (work / "B.json").write_text(json.dumps({EVIL: [[1, EVIL]]}))
    (folder / "dump.json").write_text(json.dumps({EVIL: [[1, 2]], "Y": [[1, 2], [3, 4]]}))
    (folder / "bad.json").write_text('{"' + "\u202e" + '": [1, "\u202e"]}')
    (folder / "bad.txt").write_text(f"[[1, {EVIL}]]")
    (folder / "bad.safetensors").write_bytes(b"\x40" + b"\0" * 7 + json.dumps(
        {"\x1b\u202e": {"dtype": "\x1b", "shape": [1], "data_offsets": [0, 4]}}).encode()[:64].ljust(64))
    for path in (work, work / "Y.csv", work / "A.csv", work / "B.json", folder / "dump.json",
                 folder / "bad.json", folder / "bad.txt", folder / "bad.safetensors"):
        for arguments in (["check", lesson, path], ["check", lesson, path, "--json"],
                          ["check", lesson, path, "--all"], ["check", lesson, path, work],
                          ["check", lesson, path, work, "--summary", "csv"],
                          ["compare", path, lesson], ["compare", path, lesson, "--json"]):
            harmless(arguments)


def strings_of(parsed):
    """All texts of a JSON document."""
    if isinstance(parsed, str):
        return [parsed]
    if isinstance(parsed, dict):
        parsed = [*parsed, *parsed.values()]
    return [text for part in parsed for text in strings_of(part)] if isinstance(parsed, list) else []


def json_says_what_was_written(folder):
    lesson, _ = staged(folder)
    equal(harmless(["export", lesson, "-o", folder / "out"]).returncode, 0)
    assert f"{EVIL} three" in strings_of(json.loads((folder / "out" / "00-lesson.json").read_bytes()))
    out = harmless(["explain", lesson, "B[1,1]", "--json"])
    assert any(f"{EVIL} one" in text for text in strings_of(json.loads(out.stdout))), out.stdout


def labels_are_no_formulas(folder):
    starts = ["=", "+", "-", "@", "\t=", "\r=", " =", "  +", "\u00a0=", "\u200b=", "\ufeff=", "\u3000=",
              "＝", "＋", "－", "＠", "'=", "''=", "' =", "\u2003=", "\u2028+", "\u2029-", "\u0085@",
              "\v=", "\f+", "\u00ad=", "\u200f=", "\u202e+", "\u2066-", "\u1680=", "\u200d@",
              "\ufe0f=", "\u034f=", "\u3164=", "\0=", " \u2003\u200b\u00ad＝", "\x1b=", "\x7f+"]
    labels = [f"{start}cmd|' /C calc'!A0" for start in starts]
    lesson = folder / "lesson.toml"
    lesson.write_text('[[given]]\nname = "X"\nvalue = [[' + ", ".join(["1"] * len(labels)) + "]]\n"
                      + "columns = [" + ", ".join(f'"{escaped(label)}"' for label in labels) + "]\n"
                      + '[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\nsay = "Words."\n')
    equal(qkv("export", lesson, "-o", folder / "out").returncode, 0)
    with open(folder / "out" / "01-Y.csv", encoding="utf-8", newline="") as file:
        head = next(csv.reader(io.StringIO(file.read().replace("\0", "NUL"))))[1:]
    equal(len(head), len(labels))
    for cell, label in zip(head, labels):
        assert cell[0] == "'", repr(cell)
        label = label.replace("\0", "NUL")  # which Python's reader refuses
        equal(cell, label if label.startswith("' =") and cell == label else "'" + label)
    again = folder / "again.toml"
    again.write_text('[[given]]\nname = "X"\nfile = "out/01-Y.csv"\n[[step]]\nname = "Y"\nop = "relu"\n'
                     'of = ["X"]\nsay = "Words."\n')
    equal(qkv("compare", lesson, again).returncode, 0)
    equal(qkv("export", again, "-o", folder / "out2").returncode, 0)
    equal((folder / "out2" / "01-Y.csv").read_bytes(), (folder / "out" / "01-Y.csv").read_bytes())
    (folder / "=1+1").mkdir()
    (folder / "=1+1" / "Y.csv").write_text(",".join(["1"] * len(labels)) + "\n")
    marks = qkv("check", lesson, "=1+1", "out", "--summary", "csv", cwd=folder).stdout
    assert "\n'=1+1," in marks and "\n=" not in marks, marks


CLAIMS = [
    walks_and_exports_show_no_raw_text,
    stepping_by_lines_shows_no_raw_text,
    the_screen_gets_no_raw_text,
    faults_and_refusals_show_no_raw_text,
    submissions_and_dumps_show_no_raw_text,
    json_says_what_was_written,
    labels_are_no_formulas,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
