#!/usr/bin/python3
"""What lessons/README.md says of the course, held to what each lesson prints.

    course.py QKV

Each function below is one claim.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from harness import equal, main, qkv

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "lessons" / "README.md").read_text(encoding="utf-8")
MISTAKES = (ROOT / "docs" / "mistakes.md").read_text(encoding="utf-8")


def rows(columns):
    """The rows of the tables with so many columns, without their heads."""
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == columns and not cells[0].startswith(("---", "what ")):
            yield cells


def places(cell):
    """The lessons and steps that a cell names: `lesson`: `step`, `step`; `lesson`: `step`."""
    for part in cell.split("; "):
        lesson, *steps = re.findall("`([^`]+)`", part)
        yield lesson, steps


def plain(text):
    return " ".join(text.split())


def what_the_sources_say_is_in_the_words_of_the_steps(folder):
    del folder
    walks, missing, count = {}, [], 0
    for claim, where, words in rows(3):
        text = ""
        for lesson, steps in places(where):
            assert steps, f"{claim}: {lesson} without a step"
            for step in steps:
                if (lesson, step) not in walks:
                    walks[lesson, step] = plain(qkv.printed("run", lesson, "--step", step))
                text += " " + walks[lesson, step]
        for piece in words.split(" … "):
            count += 1
            if piece not in text:
                missing.append(f"{where}: {piece}")
    equal(missing, [])
    assert count > 130, count


def the_table_of_lessons_is_the_course(folder):
    del folder
    listed = [re.findall("`([^`]+)`", name)[0] for name, _ in rows(2) if name.startswith("`")]
    equal(listed, [lesson["name"] for lesson in json.loads(qkv("lessons", "--json").stdout)])
    groups = [name.strip("*") for name, _ in rows(2) if name.startswith("**")]
    names = [line[2:16].strip() for line in qkv("lessons").stdout.splitlines()
             if line.startswith("  ") and line[2] != " "]
    equal(groups, names)


def both_lists_of_lessons_fit_a_terminal(folder):
    del folder
    for words in ((), ("lessons",)):
        lines = qkv(*words).stdout.splitlines()
        assert len(lines) <= 24, f"{words}: {len(lines)} lines"
        assert max(map(len, lines)) <= 80, words
        assert "qkv run the-fat-cat" in lines[-1], lines[-1]


def the_losses_of_why_scale_are_the_recorded_ones(folder):
    """What models/train_scaling.py wrote into models/scaling.json."""
    record = json.loads((ROOT / "models" / "scaling.json").read_text())
    qkv("export", "why-scale", "-o", folder / "out", "--format", "json", "--step", "loss_curve")
    curve = json.loads((folder / "out" / "lesson.json").read_text())["loss_curve"]
    equal(curve, [list(pair) for pair in zip(record["loss"]["with"], record["loss"]["without"])])
    told = qkv.printed("run", "why-scale", "--step", "loss_curve")
    equal([int(step) for step in re.findall(r"^ {2}(\d+) +\d\.\d{4} +\d\.\d{4}$", told, re.M)],
          record["recorded at"])


def words_of(lesson):
    """The lesson's file, each run of blanks as one, and all of its numbers."""
    path = next((ROOT / "lessons").glob(f"*-{lesson}.toml"))
    numbers = json.loads(qkv.printed("export", lesson, "-o", "-", "--format", "json"))
    return plain(path.read_text(encoding="utf-8")), numbers


def percent(share):
    """As a table writes it: 100 %, 59.2 %."""
    return f"{(100 * Decimal(str(share))).quantize(Decimal('0.1'), ROUND_HALF_UP)} %".replace("100.0 %", "100 %")


