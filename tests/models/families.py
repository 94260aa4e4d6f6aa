#!/usr/bin/python3
"""Models of LLaMA's kind, held against PyTorch's run of the same weights, step by step.

    families.py QKV

Each function below is one claim. The reference adder is read from ../shared/data, or from where
QKV_MODELS says; where it is missing, its claims are skipped.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
from harness import Skipped, equal, main, qkv, sanitized  # noqa: E402

import billion  # noqa: E402
import gpt  # noqa: E402
import llama  # noqa: E402
from models import agree, close_to, exported  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ADDER = Path(os.environ.get("QKV_MODELS", ROOT.parent / "shared" / "data")) / "adder"
DOUBLE, SINGLE = 1e-9, 5e-6
IDS = [3, 18, 0, 3, 11, 7, 22]


def weights_of_several_blocks_agree(folder):
    """A product takes a million numbers of a weight at a time: here two or three times, not evenly."""
    config = llama.config_of("llama", hidden_size=1280, intermediate_size=2048, num_attention_heads=16,
                             num_key_value_heads=4, head_dim=80, num_hidden_layers=1, vocab_size=300)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    arrays = exported(folder, "--model", folder, "--ids", ",".join(map(str, IDS)))
    agree(llama.forward(weights, IDS, config), arrays, DOUBLE)


def family_agrees(folder, family, **others):
    config = llama.config_of(family, **others)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    own = ("--model", folder, "--ids", ",".join(map(str, IDS)))
    arrays = exported(folder, *own)
    agree(llama.forward(weights, IDS, config), arrays, DOUBLE)
    agree(llama.forward(weights, IDS, config, torch.float32), arrays, SINGLE)
    steps = set(llama.forward(weights, IDS, config))
    listing = json.loads((folder / "out" / "00-lesson.json").read_text())
    equal({step["name"] for step in listing["steps"]}, steps, "its steps")


def llama_agrees_with_pytorch(folder):
    family_agrees(folder, "llama")


def llama_with_biases_agrees_with_pytorch(folder):
    family_agrees(folder, "llama", attention_bias=True, mlp_bias=True, tie_word_embeddings=True)


def every_scaling_of_its_positions_agrees_with_pytorch(folder):
    for number, scaling in enumerate((
            {"rope_type": "linear", "factor": 4.0},
            {"type": "dynamic", "factor": 2.0},
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
            {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 32})):
        own = folder / str(number)
        own.mkdir()
        family_agrees(own, "llama", rope_scaling=scaling, max_position_embeddings=4)


def mistral_agrees_with_pytorch(folder):
    family_agrees(folder, "mistral", sliding_window=3)


def qwen2_agrees_with_pytorch(folder):
    family_agrees(folder, "qwen2", tie_word_embeddings=True)


def qwen2_with_late_windows_agrees_with_pytorch(folder):
    family_agrees(folder, "qwen2", use_sliding_window=True, sliding_window=2, max_window_layers=1)


def qwen3_agrees_with_pytorch(folder):
    family_agrees(folder, "qwen3")


def gemma_agrees_with_pytorch(folder):
    family_agrees(folder, "gemma")


def gemma_2_agrees_with_pytorch(folder):
    family_agrees(folder, "gemma2")


def listed_windows_agree_with_pytorch(folder):
    family_agrees(folder, "gemma2", layer_types=["full_attention", "sliding_attention",
                                                 "full_attention"])


def several_files_are_one_model(folder):
    config = llama.config_of("llama")
    weights = llama.random_weights(config)
    llama.write(folder, config, weights, "F32", files=3)
    rounded = {name: tensor.float().double() for name, tensor in weights.items()}
    for path in (folder, folder / "model.safetensors.index.json"):
        arrays = exported(folder, "--model", path, "--ids", "3,18,0")
        agree(llama.forward(rounded, IDS[:3], config), arrays, DOUBLE)
    (folder / "model-00002-of-00003.safetensors").unlink()
    done = qkv("run", "--model", folder, "--ids", "3")
    equal(done.returncode, 2)
    assert "one is not beside it: model-00002-of-00003.safetensors" in done.stderr, done.stderr


def refused(folder, told, family="llama", change=lambda weights: None, **others):
    config = llama.config_of(family, **others)
    sound = llama.config_of(family)
    weights = llama.random_weights(sound)
    change(weights)
    llama.write(folder, config, weights)
    done = qkv("run", "--model", folder, "--ids", "3")
    equal((done.returncode, done.stdout), (2, ""))
    assert told in done.stderr, f"{done.stderr} has not {told}"


def what_the_configuration_says_otherwise_is_refused(folder):
    refused(folder, "num_hidden_layers is 5; ", num_hidden_layers=5)
    refused(folder, "model_type is phi3; of the models with such tensors qkv knows llama, mistral",
            model_type="phi3")
    refused(folder, "qkv does not know what head_size = 8 does to llama", head_size=8)
    refused(folder, "hidden_act is mish; qkv knows relu, gelu, gelu_new, and in a gate silu", hidden_act="mish")
    refused(folder, "rope_scaling.rope_type is longrope; qkv knows the scalings default, linear",
            rope_scaling={"rope_type": "longrope", "factor": 2.0})
    refused(folder, 'the scaling "linear" needs rope_scaling.factor', rope_scaling={"type": "linear"})
    refused(folder, "self_attn.q_proj.weight has 48 rows, and 4 heads of 8 have 32",
            num_attention_heads=4)
    refused(folder, "there is no tensor model.layers.0.mlp.down_proj.bias, which must be 20",
            mlp_bias=True)
    refused(folder, "attn_logit_softcapping is 50.0; llama has no such entry",
            attn_logit_softcapping=50.0)


def a_tensor_that_the_family_does_not_have_is_refused(folder):
    def add(name, size):
        return lambda weights: weights.update({name: torch.zeros(size)})
    refused(folder, "there is model.layers.1.self_attn.q_proj.bias, a bias that llama has only where "
            "config.json says attention_bias = true", change=add("model.layers.1.self_attn.q_proj.bias", 48))
    refused(folder, "there is model.layers.0.self_attn.q_norm.weight, which no layer of llama has",
            change=add("model.layers.0.self_attn.q_norm.weight", 8))
    refused(folder, "has a tensor score.weight; outside its layers it has",
            change=add("score.weight", 8))
    refused(folder, "there is a lm_head.weight of its own, and tie_word_embeddings is true",
            tie_word_embeddings=True)
    refused(folder, "there is no tensor lm_head.weight, which must be 23×20",
            change=lambda weights: weights.pop("lm_head.weight"))
    refused(folder, "there is no tensor model.layers.2.self_attn.k_proj.bias, which must be 16",
            "qwen2", lambda weights: weights.pop("model.layers.2.self_attn.k_proj.bias"))


def ids_are_the_models_own(folder):
    config = llama.config_of("llama")
    llama.write(folder, config, llama.random_weights(config))
    for ids, told in (("23", "--ids: there is no id 23; the model's ids are 0 to 22"),
                      ("3,,4", '--ids: "" is not an id; write whole numbers with commas: 3,1,4 '
                       "(qkv run --help shows examples)")):
        done = qkv("run", "--model", folder, "--ids", ids)
        equal((done.returncode, done.stderr.strip()), (2, f"qkv: {told}"))


def models_write_on_with_a_cache(folder):
    dynamic = {"rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 6}
    for place, (family, others) in enumerate((("llama", {}), ("llama", dynamic), ("mistral", {}),
                                              ("qwen3", {}), ("gemma2", {}))):
        own = folder / str(place)
        own.mkdir()
        config = llama.config_of(family, **others)
        weights = llama.random_weights(config)
        llama.write(own, config, weights)
        ids = IDS[:4]
        for _ in range(6):
            ids = ids + [int(llama.forward(weights, ids, config)["probabilities"][-1].argmax())]
        arrays = exported(own, "--model", own, "--ids", "3,18,0,3", "--continue", "6")
        equal(arrays["token_ids"].ravel().astype(int).tolist(), ids, family)
        agree(llama.forward(weights, ids, config), arrays, DOUBLE)


def every_command_works_on_them(folder):
    config = llama.config_of("qwen3")
    llama.write(folder, config, llama.random_weights(config))
    own = ("--model", folder, "--ids", "3,18,0")
    qkv.printed("run", *own, "--layer", "1", "--head", "5", "--no-pause")
    told = json.loads(qkv.printed("explain", *own, "h1.scores[head 4,3,2]", "--json"))
    assert "K_rope[head 2,S,1]" in told["arithmetic"][0], told["arithmetic"][0]
    listed = json.loads(qkv.printed("heads", *own, "--json"))["heads"]
    equal(len(listed), 3 * 6, "heads")
    qkv.printed("report", *own, "-o", folder / "r.html")
    qkv.printed("report", *own, "--step", "h1.scores", "-o", folder / "s.html")
    page = (folder / "s.html").read_text()
    at = page.count('"name":"h1.K_rope"')  # on the map and among the matrices
    equal((page.count("<section id="), at), (1, 2), "a step's page")
    qkv.printed("export", *own, "--format", "npz", "-o", folder / "out")
    (file,) = (folder / "out").glob("*.npz")
    qkv.printed("check", *own, file)
    qkv.printed("compare", file, *own)
    given = json.loads(qkv.printed("explain", *own, "h0.output[2,1]", "--json",
                                   "--set", "h0.concat[2,*]=0"))
    equal(given["value"], 0, "a step that was set")


def the_reference_adder_agrees_in_every_step(folder):
    if not ADDER.is_dir():
        raise Skipped("the reference adder is not there")
    reference = np.load(ADDER / "reference_float64.npz")
    ids = ",".join(str(int(i)) for i in reference["ids"].ravel())
    arrays = exported(folder, "--model", ADDER, "--ids", ids)
    for name in reference:
        own = {"ids": "token_ids", "embed": "X", "norm": "norm", "logits": "logits"}.get(name, "h0." + name)
        if name in ("rope_cos", "rope_sin"):
            continue
        due, got = reference[name][0], arrays[own].reshape(reference[name][0].shape)
        there = np.isfinite(due)
        equal((np.isfinite(got) == there).all(), True, name)
        worst = np.abs(got[there] - due[there]).max()
        assert worst < 1e-8, f"{name}: off by {worst:.2e}"
    greedy = json.loads((ADDER / "greedy.json").read_text())
    arrays = exported(folder, "--model", ADDER, "--ids", ",".join(map(str, greedy["prompt_ids"])),
                      "--continue", "11")
    equal(arrays["token_ids"].astype(int).ravel().tolist(), greedy["greedy_ids"])


def trained_adder():
    sys.path.insert(0, str(ROOT / "models"))
    import train_adder

    torch.set_num_threads(1)
    weights = train_adder.read_safetensors(ROOT / "lessons" / "adder.safetensors")
    model = train_adder.Model()
    model.load_state_dict(weights)
    return train_adder, model, weights


def the_courses_own_adder_agrees_with_pytorch(folder):
    trainer, model, weights = trained_adder()
    config = llama.config_of("qwen3", hidden_size=8, head_dim=4, num_hidden_layers=1,
                             num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-6,
                             rope_theta=3.0, tie_word_embeddings=True)
    arrays = exported(folder, "trained-adder")
    ids = arrays["token_ids"].astype(int).ravel().tolist()
    agree(llama.forward(weights, ids, config), arrays, DOUBLE)
    with torch.no_grad():
        close = np.abs(model(torch.tensor([ids]))[0].numpy() - arrays["logits"]).max()
    assert close < 1e-3, close  # logits of up to 100, in float32
    layer = model.model["layers"][0].self_attn
    for steps, mistake in (("pairs_weights", "pairs that stand side by side"),
                           ("bare_weights", "no norm of queries and keys"),
                           ("late_weights", "queries one place further")):
        layer.mistake = mistake
        with torch.no_grad():
            model(torch.tensor([ids]))
        worst = np.abs(layer.weights[0, :, -1].numpy() - arrays[steps][:, -1]).max()
        assert worst < 1e-4, (steps, worst)


def the_adder_writes_sums_on(folder):
    path = ROOT / "lessons" / "adder.safetensors"
    for a, b in ((9274610358, 3186420795), (9999999999, 1), (0, 0)):
        digits = lambda x, n: f"{x:0{n}}"[::-1]  # noqa: E731
        text = f"0{digits(a, 10)}00{digits(b, 10)}0"
        arrays = exported(folder, "--model", path, "--text", text, "--continue", "11")
        got = "".join(str(int(i)) for i in arrays["token_ids"].ravel())
        equal(got, text + digits(a + b, 11), f"{a} + {b}")


def the_record_of_the_adder_is_what_its_weights_measure(folder):
    trainer, model, _ = trained_adder()
    record = json.loads((ROOT / "models" / "adder.json").read_text())
    close_to(record, trainer.measured(model))
    equal(record["right"], {"sums": 1.0, "digits": 1.0}, "sums of random digits")


def a_large_model_opens_at_once(folder):
    """1.1 billion numbers in bfloat16, all 0 and sparse on disk; the shape is TinyLlama's."""
    assert billion.write(folder) > 1.1e9
    begin = time.monotonic()
    out = qkv.printed("run", "--model", folder, "--ids", "1,2,3", "--step", "h0.norm1", "--no-pause")
    assert "h0.norm1" in out
    assert time.monotonic() - begin < 10, "it takes its time"
    if sanitized():
        return
    # A layer of 64 tokens keeps 64 × 2048 numbers, a megabyte; a weight as doubles would take 92.
    qkv.printed("export", "--model", folder, "--ids", ",".join(map(str, range(64))), "--step",
                "h0.residual2", "--format", "npy", "-o", folder / "out", "--memory", "20M")
    for command, told in (("report", "numbers are too many for a page"),
                          ("worksheet", "numbers are more than a worksheet is for")):
        done = qkv(command, "--model", folder, "--ids", "1", "-o", folder / "page.html")
        equal((done.returncode, told in done.stderr), (2, True), done.stderr)


CLAIMS = [claim for name, claim in list(globals().items())
          if callable(claim) and getattr(claim, "__module__", "") == __name__
          and claim.__code__.co_varnames[:1] == ("folder",) and claim.__code__.co_argcount == 1]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
