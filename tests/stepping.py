#!/usr/bin/python3
"""Steps through lessons on a pseudo-terminal, and answers a quiz through pipes.

    stepping.py QKV [--timed] [CLAIM…]

Each function below is one claim. A small terminal at the other end reads what qkv draws: it knows
the few sequences that qkv uses and complains about any other.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import types
import unicodedata
from pathlib import Path

import numpy as np

from claims import sanitized

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
import gpt  # noqa: E402

QKV = ""
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TWO_WORDS = str(EXAMPLES / "two-words.toml")

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")
PLACE = re.compile(r"\x1b\[(\d+);(\d+)H")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MODES = {"1049", "7", "2004", "2026", "25"}
RIGHT, LEFT, UP, DOWN = b"\x1b[C", b"\x1b[D", b"\x1b[A", b"\x1b[B"


def equal(got, due):
    assert got == due, f"got {got!r}, due is {due!r}"


def columns_of(text):
    """How many columns a terminal gives to text without sequences."""
    if text.isascii():
        return len(text)
    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(c) else wide.get(unicodedata.east_asian_width(c), 1)
               for c in text)


class Terminal:
    """qkv on a pseudo-terminal, in a session with a parent that can stop and continue it."""

    def __init__(self, *arguments, rows=24, columns=80, **variables):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.found = termios.tcgetattr(self.slave)
        self.bytes = b""
        self.read_end, write_end = os.pipe()
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color",
                       **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")},
                       **variables}
        self.keeper = os.fork()
        if self.keeper == 0:
            os.close(self.master)
            keep(self.slave, write_end, [QKV, *arguments], environment)
        os.close(write_end)
        self.pid = struct.unpack("i", os.read(self.read_end, 4))[0]

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What comes within so many seconds, at least a little."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            more = os.read(self.master, 1 << 20)
        except OSError:  # the other end is closed
            more = b""
        self.bytes += more
        return more

    def wait_for(self, seen, seconds=10.0):
        """Reads until `seen(self)`; what was asked for must come."""
        until = time.monotonic() + seconds
        while not seen(self):
            assert time.monotonic() < until, f"it never came: {self.bytes[-2000:]!r}"
            self.read(0.05)
        return self

    def frames(self):
        return self.bytes.count(b"\x1b[?2026l")

    def press(self, keys, frames=1):
        """Sends keys and waits for the frames that they bring."""
        due = self.frames() + frames
        os.write(self.master, keys)
        return self.wait_for(lambda t: t.frames() >= due)

    def type(self, keys, seen):
        """Sends keys and waits for what they must bring to the screen."""
        os.write(self.master, keys)
        return self.wait_for(lambda t: seen in t.text())

    def settle(self, seconds=0.15):
        while self.read(seconds):
            pass
        return self

    def lines(self):
        """The lines of the last whole frame, without colours."""
        frame = self.bytes[:self.bytes.rindex(b"\x1b[?2026l")].rsplit(b"\x1b[?2026h", 1)[1].decode()
        places = list(PLACE.finditer(frame))
        lines = {}
        for place, following in zip(places, [*places[1:], None]):
            text = frame[place.end():following.start() if following else None]
            text = COLOUR.sub("", re.sub(r"\x1b\[K|\x1b\[\?25[hl]", "", text))
            if int(place[2]) == 1 and text or int(place[1]) not in lines:
                lines[int(place[1])] = text
        return [lines[row] for row in sorted(lines)]

    def text(self):
        return "\n".join(self.lines())

    def state(self):
        return termios.tcgetattr(self.slave)

    def to_front(self):
        """What fg does: the terminal is the job's again, and it goes on."""
        os.kill(self.keeper, signal.SIGUSR1)
        while os.tcgetpgrp(self.master) != self.pid:
            time.sleep(0.001)
        os.kill(self.pid, signal.SIGCONT)

    def event(self):
        """What the parent tells next: ("stopped" or "ended", the signal or the exit status)."""
        kind, number = struct.unpack("ii", os.read(self.read_end, 8))
        return ("stopped" if kind else "ended", number)

    def end(self):
        result = self.event()
        self.settle(0.05)
        os.waitpid(self.keeper, 0)
        return result

    def close(self):
        for end in (self.master, self.slave, self.read_end):
            try:
                os.close(end)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.close()


