"""Random decoders as graphs of steps, run in PyTorch in any precision, whole or from any step on.

Written from the papers and Hugging Face's modelling code. It shares nothing with qkv but the names of
the steps. The weights and files are those of gpt.py and llama.py. A step may be replaced by a wrong
version, and steps may be given instead of computed.
"""

import numpy as np
import torch
import torch.nn.functional as F

import gpt
import llama

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
HALF = (torch.float16, torch.bfloat16)


class Kernels:
    """The weights of a decoder in one precision, and how a program of that precision works."""

    def __init__(self, weights, dtype, native=False):
        self.dtype, self.native = dtype, native
        self.weights = {name: tensor.to(dtype) for name, tensor in weights.items()}

    def get(self, name):
        return self.weights.get(name)

    def fused(self, work, *operands):
        """One kernel: half precision is computed in float32 and rounded once, as on a GPU."""
        if self.dtype not in HALF or self.native:
            return work(*operands)
        wide = [None if x is None else x.float() for x in operands]
        return work(*wide).to(self.dtype)

    def linear(self, x, name):
        return self.fused(F.linear, x, self.get(name + ".weight"), self.get(name + ".bias"))


class Decoder:
    """The steps of a decoder in order: the operands of each, and its work(kernels, *operands)."""

    def __init__(self, weights, ids):
        self.weights, self.ids = weights, ids
        self.order, self.of, self.maths = [], {}, {}
        self.exact = Kernels(weights, torch.float64)

    def step(self, name, of, work):
        self.order.append(name)
        self.of[name], self.maths[name] = of, work
        return name

    def run(self, kernels, instead=None, given=None):
        """Every step's tensor; `instead` has wrong versions (kernels, values so far) by step."""
        values = dict(given or {})
        for name in self.order:
            if name in values:
                continue
            if instead and name in instead:
                values[name] = instead[name](kernels, values)
            else:
                values[name] = self.maths[name](kernels, *(values[n] for n in self.of[name]))
        return values

    def work(self, name, operands):
        """One step in float64, from NumPy arrays; further leading axes are worked side by side."""
        tensors = (torch.from_numpy(np.ascontiguousarray(x)) for x in operands)
        return self.maths[name](self.exact, *tensors).numpy()


def causal(n, ahead=0):
    """True where a key is hidden."""
    return torch.ones(n, n, dtype=torch.bool).triu(1 + ahead)


