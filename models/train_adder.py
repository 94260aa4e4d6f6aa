#!/usr/bin/python3
"""Trains lessons/adder.safetensors, a transformer of 688 parameters that adds ten-digit numbers.

    train_adder.py [--seed N] [--weights FILE]   train, measure, write weights and record
    train_adder.py --measure [--weights FILE]    measure the weights that are there

The digits stand least significant first: "0 a0…a9 0 0 b0…b9 0", and the model writes the eleven
digits of the sum, s0 first. Before it writes s_k, a_k stands 22 tokens back and b_k 10, whatever k
is; and whether a 1 is carried can be told from a_(k-1) + b_(k-1) and s_(k-1), the digit that it has
written last. So one layer is enough: it has to find four digits by where they stand, and to work
out a digit from them.

The model is Qwen3's with Hugging Face's names: RMS norms, norms of queries and keys, rotary
positions whose pairs are halves, grouped queries (two query heads, one key and value head), SwiGLU,
and the embeddings used for the logits, too. One thread and fixed seeds: the same PyTorch on the
same kind of machine makes the same file. Needs PyTorch, and a minute of one core.
"""

import argparse
import json
import math
import platform
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from train_adjectives import read_safetensors, write_safetensors

DIGITS = 10  # of each number
FIRST = 2 * DIGITS + 3  # the token after which s_0 is written
WIDTH, HEADS, HEAD, HIDDEN = 8, 2, 4, 16
BASE, EPS = 3.0, 1e-6
STEPS, BATCH, WARM_UP, RATE = 6000, 64, 200, 2e-2

MISTAKES = [
    "pairs that stand side by side",  # columns 1 and 2, 3 and 4, for 1 and 3, 2 and 4
    "no norm of queries and keys",
    "queries one place further",  # the keys stay where they are
]

# ---------------------------------------------------------------------------------------------
# The sums


def sums(count, generator):
    """Ids of sums with their answers: count × 35. In half of them the digits of one number are
    often what the other's lack to nine, so that a carried 1 goes a long way."""
    a = torch.randint(0, 10, (count, DIGITS), generator=generator)
    b = torch.randint(0, 10, (count, DIGITS), generator=generator)
    long_way = torch.rand(count, 1, generator=generator) < 0.5
    nines = torch.rand(count, DIGITS, generator=generator) < 0.6
    return with_answers(a, torch.where(long_way & nines, 9 - a, b))


def with_answers(a, b):
    carried = torch.zeros(len(a), dtype=torch.long)
    answer = []
    for k in range(DIGITS):
        total = a[:, k] + b[:, k] + carried
        answer.append(total % 10)
        carried = total // 10
    answer = torch.stack([*answer, carried], dim=1)
    one, two = torch.zeros(len(a), 1, dtype=torch.long), torch.zeros(len(a), 2, dtype=torch.long)
    return torch.cat([one, a, two, b, one, answer], dim=1)


# ---------------------------------------------------------------------------------------------
# The model


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * self.weight


def turned(x, first=0, halves=True):
    """Rotary positions of … × n × HEAD, the first row's being `first`."""
    n, half = x.shape[-2], HEAD // 2
    angles = (torch.arange(n)[:, None] + first) * BASE ** (-torch.arange(half) / half)
    cos, sin = angles.cos(), angles.sin()
    one, two = (x[..., :half], x[..., half:]) if halves else (x[..., ::2], x[..., 1::2])
    pairs = [one * cos - two * sin, two * cos + one * sin]
    return torch.cat(pairs, -1) if halves else torch.stack(pairs, -1).flatten(-2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(WIDTH, HEAD, bias=False)
        self.v_proj = nn.Linear(WIDTH, HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.q_norm = RMSNorm(HEAD)
        self.k_norm = RMSNorm(HEAD)
        self.off = None  # the head that is switched off
        self.mistake = None  # one of MISTAKES
        self.weights = None  # of the last call: batch × heads × queries × keys

    def forward(self, x):
        count, n, _ = x.shape
        q = self.q_proj(x).view(count, n, HEADS, HEAD).transpose(1, 2)
        k, v = self.k_proj(x)[:, None], self.v_proj(x)[:, None]  # both heads share them
        if self.mistake != "no norm of queries and keys":
            q, k = self.q_norm(q), self.k_norm(k)
        halves = self.mistake != "pairs that stand side by side"
        q = turned(q, first=self.mistake == "queries one place further", halves=halves)
        k = turned(k, halves=halves)
        scores = q @ k.transpose(-2, -1) / math.sqrt(HEAD)
        hidden = torch.ones(n, n).tril() == 0
        self.weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        context = self.weights @ v
        if self.off is not None:
            context = context.clone()
            context[:, self.off] = 0
        return self.o_proj(context.transpose(1, 2).reshape(count, n, HEADS * HEAD))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = Attention()
        self.mlp = MLP()
        self.input_layernorm = RMSNorm(WIDTH)
        self.post_attention_layernorm = RMSNorm(WIDTH)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.ModuleDict(
            {
                "embed_tokens": nn.Embedding(10, WIDTH),
                "layers": nn.ModuleList([Layer()]),
                "norm": RMSNorm(WIDTH),
            }
        )

    def forward(self, ids):
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x)
        return self.model.norm(x) @ self.model.embed_tokens.weight.T


def train(seed, steps=STEPS):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.99), weight_decay=0.0)

    def rate(step):
        return min((step + 1) / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * step / steps))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for step in range(1, steps + 1):
        ids = sums(BATCH, generator)
        guessed = model(ids[:, :-1])[:, FIRST:]
        loss = F.cross_entropy(guessed.flatten(0, 1), ids[:, FIRST + 1 :].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step}: loss {loss.item():.5f}", flush=True)
    return model


