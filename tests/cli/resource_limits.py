#!/usr/bin/python3
"""What qkv does with lessons that ask for too much: huge, deep, long and many.

    resource_limits.py QKV

Each claim below ends in seconds of computing, with an answer or with a refusal that says what to do.
"""

import os
import resource
import subprocess
import sys

import numpy as np

import harness
from harness import equal, qkv

SECONDS = 30  # of computing, for what takes five on a slow machine

STEP = '[[step]]\nname = "{}"\nop = "{}"\nof = {}\nsay = "Words."\n'
TWO = '[[given]]\nname = "X"\nvalue = [[1, 2], [3, 4]]\n'


def written(folder, text, name="lesson.toml"):
    (folder / name).write_text(text)
    return folder / name


def in_time(*arguments, **options):
    """Runs qkv; it must not compute for long."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = qkv(*arguments, timeout=600, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime - before.ru_utime
    limit = SECONDS * (10 if harness.sanitized() else 1)
    assert took < limit, f"{arguments[0]} took {took:.1f} s"
    return done


def refused(done, *parts):
    equal(done.returncode, 2, done.stderr[:300])
    for part in parts:
        assert part in done.stderr, f"{part!r} is not in {done.stderr[:600]!r}"


def peak_of(*arguments):
    """The most memory in MiB that one run of qkv takes, without what sanitizers take, and its result."""
    with subprocess.Popen([qkv.path, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as running:
        said = running.stdout.read()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024 / (3 if harness.sanitized() else 1), running.returncode, said


# ---- how much -----------------------------------------------------------------------------------


def a_step_too_large_is_refused_before_it_is_made(folder):
    lesson = written(folder, '[[given]]\nname = "A"\nzeros = [1000000, 1]\n[[given]]\nname = "B"\n'
                     'zeros = [1, 1000000]\n' + STEP.format("Y", "matmul", '["A", "B"]'))
    megabytes, status, said = peak_of("run", lesson, "--memory", "1G")
    equal((status, said), (2, (
        f"qkv: {lesson}:8:8: Y of 1000000×1000000 numbers is too large: 1000000000000 numbers take "
        "7451 GiB, and --memory lets qkv use 1 GiB (134217728 numbers), of which 15.3 MiB are taken: make it "
        "smaller, or allow more with --memory 7451G\n")))
    assert megabytes < 100, f"{megabytes:.0f} MiB"


def givens_count_together(folder):
    given = '[[given]]\nname = "G{}"\nzeros = [4096, 1024]\n'
    lesson = written(folder, "".join(map(given.format, range(20)))
                     + STEP.format("Y", "relu", '["G0"]'))
    for command in ("lint", "run"):
        megabytes, status, said = peak_of(command, lesson, "--memory", "300M")
        equal(status, 2)
        due = (f"{lesson}:30:9: zeros of 4096×1024 numbers is too large: 4194304 numbers take 32 MiB, "
               "and --memory lets qkv use 300 MiB (39321600 numbers), of which 288 MiB are taken: make it "
               "smaller, or allow more with --memory 1G\n")
        assert said.removeprefix("qkv: ").startswith(due), said[:500]
        assert megabytes < 400, f"{megabytes:.0f} MiB"
    small = written(folder, "".join(map(given.format, range(3))) + STEP.format("Y", "relu", '["G0"]'),
                    "small.toml")
    equal(qkv("run", small, "--memory", "256M").returncode, 0)


def steps_count_together(folder):
    lesson = written(folder, '[[given]]\nname = "S0"\nzeros = [2000, 2000]\n' + "".join(
        STEP.format(f"S{i + 1}", "relu", f'["S{i}"]') for i in range(100)))
    for command in ("run", "lint"):
        megabytes, status, said = peak_of(command, lesson, "--memory", "512M")
        equal(status, 2, said[:300])
        assert "512 MiB" in said and "--memory" in said, said[:300]
        assert megabytes < 700, f"{megabytes:.0f} MiB"


def more_memory_lets_a_larger_lesson_through(folder):
    lesson = written(folder, '[[given]]\nname = "A"\nzeros = [2000, 2000]\n'
                     + STEP.format("Y", "relu", '["A"]'))
    refused(qkv("run", lesson, "--memory", "32M"), "and --memory lets qkv use 32 MiB (4194304 numbers)",
            "of which 30.5 MiB are taken", "--memory 1G")
    equal(qkv("run", lesson, "--memory", "1G").returncode, 0)
    equal(qkv("--memory", "1G", "run", lesson).returncode, 0)


def memory_is_a_size(_):
    for size, why in (("8", '"8" is not a size; write it like 8G or 512M'),
                      ("lots", '"lots" is not a size; write it like 8G or 512M'),
                      ("-1G", '"-1G" is not a size; write it like 8G or 512M'),
                      ("1M", "1M is too little; write 16M or more")):
        refused(qkv("run", "the-fat-cat", f"--memory={size}"), why)


def products_beyond_all_integers_are_refused(folder):
    for shape in ("[4294967296, 4294967296]", "[9223372036854775807, 9223372036854775807, 2]",
                  "[9223372036854775807, 0]"):
        lesson = written(folder, f'[[given]]\nname = "A"\nzeros = {shape}\n'
                         + STEP.format("Y", "relu", '["A"]'))
        refused(in_time("run", lesson), f"{lesson}:3:9: zeros of ", "is too large")


# ---- how deep, how long, how many ---------------------------------------------------------------


def deep_nesting_is_refused(folder):
    deep = 100_000
    lists = "[" * deep + "1" + "]" * deep
    tables = "{a=" * deep + "1" + "}" * deep
    for text in (f"x = {lists}", f"x = {tables}", "a." * deep + "b = 1",
                 f'[[given]]\nname = "X"\nvalue = {lists}', f'[[given]]\nname = "X"\nvalue = "{lists}"'):
        refused(in_time("lint", written(folder, text + "\n")))
    lesson = written(folder, TWO + STEP.format("Y", "relu", '["X"]'))
    for name, text in (("Y.json", lists), ("Y.txt", lists), ("Y.json", '{"a":' * deep + "1" + "}" * deep)):
        (folder / name).write_text(text)
        refused(in_time("check", lesson, folder / name), f"{name}")
        (folder / name).unlink()


def numbers_of_a_megabyte_are_read_or_refused(folder):
    digits = "1" * 1_000_000
    for value in (f"[[{digits}]]", f"[[0.{digits}]]", f"[[1e{digits}]]"):
        lesson = written(folder, f'[[given]]\nname = "X"\nvalue = {value}\n'
                         + STEP.format("Y", "relu", '["X"]'))
        refused(in_time("run", lesson), f"{lesson}:3:")
    lesson = written(folder, f'[[given]]\nname = "X"\nvalue = "[[0.{digits}]]"\n'
                     + STEP.format("Y", "relu", '["X"]'))
    equal(in_time("run", lesson, "--no-pause").returncode, 0)
    lesson = written(folder, TWO + STEP.format("Y", "relu", '["X"]'))
    (folder / "Y.csv").write_text(f"0.{digits},{digits}\n1,1\n")
    refused(in_time("compare", folder / "Y.csv", lesson), "1111111111111111111111111111111111111111…")


def ten_thousand_steps_are_worked_out(folder):
    lesson = written(folder, TWO + STEP.format("S0", "relu", '["X"]') + "".join(
        STEP.format(f"S{i + 1}", "relu", f'["S{i}"]') for i in range(9_999)))
    for command in (["run", lesson], ["lint", lesson], ["export", lesson, "-o", folder / "out"],
                    ["compare", folder / "out", lesson], ["report", lesson, "-o", folder / "x.html"]):
        equal(in_time(*command).returncode, 0, command[0])


def a_million_labels_are_carried(folder):
    count = 1_000_000
    tokens = ", ".join(f'"t{i}"' for i in range(count))
    lesson = written(folder, f'tokens = [{tokens}]\n[[given]]\nname = "X"\nzeros = [{count}, 2]\n'
                     + STEP.format("Y", "relu", '["X"]'))
    for command in (["run", lesson], ["explain", lesson, "Y[t999999,1]"],
                    ["report", lesson, "-o", folder / "x.html"]):
        equal(in_time(*command).returncode, 0, command[0])


def a_million_different_words_are_tokenised(folder):
    words = " ".join(f"w{i}" for i in range(1_000_000))
    lesson = written(folder, f'text = "{words}"\n[[step]]\nname = "ids"\nop = "tokenise"\n')
    equal(in_time("run", lesson).returncode, 0)


def megabytes_of_prose_are_wrapped(folder):
    for prose in ("word " * 1_000_000, "w" * 5_000_000, "a" + "\u0301" * 2_000_000,
                  "{X[1,1]} " * 200_000, "{" * 3_000_001, "猫" * 1_000_000):
        lesson = written(folder, TWO + f'[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\nsay = "{prose}"\n')
        equal(in_time("run", lesson).returncode, 0, prose[:10])


def many_faults_are_reported_briefly(folder):
    lesson = written(folder, "".join(f"k{i} = 1\n" for i in range(100_000)))
    done = in_time("run", lesson)
    equal((done.returncode, done.stderr.count("\n")), (2, 21))
    assert done.stderr.endswith(f"… and 99981 more faults: qkv lint {lesson}\n"), done.stderr[-200:]


def ten_thousand_wrong_names_are_reported_in_time(folder):
    """Each could be meant to be any of the others."""
    wrong = [STEP.format(f"S{i}", "sofmax", f'["Yonder{i}"]') for i in range(10_000)]
    unread = [STEP.format(f"S{i}", "relu", '["X"]').replace("Words", f"{{T{i}}}") for i in range(10_000)]
    for steps in (wrong, unread):
        done = in_time("lint", written(folder, TWO + "".join(steps)))
        equal(done.returncode, 2)
        assert done.stdout.count("\n") >= 10_000, done.stdout[-300:]


def a_hundred_thousand_arrays_are_compared(folder):
    (folder / "many.json").write_text("{" + ",".join(f'"k{i}": [[1]]' for i in range(100_000)) + "}")
    done = in_time("compare", folder / "many.json", folder / "many.json")
    assert done.returncode == 0 and "All 100000 are identical" in done.stdout, done.stdout[-200:]


def thousands_of_files_are_held_against_thousands_of_steps(folder):
    lesson = written(folder, TWO + "".join(STEP.format(f"S{i}", "relu", '["X"]') for i in range(9_000)))
    (folder / "handed").mkdir()
    for i in range(9_000):
        (folder / "handed" / f"zz{i}.csv").write_text("1\n")
    for command in ("check", "compare"):
        equal(in_time(command, lesson, folder / "handed").returncode, 2, command)


def a_name_of_megabytes_is_reported_briefly(folder):
    for operation, of in (("r" * 5_000_000, "X"), ("relu", "Y" * 5_000_000)):
        long = STEP.format("Z" * 5_000_000, "relu", '["X"]')
        lesson = written(folder, TWO + long + STEP.format("Y", operation, f'["{of}"]'))
        done = in_time("run", lesson)
        equal(done.returncode, 2)
        assert len(done.stderr) < 2000, len(done.stderr)


def an_option_of_many_letters_is_reported_briefly(folder):
    long = "A" * 100_000
    for arguments in ([long], ["run", long], ["run", "the-fat-cat", "--text", long],
                      ["run", "the-fat-cat", "--digits", long], ["explain", "the-fat-cat", long],
                      ["run", "the-fat-cat", "--set", f"{long}=1"], ["run", "--step", long]):
        done = in_time(*arguments)
        equal(done.returncode, 2, arguments[0][:20])
        assert len(done.stderr) < 2100, len(done.stderr)
    assert done.stderr.startswith("qkv: ") and done.stderr.count("\n") == 1, done.stderr[:200]


def products_without_address_space_are_refused(folder):
    """OpenBLAS would ask again and again for what the system does not give."""
    if harness.sanitized():
        raise harness.Skipped("a sanitizer takes terabytes of address space for itself")
    small = lambda: resource.setrlimit(resource.RLIMIT_AS, (150_000_000, 150_000_000))
    done = subprocess.run([qkv.path, "--threads", "1", "export", "multi-head-512", "-o", folder / "out"],
                          capture_output=True, text=True, timeout=120, preexec_fn=small, check=False)
    equal(done.returncode, 2)
    assert "large products need 160 MiB of address space more than there is left" in done.stderr, done.stderr


# ---- checks ------------------------------------------------------------------------------------


def numbers_that_no_mistake_explains_are_judged_in_time(folder):
    """A tile of a softmax that another thread wrote over: many cells, rows and columns, and no known cause."""
    np.save(folder / "X.npy", np.random.default_rng(1).normal(size=(256, 256)))
    lesson = written(folder, '[[given]]\nname = "X"\nfile = "X.npy"\n' + STEP.format("A", "softmax", '["X"]'))
    equal(in_time("export", lesson, "--format", "npy", "-o", folder / "work").returncode, 0)
    weights = np.load(folder / "work" / "01-A.npy")
    weights[-8:, -16:] = np.random.default_rng(2).random((8, 16))
    np.save(folder / "work" / "01-A.npy", weights)
    done = in_time("check", lesson, folder / "work")
    equal((done.returncode, "fit no known mistake" in done.stdout), (1, True))
    peak, status, _ = peak_of("check", lesson, folder / "work")
    equal(status, 1)
    assert peak < 200, f"{peak:.0f} MiB"


def a_device_is_no_submission(folder):
    for name in ("X.npy", "X.csv", "X.json"):
        (folder / name).symlink_to("/dev/zero")
        refused(in_time("check", "the-fat-cat", folder / name),
                f"{folder / name}: this is a device, which may have no end: name a file of numbers")


# ---- options out of range -----------------------------------------------------------------------


def memory_that_is_allowed_but_not_there_is_reported(folder):
    """Who has little address space is told so, and not to allow more."""
    if harness.sanitized():
        raise harness.Skipped("a sanitizer takes terabytes of address space for itself")
    lesson = written(folder, '[[given]]\nname = "X"\nzeros = [20000, 2000]\n' + STEP.format("Y", "relu", '["X"]'))
    small = lambda: resource.setrlimit(resource.RLIMIT_AS, (200_000_000, 200_000_000))
    whose = ("more memory than the 191 MiB that the system gives this process (ulimit -v): make it smaller, or "
             "raise that limit\n")
    for allowed, end in (("900000G", whose), ("1G", whose),
                         ("100M", "--memory lets qkv use 100 MiB (13107200 numbers): make it smaller, or allow "
                                  "more with --memory 1G\n")):
        done = subprocess.run([qkv.path, "--memory", allowed, "run", lesson], preexec_fn=small,
                              capture_output=True, text=True, timeout=20)
        equal(done.returncode, 2)
        assert done.stderr.endswith(end), done.stderr


def options_out_of_range_are_reported(folder):
    norm = TWO + ('[[given]]\nname = "g"\nvalue = [1, 1]\n[[given]]\nname = "b"\nvalue = [0, 0]\n'
                  '[[step]]\nname = "Y"\nop = "layer_norm"\nof = ["X", "g", "b"]\neps = {}\n')
    for eps, shown in (("-1e-5", "-1e-05"), ("-inf", "-inf"), ("nan", "nan")):
        refused(qkv("run", written(folder, norm.format(eps))),
                f":14:7: eps is a number from 0 up, not {shown}")
    waves = TWO + '[[step]]\nname = "Y"\nop = "positions"\nof = ["X"]\nbase = {}\n'
    for base in ("0", "-3"):
        refused(qkv("run", written(folder, waves.format(base))),
                f":8:8: base is a number above 0, not {base}")


def an_empty_name_is_reported(_):
    for words in (("check", "the-fat-cat", ""), ("export", "the-fat-cat", "-o", ""),
                  ("report", "the-fat-cat", "-o", ""), ("worksheet", "the-fat-cat", "-o", ""),
                  ("new", ""), ("run", "--model", "", "--text", "a")):
        refused(qkv(*words), "the name is empty; write the path of a file or a directory")
    refused(qkv("compare", "", "the-fat-cat"), 'there is no lesson or file ""')
    for option in ("--step", "--from", "--to"):
        refused(qkv("run", "the-fat-cat", option, ""), "the name is empty; write a step's name")
    for change in ("", "=1"):
        refused(qkv("run", "the-fat-cat", "--set", change), '--set "" is not given; what is given')


def a_change_that_leaves_no_step_is_reported(folder):
    only = written(folder, 'title = "One"\n[[given]]\nname = "A"\nvalue = [[1]]\n'
                           '[[step]]\nname = "R"\nop = "relu"\nof = ["A"]\n')
    for command in (("run",), ("report", "-o", folder / "r.html")):
        refused(qkv(*command, only, "--set", "R[1,1]=2"), "--set R: no other step would be left")


def a_change_without_a_lesson_is_reported(folder):
    for name in "ab":
        np.savez(folder / f"{name}.npz", S=[1.0])
    for change in (("--set", "X[1,1]=2"), ("--text", "the cat"), ("--targets", "next"), ("--family", "gpt2"),
                   ("--model-heads", "2"), ("--vocabulary", "a,b"), ("--tokenizer", "t"), ("--continue", "2")):
        refused(qkv("compare", folder / "a.npz", folder / "b.npz", *change),
                f"{change[0]} is for a lesson, or for a model that is run (with --text or --ids); neither of the two is")


def an_option_of_models_without_a_model_is_reported(folder):
    qkv.printed("export", "two-heads", "-o", folder, "--format", "npz")
    for option in (("--ids", "1,2"), ("--targets", "next"), ("--family", "gpt2"), ("--model-heads", "2"),
                   ("--vocabulary", "a,b"), ("--tokenizer", "t")):
        for other in (folder / "lesson.npz", "the-fat-cat"):
            equal(qkv("compare", "two-heads", other, *option).returncode, 2, option[0])


CLAIMS = [
    a_step_too_large_is_refused_before_it_is_made,
    givens_count_together,
    steps_count_together,
    more_memory_lets_a_larger_lesson_through,
    memory_is_a_size,
    products_beyond_all_integers_are_refused,
    deep_nesting_is_refused,
    numbers_of_a_megabyte_are_read_or_refused,
    ten_thousand_steps_are_worked_out,
    a_million_labels_are_carried,
    a_million_different_words_are_tokenised,
    megabytes_of_prose_are_wrapped,
    many_faults_are_reported_briefly,
    ten_thousand_wrong_names_are_reported_in_time,
    a_hundred_thousand_arrays_are_compared,
    thousands_of_files_are_held_against_thousands_of_steps,
    a_name_of_megabytes_is_reported_briefly,
    an_option_of_many_letters_is_reported_briefly,
    products_without_address_space_are_refused,
    memory_that_is_allowed_but_not_there_is_reported,
    numbers_that_no_mistake_explains_are_judged_in_time,
    a_device_is_no_submission,
    options_out_of_range_are_reported,
    an_empty_name_is_reported,
    a_change_that_leaves_no_step_is_reported,
    a_change_without_a_lesson_is_reported,
    an_option_of_models_without_a_model_is_reported,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
