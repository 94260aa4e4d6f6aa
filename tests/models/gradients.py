#!/usr/bin/python3
"""The way back through models: every gradient against PyTorch's autograd in float64.

    gradients.py QKV

Each function below is one claim.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv  # noqa: E402

import gpt  # noqa: E402
import llama  # noqa: E402
from models import exported  # noqa: E402

CLOSE = 1e-10  # of the largest number of a gradient; that of a bias of keys is 0 but for rounding
IDS = [3, 18, 0, 3, 11, 7, 22]


def autograd(forward, weights, ids, targets):
    """The loss, the gradient of each step and that of each weight."""
    weights = {name: tensor.double().requires_grad_() for name, tensor in weights.items()}
    steps = forward(weights)
    logits = steps.get("capped_logits", steps["logits"])
    steps["loss"] = (F.cross_entropy(logits[:-1], torch.tensor(ids[1:])) if targets == "next"
                     else F.cross_entropy(logits, torch.tensor(targets)))
    for name, step in steps.items():
        if step.requires_grad:
            step.retain_grad()
    steps["loss"].backward()
    return (steps["loss"].item(),
            {name: step.grad for name, step in steps.items() if step.grad is not None},
            {name: tensor.grad for name, tensor in weights.items() if tensor.grad is not None})


def of_gpt(gradients, heads, layout):
    """The weights' gradients under qkv's names, as it cuts them."""
    prefix = "transformer." if "transformer.wte.weight" in gradients else ""
    turned = (lambda w: w.T) if layout == "out-in" else (lambda w: w)
    found = {"token_table": gradients[prefix + "wte.weight"],
             "position_table": gradients[prefix + "wpe.weight"]}
    if "lm_head.weight" in gradients:
        found["W_logits"] = gradients["lm_head.weight"]
    names = {"attn.c_proj": "O", "mlp.c_fc": "in", "mlp.c_proj": "out"}
    for name, gradient in gradients.items():
        place, _, kind = name.removeprefix(prefix).rpartition(".")
        start, layer, part = (place.split(".", 2) + ["", ""])[:3]
        own = f"h{layer}." if start == "h" else ""
        if part == "attn.c_attn":
            cut = turned(gradient) if kind == "weight" else gradient[None]
            for k, letter in enumerate("QKV"):
                one = cut.chunk(3, 1)[k]
                found[f"{own}{'W' if kind == 'weight' else 'b'}_{letter}"] = (
                    one.view(len(one), heads, -1).transpose(0, 1))
        elif part in names:
            found[f"{own}{'W' if kind == 'weight' else 'b'}_{names[part]}"] = (
                turned(gradient) if kind == "weight" else gradient[None])
        elif part.startswith("ln_") or start == "ln_f":
            number = part.removeprefix("ln_") if own else ""
            found[f"{own}{'gain' if kind == 'weight' else 'bias'}{number}"] = gradient[None]
    return found


def of_llama(gradients, config):
    after = llama.KINDS[config["model_type"]].get("after")
    names = {"input_layernorm": "gain1", "self_attn.q_norm": "gain_Q", "self_attn.k_norm": "gain_K",
             "post_attention_layernorm": "gain1_out" if after else "gain2",
             "pre_feedforward_layernorm": "gain2", "post_feedforward_layernorm": "gain2_out",
             "self_attn.o_proj": "O", "mlp.gate_proj": "gate", "mlp.up_proj": "up",
             "mlp.down_proj": "down"}
    found = {"token_table": gradients["model.embed_tokens.weight"],
             "gain": gradients["model.norm.weight"][None]}
    if "lm_head.weight" in gradients:
        found["W_logits"] = gradients["lm_head.weight"]
    for name, gradient in gradients.items():
        if not name.startswith("model.layers."):
            continue
        place, _, kind = name.removeprefix("model.layers.").rpartition(".")
        layer, part = place.split(".", 1)
        letter = "W" if kind == "weight" else "b"
        if part in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
            cut = gradient.view(-1, config["head_dim"], config["hidden_size"] if letter == "W" else 1)
            found[f"h{layer}.{letter}_{part[10].upper()}"] = cut.transpose(1, 2)
        elif names[part].startswith("gain"):
            found[f"h{layer}.{names[part]}"] = gradient[None]
        else:
            found[f"h{layer}.{letter}_{names[part]}"] = gradient.T if letter == "W" else gradient[None]
    return found


def agree(arrays, loss, due):
    """Every gradient is there, of its shape, and as PyTorch has it; and there is none besides."""
    assert abs(float(arrays["loss"].item()) - loss) < 1e-12 * max(1, abs(loss)), arrays["loss"]
    for name, gradient in due.items():
        array = arrays[f"d_{name}"]
        gradient = gradient.reshape(1, 1) if gradient.dim() == 0 else gradient
        equal(array.shape, tuple(gradient.shape), f"d_{name}")
        off = abs(torch.tensor(array) - gradient).max() / max(gradient.abs().max(), 1e-6)
        assert off <= CLOSE, f"d_{name}: off by {off:.1e}"
    others = {name for name in arrays if name.startswith("d_") and "_by_" not in name}
    others -= {f"d_{name}" for name in due}
    others -= {name for name in others if name.split(".")[-1].startswith(("bias", "d_bias"))}  # of 0
    equal(sorted(others - {"d_shift_logits"}), [], "gradients that PyTorch does not have")


def gpt_agrees(folder, layout, biases, tied, gelu="tanh", extra=(), targets="next"):
    weights = gpt.random_weights(2, 24, 23, 16, layout, 7, "transformer.", biases, tied, 0.15)
    told = targets if targets == "next" else ",".join(map(str, targets))
    loss, steps, gradients = autograd(lambda w: gpt.forward(w, IDS, 4, layout, gelu), weights, IDS,
                                      targets)
    due = steps | of_gpt(gradients, 4, layout)
    twice = {"lm_head.weight": weights["transformer.wte.weight"]} if tied else {}  # stored twice, but one table
    for stored in (weights | twice, weights):
        gpt.write_safetensors(folder / "m.safetensors", stored, dtype="F64")
        arrays = exported(folder, "--model", folder / "m.safetensors", "--model-heads", "4", "--ids",
                          ",".join(map(str, IDS)), "--targets", told, *extra)
        agree(arrays, loss, due)
    if tied:
        both = arrays["d_token_table_by_token_embeddings"] + arrays["d_token_table_by_logits"]
        assert abs(both - due["token_table"].numpy()).max() < 1e-12


def a_gpt_of_hugging_face_walks_back(folder):
    gpt_agrees(folder, "in-out", True, True)


def a_gpt_with_a_table_of_logits_of_its_own_walks_back(folder):
    gpt_agrees(folder, "in-out", True, False, targets=[1, 2, 3, 22, 0, 3, 3])


def a_gpt_without_biases_walks_back(folder):
    gpt_agrees(folder, "out-in", False, True, "erf", ("--family", "nanogpt"))


def llama_agrees(folder, family, ids=IDS, **others):
    config = llama.config_of(family, **others)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    arrays = exported(folder, "--model", folder, "--ids", ",".join(map(str, ids)), "--targets",
                      "next")
    loss, steps, gradients = autograd(lambda w: llama.forward(w, ids, config), weights, ids, "next")
    agree(arrays, loss, steps | of_llama(gradients, config))


def every_family_walks_back(folder):
    for number, (family, others) in enumerate((
            ("llama", {}), ("llama", {"attention_bias": True, "mlp_bias": True,
                                      "tie_word_embeddings": True}),
            ("llama", {"rope_scaling": {"type": "dynamic", "factor": 2.0},
                       "max_position_embeddings": 4}),
            ("llama", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                                        "original_max_position_embeddings": 16}}),
            ("mistral", {"sliding_window": 3}), ("qwen2", {"tie_word_embeddings": True}),
            ("qwen3", {}), ("gemma", {}), ("gemma2", {}))):
        (folder / str(number)).mkdir()
        llama_agrees(folder / str(number), family, **others)


def queries_that_were_scaled_early_have_gradients_of_their_own(folder):
    config = llama.config_of("llama")
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    forward, kept = {}, {}

    def run(own):
        steps = llama.forward(own, IDS, config)
        forward.update({name: step.detach().numpy() for name, step in steps.items()})
        return steps
    _, gradients, of_weights = autograd(run, weights, IDS, "next")
    by = 8 ** -0.5
    for scaled in (("Q", "Q_rope", "scores"), ("Q_rope", "scores")):
        kept = {name: array * by if name.split(".")[-1] in scaled else array for name, array in forward.items()}
        for name, gradient in gradients.items():
            kept["d_" + name] = gradient.numpy() / (by if name.split(".")[-1] in scaled else 1)
        kept |= {"d_" + name: tensor.numpy() for name, tensor in of_llama(of_weights, config).items()}
        order = [3, 0, 6, 2, 7, 1, 5, 4]  # of the rotated columns: their gradients have it, too
        other = kept | {name: array[..., order] for name, array in kept.items() if name.endswith("_rope")}
        for steps, bug in ((kept, None), (kept, "d_h1.scores"), (kept, "d_h0.Q_rope"), (other, None),
                           (other, "d_h0.Q_rope")):
            arrays = {name: array * by if name == bug else array for name, array in steps.items()}
            np.savez(folder / "d.npz", **arrays)
            done = qkv("compare", folder / "d.npz", "--model", folder, "--ids", ",".join(map(str, IDS)),
                       "--targets", "next", "--json")
            equal(json.loads(done.stdout)["first"], bug, scaled)


def weights_gradients_of_ambiguous_sizes_stand_out_in(folder):
    """A head as wide as the model, whose rows could be heads, and a fused gradient that is square. Of one token
    the queries' and the keys' gradients are 0: the others tell how they stand."""
    cases = (({"head_dim": 20}, IDS, "next"), ({"hidden_size": 80}, IDS, "next"),  # qkv: (6 + 2 + 2) · 8 = 80 rows
             ({"head_dim": 20}, IDS[:1], "3"))
    for number, (sizes, ids, targets) in enumerate(cases):
        config = llama.config_of("llama", **sizes)
        weights = llama.random_weights(config)
        (folder / str(number)).mkdir()
        llama.write(folder / str(number), config, weights)
        _, _, gradients = autograd(lambda w, c=config, ids=ids: llama.forward(w, ids, c), weights, ids,
                                   [3] if targets == "3" else targets)
        right = {name + ".grad": tensor.numpy() for name, tensor in gradients.items()}
        own = ("--model", folder / str(number), "--ids", ",".join(map(str, ids)), "--targets", targets)
        for wrong in (None, "model.layers.1.self_attn.v_proj.weight.grad"):
            arrays = {name: array * (1.01 if name == wrong else 1) for name, array in right.items()}
            fused = {name: array for name, array in arrays.items()
                     if name.split(".")[-3] not in ("q_proj", "k_proj", "v_proj")}
            for layer in range(config["num_hidden_layers"]):
                start = f"model.layers.{layer}.self_attn."
                fused[start + "qkv_proj.weight.grad"] = np.concatenate(
                    [arrays[f"{start}{one}_proj.weight.grad"] for one in "qkv"])
            for dump in (arrays, fused):
                np.savez(folder / "d.npz", **dump)
                for command in (("check", *own, folder / "d.npz"), ("compare", folder / "d.npz", *own)):
                    equal(qkv(*command).returncode, int(wrong is not None), f"{sizes} {wrong} {command[0]}")


def a_larger_model_walks_back(folder):
    """Products by BLAS, weights that are read in their file, rows of more than a lesson's numbers."""
    ids = [int(i) for i in torch.randint(700, (260,), generator=torch.Generator().manual_seed(3))]
    llama_agrees(folder, "gemma2", ids, hidden_size=320, intermediate_size=512, head_dim=64,
                 num_hidden_layers=1, vocab_size=700, sliding_window=40)


