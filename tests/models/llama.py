"""LLaMA and its relatives in PyTorch, keeping every intermediate under the names that qkv gives it.

Written from Hugging Face's modelling code and the papers; it shares nothing with qkv. `weights` is a
state dict with Hugging Face's names, `config` what config.json says.
"""

import json
import math

import torch
import torch.nn.functional as F

import gpt

KINDS = {  # what sets a family apart, where config.json does not say
    "llama": {}, "mistral": {}, "qwen2": {"biases": "qkv"}, "qwen3": {"qk_norm": True},
    "gemma": {"offset": 1, "scaled": True, "tied": True, "act": "tanh"},
    "gemma2": {"offset": 1, "scaled": True, "tied": True, "act": "tanh", "after": True},
}


def config_of(family, **others):
    """A small model: 6 heads of 8 that share 2 of keys, d_model 20, so that nothing fits by chance."""
    config = {"model_type": family, "hidden_size": 20, "intermediate_size": 28, "head_dim": 8,
              "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
              "vocab_size": 23, "rms_norm_eps": 1e-5, "rope_theta": 500.0,
              "tie_word_embeddings": False, "max_position_embeddings": 64}
    if family.startswith("gemma"):
        config |= {"tie_word_embeddings": True, "hidden_act": "gelu_pytorch_tanh",
                   "hidden_activation": "gelu_pytorch_tanh"}
    if family == "gemma2":
        config |= {"query_pre_attn_scalar": 12, "attn_logit_softcapping": 0.7,
                   "final_logit_softcapping": 1.5, "sliding_window": 3}
    return config | others


def random_weights(config, seed=5, spread=0.15):
    torch.manual_seed(seed)
    kind, weights = KINDS[config["model_type"]], {}
    d, inner, width = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = (config[f"num_{name}_heads"] * width for name in ("attention", "key_value"))

    def gain(name, size):
        weights[name + ".weight"] = (0.0 if kind.get("offset") else 1.0) + spread * torch.randn(size)

    def linear(name, inputs, outputs, bias):
        weights[name + ".weight"] = spread * torch.randn(outputs, inputs)
        if bias:
            weights[name + ".bias"] = spread * torch.randn(outputs)

    weights["model.embed_tokens.weight"] = torch.randn(config["vocab_size"], d)
    all_biases = config.get("attention_bias", False)
    for layer in range(config["num_hidden_layers"]):
        own = f"model.layers.{layer}."
        gain(own + "input_layernorm", d)
        gain(own + "post_attention_layernorm", d)
        if kind.get("after"):
            gain(own + "pre_feedforward_layernorm", d)
            gain(own + "post_feedforward_layernorm", d)
        for name, outputs in (("q", queries), ("k", keys), ("v", keys)):
            linear(f"{own}self_attn.{name}_proj", d, outputs, all_biases or kind.get("biases"))
        linear(own + "self_attn.o_proj", queries, d, all_biases)
        if kind.get("qk_norm"):
            gain(own + "self_attn.q_norm", width)
            gain(own + "self_attn.k_norm", width)
        for name, inputs, outputs in (("gate", d, inner), ("up", d, inner), ("down", inner, d)):
            linear(f"{own}mlp.{name}_proj", inputs, outputs, config.get("mlp_bias", False))
    gain("model.norm", d)
    if not config["tie_word_embeddings"]:
        weights["lm_head.weight"] = spread * torch.randn(config["vocab_size"], d)
    return weights


