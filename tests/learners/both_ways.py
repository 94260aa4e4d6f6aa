#!/usr/bin/python3
"""qkv check --gradients: forward and backward of a submission in one, against PyTorch's autograd.

    both_ways.py QKV

Each function below is one claim.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from harness import equal, main, qkv  # noqa: E402

import gpt  # noqa: E402
import schema  # noqa: E402

GIVENS = {"X": [[1, 0, 2], [0, 1, 1], [3, 1, 0], [1, 1, 1]], "W_Q": [[1, 0], [0, 1], [1, 1]],
          "W_K": [[0, 1], [1, 1], [1, 0]], "W_V": [[1, 2], [0, 1], [2, 0]]}
STEPS = (("Q", "project", "X W_Q"), ("K", "project", "X W_K"), ("V", "project", "X W_V"),
         ("scores", "score", "Q K"), ("scaled_scores", "scale", "scores"),
         ("attention_weights", "softmax", "scaled_scores"),
         ("context", "weighted_sum", "attention_weights V"))


def lesson_of(givens, steps):
    text = 'title = "One head"\nsummary = "One line."\n'
    for name, value in givens.items():
        text += f'[[given]]\nname = "{name}"\nvalue = {value}\n'
    for name, op, of in steps:
        text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of.split())}\n'
    return text


HEAD = lesson_of(GIVENS, STEPS)
WITH_LOSS = lesson_of(GIVENS | {"targets": [0, 1, 1, 0]},
                      (*STEPS, ("loss", "cross_entropy", "context targets")))
ARRIVING = [[0.5, -1.0], [0.25, 0.75], [-0.5, 0.125], [1.0, -0.25]]


def worked(change=lambda name, gradient: gradient, with_loss=False):
    """The steps and gradients of that lesson by PyTorch, each gradient changed as it comes back."""
    there = {name: torch.tensor(value).double().requires_grad_() for name, value in GIVENS.items()}

    def put(name, value):
        there[name] = value
        if value.dim() == 2:
            value.register_hook(lambda gradient: change(name, gradient))
        value.retain_grad()
        return value

    q, k, v = (put(name, there["X"] @ there[f"W_{name}"]) for name in "QKV")
    scaled = put("scaled_scores", put("scores", q @ k.T) / 2 ** 0.5)
    context = put("context", put("attention_weights", scaled.softmax(-1)) @ v)
    if with_loss:
        put("loss", F.cross_entropy(context, torch.tensor([0, 1, 1, 0]))).backward()
    else:
        context.backward(torch.tensor(ARRIVING, dtype=torch.float64))
    return {name: one.detach().numpy() for name, one in there.items()}, {
        name: one.grad.numpy() for name, one in there.items() if one.grad is not None}


def written(folder, lesson, arrays):
    (folder / "l.toml").write_text(lesson)
    np.savez(folder / "mine.npz", **arrays)
    return folder / "l.toml", folder / "mine.npz"


def checked(*arguments, status=0):
    done = qkv("check", *arguments, "--gradients", "--json")
    equal((done.returncode, done.stderr if done.returncode == 2 else ""), (status, ""), str(arguments))
    report = json.loads(done.stdout)
    equal(schema.fault_of(report), "", "the report's schema")
    return report


def ways(report):
    return [(report[way]["verdict"], report[way]["first_wrong"]) for way in ("forward", "backward")]


def steps_with(steps, gradients, name=lambda one: f"d_{one}"):
    own = {one: array for one, array in steps.items() if one != "X" and not one.startswith("W_")}
    own |= {name(one): array for one, array in gradients.items()}
    return own


def gradients_from_the_one_that_arrives_are_right(folder):
    steps, gradients = worked()
    for name in (lambda one: f"d_{one}", lambda one: f"{one}.grad", lambda one: f"grad_{one}",
                 lambda one: f"d{one}"):
        lesson, mine = written(folder, HEAD, steps_with(steps, gradients, name))
        report = checked(lesson, mine)
        equal(ways(report)[0], ("correct", None), "forward")
        equal(report["backward"]["first_wrong"], None)
        wrong = [step["step"] for step in report["steps"] if step["verdict"] != "correct"]
        equal(wrong, [], "steps that are not correct")
        judged = {step["step"] for step in report["steps"]}
        equal({f"d_{one}" for one in gradients} - judged, {"d_context"}, "gradients not judged")
        equal(sorted(report["missing"]), ["d_X_by_K", "d_X_by_Q", "d_X_by_V"])
    told = qkv.printed("check", lesson, mine, "--gradients")
    assert "Forward pass: right. Gradients: right as far as submitted." in told, told[:300]


def gradients_from_the_loss_are_right(folder):
    steps, gradients = worked(with_loss=True)
    steps["loss"] = steps["loss"].reshape(1, 1)
    gradients["loss"] = gradients["loss"].reshape(1, 1)
    report = checked(*written(folder, WITH_LOSS, steps_with(steps, gradients)))
    equal([step["step"] for step in report["steps"] if step["verdict"] != "correct"], [])
    equal(ways(report), [("correct", None), ("incomplete", None)])


def a_wrong_way_back_is_told_apart_from_a_right_way_there(folder):
    steps, _ = worked()
    weights = torch.tensor(steps["attention_weights"])

    def no_sum(name, gradient):  # as if softmax sent dA back by each weight alone
        return weights * kept[0] if name == "scaled_scores" else gradient

    kept = []

    def keep(name, gradient):
        if name == "attention_weights":
            kept.append(gradient)
        return no_sum(name, gradient)

    steps, gradients = worked(keep)
    lesson, mine = written(folder, HEAD, steps_with(steps, gradients))
    report = checked(lesson, mine, status=1)
    equal(ways(report), [("correct", None), ("wrong", "d_scaled_scores")])
    (wrong,) = [step for step in report["steps"] if step["verdict"] == "wrong"]
    equal(wrong["mistakes"][0]["id"], "softmax-backward.no-sum")
    told = qkv("check", lesson, mine, "--gradients").stdout
    assert "Forward pass: right. Gradients: wrong, first in d_scaled_scores." in told, told[:300]


def a_wrong_way_there_is_reported_and_the_way_back_follows(folder):
    steps, gradients = worked()
    steps["attention_weights"] = steps["attention_weights"].copy()
    steps["attention_weights"][1, 2] += 0.25
    del steps["context"]
    gradients = {"context": np.array(ARRIVING),
                 "attention_weights": np.array(ARRIVING) @ steps["V"].T,
                 "V": steps["attention_weights"].T @ np.array(ARRIVING)}
    report = checked(*written(folder, HEAD, steps_with(steps, gradients)), status=1)
    equal(report["forward"]["first_wrong"], "attention_weights")
    equal(report["backward"]["first_wrong"], None)
    (followed,) = [step for step in report["steps"] if step["step"] == "d_V"]
    equal(followed["verdict"], "carried")


def files_by_hand_are_judged_by_their_decimals(folder):
    steps, gradients = worked()
    (folder / "l.toml").write_text(HEAD)
    (folder / "mine").mkdir()
    for name, array in steps_with(steps, gradients).items():
        np.savetxt(folder / "mine" / f"{name}.csv", array, "%.3f", ",")
    report = checked(folder / "l.toml", folder / "mine")
    equal({step["verdict"] for step in report["steps"]} <= {"correct", "rounding"}, True)
    equal(report["backward"]["first_wrong"], None)


def a_lesson_that_walks_back_is_told_by_its_two_ways(folder):
    qkv.printed("export", "way-back", "--format", "npz", "-o", folder / "out")
    report = checked("way-back", folder / "out" / "lesson.npz")
    equal(ways(report), [("correct", None), ("correct", None)])
    arrays = dict(np.load(folder / "out" / "lesson.npz"))
    arrays["d_attention_weights"] = -arrays["d_attention_weights"]
    np.savez(folder / "mine.npz", **arrays)
    report = checked("way-back", folder / "mine.npz", status=1)
    equal(ways(report), [("correct", None), ("wrong", "d_attention_weights")])
    plain = json.loads(qkv("check", "way-back", folder / "mine.npz", "--json").stdout)
    assert "forward" not in plain and plain["first_wrong"] == "d_attention_weights", plain.keys()


def a_model_is_judged_by_its_targets_or_by_what_arrives(folder):
    path = gpt.small_model(folder)
    weights, _ = gpt.read_safetensors(path)
    weights = {name: one.double() for name, one in weights.items()}
    steps = gpt.forward({name: one.requires_grad_() for name, one in weights.items()}, [2, 0, 1, 1], 4)
    for one in steps.values():
        if one.requires_grad:
            one.retain_grad()
    F.cross_entropy(steps["logits"][:-1], torch.tensor([0, 1, 1])).backward()
    arrays = {name: one.detach().numpy() for name, one in steps.items() if name != "token_ids"}
    arrays |= {f"{name}.grad": one.grad.numpy() for name, one in steps.items() if one.grad is not None}
    np.savez(folder / "mine.npz", **arrays)
    own = ("--model", path, "--text", "CABB")
    for extra in (("--targets", "next"), ()):
        report = checked(*own, *extra, folder / "mine.npz")
        equal([step["step"] for step in report["steps"] if step["verdict"] != "correct"], [])
        judged = [step["step"] for step in report["steps"]]
        equal("d_h0.attention_weights" in judged, True, judged)
        equal(report["forward"]["first_wrong"], None)


def refused(told, *arguments):
    done = qkv("check", *arguments, "--gradients")
    equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), str(arguments))
    assert told in done.stderr, f"{done.stderr} has not {told}"


def what_can_not_be_begun_at_is_refused_in_one_line(folder):
    steps, gradients = worked()
    lesson, mine = written(folder, HEAD, {"Q": steps["Q"]})
    refused("this lesson has no loss, and no gradient was submitted to begin with; also submit "
            "d_context.csv, the gradient of the loss by context", lesson, mine)
    refused("check one path at a time", lesson, mine, mine)
    lesson, mine = written(folder, HEAD, {"d_context": steps["scores"]})
    refused("the gradients begin at d_context, which must be 4×2", lesson, mine)
    (folder / "d_context.csv").write_text("1,2\n3,4\n5,\n7,8\n")
    refused("a number of d_context is missing, and the gradients begin with it", lesson,
            folder / "d_context.csv")
    lesson, mine = written(folder, HEAD, {"Q": steps["Q"], "dK": gradients["K"]})
    done = qkv("check", lesson, mine)
    assert "is it the gradient of K? --gradients checks gradients" in done.stderr, done.stderr


CLAIMS = [claim for name, claim in list(globals().items())
          if callable(claim) and getattr(claim, "__module__", "") == __name__
          and claim.__code__.co_varnames[:1] == ("folder",) and claim.__code__.co_argcount == 1]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
