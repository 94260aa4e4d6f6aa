#!/usr/bin/python3
"""What qkv does when the world does not go along: full disks, closed pipes, hostile names.

    faults.py QKV

Each function below is one claim. What the machine can't stage (a small file system, another user)
is skipped and said.
"""

import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import Skipped, equal, main, sanitized
from harness import qkv as program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LESSON = str(EXAMPLES / "two-words.toml")
NOBODY = 65534

HOSTILE = "\x1b[2J\u009b31m\u202e"
RAW = {"ESC": b"\x1b", "C1": "\u009b".encode(), "bidi": "\u202e".encode()}

LARGE = """
[random]
seed = 0
[[given]]
name = "A"
randn = [700, 700]
"""


def qkv(*arguments, **options):
    """Runs qkv with its streams kept as bytes."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "timeout": 60, "env": {**os.environ, "COLUMNS": "80", "TERM": "xterm"}, **options}
    return subprocess.run([program.path, *map(os.fsencode, arguments)], check=False, **options)


def fails(done, message):
    """Status 2, and the message alone on stderr."""
    equal((done.returncode, done.stderr.decode()), (2, f"qkv: {message}\n"))


def steps(count):
    """A lesson with large matrices, so that an export takes long enough to be interrupted."""
    made = "".join(f'[[step]]\nname = "S{i}"\nop = "relu"\nof = ["A"]\n' for i in range(count))
    return LARGE + made


# ---- writing ------------------------------------------------------------------------------------


def a_full_disk_under_stdout_is_no_success(folder):
    with open("/dev/full", "wb") as full:
        for command in (["run", LESSON], ["lessons"], ["export", LESSON, "-o", "-"], ["--help"],
                        ["explain", LESSON, "scores[1,1]"], ["lint", LESSON]):
            fails(qkv(*command, stdout=full),
                  "the output could not be written: No space left on device")


def an_export_that_does_not_fit_leaves_no_half_file(folder):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    (folder / "large.toml").write_text(steps(1))
    done = qkv("export", folder / "large.toml", "-o", folder / "out", preexec_fn=small_files)
    fails(done, f"{folder}/out/given-A.csv: the file cannot be written: File too large")
    equal(os.listdir(folder / "out"), [])


def an_export_to_a_full_file_system_leaves_no_half_file(folder):
    disk = folder / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=False,
            stderr=subprocess.DEVNULL).returncode != 0:
        raise Skipped("no small file system can be mounted")
    try:
        (folder / "large.toml").write_text(steps(1))
        done = qkv("export", folder / "large.toml", "-o", disk)
        fails(done, f"{disk}/given-A.csv: the file cannot be written: No space left on device")
        equal(os.listdir(disk), [])
    finally:
        subprocess.run(["umount", disk], check=True)


def a_directory_that_can_t_be_written_is_refused(folder):
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    other = {}
    if os.geteuid() == 0:  # root may write anywhere: go as somebody who may not
        folder.chmod(0o755)
        (folder / "two-words.toml").write_bytes(Path(LESSON).read_bytes())
        other = {"user": NOBODY, "group": NOBODY}
        try:
            if qkv("--version", **other).returncode != 0:
                raise Skipped("another user can't run this program")
        except PermissionError as error:
            raise Skipped("another user can't run this program") from error
    lesson = folder / "two-words.toml" if other else LESSON
    fails(qkv("export", lesson, "-o", locked, **other),
          f"{locked}: nothing can be written in this directory: Permission denied")
    fails(qkv("export", lesson, "-o", locked / "out", **other),
          f"{locked}/out: the directory cannot be made: Permission denied")


def a_file_in_the_way_of_the_directory_is_refused(folder):
    (folder / "file").write_text("kept")
    fails(qkv("export", LESSON, "-o", folder / "file"),
          f"{folder}/file: a file is in the way of this directory: remove it or name another "
          "directory")
    equal((folder / "file").read_text(), "kept")


def other_files_of_the_directory_are_left_alone(folder):
    out = folder / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "03-old.csv").write_text("1,2\n")
    (out / "03-scores.csv").write_text("older")
    done = qkv("export", LESSON, "-o", out)
    equal((done.returncode, done.stdout), (0, b""))
    equal((out / "notes.txt").read_text(), "mine")
    equal((out / "03-old.csv").read_text(), "1,2\n")
    equal((out / "03-scores.csv").read_text(), ",fat,cat\nfat,1,3\ncat,3,5\n")


def an_interrupted_export_leaves_whole_files_only(folder):
    (folder / "large.toml").write_text(steps(12))
    interrupted = 0
    for trial in range(4):
        out = folder / f"out{trial}"
        running = subprocess.Popen([program.path, "export", folder / "large.toml", "--plain", "-o",
                                    out],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while running.poll() is None and not (out.is_dir() and len(os.listdir(out)) > trial):
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
        interrupted += running.wait(60) == -signal.SIGINT
        for file in out.iterdir():
            assert not file.name.startswith(".qkv"), f"{file.name} was left behind"
            if file.suffix == ".csv":
                equal(file.read_bytes().count(b"\n"), 700)
    assert interrupted > 0, "no export could be interrupted in time"


def labels_like_formulas_do_not_run_in_a_spreadsheet(folder):
    lesson = folder / "formulas.toml"
    lesson.write_text("""
