#!/usr/bin/python3
"""What qkv does when files change under it, signals come, several run at once, and the system is not
the usual one.

    os_failures.py QKV
"""

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import harness
from harness import Skipped, equal, qkv

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
import gpt  # noqa: E402

EXAMPLES = ROOT / "examples"
LESSON = EXAMPLES / "two-words.toml"
LARGE = """
[random]
seed = 0
[[given]]
name = "A"
randn = [900, 900]
[[step]]
name = "B"
op = "matmul"
of = ["A", "A"]
[[step]]
name = "C"
op = "softmax"
of = ["B"]
"""


def large(folder):
    lesson = folder / "large.toml"
    lesson.write_text(LARGE)
    return lesson


def started(*arguments, **options):
    return subprocess.Popen([qkv.path, *map(str, arguments)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def no_crash(done, what):
    """It ended by itself, with a word that blames no part of qkv."""
    assert done.returncode in (0, 1, 2), f"{what}: exit status {done.returncode}"
    assert "mistake in qkv" not in done.stderr, f"{what}: {done.stderr}"
    if done.returncode == 2:
        assert done.stderr.startswith("qkv: ") or done.stdout, f"{what}: nothing is said"


# ---- files that change --------------------------------------------------------------------------


def every_format_cut_anywhere_is_reported(folder):
    out = folder / "out"
    equal(qkv("export", LESSON, "-o", out, "--format", "csv,npy,npz,json,safetensors").returncode, 0)
    cut = folder / "cut"
    tried = 0
    kinds = {whole.suffix: whole for whole in out.iterdir() if whole.name != "00-lesson.json"}
    for whole in (out / "00-lesson.json", *kinds.values()):
        data = whole.read_bytes()
        for length in sorted({0, 1, 2, 7, 8, 9, 64, 128, len(data) // 2, len(data) - 1}):
            cut.mkdir()
            name = whole.name if whole.suffix != ".safetensors" else "lesson.safetensors"
            (cut / name).write_bytes(data[:length])
            for command in (["check", LESSON, cut], ["check", LESSON, cut / name],
                            ["compare", cut / name, LESSON], ["lint", cut / name]):
                no_crash(qkv(*command), f"{command[0]}, {whole.name} cut to {length}")
                tried += 1
            shutil.rmtree(cut)
    equal(len(kinds), 5)
    assert tried > 200, tried
    for name in ("Y.csv", "Y.tsv", "Y.txt", "Y.npy", "Y.npz", "Y.json", "Y.safetensors"):
        (folder / name).write_bytes(b"")
        for command in (["check", LESSON, folder / name], ["compare", folder / name, LESSON]):
            done = qkv(*command)
            no_crash(done, name)
            equal(done.returncode, 2, name)
            assert name in done.stderr, done.stderr


def bytes_of(save, *arguments, **named):
    stream = io.BytesIO()
    save(stream, *arguments, **named)
    return stream.getvalue()


def model_bytes(folder):
    gpt.write_safetensors(folder / "whole", gpt.random_weights(1, 8, 3, 8, "out-in", 3), {"n_head": "2"})
    return (folder / "whole").read_bytes()


def what_a_lesson_reads_cut_anywhere_is_reported(folder):
    """Each file whole first, which must do; then the first bytes of it, which must not or must end well."""
    vocab = {"a": 0, "b": 1, "ab": 2, "\u0120": 3}
    merges = "#version: 0.2\na b\n"
    tokenizer = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                 "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}}
    matrix = np.array([[1.5, 2], [3, 4]])
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text(merges)
    given = '[[given]]\nname = "X"\nfile = "{}"\n[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\n'
    ids = 'text = "ab"\n[[step]]\nname = "ids"\nop = "tokenise"\nmethod = "bpe"\n'
    parts = 'vocab = "{}"\nmerges = "{}"\n'
    for name, whole, lesson, told_as in (
            ("X.npz", bytes_of(np.savez, X=matrix), given.format("X.npz"), "X.npz"),
            ("X.npy", bytes_of(np.save, matrix), given.format("X.npy"), "X.npy"),
            ("V.json", json.dumps(vocab).encode(), ids + parts.format("V.json", "merges.txt"),
             "vocab"),
            ("M.txt", merges.encode(), ids + parts.format("vocab.json", "M.txt"), "merges"),
            ("T.json", json.dumps(tokenizer).encode(), ids + 'tokenizer = "T.json"\n', "tokenizer"),
            ("M.safetensors", model_bytes(folder), 'text = "A B"\n[model]\nfile = "M.safetensors"\n'
             'vocabulary = ["A", "B", "C"]\n', "M.safetensors")):
        (folder / "lesson.toml").write_text(lesson)
        (folder / name).write_bytes(whole)
        equal((name, qkv("run", folder / "lesson.toml").stderr), (name, ""))
        for length in sorted({0, 1, 7, 8, 9, 30, len(whole) // 2, len(whole) - 1}):
            (folder / name).write_bytes(whole[:length])
            for command in ("run", "lint"):
                done = qkv(command, folder / "lesson.toml")
                no_crash(done, f"{command}, {name} cut to {length}")
                if name != "M.txt":  # its lines stand alone, and a blank end of one is none
                    equal((done.returncode, told_as in done.stderr + done.stdout), (2, True),
                          f"{command}, {name} cut to {length}: {done.stdout[:200]} {done.stderr}")


def a_submission_that_vanishes_is_reported(folder):
    for name in ("gone.csv", "gone"):
        done = qkv("check", LESSON, folder / name)
        equal(done.returncode, 2)
        assert str(folder / name) in done.stderr, done.stderr
    (folder / "dangling.csv").symlink_to(folder / "nothing")
    no_crash(qkv("check", LESSON, folder), "a link to nothing")


# ---- what was there stays -----------------------------------------------------------------------


def what_does_not_fit_leaves_what_was_there(folder):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    lesson = large(folder)
    for name, command in (("out/01-B.csv", ["export", lesson, "-o", folder / "out"]),
                          ("out/lesson.npz", ["export", lesson, "--format", "npz", "-o", folder / "out"]),
                          ("page.html", ["report", lesson, "--force", "-o", folder / "page.html"]),
                          ("sheet/worksheet.html", ["worksheet", LESSON, "-o", folder / "sheet"])):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("older")
        done = qkv(*command, preexec_fn=small_files)
        equal((done.returncode, file.read_text()), (2, "older"), name)
        assert "the file cannot be written: File too large" in done.stderr, done.stderr
        assert not [other for other in file.parent.iterdir() if other.name.startswith(".qkv")], name


def no_result_is_lost_in_a_full_disk(folder):
    (folder / "work").mkdir()
    (folder / "work" / "scores.csv").write_text("1,3\n3,5\n")
    with open("/dev/full", "w", encoding="utf-8") as full:
        for command in (["report", LESSON, "-o", "-"], ["check", LESSON, folder / "work"],
                        ["check", LESSON, folder / "work", "--json"],
                        ["compare", LESSON, LESSON], ["lessons", "--json"], ["lint", "--ops"],
                        ["run", LESSON, "--pause"], ["export", LESSON, "-o", "/dev/full"],
                        ["params", "--d-model", "8", "--d-k", "4", "--heads", "2"], ["--version"]):
            done = subprocess.run([qkv.path, *map(str, command)], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            equal(done.returncode, 2, command)
            assert done.stderr.startswith("qkv: "), done.stderr


def a_signal_leaves_the_older_page(folder):
    lesson, page = large(folder), folder / "page.html"
    equal(qkv("report", LESSON, "-o", page).returncode, 0)
    before = page.read_bytes()
    equal(qkv("report", lesson, "-o", page).returncode, 0)
    after = page.read_bytes()
    caught = 0
    # A signal that comes when the new page stands in its place may still end the run: whole or not at all.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for wait in (0.02, 0.05, 0.1, 0.2):
            page.write_bytes(before)
            running = started("report", lesson, "-o", page)
            time.sleep(wait)
            running.send_signal(number)
            running.communicate(timeout=120)
            assert running.returncode in (0, -number), running.returncode
            stands = page.read_bytes()
            assert stands in (before, after), f"a page of {len(stands)} bytes"
            caught += running.returncode == -number and stands == before
            assert not list(folder.glob(".qkv*")), "a temporary was left behind"
    assert caught > 0, "no report was caught in time"


def a_file_that_may_grow_no_further_is_reported(folder):
    """As under ulimit -f, or a quota: what was there stays, and nothing half is left."""
    short = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    page, out = folder / "page.html", folder / "out"
    equal(qkv("report", LESSON, "-o", page).returncode, 0)
    before = page.read_bytes()
    for arguments in (["report", LESSON, "-o", page], ["export", "the-fat-cat", "-o", out, "--format", "npz"]):
        running = started(*arguments, preexec_fn=short)
        _, err = running.communicate(timeout=120)
        equal(running.returncode, 2, err)
        assert err.endswith("the file cannot be written: File too large\n"), err
    equal(page.read_bytes(), before)
    equal(list(out.iterdir()), [])


def every_signal_that_ends_an_export_clears_up(folder):
    lesson, caught = large(folder), 0
    for number in (signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
        running = started("export", lesson, "-o", folder / "out",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        time.sleep(0.08)
        running.send_signal(number)
        running.communicate(timeout=120)
        assert running.returncode in (-number, 0), running.returncode
        caught += running.returncode == -number
        assert not list((folder / "out").glob(".qkv*")), "a temporary was left behind"
    assert caught > 0, "no export was caught in time"


def a_signal_ends_a_check(folder):
    lesson, out = large(folder), folder / "out"
    equal(qkv("export", lesson, "-o", out, "--format", "npy").returncode, 0)
    before = contents(out)
    for number in (signal.SIGINT, signal.SIGTERM):
        running = started("check", lesson, out)
        time.sleep(0.1)
        running.send_signal(number)
        running.communicate(timeout=120)
        assert running.returncode in (-number, 0), running.returncode
        equal(contents(out), before)


def two_exports_at_once_leave_whole_files(folder):
    out, alone = folder / "out", folder / "alone"
    equal(qkv("export", "the-fat-cat", "-o", alone).returncode, 0)
    for _ in range(5):
        both = [started("export", "the-fat-cat", "-o", out) for _ in range(4)]
        for running in both:
            _, err = running.communicate(timeout=120)
            equal((running.returncode, err), (0, f"{len(contents(alone))} files in {out}\n"))
        equal(contents(out), contents(alone))


# ---- other surroundings -------------------------------------------------------------------------


def nothing_of_the_environment_is_needed(folder):
    usual = qkv.printed("run", LESSON)
    for environment in ({}, {"TERM": "dumb"}, {"TERM": "nonsense"}, {"HOME": "/nowhere"},
                        {"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "nonsense"},
                        {"COLUMNS": "nonsense"}, {"COLUMNS": "80"}):
        equal(qkv.printed("run", LESSON, env=environment), usual, environment)
    equal(qkv("export", LESSON, "-o", folder / "out", env={}).returncode, 0)


def decimal_commas_of_a_locale_change_nothing(folder):
    place = folder / "locales"
    place.mkdir()
    if not shutil.which("localedef") or subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", place / "de_DE.UTF-8"], check=False,
            capture_output=True).returncode > 1 or not (place / "de_DE.UTF-8").is_dir():
        raise Skipped("no locale with decimal commas can be made")
    german = {**os.environ, "LOCPATH": str(place), "LC_ALL": "de_DE.UTF-8", "COLUMNS": "80"}
    shown = subprocess.run(["/usr/bin/printf", "%.1f", "1,5"], env=german, capture_output=True,
                           text=True, check=False).stdout
    if shown != "1,5":
        raise Skipped("the locale does not work here")
    for arguments in (["run", "the-fat-cat"], ["explain", "the-fat-cat", "scores[1,1]"],
                      ["export", "the-fat-cat", "-o", "-"], ["lessons", "--json"]):
        equal(qkv.printed(*arguments, env=german), qkv.printed(*arguments))


def the_same_command_gives_the_same_bytes(folder):
    lesson = large(folder)
    runs = {"one": [], "two": [], "one-thread": ["--threads", "1"], "two-threads": ["--threads", "2"]}
    for name, threads in runs.items():
        equal(qkv("export", lesson, "-o", folder / name, "--format", "csv,npy,json",
                  *threads).returncode, 0)
        page = qkv.printed("report", LESSON, "-o", "-", *threads)
        (folder / name / "page.html").write_text(page)
    for name in runs:
        equal(contents(folder / name), contents(folder / "one"), name)


def a_reader_who_leaves_early_ends_every_command(folder):
    lesson = large(folder)
    for command in (["export", lesson, "-o", "-"], ["report", lesson, "-o", "-"], ["run", "the-fat-cat"]):
        running = started(*command)
        running.stdout.read(10)
        running.stdout.close()
        err = running.stderr.read()
        running.wait(120)
        assert running.returncode in (0, -signal.SIGPIPE), running.returncode
        equal(err, "")
        running.stderr.close()


CLAIMS = [
    every_format_cut_anywhere_is_reported,
    what_a_lesson_reads_cut_anywhere_is_reported,
    a_submission_that_vanishes_is_reported,
    what_does_not_fit_leaves_what_was_there,
    no_result_is_lost_in_a_full_disk,
    a_signal_leaves_the_older_page,
    a_file_that_may_grow_no_further_is_reported,
    every_signal_that_ends_an_export_clears_up,
    a_signal_ends_a_check,
    two_exports_at_once_leave_whole_files,
    nothing_of_the_environment_is_needed,
    decimal_commas_of_a_locale_change_nothing,
    the_same_command_gives_the_same_bytes,
    a_reader_who_leaves_early_ends_every_command,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
