#!/usr/bin/python3
"""What qkv reads and writes where it is not meant well: pipes and devices in place of files, a reader
that is slow, names by the thousand, numbers that no double holds.

    special_files.py QKV
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import harness
from harness import equal, qkv

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LESSON = EXAMPLES / "two-words.toml"
PIPE = "this is a pipe, which may never be written to: name a file, or <(cat PIPE)\n"
DEVICE = "this is a device, which may have no end: name a file\n"


def refused(done, why):
    equal(done.returncode, 2)
    assert why in done.stdout + done.stderr, f"{why!r} is not in {done.stdout + done.stderr!r}"


# ---- pipes and devices --------------------------------------------------------------------------


def a_pipe_that_nothing_writes_to_is_not_waited_for(folder):
    for name in ("lesson.toml", "scores.csv", "dump.npz", "model.safetensors", "all.zip"):
        os.mkfifo(folder / name)
    for arguments in (["run", "lesson.toml"], ["lint", "lesson.toml"], ["export", "lesson.toml", "-o", "out"],
                      ["check", LESSON, "scores.csv"], ["compare", "dump.npz", LESSON],
                      ["compare", LESSON, "dump.npz"], ["check", LESSON, "all.zip"],
                      ["run", "--model", "model.safetensors", "--text", "a"],
                      ["heads", "model.safetensors", "--text", "a"]):
        refused(qkv(*arguments, cwd=folder, timeout=20), PIPE)


def a_device_is_refused_at_once(folder):
    for arguments in (["run", "/dev/zero"], ["lint", "/dev/zero"],
                      ["run", "--model", "/dev/zero", "--text", "a"],
                      ["compare", "the-fat-cat", "--model", "/dev/zero", "--text", "cat"]):
        refused(qkv(*arguments, timeout=20), DEVICE)
    (folder / "model.safetensors").symlink_to("/dev/zero")
    refused(qkv("run", "--model", folder / "model.safetensors", "--text", "a", timeout=20), DEVICE)


def a_pipe_or_device_in_a_submission_is_unreadable(folder):
    os.mkfifo(folder / "Q.csv")
    (folder / "K.csv").symlink_to("/dev/zero")
    qkv.printed("export", LESSON, "--step", "scores", "--plain", "-o", folder / "out")
    shutil.copy(next((folder / "out").glob("*scores.csv")), folder / "scores.csv")
    shutil.rmtree(folder / "out")
    done = qkv("check", LESSON, folder, timeout=20)
    for why in (f"Q.csv: {PIPE}", "K.csv: this is a device, which may have no end: name a file of numbers\n"):
        refused(done, why)
    assert "right: scores" in done.stdout, done.stdout


def a_shell_s_own_pipes_are_read(folder):
    for command in ("'{0}' run <(sleep 0.1; cat '{1}')", "cat '{1}' | '{0}' run /dev/stdin",
                    "'{0}' run /dev/stdin < '{1}'", "mkfifo p; (cat '{1}' > p &) ; '{0}' run <(cat p)"):
        done = subprocess.run(["bash", "-c", command.format(qkv.path, LESSON)], capture_output=True,
                              text=True, check=False, timeout=20, cwd=folder, stdin=subprocess.DEVNULL)
        equal((done.returncode, done.stderr), (0, ""), command)
        assert done.stdout.startswith("Two words\n") and "\n7/7  " in done.stdout, done.stdout


def a_device_in_place_of_an_output_file_is_refused(folder):
    why = "a pipe or a device is in the way of this file: name another file, or - for standard output\n"
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for place in ("/dev/null", "/dev/stdout", "/dev/fd/1", folder / "pipe"):
        for command in (["report", LESSON, "-o", place], ["report", LESSON, "--force", "-o", place],
                        ["new", place, "--force"], ["new", place]):
            done = qkv(*command, timeout=20)
            equal((done.returncode, done.stdout, done.stderr), (2, "", f"qkv: {place}: {why}"), command)
        for command in ("export", "worksheet"):
            done = qkv(command, LESSON, "-o", place, timeout=20)
            equal((done.returncode, done.stdout), (2, ""))
            assert done.stderr.startswith(f"qkv: {place}: a file is in the way of this directory"), done.stderr
    os.close(reader)
    assert Path("/dev/null").is_char_device() and (folder / "pipe").is_fifo()


# ---- standard output ----------------------------------------------------------------------------


def a_full_pipe_that_does_not_block_is_waited_for(folder):
    due = qkv.printed("report", LESSON, "-o", "-")
    assert len(due) > 65536, "it would fit into a pipe"
    read, write = os.pipe()
    os.set_blocking(write, False)
    running = subprocess.Popen([qkv.path, "report", LESSON, "-o", "-"], stdout=write,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    os.close(write)
    time.sleep(0.3)
    equal(running.poll(), None)
    with os.fdopen(read, encoding="utf-8") as pipe:
        got = pipe.read()
    _, err = running.communicate(timeout=20)
    equal((running.returncode, err), (0, b""))
    equal(got, due)


# ---- names by the thousand ----------------------------------------------------------------------


def thousands_of_bad_paths_are_reported_briefly(folder):
    paths = [f"a{i}" for i in range(5000)]
    done = qkv("check", LESSON, *paths, cwd=folder)
    equal(done.returncode, 2)
    equal(done.stderr.splitlines()[0], "qkv: a0: there is no such file or directory")
    equal(done.stderr.splitlines()[10:], ["qkv: and 4990 more paths that can't be read"])
    equal(done.stdout.splitlines()[9:], ["a9: can't be read", "4990 more: can't be read"])
    done = qkv("lint", *paths, cwd=folder)
    equal((done.returncode, done.stdout), (2, ""))
    equal(done.stderr.splitlines()[10:], ["qkv: and 4990 more files that can't be read"])
    equal(len(json.loads(qkv("check", LESSON, *paths, "--json", cwd=folder).stdout)), 5000)


def thousands_of_stray_files_are_one_message(folder):
    work = folder / "work"
    work.mkdir()
    for i in range(4000):
        (work / f"note{i:04}.csv").write_text("see page 7,1\n")
    said = (f"qkv: 4000 files fit no step of this lesson: {work}/note0000.csv, {work}/note0001.csv, "
            f"{work}/note0002.csv, …; a file is named after its step, as in context.csv\n")
    done = qkv("check", LESSON, work)
    equal((done.returncode, done.stdout, done.stderr), (2, "", said))
    (work / "scores.csv").write_text("1,3\n3,5\n")
    done = qkv("check", LESSON, work)
    equal((done.returncode, done.stderr), (0, said))
    letters = "abcdefghijklmnop"
    near = [f"scores{a}{b}{c}.csv" for a in letters for b in letters for c in letters][:4000]
    for i, name in enumerate(near):
        (work / f"note{i:04}.csv").rename(work / name)
    equal(qkv("check", LESSON, work).stderr.splitlines()[10:], [f"qkv: and 3990 more messages about {work}"])
    done = qkv("compare", work, LESSON)
    equal((done.returncode, len(done.stderr.splitlines())), (0, 11))


def a_stray_file_that_can_t_be_read_says_why(folder):
    folder.chmod(0o755)
    lesson = shutil.copy(LESSON, folder)
    (folder / "scores.csv").write_text("1,3\n3,5\n")
    (folder / "gone.csv").symlink_to("nowhere")
    gone = f"qkv: {folder}/gone.csv: there is no such file: check the name and the directory\n"
    done = qkv("check", lesson, folder / "scores.csv")
    equal((done.returncode, done.stderr), (0, ""))
    os.remove(lesson)
    done = qkv("check", LESSON, folder)
    equal((done.returncode, done.stderr), (0, gone))
    (folder / "locked.csv").write_text("1,2\n")
    (folder / "locked.csv").chmod(0)
    another = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    done = qkv("check", "the-fat-cat", folder, **another)
    if "Permission denied" not in done.stderr:
        raise harness.Skipped("another can't run the program")
    assert f"qkv: {folder}/locked.csv: the file cannot be opened: Permission denied\n" in done.stderr, done.stderr
    assert "locked.csv fits no step" not in done.stderr, done.stderr


# ---- whole numbers ------------------------------------------------------------------------------

ROUNDED = "is a whole number that no double holds: if it may be rounded, "


def whole_numbers_that_no_double_holds_are_reported(folder):
    """2⁵³ is 9007199254740992; of the numbers above it a double has every second one."""
    for name, dtype, number in (("signed", np.int64, 2**53 + 1), ("negative", np.int64, -2**53 - 1),
                                ("unsigned", np.uint64, 2**64 - 1), ("largest", np.int64, 2**63 - 1)):
        np.save(folder / f"{name}.npy", np.array([[1, number]], dtype))
        np.savez(folder / f"{name}.npz", Y=np.array([[1, number]], dtype))
        for file in (f"{name}.npy", f"{name}.npz"):
            refused(qkv("compare", folder / file, folder / file),
                    f"{number} {ROUNDED}save floating-point numbers\n")
    for name in ("Y.csv", "Y.json", "Y.txt"):
        text = "1,9007199254740993\n2,3\n"
        (folder / name).write_text("[[" + text.strip().replace("\n", "],[") + "]]" if name != "Y.csv" else text)
        refused(qkv("compare", folder / name, folder / name), f'"9007199254740993" {ROUNDED}write it with a point\n')
    lesson = folder / "lesson.toml"
    lesson.write_text('[[given]]\nname = "X"\nvalue = [[1, 9007199254740993]]\n[[step]]\nname = "Y"\n'
                      'op = "relu"\nof = ["X"]\nsay = "Words."\n')
    refused(qkv("run", lesson), f':3:14: value: "9007199254740993" {ROUNDED}write it with a point\n')
    lesson.write_text(lesson.read_text().replace("9007199254740993", "2"))
    for text, why in (("9007199254740993", "a whole number that no double holds"),
                      ("1e999", "which is larger than any double"), ("1x", "which is not a number")):
        (folder / "Y.csv").write_text(f"1,{text}\n")
        done = qkv("check", lesson, folder / "Y.csv")
        told = " ".join(done.stdout.split())
        assert done.returncode == 1 and f'Y[1,2] is "{text}", {why}.' in told, done.stdout


def whole_numbers_that_a_double_holds_are_read(folder):
    """Exactly, or with as many digits as tell the double: JavaScript writes 1e20 + 2¹⁵ so."""
    held = [2**53, -2**53, 2**53 + 2, -2**63, 10**22, int(1.7e308), 12345678901234567000, 2**80]
    np.save(folder / "X.npy", np.array([[float(number) for number in held]]))
    (folder / "X.csv").write_text(",".join(map(str, held)) + "\n")
    (folder / "X.json").write_text(f"[{held}]")
    for name in ("X.csv", "X.json"):
        done = qkv("compare", folder / name, folder / "X.npy")
        equal((done.returncode, "All 1 are identical" in done.stdout), (0, True), done.stdout + done.stderr)
    np.save(folder / "Y.npy", np.array([[2**53, -2**63, 5]], np.int64))
    equal(qkv("compare", folder / "Y.npy", folder / "Y.npy").returncode, 0)


CLAIMS = [
    a_pipe_that_nothing_writes_to_is_not_waited_for,
    a_device_is_refused_at_once,
    a_pipe_or_device_in_a_submission_is_unreadable,
    a_shell_s_own_pipes_are_read,
    a_device_in_place_of_an_output_file_is_refused,
    a_full_pipe_that_does_not_block_is_waited_for,
    thousands_of_bad_paths_are_reported_briefly,
    thousands_of_stray_files_are_one_message,
    a_stray_file_that_can_t_be_read_says_why,
    whole_numbers_that_no_double_holds_are_reported,
    whole_numbers_that_a_double_holds_are_read,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
