#!/usr/bin/python3
"""Small tokenizer.json files of each kind, and the ids that Hugging Face's tokenizers makes of texts.

    tokenisers.py QKV

The files are written here; the ids were made of them by @anush008/tokenizers (the Rust library behind
Hugging Face's tokenizers), those of several patterns by a program of twenty lines with Python's regex
that makes the others' as well; none are qkv's.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv  # noqa: E402

TEXTS = ["the cat", "hello the cat", " the  cat", "The cat's 12345 é!\n\n  x", "hello",
         "e\u0301 the", "日本 <s> the cat", "it'S\t\tthe   ", "a<|begin|> b", "<s>the cat",
         "...the\r\n\r\n the", "½Ⅷ x_1  --  ok", "helloHELLO heLLo",
         "1234567 x/\n/y #the日本の the"]
DUE = {
    "llama2":
        [[1, 303, 306], [1, 313, 303, 306], [1, 300, 303, 300, 306], [1, 300, 87, 309, 306,
        260, 292, 300, 264, 265, 266, 267, 268, 300, 198, 172, 259, 13, 13, 307, 297], [1,
        313], [1, 300, 278, 207, 132, 303], [1, 300, 233, 154, 168, 233, 159, 175, 300, 1,
        300, 303, 306], [1, 300, 282, 293, 260, 86, 12, 12, 302, 307, 300], [1, 300, 274,
        63, 127, 275, 278, 280, 282, 287, 127, 65, 300, 275], [1, 1, 303, 306], [1, 300,
        262, 262, 262, 302, 16, 13, 16, 13, 303], [1, 300, 197, 192, 229, 136, 170, 300,
        297, 98, 264, 307, 48, 48, 307, 288, 284]],
    "meta_first":
        [[1, 303, 306], [1, 313, 303, 306], [1, 303, 300, 306], [1, 300, 87, 309, 306, 260,
        292, 300, 264, 265, 266, 267, 268, 300, 198, 172, 259, 13, 13, 307, 297], [1, 313],
        [1, 300, 278, 207, 132, 303], [1, 300, 233, 154, 168, 233, 159, 175, 300, 1, 303,
        306], [1, 300, 282, 293, 260, 86, 12, 12, 302, 307, 300], [1, 300, 274, 63, 127,
        275, 278, 280, 282, 287, 127, 65, 300, 275], [1, 1, 302, 306], [1, 300, 262, 262,
        262, 302, 16, 13, 16, 13, 303], [1, 300, 197, 192, 229, 136, 170, 300, 297, 98, 264,
        307, 48, 48, 307, 288, 284]],
    "meta_always":
        [[303, 306], [313, 303, 306], [303, 300, 306], [300, 87, 309, 306, 260, 292, 300,
        264, 265, 266, 267, 268, 300, 198, 172, 259, 13, 13, 300, 300, 297], [313], [300,
        278, 207, 132, 303], [300, 233, 154, 168, 233, 159, 175, 300, 1, 303, 306], [300,
        282, 293, 260, 86, 12, 12, 302, 300, 300, 300], [300, 274, 63, 127, 275, 278, 280,
        282, 287, 127, 65, 300, 275], [1, 303, 306], [300, 262, 262, 262, 302, 16, 13, 16,
        13, 303], [300, 197, 192, 229, 136, 170, 300, 297, 98, 264, 300, 300, 48, 48, 300,
        300, 288, 284]],
    "gemma":
        [[1, 302, 306], [1, 312, 303, 306], [1, 303, 300, 306], [1, 87, 309, 306, 260, 292,
        300, 264, 265, 266, 267, 268, 300, 198, 172, 259, 13, 13, 307, 297], [1, 312], [1,
        278, 207, 132, 303], [1, 233, 154, 168, 233, 159, 175, 300, 1, 303, 306], [1, 282,
        293, 260, 86, 12, 12, 302, 307, 300], [1, 274, 63, 127, 275, 278, 280, 282, 287,
        127, 65, 300, 275], [1, 1, 302, 306], [1, 262, 262, 262, 302, 16, 13, 16, 13, 303],
        [1, 197, 192, 229, 136, 170, 300, 297, 98, 264, 307, 48, 48, 307, 288, 284]],
    "llama3":
        [[270, 257, 261], [270, 269, 258, 261], [270, 258, 32, 261], [270, 84, 104, 101,
        261, 264, 32, 263, 52, 53, 32, 268, 33, 267, 32, 32, 120], [270, 269], [270, 101,
        204, 129, 258], [270, 230, 151, 165, 230, 156, 172, 32, 60, 115, 62, 258, 261],
        [270, 105, 116, 39, 83, 9, 9, 257, 266, 32], [270, 97, 270, 32, 98], [270, 60, 115,
        62, 257, 261], [270, 46, 46, 46, 257, 13, 10, 13, 10, 258], [270, 194, 189, 226,
        133, 167, 32, 120, 95, 49, 32, 32, 45, 45, 32, 32, 111, 107]],
    "qwen2":
        [[257, 261], [104, 101, 265, 111, 258, 261], [258, 32, 261], [84, 104, 101, 261,
        264, 32, 49, 50, 51, 52, 53, 32, 268, 33, 267, 32, 32, 120], [104, 101, 265, 111],
        [268, 258], [230, 151, 165, 230, 156, 172, 32, 60, 115, 62, 258, 261], [105, 116,
        39, 83, 9, 9, 257, 266, 32], [97, 270, 32, 98], [60, 115, 62, 257, 261], [46, 46,
        46, 257, 13, 10, 13, 10, 258], [194, 189, 226, 133, 167, 32, 120, 95, 49, 32, 32,
        45, 45, 32, 32, 111, 107]],
    "tekken":
        [[270, 257, 261], [270, 269, 258, 261], [270, 258, 32, 261], [270, 84, 104, 101,
        261, 264, 32, 49, 50, 51, 52, 53, 32, 268, 33, 267, 32, 32, 120], [270, 269],
        [270, 101, 204, 129, 258], [270, 230, 151, 165, 230, 156, 172, 32, 60, 115, 62,
        258, 261], [270, 105, 116, 39, 83, 9, 9, 257, 266, 32], [270, 97, 270, 32, 98],
        [270, 60, 115, 62, 257, 261], [270, 46, 46, 46, 257, 13, 10, 13, 10, 258], [270,
        194, 189, 226, 133, 167, 32, 120, 95, 49, 32, 32, 45, 45, 32, 32, 111, 107], [270,
        269, 72, 69, 76, 76, 79, 32, 104, 101, 76, 76, 111], [270, 49, 50, 51, 52, 53, 54,
        55, 32, 120, 47, 10, 47, 121, 32, 35, 257, 230, 151, 165, 230, 156, 172, 227, 129,
        174, 258]],
    "three":
        [[257, 261], [104, 101, 265, 111, 258, 261], [258, 32, 261], [84, 104, 101, 261,
        264, 32, 263, 52, 53, 32, 268, 33, 267, 32, 32, 120], [104, 101, 265, 111], [101,
        204, 129, 258], [230, 151, 165, 230, 156, 172, 32, 60, 115, 62, 258, 261], [105,
        116, 39, 83, 9, 9, 257, 266, 32], [97, 270, 32, 98], [60, 115, 62, 257, 261], [46,
        46, 46, 257, 13, 10, 13, 10, 258], [194, 189, 226, 133, 167, 32, 120, 95, 49, 32,
        32, 45, 45, 32, 32, 111, 107], [104, 101, 265, 111, 72, 69, 76, 76, 79, 32, 104,
        101, 76, 76, 111], [263, 52, 53, 54, 55, 32, 120, 47, 10, 47, 121, 32, 35, 257,
        230, 151, 165, 230, 156, 172, 227, 129, 174, 258]],
}
BEGIN = 270  # the id of <|begin|>
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")


TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
          r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
THREE = (r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
         r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
         r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def template(token, number):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A"}}],
            "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}}}


def added(token, number):
    return [{"id": number, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}]


def of_characters(**parts):
    """SentencePiece's kind: pieces of characters, bytes for what is not known."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    letters = "the cat sat on the mat hello world".replace(" ", "▁") + "▁abcdefghijklmnopqrstuvwxyz.,!?'0123456789"
    pieces += sorted(set(letters))
    merges = ["t h", "th e", "▁ the", "▁ c", "a t", "▁c at", "▁ ▁", "s at", "h e", "l l", "he ll",
              "hell o", "▁ hello"]
    pieces += [merge.replace(" ", "") for merge in merges]
    return {"added_tokens": added("<s>", 1), **parts,
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                      "vocab": {piece: place for place, piece in enumerate(pieces)},
                      "merges": merges}}