tokens = ["=2+5", "@SUM(A1)"]
[[given]]
name = "X"
value = [[1, 2, 3], [4, 5, 6]]
columns = ["+1", "-x", "\\tcmd"]
[[step]]
name = "Y"
op = "relu"
of = ["X"]
""")
    done = qkv("export", lesson, "-o", folder / "out")
    equal(done.returncode, 0)
    for line in (folder / "out" / "01-Y.csv").read_text().splitlines():
        for cell in line.split(","):
            assert not cell.lstrip('"').startswith(("=", "@", "+", "\t", "-x")), line


# ---- reading ------------------------------------------------------------------------------------


def a_lesson_that_is_not_there_is_reported(folder):
    fails(qkv("run", "the-fat-cta"),
          'there is no lesson or file "the-fat-cta"; did you mean "the-fat-cat"?')
    fails(qkv("run", "--model", "missing.safetensors", cwd=folder),
          "missing.safetensors: there is no such file: check the name and the directory")
    (folder / "my-dump").mkdir()
    for sides in (("my-dump", "my-dumb"), ("my-dumb", "my-dump"), ("the-fat-cat", "my-dumb")):
        fails(qkv("compare", *sides, cwd=folder),
              'there is no lesson or file "my-dumb"; did you mean "my-dump"?')
    fails(qkv("compare", "my-dump", "xyz", cwd=folder), 'there is no lesson or file "xyz"; qkv lessons '
          "lists the lessons, and the path of a file will do too")
    fails(qkv("run", folder / "no.toml"),
          f"{folder}/no.toml: there is no such file: check the name and the directory")


def a_directory_is_no_lesson(folder):
    fails(qkv("run", folder), f"{folder}: this is a directory: name a file in it")
    fails(qkv("lint", ".", cwd=folder), ".: this is a directory: name a file in it")


def huge_lessons_are_refused_at_once(folder):
    huge = folder / "huge.toml"
    with open(huge, "wb") as file:
        file.write(b'title = "')
        for _ in range(100):
            file.write(b"a" * 1_000_000)
        file.write(b'"\n')
    for lesson, why in ((huge, "the file has more than 16777216 bytes, the most that is read"),
                        (Path("/dev/zero"), "this is a device, which may have no end: name a file")):
        begin = time.monotonic()
        done = qkv("run", lesson)
        took = time.monotonic() - begin
        fails(done, f"{lesson}: {why}")
        assert took < 2, f"it took {took:.1f} s"
    # The largest of all processes so far: none needed more than a large lesson does.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak < 200_000 * (3 if sanitized() else 1), f"up to {peak} kB of memory were used"


def binary_and_empty_lessons_are_reported(folder):
    lesson = folder / "lesson.toml"
    lesson.write_bytes(b"")
    fails(qkv("run", lesson),
          f"{lesson}:1:1: the lesson has no steps; write [[step]] with name, op and of")
    lesson.write_bytes(Path(program.path).read_bytes()[:4096])
    equal(qkv("run", lesson).returncode, 2)


# ---- streams ------------------------------------------------------------------------------------


def a_reader_who_has_seen_enough_ends_it_quietly(folder):
    command = f"'{program.path}' run the-fat-cat | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, timeout=60)
    equal((done.returncode, done.stdout.count(b"\n"), done.stderr), (0, 1, b""))


def closed_streams_do_no_harm(folder):
    def shell(command):
        return subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False,
                              timeout=60)

    without_input = shell(f"'{program.path}' run '{LESSON}' <&-")
    equal((without_input.returncode, without_input.stderr), (0, b""))
    without_output = shell(f"'{program.path}' run '{LESSON}' >&-")
    equal((without_output.returncode, without_output.stderr),
          (2, b"qkv: the output could not be written: Bad file descriptor\n"))
    equal(shell(f"'{program.path}' rum 2>&-").returncode, 2)


def on_terminal(*arguments, **changes):
    """What qkv writes to a terminal."""
    main, side = pty.openpty()
    environment = {"PATH": "/bin", "TERM": "xterm", "COLUMNS": "80", **changes}
    done = subprocess.Popen([program.path, *arguments], stdin=subprocess.DEVNULL, stdout=side,
                            env=environment)
    os.close(side)
    written = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        written += piece
    os.close(main)
    equal(done.wait(60), 0)
    return written


def colour_is_for_terminals_and_for_who_asks(folder):
    run = ("run", LESSON, "--step", "scores", "--no-pause")
    escape = RAW["ESC"]
    assert escape in on_terminal(*run), "a terminal gets colours"
    assert escape not in on_terminal(*run, NO_COLOR="1"), "NO_COLOR switches them off"
    assert escape in on_terminal(*run, NO_COLOR=""), "an empty NO_COLOR says nothing"
    assert escape not in on_terminal(*run, TERM="dumb"), "a dumb terminal gets none"
    assert escape not in on_terminal(*run, "--color", "never"), "never is never"
    assert escape in on_terminal(*run, "--color", "always", NO_COLOR="1"), "always is always"
    assert escape not in qkv(*run).stdout, "a pipe gets none"
    assert escape in qkv(*run, "--color", "always").stdout, "unless it is asked for"


def colour_adds_nothing_to_what_is_said(folder):
    plain = qkv("run", LESSON).stdout
    shaded = qkv("run", LESSON, "--color", "always").stdout
    assert plain != shaded, "nothing was shaded"
    words = re.sub(rb"\x1b\[[0-9;]*m", b"", shaded)
    # A shaded cell has its full width, a plain line ends with its last word.
    equal([line.rstrip() for line in words.splitlines()], plain.splitlines())


# ---- hostile text -------------------------------------------------------------------------------


def hostile_lesson(folder):
    written = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    lesson = folder / f"hostile{HOSTILE}.toml"
    lesson.write_text(f"""
