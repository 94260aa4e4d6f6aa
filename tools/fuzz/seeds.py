"""Small files of each format for the fuzzers to begin with: NAME/ under the given directory."""
import hashlib
import io
import json
import pathlib
import re
import struct
import sys
import zipfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reference"))
from safetensors_file import packed  # noqa: E402

from model_seeds import checkpoint, models  # noqa: E402

A = numpy.array([[0.21, -1.5], [3, 4e-7]])
HEADS = numpy.arange(8, dtype="f4").reshape(2, 2, 2)


def saved(save, *args, **kwargs):
    stream = io.BytesIO()
    save(stream, *args, **kwargs)
    return stream.getvalue()


def npy():
    for dtype in "f8 f4 f2 i8 i4 i2 i1 u1 ? >f8 >i4".split():
        yield saved(numpy.save, A.astype(dtype))
    yield saved(numpy.save, numpy.asfortranarray(HEADS))
    yield saved(numpy.save, numpy.float64(2))
    yield saved(lambda stream: numpy.lib.format.write_array(stream, A, version=(2, 0)))


def npz():
    yield saved(numpy.savez, Q=A.astype("i1"))
    yield saved(numpy.savez, Q=A, K=HEADS)
    yield saved(numpy.savez_compressed, Q=A)
    yield saved(numpy.savez_compressed, Q=A, K=HEADS, zeros=numpy.zeros((9, 9)))


def pytorch():
    """Pickles as torch.save writes them, of tensors in a storage of 64 bytes."""
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n%sStorage\nX\1\0\0\0000X\3\0\0\0cpuK%ctQ"
              b"K\0K\2K\3\x86K\3K\1\x86\x89ccollections\nOrderedDict\n)RtR")
    for kind, count in ((b"Float", 16), (b"Double", 8), (b"Half", 32), (b"BFloat16", 32), (b"Long", 8), (b"Bool", 64)):
        one = tensor % (kind, count)
        yield b"\x80\2" + one + b"."
        yield b"\x80\2}q\0(X\1\0\0\0Q" + one + b"q\1X\1\0\0\0n}X\1\0\0\0a](h\1" + one + b"K\3G@\4\0\0\0\0\0\0N\x88esu."
    yield b"\x80\2ctorch._utils\n_rebuild_parameter\n" + tensor % (b"Float", 16) + b"\x88)\x87R."
    yield b"\x80\4\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\1a\x94\x8c\5torch\x8c\4Size\x93)\x85Rs."


def safetensors():
    yield packed({"Q": ("F64", [2, 2], A.tobytes())}, aligned=False)
    yield packed({"a": ("F32", [2, 2, 2], HEADS.tobytes()), "b": ("BF16", [], b"\0\x3f"),
                  "c": ("BOOL", [3], b"\0\1\1")}, {"format": "pt"})
    yield packed({"I": ("I64", [1], struct.pack("<q", -3)), "u": ("U8", [2], b"ab")}, aligned=False)


def json_texts():
    yield b'[[1, 2.50], [3e-2, "inf"]]'
    yield b'{"Q": [[1, null], ["", NaN]], "K": [[[1], [2]], [[-Infinity], [4]]], "n": 7}'
    yield b'\xef\xbb\xbf[1,\n 2]'


def csv():
    for path in sorted((ROOT / "examples").glob("by-hand/*/0[4-7]*.csv")):
        yield path.read_bytes()
    for path in sorted((ROOT / "tests/data/lessons/good/files").glob("*.?sv")):
        yield path.read_bytes()
    yield b"1,2\n3,4\n"
    yield b"sep=;\n1,5;2\r\n;-inf\r\n"
    yield b',the,"fat, ""cat"""\nthe,1.50,nan\n\'=x,1e-3,0\n'
    yield "\ufeff1\t2\n\u221e\t\u22124\n".encode()
    yield b"1 2 3\n4 5 6\n"