def keep(slave, report, command, environment):
    """A shell with one job: starts it in the foreground, and tells when it stops or ends."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        for stream in range(3):
            os.dup2(slave, stream)
        os.execve(command[0], command, environment)
    signal.signal(signal.SIGUSR1, lambda *_: os.tcsetpgrp(slave, child))
    os.write(report, struct.pack("i", child))
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.tcsetpgrp(slave, os.getpid())
            os.write(report, struct.pack("ii", 1, os.WSTOPSIG(status)))
            continue
        number = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        os.write(report, struct.pack("ii", 0, number))
        os._exit(0)


def started(*arguments, **options):
    terminal = Terminal("run", *arguments, **options)
    return terminal.wait_for(lambda t: t.frames() >= 1)


def is_given_back(terminal):
    """The modes of the terminal as they were, its main screen, its cursor, its wrapping."""
    equal(terminal.state(), terminal.found)
    after = terminal.bytes[terminal.bytes.rindex(b"\x1b[?1049"):]
    assert after.startswith(b"\x1b[?1049l"), after
    for mode in (b"25", b"7"):
        last = [m for m in re.findall(rb"\x1b\[\?(\d+)([hl])", terminal.bytes) if m[0] == mode][-1]
        equal(last[1], b"h")
    last = [m for m in re.findall(rb"\x1b\[\?(\d+)([hl])", terminal.bytes) if m[0] == b"2004"][-1]
    equal(last[1], b"l")


# ---- the terminal is left as it was found ----------------------------------------------------


def q_gives_the_terminal_back():
    with started("the-fat-cat") as terminal:
        assert terminal.state() != terminal.found
        os.write(terminal.master, b"q")
        equal(terminal.end(), ("ended", 0))
        is_given_back(terminal)


def ctrl_c_gives_the_terminal_back():
    with started("the-fat-cat") as terminal:
        os.write(terminal.master, b"\x03")
        equal(terminal.end(), ("ended", -signal.SIGINT))
        is_given_back(terminal)


def signals_and_crashes_give_the_terminal_back():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        with started("the-fat-cat") as terminal:
            os.kill(terminal.pid, number)
            equal(terminal.end(), ("ended", -number))
            is_given_back(terminal)


def a_model_that_is_cut_short_meanwhile_is_told():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        gpt.write_safetensors(path, gpt.random_weights(1, 264, 9, 4, "in-out", 1))
        with started("--model", str(path), "--model-heads", "4", "--text", "A B") as terminal:
            os.truncate(path, 5000)
            for _ in range(40):  # to a step whose cell needs a weight of the file
                os.write(terminal.master, b"n")
                terminal.read(0.1)
                if b"cut short" in terminal.bytes:
                    break
            equal(terminal.end(), ("ended", 2))
            is_given_back(terminal)
            assert (b"qkv: model.safetensors: the file was cut short while it was read"
                    in terminal.bytes[terminal.bytes.rindex(b"\x1b[?1049l"):])


def ctrl_z_stops_and_fg_draws_again():
    with started("the-fat-cat") as terminal:
        terminal.press(b"n")
        before = terminal.lines()
        for _ in range(2):
            os.write(terminal.master, b"\x1a")
            equal(terminal.event(), ("stopped", signal.SIGTSTP))
            terminal.settle()
            is_given_back(terminal)
            due = terminal.frames() + 1
            terminal.to_front()
            terminal.wait_for(lambda t: t.frames() >= due)
            assert terminal.state() != terminal.found
            equal(terminal.lines(), before)
        os.write(terminal.master, b"q")
        equal(terminal.end(), ("ended", 0))
        is_given_back(terminal)


def in_the_background_nothing_is_drawn():
    with started("the-fat-cat") as terminal:
        os.write(terminal.master, b"\x1a")
        equal(terminal.event(), ("stopped", signal.SIGTSTP))
        seen = len(terminal.settle().bytes)
        os.kill(terminal.pid, signal.SIGCONT)  # bg
        terminal.resize(30, 90)
        equal(len(terminal.settle().bytes), seen)
        equal(terminal.state(), terminal.found)
        terminal.to_front()
        terminal.wait_for(lambda t: len(t.lines()) == 30)
        assert terminal.state() != terminal.found


def a_stop_that_cannot_be_caught_is_survived():
    with started("the-fat-cat") as terminal:
        os.kill(terminal.pid, signal.SIGSTOP)
        equal(terminal.event(), ("stopped", signal.SIGSTOP))
        termios.tcsetattr(terminal.slave, termios.TCSANOW, terminal.found)  # as a shell does
        due = terminal.frames() + 1
        terminal.to_front()
        terminal.wait_for(lambda t: t.frames() >= due)
        assert terminal.state() != terminal.found
        terminal.press(b"n")
        assert "token_embeddings" in terminal.text()


def a_terminal_that_goes_away_ends_it():
    terminal = started("the-fat-cat")
    os.close(terminal.master)
    os.close(terminal.slave)
    kind, status = terminal.event()
    equal((kind, status in (0, -signal.SIGHUP)), ("ended", True))


# ---- what is drawn ---------------------------------------------------------------------------


def a_new_size_is_drawn_at_once():
    with started("the-fat-cat") as terminal:
        for rows, columns in ((40, 120), (15, 40), (60, 250), (24, 80)):
            terminal.resize(rows, columns)
            terminal.wait_for(lambda t, rows=rows: len(t.lines()) == rows)
            assert max(map(columns_of, terminal.lines())) <= columns


def nothing_is_wider_than_the_window():
    keys = [b" ", b" ", b"e", b"\r", RIGHT, DOWN, b"\t", b"h", b"e", b"h", b"?", b"?", b"n", b"h"]
    sizes = [(15, 40), (24, 80), (5, 20), (50, 200)]
    for number, name in enumerate(lessons()):
        for rows, columns in sizes[number % 2::2]:
            with started(name, rows=rows, columns=columns) as terminal:
                measured(terminal)
                for key in keys * 3:
                    terminal.press(key)
                    measured(terminal)


def wide_letters_are_measured_as_terminals_do():
    with tempfile.TemporaryDirectory() as folder:
        lesson = Path(folder) / "wide.toml"
        lesson.write_text('title = "猫はマットの上に座った、そして眠った、それから起きた"\n'
                          'tokens = ["猫は", "マットの上に", "座った"]\n'
                          '[[given]]\nname = "X"\nvalue = [[1, 2], [3, 4], [5, 6]]\n'
                          '[[step]]\nname = "S"\nop = "score"\nof = ["X", "X"]\n'
                          'say = "猫はマットの上に座った。猫はマットの上に座った。猫は座った。"\n'
                          '[[step]]\nname = "A"\nop = "softmax"\nof = ["S"]\n', encoding="utf-8")
        for rows, columns in ((15, 40), (15, 41), (24, 80)):
            with started(str(lesson), rows=rows, columns=columns) as terminal:
                for key in (b"e", b"\r", LEFT, UP, b"e", b"n", b"h", b"h", b"e", b"\r", b"b"):
                    terminal.press(key)
                    measured(terminal)


def measured(terminal):
    equal(len(terminal.lines()), terminal.rows)
    for line in terminal.lines():
        assert columns_of(line) <= terminal.columns, (terminal.columns, line)


def nothing_from_a_file_moves_the_cursor():
    hostile = '\\u001b[2J\\u009b31m\\u202e'
    with tempfile.TemporaryDirectory() as folder:
        lesson = Path(folder) / "hostile.toml"
        lesson.write_text(f'title = "{hostile}"\nsummary = "{hostile}"\ntokens = ["{hostile}", "b"]\n'
                          '[[given]]\nname = "X"\nvalue = [[1, 2], [3, 4]]\n[[step]]\nname = "S"\n'
                          f'op = "score"\nof = ["X", "X"]\nsay = "{hostile}"\nnotice = "{hostile}"\n')
        for extra in ([], ["--quiz"]):
            with started(str(lesson), *extra) as terminal:
                for key in (b"1", b"\r", b"2", b"\r", b" ", b"e", b"\r", b"\x1b", b"s", b"X[1,1]=7",
                            b"\r", b"g", b"\x1b[200~\x1b[2J\x1b[201~", b"\r"):
                    os.write(terminal.master, key)
                    terminal.settle(0.07)
                only_known_sequences(terminal.bytes)


def only_known_sequences(drawn):
    for mark, numbers, letter in SEQUENCE.findall(drawn):
        known = ((mark == b"?" and letter in b"hl" and numbers.decode() in MODES)
                 or (not mark and letter in b"mHK") or (letter == b"J" and numbers == b"2"))
        assert known, (mark, numbers, letter)
    equal(drawn.count(b"\x1b[2J"), 1)  # when the screen is taken over
    rest = SEQUENCE.sub(b"", drawn).decode()
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", rest), repr(rest)


def every_frame_is_one_write():
    """A frame that is written in one piece can't be seen half drawn."""
    with started("the-fat-cat") as terminal:
        for key in (b"n", b"e", b"\r", RIGHT, b"e"):
            before = writes(terminal.pid)
            terminal.press(key)
            equal(writes(terminal.pid) - before, 1)


