"""A model of 1.1 billion numbers in bfloat16, and what PyTorch takes for one of its layers.

All numbers are 0 and the file is sparse: 2.2 GB that take a few kilobytes of the disk. The shape is
TinyLlama's.

    billion.py FILE TOKENS OUT    PyTorch: layer 0 in float64, as qkv works it out
"""

import json
import struct
import sys
import time

D, INNER, LAYERS, VOCABULARY, HEADS, KEY_HEADS = 2048, 5632, 22, 32000, 32, 4
KEYS = D // HEADS * KEY_HEADS


def shapes():
    yield "model.embed_tokens.weight", (VOCABULARY, D)
    for layer in range(LAYERS):
        own = f"model.layers.{layer}."
        for name, shape in (("input_layernorm", (D,)), ("post_attention_layernorm", (D,)),
                            ("self_attn.q_proj", (D, D)), ("self_attn.k_proj", (KEYS, D)),
                            ("self_attn.v_proj", (KEYS, D)), ("self_attn.o_proj", (D, D)),
                            ("mlp.gate_proj", (INNER, D)), ("mlp.up_proj", (INNER, D)),
                            ("mlp.down_proj", (D, INNER))):
            yield f"{own}{name}.weight", shape
    yield "model.norm.weight", (D,)
    yield "lm_head.weight", (VOCABULARY, D)


def numbers(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def write(directory):
    """The model's directory. Returns how many numbers it has."""
    header, end = {}, 0
    for name, shape in shapes():
        header[name] = {"dtype": "BF16", "shape": shape,
                        "data_offsets": [end, end + 2 * numbers(shape)]}
        end += 2 * numbers(shape)
    text = json.dumps(header).encode()
    with open(directory / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    (directory / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": D, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS,
        "tie_word_embeddings": False}))
    return end // 2


def flops(n):
    """Of one layer."""
    weights = sum(numbers(shape) for name, shape in shapes() if ".layers.0." in name)
    return 2 * n * weights + 4 * n * n * D


def layer_of_torch(path, n, out):
    import numpy as np
    import torch

    start = time.perf_counter()
    data = np.memmap(path, np.uint8, "r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8:8 + length].tobytes())

    def weight(name, rows=None):
        begin, end = (8 + length + offset for offset in header[name]["data_offsets"])
        bits = torch.from_numpy(data[begin:end].copy()).view(torch.bfloat16)
        return bits.view(header[name]["shape"])[:rows].double()

    def norm(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight(own + name)

    def heads(x, name):
        return (x @ weight(f"{own}self_attn.{name}_proj.weight").T).view(n, -1, D // HEADS).transpose(0, 1)

    own = "model.layers.0."
    x = weight("model.embed_tokens.weight", n)
    inner = norm(x, "input_layernorm.weight")
    q, k, v = (heads(inner, name) for name in "qkv")
    k, v = (part.repeat_interleave(HEADS // KEY_HEADS, 0) for part in (k, v))
    scores = q @ k.transpose(1, 2) / (D // HEADS) ** 0.5
    scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    context = (scores.softmax(-1) @ v).transpose(0, 1).reshape(n, D)
    x = x + context @ weight(own + "self_attn.o_proj.weight").T
    inner = norm(x, "post_attention_layernorm.weight")
    gate, up = (inner @ weight(f"{own}mlp.{name}_proj.weight").T for name in ("gate", "up"))
    x = x + torch.nn.functional.silu(gate) * up @ weight(own + "mlp.down_proj.weight").T
    np.save(out, x.numpy())
    print("inner", time.perf_counter() - start)


if __name__ == "__main__":
    layer_of_torch(sys.argv[1], int(sys.argv[2]), sys.argv[3])