def one_gradient_is_looked_at_without_the_others(folder):
    own = ("--model", gpt.small_model(folder), "--text", "CABBA", "--targets", "next")
    whole = exported(folder, *own)
    listing = json.loads((folder / "out" / "00-lesson.json").read_text())
    names = [step["name"] for step in listing["steps"]]
    for place in ("d_W_logits", "d_h0.norm1_by_h0.Q", "d_h1.residual1_by_h1.norm2"):
        assert place in names, place
    for step in ("d_h0.W_Q", "d_h1.attention_weights", "loss"):
        told = qkv.printed("run", *own, "--step", step, "--no-pause")
        assert told.startswith(f"{names.index(step) + 1}/{len(names)}  {step} "), told[:80]
    told = qkv.printed("run", *own, "--layer", "1", "--no-pause", "--digits", "2")
    titles = [line.split()[1] for line in told.splitlines()
              if line[:1].isdigit() and f"/{len(names)}  " in line]
    equal(titles, [name for name in names if name.removeprefix("d_").startswith("h1.")], "layer 1")
    cell = json.loads(qkv.printed("explain", *own, "d_h0.W_V[head 2,3,1]", "--json"))
    assert abs(cell["value"] - whole["d_h0.W_V"][1, 2, 0]) < 1e-15, cell["value"]


