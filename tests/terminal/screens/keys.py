"""Keys, and how soon they are answered."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from harness import for_sanitizers

from .lines import by_lines
from .terminal import (DOWN, FRAME_END, LEFT, RIGHT, TWO_WORDS, UP, Program, Terminal, equal,
                       is_given_back, started)


def keys_may_come_in_pieces():
    with started("two-heads") as terminal:
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
    with started("two-heads") as terminal:
        terminal.press(b"e")
        assert terminal.lines()[-1].startswith("cell:")
        terminal.press(b"\x1b")
        assert terminal.lines()[-1].startswith("1/14"), terminal.text()


def what_is_pasted_presses_no_key():
    with started("two-heads") as terminal:
        terminal.press(b"\x1b[200~q\rq\x1b[201~")
        assert terminal.lines()[-1].startswith("1/14"), terminal.text()
        terminal.press(b"g")
        terminal.press(b"\x1b[200~sco\nres\x1b[201~")
        equal(terminal.lines()[-1], "go to step: scores")


def steps_are_reached_by_number_and_name():
    with started("two-heads") as terminal:
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
    out = by_lines("", TWO_WORDS, "--set", "X[cat,thing]=0", "--step", "attention_weights", "--way")
    way, whole = out.split("  attention_weights (2×2)\n")
    assert re.search(r"cat +\*0 +0\n", way), way
    assert re.search(r"cat +\*1 +1\n", way), way
    assert re.search(r"cat +\*0.5 +\*0.5 ", whole), whole
    assert "*" not in by_lines("", TWO_WORDS, "--step", "attention_weights")


def dots_say_where_the_marks_are():
    with started(TWO_WORDS) as terminal:
        terminal.type(b"gscores\r", "3/7  scores  Score")
        terminal.type(b"sX[cat,thing]=0\r", "* marks numbers that differ")
        terminal.type(b"h", "h shows numbers, where * marks")


def b_goes_back_past_from():
    with started("two-heads", "--from", "scores") as terminal:
        terminal.type(b"b", "7/14  V")
        terminal.type(b"b", "6/14  K")
        terminal.type(b"n", "7/14  V")


def q_quits_from_everywhere():
    for keys, seen in ((b"e\r", "[ ] this cell"), (b"?", "any other key goes back"),
                       (b"e\r?", "any other key goes back")):
        with started(TWO_WORDS) as terminal:
            terminal.type(keys, seen)
            os.write(terminal.master, b"q")
            equal(terminal.end(), ("ended", 0))
            is_given_back(terminal)


def the_line_to_resume_can_be_pasted():
    """A shell runs it, and it shows the step with the changed numbers."""
    with started(TWO_WORDS, "--set", "X[fat,thing]=√2") as terminal:
        terminal.type(b"gscores\r", "3/7  scores")
        terminal.type(b"sX[ cat , thing ] = 1/3\r", "changed: Q")
        os.write(terminal.master, b"q")
        equal(terminal.end(), ("ended", 0))
        line = re.search(r"To go on from here: qkv (run .*?)\r?\n", terminal.bytes.decode())[1]
    due = by_lines("", TWO_WORDS, "--set", "X[fat,thing]=√2", "--set", "X[ cat , thing ] = 1/3",
                   "--from", "scores")
    done = subprocess.run(["/bin/sh", "-c", f'"$0" {line}', Program.path], capture_output=True,
                          check=True, env={"COLUMNS": "80", "LANG": "C.UTF-8", **for_sanitizers()})
    equal(done.stdout.decode(), due)


def arrows_choose_a_cell_where_one_is_asked_for():
    with started(TWO_WORDS) as terminal:
        terminal.type(b"gscores\r", "3/7  scores")
        terminal.type(b"e", "Enter alone (or an arrow) takes scores[cat,cat]")
        terminal.type(LEFT, "scores[cat,fat] =")
        terminal.type(UP, "scores[fat,fat] =")


def x_writes_what_export_writes():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([Program.path, "export", TWO_WORDS, "-o", f"{folder}/a"], check=True,
                       stderr=subprocess.DEVNULL)
        with started(TWO_WORDS) as terminal:
            terminal.press(b"x")
            os.write(terminal.master, f"{folder}/b\r".encode())
            terminal.wait_for(lambda t: "files in" in t.text())
        a, b = (sorted(Path(folder, name).iterdir()) for name in "ab")
        equal([(p.name, p.read_bytes()) for p in a], [(p.name, p.read_bytes()) for p in b])


def keys_are_answered_as_soon_on_a_large_matrix():
    """Both fill the screen, so both take as long to draw: 4 times is for what lies outside it."""
    with tempfile.TemporaryDirectory() as folder:
        with started(scores_of(folder, 64), rows=50, columns=200) as small:
            for name in (scores_of(folder, 1024), "two-heads", "batches", "fluffy-blue-creature",
                         "multi-head-512"):
                with started(name, rows=50, columns=200) as large:
                    both = small, large
                    pressed(both, b"ne\r")
                    for key in (RIGHT, DOWN, b"\x1b[6~", b"\x1b[F"):
                        fast_enough(both, [key] * 7, name)
                    pressed(both, b"\r")
                    fast_enough(both, [b"b", b"n"] * 5, name)
                    fast_enough(both, [b"j", b"k"] * 5, name)
                    pressed((small,), b"b")


def scores_of(folder, words):
    """A lesson with that many words: words × words scores."""
    lesson = Path(folder) / f"{words}.toml"
    lesson.write_text('title = "Scores"\n[random]\nseed = 0\n'
                      f'[[given]]\nname = "A"\nrandn = [{words}, {words}]\n'
                      f'[[given]]\nname = "B"\nrandn = [{words}, {words}]\n'
                      '[[step]]\nname = "S"\nop = "score"\nof = ["A", "B"]\n'
                      '[[step]]\nname = "W"\nop = "softmax"\nof = ["S"]\n')
    return str(lesson)


def pressed(terminals, keys):
    for terminal in terminals:
        for key in keys:
            terminal.press(bytes([key]))


def fast_enough(terminals, keys, name):
    """The two take turns, so what else the machine does slows both. What is slow stays slow."""
    for _ in range(3):
        small, large = quarters_of_times(terminals, keys)
        if os.environ.get("QKV_TIMES"):
            print(f"{name} {keys[0]!r}: {large * 1000:.1f} ms, {large / small:.1f} times")
        if large <= 4 * small:
            return
        time.sleep(1)
    raise AssertionError(f"{name}, {keys[0]!r}: {large * 1000:.1f} ms, not {small * 1000:.1f} ms")


def quarters_of_times(terminals, keys):
    """For each terminal the time that a quarter of the keys keep to, in seconds."""
    times = [[] for _ in terminals]
    for key in keys:
        for terminal, taken in zip(terminals, times):
            terminal.settle(0.01)
            start = time.monotonic()
            terminal.press(key)
            taken.append(time.monotonic() - start)
    return [sorted(taken)[len(taken) // 4] for taken in times]


def n_after_the_last_step_goes_to_the_next_lesson():
    with Terminal("run", "the-fat-cat", "--from", "context") as terminal:
        terminal.wait_for(lambda t: t.bytes.count(FRAME_END) > 0 and "The fat cat" in t.text())
        terminal.type(b"\x1b[F", "n next lesson")
        terminal.type(b"n", "Two heads")
        terminal.press(b"q")
        equal(terminal.end(), ("ended", 0))
        assert b"To go on from here" not in terminal.bytes  # nothing of it was read


def code_is_shown_and_hidden():
    with started("two-heads") as terminal:
        terminal.type(b"gscores\r", "8/14  scores")
        terminal.type(b"c", "PyTorch  scores = Q @ K.transpose(-2, -1)")
        terminal.press(b"c")
        assert "PyTorch" not in terminal.text()


def run_alone_goes_on_where_the_last_walk_was_left():
    with tempfile.TemporaryDirectory() as state:
        with Terminal("run", "rope", "--from", "scores", XDG_STATE_HOME=state) as terminal:
            terminal.wait_for(lambda t: b"Rotary" in t.bytes)
            os.write(terminal.master, b"q")
            equal(terminal.end(), ("ended", 0))
        left = Path(state) / "qkv" / "walk"
        equal(left.read_text(), "rope scores\n")
        left.unlink()
        with Terminal("run", "rope", "--from", "scores", XDG_STATE_HOME=state) as terminal:
            terminal.wait_for(lambda t: b"Rotary" in t.bytes)
            terminal.press(b"n")
            os.write(terminal.master, b"\x03")  # Ctrl-C
            terminal.end()
        equal(left.read_text(), "rope Q_later\n")
        for asked, shown in ((b"\n", b"Rotary"), (b"n\n", b"The fat cat"), (b"help\nn\n", b"The fat cat")):
            left.write_text("rope scores\n")
            with Terminal("run", XDG_STATE_HOME=state) as terminal:
                terminal.wait_for(lambda t: b"q and Enter quits: " in t.bytes)
                assert b"in the lesson rope, at scores" in terminal.bytes
                os.write(terminal.master, asked)
                terminal.wait_for(lambda t, shown=shown: shown in t.bytes)


def a_state_that_names_no_step_of_the_course_is_ignored():
    with tempfile.TemporaryDirectory() as state:
        left = Path(state) / "qkv" / "walk"
        left.parent.mkdir()
        for bytes_ in (b"", b"the-fat-cat token_ids\n", b"/etc/passwd 1\n", b"../rope Q\n",
                       b"\xff\x00\x1b[2J", b"rope " * 9999):
            left.write_bytes(bytes_)
            with Terminal("run", XDG_STATE_HOME=state) as terminal:
                terminal.wait_for(lambda t: b"The fat cat" in t.bytes)
                assert b"Last time" not in terminal.bytes, terminal.bytes
        left.write_bytes(b"rope \x1b[2Jno-step\n")
        with Terminal("run", XDG_STATE_HOME=state) as terminal:
            terminal.wait_for(lambda t: b"in the lesson rope, at Q_rope" in t.bytes)


def a_state_that_cannot_be_written_is_no_error():
    for home in ({}, {"HOME": "/dev/null"}, {"XDG_STATE_HOME": "relative"}):
        with Terminal("run", "rope", **home) as terminal:
            terminal.wait_for(lambda t: b"Rotary" in t.bytes)
            os.write(terminal.master, b"nq")
            equal(terminal.end(), ("ended", 0))
            assert b"To go on from here: qkv run rope --from K_rope" in terminal.bytes