def frequencies(config, n):
    """The angle of a step for each pair, and what cos and sin are multiplied by."""
    width, base = config["head_dim"], config.get("rope_theta", 10000.0)
    half = torch.arange(0, width, 2, dtype=torch.float64) / width
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor", 1.0)
    if kind == "dynamic":
        longest = config["max_position_embeddings"]
        if n > longest:
            base = base * (factor * n / longest - (factor - 1)) ** (width / (width - 2))
    step = base ** -half
    if kind == "linear":
        return step / factor, 1.0
    if kind == "llama3":
        length = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        waves = 2 * math.pi / step
        smooth = (length / waves - low) / (high - low)
        between = (1 - smooth) * step / factor + smooth * step
        step = torch.where(waves > length / low, step / factor,
                           torch.where(waves < length / high, step, between))
    if kind == "yarn":
        length = scaling["original_max_position_embeddings"]

        def place(turns):
            return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
        first = max(math.floor(place(scaling.get("beta_fast", 32))), 0)
        last = min(math.ceil(place(scaling.get("beta_slow", 1))), width - 1)
        ramp = (torch.arange(width // 2) - first) / max(last - first, 0.001)
        keep = 1 - ramp.clamp(0, 1).double()
        return step / factor * (1 - keep) + step * keep, 0.1 * math.log(factor) + 1
    return step, 1.0


def window_of(config, layer):
    family = config["model_type"]
    if "layer_types" in config:
        slides = config["layer_types"][layer] == "sliding_attention"
    elif family == "gemma2":
        slides = layer % 2 == 0
    elif family in ("qwen2", "qwen3"):
        slides = config.get("use_sliding_window", False) and layer >= config["max_window_layers"]
    else:
        slides = family == "mistral"
    return config.get("sliding_window", 4096) if slides else None


def forward(weights, ids, config, dtype=torch.float64, instead=None):
    """Every step; what follows a step of `instead` is made of what its function makes of it."""
    weights = {name: tensor.to(dtype) for name, tensor in weights.items()}
    kind = KINDS[config["model_type"]]
    steps = {"token_ids": torch.tensor(ids, dtype=torch.float32)}
    n, width, eps = len(ids), config["head_dim"], config["rms_norm_eps"]
    table = weights["model.embed_tokens.weight"]
    x = steps["token_embeddings"] = table[torch.tensor(ids)]
    x = steps["X"] = x * config["hidden_size"] ** 0.5 if kind.get("scaled") else x
    step, factor = frequencies(config, n)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * torch.cat([step, step])
    cos, sin = (angles.cos() * factor).to(dtype), (angles.sin() * factor).to(dtype)

    def norm(x, name):
        gain = weights[name + ".weight"] + kind.get("offset", 0)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain

    def linear(x, name):
        return F.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))

    def turned(x):
        one, two = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-two, one], dim=-1) * sin

    def capped(x, cap):
        return cap * torch.tanh(x / cap)

    gemma2 = config["model_type"] == "gemma2"
    by = config["query_pre_attn_scalar"] ** 0.5 if gemma2 else width ** 0.5
    act = kind.get("act") or {"silu": None, "gelu": "none"}[config.get("hidden_act", "silu")]
    for layer in range(config["num_hidden_layers"]):
        h, own = f"h{layer}.", f"model.layers.{layer}."

        def put(name, value, h=h):
            value = (instead or {}).get(h + name, lambda same: same)(value)
            steps[h + name] = value
            return value

        inner = put("norm1", norm(x, own + "input_layernorm"))
        q, k, v = (put(name.upper(), linear(inner, f"{own}self_attn.{name}_proj")
                       .view(n, -1, width).transpose(0, 1)) for name in "qkv")
        if kind.get("qk_norm"):
            q = put("Q_norm", norm(q, own + "self_attn.q_norm"))
            k = put("K_norm", norm(k, own + "self_attn.k_norm"))
        q, k = put("Q_rope", turned(q)), put("K_rope", turned(k))
        group = q.shape[0] // k.shape[0]
        scores = put("scores", q @ k.repeat_interleave(group, 0).transpose(1, 2))
        scores = put("scaled_scores", scores / by)
        if gemma2 and config["attn_logit_softcapping"]:
            scores = put("capped_scores", capped(scores, config["attn_logit_softcapping"]))
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
        window = window_of(config, layer)
        if window:
            hidden |= torch.ones(n, n, dtype=torch.bool).tril(-window)
        scores = put("masked_scores", scores.masked_fill(hidden, -torch.inf))
        shares = put("attention_weights", scores.softmax(-1))
        context = put("context", shares @ v.repeat_interleave(group, 0))
        context = put("concat", context.transpose(0, 1).reshape(n, -1))
        proposal = put("output", linear(context, own + "self_attn.o_proj"))
        if kind.get("after"):
            proposal = put("norm1_out", norm(proposal, own + "post_attention_layernorm"))
        x = put("residual1", x + proposal)
        before = "pre_feedforward" if kind.get("after") else "post_attention"
        inner = put("norm2", norm(x, f"{own}{before}_layernorm"))
        gate = put("gate", linear(inner, own + "mlp.gate_proj"))
        up = put("up", linear(inner, own + "mlp.up_proj"))
        gate = (put("gelu", F.gelu(gate, approximate=act)) if act else put("silu", F.silu(gate)))
        proposal = put("mlp_out", linear(put("gated", gate * up), own + "mlp.down_proj"))
        if kind.get("after"):
            proposal = put("norm2_out", norm(proposal, own + "post_feedforward_layernorm"))
        x = put("residual2", x + proposal)
    x = steps["norm"] = norm(x, "model.norm")
    logits = steps["logits"] = x @ weights.get("lm_head.weight", table).T
    if gemma2 and config["final_logit_softcapping"]:
        logits = steps["capped_logits"] = capped(logits, config["final_logit_softcapping"])
    steps["probabilities"] = logits.softmax(-1)
    return steps


def write(folder, config, weights, dtype="F64", files=1):
    """The model's directory, in as many files as wanted."""
    (folder / "config.json").write_text(json.dumps(config))
    names = list(weights)
    if files == 1:
        gpt.write_safetensors(folder / "model.safetensors", weights, {"format": "pt"}, dtype)
        return
    listed = {}
    for file in range(files):
        own = f"model-{file + 1:05}-of-{files:05}.safetensors"
        part = {name: weights[name] for name in names[file::files]}
        gpt.write_safetensors(folder / own, part, {"format": "pt"}, dtype)
        listed |= {name: own for name in part}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 1}, "weight_map": listed}))
