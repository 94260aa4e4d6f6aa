#!/usr/bin/python3
"""Looking inside a model, held against PyTorch: steps that are set or patched, heads switched off,
layers read out early, mistakes planted; and what of that can't be done is told.

    inside.py QKV

Each function below is one claim.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv  # noqa: E402

import gpt  # noqa: E402
import llama  # noqa: E402
from families import DOUBLE, IDS, trained_adder  # noqa: E402
from models import agree, exported  # noqa: E402

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2")


def model_of(folder, family, **others):
    config = llama.config_of(family, **others)
    weights = llama.random_weights(config)
    folder.mkdir(exist_ok=True)
    llama.write(folder, config, weights)
    return config, weights, ("--model", folder, "--ids", ",".join(map(str, IDS)))


def without_head(number):
    def change(tensor):
        tensor = tensor.clone()
        tensor[number] = 0
        return tensor
    return change


def what_follows_a_step_that_was_set_agrees_with_pytorch(folder):
    for family in FAMILIES:
        config, weights, own = model_of(folder / family, family)
        arrays = exported(folder / family, *own, "--set", "h1.context[head 2,*,*]=0",
                          "--set", "h2.norm1[3,4]=-7/2")

        def cell(tensor):
            tensor = tensor.clone()
            tensor[2, 3] = -3.5
            return tensor
        changes = {"h1.context": without_head(1), "h2.norm1": cell}
        agree(llama.forward(weights, IDS, config, instead=changes), arrays, DOUBLE)


def what_follows_a_patch_agrees_with_pytorch(folder):
    config, weights, own = model_of(folder, "gemma2")
    other = torch.tensor(np.random.default_rng(4).normal(size=(6, len(IDS), 8)))
    stream = torch.tensor(np.random.default_rng(5).normal(size=(len(IDS), 20)))
    np.save(folder / "other.npy", other.numpy())
    np.savetxt(folder / "stream.csv", stream.numpy(), delimiter=",", fmt="%.17g")
    arrays = exported(folder, *own, "--patch", f"h0.context={folder / 'other.npy'}",
                      "--patch", f"h1.residual1={folder / 'stream.csv'}")
    changes = {"h0.context": lambda _: other, "h1.residual1": lambda _: stream}
    agree(llama.forward(weights, IDS, config, instead=changes), arrays, DOUBLE)


def a_patch_by_itself_changes_nothing(folder):
    _, _, own = model_of(folder, "qwen3")
    before = exported(folder, *own)
    np.save(folder / "same.npy", before["h1.attention_weights"])
    after = exported(folder, *own, "--patch", f"h1.attention_weights={folder / 'same.npy'}")
    equal([name for name in after if (before[name] != after[name]).any()], [], "what differs")


def each_head_switched_off_loses_what_pytorch_loses(folder):
    for family in ("llama", "gemma2"):
        config, weights, own = model_of(folder / family, family)
        told = json.loads(qkv.printed("heads", *own, "--ablate", "--json"))
        last = llama.forward(weights, IDS, config)["probabilities"][-1]
        answer = int(last.argmax())
        equal(told["answer"]["id"], answer)
        equal(len(told["without"]), 3 * 6)
        for one in told["without"]:
            changes = {one["step"]: without_head(one["head"] - 1)}
            shares = llama.forward(weights, IDS, config, instead=changes)["probabilities"][-1]
            assert abs(one["probability"] - float(shares[answer])) < DOUBLE, one
            assert abs(one["loses"] - float(last[answer] - shares[answer])) < DOUBLE, one
            equal(one["likeliest"]["id"], int(shares.argmax()))


def each_layer_read_out_is_what_pytorch_reads_out(folder):
    for family in ("qwen2", "gemma2"):
        config, weights, own = model_of(folder / family, family)
        out = qkv.printed("run", *own, "--lens", "--digits", "9")
        steps = llama.forward(weights, IDS, config)
        gain = weights["model.norm.weight"].double() + llama.KINDS[family].get("offset", 0)
        table = weights.get("lm_head.weight", weights["model.embed_tokens.weight"]).double()
        for layer in range(3):
            x = steps[f"h{layer}.residual2"][-1]
            logits = x * torch.rsqrt(x.pow(2).mean() + 1e-5) * gain @ table.T
            if family == "gemma2":
                logits = 1.5 * torch.tanh(logits / 1.5)
            shares = logits.softmax(-1)
            line = out[out.index(f"\n  h{layer}."):].split("\n  h")[1]  # it may take several lines
            for share in shares.topk(5).values:
                assert f"{float(share):.9f}" in line, (line, float(share))


def the_lens_keeps_to_the_width(folder):
    _, _, own = model_of(folder, "llama")
    vocabulary = [f"a-token-of-many-letters-{i}" * 4 for i in range(23)]
    (folder / "words.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
    for columns in (40, 60, 80, 200):
        for more in ((), ("--vocabulary", folder / "words.json"), ("--digits", "9")):
            done = qkv("run", *own, *more, "--lens", env={"COLUMNS": str(columns), "PATH": ""})
            equal((done.returncode, done.stderr), (0, ""))
            long = [line for line in done.stdout.splitlines() if len(line) > columns]
            equal(long, [], (columns, more))
            equal(len(re.findall(r" 0\.\d+", done.stdout)), 3 * 5)


def scaled_early(steps, kind, layers, by):
    """The steps of a program that multiplies the queries instead of the scores, in some layers."""
    arrays = {name: np.asarray(value) for name, value in steps.items()}
    for layer in layers:
        own = f"h{layer}."
        names = {"Q": ("Q", "Q_rope", "scores"), "Q_rope": ("Q_rope", "scores"), "scores": ("scores",)}[kind]
        arrays |= {own + name: arrays[own + name] * by for name in names}
    return arrays


def queries_may_be_scaled_early_in_every_layer(folder):
    for family, by in (("llama", 8 ** -0.5), ("gemma2", 12 ** -0.5)):
        config, weights, own = model_of(folder / family, family)
        steps = llama.forward(weights, IDS, config)
        for kind in ("Q", "Q_rope", "scores"):
            for layers in ((0,), (2,), (0, 1, 2)):
                for dtype in ("f8", "f4"):
                    arrays = scaled_early(steps, kind, layers, by)
                    np.savez(folder / "d.npz", **{name: a.astype(dtype) for name, a in arrays.items()})
                    equal(qkv("compare", folder / "d.npz", *own).returncode, 0, (family, kind, layers))
            said = json.loads(qkv("check", *own, folder / "d.npz", "--json").stdout)
            named = [step["step"] for step in said["steps"] if step["convention"] == "convention.scaled-queries"]
            equal(named, [f"h{layer}.{name}" for layer in range(3)
                          for name in {"Q": ("Q", "Q_rope"), "Q_rope": ("Q_rope",)}.get(kind, ()) +
                          ("scores", "scaled_scores")])
            equal(qkv("check", *own, folder / "d.npz", "--strict").returncode, 1)


def scaled_queries_may_have_their_columns_in_another_order(folder):
    """Neither shows alone. A mistake in one layer leaves the order of the others, and its own."""
    config, weights, own = model_of(folder, "llama")
    steps = llama.forward(weights, IDS, config)

    def found(arrays):
        np.savez(folder / "d.npz", **arrays)
        said = json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)
        return said["first"], {step["convention"] for step in said["steps"] if step.get("convention")}
    for order in (np.arange(8).reshape(2, 4).T.reshape(-1), np.random.default_rng(5).permutation(8)):
        arrays = scaled_early(steps, "Q_rope", (0, 1, 2), 8 ** -0.5)
        arrays |= {name: array[..., order] for name, array in arrays.items() if name.endswith("_rope")}
        both = {"convention.rope-layout", "convention.scaled-queries"}
        equal(found(arrays), (None, both))
        few = {name: array for name, array in arrays.items() if "scores" not in name}
        equal(found(few), (None, {"convention.rope-layout"}))
        equal(found(few | {"h2.K_rope": few["h2.K_rope"] * 1.01})[0], "h2.K_rope")
        equal(found(few | {"h1.Q_rope": few["h1.Q_rope"] * 8 ** -0.5})[0], "h1.Q_rope")


def what_comes_before_a_wrong_rotation_shows_the_order_of_columns(folder):
    """As llama.cpp has it, in every layer. Queries and keys that nothing rotates show no order."""
    config, weights, own = model_of(folder, "llama")
    order = np.arange(8).reshape(2, 4).T.reshape(-1)

    def found(steps, names):
        arrays = {name: np.asarray(value) for name, value in steps.items() if name.split(".")[-1] in names}
        arrays |= {name: array[..., order] for name, array in arrays.items()
                   if name[3:] in ("Q", "K", "Q_rope", "K_rope")}
        np.savez(folder / "d.npz", **arrays)
        said = json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)
        first = [step["mistakes"] for step in said["steps"] if step["step"] == said["first"]]
        return said["first"], [(one["id"], one["sure"]) for mistakes in first for one in mistakes]
    steps = ("Q", "K", "V", "Q_rope", "K_rope", "scores", "attention_weights", "context", "output")
    equal(found(llama.forward(weights, IDS, config), steps), (None, []))
    wrong = llama.forward(weights, IDS, config | {"rope_theta": 500000.0})
    for names in (steps, ("Q", "K", "Q_rope", "K_rope")):
        equal(found(wrong, names), ("h0.Q_rope", [("rope.base", True)]), str(names))
    equal(found(wrong, ("Q", "K"))[0], "h0.Q")
    permuted = dict(weights)  # a bug: weights of that order, rotated as if they had the lesson's
    for name in weights:
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            permuted[name] = weights[name].reshape(-1, 8, weights[name].shape[-1])[:, order].reshape(weights[name].shape)
    for theta in (10000.0, 500000.0):
        bug = llama.forward(permuted, IDS, config | {"rope_theta": theta})
        bug = {name: np.asarray(value) for name, value in bug.items() if name.split(".")[-1] in steps}
        np.savez(folder / "d.npz", **bug)
        equal(json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)["first"], "h0.Q", str(theta))


def heads_inside_are_found_beside_a_wrong_matrix(folder):
    """As many tokens as heads: only the numbers tell; the columns may have another order, too."""
    config, weights, own = model_of(folder, "llama", num_key_value_heads=6)
    ids = IDS[:config["num_attention_heads"]]
    own = (*own[:-1], ",".join(map(str, ids)))
    steps = {name: np.asarray(value) for name, value in llama.forward(weights, ids, config).items()}
    plain = steps["h0.Q"].transpose(1, 0, 2)
    wrong = np.tril(steps["h0.attention_weights"], -1)  # the token itself is hidden, too
    wrong /= np.maximum(wrong.sum(-1, keepdims=True), 1e-300)
    cases = [({"h0.Q": plain, "h0.attention_weights": wrong}, "h0.attention_weights")]
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(8)
        inside = {name: array.transpose(1, 0, 2)[..., order if name[3] in "QK" else slice(None)]
                  for name, array in steps.items() if name[3:] in ("Q", "K", "V", "Q_rope", "K_rope", "context")}
        cases.append((steps | inside, None))
    flat = {"h1.V": steps["h1.V"].transpose(1, 0, 2).reshape(len(ids), -1)}  # another layer may be told by its shape
    cases.append(({name: steps[name].transpose(1, 0, 2) for name in ("h0.K", "h0.V")} | flat, None))
    for arrays, due in cases:
        np.savez(folder / "d.npz", **arrays)
        equal(json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)["first"], due)


def differences_are_those_of_the_layout_that_was_accepted(folder):
    """As many tokens as heads: the arrays that were turned have the shape that they had before."""
    config, weights, own = model_of(folder, "llama")
    ids = IDS[:config["num_attention_heads"]]
    own = (*own[:-1], ",".join(map(str, ids)))
    steps = llama.forward(weights, ids, config)
    dump = {name: np.asarray(steps[name]).transpose(1, 0, 2) for name in ("h0.Q", "h0.V", "h0.context")}
    np.savez(folder / "d.npz", **dump)
    said = json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)
    equal(said["first"], None)
    far = {step["step"]: step["max_absolute"] for step in said["steps"] if step["step"] in dump}
    assert len(far) == 3 and max(far.values()) < DOUBLE, far


def the_wrong_triangle_has_its_name_under_a_window(folder):
    config, weights, own = model_of(folder, "mistral", sliding_window=100)
    steps = {name: np.asarray(value) for name, value in llama.forward(weights, IDS, config).items()}
    seen = np.triu(np.ones((len(IDS), len(IDS)), bool))
    wrong = np.where(seen, steps["h1.scaled_scores"], -np.inf)
    np.savez(folder / "d.npz", **(steps | {"h1.masked_scores": wrong}))
    said = json.loads(qkv("compare", folder / "d.npz", *own, "--json").stdout)
    step = next(one for one in said["steps"] if one["step"] == "h1.masked_scores")
    equal((said["first"], [one["id"] for one in step["mistakes"]]), ("h1.masked_scores", ["mask.wrong-triangle"]))


def queries_that_are_scaled_wrongly_in_a_layer_are_found(folder):
    config, weights, own = model_of(folder, "llama")
    steps = llama.forward(weights, IDS, config)

    def found(arrays):
        np.savez(folder / "d.npz", **arrays)
        done = qkv("compare", folder / "d.npz", *own, "--json")
        return done.returncode, json.loads(done.stdout)["first"]
    for kind in ("Q", "Q_rope", "scores"):
        for name, wrong in (("h1.scaled_scores", lambda a: a * 8 ** 0.5), ("h2.scaled_scores", lambda a: a * 8 ** -0.5),
                            ("h1.Q_rope", lambda a: a * 1.01), ("h2.context", lambda a: a * 1.01),
                            ("h0.masked_scores", lambda a: a * 8 ** -0.5), ("h2.K", lambda a: a * 8 ** -0.5)):
            arrays = scaled_early(steps, kind, (0, 1, 2), 8 ** -0.5)
            arrays[name] = wrong(arrays[name])
            equal(found(arrays), (1, name), kind)
    for wrong in (1 / 8, 20 ** -0.5, 1.01 * 8 ** -0.5):
        equal(found(scaled_early(steps, "Q", (0, 1, 2), wrong)), (1, "h0.Q"))


def what_is_set_holds_while_the_model_writes_on(folder):
    config, weights, _ = model_of(folder, "llama")
    own = ("--model", folder, "--ids", "3,18,0,3", "--continue", "5")

    def written(weights, changes):
        ids = IDS[:4]
        for _ in range(5):
            steps = llama.forward(weights, ids, config, instead=changes)
            ids = ids + [int(steps["probabilities"][-1].argmax())]
        return ids
    off = {"h1.context": without_head(1), "h0.context": without_head(4)}
    values = weights | {"model.layers.0.self_attn.v_proj.weight":
                        weights["model.layers.0.self_attn.v_proj.weight"].clone()}
    values["model.layers.0.self_attn.v_proj.weight"][:8] = 0
    for due, words in (
            (written(weights, off), ("--set", "h1.context[head 2,*,*]=0", "--set", "h0.context[head 5,*,*]=0")),
            (written(values, {}), ("--set", "h0.W_V[head 1,*,*]=0"))):
        arrays = exported(folder, *own, *words)
        equal(arrays["token_ids"].astype(int).ravel().tolist(), due, " ".join(words))


PLANTED = {
    "pairs that stand side by side": ("--set", "*.pairing=interleaved"),
    "no norm of queries and keys": ("--set", "h0.Q_rope.of=h0.Q", "--set", "h0.K_rope.of=h0.K"),
    "queries one place further": ("--set", "h0.Q_rope.first=1"),
    None: (),
}


def planted_mistakes_write_what_pytorch_writes_with_them(folder):
    _, model, _ = trained_adder()
    model = model.double()
    layer = model.model["layers"][0].self_attn
    start = [int(digit) for digit in "085301647290059702468130"]
    for mistake, words in PLANTED.items():
        layer.mistake, ids = mistake, list(start)
        with torch.no_grad():
            for _ in range(11):
                ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
            last = model(torch.tensor([ids]))[0].softmax(-1).numpy()
        arrays = exported(folder, "trained-adder", "--text", "".join(map(str, start)),
                          "--continue", "11", *words)
        equal(arrays["token_ids"].astype(int).ravel().tolist(), ids, str(mistake))
        close = np.abs(arrays["probabilities"] - last).max()
        assert close < 1e-3, (mistake, close)  # PyTorch's angles are float32's
    equal("".join(map(str, ids[24:]))[::-1], str(9274610358 + 3186420795), "without a mistake")


def the_lesson_tells_what_planted_mistakes_make_likeliest(folder):
    _, model, _ = trained_adder()
    layer = model.model["layers"][0].self_attn
    ids = [int(digit) for digit in "08530164729005970246813035"]
    for step, mistake in zip(("pairs_weights", "bare_weights", "late_weights"), PLANTED):
        layer.mistake = mistake
        with torch.no_grad():
            shares = model(torch.tensor([ids]))[0, -1].softmax(-1)
        told = " ".join(qkv.printed("run", "trained-adder", "--step", step).split())
        top = shares.topk(3)
        due = ", ".join(f"{int(digit)} ({100 * float(share):.1f} %)"
                        for share, digit in zip(top.values, top.indices) if share >= 0.0005)
        assert f"it is {due}." in told or f"is now {due}." in told, (step, due, told[-600:])


def what_cannot_be_looked_into_is_reported(folder):
    _, _, own = model_of(folder, "llama")
    np.save(folder / "flat.npy", np.zeros((7, 48)))
    np.save(folder / "nan.npy", np.full((6, 7, 8), np.nan))
    np.savez(folder / "two.npz", a=np.zeros((6, 7, 8)), b=np.zeros(2))
    (folder / "words.csv").write_text("a,b\nc,d\n")
    (folder / "empty.npy").write_text("")
    (folder / "cut.npy").write_bytes((folder / "nan.npy").read_bytes()[:-9])
    patches = {
        "flat.npy": "flat.npy has 7×48",
        "nan.npy": "not a number",
        "two.npz": "several",
        "words.csv": "words.csv",
        "empty.npy": "empty.npy",
        "cut.npy": "cut.npy",
        "missing.npy": "there is no such file",
    }
    for file, told in patches.items():
        patch = ("--patch", f"h0.context={folder / file}")
        refuse(told, "run", *own, *patch)
        refuse(file, "run", *own, *patch, "--continue", "2")  # its rows are too few as well
    for words, told in (
            (("--patch", "h0.contex=x.npy"), 'did you mean "h0.context"'),
            (("--patch", "h9.context=x.npy"), "h9.context is not given"),
            (("--patch", "h0.context"), "write the matrix and its file"),
            (("--patch", "h0.context="), "write the matrix and its file"),
            (("--patch", "=x.npy"), '"" is not given'),
            (("--set", "h9.context[head 1,*,*]=0"), "h9.context is not given"),
            (("--set", "h0.context[head 7,*,*]=0"), "head"),
            (("--set", "h0.context[head 1,8,1]=0"), "8"),
            (("--set", "h0.context[head 1,1,1]=nan"), "is not a number"),
            (("--set", "h0.context=0"), "write one of its cells"),
            (("--set", "h0.Q_rope.paring=halves"), 'did you mean "pairing"'),
            (("--set", "h0.Q_rope.pairing=both"), 'pairing is "interleaved" or "halves", not "both"'),
            (("--set", "h0.Q_rope.width=3"), "columns turn in pairs"),
            (("--set", "h0.Q_rope.of=h0.V_rope"), 'nothing before this step is called "h0.V_rope"'),
            (("--set", "h0.Q_rope.of=h1.Q"), 'nothing before this step is called "h1.Q"'),
            (("--set", "h0.Q_rope.of=h0.Q,h0.K,h0.V"), "rope takes"),
            (("--set", "*.turning=1"), 'has an option "turning"'),
            (("--layer", "9"), "the layers count from 0 to 2")):
        refuse(told, "run", *own, *words)
    for words in (("run", "the-fat-cat", "--lens"), ("heads", "the-fat-cat", "--ablate")):
        refuse("models", *words)
    refuse("probabilities", "run", "the-fat-cat", "--continue", "2")


def refuse(told, *words):
    done = qkv(*words)
    equal((done.returncode, done.stdout), (2, ""), " ".join(map(str, words)))
    assert told in done.stderr and len(done.stderr.splitlines()) == 1, f"{words}: {done.stderr}"


def a_layer_that_is_not_looked_at_can_be_set(folder):
    _, _, own = model_of(folder, "llama")
    due = exported(folder, *own)["h0.Q"]
    for change in ("h2.context[head 1,*,*]=0", "h2.Q_rope.first=3", "*.first=3", "norm[1,1]=2"):
        arrays = exported(folder, *own, "--step", "h0.Q", "--set", change)
        equal((arrays["h0.Q"] == due).all(), True, change)


def lessons_of_models_can_be_looked_into(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    (folder / "l.toml").write_text('text = "CAB"\n[model]\nfile = "m.safetensors"\n'
                                   'vocabulary = ["A", "B", "C"]\n')
    ids = [2, 0, 1]
    for _ in range(3):
        ids.append(int(gpt.forward(weights, ids, 4)["probabilities"][-1].argmax()))
    arrays = exported(folder, folder / "l.toml", "--continue", "3")
    equal(arrays["token_ids"].astype(int).ravel().tolist(), ids)
    agree(gpt.forward(weights, ids, 4), arrays)
    out = qkv.printed("run", folder / "l.toml", "--lens")
    assert re.search(r"^ +h1", out, re.M), out
    qkv.printed("heads", folder / "l.toml", "--ablate")


CLAIMS = [claim for name, claim in list(globals().items())
          if callable(claim) and getattr(claim, "__module__", "") == __name__
          and claim.__code__.co_varnames[:1] == ("folder",) and claim.__code__.co_argcount == 1]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
