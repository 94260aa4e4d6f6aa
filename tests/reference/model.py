"""A trained model of a lesson's [model] as givens and steps, for reference.py to work out.

It reads the file by itself, and lays out what the steps of a decoder-only transformer are, with the
norm before each part. Only what the course has: nanoGPT's and minGPT's files, whose linear maps are
stored out × in.
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
            self.give("W_vocabulary", self.tensors["lm_head.weight"])
            self.step("logits", "project", ["norm", "W_vocabulary"], layout="out-in")
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
