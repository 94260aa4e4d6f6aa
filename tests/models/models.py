#!/usr/bin/python3
"""Trained models, held against PyTorch's float32 run of the same weights, step by step.

    models.py QKV

Each function below is one claim. The sorting model is read from ../shared/data, or from where
QKV_MODELS says; where it is missing, its claims are skipped.
"""

import csv
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import Skipped, equal, main, qkv  # noqa: E402

import gpt  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("QKV_MODELS", ROOT.parent / "shared" / "data"))
SINGLE, DOUBLE = 5e-6, 1e-12  # how close PyTorch's float32 run comes to the truth, and its float64


def sorting_model():
    path = MODELS / "nano-sort.safetensors"
    if not path.is_file():
        raise Skipped("the sorting model is not there")
    return path


def exported(folder, *arguments):
    qkv.printed("export", *arguments, "--format", "npz", "-o", folder / "out")
    (file,) = (folder / "out").glob("*.npz")
    return np.load(file)


def agree(steps, arrays, close=SINGLE):
    """Every step of PyTorch's is there under its name, of its shape, and as close as float32 is."""
    for name, tensor in steps.items():
        array = arrays[name]
        desired = tensor.numpy()
        equal(array.shape, desired.shape, name)
        both = np.isfinite(desired)
        equal(np.isfinite(array).tolist(), both.tolist(), f"{name}: what is finite")
        worst = np.abs(array[both] - desired[both]).max(initial=0)
        if worst > close:
            raise AssertionError(f"{name}: off by {worst:.2e}")


def the_sorting_model_agrees_with_pytorch_in_every_step(folder):
    path = sorting_model()
    weights, _ = gpt.read_safetensors(path)
    for text in ("CBABBC", "AAAAAA", "CCBBAAABBCC", "B"):
        arrays = exported(folder, "--model", path, "--text", text)
        steps = gpt.forward(weights, ["ABC".index(letter) for letter in text], heads=3)
        agree(steps, arrays)


def the_courses_own_model_agrees_with_pytorch_in_every_step(folder):
    path = ROOT / "lessons" / "adjectives.safetensors"
    weights, facts = gpt.read_safetensors(path)
    words = json.loads(facts["vocabulary"])
    for text in ("the smooth red bird shines above while a very fluffy and blue creature drifts",
                 "a green prickly snail hides along .", "fish"):
        arrays = exported(folder, "--model", path, "--text", text)
        ids = [words.index(word) for word in text.split()]
        agree(gpt.forward(weights, ids, heads=int(facts["n_head"]), gelu="erf"), arrays)


def courses_own_model():
    sys.path.insert(0, str(ROOT / "models"))
    import train_adjectives

    torch.set_num_threads(1)
    model = train_adjectives.Model()
    weights = train_adjectives.read_safetensors(ROOT / "lessons" / "adjectives.safetensors")
    model.load_state_dict(weights)
    return train_adjectives, model


def the_lesson_without_head_3_agrees_with_pytorch_without_it(folder):
    trainer, model = courses_own_model()
    arrays = exported(folder, "trained-adjectives")
    ids = torch.tensor(arrays["token_ids"].astype(int).reshape(1, -1))
    model.transformer["h"][0].attn.off = 2
    with torch.no_grad():
        logits = model(ids)[0]
    agree({"off_logits": logits, "off_probabilities": logits.softmax(-1)}, arrays)
    words = np.array(trainer.VOCABULARY)[arrays["token_ids"].astype(int).ravel()]
    equal(" ".join(words), "a fluffy blue creature drifts around while the prickly red bird", "text")


def the_record_of_the_courses_own_model_is_what_its_weights_measure(folder):
    train_adjectives, model = courses_own_model()
    record = json.loads((ROOT / "models" / "adjectives.json").read_text())
    close_to(record, train_adjectives.measured(model))


def close_to(record, measured, where="record"):
    """Every figure that was measured stands in the record; a close call may fall otherwise."""
    for name, value in measured.items():
        if isinstance(value, dict):
            close_to(record[name], value, f"{where}: {name}")
        elif abs(record[name] - value) > 0.002:
            raise AssertionError(f"{where}: {name} is {record[name]}, and {value} was measured")


def the_sorting_model_sorts(folder):
    path = sorting_model()
    text = "CBABBC"
    for answer in sorted(text):
        out = qkv.printed("run", "--model", path, "--text", text, "--step", "probabilities", "--no-pause")
        found = re.search(r"likeliest next: (\w)", out)
        equal(found and found[1], answer, f"after {text}")
        text += answer
        if len(text) > 11:
            break


