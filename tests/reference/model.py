"""A trained model of a lesson's [model] as givens and steps, for reference.py to work out.

It reads the file by itself, and lays out what the steps of a decoder-only transformer are, with the
norm before each part. Only what the course has: nanoGPT's and minGPT's files, whose linear maps are
stored out × in, and Qwen3's.
"""

import json

import numpy as np

from safetensors_file import arrays_of


def read_file(path):
    arrays, metadata = arrays_of(path)
    return {name.removeprefix("transformer."): array.astype(float)
            for name, array in arrays.items()}, metadata


class Layout:
    """The givens by name, and the steps as a lesson's tables would have them."""

    def __init__(self, path, table):
        self.tensors, metadata = read_file(path)
        self.givens, self.steps = {}, []
        self.heads = table.get("heads", int(metadata.get("n_head", 0)))
        family = table.get("family", metadata.get("family", "mingpt"))
        self.gelu = {"mingpt": "tanh", "nanogpt": "erf"}[family]
        self.vocabulary = table.get("vocabulary", json.loads(metadata.get("vocabulary", "null")))
        last = max(int(name.split(".")[1]) for name in self.tensors if name.startswith("h."))
        self.embeddings()
        stream = "X"
        for layer in range(table.get("layers", last + 1)):
            stream = self.layer(layer, stream)
        if table.get("layers", last + 1) == last + 1:
            self.norm("norm", stream, "", "ln_f")
            self.give("W_logits", self.tensors["lm_head.weight"])
            self.step("logits", "project", ["norm", "W_logits"], layout="out-in")
            self.step("probabilities", "softmax", ["logits"])

    def give(self, name, value):
        self.givens[name] = value
        return name

    def step(self, name, op, of, **options):
        self.steps.append({"name": name, "op": op, "of": of, **options})
        return name

    def embeddings(self):
        self.give("token_table", self.tensors["wte.weight"])
        self.give("position_table", self.tensors["wpe.weight"])
        self.step("token_ids", "tokenise", [], method="words")
        self.step("token_embeddings", "embed", ["token_ids", "token_table"])
        self.step("position_embeddings", "positions", ["token_embeddings", "position_table"],
                  method="learned")
        self.step("X", "add", ["token_embeddings", "position_embeddings"])

    def norm(self, name, source, number, file, own=""):
        gain = self.tensors[file + ".weight"]
        bias = self.tensors.get(file + ".bias", np.zeros(gain.shape))
        of = [source, self.give(f"{own}gain{number}", gain), self.give(f"{own}bias{number}", bias)]
        return self.step(own + name, "layer_norm", of)

    def linear(self, name, source, letter, file, own):
        of = [source, self.give(f"{own}W_{letter}", self.tensors[file + ".weight"].T)]
        if file + ".bias" in self.tensors:
            of.append(self.give(f"{own}b_{letter}", self.tensors[file + ".bias"]))
        return self.step(own + name, "project", of)

    def layer(self, number, stream):
        own, file = f"h{number}.", f"h.{number}."
        at = self.norm("norm1", stream, 1, file + "ln_1", own)
        parts = np.split(self.tensors[file + "attn.c_attn.weight"], 3)
        biases = self.tensors.get(file + "attn.c_attn.bias")
        for letter, part in zip("QKV", parts):  # rows are outputs, a head's side by side
            of = [at, self.give(f"{own}W_{letter}", np.array([rows.T for rows in
                                                              np.split(part, self.heads)]))]
            if biases is not None:
                bias = np.split(biases, 3)["QKV".index(letter)]
                of.append(self.give(f"{own}b_{letter}", bias.reshape(self.heads, 1, -1)))
            self.step(own + letter, "project", of)
        at = self.step(own + "scores", "score", [own + "Q", own + "K"])
        at = self.step(own + "scaled_scores", "scale", [at])
        at = self.step(own + "masked_scores", "mask", [at], kind="causal")
        at = self.step(own + "attention_weights", "softmax", [at])
        at = self.step(own + "context", "weighted_sum", [at, own + "V"])
        at = self.step(own + "concat", "concat_heads", [at])
        at = self.linear("output", at, "O", file + "attn.c_proj", own)
        stream = self.step(own + "residual1", "add", [stream, at])
        at = self.norm("norm2", stream, 2, file + "ln_2", own)
        at = self.linear("mlp_in", at, "in", file + "mlp.c_fc", own)
        at = self.step(own + "gelu", "gelu", [at], form=self.gelu)
        at = self.linear("mlp_out", at, "out", file + "mlp.c_proj", own)
        return self.step(own + "residual2", "add", [stream, at])