title = "{written} title"
summary = "{written} summary"
source = "{written} source"
tokens = ["{written} one", "two"]
[[given]]
name = "X"
value = [[1, 2], [3, 4]]
columns = ["{written} three", "four"]
[[step]]
name = "Y"
op = "transpose"
of = ["X"]
say = "{written} say"
notice = "{written} notice"
[[step]]
name = "A"
op = "softmax"
of = ["X"]
say = "Words."
""")
    return lesson


def harmless(done, what):
    for stream in (done.stdout, done.stderr):
        for kind, raw in RAW.items():
            assert raw not in stream, f"{what}: {kind} got through"
        stream.decode()  # and it is UTF-8
    assert done.returncode in (0, 1, 2), f"{what}: exit status {done.returncode}"


def escape_sequences_never_reach_the_terminal(folder):
    lesson = hostile_lesson(folder)
    broken = folder / f"broken{HOSTILE}.toml"
    broken.write_text('"\\u001Bkey" = 1\n[[given]]\nname = "\\u202E"\nvalue = [[1]]\n[[step]]\n'
                      'name = "A"\nop = "\\u009Bop"\nof = ["\\u001B"]\n[[expect]]\nof = "\\u001B"\n'
                      'value = "\\u001B"\n')
    work = folder / f"work{HOSTILE}"
    work.mkdir()
    (work / "Y.csv").write_text(f',"{HOSTILE}",b\n{HOSTILE},1,3\nb,2,9\n')
    other = folder / f"other{HOSTILE}"
    other.mkdir()
    (other / "Y.csv").write_text(f"1,{HOSTILE}\n")
    (other / f"{HOSTILE}.csv").write_text("1\n")
    cell = "Y[1,1]"
    for arguments in (
            ["check", lesson, work], ["check", lesson, work, "--json"], ["check", lesson, other],
            ["check", lesson, work, other], ["check", lesson, work, other, "--summary", "csv"],
            ["worksheet", lesson, "-o", folder / f"sheet{HOSTILE}"],
            ["run", lesson], ["run", lesson, "--color", "never", "--step", "A"], ["lint", lesson],
            ["explain", lesson, cell], ["explain", lesson, cell, "--json"],
            ["explain", lesson, cell, "--latex"], ["explain", lesson, "X[1,1]"],
            ["explain", lesson, f"{HOSTILE}[1,1]"], ["explain", lesson, f"Y[{HOSTILE},1]"],
            ["explain", lesson, HOSTILE], ["export", lesson, "-o", "-"],
            ["export", lesson, "-o", folder / f"out{HOSTILE}"],
            ["export", lesson, "-o", lesson], ["export", lesson, "-o", "-", "--step", HOSTILE],
            ["run", lesson, "--step", HOSTILE], ["run", lesson, "--set", f"{HOSTILE}=1"],
            ["run", lesson, "--set", f"X[1,1]={HOSTILE}"], ["run", lesson, "--text", HOSTILE],
            ["run", "the-fat-cat", "--text", f"the {HOSTILE} cat"],
            ["run", lesson, "--digits", HOSTILE], ["run", lesson, f"--{HOSTILE}"],
            ["run", broken], ["lint", broken], ["lint", folder / f"no{HOSTILE}"],
            ["run", HOSTILE], [HOSTILE], ["--color", HOSTILE, "run"], [f"--{HOSTILE}"]):
        harmless(qkv(*arguments), " ".join(map(repr, map(str, arguments))))


def file_names_that_are_no_utf8_do_no_harm(folder):
    lesson = os.fsdecode(os.fsencode(folder) + b"/bad\xff.toml")
    os.link(hostile_lesson(folder), lesson)
    for arguments in (["run", lesson], ["lint", lesson], ["explain", lesson, "Y[1,1]", "--json"],
                      ["export", lesson, "-o", folder / "out"], ["run", lesson + "x"]):
        harmless(qkv(*arguments), " ".join(map(repr, map(str, arguments))))
    assert (folder / "out" / "00-lesson.json").read_bytes().decode()


CLAIMS = [
    a_full_disk_under_stdout_is_no_success,
    an_export_that_does_not_fit_leaves_no_half_file,
    an_export_to_a_full_file_system_leaves_no_half_file,
    a_directory_that_can_t_be_written_is_refused,
    a_file_in_the_way_of_the_directory_is_refused,
    other_files_of_the_directory_are_left_alone,
    an_interrupted_export_leaves_whole_files_only,
    labels_like_formulas_do_not_run_in_a_spreadsheet,
    a_lesson_that_is_not_there_is_reported,
    a_directory_is_no_lesson,
    huge_lessons_are_refused_at_once,
    binary_and_empty_lessons_are_reported,
    a_reader_who_has_seen_enough_ends_it_quietly,
    closed_streams_do_no_harm,
    colour_is_for_terminals_and_for_who_asks,
    colour_adds_nothing_to_what_is_said,
    escape_sequences_never_reach_the_terminal,
    file_names_that_are_no_utf8_do_no_harm,
]


if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