def printed_text():
    yield repr(A).encode()
    yield str(A).encode()
    yield b"tensor([[[0.1000, -1.2000],\n         [inf, nan]]], dtype=torch.float64, grad_fn=<X>)"
    yield str(numpy.linspace(0, 1, 40).reshape(2, 20)).encode()
    yield b"A = [1 2; 3 4];\n"
    yield b"ans =\n\n   1.0e+03 *\n\n    1.0000    0.0020\n   -0.5000    0.0001\n"
    yield b"Columns 1 through 2:\n\n   1   2\n   3   4\n\n Columns 3 and 4:\n\n   5   6\n   7   8\n"
    yield b"{1, 2}\n[[1, 2], [3, ...]]"
    yield (b"common_debug_cb_eval: Qcur-0 = (f32) ROPE(Qcur-0{7, 2, 1, 1}, }) = {7, 2, 1, 1}\n    [\n     [\n"
           + 2 * b"      [ 1.0000, -2.5000, nan,    ..., 3.0000, 4.0000, inf  ],\n" + b"     ],\n    ]\n    sum = inf\n")


def tokenizers():
    """Of bpe's seeds those of one file, tokenizer.json."""
    return [seed.split(b"\0")[0] for seed in bpe() if b"\0\0" in seed]


def submissions():
    sheets = {"05-scores.csv": b"1,2\n3,4\n", "scores.head-2.csv": b",a\nthe,1.5\nfat,\n",
              "X.json": b"[[1, 2.5]]", "weights.txt": b"[[0.5, 0.5]]\n[[1 0]]", "README": b"words\n"}
    entries = [{"name": "scores", "file": ["05-scores.csv"]}, {"name": "X", "file": "X.json"}]
    sums = {name: hashlib.sha256(sheet).hexdigest() for name, sheet in sheets.items()}
    listed = json.dumps({"qkv": "1", "givens": [{"name": "W", "file": "given-W.csv"}],
                         "steps": entries, "sha256": {**sums, "X.json": "0"}}).encode()
    names = list(sheets)
    for start in range(3):
        files = [part for name in names[start:start + 3] for part in (name.encode(), sheets[name])]
        yield b"\0".join([listed if start % 2 == 0 else b"", *files])
    yield b"\0".join([b"", *[part for name in ("scores.csv", "Q1.csv", "04-K.head-3.csv")
                             for part in (name.encode(), b"1,2\n3,4\n5,6\n7,8\n")]])
    packed_sheets = io.BytesIO()
    with zipfile.ZipFile(packed_sheets, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, sheet in sheets.items():
            archive.writestr("mine/" + name, sheet)
        archive.writestr("mine/Q.npy", saved(numpy.save, HEADS))
    yield packed_sheets.getvalue()


def patches():
    yield b"W\x001,2\n0,1\n"
    yield b"table\x001,0\n0.5,2\n0,-1\n3,1\n1,1\n0,7\n"
    yield b"X\x001,0\n0.5,2\n0,-1\n3,1\n1,1\n"


def bpe():
    vocab = {piece: i for i, piece in enumerate(["a", "b", "ab", "\u0120", "\u0120ab", "c", "\u00c3"])}
    merges = ["a b", "\u0120 ab"]
    yield json.dumps(vocab).encode() + b"\0#version: 0.2\n" + "\n".join(merges).encode() + b"\0ab cab"
    tokenizer = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                 "model": {"type": "BPE", "vocab": vocab, "merges": merges}}
    yield json.dumps(tokenizer, ensure_ascii=False).encode() + b"\0\0abc ab"
    tokenizer["model"]["merges"] = [["a", "b"]]
    yield json.dumps(tokenizer).encode() + b"\0\0 a'll  b\n12 \xc3\xa9"
    pattern = r"(?i:'s|'ll)|[^\r\n\p{L}]?\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+"
    tokenizer["normalizer"] = {"type": "NFC"}
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}
    tokenizer["model"]["ignore_merges"] = True
    yield json.dumps(tokenizer).encode() + b"\0\0ab'LL  b 1234"
    vocab = {piece: i for i, piece in enumerate(["<unk>", "<s>", "\u2581", "a", "b", "ab", "<0xC3>"])}
    tokenizer = {"normalizer": {"type": "Sequence", "normalizers": [
                     {"type": "Prepend", "prepend": "\u2581"},
                     {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
                 "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"], "byte_fallback": True,
                           "unk_token": "<unk>", "fuse_unk": True}}
    yield json.dumps(tokenizer).encode() + b"\0\0ab \xc3\xa9"
    del tokenizer["normalizer"]
    tokenizer["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581",
                                  "prepend_scheme": "first", "split": True}
    yield json.dumps(tokenizer).encode() + b"\0\0a ab"
    tokenizer["added_tokens"] = [{"id": 1, "content": "<s>", "lstrip": True, "rstrip": True}]
    template = [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<s>"}}]
    tokenizer["post_processor"] = {"type": "Sequence", "processors": [
        {"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": template,
                                "special_tokens": {"<s>": {"ids": [1]}}}]}
    yield json.dumps(tokenizer).encode() + b"\0\0a <s> b"


def lessons():
    """Lessons whole where they are small; of larger ones the first steps and the givens."""
    paths = [*ROOT.glob("lessons/*.toml"), *ROOT.glob("examples/*.toml"),
             *ROOT.glob("tests/data/lessons/**/*.toml")]
    for path in sorted(paths):
        text = path.read_bytes()
        text = re.sub(rb"(?ms)^#.*?$\n", b"", text)
        text = re.sub(rb'(?ms)^(say|notice|try|source)\s*=\s*""".*?"""\n', b"", text)
        yield text
    step = b'[[step]]\nname = "Y"\nop = "softmax"\nof = ["X"]\nsay = "%s"\n'
    for file in (b"/x.csv", b"../x.csv", b"files", b"files/heads.npy\"\nkey = \"Q"):
        yield b'[[given]]\nname = "X"\nfile = "%s"\n' % file + step % b"W"
    words = b" ".join(b"{Y%s.%s}" % (place, name) for place in (b"", b"[1,*]")
                      for name in b"entropy slope max min mean sum spread shape".split())
    yield b'[[given]]\nname = "X"\nvalue = [[1, 2, 3], [3, 1, 2]]\n' + step % words
    for number, match in enumerate(re.finditer(r"```toml mine.toml\n(.*?)```",
                                               (ROOT / "docs" / "lessons.md").read_text(), re.S)):
        yield match.group(1).encode()


def references():
    for text in ("scores[head 1,cat,2]", "X[2,2]", 'table[1,"a,b"]', "token_ids[1]", "W[2,1,1]",
                 'X["the",1]', "weights[head 2, 3 ,4]", "Q", "scores"):
        yield text.encode()


def settings():
    for text in ("W[head 1,1,2]=0.5", "table[3,2]=-1e-3", 'table[1,"a,b"]=inf', "X[1,1]=2",
                 "scaled.by=d_k", "*.kind=causal", "scores.of=Q, K"):
        yield text.encode()


def names():
    for text in ("06-scores.head-2", "given-W.head-1", "Scores head 2", "scores_h2", "given-table",
                 "03-Q.batch-1.head-2"):
        yield text.encode()


def keys():
    start = b"\0\x50\x18\x08"
    yield start + b"\r\r\rb?qe\x1b[A\x1b[B\x1b[C"
    yield start + b"g3\rs" + b"W[head 1,1,2]=0.5\r" + b"u"
    yield start + b"\x1b[200~pasted\x1b[201~/\x7f\x01\x05\x15" + "g\u732b\r".encode()
    yield b"\1\x20\x08\x01e[3,2]\r\x1b\x1b[5~\x1b[6~+-p?\r"


def choices():
    """Bytes that only choose: what is generated from them has its structure from the generator."""
    generator = numpy.random.default_rng(1)
    for size in (0, 16, 100, 300, 600, 1000):
        yield generator.bytes(size)


SEEDS = {
    "bpe": bpe, "dumps": choices, "shapes": choices, "checkpoint": lambda: checkpoint(tokenizers()), "csv": csv,
    "csv_size": lambda: (b"\2\2" + text for text in csv()), "submission": submissions, "json": json_texts,
    "keys": keys, "lesson": lessons, "model": models, "name": names, "npy": npy, "npz": npz,
    "printed_text": printed_text, "patch": patches, "pytorch": pytorch, "reference": references, "safetensors": safetensors,
    "set": settings, "walk": lessons,
}


def write(directory):
    for name, seeds in SEEDS.items():
        folder = pathlib.Path(directory) / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(seeds()):
            (folder / f"seed-{number:03}").write_bytes(content)


if __name__ == "__main__":
    write(sys.argv[1])
