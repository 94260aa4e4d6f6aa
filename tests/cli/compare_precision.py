#!/usr/bin/python3
"""compare judges a program's arrays as check does: right ones pass at every precision and in every
form, planted faults are found at their step. The numbers are NumPy's.

    compare_precision.py QKV

Each function below is one claim.
"""

import json
import sys

import numpy as np

from harness import equal, main, qkv
from exports import write_safetensors

N, D, H, DK = 9, 24, 3, 8


def lesson_text(rng, n=N):
    def rows(matrix):
        return json.dumps(np.round(matrix, 3).tolist())
    weights = {name: np.round(rng.normal(size=(D, D)) / np.sqrt(D), 3) for name in ("W_Q", "W_K", "W_V", "W_O")}
    x = np.round(rng.normal(size=(n, D)), 3)
    givens = {"X": x, **weights}
    text = 'title = "A layer"\n' + "".join(
        f'[[given]]\nname = "{name}"\nvalue = {rows(value)}\n' for name, value in givens.items())
    steps = [("q", "project", ["X", "W_Q"], ""), ("k", "project", ["X", "W_K"], ""),
             ("v", "project", ["X", "W_V"], ""), ("Q", "split_heads", ["q"], f"heads = {H}\n"),
             ("K", "split_heads", ["k"], f"heads = {H}\n"), ("V", "split_heads", ["v"], f"heads = {H}\n"),
             ("scores", "score", ["Q", "K"], ""), ("scaled_scores", "scale", ["scores"], ""),
             ("masked_scores", "mask", ["scaled_scores"], ""),
             ("attention_weights", "softmax", ["masked_scores"], ""),
             ("context", "weighted_sum", ["attention_weights", "V"], ""),
             ("concat", "concat_heads", ["context"], ""), ("output", "project", ["concat", "W_O"], "")]
    for name, op, of, more in steps:
        text += f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n{more}'
    return text, givens


