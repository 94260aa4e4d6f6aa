"""The rows of the table as data: what we run, what each peer runs for the same, and the goal."""

import dataclasses
import pathlib

import billion
import lessons
from machine import PYTHON, best_core_type

PEERS = str(pathlib.Path(__file__).with_name("peers.py"))
IMPORT_NUMPY = [PYTHON, "-c", "import numpy"]


@dataclasses.dataclass
class Row:
    name: str
    size: str
    ours: list  # the command
    peers: list  # (name, command, environment)
    goals: dict = dataclasses.field(default_factory=dict)  # peer: how many times as long as ours
    threads: int = 1
    need: dict = dataclasses.field(default_factory=dict)  # flops, fresh and written bytes
    kept: int = 0  # bytes of everything that is kept
    rounds: int = 5
    quick: bool = True
    prepare: list = dataclasses.field(default_factory=list)  # called before the row runs
    written: list = dataclasses.field(default_factory=list)  # paths, cleared before each run

    def environment(self):
        return threads_in(self.threads)


def threads_in(count):
    return {"OPENBLAS_NUM_THREADS": str(count), "OMP_NUM_THREADS": str(count),
            "QKV_THREADS": str(count)}


def best(threads):
    return {**threads_in(threads), "OPENBLAS_CORETYPE": best_core_type()}


def peer(name, *arguments, env):
    return (name, [PYTHON, PEERS, *map(str, arguments)], env)


def start_up(qkv, scratch):
    one = lessons.submissions(scratch, qkv, "two-heads", 1)
    many = lessons.submissions(scratch, qkv, "toy-attention", 1000)
    importing = [("import numpy", IMPORT_NUMPY, {})]
    return [
        Row("help", "", [qkv], [("python3 -c pass", [PYTHON, "-c", "pass"], {})],
            {"python3 -c pass": 5}, rounds=21),
        Row("version", "", [qkv, "--version"], [("python3 -c pass", [PYTHON, "-c", "pass"], {})],
            {"python3 -c pass": 5}, rounds=21),
        Row("two-heads whole", "7 tokens", [qkv, "run", "two-heads"], importing,
            {"import numpy": 50}, rounds=21),
        Row("check of one submission", "7 tokens",
            [qkv, "check", "two-heads", str(one.directory / "0")], importing,
            {"import numpy": 20}, rounds=21, prepare=[one.ready]),
        Row("check of 1,000 submissions", "3 tokens",
            [qkv, "check", "toy-attention", *(str(many.directory / str(i)) for i in range(1000))],
            importing, {"import numpy": 1 / 30}, rounds=3, prepare=[many.ready]),
    ]


def attention_row(qkv, scratch, n, d, h, threads):
    """Every step worked out and kept, the last one looked at."""
    files = lessons.attention(scratch, n, d, h)
    directory = files.directory
    arguments = (directory, n, d, h)
    kinds = [("numpy", threads_in(threads), ""), ("torch", threads_in(threads), ""),
             ("numpy", best(threads), " " + best_core_type())]
    small = n < 128
    large = n >= 1024
    tuned = "numpy " + best_core_type()
    return Row("attention, all kept", f"{n}×{d}, {h} heads",
               [qkv, "run", str(directory / "lesson.toml"), "--from", "output",
                "--threads", str(threads)],
               [peer(kind + core, "attention", kind, *arguments, env=env)
                for kind, env, core in kinds],
               {"numpy": 2.8, "torch": 3, tuned: 0.95 if not large else 1.6 if threads > 1 else 1.1}
               if not small else {"numpy": 50, "torch": 50},
               threads, {"flops": lessons.flops(n, d, h), "fresh": lessons.kept_bytes(n, d, h)},
               lessons.kept_bytes(n, d, h), rounds=3 if large else 5, quick=n <= 512,
               prepare=[files.ready])


def back_row(qkv, scratch, n, d, h, threads):
    """Forward and backward: every step and every gradient worked out and kept, the last looked at."""
    files = lessons.attention(scratch, n, d, h)
    arguments = (files.directory, n, d, h)
    return Row("attention and its gradients, all kept", f"{n}×{d}, {h} heads",
               [qkv, "run", str(files.directory / "back.toml"), "--from", "d_X", "--threads",
                str(threads)],
               [peer("torch", "both_ways", "torch", *arguments, env=threads_in(threads))],
               {"torch": 1}, threads, {"flops": 3 * lessons.flops(n, d, h)}, rounds=3,
               quick=False, prepare=[files.ready])


