"""The terminal is left as it was found."""

import os
import signal
import sys
import tempfile
import termios
from pathlib import Path

from .terminal import ROOT, equal, is_given_back, started

sys.path.insert(0, str(ROOT / "tests" / "models"))
import gpt  # noqa: E402


def q_gives_the_terminal_back():
    with started("two-heads") as terminal:
        assert terminal.state() != terminal.found
        os.write(terminal.master, b"q")
        equal(terminal.end(), ("ended", 0))
        is_given_back(terminal)


def ctrl_c_gives_the_terminal_back():
    with started("two-heads") as terminal:
        os.write(terminal.master, b"\x03")
        equal(terminal.end(), ("ended", -signal.SIGINT))
        is_given_back(terminal)


def signals_and_crashes_give_the_terminal_back():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        with started("two-heads") as terminal:
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
    with started("two-heads") as terminal:
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
    with started("two-heads") as terminal:
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
    with started("two-heads") as terminal:
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
    terminal = started("two-heads")
    os.close(terminal.master)
    os.close(terminal.slave)
    kind, status = terminal.event()
    equal((kind, status in (0, -signal.SIGHUP)), ("ended", True))