def bfloat16(array):
    """Rounded to bfloat16, nearest even, held as float32."""
    bits = np.asarray(array, "f4").view("u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype("u4").view("f4")


def computed(givens, rounded, scale=None, mask=-np.inf):
    """The layer as a program of a precision works it out: each result rounded to it."""
    n = len(givens["X"])
    g = {name: rounded(value) for name, value in givens.items()}
    made = {}

    def keep(name, value):
        made[name] = rounded(value)
        return made[name]
    for small, big in (("q", "Q"), ("k", "K"), ("v", "V")):
        flat = keep(small, g["X"] @ g["W_" + big])
        keep(big, flat.reshape(n, H, DK).transpose(1, 0, 2))
    scores = keep("scores", made["Q"] @ made["K"].transpose(0, 2, 1))
    scaled = keep("scaled_scores", scores / (np.sqrt(DK) if scale is None else scale))
    hidden = np.triu(np.ones((n, n), bool), 1)
    masked = keep("masked_scores", np.where(hidden, mask, scaled))
    e = np.exp(masked.astype("f8") - masked.max(-1, keepdims=True))
    weights = keep("attention_weights", e / e.sum(-1, keepdims=True))
    context = keep("context", weights @ made["V"])
    keep("concat", context.transpose(1, 0, 2).reshape(n, D))
    keep("output", made["concat"] @ g["W_O"])
    return made


PRECISIONS = {"float64": lambda a: np.asarray(a, "f8"), "float32": lambda a: np.asarray(a, "f4"),
              "float16": lambda a: np.asarray(a, "f2"), "bfloat16": bfloat16}


def compared(dump, lesson, *more):
    done = qkv("compare", dump, lesson, "--json", *more)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def the_lesson(folder, seed=1, n=N):
    text, givens = lesson_text(np.random.default_rng(seed), n)
    (folder / "layer.toml").write_text(text)
    return folder / "layer.toml", givens


def right_programs_pass_at_every_precision_and_in_every_form(folder):
    for seed in (1, 2):
        lesson, givens = the_lesson(folder, seed)
        for precision, rounded in PRECISIONS.items():
            arrays = computed(givens, rounded)
            np.savez(folder / "d.npz", **arrays)
            write_safetensors(folder / "d.safetensors", arrays)
            (folder / "d.json").write_text(json.dumps(
                {name: [[[float(x) if np.isfinite(x) else "-inf" for x in row] for row in np.atleast_2d(m)]
                        for m in (a if a.ndim == 3 else a[None])] for name, a in arrays.items()}))
            there = folder / f"{precision}-{seed}"
            there.mkdir()
            for name, array in arrays.items():
                np.save(there / f"{name}.npy", array)
            for dump in (folder / "d.npz", folder / "d.safetensors", folder / "d.json", there):
                for sides in ((dump, lesson), (lesson, dump)):
                    status, said = compared(*sides)
                    equal((status, said["first"]), (0, None), f"{precision} {dump}")
                done = qkv("check", lesson, dump, "--json")
                equal(json.loads(done.stdout)["first_wrong"], None, f"{precision} {dump}")


def printed_digits_show_the_type_of_the_whole_dump(folder):
    """Nine digits hold a float32. The last row of one step may show no type by itself."""
    for seed in range(1, 7):
        lesson, givens = the_lesson(folder, seed)
        arrays = computed(givens, bfloat16)
        there = folder / f"printed-{seed}"
        there.mkdir()
        for name, array in arrays.items():
            for head, matrix in enumerate(array if array.ndim == 3 else [array], 1):
                suffix = f".head-{head}" if array.ndim == 3 else ""
                np.savetxt(there / f"{name}{suffix}.csv", matrix[-1:], delimiter=",", fmt="%.9g")
        status, said = compared(there, lesson)
        equal((status, said["first"]), (0, None), f"{seed}")
        one = there / "scaled_scores.head-1.csv"
        numbers = one.read_text().split(",")
        numbers[1] = "10.890625"  # a float16, but no bfloat16
        one.write_text(",".join(numbers))
        status, said = compared(there, lesson)
        equal((status, said["first"]), (1, "scaled_scores"), f"{seed}")


def a_softmax_in_half_precision_excuses_no_other_step(folder):
    """Scores in sixteenths are numbers of every type; these are of a program in float32."""
    q, k = np.array([[1.25, .5], [-2, .75], [.25, 1.5]]), np.array([[.75, 2], [1.25, -1.25], [-.5, .25]])
    v = np.array([[1., 2], [0, 1], [3, 1]])
    lesson = step_lesson(folder, 'op = "score"', Q=q, K=k)
    lesson.write_text(lesson.read_text().replace('"y"', '"scores"') + f"""[[given]]
name = "V"
value = {v.tolist()}
[[step]]
name = "attention_weights"
op = "softmax"
of = ["scores"]
[[step]]
name = "context"
op = "weighted_sum"
of = ["attention_weights", "V"]
""")
    scores = q @ k.T
    e = np.exp(scores - scores.max(1, keepdims=True))
    weights = bfloat16(e / e.sum(1, keepdims=True))
    for off, due in ((0, (0, None)), (2 ** -6, (1, "scores"))):
        wrong = scores.copy()
        wrong[0, 0] += off
        np.savez(folder / "d.npz", scores=wrong.astype("f4"), attention_weights=weights,
                 context=(weights @ v).astype("f4"))
        status, said = compared(folder / "d.npz", lesson)
        equal((status, said["first"]), due)
    np.savez(folder / "d.npz", scores=scores.astype("f4"), attention_weights=weights,
             context=(weights @ v).astype("f4"))
    equal(compared(folder / "d.npz", lesson, "--strict")[1]["first"], "attention_weights")


def planted_faults_are_found_at_their_step(folder):
    lesson, givens = the_lesson(folder)
    for precision, rounded in PRECISIONS.items():
        for step, plant, name in FAULTS:
            arrays = computed(givens, rounded)
            arrays = plant(arrays, givens, rounded)
            np.savez(folder / "d.npz", **arrays)
            status, said = compared(folder / "d.npz", lesson)
            equal((status, said["first"]), (1, step), f"{precision} {plant.__name__}")
            first = next(one for one in said["steps"] if one["step"] == step)
            ids = [mistake["id"] for mistake in first["mistakes"]]
            assert name is None or name in ids, (precision, plant.__name__, ids)


def a_softmax_in_half_precision_is_wrong_only_if_strict(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float32"])
    arrays["attention_weights"] = arrays["attention_weights"].astype("f2").astype("f4")
    arrays["context"] = (arrays["attention_weights"] @ arrays["V"]).astype("f4")
    arrays["concat"] = arrays["context"].transpose(1, 0, 2).reshape(N, D)
    arrays["output"] = (arrays["concat"] @ givens["W_O"]).astype("f4")
    np.savez(folder / "d.npz", **arrays)
    np.savez(folder / "half.npz", **computed(givens, PRECISIONS["float16"]))
    for command in (["compare", folder / "d.npz", lesson], ["check", lesson, folder / "d.npz"]):
        said = json.loads(qkv(*command, "--json").stdout)
        step = next(step for step in said["steps"] if step["step"] == "attention_weights")
        equal((qkv(*command).returncode, step["coarser"]), (0, "float16"), command[0])
        done = qkv(*command, "--strict")
        equal(done.returncode, 1, command[0])
    equal(json.loads(qkv(*command, "--strict", "--json").stdout)["first_wrong"], "attention_weights")
    assert "float16, coarser than the rest's" in " ".join(done.stdout.split()), done.stdout
    for command in (["compare", folder / "half.npz", lesson], ["check", lesson, folder / "half.npz"]):
        equal(qkv(*command, "--strict").returncode, 0, "all of it is in one type")


def unscaled(arrays, givens, rounded):
    return computed(givens, rounded, scale=1)


def a_tile_of_zeros(arrays, givens, rounded):
    arrays["context"] = arrays["context"].copy()
    arrays["context"][1:, 4:, 4:] = 0
    return arrays


def nan_tile(arrays, givens, rounded):
    arrays["attention_weights"] = arrays["attention_weights"].copy()
    arrays["attention_weights"][0, 3:6, :3] = np.nan
    return arrays


def overflow(arrays, givens, rounded):
    arrays["scores"] = arrays["scores"].copy()
    arrays["scores"][2, 0, 0] = -np.inf
    return arrays


FAULTS = [("scaled_scores", unscaled, "scale.skipped"), ("context", a_tile_of_zeros, None),
          ("attention_weights", nan_tile, None), ("scores", overflow, None)]


def an_overflow_is_a_difference_without_a_lesson(folder):
    scores = np.array([[-68000.0, 2, 3], [1, 2, 3]])
    np.savez(folder / "a.npz", scores=np.where(scores < -65504, -np.inf, scores).astype("f2"))
    np.savez(folder / "b.npz", scores=scores)
    equal(compared(folder / "a.npz", folder / "b.npz")[0], 1)
    masked = np.array([[1, -np.inf], [2, 3.0]])
    np.savez(folder / "a.npz", masked_scores=masked)
    for low in (-1e9, -65504, -10000.0):
        np.savez(folder / "b.npz", masked_scores=np.where(np.isinf(masked), low, masked))
        equal(compared(folder / "a.npz", folder / "b.npz")[0], 0, str(low))
        for name in ("K", "h0.up", "logits", "foo"):  # no mask, or none before it
            np.savez(folder / "c.npz", **{name: masked, "masked_scores": masked * 1})
            np.savez(folder / "d.npz", **{name: np.where(np.isinf(masked), low, masked), "masked_scores": masked})
            equal(compared(folder / "c.npz", folder / "d.npz")[0], 1, f"{low} in {name}")
    for before, name, due in (("masked_scores", "softmax_in", 0), ("attention_mask", "scores", 0), ("W", "att", 0),
                              ("Scores", "K", 1)):  # from a mask onwards; in scores; elsewhere
        np.savez(folder / "c.npz", **{before: np.ones((1, 2)), name: masked})
        np.savez(folder / "d.npz", **{before: np.ones((1, 2)), name: np.where(np.isinf(masked), -1e9, masked)})
        equal(compared(folder / "c.npz", folder / "d.npz")[0], due, name)


def layouts_are_put_in_order_and_said(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float32"])
    inside = {name: a.transpose(1, 0, 2) if a.shape == (H, N, DK) else a for name, a in arrays.items()}
    flat = {name: a.transpose(1, 0, 2).reshape(N, D) if a.shape == (H, N, DK) else a
            for name, a in arrays.items()}
    batch = {name: np.stack([a * 0, a]) for name, a in arrays.items()}
    one = {name: a[None] for name, a in inside.items()}
    for form, said_of_it, options in ((inside, "heads inside", ()), (flat, "heads side by side", ()),
                                      (one, "heads inside", ()),
                                      (batch, "sentence 2 of the batch", ("--batch", 2))):
        np.savez(folder / "d.npz", **form)
        status, said = compared(folder / "d.npz", lesson, *options)
        equal((status, said["first"]), (0, None), said_of_it)
        layouts = {step["step"]: step.get("layout") for step in said["steps"]}
        equal(layouts["Q"], said_of_it)
    np.savez(folder / "d.npz", **batch)
    equal(compared(folder / "d.npz", lesson, "--batch", 1)[0], 1)


def names_are_mapped_and_steps_required(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float32"])
    theirs = {"blk.probs": arrays["attention_weights"], "blk.raw_scores": arrays["scores"],
              "other": np.eye(2)}
    np.savez(folder / "d.npz", **theirs)
    equal(qkv("compare", folder / "d.npz", lesson).returncode, 2)
    maps = ["--map", "blk.probs=attention_weights", "--map", "blk.raw_*=*"]
    done = qkv("compare", folder / "d.npz", lesson, *maps)
    equal(done.returncode, 0, done.stdout + done.stderr)
    last = " ".join(done.stdout.split("\n\n")[-1].split())
    assert "2 steps were compared" in last and "11 more had no array" in last, last
    assert "1 array fits no step: other." in last, last
    status, said = compared(folder / "d.npz", lesson, *maps)
    equal((said["compared"], len(said["missing"]), said["unknown"]), (2, 11, ["other"]))
    equal(compared(folder / "d.npz", lesson, *maps, "--require", "scores")[0], 0)
    status, said = compared(folder / "d.npz", lesson, *maps, "--require", "scores,context")
    equal((status, said["first"]), (1, "context"))
    status, said = compared(folder / "d.npz", lesson, *maps, "--require", "all")
    equal((status, said["first"]), (1, "q"))
    equal(qkv("compare", folder / "d.npz", lesson, *maps, "--require", "soup").returncode, 2)
    np.savez(folder / "a.npz", x=[1.0, 2], y=[3.0, 4])  # of two dumps, whichever lacks it
    np.savez(folder / "b.npz", x=[1.0, 2])
    for one, other in (("a.npz", "b.npz"), ("b.npz", "a.npz")):
        equal(compared(folder / one, folder / other, "--require", "x")[0], 0)
        equal(compared(folder / one, folder / other, "--require", "y")[0], 1)
    equal(qkv("compare", folder / "d.npz", lesson, "--map", "soup").returncode, 2)
    np.savez(folder / "stars.npz", **{f"run1.{name}.out_cpu": array for name, array in arrays.items()})
    for program in (("compare", folder / "stars.npz", lesson), ("check", lesson, folder / "stars.npz")):
        done = qkv(*program, "--map", "run*.*.out_*=*")  # the run's number is the name: no step
        equal(done.returncode, 2, done.stdout + done.stderr)
        done = qkv(*program, "--map", "*1.*.out_cpu=*")
        equal(done.returncode, 2, done.stdout + done.stderr)
    np.savez(folder / "stars.npz", **{f"{name[0]}.of.{name[1:]}.out": array for name, array in arrays.items()})
    for program in (("compare", folder / "stars.npz", lesson), ("check", lesson, folder / "stars.npz")):
        done = qkv(*program, "--map", "*.of.*.out=**")
        equal((done.returncode, "fits no step" in done.stdout), (0, False), done.stdout + done.stderr)


def check_maps_names_too(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float32"])
    np.savez(folder / "d.npz", **{"blk.probs": arrays["attention_weights"], "blk.raw_scores": arrays["scores"]})
    maps = ["--map", "blk.probs=attention_weights", "--map", "blk.raw_*=*"]
    done = qkv("check", lesson, folder / "d.npz", *maps)
    equal(done.returncode, 0, done.stdout + done.stderr)
    assert "right: scores, attention_weights" in done.stdout, done.stdout
    np.save(folder / "mine.npy", arrays["scores"] + 1)
    equal(qkv("check", lesson, folder / "mine.npy", "--map", "mine=scores").returncode, 1)
    for wrong, said in (("blk.probs=attention", 'has no step "attention"; did you mean "attention_weights"?'),
                        ("soup=scores", 'has no array or file "soup" that becomes a step'),
                        ("blk.prob*=soup*", 'has no array or file "blk.prob*" that becomes a step')):
        done = qkv("check", lesson, folder / "d.npz", *maps[2:], "--map", wrong)
        equal(done.returncode, 2)
        assert said in done.stderr, done.stderr
    np.savez(folder / "two.npz", scores=arrays["scores"], other=arrays["scores"] + 1)
    done = qkv("check", lesson, folder / "two.npz", "--map", "other=scores")
    assert done.stderr.endswith("two.npz, scores have different numbers for scores; keep one of them\n"), done.stderr
    assert done.returncode == 2 and "two arrays called" in done.stderr, done.stderr
    (folder / "class").mkdir()
    np.save(folder / "class" / "_transposed.npy", arrays["scores"].T)  # an array without a name of its own
    done = qkv("check", lesson, folder / "class", "--map", "*=scores*")
    equal((done.returncode, "scores:" in done.stdout), (2, False), done.stdout)
    (folder / "class" / "other.npz").write_bytes(b"PK\3\4garbage")
    np.save(folder / "class" / "scores.npy", arrays["scores"])
    done = qkv("check", lesson, folder / "class", "--map", "soup=scores")
    assert "other.npz" in done.stderr and "soup" not in done.stderr, done.stderr


def a_map_has_to_fit_one_submission_of_a_class(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float32"])
    for name, file in (("ann", "probs"), ("bob", "attention_weights"), ("cid", "softmax")):
        (folder / "class" / name).mkdir(parents=True)
        np.save(folder / "class" / name / f"{file}.npy", arrays["attention_weights"])
        np.save(folder / "class" / name / "scores.npy", arrays["scores"])
    maps = ["--map", "probs=attention_weights", "--map", "softmax=attention_weights"]
    done = qkv("check", lesson, folder / "class", *maps)
    equal((done.returncode, done.stdout.count("incomplete, 378 of 2700 marks")), (0, 3), done.stdout + done.stderr)
    done = qkv("check", lesson, folder / "class", *maps, "--map", "soup=scores")
    equal((done.returncode, done.stdout), (2, ""))
    assert "no submission has an array or file \"soup\" that becomes a step" in done.stderr, done.stderr


def a_map_may_be_covered_by_more_specific_ones(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float64"])
    np.savez(folder / "d.npz", **{"x.Q": arrays["Q"], "x.K": arrays["K"]})
    status, _ = compared(folder / "d.npz", lesson, "--map", "x.*=*", "--map", "x.Q=Q", "--map", "x.K=K")
    equal(status, 0)


def a_map_keeps_the_head(folder):
    equal(qkv("export", "two-heads", "-o", folder / "lesson", "--format", "npz").returncode, 0)
    steps = np.load(folder / "lesson" / "lesson.npz")
    for head, weights in enumerate(steps["attention_weights"]):
        np.save(folder / f"probs.head-{head + 1}.npy", weights)
    done = qkv("check", "two-heads", folder / "probs.head-2.npy", "--map", "probs=attention_weights", "--json")
    equal((done.returncode, json.loads(done.stdout)["steps"][0]["cells"]["blank"]),
          (0, steps["attention_weights"][0].size), done.stdout + done.stderr)
    np.save(folder / "probs.head-2.npy", steps["attention_weights"][1] + 0.25)
    done = qkv("check", "two-heads", folder / "probs.head-2.npy", "--map", "probs=attention_weights", "--json")
    equal((done.returncode, json.loads(done.stdout)["steps"][0]["first"]["head"]), (1, 2), done.stdout)


def a_name_is_mapped_once(folder):
    np.savez(folder / "a.npz", mine=[1.0, 2], yours=[3.0, 4])
    np.savez(folder / "b.npz", scores=[1.0, 2], Q=[3.0, 4])

    def says(*maps):
        done = qkv("compare", folder / "a.npz", folder / "b.npz", *(word for one in maps for word in ("--map", one)))
        return done.returncode, done.stderr.replace(str(folder), "")

    equal(says("mine=scores", "yours=Q"), (0, ""))
    equal(says("mine=scores", "mine=scores", "yours=Q"), (0, ""))
    equal(says("mine=scores", "mine=Q"),
          (2, "qkv: --map: mine is mapped twice, to scores and to Q; keep one of them\n"))
    equal(says("mine=scores", "yours=scores"),
          (2, "qkv: --map: mine and yours of /a.npz would both be scores; map each to a name of its own\n"))
    equal(says("mine=yours", "yours=mine")[0], 2)  # exchanged: neither is known in the other
    (folder / "maps").write_bytes("\ufeffmine=scores\r\nyours=Q\r\n".encode())
    equal(says(folder / "maps"), (0, ""))


def a_last_row_is_found_within_the_tolerance_and_without_its_name(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float64"])
    last = {name: arrays[name][..., -1, :] for name in ("scores", "context")}
    np.savez(folder / "d.npz", **{name: row + 0.05 for name, row in last.items()})
    equal(compared(folder / "d.npz", lesson)[0], 1)
    equal(compared(folder / "d.npz", lesson, "--atol", "0.01")[0], 1)
    equal(compared(folder / "d.npz", lesson, "--atol", "0.06")[0], 0)
    np.savez(folder / "d.npz", scores=arrays["scores"], last=last["context"])
    equal(compared(folder / "d.npz", lesson)[1]["maps"], ["last=context"])
    equal(compared(folder / "d.npz", lesson, "--map", "last=context")[0], 0)


def tolerances_of_steps(folder):
    lesson, givens = the_lesson(folder)
    arrays = computed(givens, PRECISIONS["float64"])
    arrays["scores"] = arrays["scores"] + 1e-4
    np.savez(folder / "d.npz", scores=arrays["scores"], context=arrays["context"])
    equal(compared(folder / "d.npz", lesson)[0], 1)
    equal(compared(folder / "d.npz", lesson, "--tol", "sco*=1e-3")[0], 0)
    equal(compared(folder / "d.npz", lesson, "--tol", "context=1e-3")[0], 1)
    equal(compared(folder / "d.npz", lesson, "--atol", "1e-3")[0], 0)
    equal(qkv("compare", folder / "d.npz", lesson, "--tol", "scores").returncode, 2)


def two_right_dumps_agree_as_torch_has_it(folder):
    import torch
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(64, 768)).astype("f4"), rng.normal(size=(768, 64)).astype("f4")
    one = a @ b
    other = sum(a[:, k:k + 96] @ b[k:k + 96] for k in range(0, 768, 96)).astype("f4")
    np.savez(folder / "a.npz", a=a, b=b, y=one)
    np.savez(folder / "b.npz", a=a, b=b, y=other)
    equal(compared(folder / "a.npz", folder / "b.npz")[0], 0)
    np.savez(folder / "b.npz", a=a, b=b, y=one * 1.01)
    equal(compared(folder / "a.npz", folder / "b.npz")[0], 1)
    # of one number each, where there is one term, it is assert_close itself
    for kind, off in (("f2", 2e-3), ("f2", 5e-4), ("f4", 2e-6), ("f4", 5e-6), ("f8", 1.5e-7), ("f8", 4e-7)):
        actual, desired = np.array([1 + off], kind), np.array([1.0], kind)
        np.savez(folder / "a.npz", s=actual)
        np.savez(folder / "b.npz", s=desired)
        try:
            torch.testing.assert_close(torch.tensor(actual), torch.tensor(desired))
            due = 0
        except AssertionError:
            due = 1
        equal(compared(folder / "a.npz", folder / "b.npz")[0], due, f"{kind} {off}")


def step_lesson(folder, step, **givens):
    """A lesson of one step that takes all the givens."""
    text = 'title = "A step"\n' + "".join(
        f'[[given]]\nname = "{name}"\nvalue = {json.dumps(value.tolist())}\n' for name, value in givens.items())
    (folder / "step.toml").write_text(f"{text}[[step]]\nname = \"y\"\nof = {json.dumps(list(givens))}\n{step}\n")
    return folder / "step.toml"


def the_form_of_gelu_shows_in_sixteen_bits(folder):
    import torch
    from torch.nn.functional import gelu
    for kind, name in ((torch.bfloat16, "bfloat16"), (torch.float16, "float16")):
        torch.manual_seed(1)
        x = (1.5 * torch.randn(64, 48)).to(kind)
        forms = {form: gelu(x.double(), approximate=torch_name) for form, torch_name in (("tanh", "tanh"), ("erf", "none"))}
        for form in forms:
            lesson = step_lesson(folder, f'op = "gelu"\nform = "{form}"', x=x.double())
            for its, numbers in forms.items():
                np.savez(folder / "d.npz", y=PRECISIONS[name](numbers.numpy()))
                status, said = compared(folder / "d.npz", lesson)
                equal(status, int(its != form), f"{its} for {form} in {name}")
                if its == form:
                    continue
                step = said["steps"][-1]
                equal([mistake["id"] for mistake in step["mistakes"]], ["activation.other"])
                first = step["first"]
                assert step["atol"] < abs(first["actual"] - first["desired"]) < step["max_absolute"] * 1.001, step
        # Each operation rounded by itself: noise, and no other form.
        x = x.float() if kind == torch.float16 else x
        lesson = step_lesson(folder, 'op = "gelu"\nform = "erf"', x=x.double())
        made = (x * 0.5 * (1.0 + torch.erf(x / 2 ** 0.5).to(kind).to(x.dtype))).float().numpy()
        np.savez(folder / "d.npz", y=PRECISIONS[name](made))
        equal(compared(folder / "d.npz", lesson)[0], 0, f"one operation at a time in {name}")


def the_form_of_gelu_shows_among_small_numbers_beside_single_precision(folder):
    """All are within a unit of single precision of the right ones, and to the last place those of the other form."""
    import torch
    torch.manual_seed(0)
    small, low = torch.rand(16, 32) * 3.5e-4 + 6e-4, -5.15 - torch.rand(16, 32) * 0.4
    x, z = torch.where(torch.rand(16, 32) < 0.5, small, low).bfloat16().double(), torch.rand(16, 32).double()
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "z.npy", z.numpy())
    (folder / "two.toml").write_text(
        'title = "Two steps"\n[[given]]\nname = "x"\nfile = "x.npy"\n[[given]]\nname = "z"\nfile = "z.npy"\n'
        '[[step]]\nname = "third"\nop = "scale"\nby = 3\nof = ["z"]\n'
        '[[step]]\nname = "y"\nop = "gelu"\nform = "erf"\nof = ["x"]\n')
    for form, status in (("none", 0), ("tanh", 1)):
        y = torch.nn.functional.gelu(x, approximate=form).bfloat16().float()
        np.savez(folder / "d.npz", third=(z / 3).float().numpy(), y=y.numpy())
        equal(compared(folder / "d.npz", folder / "two.toml")[0], status, form)


def a_mask_that_lets_weights_through_shows_in_sixteen_bits(folder):
    lesson, givens = the_lesson(folder)
    for name in ("float16", "bfloat16"):
        for mask, first in ((-np.inf, None), (-1e4, None), (-10.0, "attention_weights")):
            arrays = computed(givens, PRECISIONS[name], mask=mask)
            del arrays["masked_scores"]
            np.savez(folder / "d.npz", **arrays)
            status, said = compared(folder / "d.npz", lesson)
            equal((status, said["first"]), (int(first is not None), first), f"{mask} in {name}")


def torchs_norms_in_bfloat16_are_right(folder):
    import torch
    for seed in range(8):
        torch.manual_seed(seed)
        x = torch.randn(8, 64)
        x[:, 5] += 50 * (seed % 4)
        x, gain, bias = (one.bfloat16() for one in (x, torch.rand(64) + 0.5, 0.1 * torch.randn(64)))
        lesson = step_lesson(folder, 'op = "layer_norm"', x=x.double(), gain=gain.double(), bias=bias.double())
        y = torch.nn.functional.layer_norm(x, (64,), gain, bias).float().numpy()
        np.savez(folder / "d.npz", y=y)
        equal(compared(folder / "d.npz", lesson)[0], 0, f"seed {seed}")
        y[3, 5] += 0.05 * np.abs(y).max()
        np.savez(folder / "d.npz", y=bfloat16(y))
        equal(compared(folder / "d.npz", lesson)[0], 1, f"one cell of seed {seed}")
        unbiased = torch.nn.functional.layer_norm(x.double(), (64,), gain.double()).numpy()
        np.savez(folder / "d.npz", y=bfloat16(unbiased))
        equal(compared(folder / "d.npz", lesson)[0], 1, f"no bias in seed {seed}")


def torchs_layer_norm_of_rows_far_from_0_is_right_in_single_precision(folder):
    """Numbers that cancel leave it as far off as single precision does, and no further."""
    import torch
    torch.manual_seed(3)
    for width in (2, 3, 8, 16):
        for offset in (4, 30, 100):
            x, gain, bias = torch.randn(4, width) + offset, torch.ones(width), torch.zeros(width)
            lesson = step_lesson(folder, 'op = "layer_norm"', x=x.double(), gain=gain, bias=bias)
            right = torch.nn.functional.layer_norm(x, (width,))
            for y, status in ((right, 0), (right * (1 + 1e-3), 1)):
                np.savez(folder / "d.npz", x=x.numpy(), y=y.numpy())
                equal(compared(folder / "d.npz", lesson)[0], status, f"{width} columns around {offset}")


def an_id_that_is_nearly_whole_ends_in_a_verdict(folder):
    rng = np.random.default_rng(0)
    ids, table = rng.integers(50, size=80), rng.normal(size=(50, 64))
    lesson = step_lesson(folder, 'op = "embed"', ids=ids, table=table)
    near, rows = ids.astype("f4"), table[ids].astype("f4")
    near[3] += 2e-6
    rows[3, 4] += 0.5
    np.savez(folder / "d.npz", ids=near, y=rows)
    status, said = compared(folder / "d.npz", lesson)
    equal((status, said["first"]), (1, "y"))


def a_cell_that_only_moves_is_exact_to_a_unit(folder):
    """Three units are for what is rounded on the way: products and norms."""
    lesson, givens = the_lesson(folder)
    made = computed(givens, bfloat16)
    moved = made["Q"].copy()
    moved[1, 2, 3] += 2.5 / 128 * np.abs(moved).max()
    np.savez(folder / "d.npz", **made | {"Q": bfloat16(moved)})
    status, said = compared(folder / "d.npz", lesson)
    equal((status, said["first"]), (1, "Q"))


def numbers_below_float16_s_smallest_are_right(folder):
    rng = np.random.default_rng(8)
    x = 1e-5 * rng.normal(size=(4, 6))
    lesson = step_lesson(folder, 'op = "scale"\nby = 3', x=x)
    for y, due in ((x / 3, 0), (x / 3 * 1.03 + 1e-7, 1), (-x / 3, 1)):
        np.savez(folder / "d.npz", y=y.astype("f2"))
        equal(compared(folder / "d.npz", lesson)[0], due)


def a_mask_that_right_cells_contradict_is_no_fact(folder):
    rng = np.random.default_rng(9)
    x = np.round(rng.normal(size=(5, 5)), 3)
    lesson = step_lesson(folder, 'op = "mask"\nkind = "causal"', x=x)
    for ahead, is_sure in ((3, False), (9, True)):  # the next two left visible; all of them
        np.savez(folder / "d.npz", y=np.where(np.triu(np.ones((5, 5)), ahead), -np.inf, x))
        status, said = compared(folder / "d.npz", lesson)
        (step,) = [step for step in said["steps"] if step["step"] == "y"]
        equal((status, [one["id"] for one in step["mistakes"] if one["sure"]]), (1, ["mask.skipped"] * is_sure))


def mistakes_in_missing_steps_of_large_programs_are_named(folder):
    n, d, heads = 64, 256, 4
    rng = np.random.default_rng(5)
    givens = {name: rng.normal(size=(n if name == "X" else d, d)).astype("f4") / (1 if name == "X" else 16)
              for name in ("X", "W_Q", "W_K", "W_V", "W_O")}
    steps = [("q", "project", "X", "W_Q"), ("k", "project", "X", "W_K"), ("v", "project", "X", "W_V"),
             ("Q", "split_heads", "q"), ("K", "split_heads", "k"), ("V", "split_heads", "v"), ("scores", "score", "Q", "K"),
             ("scaled_scores", "scale", "scores"), ("masked_scores", "mask", "scaled_scores"),
             ("attention_weights", "softmax", "masked_scores"), ("context", "weighted_sum", "attention_weights", "V"),
             ("concat", "concat_heads", "context"), ("output", "project", "concat", "W_O"), ("residual", "add", "X", "output")]
    np.savez(folder / "givens.npz", **givens)
    (folder / "large.toml").write_text(
        'title = "A layer"\n'
        + "".join(f'[[given]]\nname = "{name}"\nfile = "givens.npz"\nkey = "{name}"\n' for name in givens)
        + "".join(f'[[step]]\nname = "{name}"\nop = "{op}"\nof = {json.dumps(of)}\n'
                  + (f"heads = {heads}\n" if op == "split_heads" else "") for name, op, *of in steps))

    def program(mistake):
        def split(x):
            return x.reshape(n, heads, -1).transpose(1, 0, 2)
        q, k, v = (split(givens["X"] @ givens[name]) for name in ("W_Q", "W_K", "W_V"))
        scores = (k if mistake == "score.same-operand" else q) @ k.transpose(0, 2, 1)
        scores = scores if mistake == "scale.skipped" else scores / np.float32(8)
        scores = scores if mistake == "mask.skipped" else np.where(np.triu(np.ones((n, n), bool), 1), -np.inf, scores)
        axis = -2 if mistake == "softmax.columns" else -1
        e = np.exp(scores - scores.max(axis, keepdims=True))
        output = ((e / e.sum(axis, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, d) @ givens["W_O"]
        return {"Q": q, "K": k, "V": v, "residual": (givens["X"] + output).astype("f4")}
    for mistake in (None, "score.same-operand", "scale.skipped", "mask.skipped", "softmax.columns"):
        np.savez(folder / "d.npz", **program(mistake))
        status, said = compared(folder / "d.npz", folder / "large.toml")
        equal((status, said["first"]), (0, None) if mistake is None else (1, "residual"), mistake)
        ids = [one["id"] for one in said["steps"][-1].get("mistakes", [])]
        unscaled_too = {"scale.skipped": "softmax.unscaled"}.get(mistake)
        assert mistake is None or mistake in ids or unscaled_too in ids, (mistake, ids)


CLAIMS = [
    mistakes_in_missing_steps_of_large_programs_are_named,
    the_form_of_gelu_shows_in_sixteen_bits,
    the_form_of_gelu_shows_among_small_numbers_beside_single_precision,
    a_mask_that_lets_weights_through_shows_in_sixteen_bits,
    torchs_norms_in_bfloat16_are_right,
    torchs_layer_norm_of_rows_far_from_0_is_right_in_single_precision,
    an_id_that_is_nearly_whole_ends_in_a_verdict,
    a_cell_that_only_moves_is_exact_to_a_unit,
    numbers_below_float16_s_smallest_are_right,
    a_mask_that_right_cells_contradict_is_no_fact,
    right_programs_pass_at_every_precision_and_in_every_form,
    printed_digits_show_the_type_of_the_whole_dump,
    a_softmax_in_half_precision_excuses_no_other_step,
    planted_faults_are_found_at_their_step,
    a_softmax_in_half_precision_is_wrong_only_if_strict,
    an_overflow_is_a_difference_without_a_lesson,
    layouts_are_put_in_order_and_said,
    names_are_mapped_and_steps_required,
    check_maps_names_too,
    a_map_has_to_fit_one_submission_of_a_class,
    a_map_may_be_covered_by_more_specific_ones,
    a_map_keeps_the_head,
    a_name_is_mapped_once,
    a_last_row_is_found_within_the_tolerance_and_without_its_name,
    tolerances_of_steps,
    two_right_dumps_agree_as_torch_has_it,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