def a_model_agrees(folder, layout, biases, tied, gelu, dtype, prefix, extra=()):
    weights = gpt.random_weights(2, 24, 19, 16, layout, 7, prefix, biases, tied, 0.15)
    gpt.write_safetensors(folder / "m.safetensors", weights, dtype=dtype)
    weights, _ = gpt.read_safetensors(folder / "m.safetensors")  # as they were rounded
    ids = [3, 18, 0, 3, 11, 7]
    arrays = exported(folder, "--model", folder / "m.safetensors", "--model-heads", "4", "--text",
                      " ".join("ABCDEFGHIJKLMNOPQRS"[i] for i in ids), *extra)
    agree(gpt.forward(weights, ids, 4, layout, gelu), arrays)
    doubles = {name: tensor.double() for name, tensor in weights.items()}
    agree(gpt.forward(doubles, ids, 4, layout, gelu), arrays, DOUBLE)


def a_hugging_face_model_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, True, "tanh", "F32", "")


def a_hugging_face_model_with_its_head_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "F32", "transformer.")


def a_model_without_biases_agrees_with_pytorch(folder):
    a_model_agrees(folder, "out-in", False, True, "erf", "F32", "transformer.",
                   ("--family", "nanogpt"))
    a_model_agrees(folder, "out-in", False, True, "erf", "F32", "transformer.")  # nanoGPT alone has none


def a_model_in_float16_agrees_with_pytorch(folder):
    a_model_agrees(folder, "out-in", True, False, "tanh", "F16", "transformer.")


def a_model_in_bfloat16_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "BF16", "")


def a_model_in_float64_agrees_with_pytorch(folder):
    a_model_agrees(folder, "in-out", True, False, "tanh", "F64", "")


def large_weights_read_in_their_file_agree_with_pytorch(folder):
    """Weights of more than 2^20 numbers, which no product has before it all at once."""
    path, ids = folder / "m.safetensors", [3, 1999, 0, 3, 11, 700, 1, 1024]
    text = " ".join(map(str, ids))
    for layout in ("in-out", "out-in"):
        weights = gpt.random_weights(1, 544, 2000, 16, layout, 11, spread=0.05)
        gpt.write_safetensors(path, weights)
        own = ("--model", path, "--model-heads", "8", "--text", text)
        arrays = exported(folder, *own, "--threads", "2")
        doubles = {name: tensor.double() for name, tensor in weights.items()}
        agree(gpt.forward(doubles, ids, 8, layout), arrays, DOUBLE)
        turned = (lambda w: w) if layout == "in-out" else (lambda w: w.T)
        inner = turned(weights["transformer.h.0.mlp.c_fc.weight"]).double().numpy()
        equal((arrays["h0.W_in"] == inner).all(), True, "what is exported is what the file holds")
        one = exported(folder, *own, "--threads", "1")
        equal([name for name in arrays if (arrays[name] != one[name]).any()], [], "other threads")
        for row in (400, 300):  # the first in the file is told, whatever thread meets which first
            weights["transformer.h.0.mlp.c_proj.weight"][row, 41] = np.nan
        gpt.write_safetensors(path, weights)
        done = qkv("run", *own)
        equal((done.returncode, done.stderr.strip()), (2, (
            f"qkv: {path}: transformer.h.0.mlp.c_proj.weight holds NaN at [300, 41]; the file is "
            "damaged, or training failed")))


def large_weights_in_half_floats_agree_with_pytorch(folder):
    """At an odd place in the file, too: what comes before them has one byte more."""
    path, ids = folder / "m.safetensors", [3, 299, 0]
    for dtype in ("F16", "BF16", "F64"):
        weights = gpt.random_weights(1, 264, 300, 4, "in-out", 12)
        gpt.write_safetensors(path, weights, {"odd": "x"}, dtype)
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        path.write_bytes((length + 1).to_bytes(8, "little") + data[8:8 + length] + b" " + data[8 + length:])
        (folder / "even.safetensors").write_bytes(data)
        doubles = {name: tensor.double() for name, tensor in
                   gpt.read_safetensors(folder / "even.safetensors")[0].items()}
        arrays = exported(folder, "--model", path, "--model-heads", "4", "--text", "3 299 0")
        agree(gpt.forward(doubles, ids, 4, "in-out"), arrays, DOUBLE)


