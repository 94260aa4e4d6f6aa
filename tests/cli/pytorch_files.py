#!/usr/bin/python3
"""Files of torch.save are read as PyTorch reads them, and no code of theirs is run.

    pytorch_files.py QKV
"""

import io
import os
import pickle
import random
import resource
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

import harness
from harness import equal, qkv

LESSON = Path(__file__).resolve().parents[2] / "examples" / "two-words.toml"
LETTERS = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4)


def same(file, arrays):
    """Whether `compare` finds exactly these arrays in the file, to the last bit."""
    reference = file.with_suffix(".npz")
    np.savez(reference, **arrays)
    done = qkv("compare", file, reference, "--rtol", "0", "--atol", "0", "--require", "all")
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    assert f"All {len(arrays)} are identical" in done.stdout, done.stdout


def tensors_are_read_as_they_are(folder):
    kept = {
        "whole": LETTERS, "transposed": LETTERS.transpose(0, 2), "part": LETTERS[1:, :2, 1::2],
        "repeated": LETTERS[0, 0].expand(3, 4), "half": LETTERS.half() / 3, "single": LETTERS.float() / 3,
        "bfloat": LETTERS.bfloat16() / 3, "whole_numbers": LETTERS.long() - 5, "bytes": LETTERS.byte(),
        "flags": LETTERS > 5, "one": torch.tensor(2.5), "nothing_but_nan": torch.tensor([[float("nan")]]),
    }
    plain = {name: tensor.detach().double().numpy().reshape(tensor.shape or (1,)) for name, tensor in kept.items()}
    for protocol in (2, 3, 4):
        file = folder / f"protocol{protocol}.pt"
        torch.save(kept, file, pickle_protocol=protocol)
        same(file, plain)


def dictionaries_and_lists_give_names(folder):
    torch.manual_seed(3)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    torch.save({"model": module.state_dict(), "steps": [LETTERS[0], (LETTERS[1], 3)], "iteration": 2**40,
                "rate": 1e-3, "name": "a test", "options": {"bias": True, "none": None}}, folder / "all.pth")
    names = {f"model.{name}": value.numpy() for name, value in module.state_dict().items()}
    same(folder / "all.pth", {**names, "steps.0": LETTERS[0].numpy(), "steps.1.0": LETTERS[1].numpy()})


def a_file_of_one_tensor_has_its_name(folder):
    torch.save(torch.nn.Parameter(torch.tensor([[1.0, 3.0], [3.0, 5.0]])), folder / "scores.pt")
    equal(qkv("check", LESSON, folder / "scores.pt").returncode, 0)


class Command:
    """Unpickled, this would run a command."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch {self.file}",)


def archive(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return stream.getvalue()


def refused(file, content, reason):
    file.write_bytes(content)
    done = qkv("compare", file, LESSON)
    equal(done.returncode, 2, reason)
    assert done.stderr.count("\n") == 1 and reason in done.stderr, (reason, done.stderr)


def what_is_not_a_tensor_is_refused_by_name(folder):
    file, mark = folder / "x.pt", folder / "mark"
    for protocol in range(6):
        content = archive({"x/data.pkl": pickle.dumps({"Q": Command(mark)}, protocol), "x/version": b"3\n"})
        refused(file, content, "posix.system" if protocol > 1 else "qkv runs no code")
    torch.save(torch.nn.Linear(2, 2), file)
    refused(file, file.read_bytes(), "it holds torch.nn.modules.linear.Linear, which is not a tensor")
    torch.save({"Q": torch.tensor([1j])}, file)
    refused(file, file.read_bytes(), "torch.ComplexFloatStorage is not read")
    torch.save({"Q": LETTERS}, file, _use_new_zipfile_serialization=False)
    refused(file, file.read_bytes(), "old form of torch.save")
    torch.save({"iteration": 3}, file)
    refused(file, file.read_bytes(), "there are no tensors in it")
    refused(file, archive({"a.npy": b""}), "this zip is not a file of torch.save")
    as_saved = torch.Tensor._reduce_ex_internal  # PyTorch 2 marks a view that is negated when it is read
    torch.Tensor._reduce_ex_internal = lambda tensor, protocol: (
        as_saved(tensor, protocol)[0], (*as_saved(tensor, protocol)[1], {"neg": True}))
    try:
        torch.save({"Q": LETTERS}, file)
    finally:
        torch.Tensor._reduce_ex_internal = as_saved
    refused(file, file.read_bytes(), "stored negated: save tensor.resolve_neg()")
    assert not mark.exists()


class Rebuilt:
    """Pickled as a tensor with this offset, these sizes and strides."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, (LETTERS.storage(), *self.numbers, False, {})