class Qwen3(Layout):
    """One of LLaMA's relatives: RMS norms, norms of queries and keys, turned pairs, shared keys."""

    def __init__(self, path, table):
        arrays, self.facts = arrays_of(path)
        self.tensors = {name.removeprefix("model."): array.astype(float)
                        for name, array in arrays.items()}
        self.givens, self.steps = {}, []
        self.vocabulary = table.get("vocabulary", json.loads(self.facts["vocabulary"]))
        self.give("token_table", self.tensors["embed_tokens.weight"])
        self.step("token_ids", "tokenise", [], method="characters")
        self.step("token_embeddings", "embed", ["token_ids", "token_table"])
        self.step("X", "scale", ["token_embeddings"], by=1.0)
        self.layer(0, "X")
        self.norm("norm", "h0.residual2", "gain", "norm")
        self.step("logits", "project", ["norm", "token_table"], layout="out-in")
        self.step("probabilities", "softmax", ["logits"])

    def norm(self, name, source, gain, file, own=""):
        gain = self.give(own + gain, self.tensors[file + ".weight"])
        return self.step(own + name, "rms_norm", [source, gain],
                         eps=float(self.facts["rms_norm_eps"]))

    def layer(self, number, stream):
        own, file = f"h{number}.", f"layers.{number}."
        at = self.norm("norm1", stream, "gain1", file + "input_layernorm", own)
        for letter, count in (("Q", "num_attention_heads"), ("K", "num_key_value_heads"),
                              ("V", "num_key_value_heads")):
            parts = np.split(self.tensors[f"{file}self_attn.{letter.lower()}_proj.weight"],
                             int(self.facts[count]))
            weight = self.give(f"{own}W_{letter}", np.array([part.T for part in parts]))
            self.step(own + letter, "project", [at, weight])
        for letter in "QK":
            self.norm(f"{letter}_norm", own + letter, f"gain_{letter}",
                      f"{file}self_attn.{letter.lower()}_norm", own)
        for letter in "QK":
            self.step(f"{own}{letter}_rope", "rope", [f"{own}{letter}_norm"], pairing="halves",
                      base=float(self.facts["rope_theta"]))
        at = self.step(own + "scores", "score", [own + "Q_rope", own + "K_rope"])
        at = self.step(own + "scaled_scores", "scale", [at])
        at = self.step(own + "masked_scores", "mask", [at], kind="causal")
        at = self.step(own + "attention_weights", "softmax", [at])
        at = self.step(own + "context", "weighted_sum", [at, own + "V"])
        at = self.step(own + "concat", "concat_heads", [at])
        at = self.linear("output", at, "O", file + "self_attn.o_proj", own)
        stream = self.step(own + "residual1", "add", [stream, at])
        at = self.norm("norm2", stream, "gain2", file + "post_attention_layernorm", own)
        gate = self.linear("gate", at, "gate", file + "mlp.gate_proj", own)
        up = self.linear("up", at, "up", file + "mlp.up_proj", own)
        at = self.step(own + "silu", "silu", [gate])
        at = self.step(own + "gated", "multiply", [at, up])
        at = self.linear("mlp_out", at, "down", file + "mlp.down_proj", own)
        return self.step(own + "residual2", "add", [stream, at])


def layout_of(path, table):
    """The model in the file, as whatever it is."""
    is_qwen3 = "model.embed_tokens.weight" in arrays_of(path)[0]
    return Qwen3(path, table) if is_qwen3 else Layout(path, table)
