"""The quiz."""

import json
import os
import re
import subprocess

import numpy as np
from harness import for_sanitizers
from operations import softmax

from .lines import by_lines
from .terminal import TWO_WORDS, Program, equal, is_given_back, lessons, started


def by_hand():
    """The lesson of two words, worked by NumPy from the numbers that its file gives."""
    x = np.array([[1.0, 0], [1, 2]])
    w_q = np.array([[1.0, 0, 1, 0], [0, 1, 0, 0]])
    w_k = np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])
    q, k = x @ w_q, x @ w_k
    scores = q @ k.T
    masked = np.where(np.tri(2, dtype=bool), scores / 2, -np.inf)
    weights = softmax(masked)
    return {"Q": q, "K": k, "scores": scores, "scaled_scores": scores / 2, "masked_scores": masked,
            "attention_weights": weights, "context": weights @ x}


WORDS = {"fat": 0, "cat": 1, "describes": 0, "thing": 1}


def place(index):
    return WORDS[index] if index in WORDS else int(index) - 1


def quiz(answer, *arguments):
    """Plays a quiz; `answer(name, row, column, tries)` gives the lines. Returns what is printed."""
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8", **for_sanitizers()}
    player = subprocess.Popen([Program.path, "run", TWO_WORDS, "--quiz", *arguments], stdin=subprocess.PIPE,
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
        out = quiz(lambda name, i, j, _, w=writing: w(worked[name][i, j])
                   if np.isfinite(worked[name][i, j]) else "-inf")
        asked, = re.findall(r"(\d+) of (\d+) right", out)
        equal(asked[0], asked[1])


def a_known_mistake_is_named():
    """Who forgets to divide by √d_k answers with the score."""
    worked = by_hand()

    def answer(name, i, j, tries):
        wrong = name == "scaled_scores" and tries == 0
        return f"{worked['scores' if wrong else name][i, j]:.4f}"

    out = quiz(answer, "--from", "scaled_scores")
    assert "The scores were not divided by √d_k. Divide every score." in " ".join(out.split()), out
    assert "scale.skipped" not in out, out
    summary = out[re.search(r"\d of \d right\n", out).start():]
    assert "right at the second try" in summary, summary
    assert ("The scores were not divided" in summary) == ("A known mistake makes" in out), out


def two_tries_then_the_arithmetic():
    out = quiz(lambda *_: "77.5", "--step", "scaled_scores")
    assert "Not 77.5." in out and "Not 77.5 either." in out, out
    assert re.search(r"scaled_scores\[\w+,\w+\] = scores\[\w+,\w+\] / √4\n  = \d+ / √4", out), out
    assert "0 of 1 right" in out
    assert f"qkv run {TWO_WORDS} --step scaled_scores" in out, out


def right_after(*lines):
    """A quiz of one question that is answered right after these lines."""
    worked = by_hand()
    return quiz(lambda name, i, j, t: lines[t] if t < len(lines) else f"{worked[name][i, j]}",
                "--step", "scaled_scores")


def what_is_no_number_costs_no_try():
    out = right_after("about 2", "1,2.3", "1/0")
    equal(" ".join(out.split()).count("is not a number: write it like 0.25, 0,25, 3/7, √2, 80%, 2.5e-3 or -inf"), 3)
    assert "1 of 1 right" in out and "second try" not in out, out


def an_enter_too_many_gives_nothing_away():
    out = right_after("", "   ", "")
    equal(out.count("s skips, q quits"), 3)
    assert "1 of 1 right" in out and "second try" not in out and "Skipped" not in out, out


def a_quiz_that_is_left_can_be_taken_up_again():
    with started(TWO_WORDS, "--quiz", "--from", "scaled_scores", "--seed", "3") as terminal:
        terminal.type(b"s\r", "Skipped: scaled_scores")
        terminal.type(b"n", "5/7  masked_scores")
        terminal.type(b"s\r", "Skipped: masked_scores")
        terminal.type(b"n", "6/7  attention_weights")
        os.write(terminal.master, b"q\r")
        equal(terminal.end(), ("ended", 0))
        assert (f"To go on from here: qkv run {TWO_WORDS} --quiz --seed 3 --from attention_weights"
                in terminal.bytes.decode()), terminal.bytes[-500:]


def the_question_stays_in_sight():
    """In windows of all sizes, also after a wrong answer."""
    for name in ("the-fat-cat", "self-attention", TWO_WORDS):
        for rows, columns in ((24, 80), (12, 40), (8, 20), (24, 200)):
            with started(name, "--quiz", "--from", "scores", rows=rows, columns=columns) as terminal:
                for keys in (b"", b"99.5\r"):
                    os.write(terminal.master, keys)
                    terminal.settle()
                    seen = "".join(line.strip() for line in terminal.lines())
                    assert re.search(r"[wW]hat is ?(scores\[[^]]*\]|row ?\S+?( ?\(\w+\))?, ?column"
                                     r"[^?]*of ?scores)\?", seen), (name, seen)
                assert "Not 99.5." in seen, (name, seen)


def skipping_and_quitting():
    assert "0 of 1 right" in quiz(lambda *_: "s", "--step", "scaled_scores")
    assert "  skipped" in quiz(lambda *_: "s", "--step", "scaled_scores")
    assert "Nothing has been asked" in quiz(lambda *_: "q")


def a_step_is_shown_once_and_only_after_its_answer():
    worked = by_hand()
    out = quiz(lambda name, i, j, _: f"{worked[name][i, j]:.6f}")
    asked = re.findall(r"what is row [^?]* of (\w+)[,?]", out)
    assert len(asked) >= 3, out
    for name in ("Q", "K", "scores", "scaled_scores", "masked_scores", "attention_weights"):
        headings = [m.start() for m in re.finditer(rf"^\d/7  {name}  ", out, re.M)]
        equal((name, len(headings)), (name, 2 if name in asked else 1))
        if name not in asked:
            continue
        answered = out.index("Right: ", headings[0])  # between the question and the step
        assert headings[0] < re.search(rf"what is row [^?]* of {name}[,?]", out).start() < answered < headings[1], out


def a_change_of_digits_is_seen_at_once_by_lines():
    out = by_lines("g attention_weights\n-\n-\nq\n", TWO_WORDS, "--pause")
    three, two = out.index("  3 decimals"), out.index("  2 decimals")
    weight = by_hand()["attention_weights"][1, 0]
    assert re.search(rf"cat +{weight:.3f} ", out[three:two]), out[three:two]
    assert re.search(rf"cat +{weight:.2f} ", out[two:]), out[two:]


def the_same_seed_asks_the_same():
    asked = [re.findall(r"what is (.*)\?", by_lines("s\n" * 40, "the-fat-cat", "--quiz", "--seed", s))
             for s in ("1", "1", "2")]
    equal(asked[0], asked[1])
    assert asked[0] != asked[2]


def no_question_is_hidden_or_trivial():
    """Of every lesson and several seeds: the number is not 0, and -inf only where it is hidden."""
    for name in lessons():
        for seed in "03":
            out = by_lines("s\n" * 60, name, "--quiz", "--seed", seed)
            for cell, value in re.findall(r"Skipped: (.*) = (.*)\.\n", re.sub(r"\n +", " ", out) + "\n"):
                assert value not in ("0", "inf"), (name, seed, cell)
                if value == "-inf":
                    told = subprocess.run([Program.path, "explain", name, cell, "--json"],
                                          stdout=subprocess.PIPE, check=True, timeout=60)
                    equal((cell, json.loads(told.stdout)["op"]), (cell, "mask"))


def the_quiz_works_on_the_screen():
    worked = by_hand()
    with started(TWO_WORDS, "--quiz", "--step", "scaled_scores") as terminal:
        row, column = re.search(r"scaled_scores\[(\w+),(\w+)\] =$", terminal.lines()[-1]).groups()
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
