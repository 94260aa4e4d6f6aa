#!/usr/bin/python3
"""Presses keys at a program on a terminal, and prints all that it draws.

    screen.py KEYS ROWS COLUMNS PROGRAM ARGUMENT…

KEYS are pressed one at a time; what follows an escape belongs to it. The next one is pressed when the
program rests, so that the same keys bring the same bytes, be it fast or slow.
"""

import fcntl
import os
import re
import struct
import sys
import termios
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(TESTS / folder) for folder in ("cli", "terminal")]
from screens.terminal import Terminal  # noqa: E402

GIVEN_BACK = b"\x1b[?1049l"  # the terminal's main screen: the program ends
KEY = re.compile("\x1b\\[[0-9;]*[A-Za-z~]|.", re.S)


def state(terminal):
    """What changes while the program is at work: keys unread, whether it sleeps, its time so far."""
    unread = struct.unpack("i", fcntl.ioctl(terminal.slave, termios.FIONREAD, b"\0" * 4))[0]
    told = Path(f"/proc/{terminal.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return unread, told[0], *told[11:13]


def rests(terminal):
    """Whether the program has read all keys and waits for more, now and for a moment; or is gone."""
    try:
        before = state(terminal)
        return before[:2] == (0, "S") and not terminal.read(0.02) and state(terminal) == before
    except (FileNotFoundError, ProcessLookupError):
        return True


def press(terminal, key):
    os.write(terminal.master, key.encode())
    while not rests(terminal):
        terminal.read(0.01)


def main():
    keys, rows, columns, program, *arguments = sys.argv[1:]
    with Terminal(*arguments, rows=int(rows), columns=int(columns), program=program) as terminal:
        terminal.wait_for(lambda t: t.frames() >= 1)
        for key in [*KEY.findall(keys), "\x03"]:  # which ends it also where q would be a letter
            if GIVEN_BACK not in terminal.bytes:
                press(terminal, key)
        ended = terminal.end()
    sys.stdout.buffer.write(terminal.bytes.replace(b"\x1b[?2026l", b"\x1b[?2026l\n"))
    print(*ended)


if __name__ == "__main__":
    main()