def a_weight_set_to_what_it_is_changes_nothing(folder):
    """A changed weight is held, and its products add the same terms in the same order."""
    path = folder / "m.safetensors"
    weights = gpt.random_weights(1, 544, 40, 16, "in-out", 13)
    gpt.write_safetensors(path, weights)
    own = ("--model", path, "--model-heads", "8", "--text", "3 0 11 7")
    value = repr(float(weights["transformer.h.0.mlp.c_proj.weight"][2, 0]))
    before = exported(folder, *own)
    after = exported(folder, *own, "--set", f"h0.W_out[3,1]={value}")
    equal([name for name in before if (before[name] != after[name]).any()], [], "what differs")


def weights_that_stay_in_their_file_take_no_memory(folder):
    path = folder / "m.safetensors"
    gpt.write_safetensors(path, gpt.random_weights(1, 544, 6000, 16, "in-out", 14))  # 54 MB of doubles
    own = ("--model", path, "--model-heads", "8", "--text", "3 0", "--memory", "40M")
    qkv.printed("export", *own, "--step", "probabilities", "--format", "npy", "-o", folder / "out")


def heads_look_where_their_weights_say(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    text = "CABBA"
    listed = json.loads(qkv.printed("heads", "--model", path, "--text", text, "--json",
                                    "--sort", "layer"))
    steps = gpt.forward(weights, ["ABC".index(letter) for letter in text], 4)
    equal([(one["step"], one["head"]) for one in listed["heads"]],
          [(f"h{layer}.attention_weights", head) for layer in (0, 1) for head in (1, 2, 3, 4)])
    for one in listed["heads"]:
        rows = steps[one["step"]][one["head"] - 1].double().numpy()[1:]
        places = np.arange(1, len(text))
        due = {
            "entropy": -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=1).mean(),
            "largest": rows.max(axis=1).mean(),
            "previous": rows[places - 1, places - 1].mean(),
            "first": rows[:, 0].mean(),
            "itself": rows[places - 1, places].mean(),
        }
        for name, value in due.items():
            assert abs(one[name] - value) < SINGLE, (one, name, value)
    assert "all tokens but the first" in qkv.printed("heads", "--model", path, "--text", text)
    assert "Of the only token." in qkv.printed("heads", "--model", path, "--text", "C")


def heads_are_sorted_by_what_is_asked_for(folder):
    path = gpt.small_model(folder)
    for name, falls in (("entropy", False), ("largest", True), ("previous", True)):
        listed = json.loads(qkv.printed("heads", "--model", path, "--text", "CABBA", "--json",
                                        "--sort", name))
        values = [one[name] for one in listed["heads"]]
        equal(values, sorted(values, reverse=falls), name)


