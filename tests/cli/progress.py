#!/usr/bin/python3
"""Long work on a terminal shows a bar, which goes when the work ends or is ended.

    progress.py QKV

Each function below is one claim.
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

from harness import Skipped, equal, main, qkv

BAR = re.compile(rb"(exporting|checking) \[#*\.*\] \d+%")
ERASED = b"\r\x1b[K"

PATIENCE = 0.5  # seconds of work without a bar

STEPS = 5
FILES = STEPS + 2  # the given, and the list

LARGE = '''title = "large"
[random]
seed = 0
[[given]]
name = "A"
randn = [1200, 1200]
''' + "".join(f'[[step]]\nname = "S{i}"\nop = "relu"\nof = ["A"]\n' for i in range(STEPS))


def on_terminal(*arguments, ended_by=None, term="xterm"):
    """Runs qkv with stderr on a terminal and stdout elsewhere; ends it once a bar shows."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([qkv.path, *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=follower,
                               env={**os.environ, "TERM": term})
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # the program has closed it
            break
        if not piece:
            break
        shown += piece
        if ended_by and BAR.search(shown):
            process.send_signal(ended_by)
            ended_by = None
    os.close(leader)
    out = process.stdout.read()
    process.stdout.close()
    return process.wait(timeout=60), shown, out


def need_a_bar(shown, seconds):
    """Only work that was over before its time needs none."""
    if BAR.search(shown):
        return
    assert seconds < 2 * PATIENCE, f"no bar in {seconds:.1f} s: {shown}"
    raise Skipped("this machine is too fast for a bar")


def large(folder):
    (folder / "large.toml").write_text(LARGE)
    return folder / "large.toml"


def a_long_export_shows_a_bar_and_erases_it(folder):
    begin = time.monotonic()
    status, shown, _ = on_terminal("export", large(folder), "-o", folder / "out")
    seconds = time.monotonic() - begin
    equal(status, 0)
    need_a_bar(shown, seconds)
    last = list(BAR.finditer(shown))[-1]
    equal(shown[last.end():], b"\x1b[K" + ERASED + f"{FILES} files in {folder / 'out'}\r\n".encode())


def a_long_check_shows_a_bar_and_erases_it_before_the_report(folder):
    lesson = large(folder)
    qkv("export", lesson, "-o", folder / "out")
    begin = time.monotonic()
    status, shown, out = on_terminal("check", lesson, folder / "out")
    seconds = time.monotonic() - begin
    equal((status, b": correct" in out), (0, True))
    need_a_bar(shown, seconds)
    assert shown.endswith(ERASED), shown


def short_work_and_other_outputs_get_no_bar(folder):
    _, shown, _ = on_terminal("export", "the-fat-cat", "-o", folder / "short")
    assert b"[" not in shown, shown
    done = qkv("export", large(folder), "-o", folder / "out")
    equal(done.stderr, f"{FILES} files in {folder / 'out'}\n")
    _, shown, _ = on_terminal("export", large(folder), "-o", folder / "out", term="dumb")
    assert b"\x1b" not in shown, shown


def a_signal_ends_it_with_whole_files_and_an_empty_line(folder):
    lesson = large(folder)
    for ended_by in (signal.SIGINT, signal.SIGTERM):
        out = folder / ended_by.name
        (out / "sub").mkdir(parents=True)
        (out / "00-lesson.json").write_text("{}")  # of an older export
        begin = time.monotonic()
        status, shown, _ = on_terminal("export", lesson, "-o", out, ended_by=ended_by)
        if status == 0:
            need_a_bar(shown, time.monotonic() - begin)
            raise Skipped("it was over too soon")
        equal(status, -ended_by)  # a shell says 130 and 143
        assert shown.endswith(ERASED), shown
        names = sorted(path.name for path in out.iterdir())
        equal([name for name in names if name.startswith(".")], [], "temporary files")
        if "00-lesson.json" in names:  # then it was written after all others
            equal(len(names), FILES + 1, "files beside a list")
            assert json.loads((out / "00-lesson.json").read_text())["steps"]
        for path in out.glob("*.csv"):
            equal(path.read_text().count("\n"), 1201, path.name)


def a_shell_sees_143_after_sigterm(folder):
    script = '"$0" export "$1" -o "$2" & pid=$!; sleep 0.4; kill -TERM $pid; wait $pid; echo $?'
    done = subprocess.run(["bash", "-c", script, qkv.path, large(folder), folder / "out"],
                          capture_output=True, text=True, timeout=60)
    if done.stdout == "0\n":
        raise Skipped("it was over too soon")
    equal(done.stdout, "143\n")


CLAIMS = [
    a_long_export_shows_a_bar_and_erases_it,
    a_long_check_shows_a_bar_and_erases_it_before_the_report,
    short_work_and_other_outputs_get_no_bar,
    a_signal_ends_it_with_whole_files_and_an_empty_line,
    a_shell_sees_143_after_sigterm,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