def output_row(qkv, scratch, n, d, h, threads):
    """The output alone, into a file: nothing on the way need be kept."""
    row = attention_row(qkv, scratch, n, d, h, threads)
    directory = lessons.attention(scratch, n, d, h).directory
    arguments = (directory, n, d, h, directory / "peer.npy")
    return dataclasses.replace(
        row, name="attention, output alone",
        ours=[qkv, "export", "--no-sync", str(directory / "lesson.toml"), "--step", "output", "--format", "npy",
              "-o", str(directory / "out"), "--threads", str(threads)],
        peers=[("all kept", row.ours, threads_in(threads)),
               peer("numpy in place", "lean", "numpy", *arguments, env=threads_in(threads)),
               peer(f"numpy in place {best_core_type()}", "lean", "numpy", *arguments,
                    env=best(threads))],
        goals={"all kept": 1.5}, need={"flops": row.need["flops"]}, kept=0)


def attention(qkv, scratch):
    sizes = [(8, 16, 2), (128, 768, 12), (512, 768, 12), (1024, 768, 12), (2048, 1024, 16)]
    kept = [attention_row(qkv, scratch, *size, threads) for size in sizes for threads in (1, 2)]
    alone = [output_row(qkv, scratch, *size, threads) for size in sizes[3:] for threads in (1, 2)]
    back = [back_row(qkv, scratch, 1024, 768, 12, threads) for threads in (1, 2)]
    return kept + alone + back


def gpt2_row(qkv, scratch, n, threads, whole):
    """To its last norm, letting go on the way; or all of it, to the probabilities, all kept."""
    model = lessons.gpt2(scratch)
    directory, shape = model.directory, lessons.GPT2
    path = directory / "model.safetensors"
    arguments = (path, n, shape["heads"], shape["layers"], int(whole), directory / "peer.npy")
    text = " ".join(str(7 * i) for i in range(n))  # without a tokeniser, the ids themselves
    of_model = ["--model", str(path), "--text", text, "--threads", str(threads)]
    return Row("GPT-2 small, all kept" if whole else "GPT-2 small, to its last norm", f"{n} tokens",
               [qkv, "run", *of_model, "--from", "probabilities"] if whole else
               [qkv, "export", "--no-sync", *of_model, "--step", "norm", "--format", "npy", "-o",
                str(directory / "out")],
               [peer(kind + core, "gpt2", kind, *arguments, env=env) for kind, env, core in
                (("numpy", threads_in(threads), ""), ("torch", threads_in(threads), ""),
                 ("numpy", best(threads), " " + best_core_type()))],
               {"numpy": 1, "torch": 1}, threads, {"flops": lessons.gpt2_flops(n, whole)},
               lessons.gpt2_kept_bytes(n) if whole else 0, rounds=1 if n > 64 else 3,
               quick=False, prepare=[model.ready])


def gpt2(qkv, scratch):
    return ([gpt2_row(qkv, scratch, n, threads, True) for n in (64, 1024) for threads in (1, 2)] +
            [gpt2_row(qkv, scratch, 64, threads, False) for threads in (1, 2)] +
            [billion_row(qkv, scratch, threads) for threads in (1, 2)])


def billion_row(qkv, scratch, threads):
    """One layer of a model of 1.1 billion numbers, from its file to the stream behind it."""
    n, model = 64, lessons.Prepared(scratch / "billion", billion.write)
    path = model.directory / "model.safetensors"
    torch = [PYTHON, billion.__file__, str(path), str(n), str(model.directory / "peer.npy")]
    return Row("1.1 billion in bfloat16, a layer", f"{n} tokens",
               [qkv, "export", "--no-sync", "--model", str(model.directory), "--ids",
                ",".join(map(str, range(n))), "--step", "h0.residual2", "--format", "npy", "-o",
                str(model.directory / "out"), "--threads", str(threads)],
               [("torch", torch, threads_in(threads))], {"torch": 1}, threads,
               {"flops": billion.flops(n)}, rounds=3, quick=False, prepare=[model.ready])


