#!/usr/bin/python3
"""An export is whole, proves it, and stays so: in a hostile directory, beside another one, and when
the power fails.

    export_integrity.py QKV
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import harness
from harness import Skipped, equal, qkv

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LESSON = EXAMPLES / "two-words.toml"
LIST = "00-lesson.json"
OTHER = "it was changed after the export"


def exported(folder, *options):
    equal(qkv("export", LESSON, "-o", folder, *options).returncode, 0)
    return folder


def sums(folder):
    return json.loads((folder / LIST).read_text())["sha256"]


def is_whole(folder):
    """The list speaks of every file there, and of nothing else."""
    there = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()
             if file.name != LIST}
    return sums(folder) == there


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def spoil(file):
    file.write_text(file.read_text().replace("1", "7"))


# ---- an export proves itself --------------------------------------------------------------------


def the_list_has_each_file_s_sum(folder):
    out = exported(folder / "out", "--format", "csv,npz,json,markdown")
    assert is_whole(out)
    said = qkv.printed("--version").split()[-1]
    equal(json.loads((out / LIST).read_text())["qkv"], said)


def a_file_that_was_changed_is_reported_by_name(folder):
    out = exported(folder / "out")
    for arguments in (["check", LESSON, out], ["compare", out, LESSON]):
        equal(qkv(*arguments).stderr, "")
    spoil(out / "03-scores.csv")
    told = f"03-scores.csv is not the file that {LIST} lists: {OTHER}\n"
    checked = qkv("check", LESSON, out)
    equal((checked.returncode, checked.stderr), (1, f"qkv: {out}: {told}"))  # 7 for 1 is wrong, too
    assert "the first slip is in scores" in checked.stdout, checked.stdout
    compared = qkv("compare", out, LESSON)
    equal((compared.returncode, compared.stderr), (1, f"qkv: {out}: {told}"))
    equal(qkv("check", LESSON, out / "03-scores.csv").stderr, f"qkv: {out}/03-scores.csv: {told}")
    equal(qkv("check", LESSON, out / "05-masked_scores.csv").stderr, "")
    for name in ("01-Q.csv", "02-K.csv", "06-attention_weights.csv", "07-context.csv"):
        (out / name).write_text((out / name).read_text() + "\n")  # the numbers are as they were
    several = qkv("check", LESSON, out).stderr
    equal(several, f"qkv: {out}: 01-Q.csv, 02-K.csv, 03-scores.csv and 2 more are not the files that {LIST} lists: "
                   "they were changed after the export\n")


def a_lesson_reads_no_file_that_was_changed(folder):
    out = exported(folder / "out")
    lesson = folder / "lesson.toml"
    lesson.write_text('[[given]]\nname = "X"\nfile = "out/03-scores.csv"\n'
                      '[[step]]\nname = "Y"\nop = "relu"\nof = ["X"]\nsay = "Words."\n')
    equal(qkv("run", lesson).returncode, 0)
    spoil(out / "03-scores.csv")
    due = (f"{lesson}:3:8: X: out/03-scores.csv: this is not the file that {LIST} beside it lists: {OTHER}; "
           "export again or, if the change is meant, remove that list\n")
    done = qkv("run", lesson)
    equal((done.returncode, done.stderr), (2, "qkv: " + due))
    equal(qkv("lint", lesson).stdout, due)
    (out / LIST).unlink()
    equal(qkv("run", lesson).returncode, 0)


def a_list_speaks_of_no_file_elsewhere(folder):
    out = exported(folder / "out")
    (folder / "secret").write_text("a")
    listed = json.loads((out / LIST).read_text())
    listed["sha256"] = {"../secret": "0" * 64, str(folder / "secret"): "0" * 64}
    (out / LIST).write_text(json.dumps(listed))
    equal(qkv("check", LESSON, out).stderr, "")


def a_list_in_a_folder_hides_no_file_beside_the_folder(folder):
    work = folder / "work"
    exported(work / "key")
    (work / "Q.csv").write_text("9,9,9,9\n9,9,9,9\n")
    for place in (work, shutil.make_archive(work, "zip", folder, "work")):
        done = qkv("check", LESSON, place)
        assert done.returncode != 0 and not done.stdout.startswith(f"{place}: correct"), done


def what_is_damaged_in_a_zip_costs_itself(folder):
    exported(folder / "out")
    whole = Path(shutil.make_archive(folder / "whole", "zip", folder / "out"))
    for name, outcome in ((LIST, "correct"), ("02-K.csv", "incomplete")):
        with zipfile.ZipFile(whole) as archive:
            start = archive.getinfo(name).header_offset + 30 + len(name)
            size = archive.getinfo(name).compress_size
        damaged = bytearray(whole.read_bytes())
        damaged[start:start + size] = b"\xff" * size
        (folder / "damaged.zip").write_bytes(damaged)
        done = qkv("check", LESSON, folder / "damaged.zip")
        assert name in done.stderr or "whole" not in done.stderr, done.stderr
        assert f": {outcome}" in done.stdout or "could not be read" in done.stdout, done.stdout
        assert "right: " in done.stdout, done.stdout
        equal(qkv("compare", folder / "damaged.zip", LESSON).returncode, 2)


def half_an_export_is_reported(folder):
    out = exported(folder / "out")
    (out / LIST).unlink()
    words = (f"qkv: {out}: an incomplete export: there are files named like an export's, but no {LIST} to "
             "list them; they are copies, or the export was interrupted\n")
    done = qkv("check", LESSON, out)  # what is missing is listed
    equal((done.returncode, done.stderr), (0, ""))
    done = qkv("compare", out, LESSON)
    equal((done.returncode, done.stderr), (0, words))
    assert f"but {out} is an incomplete export: it has no {LIST}." in " ".join(done.stdout.split()), done.stdout
    assert "All 10 are identical" not in done.stdout, done.stdout
    (out / LIST).write_text('{"steps": [')  # cut short
    equal(qkv("compare", out, LESSON).stderr, words)
    (out / LIST).unlink()
    shutil.copytree(out, folder / "copy")  # what both lack nothing tells
    done = qkv("compare", out, folder / "copy")
    equal((done.returncode, "are identical" in done.stdout), (1, False))
    (out / "07-context.csv").unlink()
    for sides in ([out, LESSON], [LESSON, out]):
        equal(qkv("compare", *sides).returncode, 1)
        said = json.loads(qkv("compare", *sides, "--json").stdout)
        equal((said["same"], said["half_exports"]), (False, [str(out)]))
    sheets = folder / "sheets"  # as learners hand them in
    sheets.mkdir()
    shutil.copy(out / "03-scores.csv", sheets)
    done = qkv("check", LESSON, sheets)
    equal((done.returncode, done.stderr), (0, ""))
    equal(qkv("worksheet", LESSON, "-o", folder / "work").returncode, 0)
    assert "half" not in qkv("check", LESSON, folder / "work").stderr


# ---- two at once --------------------------------------------------------------------------------


def two_different_exports_at_once_leave_one_of_them_whole(folder):
    other = folder / "other.toml"
    other.write_text(LESSON.read_text().replace("text", "# text", 0).replace("[[0", "[[5", 1))
    for i in range(20):
        out = folder / f"out-{i}"
        both = [subprocess.Popen([qkv.path, "export", lesson, "-o", out, "--format", form, "--no-sync"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for lesson, form in ((LESSON, "csv,npy"), (other, "npy,csv"))]
        for running in both:
            _, err = running.communicate(timeout=60)
            equal((running.returncode, err.count(b"\n")), (0, 1), err)
        assert is_whole(out), f"pair {i} is mixed"


def a_directory_that_is_written_to_is_waited_for(folder):
    out = exported(folder / "out")
    directory = os.open(out, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    waiting = subprocess.Popen([qkv.path, "export", "the-fat-cat", "-o", out], stderr=subprocess.PIPE)
    time.sleep(0.3)
    equal((waiting.poll(), is_whole(out)), (None, True))
    os.close(directory)
    waiting.communicate(timeout=60)
    equal(waiting.returncode, 0)


# ---- what lies in the directory already ---------------------------------------------------------


def what_stands_in_the_way_is_refused_before_anything_is_written(folder):
    why = "is in the way of this file: remove it or name another directory\n"
    for name in ("03-scores.csv", LIST):
        for kind, make in (("a pipe or a device", os.mkfifo), ("a directory", os.mkdir)):
            out = exported(folder / f"{name}-{kind}")
            (out / name).unlink()
            make(out / name)
            before = {file: file.stat().st_mtime_ns for file in out.iterdir()}
            done = qkv("export", LESSON, "-o", out, timeout=20)
            equal((done.returncode, done.stderr), (2, f"qkv: {out / name}: {kind} {why}"))
            equal({file: file.stat().st_mtime_ns for file in out.iterdir()}, before)
    work = folder / "work"
    work.mkdir()
    os.mkfifo(work / "03-scores.csv")
    done = qkv("worksheet", LESSON, "-o", work, timeout=20)
    equal((done.returncode, done.stderr), (2, f"qkv: {work}/03-scores.csv: a pipe or a device {why}"))
    os.mkfifo(folder / "page.html")
    done = qkv("report", LESSON, "-o", folder / "page.html", timeout=20)
    equal(done.returncode, 2)
    assert "a pipe or a device is in the way of this file" in done.stderr, done.stderr


def a_list_that_can_t_be_removed_stops_the_export(folder):
    if os.geteuid() != 0:
        raise Skipped("only root can make another's file")
    folder.chmod(0o755)
    lesson = shutil.copy(LESSON, folder)
    out = exported(folder / "out")
    out.chmod(0o1777)  # as /tmp is: others may add files, but remove none
    before = contents(out)

    def as_another():
        os.setgid(65534)
        os.setuid(65534)

    done = qkv("export", lesson, "-o", out, preexec_fn=as_another)
    if "Permission denied" in done.stderr:
        raise Skipped("the program is not readable for others")
    equal((done.returncode, done.stderr),
          (2, f"qkv: {out / LIST}: the list of an earlier export cannot be removed: Operation not permitted; "
              "nothing was written\n"))
    equal(contents(out), before)


def a_list_that_is_a_link_goes_first(folder):
    out = exported(folder / "out")
    (out / LIST).rename(folder / "elsewhere")
    (out / LIST).symlink_to(folder / "elsewhere")
    exported(out)
    assert not (out / LIST).is_symlink() and is_whole(out)


def what_killed_programs_left_is_cleared(folder):
    out = exported(folder / "out")
    (out / ".qkv-12345-0.tmp").write_text("left")
    kept = [out / name for name in (".qkv-12345-1.tmp", ".qkv-mine.tmp", "qkv-1-1.tmp")]
    for file in kept:
        file.write_text("kept")
    with open(kept[0], encoding="utf-8") as of_a_running_one:
        fcntl.flock(of_a_running_one, fcntl.LOCK_EX)
        exported(out)
    assert not (out / ".qkv-12345-0.tmp").exists()
    equal([file.read_text() for file in kept], ["kept"] * 3)
    large = folder / "large.toml"
    large.write_text('[random]\nseed = 0\n[[given]]\nname = "A"\nrandn = [900, 900]\n'
                     '[[step]]\nname = "B"\nop = "relu"\nof = ["A"]\n')
    for _ in range(20):
        running = subprocess.Popen([qkv.path, "export", large, "-o", out], stderr=subprocess.DEVNULL)
        while running.poll() is None and not list(out.glob(f".qkv-{running.pid}-*")):
            pass
        running.send_signal(signal.SIGKILL)
        running.wait()
        if list(out.glob(f".qkv-{running.pid}-*")):
            break
    else:
        raise AssertionError("no export was killed in time")
    exported(out)
    assert not list(out.glob(f".qkv-{running.pid}-*")), "the temporary is still there"


def a_file_keeps_its_mode(folder):
    out = exported(folder / "out")
    (out / "03-scores.csv").chmod(0o600)
    (out / LIST).chmod(0o640)
    (out / "01-Q.csv").unlink()
    page = folder / "page.html"
    equal(qkv("report", LESSON, "-o", page).returncode, 0)
    page.chmod(0o604)
    mode = lambda file: oct(file.stat().st_mode & 0o777)
    equal(qkv("export", LESSON, "-o", out, umask=0o027).returncode, 0)
    equal(qkv("report", LESSON, "-o", page, umask=0o077).returncode, 0)
    equal((mode(out / "03-scores.csv"), mode(out / "01-Q.csv"), mode(page)), ("0o600", "0o640", "0o604"))


# ---- when the power fails -----------------------------------------------------------------------

CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')


def calls_of(folder, *arguments):
    """The system calls that touch files, in their order: name, arguments as text, result."""
    trace = folder / "trace"
    watched = "openat,open,write,close,fsync,rename,renameat2,rename,unlink,mkdir,exit_group"
    if not shutil.which("strace"):
        raise Skipped("no strace")
    done = subprocess.run(["strace", "-f", "-o", trace, "-s", "300", "-e", f"trace={watched}", qkv.path,
                           *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)
    if not trace.exists() or "PTRACE" in done.stderr or "ptrace" in done.stderr:
        raise Skipped("nothing can be traced here")
    equal(done.returncode, 0, done.stderr)
    return [found.groups() for found in map(CALL.match, trace.read_text().splitlines()) if found]


class Disk:
    """What a disk may hold of a directory if the power fails now: data that were synced, and of the
    changes of names since the directory was synced any part, in any order."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.open = {}     # descriptor → path
        self.dirty = set()  # files with data that need not be there yet
        self.changes = []  # names that may be there or not

    def take(self, call, arguments, result):
        names = NAME.findall(arguments)
        descriptor = arguments.split(",")[0]
        if call in ("open", "openat") and int(result) >= 0:
            self.open[result] = names[0]
        elif call == "close":
            self.open.pop(descriptor, None)
        elif call == "write" and self.open.get(descriptor, "").startswith(self.directory + "/"):
            self.dirty.add(self.open[descriptor])
        elif call == "fsync":
            self.dirty.discard(self.open.get(descriptor))
            if self.open.get(descriptor) == self.directory:
                self.changes.clear()
        elif call.startswith("rename") and names[1].startswith(self.directory + "/"):
            assert names[0] not in self.dirty, f"{names[1]} may be there without its data"
            self.changes.append(Path(names[1]).name)
        elif call == "unlink" and names[0] == f"{self.directory}/{LIST}" and result == "0":
            self.changes.append("no list")