def offsets_and_sizes_are_whole_numbers(folder):
    torch.save({"a": Rebuilt(3, (2, 2), (4, 1))}, folder / "a.pt")
    same(folder / "a.pt", {"a": np.array([[3.0, 4], [7, 8]])})
    for numbers in ((2**65, (2,), (1,)), ("3", (2,), (1,)), (0.5, (2,), (1,)), (-1, (2,), (1,)), (0, "2", "1"),
                    (0, {2: 3}, {1: 1}), (0, 2, 1), (0, [2], (1,)), (0, (2,), (1, 1)), (0, ("2",), (1,))):
        torch.save({"a": Rebuilt(*numbers)}, folder / "b.pt")
        refused(folder / "b.pt", (folder / "b.pt").read_bytes(), "its pickle is damaged")


def nested_pickles_end(folder):
    twice = b"\x80\x02]q\x00" + b"".join(
        b"]q%c(h%ch%ce" % (i, i - 1, i - 1) for i in range(1, 60))
    for hostile in (twice + b".", b"\x80\x02]q\x00h\x00a.", b"\x80\x02)" + b"\x85" * 200_000 + b"."):
        refused(folder / "x.pt", archive({"x/data.pkl": hostile}), "nest too deep or hold too much")
    name = b"X" + (5000).to_bytes(4, "little") + b"a" * 5000  # it would stand before the name of every part
    refused(folder / "x.pt", archive({"x/data.pkl": b"\x80\x02}" + name + b"]s."}), "nest too deep or hold too much")


def damaged_files_are_refused_or_read(folder):
    file = folder / "x.pt"
    torch.save({"scores": torch.tensor([[1.0, 3.0], [3.0, 5.0]]), "list": [LETTERS, LETTERS.half()]}, file)
    members = {entry: zipfile.ZipFile(file).read(entry) for entry in zipfile.ZipFile(file).namelist()}
    program = next(name for name in members if name.endswith("data.pkl"))
    draw = random.Random(7)
    for _ in range(200):
        code = bytearray(members[program])
        for _ in range(draw.choice([1, 1, 3])):
            at = draw.randrange(len(code))
            code[at:at + draw.randrange(3)] = bytes(draw.choice(b"(.tR}]eQhKX\x85\x86\x81cbuasN\x93\x94\xff\0")
                                                    for _ in range(draw.randrange(4)))
        file.write_bytes(archive({**members, program: bytes(code)}))
        done = qkv("compare", file, LESSON)
        assert done.returncode in (0, 1, 2) and done.stderr.count("\n") <= 1, done


def what_the_archive_says_twice_is_refused(folder):
    """Two entries of one name, and a storage of another size than the pickle gives it."""
    file = folder / "t.pt"
    torch.save({"Q": LETTERS}, file)
    members = {entry: zipfile.ZipFile(file).read(entry) for entry in zipfile.ZipFile(file).namelist()}
    root = next(iter(members)).split("/")[0]
    data = members[f"{root}/data/0"]
    for other in (data + bytes(8), data[:-8]):
        refused(file, archive({**members, f"{root}/data/0": other}), "its storage has another size")
    refused(file, archive({**members, "other/data/0": data}), "two of its entries are named data/0")


def the_order_of_bytes_is_read_and_takes_no_memory(folder):
    file = folder / "x.pt"
    torch.save({"scores": torch.tensor([[1.0, 3.0], [3.0, 5.0]])}, file)
    members = {entry: zipfile.ZipFile(file).read(entry) for entry in zipfile.ZipFile(file).namelist()}
    root = next(iter(members)).split("/")[0]
    data = np.frombuffer(members[f"{root}/data/0"], "<f4").astype(">f4").tobytes()
    file.write_bytes(archive({**members, f"{root}/data/0": data, f"{root}/byteorder": b"big"}))
    equal(qkv("compare", file, LESSON).returncode, 0)
    if harness.sanitized(qkv.path):
        raise harness.Skipped("sanitizers take memory of their own")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in {**members, f"{root}/byteorder": bytes(300_000_000)}.items():
            packed.writestr(name, content)
    small = lambda: resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
    equal(qkv("compare", file, LESSON, preexec_fn=small).returncode, 0)


CLAIMS = [
    tensors_are_read_as_they_are,
    dictionaries_and_lists_give_names,
    a_file_of_one_tensor_has_its_name,
    what_is_not_a_tensor_is_refused_by_name,
    offsets_and_sizes_are_whole_numbers,
    nested_pickles_end,
    damaged_files_are_refused_or_read,
    what_the_archive_says_twice_is_refused,
    the_order_of_bytes_is_read_and_takes_no_memory,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