def write_row(qkv, matrix, form, n, threads):
    directory = matrix.directory
    out = directory / f"out-{form}"
    options = ["--format", form] + (["--plain"] if form == "csv" else [])
    size = {"csv": 19.6, "npy": 8}[form]  # bytes a number
    libraries = ["numpy", "pandas"] if form == "csv" else ["numpy"]
    goal = {1: {"numpy": 6, "pandas": 12}, 2: {"numpy": 15, "pandas": 30}}[threads]
    return Row(f"write {form}", f"{n}×{n}",
               [qkv, "export", "--no-sync", str(directory / "npy.toml"), "--step", "A", "-o", str(out), *options,
                "--threads", str(threads)],
               [peer(library, "write", library, form, directory / "A.npy", directory / "peer.out",
                     env=threads_in(threads)) for library in libraries],
               goal if form == "csv" else {"numpy": 0.77}, threads, {"written": size * n * n}, rounds=3,
               quick=False, prepare=[matrix.ready], written=[out, directory / "peer.out"])


def read_row(qkv, matrix, form, n, threads):
    directory = matrix.directory
    libraries = ["numpy", "pandas"] if form == "csv" else ["numpy"]
    goal = {1: {"numpy": 7, "pandas": 5}, 2: {"numpy": 12, "pandas": 10}}[threads]
    return Row(f"read {form}", f"{n}×{n}",
               [qkv, "run", str(directory / f"{form}.toml"), "--step", "B", "--threads",
                str(threads)],
               [peer(library, "read", library, form, directory / f"A.{form}",
                     env=threads_in(threads)) for library in libraries],
               goal if form == "csv" else {"numpy": 0.77}, threads, rounds=3, quick=False,
               prepare=[matrix.ready])


def files(qkv, scratch):
    matrix = lessons.one_matrix(scratch, 2048)
    return [make(qkv, matrix, form, 2048, threads) for make in (write_row, read_row)
            for form in ("csv", "npy") for threads in (1, 2) if form == "csv" or threads == 1]


def parts(qkv, scratch):
    n, d, h = 1024, 768, 12
    large = lessons.attention(scratch, n, d, h)
    directory = large.directory
    lesson = str(directory / "lesson.toml")
    small = lessons.attention(scratch, 64, 64, 4)
    out = small.directory / "out"
    weights = directory / "handed-in" / "10-attention_weights.npy"
    return [
        Row("explain one cell", f"{n}×{d}, {h} heads",
            [qkv, "explain", lesson, "Q_all[900,5]", "--threads", "1"],
            [peer("numpy", "cell", "numpy", directory, env=threads_in(1))], {"numpy": 1},
            prepare=[large.ready], quick=False),
        Row("check of one submission", f"{n}×{d}, {h} heads",
            [qkv, "check", lesson, str(weights), "--json", "--threads", "1"],
            [peer("numpy", "check", "numpy", directory, n, d, h, weights, env=threads_in(1))],
            rounds=2, quick=False,
            prepare=[large.ready, lambda: lessons.hand_in(directory, qkv)]),
        Row("report", "64 tokens, 4 heads",
            [qkv, "report", str(small.directory / "lesson.toml"), "--force", "-o",
             str(small.directory / "page.html")],
            [peer("numpy", "page", "numpy", small.directory, 64, 64, 4, out, env={})],
            prepare=[small.ready]),
    ]


def growth(qkv, scratch):
    """The same work at sizes that double: the exponent is the slope of its times."""
    rows = []
    for n in (128, 256, 512, 1024, 2048):
        row = attention_row(qkv, scratch, n, 256, 4, 1)
        rows.append(dataclasses.replace(row, name="growth: attention", goals={}, quick=False,
                                        peers=row.peers[:1], rounds=3))
    for n in (128, 256, 512, 1024, 2048):
        row = write_row(qkv, lessons.one_matrix(scratch, n), "csv", n, 1)
        rows.append(dataclasses.replace(row, name="growth: write csv", goals={}, rounds=3,
                                        peers=row.peers[:1]))
    return rows


GROUPS = [start_up, attention, gpt2, files, parts, growth]