def what_is_left_without_a_head_is_what_was_recorded(folder):
    """What models/train_adjectives.py and train_adder.py wrote, in the tables of the lessons."""
    del folder
    words, _ = words_of("trained-adjectives")
    record = json.loads((ROOT / "models" / "adjectives.json").read_text())
    for head, right in {"none": record["accuracy"], **record["accuracy without"]}.items():
        shares = [percent(right[kind]) for kind in ("deed", "its texture", "its colour", "place")]
        assert f"{head} {' '.join(shares)}" in words, (head, shares)
    words, _ = words_of("trained-adder")
    record = json.loads((ROOT / "models" / "adder.json").read_text())
    assert f"In {record['sums']:,} sums" in words and record["right"] == {"sums": 1.0, "digits": 1.0}
    lines = {"other pairs": record["right with"]["pairs that stand side by side"],
             "no QK-norm": record["right with"]["no norm of queries and keys"],
             "queries one place off": record["right with"]["queries one place further"],
             "without head 1": record["right without"]["head 1"], "without head 2": record["right without"]["head 2"]}
    for name, right in lines.items():
        sums = f"{percent(right['sums'])} of sums" if right["sums"] else "no sum right"
        assert f"{name} {sums}, {percent(right['digits'])} of digits" in words, (name, right)
    assert f"{record['parameters']} parameters" in words


def numbers_that_words_only_quote_follow_from_the_cells(folder):
    """A lesson's words hold each number here, and its cells give it."""
    del folder
    words, cells = words_of("counting")
    pair = 2 * cells["per_matrix"][2][0]
    assert f"= {pair:,}, which is {cells['square_value'][0][0] // pair:.0f} times fewer" in words
    short, long = cells["bytes"][0][1], cells["bytes"][-1][1]
    assert "at 1k, which is 2 MiB" in words and short == 2 * 1024**2
    assert "at 1M, which is 2 TiB" in words and long == 2 * 1024**4
    assert f"{cells['cells'][-1][0] // cells['window_cells'][-1][0]:,.0f} times fewer" in words
    words, cells = words_of("llama-block")
    squares = [number**2 for number in cells["X"][1]]
    mean = sum(squares) / len(squares)
    said = f"the squares are {squares[0]}, {squares[1]}, {squares[2]} and {squares[3]}, their mean is {mean}"
    assert f"{said}, and the root of it {mean**0.5}" in words, said
    words, cells = words_of("train-one-step")
    assert f"0.1 of it is {cells['squared_length'][0][0] / 10}" in words
    words, cells = words_of("one-row-all")
    tokens, width, made = len(cells["X"]), len(cells["X"][0]), len(cells["K"][0])
    pairs, each = tokens * tokens, width * made
    said = f"That is {tokens} · {tokens} = {pairs} projections of {each} multiplications each, {pairs * each} in all"
    assert said in words, said
    assert f"makes each key once, with {tokens * each}." in words


def exercises(text):
    """The text and the commands of each question."""
    questions, open_question = [("", [])], True
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("    "):
            open_question = False
            questions[-1][1].append(shlex.split(line)[1:])
        elif line.strip():
            if not open_question:
                questions.append(("", []))
            open_question = True
            questions[-1] = (questions[-1][0] + " " + line, questions[-1][1])
    return [question for question in questions if question[1]]


