#!/usr/bin/python3
"""config.json as Hugging Face's library reads it: random ones, each step against PyTorch.

    configurations.py QKV

The reference (llama.py) is written from the library's source. Entries that the library ignores change
nothing; those that would change numbers and that qkv does not know are refused by name.
"""

import json
import random
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv  # noqa: E402

import gpt  # noqa: E402
import llama  # noqa: E402
from models import agree, exported  # noqa: E402

DOUBLE = 1e-9
IDS = [3, 18, 0, 3, 11, 7, 22, 5, 9, 1, 14, 20]

# What the library stores and does not read.
IGNORED = {"max_sequence_length": 7, "is_llama_config": True, "is_composition": False,
           "rope_interleaved": True, "_attn_implementation": "sdpa", "_flash_attn_2_enabled": True,
           "is_decoder": True, "use_cache": False, "pretraining_tp": 1}


def random_scaling(choose, config):
    """An entry rope_scaling, and sometimes a max_position_embeddings that it needs."""
    kind = choose.choice(["none", "empty", "default", "linear", "dynamic", "dynamic", "llama3",
                          "yarn", "yarn", "yarn", "yarn"])
    if choose.random() < 0.3:
        del config["max_position_embeddings"]
    elif choose.random() < 0.7:
        config["max_position_embeddings"] = choose.choice([4, 6, 48, 4096])
    if kind in ("none", "empty"):
        return None if kind == "none" else {}
    scaling = {choose.choice(["type", "rope_type"]): kind}
    if kind != "default":
        scaling["factor"] = choose.choice([1.0, 2.0, 3.5, 8.0])
    if kind == "dynamic" and choose.random() < 0.5:
        scaling["original_max_position_embeddings"] = choose.choice([3, 64])
    if kind == "llama3":
        scaling |= {"low_freq_factor": 1.0, "high_freq_factor": choose.choice([2.0, 4.0]),
                    "original_max_position_embeddings": choose.choice([8, 32])}
    if kind == "yarn":
        scaling |= random_yarn(choose)
    return scaling


def random_yarn(choose):
    parts = {"beta_fast": choose.choice([32, 4, 2.5]), "beta_slow": choose.choice([1, 0.5]),
             "truncate": choose.choice([True, False]), "attention_factor": choose.choice([None, 1.0, 1.3]),
             "mscale": choose.choice([1.0, 0.707, 0.0]), "mscale_all_dim": choose.choice([0.707, 1.2, 0.0]),
             "original_max_position_embeddings": choose.choice([8, 16, 40]), "factor": None}
    return {name: value for name, value in parts.items() if choose.random() < 0.5}


def random_config(choose):
    family = choose.choice(list(llama.KINDS))
    config = llama.config_of(family)
    config["rope_theta"] = choose.choice([500.0, 10000.0, 3.0])
    scaling = random_scaling(choose, config)
    if scaling and choose.random() < 0.3:
        config["rope_parameters"] = scaling | {"rope_theta": config.pop("rope_theta")}
    else:
        config["rope_scaling"] = scaling
    activations = ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"]
    if family.startswith("gemma"):
        config["hidden_act"] = choose.choice(activations)
        config["hidden_activation"] = choose.choice([None, "silu", "relu", *activations])
    else:
        config["hidden_act"] = choose.choice(["silu", "silu", "relu", *activations])
        if choose.random() < 0.3:
            config["hidden_activation"] = choose.choice(["silu", "relu", *activations])
    if family in ("llama", "gemma", "mistral") and choose.random() < 0.4:
        config["sliding_window"] = choose.choice([2, None, 5])
    if family in ("llama", "qwen2", "qwen3") and choose.random() < 0.3:
        config["attention_bias"] = True
    if family in ("qwen2", "qwen3") and choose.random() < 0.4:
        config |= {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}
    for name, value in IGNORED.items():
        if choose.random() < 0.3:
            config[name] = value
    return config


def written(folder, config, weights, metadata=None):
    (folder / "config.json").write_text(json.dumps(config))
    gpt.write_safetensors(folder / "model.safetensors", weights, metadata or {"format": "pt"}, "F64")
    return ("--model", folder, "--ids", ",".join(map(str, IDS)))