def what_is_set_is_worked_from_and_lets_nothing_back(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    own = ("--model", path, "--text", "CABBA", "--targets", "next")
    arrays = exported(folder, *own, "--set", "h1.context[2,*,*]=0")
    ids = ["ABC".index(letter) for letter in "CABBA"]
    set_once = {}

    def forward(w):
        def given(name, value):
            if name != "h1.context":
                return value
            set_once[name] = value.detach().clone()
            set_once[name][1] = 0
            set_once[name].requires_grad_()
            return set_once[name]
        return gpt.forward(w, ids, 4, change=given)

    loss, steps, gradients = autograd(forward, weights, ids, "next")
    due = {name: gradient for name, gradient in (steps | of_gpt(gradients, 4, "out-in")).items()
           if name.split(".")[-1] not in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "gain1", "bias1")
           or not name.startswith("h1.")}
    agree(arrays, loss, due)
    for gone in ("d_h1.attention_weights", "d_h1.W_V"):
        assert gone not in arrays, gone
    moved = exported(folder, *own, "--set", "h0.W_V[1,2,3]=0.25")
    assert abs(moved["d_h0.W_Q"] - exported(folder, *own)["d_h0.W_Q"]).max() > 0


def its_gradients_are_checked_and_compared(folder):
    own = ("--model", gpt.small_model(folder), "--text", "CABBA", "--targets", "next")
    qkv.printed("export", *own, "--digits", "6", "-o", folder / "mine")
    qkv.printed("check", *own, folder / "mine")
    arrays = exported(folder, *own)
    assert "are identical" in qkv.printed("compare", folder / "out" / "lesson.npz", *own)
    assert "d_h0.W_Q" in arrays
    qkv.printed("report", *own, "-o", folder / "r.html")