def numbers(text):
    """Every number of a text; a minus sign belongs to it where no number stands before."""
    found = re.findall(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?", text)
    return {float(number.replace(",", "")) for number in found}


def every_question_has_an_answer_and_its_commands_print_the_numbers_of_it(folder):
    """An answer has a paragraph for each question. A question's commands, or those before it,
    print each number that its answer quotes, but for those of the question itself."""
    del folder
    count = 0
    for path in sorted((ROOT / "lessons").glob("*.toml")):
        steps = [step for step in tomllib.loads(path.read_text(encoding="utf-8"))["step"]
                 if "try" in step]
        assert steps, path.name
        for step in steps:
            questions = exercises(step["try"])
            answers = step.get("answer", "").split("\n\n")
            equal(len(answers), len(questions), path.name)
            seen = set()
            for (question, commands), answer in zip(questions, answers):
                seen |= numbers(question)
                for command in commands:
                    seen |= numbers(qkv.printed(*command))
                missing = numbers(answer) - seen
                assert not missing, f"{path.name}: no command prints {missing}: {answer}"
                count += len(commands)
    assert count > 100, count


def answers_are_printed_where_they_are_asked_for(folder):
    """Not by a walk or a worksheet; by --answers, folded on the page, and by the key a."""
    answer = "All scores of head 2 are 0"
    assert answer not in qkv.printed("run", "two-heads", "--no-pause")
    assert "Answers:\n\n  " + answer in qkv.printed("run", "two-heads", "--no-pause", "--answers")
    qkv.printed("report", "two-heads", "-o", folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert re.search(rf"<details [^>]*>\s*<summary>Answers</summary>\s*<p[^>]*>{answer}", page)
    qkv.printed("worksheet", "two-heads", "-o", folder / "sheet")
    assert answer not in (folder / "sheet" / "worksheet.html").read_text(encoding="utf-8")
    walked = qkv.printed("run", "two-heads", "--pause", "--plain", "--from", "output",
                         input="a\nb\na\nq\n", stdin=None)
    assert answer in walked
    assert "This step asks nothing" in walked


def the_heads_of_a_model_come_before_the_variants_of_a_lesson(folder):
    del folder
    for order in ("entropy", "largest", "layer"):
        printed = qkv.printed("heads", "trained-adder", "--sort", order, "--json")
        heads = json.loads(printed)["heads"]
        equal([head["step"] for head in heads[:2]], ["h0.attention_weights"] * 2, order)
        equal([head.get("variant", False) for head in heads], [False] * 2 + [True] * 6, order)
    lines = qkv.printed("heads", "trained-adder").splitlines()
    variants = next(i for i, line in enumerate(lines) if line.startswith("  Variants"))
    assert lines[variants - 1].startswith("  h0 head 2"), lines
    assert lines[variants + 1].startswith("  bare_weights head 1"), lines
    assert "Variants" not in qkv.printed("heads", "trained-adjectives")


def the_page_of_mistakes_has_every_id(folder):
    del folder
    of_mistakes = {prefix.split(".")[0] for prefix in re.findall(
        r"^\| `([a-z-]+\.[a-z0-9-]+)`", MISTAKES, re.M)}
    known = set()
    for source in [*(ROOT / "src/ops").rglob("*.[ch]pp"), *(ROOT / "src/check").rglob("*.cpp")]:
        names = re.findall(r'"([a-z-]+)\.([a-z0-9-]+)"', source.read_text(encoding="utf-8"))
        known |= {f"{kind}.{what}" for kind, what in names if kind in of_mistakes}
    for source in (ROOT / "src/ops").rglob("*.cpp"):  # a table's rows may have a kind that is new to the page
        known |= set(re.findall(r'\{"([a-z-]+\.[a-z0-9-]+)",\s+"', source.read_text(encoding="utf-8")))
    assert len(known) > 130, len(known)
    known -= {"norm.weight", "norm.bias"}
    equal(sorted(re.findall(r"^\| `([^`]+)`", MISTAKES, re.M)), sorted(known))


def a_command_that_is_broken_is_the_same_in_a_shell(folder):
    text = "the cat's fat thing"
    lesson = folder / "t.toml"
    lesson.write_text(f"""title = "t"
summary = "s"
text = "{text}"
[random]
seed = 1
[[given]]
name = "table"
randn = [4, 30]
""" + "".join(f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {of}\n' for name, op, of in (
        ("ids", "tokenise", "[]"), ("E", "embed", '["ids", "table"]'), ("S", "score", '["E", "E"]'),
        ("A", "softmax", '["S"]'))), encoding="utf-8")
    found = set()
    for width in range(30, 200, 5):
        printed = qkv("run", lesson, "--text", f"{text} {text}", "--set", "table[1,2]=3", "--step", "A", "--no-pause",
                      env={**os.environ, "COLUMNS": str(width)}).stdout
        command = re.search(r"qkv explain (?:.*\\\n)*.*", printed)
        if command:  # where the arithmetic is too long for the width
            found.add(subprocess.check_output(["bash", "-c", "qkv() { printf '%s\n' \"$@\"; }; " + command[0]],
                                              text=True))
    equal(len(found), 1, str(found))
    equal(qkv(*found.pop().splitlines()).returncode, 0)


CLAIMS = [
    a_command_that_is_broken_is_the_same_in_a_shell,
    the_page_of_mistakes_has_every_id,
    what_the_sources_say_is_in_the_words_of_the_steps,
    the_table_of_lessons_is_the_course,
    both_lists_of_lessons_fit_a_terminal,
    the_losses_of_why_scale_are_the_recorded_ones,
    what_is_left_without_a_head_is_what_was_recorded,
    numbers_that_words_only_quote_follow_from_the_cells,
    every_question_has_an_answer_and_its_commands_print_the_numbers_of_it,
    answers_are_printed_where_they_are_asked_for,
    the_heads_of_a_model_come_before_the_variants_of_a_lesson,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