def the_model_writes_on(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    ids = [2, 0, 1]
    for _ in range(4):
        ids.append(int(gpt.forward(weights, ids, 4)["probabilities"][-1].argmax()))
    text = "".join("ABC"[i] for i in ids)
    out = qkv.printed("run", "--model", path, "--text", "CAB", "--continue", "4", "--no-pause")
    assert f'The model has continued "CAB" with "{text[3:]}".' in out, out[:300]
    arrays = exported(folder, "--model", path, "--text", "CAB", "--continue", "4")
    agree(gpt.forward(weights, ids, 4), arrays)


def byte_pairs_are_named_in_the_readout(folder):
    weights = gpt.random_weights(1, 24, 260, 8, "in-out", 5)
    gpt.write_safetensors(folder / "m.safetensors", weights, {"n_head": "4"})
    gpt.write_byte_pairs(folder, ["a t", "Ġ c", "Ġc at"], {"Ġc": 256, "Ġcat": 257, "at": 258})
    own = ("--model", folder / "m.safetensors", "--text", "a cat")
    ids = [97, 257]
    shares = gpt.forward(weights, ids, 4, "in-out")["probabilities"]
    # A cell is found by its label, as it is and as it is shown.
    for label in ('" cat"', "␣cat"):
        told = json.loads(qkv.printed("explain", *own, f"probabilities[2,{label}]", "--json"))
        assert abs(told["value"] - float(shares[1, 257])) < SINGLE, told["value"]
    qkv.printed("export", *own, "-o", folder / "out", "--step", "probabilities")
    header = next(csv.reader((folder / "out").glob("*.csv").__next__().open(newline="")))
    equal((header[1 + 97], header[1 + 257], header[1 + 259]), ("a", " cat", "260"))


def a_lesson_lays_a_model_out(folder):
    gpt.small_model(folder)
    (folder / "l.toml").write_text("""
title = "A model"
summary = "One line."
text = "CAB"
[model]
file = "m.safetensors"
layers = 1
[[step]]
name = "h0.scores"
say = "Its largest score is {h0.scores.max}."
[[step]]
name = "turned"
op = "transpose"
of = "h0.scores"
""")
    qkv.printed("export", folder / "l.toml", "-o", folder / "out")
    listing = json.loads((folder / "out" / "00-lesson.json").read_text())
    names = [step["name"] for step in listing["steps"]]
    equal((names[-2:], len(names)), (["h0.residual2", "turned"], 22))
    assert "Its largest score is " in qkv.printed("run", folder / "l.toml", "--step", "h0.scores")


def ids_may_be_written_for_words(folder):
    weights = gpt.random_weights(1, 64, 40, 8, "in-out", 3)
    gpt.write_safetensors(folder / "m.safetensors", weights)
    arrays = exported(folder, "--model", folder / "m.safetensors", "--text", "39 0 7")
    agree(gpt.forward(weights, [39, 0, 7], 1, "in-out"), arrays)  # heads are usually 64 wide


def a_lessons_vocabulary_is_not_its_models(folder):
    path = gpt.small_model(folder)
    (folder / "l.toml").write_text("""
text = "C A B"
vocabulary = ["C", "B", "A"]
[model]
file = "m.safetensors"
vocabulary = ["A", "B", "C"]
""")
    weights, _ = gpt.read_safetensors(path)
    agree(gpt.forward(weights, [2, 0, 1], 4), exported(folder, folder / "l.toml"))


def steps_are_counted_in_the_whole_model(folder):
    own = ("--model", gpt.small_model(folder), "--text", "CAB")
    last = re.search(r"^(\d+)/\1  probabilities", qkv.printed("run", *own, "--no-pause"), re.M)
    for step in ("token_ids", "h0.Q", "h1.Q"):
        assert f"/{last[1]}  {step}" in qkv.printed("run", *own, "--step", step, "--no-pause"), step


def a_later_layers_weight_can_be_set(folder):
    own = ("--model", gpt.small_model(folder), "--text", "CAB")
    qkv.printed("run", *own, "--step", "h0.Q", "--set", "h1.W_Q[1,1,1]=0")


def a_model_checks_its_own_numbers(folder):
    path = gpt.small_model(folder)
    own = ("--model", path, "--text", "CAB")
    qkv.printed("export", *own, "--digits", "4", "-o", folder / "mine")
    qkv.printed("check", *own, folder / "mine")
    done = qkv("compare", folder / "mine", *own, "--atol", "1e-4")
    equal((done.returncode, done.stderr), (0, ""))


def a_model_beside_a_text_is_compared_as_a_model(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    steps = gpt.forward(weights, [2, 0, 1], 4)
    np.savez(folder / "mine.npz", **{"h1.scores": np.asarray(steps["h1.scores"])})
    out = qkv.printed("compare", folder / "mine.npz", path, "--text", "CAB")
    assert "All 1 are the same within the tolerance" in out, out[-300:]
    assert re.search(r"^and \d+ that only one side has \(--all lists them\)$", out, re.M), out[-400:]
    assert "h1.W_Q" not in out


CLAIMS = [
    the_model_writes_on,
    byte_pairs_are_named_in_the_readout,
    a_model_beside_a_text_is_compared_as_a_model,
    the_sorting_model_agrees_with_pytorch_in_every_step,
    the_courses_own_model_agrees_with_pytorch_in_every_step,
    the_lesson_without_head_3_agrees_with_pytorch_without_it,
    the_record_of_the_courses_own_model_is_what_its_weights_measure,
    the_sorting_model_sorts,
    a_hugging_face_model_agrees_with_pytorch,
    a_hugging_face_model_with_its_head_agrees_with_pytorch,
    a_model_without_biases_agrees_with_pytorch,
    a_model_in_float16_agrees_with_pytorch,
    a_model_in_bfloat16_agrees_with_pytorch,
    a_model_in_float64_agrees_with_pytorch,
    large_weights_read_in_their_file_agree_with_pytorch,
    large_weights_in_half_floats_agree_with_pytorch,
    a_weight_set_to_what_it_is_changes_nothing,
    weights_that_stay_in_their_file_take_no_memory,
    heads_look_where_their_weights_say,
    heads_are_sorted_by_what_is_asked_for,
    a_lesson_lays_a_model_out,
    ids_may_be_written_for_words,
    a_lessons_vocabulary_is_not_its_models,
    steps_are_counted_in_the_whole_model,
    a_later_layers_weight_can_be_set,
    a_model_checks_its_own_numbers,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
