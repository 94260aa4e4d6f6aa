"""What is drawn: frames of the window's size, whole, of known sequences."""

import os
import re
import tempfile
from pathlib import Path

from .terminal import DOWN, LEFT, RIGHT, UP, equal, lessons, started

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")
MODES = {"1049", "7", "2004", "2026", "25"}


def a_new_size_is_drawn_at_once():
    with started("the-fat-cat") as terminal:
        for rows, columns in ((40, 120), (15, 40), (60, 250), (24, 80)):
            terminal.resize(rows, columns)
            terminal.wait_for(lambda t, rows=rows: len(t.lines()) == rows)
            assert terminal.widest() <= columns


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
    assert terminal.widest() <= terminal.columns, terminal.text()


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