def isolated(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def of_bytes(patterns, ignore_merges, **parts):
    """GPT-2's bytes, cut by patterns of the file's own, each what the one before it left."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}
    letters |= {byte: chr(256 + place) for place, byte in enumerate(spare)}
    merges = ["t h", "th e", "Ġ the", "Ġ c", "a t", "Ġc at", "1 2", "12 3", "' s", "l l", "Ġ Ġ",
              "Ċ Ċ", "Ã ©"]
    pieces = [letters[byte] for byte in range(256)]
    pieces += [merge.replace(" ", "") for merge in merges] + ["hello"]
    return {"added_tokens": added("<|begin|>", BEGIN), **parts,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                *map(isolated, [patterns] if isinstance(patterns, str) else patterns),
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
            "model": {"type": "BPE", "ignore_merges": ignore_merges, "merges": merges,
                      "vocab": {piece: place for place, piece in enumerate(pieces)}}}


def metaspace(scheme, split):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def agrees(folder, name, tokenizer):
    (folder / "t.json").write_text(json.dumps(tokenizer))
    for text, due in zip(TEXTS, DUE[name]):
        (folder / "l.toml").write_text(f"""
title = "t"
text = {json.dumps(text)}
[[step]]
name = "token_ids"
op = "tokenise"
method = "bpe"
tokenizer = "t.json"
""")
        qkv.printed("export", folder / "l.toml", "--format", "json", "-o", folder / "out")
        got = json.loads((folder / "out" / "lesson.json").read_text())
        ids = got.get("token_ids") or got["steps"]["token_ids"]
        equal([int(number) for number in ids], due, f"{name}: {text!r}")


BLANK = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}


def llama_2s_characters(folder):
    agrees(folder, "llama2", of_characters(
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, BLANK]},
        pre_tokenizer=None, post_processor=template("<s>", 1)))


def a_metaspace_before_the_first_piece(folder):
    agrees(folder, "meta_first", of_characters(
        normalizer=None, pre_tokenizer=metaspace("first", False), post_processor=template("<s>", 1)))


def a_metaspace_before_every_piece(folder):
    agrees(folder, "meta_always", of_characters(
        normalizer=None, pre_tokenizer=metaspace("always", True), post_processor=None))


def gemmas_characters(folder):
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
             "invert": False}
    agrees(folder, "gemma", of_characters(normalizer=BLANK, pre_tokenizer=split,
                                          post_processor=template("<s>", 1)))


def llama_3s_pattern(folder):
    after = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("<|begin|>", BEGIN)]}
    agrees(folder, "llama3", of_bytes(LLAMA3, True, normalizer=None, post_processor=after))


def qwens_pattern(folder):
    agrees(folder, "qwen2", of_bytes(LLAMA3.replace("{1,3}", ""), False, normalizer={"type": "NFC"},
                                     post_processor={"type": "ByteLevel"}))


def tekkens_pattern(folder):
    after = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("<|begin|>", BEGIN)]}
    agrees(folder, "tekken", of_bytes(TEKKEN, True, normalizer=None, post_processor=after))


def several_patterns_in_turn(folder):
    agrees(folder, "three", of_bytes(THREE, False, normalizer=None,
                                     post_processor={"type": "ByteLevel"}))


CLAIMS = [llama_2s_characters, a_metaspace_before_the_first_piece, a_metaspace_before_every_piece,
          gemmas_characters, llama_3s_pattern, qwens_pattern, tekkens_pattern,
          several_patterns_in_turn]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