# ---------------------------------------------------------------------------------------------
# What it has learned


@torch.no_grad()
def accuracy(model, ids, off=None, mistake=None):
    """How many sums are right to the last digit, and how many digits, each after the right ones."""
    attention = model.model.layers[0].self_attn
    attention.off, attention.mistake = off, mistake
    right = model(ids[:, :-1])[:, FIRST:].argmax(-1) == ids[:, FIRST + 1 :]
    attention.off = attention.mistake = None
    return {
        "sums": round(right.all(1).double().mean().item(), 4),
        "digits": round(right.double().mean().item(), 4),
    }


@torch.no_grad()
def looks(model, ids):
    """For each head, where the attention goes of the tokens behind which the ten digits stand."""
    model(ids[:, :-1])
    weights = model.model.layers[0].self_attn.weights
    rows = torch.arange(FIRST, FIRST + DIGITS)
    back = {"a_k": 22, "b_k": 10, "a_(k-1)": 23, "b_(k-1)": 11}
    heads = []
    for head in range(HEADS):
        parts = {name: weights[:, head, rows, rows - by].mean().item() for name, by in back.items()}
        parts["the rest"] = 1 - sum(parts.values())
        heads.append({name: round(part, 4) for name, part in parts.items()})
    return heads


def measured(model):
    """The figures on 10,000 sums of random digits, and as many in which 1s are carried far."""
    generator = torch.Generator().manual_seed(10)
    a, b = torch.randint(0, 10, (2, 10_000, DIGITS), generator=generator)
    ids = with_answers(a, b)
    return {
        "sums": len(ids),
        "right": accuracy(model, ids),
        "right where much is carried": accuracy(model, sums(10_000, generator)),
        "looks at": {f"head {h + 1}": each for h, each in enumerate(looks(model, ids))},
        "right without": {f"head {h + 1}": accuracy(model, ids, off=h) for h in range(HEADS)},
        "right with": {mistake: accuracy(model, ids, mistake=mistake) for mistake in MISTAKES},
    }


METADATA = {
    "model_type": "qwen3",
    "num_attention_heads": str(HEADS),
    "num_key_value_heads": "1",
    "head_dim": str(HEAD),
    "rms_norm_eps": str(EPS),
    "rope_theta": str(BASE),
    "tie_word_embeddings": "true",
    "vocabulary": json.dumps([str(digit) for digit in range(10)]),
    "source": "Trained for this course by models/train_adder.py.",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--measure", action="store_true")
    here = Path(__file__).resolve().parent
    parser.add_argument("--weights", type=Path, default=here.parent / "lessons/adder.safetensors")
    parser.add_argument("--record", type=Path, default=here / "adder.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if arguments.measure:
        model = Model()
        model.load_state_dict(read_safetensors(arguments.weights))
        print(json.dumps(measured(model), indent=2))
        return
    model = train(arguments.seed)
    write_safetensors(arguments.weights, model.state_dict(), METADATA)
    record = {
        "trained by": "models/train_adder.py",
        "seed": arguments.seed,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "steps": STEPS,
        "sums in each": BATCH,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        **measured(model),
    }
    print(json.dumps(record, indent=2))
    arguments.record.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
