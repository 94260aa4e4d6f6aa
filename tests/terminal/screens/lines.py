"""Stepping by lines, for pipes, plain terminals and screen readers."""

import os
import re
import subprocess

from harness import for_sanitizers

from .terminal import TWO_WORDS, Program, Terminal, equal, lessons, started


def by_lines(text, *arguments, **options):
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8", "TERM": "xterm",
                   **for_sanitizers()}
    done = subprocess.run([Program.path, "run", *arguments], input=text.encode(), capture_output=True,
                          env={**environment, **options}, timeout=60, check=False)
    equal(done.returncode, 0)
    assert re.fullmatch(rb"(To go on from here: qkv run .*\n)?", done.stderr), done.stderr
    assert b"\x1b" not in done.stdout
    return done.stdout.decode()


def a_head_that_is_left_out_is_the_one_shown():
    for cell in ("3,2", "cat,fat", "scores[3,2]"):
        out = by_lines(f"e {cell}\nq\n", "two-heads", "--pause", "--from", "scores")
        assert "scores[head 1,cat,fat] = " in out, out
    with started("two-heads") as terminal:
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


def several_steps_can_be_asked_for():
    """In the lesson's order, by name or number, with a pause between them or without."""
    due = ["3/7  scores", "6/7  attention_weights"]
    for names in (("attention_weights", "scores"), ("6", "3"), ("scores", "6", "3")):
        chosen = [part for name in names for part in ("--step", name)]
        out = by_lines("", TWO_WORDS, *chosen)
        equal(re.findall(r"^\d/7  \w+", out, re.M), due)
        out = by_lines("\n\nb\nq\n", TWO_WORDS, "--pause", *chosen)
        equal(re.findall(r"^\d/7  \w+", out, re.M), [*due, due[0]])


def a_value_may_be_a_fraction_a_root_or_a_percentage():
    for written, value in (("1/3", 1 / 3), ("√2", 2**0.5), ("3/√2", 3 / 2**0.5), ("-80%", -0.8),
                           ("2,5", 2.5)):
        done = subprocess.run([Program.path, "export", TWO_WORDS, "--set", f"X[1,2]={written}",
                               "--step", "X", "--plain", "-o", "-"], capture_output=True, check=True)
        number = float(done.stdout.split()[0].split(b",")[1])
        assert abs(number - value) <= 4e-16 * abs(value), (written, number)
        out = by_lines(f"s X[1,2]={written}\ne Q[fat,2]\nq\n", TWO_WORDS, "--pause")
        assert f"  = {value:.4f}".rstrip("0") in out, (written, out)


def asked_for_decimals_are_shown():
    """As many as are asked for: a share of a softmax has no end."""
    for digits in range(14, 18):
        out = by_lines("", TWO_WORDS, "--step", "attention_weights", "--digits", str(digits))
        whole = out.split("  attention_weights (2×2)\n")[1]
        assert re.search(rf"cat  0\.\d{{{digits}}}  0\.\d{{{digits}}}\s", whole), (digits, whole)


def b_goes_back_past_from_by_lines():
    out = by_lines("b\nb\nb\nq\n", TWO_WORDS, "--pause", "--from", "scores")
    assert "2/7  K" in out and "1/7  Q" in out and "This is the first step." in out, out


def nothing_pauses_without_a_terminal():
    out = by_lines("", TWO_WORDS)
    assert "quit" not in out and "7/7  context" in out
