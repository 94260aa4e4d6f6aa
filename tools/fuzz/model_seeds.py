"""Small models for the fuzzers to begin with: headers of .safetensors files, and whole directories."""
import json

import numpy


def header_of(shapes, metadata=None):
    """A header of 32-bit floats that lie one behind the other, from tensors' shapes by their names."""
    header, end = {"__metadata__": metadata} if metadata else {}, 0
    for name, shape in shapes.items():
        size = 4 * numpy.prod(shape, dtype=int).item()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    return json.dumps(header, separators=(",", ":")).encode()


def gpt(layers, conv1d=False, biases=True, tied=False, prefix="transformer."):
    """The shapes of a GPT of width 2 with three tokens."""
    shapes = {prefix + "wte.weight": (3, 2), prefix + "wpe.weight": (4, 2)}

    def linear(name, inputs, outputs):
        shapes[name + ".weight"] = (inputs, outputs) if conv1d else (outputs, inputs)
        if biases:
            shapes[name + ".bias"] = (outputs,)

    def norm(name):
        shapes[name + ".weight"] = (2,)
        if biases:
            shapes[name + ".bias"] = (2,)

    for layer in range(layers):
        own = f"{prefix}h.{layer}."
        norm(own + "ln_1")
        linear(own + "attn.c_attn", 2, 6)
        linear(own + "attn.c_proj", 2, 2)
        norm(own + "ln_2")
        linear(own + "mlp.c_fc", 2, 3)
        linear(own + "mlp.c_proj", 3, 2)
    norm(prefix + "ln_f")
    if not tied:
        shapes["lm_head.weight"] = (3, 2)
    return shapes


def llama(after=False, normed=False, biases=False, tokens=3):
    """The shapes of one of LLaMA's kind of width 2, two heads that share one of keys."""
    own = "model.layers.0."
    shapes = {"model.embed_tokens.weight": (tokens, 2)}
    for name in ("input", "post_attention", *(("pre_feedforward", "post_feedforward") if after else ())):
        shapes[f"{own}{name}_layernorm.weight"] = (2,)
    for name, rows, columns in (("q", 4, 2), ("k", 2, 2), ("v", 2, 2), ("o", 2, 4)):
        shapes[f"{own}self_attn.{name}_proj.weight"] = (rows, columns)
        if biases and name != "o":
            shapes[f"{own}self_attn.{name}_proj.bias"] = (rows,)
    if normed:
        shapes[own + "self_attn.q_norm.weight"] = (2,)
        shapes[own + "self_attn.k_norm.weight"] = (2,)
    for name, rows, columns in (("gate", 2, 2), ("up", 2, 2), ("down", 2, 2)):
        shapes[f"{own}mlp.{name}_proj.weight"] = (rows, columns)
    shapes["model.norm.weight"] = (2,)
    return shapes


def models():
    def of_kind(family, shapes, **metadata):
        return header_of(shapes, {"model_type": family, "num_attention_heads": "2",
                                  "tie_word_embeddings": "true", **metadata})

    yield of_kind("llama", llama(), **{"rope_scaling.rope_type": "linear", "rope_scaling.factor": "2.0"})
    yield of_kind("mistral", llama(), sliding_window="1")
    yield of_kind("qwen2", llama(biases=True))
    yield of_kind("qwen3", llama(normed=True), rope_theta="3.0")
    yield of_kind("gemma", llama(), hidden_activation="gelu")
    yield of_kind("gemma2", llama(after=True), query_pre_attn_scalar="4", sliding_window="1")
    yield header_of(gpt(1), {"n_head": "2"})
    yield header_of(gpt(1, conv1d=True, tied=True, prefix=""),
                    {"n_head": "1", "activation_function": "gelu_new"})
    yield header_of(gpt(2, biases=False),
                    {"n_head": "1", "family": "nanogpt", "vocabulary": '["A","B"," "]'})


def checkpoint(tokenizers):
    """Directories of a model: config.json, tokenizer.json, index, headers of two files."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2,
              "intermediate_size": 2, "rms_norm_eps": 1e-5, "hidden_act": "silu", "attention_bias": False,
              "mlp_bias": False, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
              "bos_token_id": 1}
    ropes = [{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 8}, None]
    scalings = [{"rope_theta": 500.0, "rope_scaling": rope} for rope in ropes]
    scalings.append({"rope_parameters": {"rope_theta": 9.0, "rope_type": "default"}})
    for number, tokenizer in enumerate([b"", *tokenizers]):
        shapes = llama(tokens=8)
        said = json.dumps({**config, "vocab_size": 8, **scalings[number % 3]}).encode()
        if number % 2 == 0:
            yield b"\0".join([said, tokenizer, b"", header_of(shapes), b""])
            continue
        names = list(shapes)
        halves = {"1.safetensors": names[:5], "2.safetensors": names[5:]}
        index = {"metadata": {"total_size": 99},
                 "weight_map": {name: file for file, own in halves.items() for name in own}}
        headers = [header_of({name: shapes[name] for name in own}) for own in halves.values()]
        yield b"\0".join([said, tokenizer, json.dumps(index).encode(), *headers])
    config = {"model_type": "qwen3", "num_attention_heads": 2, "head_dim": 2, "sliding_window": 1,
              "use_sliding_window": True, "max_window_layers": 0, "layer_types": ["sliding_attention"]}
    yield b"\0".join([json.dumps(config).encode(), b"", b"", header_of(llama(normed=True)), b""])
    config = {"model_type": "gpt2", "n_head": 2, "n_embd": 2, "n_layer": 1, "n_positions": 4,
              "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    yield b"\0".join([json.dumps(config).encode(), b"", b"",
                      header_of(gpt(1, conv1d=True, tied=True)), b""])