def random_configurations_agree_with_pytorch(folder):
    for seed in range(80):
        choose = random.Random(seed)
        config = random_config(choose)
        weights = llama.random_weights(config, seed)
        if choose.random() < 0.3:
            weights["model.rotary_emb.inv_freq"] = torch.ones(4)
            weights["model.layers.1.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
        misleading = {"rms_norm_eps": "0.5", "rope_theta": "77", "num_attention_heads": "3",
                      "family": "llama" if config["model_type"] == "gemma2" else "gemma2"}
        own = folder / str(seed)
        own.mkdir()
        try:
            words = written(own, config, weights, misleading if "rope_theta" in config else None)
            agree(llama.forward(weights, IDS, config), exported(own, *words), DOUBLE)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {json.dumps(config)}: {error}") from error


def each_entry_changes_what_it_should(folder):
    """Two readings of one entry that give the same numbers would prove nothing above."""
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    plain = llama.config_of("llama", rope_scaling=yarn)
    weights = llama.random_weights(plain)
    before = exported(folder, *written(folder, plain, weights))["h0.scores"]
    for name, value in {"attention_factor": 1.5, "truncate": False, "factor": None, "beta_slow": 30}.items():
        config = llama.config_of("llama", rope_scaling=yarn | {name: value}, max_position_embeddings=8192)
        after = exported(folder, *written(folder, config, weights))["h0.scores"]
        assert abs(after - before).max() > 1e-4, name


def gpt_2_with_relu_agrees_with_pytorch(folder):
    weights = gpt.random_weights(2, 24, 3, 8, "in-out", 3)
    config = {"model_type": "gpt2", "n_head": 4, "activation_function": "relu", "is_decoder": True}
    (folder / "config.json").write_text(json.dumps(config))
    gpt.write_safetensors(folder / "model.safetensors", weights, {"format": "pt"}, "F64")
    arrays = exported(folder, "--model", folder, "--ids", "1,2,0")
    x = torch.tensor(arrays["h1.mlp_in"])
    equal(torch.equal(torch.relu(x), torch.tensor(arrays["h1.relu"])), True, "ReLU")
    assert "h1.gelu" not in arrays


def config_json_counts_before_metadata_that_say_it_in_another_way(folder):
    weights = gpt.random_weights(2, 24, 3, 8, "out-in", 3)
    exact, by_tanh, copied = ({"model_type": kind, "n_head": 4} for kind in ("nanogpt", "mingpt", "gpt2"))
    for config, family, form in ((by_tanh, "nanogpt", "tanh"), (exact, "mingpt", "none"), (exact, None, "none"),
                                 (copied, "nanogpt", "none")):  # all three write gpt2: that tells nothing
        written(folder, config, weights, {"family": family} if family else None)
        arrays = exported(folder, "--model", folder, "--ids", "1,2,0")
        x = torch.tensor(arrays["h1.mlp_in"])
        gap = (torch.nn.functional.gelu(x, approximate=form) - torch.tensor(arrays["h1.gelu"])).abs().max()
        assert gap < 1e-12, (config, family, gap)
    config = llama.config_of("llama", rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    del config["rope_theta"]
    weights = llama.random_weights(config)
    words = written(folder, config, weights, {"rope_theta": "10000"})
    agree(llama.forward(weights, IDS, config | {"rope_theta": 500000.0}), exported(folder, *words), DOUBLE)
    del config["rope_parameters"]  # what config.json leaves out has the library's default
    words = written(folder, config, weights, {"rope_theta": "77"})
    agree(llama.forward(weights, IDS, config | {"rope_theta": 10000.0}), exported(folder, *words), DOUBLE)


def what_the_library_reads_and_qkv_does_not_is_refused(folder):
    weights = llama.random_weights(llama.config_of("llama"))
    yarn = {"rope_type": "yarn", "factor": 4.0}
    for others, told in (
            ({"rope_scaling": {"rope_type": "yarn"}}, 'the scaling "yarn" needs rope_scaling.factor'),
            ({"rope_scaling": yarn | {"finetuned": 2}}, "rope_scaling.finetuned is 2"),
            ({"rope_scaling": yarn | {"truncate": "no"}}, "rope_scaling.truncate is no"),
            ({"rope_scaling": yarn | {"attention_factor": -1}}, "rope_scaling.attention_factor is -1"),
            ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "mscale": 1.0}},
             "rope_scaling.mscale is 1.0"),
            ({"rope_scaling": [1]}, "rope_scaling is [1]; it must be an object"),
            ({"hidden_act": "quick_gelu"}, "hidden_act is quick_gelu"),
            ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5")):
        done = qkv("run", *written(folder, llama.config_of("llama", **others), weights))
        equal((done.returncode, done.stdout), (2, ""), told)
        assert told in done.stderr, (told, done.stderr)


CLAIMS = [random_configurations_agree_with_pytorch, each_entry_changes_what_it_should,
          config_json_counts_before_metadata_that_say_it_in_another_way,
          gpt_2_with_relu_agrees_with_pytorch, what_the_library_reads_and_qkv_does_not_is_refused]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
