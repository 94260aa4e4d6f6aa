"""A LLaMA in plain PyTorch with Hugging Face's names, verified with qkv: python3 llama.py

The second run rotates the queries alone; qkv names the first step that is wrong.
"""

import math

import torch
from torch import nn

import qkv

CONFIG = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 60, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "max_position_embeddings": 128, "tie_word_embeddings": False}


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"])


def rotate(x):
    """Rotates the columns i and i + width/2 of row p as a pair, by p · base^(−2i/width)."""
    n, width = x.shape[-2:]
    speeds = CONFIG["rope_theta"] ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    angles = torch.arange(n, dtype=x.dtype)[:, None] * speeds
    one, two = x.chunk(2, dim=-1)
    return torch.cat([one * angles.cos() - two * angles.sin(), two * angles.cos() + one * angles.sin()], dim=-1)


class Attention(nn.Module):
    rotates_keys = True

    def __init__(self):
        super().__init__()
        width, self.heads, self.groups = (CONFIG["hidden_size"], CONFIG["num_attention_heads"],
                                          CONFIG["num_key_value_heads"])
        self.d_k = width // self.heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, self.groups * self.d_k, bias=False)
        self.v_proj = nn.Linear(width, self.groups * self.d_k, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, n, width = x.shape
        q, k, v = (projection(x).view(batch, n, -1, self.d_k).transpose(1, 2)
                   for projection in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q), rotate(k) if self.rotates_keys else k
        k, v = (part.repeat_interleave(self.heads // self.groups, dim=1) for part in (k, v))
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(self.d_k)).masked_fill(future, -math.inf).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(batch, n, width))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        width, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj, self.act_fn = nn.Linear(inner, width, bias=False), nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(CONFIG["hidden_size"]), Attention()
        self.post_attention_layernorm, self.mlp = RMSNorm(CONFIG["hidden_size"]), MLP()

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = CONFIG
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(CONFIG["vocab_size"], CONFIG["hidden_size"]),
            "layers": nn.ModuleList(Layer() for _ in range(CONFIG["num_hidden_layers"])),
            "norm": RMSNorm(CONFIG["hidden_size"]),
        })
        self.lm_head = nn.Linear(CONFIG["hidden_size"], CONFIG["vocab_size"], bias=False)

    def forward(self, ids):
        x = self.model["embed_tokens"](ids)
        for layer in self.model["layers"]:
            x = layer(x)
        return self.lm_head(self.model["norm"](x))


def main():
    torch.manual_seed(0)
    model, ids = Llama(), [7, 1, 42, 9, 30, 11]
    print(qkv.assert_right(model, ids=ids))
    Attention.rotates_keys = False
    wrong = qkv.verify(model, ids=ids)
    assert not wrong and wrong.first_wrong == "h0.output", wrong
    print(wrong)


if __name__ == "__main__":
    main()