def weights_gradients_are_compared_as_pytorch_stores_them(folder):
    """Out × in and alone: without the forward pass, the lesson's own numbers are behind them."""
    weights = gpt.random_weights(2, 24, 23, 16, "out-in", 7, "transformer.", True, False, 0.15)
    gpt.write_safetensors(folder / "m.safetensors", weights, dtype="F64")
    own = ("--model", folder / "m.safetensors", "--model-heads", "4", "--ids",
           ",".join(map(str, IDS)), "--targets", "next")
    _, _, gradients = autograd(lambda w: gpt.forward(w, IDS, 4, "out-in"), weights, IDS, "next")
    stored = {}
    for layer in range(2):
        place = f"transformer.h.{layer}."
        for ours, theirs in (("W_O", "attn.c_proj"), ("W_in", "mlp.c_fc"), ("W_out", "mlp.c_proj")):
            stored[f"d_h{layer}.{ours}"] = gradients[place + theirs + ".weight"].numpy()
        parts = gradients[place + "attn.c_attn.weight"].chunk(3, 0)
        stored |= {f"d_h{layer}.W_{q}": part.numpy() for q, part in zip("QKV", parts)}
    for type in (np.float64, np.float32):
        np.savez(folder / "g.npz", **{name: g.astype(type) for name, g in stored.items()})
        told = qkv.printed("compare", folder / "g.npz", *own)
        assert "out × in" in told and "All 12 are" in told, told
    for factor in (4, -1, 0, 1.001):
        np.savez(folder / "g.npz", **{name: factor * g for name, g in stored.items()})
        equal(qkv("compare", folder / "g.npz", *own).returncode, 1, f"gradients times {factor}")


