#!/usr/bin/python3
"""Trains lessons/adjectives.safetensors, a transformer whose nouns must find their adjectives.

    train_adjectives.py [--seed N] [--weights FILE]   train, measure, write weights and record
    train_adjectives.py --measure [--weights FILE]    measure the weights that are there

A sentence of the made-up language is one to three clauses: "a very fluffy blue creature drifts
around while the red smooth bird shines above .". What a noun does depends on the texture and on the
colour before it, in either order: fluffy and blue drifts. Where it does so depends on the noun. So
the model can only know the word after "creature" if something carries both adjectives over to it,
and no other noun's. MISSING lists the nouns that no sentence of the training has.

The model is nanoGPT's, without biases: names and shapes as in its state dict, exact GELU. One thread
and fixed seeds: the same PyTorch on the same kind of machine makes the same file. Needs PyTorch, and
half a minute of one core.
"""

import argparse
import json
import math
import platform
import random
import struct
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

TEXTURES = ["fluffy", "smooth", "prickly"]
COLOURS = ["blue", "green", "red"]
DEEDS = {  # what things of that texture and colour do
    ("fluffy", "blue"): "drifts",
    ("fluffy", "green"): "nests",
    ("fluffy", "red"): "glows",
    ("smooth", "blue"): "swims",
    ("smooth", "green"): "slides",
    ("smooth", "red"): "shines",
    ("prickly", "blue"): "stings",
    ("prickly", "green"): "hides",
    ("prickly", "red"): "burns",
}
PLACES = {"creature": "around", "bird": "above", "fish": "below", "snail": "along"}
JOINS = ["and", "while"]
VOCABULARY = [
    *["a", "the", "very", "and", "while", "."],
    *TEXTURES,
    *COLOURS,
    *PLACES,
    *DEEDS.values(),
    *PLACES.values(),
]
IDS = {word: place for place, word in enumerate(VOCABULARY)}
MISSING = [  # no sentence of the training has such a noun
    ("fluffy", "blue", "creature"),
    ("prickly", "red", "bird"),
    ("smooth", "green", "fish"),
    ("fluffy", "red", "snail"),
]

LONGEST = 32  # tokens; the longest sentence has 27
WIDTH, HEADS, LAYERS = 32, 4, 1
STEPS, BATCH = 1200, 48


# ---------------------------------------------------------------------------------------------
# The language


def clause(rng, thing):
    texture, colour, noun = thing
    words = [rng.choice(["a", "the"])]
    words += ["very"] if rng.random() < 0.25 else []
    first, second = rng.sample([texture, colour], 2)
    words += [first, "and", second] if rng.random() < 0.25 else [first, second]
    return [*words, noun, DEEDS[texture, colour], PLACES[noun]]


def sentence(rng, missing):
    """One to three clauses. `missing`: whether the last noun is one that the training lacks."""
    words = []
    count = rng.choice([1, 2, 2, 3, 3, 3])
    for place in range(count):
        while True:
            thing = rng.choice(TEXTURES), rng.choice(COLOURS), rng.choice(list(PLACES))
            if (thing in MISSING) == (missing and place == count - 1):
                break
        words += clause(rng, thing) + ([rng.choice(JOINS)] if place < count - 1 else ["."])
    return words


def batch(sentences):
    """Their ids, filled up; and the next ids, -1 where nothing follows."""
    longest = max(map(len, sentences))
    ids = [[IDS[word] for word in words] for words in sentences]
    given = [one + [0] * (longest - len(one)) for one in ids]
    wanted = [one[1:] + [-1] * (longest + 1 - len(one)) for one in ids]
    return torch.tensor(given), torch.tensor(wanted)


# ---------------------------------------------------------------------------------------------
# The model


