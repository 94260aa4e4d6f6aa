"""qkv on a pseudo-terminal, and pyte, which shows what a terminal makes of its bytes."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path

import pyte
from wcwidth import wcswidth

from harness import for_sanitizers

ROOT = Path(__file__).resolve().parents[3]
TWO_WORDS = str(ROOT / "examples" / "two-words.toml")

FRAME, FRAME_END = b"\x1b[?2026h", b"\x1b[?2026l"
RIGHT, LEFT, UP, DOWN = b"\x1b[C", b"\x1b[D", b"\x1b[A", b"\x1b[B"


class Program:
    """Where qkv is."""

    path = ""


def equal(got, due):
    assert got == due, f"got {got!r}, due is {due!r}"


class Screen(pyte.Screen):
    """A screen that knows which lines were written to."""

    def __init__(self, columns, lines):
        self.written = set()
        super().__init__(columns, lines)
        self.written.clear()

    def cursor_position(self, line=None, column=None):
        self.written.add(line)
        super().cursor_position(line, column)


class Terminal:
    """qkv on a pseudo-terminal, in a session with a parent that can stop and continue it."""

    def __init__(self, *arguments, rows=24, columns=80, program=None, **variables):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.found = termios.tcgetattr(self.slave)
        self.bytes = bytearray()
        self.counted = 0, 0  # how many frames end before which byte
        self.shown = None, []  # where the frame ends, and its lines
        self.read_end, write_end = os.pipe()
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color",
                       **for_sanitizers(),
                       **variables}
        self.keeper = os.fork()
        if self.keeper == 0:
            os.close(self.master)
            keep(self.slave, write_end, [program or Program.path, *arguments], environment)
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
        frames, at = self.counted
        frames += self.bytes.count(FRAME_END, at)
        self.counted = frames, max(at, len(self.bytes) - len(FRAME_END) + 1)
        return frames

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
        """The lines of the last whole frame, on a screen with room for what goes beyond the window."""
        end = self.bytes.rindex(FRAME_END)
        if self.shown[0] != end:
            screen = Screen(self.columns + 50, 70)
            pyte.ByteStream(screen).feed(self.bytes[:end].rpartition(FRAME)[2])
            lines = screen.display
            self.shown = end, [lines[line - 1].rstrip() for line in sorted(screen.written)]
        return self.shown[1]

    def widest(self):
        return max(map(wcswidth, self.lines()))

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


def lessons():
    return [path.stem[3:] for path in sorted((ROOT / "lessons").glob("*.toml"))]