def no_power_failure_leaves_a_list_of_other_files(folder):
    out = exported(folder / "out")
    disk = Disk(out)
    renamed = []
    for call, arguments, result in calls_of(folder, "export", LESSON, "-o", out):
        before = list(disk.changes)
        disk.take(call, arguments, result)
        if disk.changes == before or not disk.changes:
            continue
        new = disk.changes[-1]
        if new == LIST:
            equal(before, [], "the list may be there before the files that it names")
        elif new != "no list":
            assert "no list" not in before, f"the older list may be there still, beside {new}"
        renamed.append(new)
    equal((renamed[0], renamed[-1], len(renamed)), ("no list", LIST, len(sums(out)) + 2))
    equal((disk.changes, disk.dirty), ([], set()))  # all of it is there before success is said


def every_command_syncs_what_it_writes(folder):
    for name, command in (("page.html", ["report", LESSON, "-o"]), ("new.toml", ["new"]),
                          ("work", ["worksheet", LESSON, "-o"])):
        path = folder / name
        place = path if name == "work" else folder
        disk = Disk(place)
        made = [call for call in calls_of(folder, *command, path) if disk.take(*call) or call[0] == "fsync"]
        equal((disk.changes, disk.dirty), ([], set()), name)
        assert len(made) >= 2, made
        equal([call for call in calls_of(folder, *command, folder / f"2{name}", "--no-sync")
               if call[0] == "fsync"], [], name)
    equal([call for call in calls_of(folder, "export", LESSON, "-o", folder / "out", "--no-sync")
           if call[0] == "fsync"], [])


CLAIMS = [
    the_list_has_each_file_s_sum,
    a_file_that_was_changed_is_reported_by_name,
    a_lesson_reads_no_file_that_was_changed,
    a_list_speaks_of_no_file_elsewhere,
    a_list_in_a_folder_hides_no_file_beside_the_folder,
    what_is_damaged_in_a_zip_costs_itself,
    half_an_export_is_reported,
    two_different_exports_at_once_leave_one_of_them_whole,
    a_directory_that_is_written_to_is_waited_for,
    what_stands_in_the_way_is_refused_before_anything_is_written,
    a_list_that_can_t_be_removed_stops_the_export,
    a_list_that_is_a_link_goes_first,
    what_killed_programs_left_is_cleared,
    a_file_keeps_its_mode,
    no_power_failure_leaves_a_list_of_other_files,
    every_command_syncs_what_it_writes,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