class LayerNorm(nn.Module):
    """With a gain and no bias, which nn.LayerNorm can't be here."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.c_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.off = None  # the head that is switched off
        self.weights = None  # of the last call: batch × heads × queries × keys

    def forward(self, x):
        count, n, _ = x.shape
        q, k, v = (
            part.view(count, n, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.c_attn(x).split(WIDTH, dim=2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        hidden = torch.ones(n, n).tril() == 0
        self.weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        context = self.weights @ v
        if self.off is not None:
            context = context.clone()
            context[:, self.off] = 0
        return self.c_proj(context.transpose(1, 2).reshape(count, n, WIDTH))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.c_proj = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = LayerNorm(WIDTH)
        self.attn = Attention()
        self.ln_2 = LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(len(VOCABULARY), WIDTH),
                "wpe": nn.Embedding(LONGEST, WIDTH),
                "h": nn.ModuleList(Block() for _ in range(LAYERS)),
                "ln_f": LayerNorm(WIDTH),
            }
        )
        self.lm_head = nn.Linear(WIDTH, len(VOCABULARY), bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.08)

    def forward(self, ids):
        x = self.transformer.wte(ids) + self.transformer.wpe(torch.arange(ids.shape[1]))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


def train(seed):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = Model()
    decayed = [w for w in model.parameters() if w.dim() == 2]
    others = [w for w in model.parameters() if w.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=1e-5)
    for step in range(1, STEPS + 1):
        given, wanted = batch([sentence(rng, missing=False) for _ in range(BATCH)])
        loss = F.cross_entropy(model(given).flatten(0, 1), wanted.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    return model


# ---------------------------------------------------------------------------------------------
# What it has learned


def places_of(words, kind):
    return [place for place, word in enumerate(words) if word in kind]


@torch.no_grad()
def guesses(model, sentences, off=None):
    """The most probable next word at every place, perhaps with one head switched off."""
    given, _ = batch(sentences)
    for block in model.transformer.h:
        block.attn.off = off
    ids = model(given).argmax(-1)
    for block in model.transformer.h:
        block.attn.off = None
    return [[VOCABULARY[i] for i in row] for row in ids.tolist()]


def accuracy(model, sentences, off=None):
    """How often the guess is right, of the words that say what is done and where."""
    meaning = {deed: both for both, deed in DEEDS.items()}
    names = ["deed", "its texture", "its colour", "deed of the last noun", "place"]
    right = {name: [] for name in names}
    for guess, words in zip(guesses(model, sentences, off), sentences):
        for place in places_of(words, meaning):
            guessed = guess[place - 1]
            texture, colour = meaning.get(guessed, (None, None))
            right["deed"].append(guessed == words[place])
            right["its texture"].append(texture == meaning[words[place]][0])
            right["its colour"].append(colour == meaning[words[place]][1])
        right["deed of the last noun"].append(right["deed"][-1])
        for place in places_of(words, PLACES.values()):
            right["place"].append(guess[place - 1] == words[place])
    return {what: round(sum(each) / len(each), 4) for what, each in right.items()}


@torch.no_grad()
def looks(model, sentences):
    """For each head, where the nouns' attention goes, on average."""
    given, _ = batch(sentences)
    model(given)
    weights = model.transformer.h[0].attn.weights
    sums = torch.zeros(HEADS, 5)
    count = 0
    for one, words in zip(weights, sentences):
        for noun in places_of(words, PLACES):
            textures = places_of(words[:noun], TEXTURES)
            colours = places_of(words[:noun], COLOURS)
            seen = one[:, noun, : noun + 1]
            others = seen[:, textures[:-1] + colours[:-1]].sum(1)
            parts = [seen[:, textures[-1]], seen[:, colours[-1]], others, seen[:, noun]]
            sums += torch.stack([*parts, 1 - sum(parts)], dim=1)
            count += 1
    names = ["its own texture", "its own colour", "other nouns' adjectives", "itself", "the rest"]
    return [dict(zip(names, (round(part, 4) for part in head))) for head in (sums / count).tolist()]


def measured(model):
    """The figures on sentences whose last noun the training never had."""
    sentences = [sentence(random.Random(f"held out {i}"), missing=True) for i in range(2000)]
    return {
        "held-out sentences": len(sentences),
        "accuracy": accuracy(model, sentences),
        "nouns look at": {f"head {h + 1}": each for h, each in enumerate(looks(model, sentences))},
        "accuracy without": {
            f"head {h + 1}": accuracy(model, sentences, off=h) for h in range(HEADS)
        },
    }


# ---------------------------------------------------------------------------------------------
# Files


METADATA = {
    "family": "nanogpt",
    "n_head": str(HEADS),
    "vocabulary": json.dumps(VOCABULARY),
    "source": "Trained for this course by models/train_adjectives.py.",
}


def write_safetensors(path, weights, metadata=None):
    header, offset, data = {"__metadata__": metadata or METADATA}, 0, b""
    for name, weight in weights.items():
        raw = weight.detach().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(weight.shape),
            "data_offsets": [offset, offset + len(raw)],
        }
        offset += len(raw)
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__")
    weights = {}
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(raw[start:end]), dtype=torch.float32)
        weights[name] = values.reshape(entry["shape"])
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", action="store_true")
    here = Path(__file__).resolve().parent
    weights = here.parent / "lessons" / "adjectives.safetensors"
    parser.add_argument("--weights", type=Path, default=weights)
    parser.add_argument("--record", type=Path, default=here / "adjectives.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if arguments.measure:
        model = Model()
        model.load_state_dict(read_safetensors(arguments.weights))
        print(json.dumps(measured(model), indent=2))
        return
    model = train(arguments.seed)
    write_safetensors(arguments.weights, model.state_dict())
    record = {
        "trained by": "models/train_adjectives.py",
        "seed": arguments.seed,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "steps": STEPS,
        "sentences in each": BATCH,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        **measured(model),
    }
    print(json.dumps(record, indent=2))
    arguments.record.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