def a_gradient_under_another_program_s_name_is_that_of_the_nearer_step(folder):
    config = llama.config_of("llama")
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    _, steps, _ = autograd(lambda w: llama.forward(w, IDS, config), weights, IDS, "next")
    own = ("--model", folder, "--ids", ",".join(map(str, IDS)), "--targets", "next")
    for name in ("d_kqv_out-0", "grad_kqv_out-0", "kqv_out-0.grad"):
        for beside in ({}, {name.replace("kqv", "attn"): steps["h0.output"].numpy()}):
            np.savez(folder / "g.npz", **{name: steps["h0.concat"].numpy()}, **beside)
            told = qkv.printed("compare", folder / "g.npz", *own)
            assert "d_h0.concat" in told and ("d_h0.output" in told) == bool(beside), told


def gradients_may_have_their_heads_elsewhere_than_the_steps(folder):
    """As many tokens as heads: the sizes do not say which axis is which."""
    config = llama.config_of("llama")
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    ids = IDS[:config["num_attention_heads"]]
    _, steps, of_weights = autograd(lambda w: llama.forward(w, ids, config), weights, ids, "next")
    forward = llama.forward(weights, ids, config)
    inside = {name: forward[name].transpose(0, 1).numpy() for name in ("h0.Q", "h1.Q", "h0.Q_rope", "h1.Q_rope")}
    first = {"d_" + name: steps[name].numpy() for name in inside}
    wrong = 1.5 * of_weights["model.layers.1.input_layernorm.weight"].numpy()
    np.savez(folder / "g.npz", **inside, **first, **{"d_h1.gain1": wrong})
    done = qkv("compare", folder / "g.npz", "--model", folder, "--ids", ",".join(map(str, ids)), "--targets", "next")
    assert "The first that differs is d_h1.gain1." in done.stdout, done.stdout


