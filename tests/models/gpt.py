"""A GPT in PyTorch, float32, that keeps every intermediate under the names that qkv gives them.

Written from the papers and the models' own module names; it shares nothing with qkv. The weights
are a state dict: those of minGPT and nanoGPT (nn.Linear, out × in) or of Hugging Face's GPT-2
(Conv1D, in × out).
"""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
from safetensors_file import TYPES, arrays_of, packed  # noqa: E402


def read_safetensors(path):
    """The tensors by name, in float32, and the metadata."""
    arrays, metadata = arrays_of(path)
    return {name: torch.tensor(array.copy()).float() for name, array in arrays.items()}, metadata


def write_safetensors(path, tensors, metadata=None, dtype="F32"):
    raw = {name: tensor.to(torch.bfloat16).view(torch.int16).numpy() if dtype == "BF16"
           else tensor.numpy().astype(TYPES[dtype]) for name, tensor in tensors.items()}
    with open(path, "wb") as file:
        file.write(packed({name: (dtype, array.shape, array.tobytes())
                           for name, array in raw.items()}, metadata))


def forward(weights, ids, heads, layout="out-in", gelu="tanh", eps=1e-5,
            change=lambda name, value: value):
    """Every step of a decoder-only transformer, by name, as float32 tensors; a step's context may be
    changed as it is made."""
    prefix = "transformer." if "transformer.wte.weight" in weights else ""
    get = lambda name: weights.get(prefix + name)  # noqa: E731
    steps = {"token_ids": torch.tensor(ids, dtype=torch.float32)}
    ids = torch.tensor(ids)
    n = len(ids)

    def linear(x, name):
        weight = get(name + ".weight")
        x = x @ (weight.T if layout == "out-in" else weight)
        bias = get(name + ".bias")
        return x if bias is None else x + bias

    def norm(x, name):
        weight = get(name + ".weight")
        return F.layer_norm(x, weight.shape, weight, get(name + ".bias"), eps)

    steps["token_embeddings"] = get("wte.weight")[ids]
    steps["position_embeddings"] = get("wpe.weight")[:n]
    x = steps["X"] = steps["token_embeddings"] + steps["position_embeddings"]
    layers = {name.split("h.")[1].split(".")[0] for name in weights if prefix + "h." in name}
    for layer in range(len(layers)):
        h, own = f"h{layer}.", f"h.{layer}."
        steps[h + "norm1"] = norm(x, own + "ln_1")
        both = linear(steps[h + "norm1"], own + "attn.c_attn")
        d = x.shape[1]
        for name, part in zip("QKV", both.split(d, dim=1)):
            steps[h + name] = part.view(n, heads, d // heads).transpose(0, 1)
        q, k, v = (steps[h + name] for name in "QKV")
        steps[h + "scores"] = q @ k.transpose(1, 2)
        steps[h + "scaled_scores"] = steps[h + "scores"] / (d // heads) ** 0.5
        later = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        steps[h + "masked_scores"] = steps[h + "scaled_scores"].masked_fill(later, -torch.inf)
        steps[h + "attention_weights"] = steps[h + "masked_scores"].softmax(-1)
        steps[h + "context"] = change(h + "context", steps[h + "attention_weights"] @ v)
        steps[h + "concat"] = steps[h + "context"].transpose(0, 1).reshape(n, d)
        steps[h + "output"] = linear(steps[h + "concat"], own + "attn.c_proj")
        x = steps[h + "residual1"] = x + steps[h + "output"]
        steps[h + "norm2"] = norm(x, own + "ln_2")
        steps[h + "mlp_in"] = linear(steps[h + "norm2"], own + "mlp.c_fc")
        approximate = "tanh" if gelu == "tanh" else "none"
        steps[h + "gelu"] = F.gelu(steps[h + "mlp_in"], approximate=approximate)
        steps[h + "mlp_out"] = linear(steps[h + "gelu"], own + "mlp.c_proj")
        x = steps[h + "residual2"] = x + steps[h + "mlp_out"]
    steps["norm"] = norm(x, "ln_f")
    head = weights.get("lm_head.weight")
    steps["logits"] = steps["norm"] @ (get("wte.weight") if head is None else head).T
    steps["probabilities"] = steps["logits"].softmax(-1)
    return steps


def random_weights(layers, d, vocabulary, positions, layout, seed, prefix="transformer.",
                   biases=True, tied=False, spread=0.02):
    """A state dict with random numbers, in the order in which its modules have them."""
    torch.manual_seed(seed)
    weights = {}

    def put(name, *shape, centre=0.0):
        weights[name] = centre + spread * torch.randn(*shape)

    def linear(name, inputs, outputs):
        put(name + ".weight", *((outputs, inputs) if layout == "out-in" else (inputs, outputs)))
        if biases:
            put(name + ".bias", outputs)

    def norm(name):
        put(name + ".weight", d, centre=1.0)
        if biases:
            put(name + ".bias", d)

    put(prefix + "wte.weight", vocabulary, d)
    put(prefix + "wpe.weight", positions, d)
    for layer in range(layers):
        own = f"{prefix}h.{layer}."
        norm(own + "ln_1")
        linear(own + "attn.c_attn", d, 3 * d)
        linear(own + "attn.c_proj", d, d)
        norm(own + "ln_2")
        linear(own + "mlp.c_fc", d, 4 * d)
        linear(own + "mlp.c_proj", 4 * d, d)
    norm(prefix + "ln_f")
    if not tied:
        put("lm_head.weight", vocabulary, d)
    return weights


def small_model(folder, change=lambda weights: None, metadata=None, layout="out-in"):
    """A model of 2 layers, d_model 24, whose file was changed before it was written."""
    weights = random_weights(2, 24, 3, 8, layout, 3)
    change(weights)
    path = folder / "m.safetensors"
    write_safetensors(path, weights, metadata or {"n_head": "4"})
    return path


def write_byte_pairs(folder, merges, others=None):
    """vocab.json with the ids of all bytes and of what the merges make, and merges.txt."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}  # as GPT-2 writes bytes
    letters.update({byte: chr(256 + i) for i, byte in enumerate(spare)})
    joined = {pair.replace(" ", ""): 256 + i for i, pair in enumerate(merges)}
    vocabulary = {letters[byte]: byte for byte in range(256)} | (others or joined)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{pair}\n" for pair in merges))
