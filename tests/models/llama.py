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
    "gemma": {"offset": 1, "scaled": True, "tied": True},
    "gemma2": {"offset": 1, "scaled": True, "tied": True, "after": True},
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
    all_biases = config.get("attention_bias", False) and kind.get("biases") != "qkv"
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


LONGEST = {"llama": 2048, "mistral": 4096 * 32, "gemma": 8192, "gemma2": 8192}  # the others: 32768


def yarn(scaling, width, base, longest):
    """As _compute_yarn_parameters has it; a stated factor counts, whatever the lengths are."""
    length = scaling.get("original_max_position_embeddings") or longest
    factor = scaling["factor"]
    if factor is None:
        factor = longest / length

    def mscale_of(scale, mscale=1.0):
        return 1.0 if scale <= 1 else 0.1 * mscale * math.log(scale) + 1.0
    attention_factor = scaling.get("attention_factor")
    if attention_factor is None:
        mscale, mscale_all_dim = scaling.get("mscale"), scaling.get("mscale_all_dim")
        attention_factor = mscale_of(factor)
        if mscale and mscale_all_dim:
            attention_factor = mscale_of(factor, mscale) / mscale_of(factor, mscale_all_dim)

    def correction(turns):
        return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
    low = correction(scaling.get("beta_fast") or 32)
    high = correction(scaling.get("beta_slow") or 1)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    powers = base ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    ramp = ((torch.arange(width // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    return 1 / (factor * powers) * ramp + 1 / powers * (1 - ramp), attention_factor


def frequencies(config, n):
    """The angle of a step for each pair, and what cos and sin are multiplied by, as
    modeling_rope_utils.py has them."""
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    width, base = config["head_dim"], scaling.get("rope_theta", config.get("rope_theta", 10000.0))
    half = torch.arange(0, width, 2, dtype=torch.float64) / width
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor", 1.0)
    longest = config.get("max_position_embeddings") or LONGEST.get(config["model_type"], 32768)
    if kind == "dynamic":
        n = max(n, longest)
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
        return yarn(scaling, width, base, longest)
    return step, 1.0


def activation(name, x):
    """The step that an activation makes, by its name in ACT2FN, and its numbers."""
    if name in ("silu", "swish"):
        return "silu", F.silu(x)
    if name == "relu":
        return "relu", F.relu(x)
    return "gelu", F.gelu(x, approximate="none" if name in ("gelu", "gelu_python") else "tanh")


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
    gemma = config["model_type"].startswith("gemma")  # no other reads hidden_activation
    act = (config.get("hidden_activation") or "gelu_new") if gemma else config.get("hidden_act", "silu")
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
        gate = put(*activation(act, gate))
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
