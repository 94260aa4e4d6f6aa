"""A GPT with nanoGPT's names, tested with qkv: run with `pytest nanogpt_test.py`.

The model is right, and every step that its modules show is checked. Then a mistake is planted, and qkv says which
step is the first wrong one.
"""

import math

import pytest
import torch
from torch import nn

import qkv


class Config:
    n_layer, n_head, n_embd, vocab_size, block_size, bias = 2, 4, 32, 50, 64, True


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.scale = 1 / math.sqrt(config.n_embd // config.n_head)
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_dropout = nn.Dropout(0.1)
        self.resid_dropout = nn.Dropout(0.1)

    def forward(self, x):
        batch, n, width = x.shape
        q, k, v = (part.view(batch, n, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) * self.scale
        future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        weights = self.attn_dropout(scores.masked_fill(future, -math.inf).softmax(dim=-1))
        joined = (weights @ v).transpose(1, 2).reshape(batch, n, width)
        return self.resid_dropout(self.c_proj(joined))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(config.n_embd), SelfAttention(config)
        self.ln_2, self.mlp = nn.LayerNorm(config.n_embd), MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config=Config):
        super().__init__()
        self.config = config()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocab_size, config.n_embd),
            "wpe": nn.Embedding(config.block_size, config.n_embd),
            "drop": nn.Dropout(0.1),
            "h": nn.ModuleList(Block(config) for _ in range(config.n_layer)),
            "ln_f": nn.LayerNorm(config.n_embd),
        })
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.transformer.drop(self.transformer.wte(ids) + self.transformer.wpe(places))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


IDS = [3, 14, 15, 9, 26, 5, 35, 8]


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def model(request):
    torch.manual_seed(0)
    return GPT().to(request.param)


def test_the_model_is_right(model):
    qkv.assert_right(model, ids=IDS)


def test_a_forgotten_scale_is_found(model):
    model.transformer.h[1].attn.scale = 1.0
    with pytest.raises(AssertionError, match=r"first_wrong='h1\.attention_weights'") as failure:
        qkv.assert_right(model, ids=IDS)
    assert "scale.skipped" in str(failure.value)


def test_the_model_is_left_as_it_was(model):
    model.train()
    state = torch.get_rng_state()
    qkv.verify(model, ids=IDS)
    assert all(inside.training for inside in model.modules())
    assert not any(inside._forward_hooks for inside in model.modules())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())