def into_heads(x, width):
    return x.unflatten(-1, (x.shape[-1] // width, width)).transpose(-3, -2)


def out_of_heads(x):
    return x.transpose(-3, -2).flatten(-2)


def attention(model, layer, q, k, width):
    """From queries and keys to the joined heads; a key's head serves a group of queries."""
    h = f"h{layer}."

    def shared(x, heads):
        return x.repeat_interleave(heads // x.shape[-3], -3)

    scores = model.step(h + "scores", [q, k], lambda run, q, k: run.fused(
        lambda q, k: q @ shared(k, q.shape[-3]).transpose(-1, -2), q, k))
    scaled = model.step(h + "scaled_scores", [scores], lambda run, s: s / width ** 0.5)
    masked = model.step(h + "masked_scores", [scaled],
                        lambda run, s: s.masked_fill(causal(s.shape[-1]), -torch.inf))
    shares = model.step(h + "attention_weights", [masked], lambda run, s: run.fused(
        lambda s: s.softmax(-1), s))
    context = model.step(h + "context", [shares, h + "V"], lambda run, a, v: run.fused(
        lambda a, v: a @ shared(v, a.shape[-3]), a, v))
    return model.step(h + "concat", [context], lambda run, c: out_of_heads(c))


def add(run, a, b):
    return a + b


class Gpt(Decoder):
    """A decoder of GPT-2's kind, with the names of minGPT and nanoGPT."""

    def __init__(self, weights, ids, heads, gelu, eps=1e-5):
        super().__init__(weights, ids)
        self.heads, self.gelu, self.eps = heads, gelu, eps
        self.layers = 1 + max(int(n.split("h.")[1].split(".")[0]) for n in weights if ".h." in n)
        table = weights["transformer.wte.weight"]
        self.width, self.d = table.shape[1] // heads, table.shape[1]
        where = torch.tensor(ids)
        self.step("token_embeddings", [], lambda run: run.get("transformer.wte.weight")[where])
        self.step("position_embeddings", [],
                  lambda run: run.get("transformer.wpe.weight")[:len(ids)])
        x = self.step("X", ["token_embeddings", "position_embeddings"], add)
        for layer in range(self.layers):
            x = self.layer(layer, x)
        x = self.step("norm", [x], self.norm("transformer.ln_f"))
        head = "lm_head" if "lm_head.weight" in weights else "transformer.wte"
        self.step("logits", [x], lambda run, x: run.fused(F.linear, x, run.get(head + ".weight")))
        self.step("probabilities", ["logits"], lambda run, x: run.fused(lambda x: x.softmax(-1), x))

    def norm(self, name, eps=None):
        def work(run, x):
            return run.fused(lambda x, gain, bias: F.layer_norm(
                x, gain.shape, gain, bias, eps or self.eps), x, run.get(name + ".weight"),
                run.get(name + ".bias"))
        return work

    def projected(self, part, own, biased=True):
        """One third of c_attn, as heads."""
        def work(run, x):
            rows = slice("QKV".index(part) * self.d, ("QKV".index(part) + 1) * self.d)
            bias = run.get(own + "attn.c_attn.bias") if biased else None
            y = run.fused(F.linear, x, run.get(own + "attn.c_attn.weight")[rows],
                          bias if bias is None else bias[rows])
            return into_heads(y, self.width)
        return work

    def linear(self, name):
        return lambda run, x: run.linear(x, name)

    def layer(self, layer, x):
        h, own = f"h{layer}.", f"transformer.h.{layer}."
        norm = self.step(h + "norm1", [x], self.norm(own + "ln_1"))
        q, k, _ = (self.step(h + part, [norm], self.projected(part, own)) for part in "QKV")
        joined = attention(self, layer, q, k, self.width)
        out = self.step(h + "output", [joined], self.linear(own + "attn.c_proj"))
        x = self.step(h + "residual1", [x, out], add)
        norm = self.step(h + "norm2", [x], self.norm(own + "ln_2"))
        inner = self.step(h + "mlp_in", [norm], self.linear(own + "mlp.c_fc"))
        inner = self.step(h + "gelu", [inner], lambda run, x: run.fused(
            lambda x: F.gelu(x, approximate=self.gelu), x))
        out = self.step(h + "mlp_out", [inner], self.linear(own + "mlp.c_proj"))
        return self.step(h + "residual2", [x, out], add)


class Llama(Decoder):
    """A decoder of LLaMA's kind, with Hugging Face's names."""

    def __init__(self, weights, ids, config):
        super().__init__(weights, ids)
        self.config, self.width = config, config["head_dim"]
        self.layers, self.eps = config["num_hidden_layers"], config["rms_norm_eps"]
        self.d, self.heads = config["hidden_size"], config["num_attention_heads"]
        where = torch.tensor(ids)
        self.step("token_embeddings", [], lambda run: run.get("model.embed_tokens.weight")[where])
        x = self.step("X", ["token_embeddings"], lambda run, x: x)
        for layer in range(self.layers):
            x = self.layer(layer, x)
        x = self.step("norm", [x], self.norm("model.norm"))
        tied = "lm_head.weight" not in weights
        head = "model.embed_tokens.weight" if tied else "lm_head.weight"
        self.step("logits", [x], lambda run, x: run.fused(F.linear, x, run.get(head)))
        self.step("probabilities", ["logits"], lambda run, x: run.fused(lambda x: x.softmax(-1), x))

    def norm(self, name, centred=False):
        def work(run, x):
            wide = x.float() if run.dtype in HALF else x
            wide = wide - wide.mean(-1, keepdim=True) if centred else wide
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
            return run.get(name + ".weight") * wide.to(run.dtype)
        return work

    def rotated(self, pairing="halves", sign=1, first=0):
        """Rotary positions; below float64 the angles are those of single precision."""
        def work(run, x):
            single = torch.float64 if run.dtype == torch.float64 else torch.float32
            half = torch.arange(0, self.width, 2, dtype=single) / self.width
            angles = torch.outer(torch.arange(x.shape[-2], dtype=single) + first,
                                 1.0 / self.config["rope_theta"] ** half)
            cos, sin = angles.cos().to(run.dtype), sign * angles.sin().to(run.dtype)
            if pairing == "interleaved":
                a, b = x[..., 0::2], x[..., 1::2]
                return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
            a, b = x.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        return work

    def linear(self, name):
        return lambda run, x: run.linear(x, name)

    def projected(self, part, own):
        return lambda run, x: into_heads(run.linear(x, f"{own}self_attn.{part.lower()}_proj"),
                                         self.width)

    def layer(self, layer, x):
        h, own = f"h{layer}.", f"model.layers.{layer}."
        norm = self.step(h + "norm1", [x], self.norm(own + "input_layernorm"))
        for part in "QKV":
            self.step(h + part, [norm], self.projected(part, own))
        q, k = (self.step(f"{h}{part}_rope", [h + part], self.rotated()) for part in "QK")
        joined = attention(self, layer, q, k, self.width)
        out = self.step(h + "output", [joined], self.linear(own + "self_attn.o_proj"))
        x = self.step(h + "residual1", [x, out], add)
        norm = self.step(h + "norm2", [x], self.norm(own + "post_attention_layernorm"))
        gate = self.step(h + "gate", [norm], self.linear(own + "mlp.gate_proj"))
        up = self.step(h + "up", [norm], self.linear(own + "mlp.up_proj"))
        silu = self.step(h + "silu", [gate], lambda run, x: run.fused(F.silu, x))
        gated = self.step(h + "gated", [silu, up], lambda run, a, b: a * b)
        out = self.step(h + "mlp_out", [gated], self.linear(own + "mlp.down_proj"))
        return self.step(h + "residual2", [x, out], add)


def random_ids(rng, vocabulary):
    return [int(i) for i in rng.integers(vocabulary, size=rng.integers(3, 9))]


def in_double(rng, weights):
    """Numbers with all the digits of float64; PyTorch drew them in float32."""
    return {name: tensor.double() * torch.from_numpy(1 + 1e-8 * rng.normal(size=tensor.shape))
            for name, tensor in weights.items()}


def held_in(weights, dtype):
    """The numbers that a file of a type holds, in float64."""
    return {name: tensor.to(DTYPES[dtype]).double() for name, tensor in weights.items()}


def random_gpt(rng, dtype, layers):
    heads = int(rng.choice([1, 2, 4]))
    d, vocabulary = int(heads * rng.choice([4, 8, 16])), int(rng.integers(7, 24))
    d = d if 16 <= d else 16
    drawn = in_double(rng, gpt.random_weights(
        layers, d, vocabulary, 12, "out-in", int(rng.integers(1 << 30)),
        tied=bool(rng.random() < 0.3),
        spread=float(rng.choice([0.02, 0.1, d ** -0.5, 1.5 * d ** -0.5]))))
    form = str(rng.choice(["tanh", "none"]))
    weights = held_in(drawn, dtype)
    model = Gpt(weights, random_ids(rng, vocabulary), heads, form)
    model.drawn = drawn
    model.vocabulary = vocabulary
    model.family = "mingpt" if form == "tanh" else "nanogpt"
    return model


def random_llama(rng, dtype, layers):
    heads = int(rng.choice([2, 4]))
    d = int(rng.choice([16, 24, 32, 48, 64]))
    config = llama.config_of("llama", hidden_size=d, intermediate_size=2 * d,
                             head_dim=int(rng.choice([4, 8, 16])), num_hidden_layers=layers,
                             num_attention_heads=heads, vocab_size=int(rng.integers(7, 24)),
                             num_key_value_heads=int(rng.choice([1, 2, heads])),
                             rope_theta=float(rng.choice([100.0, 10000.0])),
                             tie_word_embeddings=bool(rng.random() < 0.3))
    drawn = in_double(rng, llama.random_weights(config, int(rng.integers(1 << 30)),
                                                float(rng.choice([0.05, 0.15, d ** -0.5]))))
    model = Llama(held_in(drawn, dtype), random_ids(rng, config["vocab_size"]), config)
    model.drawn = drawn
    model.vocabulary = config["vocab_size"]
    return model


def random_decoder(rng, dtype, layers):
    """A decoder whose weights are rounded to a type of file: F64, F32, F16 or BF16."""
    return (random_gpt if rng.random() < 0.5 else random_llama)(rng, dtype, layers)


def write(model, folder, dtype):
    """The model's file; what qkv needs to load it."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Llama):
        llama.write(folder, model.config, model.drawn, dtype)
        named = ["--model", str(folder)]
    else:
        path = folder / "model.safetensors"
        gpt.write_safetensors(path, model.drawn, {"n_head": str(model.heads)}, dtype)
        named = ["--model", str(path), "--family", model.family]
    return [*named, "--ids", ",".join(map(str, model.ids))]


def of_other_ids(model, ids):
    """The same model for another text."""
    if isinstance(model, Llama):
        return Llama(model.weights, ids, model.config)
    return Gpt(model.weights, ids, model.heads, model.gelu)
