"""Stepping by lines, for pipes, plain terminals and screen readers."""

import os
import re
import subprocess

from .terminal import TWO_WORDS, Program, Terminal, equal, lessons, started


def by_lines(text, *arguments, **options):
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8", "TERM": "xterm"}
    done = subprocess.run([Program.path, "run", *arguments], input=text.encode(), capture_output=True,
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
    done = subprocess.run(["/bin/sh", "-c", '"$0" run "$1" --pause <&-', Program.path, TWO_WORDS],
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
