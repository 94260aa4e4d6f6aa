"""The terminal is left as it was found."""

import os
import signal
import termios

from .terminal import equal, is_given_back, started


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
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGBUS,
                   signal.SIGABRT):
        with started("two-heads") as terminal:
            os.kill(terminal.pid, number)
            equal(terminal.end(), ("ended", -number))
            is_given_back(terminal)


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
