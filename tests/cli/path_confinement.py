#!/usr/bin/python3
"""Where qkv reads and writes when a lesson or a directory comes from a stranger.

    path_confinement.py QKV
"""

import os
import sys

import harness
from harness import equal, qkv

STEP = '[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\nsay = "Words."\n'
REMEDY = "put the file beside the lesson, or add --allow-outside-files if you trust this lesson"


def staged(folder):
    """A secret, and beside it the directory of a lesson with a file of its own."""
    (folder / "secret.csv").write_text("12,34\n")
    home = folder / "home"
    (home / "below").mkdir(parents=True)
    (home / "own.csv").write_text("1,2\n")
    (home / "below" / "deep.csv").write_text("3,4\n")
    (home / "leak.csv").symlink_to(folder / "secret.csv")
    (home / "up").symlink_to(folder)
    (home / "alias.csv").symlink_to("below/deep.csv")
    os.mkfifo(home / "pipe.csv")
    return home


def reading(home, file):
    lesson = home / "lesson.toml"
    lesson.write_text(f'[[given]]\nname = "X"\nfile = "{file}"\n{STEP}')
    return lesson


def a_lesson_reads_its_own_directory(folder):
    home = staged(folder)
    for file in ("own.csv", "./own.csv", "below/deep.csv", "alias.csv"):
        equal(qkv("run", reading(home, file)).returncode, 0, file)
    equal(qkv("run", "lesson.toml", cwd=home).returncode, 0)
    (folder / "linked.toml").symlink_to(home / "lesson.toml")  # the name that the user gave counts
    equal(qkv("run", folder / "linked.toml").returncode, 2)


def a_name_with_a_zero_byte_is_reported_whole(folder):
    home = staged(folder)
    (home / "own").write_text("1,2\n")
    lesson = reading(home, "own\\u0000.csv")
    done = qkv("run", lesson)
    equal((done.returncode, done.stderr),
          (2, f"qkv: {lesson}:3:8: X: own\\0.csv: no file's name has a zero byte\n"))


def a_name_of_two_lines_is_one_message(folder):
    done = qkv("run", folder / "x\nqkv: y.toml")
    equal((done.returncode, done.stderr.count("\n")), (2, 1))


def a_lesson_reads_nothing_outside(folder):
    home = staged(folder)
    for file, why in (
            (str(folder / "secret.csv"), "an absolute path leads out of the lesson's directory"),
            ("/etc/passwd", "an absolute path leads out of the lesson's directory"),
            ("../secret.csv", '\\"..\\" leads out of the lesson\'s directory'),
            ("below/../../secret.csv", '\\"..\\" leads out of the lesson\'s directory'),
            ("leak.csv", "a link leads out of the lesson's directory"),
            ("up/secret.csv", "a link leads out of the lesson's directory"),
            ("up/not-there.csv", "a link leads out of the lesson's directory"),
            ("pipe.csv", "this is a pipe or a device, and a lesson reads plain files")):
        lesson = reading(home, file)
        due = f"lesson.toml:3:8: X: {file}: {why}; {REMEDY}\n".replace('\\"', '"')
        done = qkv("run", "lesson.toml", cwd=home)
        equal((done.returncode, done.stdout, done.stderr), (2, "", "qkv: " + due), file)
        done = qkv("lint", lesson)
        equal((done.returncode, done.stdout), (2, f"{home}/{due}"), file)


def a_tokenizer_is_read_from_the_own_directory_too(folder):
    home = staged(folder)
    lesson = home / "lesson.toml"
    for keys in ('tokenizer = "../t.json"', 'vocab = "/etc/passwd"\nmerges = "own.csv"',
                 'vocab = "own.csv"\nmerges = "up/secret.csv"'):
        lesson.write_text(f'text = "a"\n[[step]]\nname = "ids"\nop = "tokenise"\nmethod = "bpe"\n{keys}\n')
        done = qkv("run", lesson)
        equal(done.returncode, 2)
        assert REMEDY in done.stderr and "leads out of" in done.stderr, done.stderr


def a_model_is_read_from_the_own_directory_too(folder):
    home = staged(folder)
    (folder / "model.safetensors").write_bytes(b"")
    (home / "own.safetensors").write_bytes(b"")
    lesson = home / "lesson.toml"
    for keys in ('file = "../model.safetensors"', 'file = "up/model.safetensors"',
                 f'file = "{folder}/model.safetensors"',
                 'file = "own.safetensors"\ntokenizer = "../tokens"'):
        lesson.write_text(f'text = "a"\n[model]\n{keys}\n')
        done = qkv("run", lesson)
        equal(done.returncode, 2)
        assert REMEDY in done.stderr and "leads out of" in done.stderr, done.stderr
    lesson.write_text('text = "a"\n[model]\nfile = "own.safetensors"\n')
    assert "this is not a .safetensors file" in qkv("run", lesson).stderr


def who_trusts_a_lesson_says_so(folder):
    home = staged(folder)
    for file in ("../secret.csv", folder / "secret.csv", "leak.csv", "up/secret.csv"):
        shown = qkv.printed("run", reading(home, file), "--allow-outside-files", "--no-pause")
        assert "34" in shown, shown


# ---- writing ------------------------------------------------------------------------------------


def links_in_the_directory_are_replaced_not_followed(folder):
    victim = folder / "victim"
    lesson = folder / "lesson.toml"
    lesson.write_text(f'[[given]]\nname = "X"\nvalue = [[1, 2]]\n{STEP}')
    for command, names in (
            (["export", lesson], ["01-Y.csv", "given-X.csv", "00-lesson.json"]),
            (["export", lesson, "--format", "npz,markdown"], ["lesson.npz", "lesson.md"]),
            (["worksheet", lesson, "--force"], ["01-Y.csv", "worksheet.html"])):
        out = folder / "out"
        out.mkdir()
        for name in names:
            (out / name).symlink_to(victim)
        victim.write_text("kept")
        done = qkv(*command, "-o", out)
        equal((done.returncode, victim.read_text()), (0, "kept"), done.stderr)
        for name in names:
            assert not (out / name).is_symlink() and (out / name).stat().st_size > 0, name
        for file in out.iterdir():
            file.unlink()
        out.rmdir()


def a_page_replaces_a_link_and_not_what_it_names(folder):
    victim, page = folder / "victim", folder / "page.html"
    victim.write_text("kept")
    page.symlink_to(victim)
    equal(qkv("report", "the-fat-cat", "-o", page, "--force").returncode, 0)
    equal((victim.read_text(), page.is_symlink()), ("kept", False))


def the_directory_itself_may_be_a_link(folder):
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    equal(qkv("export", "the-fat-cat", "-o", folder / "link").returncode, 0)
    assert (folder / "real" / "00-lesson.json").is_file()


CLAIMS = [
    a_lesson_reads_its_own_directory,
    a_name_with_a_zero_byte_is_reported_whole,
    a_name_of_two_lines_is_one_message,
    a_lesson_reads_nothing_outside,
    a_tokenizer_is_read_from_the_own_directory_too,
    a_model_is_read_from_the_own_directory_too,
    who_trusts_a_lesson_says_so,
    links_in_the_directory_are_replaced_not_followed,
    a_page_replaces_a_link_and_not_what_it_names,
    the_directory_itself_may_be_a_link,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