def writes(pid):
    """How often the program has called write, as Linux counts."""
    return int(re.search(r"syscw: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])


# ---- keys ------------------------------------------------------------------------------------


def keys_may_come_in_pieces():
    with started("the-fat-cat") as terminal:
        for piece in (b"\x1b", b"[", b"C"):  # the arrow to the right
            os.write(terminal.master, piece)
            time.sleep(0.01)
        terminal.settle()
        assert terminal.lines()[0].startswith("2/14  token_embeddings"), terminal.text()
        terminal.press(b"g")
        for byte in "é".encode():
            os.write(terminal.master, bytes([byte]))
            time.sleep(0.1)
        terminal.settle()
        equal(terminal.lines()[-1], "go to step: é")


def a_lone_escape_counts_after_a_moment():
    with started("the-fat-cat") as terminal:
        terminal.press(b"e")
        assert terminal.lines()[-1].startswith("cell: ")
        terminal.press(b"\x1b")
        assert terminal.lines()[-1].startswith("1/14"), terminal.text()


def what_is_pasted_presses_no_key():
    with started("the-fat-cat") as terminal:
        terminal.press(b"\x1b[200~q\rq\x1b[201~")
        assert terminal.lines()[-1].startswith("1/14"), terminal.text()
        terminal.press(b"g")
        terminal.press(b"\x1b[200~sco\nres\x1b[201~")
        equal(terminal.lines()[-1], "go to step: scores")


def steps_are_reached_by_number_and_name():
    with started("the-fat-cat") as terminal:
        terminal.type(b"g8\r", "8/14  scores  Score")
        terminal.type(b"gmasked\t\r", "10/14  masked_scores  Hide")
        terminal.type(b"gcontxt\r", 'did you mean "context"?')


def a_changed_value_is_seen_downstream():
    """The cat of two-words asks with (1, 2, 1, 0); with "thing" gone, as fat does."""
    with started(TWO_WORDS) as terminal:
        terminal.type(b"gscores\r", "3/7  scores  Score")
        terminal.type(b"sX[cat,thing]=0\r", "changed: Q, K, scores, scaled_scores, ")
        rows = [line.split() for line in terminal.lines()]
        assert ["fat", "1", "*", "1"] in rows, terminal.text()
        assert ["cat", "*", "1", "*", "1"] in rows, terminal.text()
        terminal.type(b"u", "undone: X[cat,thing]=0")
        assert ["cat", "3", "5"] in [line.split() for line in terminal.lines()], terminal.text()


def what_lies_on_the_way_is_marked_too():
    """With "thing" gone cat scores 1 with each word: minus the largest 0 and 0, e to that 1 and 1."""
    out = by_lines("", TWO_WORDS, "--set", "X[cat,thing]=0", "--step", "attention_weights")
    way, whole = out.split("  attention_weights (2×2)\n")
    assert re.search(r"cat +\* +0 +0\n", way), way
    assert re.search(r"cat +\* +1 +1\n", way), way
    assert re.search(r"cat +\*0.5 +\*0.5 ", whole), whole
    assert "*" not in by_lines("", TWO_WORDS, "--step", "attention_weights")


def dots_say_where_the_marks_are():
    with started(TWO_WORDS) as terminal:
        terminal.type(b"gscores\r", "3/7  scores  Score")
        terminal.type(b"sX[cat,thing]=0\r", "* marks numbers that differ")
        terminal.type(b"h", "h shows numbers, where * marks")


def x_writes_what_export_writes():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([QKV, "export", TWO_WORDS, "-o", f"{folder}/a"], check=True,
                       stderr=subprocess.DEVNULL)
        with started(TWO_WORDS) as terminal:
            terminal.press(b"x")
            os.write(terminal.master, f"{folder}/b\r".encode())
            terminal.wait_for(lambda t: "files in" in t.text())
        a, b = (sorted(Path(folder, name).iterdir()) for name in "ab")
        equal([(p.name, p.read_bytes()) for p in a], [(p.name, p.read_bytes()) for p in b])


def keys_are_answered_within_a_frame_of_film():
    """From a key to the frame it brings: 16 ms, on a matrix of a million numbers, too."""
    with tempfile.TemporaryDirectory() as folder:
        lesson = Path(folder) / "large.toml"
        lesson.write_text('title = "Large"\n[random]\nseed = 0\n'
                          '[[given]]\nname = "A"\nrandn = [1024, 1024]\n'
                          '[[given]]\nname = "B"\nrandn = [1024, 1024]\n'
                          '[[step]]\nname = "S"\nop = "score"\nof = ["A", "B"]\n'
                          '[[step]]\nname = "W"\nop = "softmax"\nof = ["S"]\n')
        for name in (str(lesson), "the-fat-cat", "batches", "fluffy-blue-creature",
                     "multi-head-512"):
            with started(name, rows=50, columns=200) as terminal:
                for key in b"ne\r":
                    terminal.press(bytes([key]))
                for key in (RIGHT, DOWN, b"\x1b[6~", b"\x1b[F"):
                    fast_enough(terminal, [key] * 7, name)
                terminal.press(b"\r")
                fast_enough(terminal, [b"b", b"n"] * 5, name)
                fast_enough(terminal, [b"j", b"k"] * 5, name)


def fast_enough(terminal, keys, name):
    """A machine that is busy with something else is asked again; what is slow stays slow."""
    for _ in range(3):
        best = quarter_of_times(terminal, keys, name)
        if best < 0.016 * slack():
            return
        time.sleep(1)
    raise AssertionError(f"{name}, {keys[0]!r}: {best * 1000:.1f} ms")


def quarter_of_times(terminal, keys, name):
    """The time that a quarter of the keys keep to, in seconds."""
    times = []
    for key in keys:
        terminal.settle(0.01)
        start = time.monotonic()
        terminal.press(key)
        times.append(time.monotonic() - start)
    best = sorted(times)[len(times) // 4]
    if os.environ.get("QKV_TIMES"):
        print(f"{name} {keys[0]!r}: {best * 1000:.1f} ms, at most {max(times) * 1000:.1f}")
    return best


def slack():
    """Sanitizers make everything slower, and so do others who want the same processors."""
    shared = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    return shared * (20 if sanitized(QKV) else 1)


# ---- by lines --------------------------------------------------------------------------------


def by_lines(text, *arguments, **options):
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8", "TERM": "xterm"}
    done = subprocess.run([QKV, "run", *arguments], input=text.encode(), capture_output=True,
                          env={**environment, **options}, timeout=60, check=False)
    equal((done.returncode, done.stderr), (0, b""))
    assert b"\x1b" not in done.stdout
    return done.stdout.decode()


def a_head_that_is_left_out_is_the_one_shown():
    for cell in ("3,2", "cat,fat", "scores[3,2]"):
        out = by_lines(f"e {cell}\nq\n", "the-fat-cat", "--pause", "--from", "scores")
        assert "scores[head 1,cat,fat] = " in out, out
    with started("the-fat-cat") as terminal:
        terminal.type(b"gscores\r", "8/14  scores  Score")
        terminal.type(b"e3,2\r", "scores[head 1,cat,fat] =")
        terminal.type(b"\t", "scores[head 2,cat,fat] =")
        terminal.type(b"\x1b", "8/14  scores  Score")
        terminal.type(b"e", "row,column in head 2")
        terminal.type(b"3,1\r", "scores[head 2,cat,1] =")


def the_examples_of_the_commands_work():
    """Of every lesson, at its first step and at its last."""
    for name in lessons():
        for keys in ("", "\n" * 60):
            told = by_lines(f"{keys}?\nq\n", name, "--pause")
            examples = [line.split(": ", 1)[1] for line in told.splitlines()
                        if re.match("  [es]  .*: ", line)]
            assert examples, told
            out = by_lines(keys + "\n".join(examples) + "\nq\n", name, "--pause")
            after = out.rsplit("quit: e ", 1)[1]
            assert " = " in after and "=0.5; changed: " in after, (name, after)


def a_dumb_terminal_gets_plain_lines():
    with Terminal("run", TWO_WORDS, TERM="dumb") as terminal:
        terminal.wait_for(lambda t: b"q quit: " in t.bytes)
        os.write(terminal.master, b"\n")
        terminal.wait_for(lambda t: b"2/7  K" in t.bytes)
        os.write(terminal.master, b"q\n")
        equal(terminal.end(), ("ended", 0))
        assert b"\x1b" not in terminal.bytes
        equal(terminal.state(), terminal.found)


def plain_draws_nothing_over():
    with Terminal("run", TWO_WORDS, "--plain", "--color", "never") as terminal:
        terminal.wait_for(lambda t: b"q quit: " in t.bytes)
        os.write(terminal.master, b"q\n")
        equal(terminal.end(), ("ended", 0))
        assert b"\x1b" not in terminal.bytes


def closed_input_ends_it():
    assert "1/7  Q" in by_lines("", TWO_WORDS, "--pause")
    assert "0 of" not in by_lines("", TWO_WORDS, "--quiz")
    done = subprocess.run(["/bin/sh", "-c", '"$0" run "$1" --pause <&-', QKV, TWO_WORDS],
                          capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0)


def commands_work_by_lines():
    out = by_lines("\nb\ng 4\ne cat,cat\ne\n+\nh\ns X[cat,thing]=0\nu\nnonsense\ng nonsense\n?\nq\n",
                   TWO_WORDS, "--pause")
    assert "4/7  scaled_scores" in out
    assert "scaled_scores[cat,cat] = scores[cat,cat] / √4" in out
    assert "= 2.5" in out
    assert "changed: Q, K, scores, scaled_scores" in out
    assert "undone: X[cat,thing]=0" in out
    assert 'There is no command "nonsense"' in out
    assert 'there is no step named "nonsense"' in out


def nothing_pauses_without_a_terminal():
    out = by_lines("", TWO_WORDS)
    assert "quit" not in out and "7/7  context" in out


# ---- the quiz --------------------------------------------------------------------------------


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def by_hand():
    """The lesson of two words, worked by NumPy from the numbers that its file gives."""
    x = np.array([[1.0, 0], [1, 2]])
    w_q = np.array([[1.0, 0, 1, 0], [0, 1, 0, 0]])
    w_k = np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])
    q, k = x @ w_q, x @ w_k
    scores = q @ k.T
    weights = softmax(scores / 2)
    return {"Q": q, "K": k, "scores": scores, "scaled_scores": scores / 2,
            "attention_weights": weights, "context": weights @ x}


WORDS = {"fat": 0, "cat": 1, "describes": 0, "thing": 1}


def place(index):
    return WORDS[index] if index in WORDS else int(index) - 1


def quiz(answer, *arguments):
    """Plays a quiz; `answer(name, row, column, tries)` gives the lines. Returns what is printed."""
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8"}
    player = subprocess.Popen([QKV, "run", TWO_WORDS, "--quiz", *arguments], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=environment)
    out, tries, last = "", 0, None
    while True:
        byte = os.read(player.stdout.fileno(), 1 << 16)
        if not byte:
            break
        out += byte.decode()
        question = re.search(r"(\w+)\[(\w+),(\w+)\] = $", out)
        if question:
            tries = tries + 1 if question[0] == last else 0
            last = question[0]
            line = answer(question[1], place(question[2]), place(question[3]), tries)
            player.stdin.write(line.encode() + b"\n")
            player.stdin.flush()
            out += "\n"
    equal(player.wait(30), 0)
    return out


def right_answers_are_right():
    worked = by_hand()
    for seed in range(6):
        out = quiz(lambda name, i, j, _: f"{worked[name][i, j]:.6f}", "--seed", str(seed))
        asked, = re.findall(r"(\d+) of (\d+) right", out)
        equal(asked[0], asked[1])
        assert int(asked[0]) >= 3, out
        assert "To read again" not in out


def rounding_is_right_too():
    worked = by_hand()
    for writing in (lambda x: f"{x:.2f}", lambda x: f"{x:.2f}".replace(".", ","),
                    lambda x: f"{x:.3e}", lambda x: f"{x * 8192:.9f}/8192"):
        out = quiz(lambda name, i, j, _, w=writing: w(worked[name][i, j]))
        asked, = re.findall(r"(\d+) of (\d+) right", out)
        equal(asked[0], asked[1])


def a_known_mistake_is_named():
    """Who forgets to divide by √d_k answers with the score."""
    worked = by_hand()

    def answer(name, i, j, tries):
        wrong = name == "scaled_scores" and tries == 0
        return f"{worked['scores' if wrong else name][i, j]:.4f}"

    out = quiz(answer, "--from", "scaled_scores")
    assert "scale.skipped" in out, out
    assert "right at the second try (scale.skipped)" in out, out


def two_tries_then_the_arithmetic():
    out = quiz(lambda *_: "77.5", "--step", "scaled_scores")
    assert "Not 77.5." in out and "Not 77.5 either." in out, out
    assert re.search(r"scaled_scores\[\w+,\w+\] = scores\[\w+,\w+\] / √4\n  = \d+ / √4", out), out
    assert "0 of 1 right" in out
    assert f"qkv run {TWO_WORDS} --step scaled_scores" in out, out


def what_is_no_number_costs_no_try():
    worked = by_hand()
    lines = {0: "about 2", 1: "1,2.3", 2: "1/0"}
    out = quiz(lambda name, i, j, t: lines.get(t, f"{worked[name][i, j]}"), "--step",
               "scaled_scores")
    equal(out.count("is no number: write it like 0.25, 0,25, 3/7, 2.5e-3 or -inf"), 3)
    assert "1 of 1 right" in out and "second try" not in out, out


def skipping_and_quitting():
    assert "0 of 1 right" in quiz(lambda *_: "", "--step", "scaled_scores")
    assert "  skipped" in quiz(lambda *_: "s", "--step", "scaled_scores")
    assert "Nothing has been asked" in quiz(lambda *_: "q")


def a_step_is_shown_once_and_only_after_its_answer():
    worked = by_hand()
    out = quiz(lambda name, i, j, _: f"{worked[name][i, j]:.6f}")
    asked = re.findall(r"what is (\w+)\[", out)
    assert len(asked) >= 3, out
    for name in ("Q", "K", "scores", "scaled_scores", "masked_scores", "attention_weights"):
        headings = [m.start() for m in re.finditer(rf"^\d/7  {name}  ", out, re.M)]
        equal((name, len(headings)), (name, 2 if name in asked else 1))
        if name not in asked:
            continue
        answered = out.index("Right: ", headings[0])  # between the question and the step
        assert headings[0] < out.index(f"what is {name}[") < answered < headings[1], out


def a_change_of_digits_is_seen_at_once_by_lines():
    out = by_lines("g attention_weights\n-\n-\nq\n", TWO_WORDS, "--pause")
    three, two = out.index("  3 decimals"), out.index("  2 decimals")
    weight = by_hand()["attention_weights"][1, 0]
    assert re.search(rf"cat +{weight:.3f} ", out[three:two]), out[three:two]
    assert re.search(rf"cat +{weight:.2f} ", out[two:]), out[two:]


def the_same_seed_asks_the_same():
    asked = [re.findall(r"what is (.*)\?", by_lines("\n" * 40, "the-fat-cat", "--quiz", "--seed", s))
             for s in ("1", "1", "2")]
    equal(asked[0], asked[1])
    assert asked[0] != asked[2]


def no_question_is_hidden_or_trivial():
    """Of every lesson and several seeds: the number asked for is finite, and not 0."""
    for name in lessons():
        for seed in "03":
            out = by_lines("\n" * 60, name, "--quiz", "--seed", seed)
            for value in re.findall(r"Skipped: .* = (.*)\.\n", re.sub(r"\n +", " ", out) + "\n"):
                assert value not in ("0", "-inf", "inf"), (name, seed, value)


def the_quiz_works_on_the_screen():
    worked = by_hand()
    with started(TWO_WORDS, "--quiz", "--step", "scaled_scores") as terminal:
        row, column = re.search(r"scaled_scores\[(\w+),(\w+)\] = $", terminal.lines()[-1]).groups()
        assert "2.5" not in terminal.text() and "0.5" not in terminal.text()
        os.write(terminal.master, b"99\r")
        terminal.wait_for(lambda t: "Not 99." in t.text())
        value = worked["scaled_scores"][place(row), place(column)]
        os.write(terminal.master, f"{value}\r".encode())
        terminal.wait_for(lambda t: "Right: " in t.text())
        os.write(terminal.master, b"n")
        terminal.wait_for(lambda t: "1 of 1 right" in t.text())
        os.write(terminal.master, b"q")
        equal(terminal.end(), ("ended", 0))
        is_given_back(terminal)


def lessons():
    folder = Path(__file__).resolve().parent.parent / "lessons"
    return [path.stem[3:] for path in sorted(folder.glob("*.toml"))]


TIMED = ("keys_are_answered_within_a_frame_of_film",)  # --timed: while nothing else runs
BESIDES = ("slack", "by_hand", "lessons")  # they take nothing, but claim nothing either


def claims():
    """The functions above that take nothing."""
    return [f for f in globals().values()
            if isinstance(f, types.FunctionType) and f.__code__.co_argcount == 0
            and not f.__code__.co_flags & 4 and f.__name__ not in (*BESIDES, "claims")]


def main(arguments):
    global QKV
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    QKV = str(Path(arguments[0]).resolve())
    wanted = [*(TIMED if "--timed" in arguments else ()), *arguments[1:]]
    failures = 0
    chosen = [claim for claim in claims()
              if (claim.__name__ in wanted if wanted else claim.__name__ not in TIMED)]
    for claim in chosen:
        start = time.monotonic()
        try:
            claim()
        except Exception as error:  # each claim stands by itself
            failures += 1
            print(f"{claim.__name__}: {type(error).__name__}: {str(error)[:3000]}")
        if os.environ.get("QKV_TIMES"):
            print(f"  {claim.__name__}: {time.monotonic() - start:.1f} s")
    print(f"{len(chosen)} claims, {failures or 'no'} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