def heads_help_as_their_gradients_and_their_removal_say(folder):
    def weaken(weights):  # so that what the heads hand over is small, and first order nearly all
        for layer in (0, 1):
            weights[f"transformer.h.{layer}.attn.c_proj.weight"] *= 0.01

    path = gpt.small_model(folder, weaken)
    weights, _ = gpt.read_safetensors(path)
    own = ("--model", path, "--text", "CABBA", "--targets", "next")
    heads = json.loads(qkv.printed("heads", *own, "--sort", "layer", "--json"))["heads"]
    ids = ["ABC".index(letter) for letter in "CABBA"]
    steps = {}

    def forward(w):
        steps.update(gpt.forward(w, ids, 4))
        return steps

    _, gradients, _ = autograd(forward, weights, ids, "next")
    due = [-(gradients[f"h{layer}.context"] * steps[f"h{layer}.context"]).sum((1, 2))[head].item()
           for layer in (0, 1) for head in range(4)]
    without = json.loads(qkv.printed("heads", *own, "--ablate", "--json"))["without"]
    largest = max(map(abs, due))
    for head, one, off in zip(heads, due, without):
        assert abs(head["helps"] - one) < 1e-12, (head, one)
        assert abs(off["loss_grows"] - one) < 0.02 * largest, (off, one)
    equal(sorted(heads, key=lambda one: -one["helps"]),
          json.loads(qkv.printed("heads", *own, "--sort", "helps", "--json"))["heads"], "sorted")
    listed = json.loads(qkv.printed("heads", *own[:4], "--json"))["heads"]
    equal(["helps" in one for one in listed], [False] * 8, "without targets")
    done = qkv("heads", *own[:4], "--sort", "helps")
    equal((done.returncode, done.stderr.count("\n")), (2, 1))


def a_lesson_of_a_model_walks_back(folder):
    path = gpt.small_model(folder)
    (folder / "l.toml").write_text("""
title = "A model learns"
summary = "One line."
text = "CAB"
[model]
file = "m.safetensors"
[backward]
of = "loss"
wanted = ["h0.W_Q"]
[[given]]
name = "due"
value = [0, 1, 2]
[[step]]
name = "loss"
op = "cross_entropy"
of = ["logits", "due"]
[[step]]
name = "d_h0.W_Q"
say = "Its largest number is {d_h0.W_Q.max}."
[[step]]
name = "W_Q_new"
op = "gradient_step"
of = ["h0.W_Q", "d_h0.W_Q"]
rate = 0.5
""")
    weights, _ = gpt.read_safetensors(path)
    arrays = exported(folder, folder / "l.toml")
    loss, steps, gradients = autograd(lambda w: gpt.forward(w, [2, 0, 1], 4), weights, [2, 0, 1],
                                      [0, 1, 2])
    due = {name: gradient for name, gradient in (steps | of_gpt(gradients, 4, "out-in")).items()
           if f"d_{name}" in arrays}
    agree(arrays, loss, due)
    assert "h0.W_Q" in due and "h0.masked_scores" in due and "h0.W_V" not in due, sorted(due)
    assert "Its largest number is " in qkv.printed("run", folder / "l.toml", "--step", "d_h0.W_Q")


def refused(told, *arguments):
    done = qkv("run", *arguments)
    equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), str(arguments))
    assert told in done.stderr, f"{done.stderr} has not {told}"


def targets_that_do_not_fit_are_refused_in_one_line(folder):
    own = ("--model", gpt.small_model(folder), "--text", "CAB")
    refused("--targets: there is no id 3; the model's ids are 0 to 2", *own, "--targets", "1,2,3")
    refused("--targets: the text has 3 tokens, so write 3 targets, not 2; or --targets next", *own,
            "--targets", "1,2")
    refused('--targets: "x" is not an id; write whole numbers with commas: 3,1,4, or next', *own,
            "--targets", "1,x")
    refused("--targets: the text has 3 tokens, so write 3 targets, not 4", *own, "--targets",
            "1,2,0,1")
    refused("--targets next: nothing follows a text of one token", own[0], own[1], "--text", "C",
            "--targets", "next")
    refused("write either --targets or --continue", *own, "--targets", "next", "--continue", "2")
    refused("--targets requires --model FILE; a lesson says in its [backward]", "way-back",
            "--targets", "next")


CLAIMS = [claim for name, claim in list(globals().items())
          if callable(claim) and getattr(claim, "__module__", "") == __name__
          and claim.__code__.co_varnames[:1] == ("folder",) and claim.__code__.co_argcount == 1]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
