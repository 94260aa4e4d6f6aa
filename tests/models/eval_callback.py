#!/usr/bin/python3
"""What llama-eval-callback prints of a model is compared: the numbers that are there, and the sums.

    eval_callback.py QKV

The texts are written here, in llama.cpp's format, from PyTorch's numbers.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

import gpt
import llama

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import harness  # noqa: E402
from harness import equal, qkv  # noqa: E402

IDS = [3, 18, 0, 3, 11, 7, 22]
NEW, OLD = "common_debug_cb_eval", "ggml_debug"


def printed_places(size):
    return list(range(size)) if size <= 6 else [0, 1, 2, size - 3, size - 2, size - 1]


def block(name, operation, array, kind="f32", marker=NEW):
    """A tensor as the callback prints it. Older programs indent more, and sum what they print."""
    array = np.asarray(array, "f4")
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    sizes = ", ".join(map(str, array.shape[::-1]))
    lines = [f"{marker}: {name:>24} = ({kind}) {operation:>10}(a{{{sizes}}}, b{{1, 1, 1, 1}}}}) = {{{sizes}}}"]
    indent = " " * (4 if marker == NEW else 37)
    total = np.float32(0)
    whole = np.float32(0)
    for number in array.reshape(-1):
        whole = np.float32(whole + number)

    def listed(size, line):
        for place in printed_places(size):
            if place == size - 3 and size > 6:
                lines.append(indent + "     ..., ")
            line(place)

    for outer in array:
        lines.append(indent + "[")

        def plane(i2, outer=outer):
            lines.append(indent + " [")

            def row(i1):
                nonlocal total
                cells = []
                for i0 in printed_places(array.shape[3]):
                    if i0 == array.shape[3] - 3 and array.shape[3] > 6:
                        cells.append("   ..." if marker == NEW else "...")
                    cells.append(f"{outer[i2, i1, i0]:12.4f}")
                    total = np.float32(total + outer[i2, i1, i0])
                lines.append(indent + "  [" + ", ".join(cells) + ("  ]," if marker == NEW else "],"))
            listed(array.shape[2], row)
            lines.append(indent + " ],")
        listed(array.shape[1], plane)
        lines.append(indent + "]")
        lines.append(f"{indent}sum = {whole if marker == NEW else total:f}")
    return "\n".join(lines) + "\n"


def tokens_first(array):
    return array.transpose(0, 1)


def flat(array):
    return tokens_first(array).reshape(array.shape[1], -1)


def padded(array, keys=32):
    return torch.cat([array, torch.zeros(*array.shape[:-1], keys - array.shape[-1], dtype=array.dtype)], -1)


def of_llama(steps, layers, last_only=False):
    """The tensors of a LLaMA's graph, in its order: name, operation and numbers."""
    yield "embd", "GET_ROWS", steps["token_embeddings"]
    for layer in range(layers):
        def one(step, layer=layer):
            return steps[f"h{layer}.{step}"]
        yield f"norm-{layer}", "RMS_NORM", one("norm1") * 3
        yield f"attn_norm-{layer}", "MUL", one("norm1")
        for name in "QKV":
            yield f"{name}cur-{layer}", "MUL_MAT", flat(one(name))
            yield f"{name}cur-{layer}", "RESHAPE", tokens_first(one(name))
        for name in "QK":
            normed = f"h{layer}.{name}_norm"
            if normed in steps:
                yield f"{name}cur_normed-{layer}", "MUL", tokens_first(steps[normed])
            yield f"{name}cur-{layer}", "ROPE", tokens_first(one(name + "_rope"))
        yield f"Qcur-{layer} (view) (permuted)", "PERMUTE", one("Q_rope")
        yield f"kq-{layer}", "MUL_MAT", padded(one("scores"))
        yield f"kq_soft_max-{layer}", "SOFT_MAX", padded(one("attention_weights"))
        yield f"kqv-{layer}", "MUL_MAT", one("context")
        yield f"kqv_out-{layer}", "CONT", one("concat")
        yield f"attn_out-{layer}", "MUL_MAT", one("output")
        rows = slice(-1, None) if last_only and layer == layers - 1 else slice(None)
        for theirs, operation, ours in (("ffn_inp", "ADD", "residual1"), ("ffn_norm", "MUL", "norm2"),
                                        ("ffn_gate", "MUL_MAT", "gate"), ("ffn_up", "MUL_MAT", "up"),
                                        ("ffn_swiglu", "SWIGLU", "gated"), ("ffn_out", "MUL_MAT", "mlp_out"),
                                        ("l_out", "ADD", "residual2")):
            yield f"{theirs}-{layer}", operation, one(ours)[rows]
    rows = slice(-1, None) if last_only else slice(None)
    yield "norm", "RMS_NORM", steps["norm"][rows] * 3
    yield "result_norm", "MUL", steps["norm"][rows]
    yield "result_output", "MUL_MAT", steps["logits"][rows]


def of_gpt2(steps, layers):
    """Those of a GPT-2, as older programs named them; biases are added last."""
    yield "inp_embd", "GET_ROWS", steps["token_embeddings"]
    yield "pos_embd", "GET_ROWS", steps["position_embeddings"]
    yield "inpL", "ADD", steps["X"]
    for layer in range(layers):
        def one(step, layer=layer):
            return steps[f"h{layer}.{step}"]
        yield f"attn_norm-{layer}", "ADD", one("norm1")
        for name in "QKV":
            yield f"{name}cur-{layer}", "CONT", flat(one(name))
        yield f"Qcur-{layer} (reshaped)", "RESHAPE", tokens_first(one("Q"))
        yield f"kq-{layer}", "MUL_MAT", one("scores")
        yield f"kq_soft_max_ext-{layer}", "SOFT_MAX", one("attention_weights")
        yield f"kqv-{layer}", "MUL_MAT", one("context")
        yield f"kqv_merged-{layer}", "PERMUTE", tokens_first(one("context"))
        yield f"kqv_merged_cont-{layer}", "CONT", one("concat")
        yield f"node_{31 + layer}", "MUL_MAT", one("output") - 1
        yield f"kqv_out-{layer}", "ADD", one("output")
        yield f"ffn_inp-{layer}", "ADD", one("residual1")
        yield f"ffn_norm-{layer}", "ADD", one("norm2")
        yield f"ffn_up-{layer}", "MUL_MAT", one("mlp_in") - 1
        yield f"ffn_up_b-{layer}", "ADD", one("mlp_in")
        yield f"ffn_gelu-{layer}", "UNARY", one("gelu")
        yield f"ffn_out-{layer}", "ADD", one("mlp_out")
        yield f"l_out-{layer}", "ADD", one("residual2")
    yield "result_norm", "ADD", steps["norm"]
    yield "result_output", "MUL_MAT", steps["logits"]


class Model:
    def __init__(self, folder, family, layers=2, **others):
        self.folder, self.layers, self.options = folder / family, layers, ()
        self.family = family
        self.folder.mkdir(exist_ok=True)
        if family == "gpt2":
            self.weights, self.options = gpt.random_weights(layers, 16, 23, 16, "in-out", 5), ("--model-heads", "4")
            gpt.write_safetensors(self.folder / "model.safetensors", self.weights)
        else:
            self.config = llama.config_of(family, num_hidden_layers=layers, **others)
            self.weights = llama.random_weights(self.config)
            llama.write(self.folder, self.config, self.weights)

    def tensors(self, instead=None, **options):
        if self.family == "gpt2":
            return list(of_gpt2(gpt.forward(self.weights, IDS, 4, "in-out"), self.layers))
        steps = llama.forward(self.weights, IDS, self.config, torch.float32, instead)
        return list(of_llama(steps, self.layers, **options))

    def compared(self, text, *words, ids=IDS):
        file = self.folder / "dump.txt"
        file.write_text(text)
        return qkv("compare", file, "--model", self.folder, "--ids", ",".join(map(str, ids)), *self.options, *words)


def text_of(tensors, marker=NEW):
    return "".join(block(*tensor, marker=marker) for tensor in tensors)


def steps_of(done):
    return {step["step"]: step for step in json.loads(done.stdout)["steps"]}


def right_texts_pass_and_say_how_much_they_show(folder):
    for family, layers in (("gpt2", 1), ("gpt2", 2), ("llama", 1), ("llama", 2), ("qwen2", 2), ("qwen3", 2)):
        model = Model(folder, family, layers)
        for marker in (NEW, OLD):
            text = f"main: build\n\n{text_of(model.tensors(), marker)}\nllama_perf_context_print: 1 ms\n"
            done = model.compared(text)
            equal((done.returncode, done.stderr), (0, ""), f"{family} {layers} {marker}: {done.stdout}")
            assert done.stdout.startswith("llama.cpp: names of "), done.stdout
            assert "each array fits a step" in done.stdout, done.stdout
            assert "the same within the tolerance in the " in done.stdout, done.stdout
            assert " numbers that are printed.\n" in done.stdout, done.stdout
            assert "identical" not in done.stdout, done.stdout
        steps = steps_of(model.compared(text, "--json"))
        wide, heads = (16, 4) if family == "gpt2" else (20, 6)
        equal(steps["h0.norm1"]["printed"], 36)  # 6 rows of 6
        equal(steps["h0.scores"]["printed"], min(heads, 6) * 36 if family == "gpt2" else 6 * 6 * 3, family)
        equal((steps["h0.norm1"]["elements"], steps["h0.norm1"]["desired_shape"]), (36, [7, wide]))
        for name in ("Q", "K", "concat", "output"):
            assert steps["h0." + name]["verdict"] == "close", (family, steps["h0." + name])


def a_sentence_of_a_batch_is_compared(folder):
    """Both sentences are printed, and the second is the lesson's."""
    for family in ("gpt2", "llama"):
        model = Model(folder, family)

        def doubled(name, operation, array):
            array = np.asarray(array, "f4")
            array = array.reshape((1,) * (4 - array.ndim) + array.shape)
            return name, operation, np.concatenate([array[:, :, ::-1] + 1, array])
        tensors = [doubled(*tensor) for tensor in model.tensors()]
        equal(model.compared(text_of(tensors), "--batch", "2").returncode, 0, family)
        equal(model.compared(text_of(tensors), "--batch", "1").returncode, 1, family)
        wrong = [(name, operation, array * (1.01 if name == "attn_norm-1" else 1)) for name, operation, array in tensors]
        done = model.compared(text_of(wrong), "--batch", "2", "--json")
        equal((done.returncode, json.loads(done.stdout)["first"]), (1, "h1.norm1"), family)


def as_many_tokens_as_heads_are_no_heads_in_front(folder):
    """llama.cpp's converter puts LLaMA's queries and keys in the order of the other pairing."""
    model = Model(folder, "llama")
    ids = IDS[:model.config["num_attention_heads"]]
    steps = llama.forward(model.weights, ids, model.config, torch.float32, None)
    for name, array in steps.items():
        if name.split(".")[-1] in ("Q", "K", "Q_rope", "K_rope"):
            steps[name] = array.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
    done = model.compared(text_of(of_llama(steps, model.layers)), ids=ids)
    equal(done.returncode, 0, done.stdout)


def bugs_are_found_at_their_step(folder):
    model = Model(folder, "llama")
    for step, wrong in (("h0.Q_rope", lambda x: x.flip(-1)), ("h1.scores", lambda x: x / 2), ("h0.context", torch.roll),
                        ("h1.norm2", lambda x: x * 1.05), ("h1.gated", lambda x: x * 0), ("h0.V", lambda x: -x)):
        def instead(value, wrong=wrong):
            return torch.roll(value, 1, 0) if wrong is torch.roll else wrong(value)
        for marker in (NEW, OLD):
            done = model.compared(text_of(model.tensors({step: instead}), marker), "--json")
            equal((done.returncode, json.loads(done.stdout)["first"]), (1, step))


def a_known_mistake_is_named(folder):
    for family in ("llama", "gpt2"):
        model = Model(folder, family, 1)
        tensors = model.tensors()
        raw = next(array for name, _, array in tensors if name == "kq-0")[..., :7]
        hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
        unscaled = raw.masked_fill(hidden, -torch.inf).softmax(-1)
        wrong = [(name, op, unscaled if name.startswith("kq_soft_max") else array) for name, op, array in tensors]
        done = model.compared(text_of(wrong))
        equal(done.returncode, 1)
        assert "The first that differs is h0.attention_weights." in done.stdout, done.stdout
        assert "√d_k" in done.stdout, done.stdout
        assert "Cell by cell" not in done.stdout, done.stdout  # check does not read such a text


def the_last_layer_may_have_its_last_row_alone(folder):
    model = Model(folder, "llama")
    done = model.compared(text_of(model.tensors(last_only=True)))
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    assert "the last row alone" in done.stdout, done.stdout
    done = model.compared(text_of(model.tensors({"h1.up": lambda x: x * 1.1}, last_only=True)), "--json")
    equal((done.returncode, json.loads(done.stdout)["first"]), (1, "h1.up"))


def what_is_not_printed_has_to_have_the_right_sum(folder):
    model = Model(folder, "llama")
    tensors = model.tensors()
    hidden = dict((name, array.clone()) for name, _, array in tensors)["ffn_gate-1"]
    hidden[3, 10] += 1  # neither the row nor the column is printed
    wrong = [(name, op, hidden if name == "ffn_gate-1" else array) for name, op, array in tensors]
    done = model.compared(text_of(wrong))
    equal(done.returncode, 1, done.stdout)
    assert "No printed number is wrong, but the sum of all is: " in done.stdout, done.stdout
    assert f"among the {7 * 28 - 36} numbers that are not printed" in done.stdout, done.stdout
    step = steps_of(model.compared(text_of(wrong), "--json"))["h1.gate"]
    equal(step["verdict"], "differs")
    assert abs(step["expected_sum"] - (float(hidden.sum()) - 1)) < 1e-4, step
    # Scores of queries that were scaled have a sum of their own.
    scaled = [(name, op, array * 8 ** -0.5 if name.startswith("kq-") else array) for name, op, array in tensors]
    equal(model.compared(text_of(scaled)).returncode, 0)
    hidden = dict((name, array.clone()) for name, _, array in scaled)["kq-1"]
    hidden[1, 3, 3] += 1
    wrong_scores = [(name, op, hidden if name == "kq-1" else array) for name, op, array in scaled]
    equal(json.loads(model.compared(text_of(wrong_scores), "--json").stdout)["first"], "h1.scores")
    # An older program sums what it prints: the difference can't be seen, and is not denied.
    done = model.compared(text_of(wrong, OLD))
    equal(done.returncode, 0, done.stdout)
    assert "(36 of 196 printed)" in done.stdout, done.stdout


def what_is_not_printed_is_not_zero_or_nan_unseen(folder):
    model = Model(folder, "llama")

    def with_other(name, change):
        return text_of([(own, op, change(array.clone()) if own == name else array)
                        for own, op, array in model.tensors()])

    def corner_alone(array):  # the sum of all is then that of the printed numbers
        kept = torch.zeros_like(array)
        index = [printed_places(size) for size in array.shape]
        kept[np.ix_(*index)] = array[np.ix_(*index)]
        return kept

    equal(model.compared(with_other("ffn_gate-0", corner_alone)).returncode, 1)
    for number in (float("nan"), 1e30):
        def hide(array, number=number):
            array[:, :, 3:7] = number  # neither among the first nor among the last three keys
            return array
        for name in ("kq-0", "kq_soft_max-0"):
            equal(model.compared(with_other(name, hide)).returncode, 1, name)


def each_operation_under_a_name_is_there_once(folder):
    model = Model(folder, "llama", 1)
    tensors = model.tensors()
    done = model.compared(text_of([(name, op, array * 3) for name, op, array in tensors]) + text_of(tensors))
    equal(done.returncode, 2, done.stdout)
    assert "is there twice: print one evaluation alone" in done.stderr, done.stderr
    of_one_token = [(name, op, array[..., -1:, :]) for name, op, array in tensors]
    done = model.compared(text_of(tensors) + text_of(of_one_token))
    equal(done.returncode, 2, done.stdout)
    assert "is there twice: print one evaluation alone" in done.stderr, done.stderr
    wrong = [(name, op, array * 9 if (name, op) == ("Vcur-0", "MUL_MAT") else array)
             for name, op, array in tensors]
    equal(model.compared(text_of(wrong)).returncode, 1)  # reshaped, the right numbers follow


def damaged_texts_are_refused_in_one_line(folder):
    model = Model(folder, "llama", 1)
    right = text_of(model.tensors())
    lines = right.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.strip() == "...,")

    def refused(text, *says):
        done = model.compared(text)
        equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        assert all(one in done.stderr for one in says), done.stderr

    for at in range(200, len(right) - 1, len(right) // 40):
        cut = right[:at]
        if not cut.endswith("\n") or "sum" not in cut.splitlines()[-1]:
            refused(cut)
    refused(right[:right.index("sum")].rstrip(), "the text ends within embd")
    refused("".join(lines[:first] + lines[first + 1:]), f"line {first + 1}: ")
    refused("".join(lines[:first + 1] + lines[first:]), f"line {first + 2}: ")
    refused(right.replace(" ..., ", " "), "a row of 20 numbers of embd")
    refused(right.replace("= {20, 7, 1, 1}", "= {20, 8, 2, 1}", 1))
    refused(right.replace("= {20, 7, 1, 1}", "= {20, 0, 1, 1}", 1), "is not the line of a tensor")
    refused(right.replace("= {20, 7, 1, 1}", "= {20, 7, 1, 99999999999999999999}", 1), "is not the line of a tensor")
    refused(right.replace("sum = ", "sum = x", 1), "the sum of embd")
    refused(right.rstrip()[:-2], "the sum of result_output")
    number = lines[3].split("[")[1].split(",")[0]
    refused(right.replace(number, number.replace(".", "x"), 1), "a row of 20 numbers of embd")


def forged_sizes_cost_what_the_file_costs(folder):
    model = Model(folder, "llama", 1)
    text = block("l_out-0", "ADD", np.ones((7, 7)))
    for sizes in ("{1000000000, 1000000000, 1, 1}", "{4294967296, 4294967296, 4294967296, 1}",
                  "{7, 7, 1, 1000000000000}", "{18446744073709551615, 7, 1, 1}"):
        done = model.compared(text.replace("= {7, 7, 1, 1}", f"= {sizes}"))
        equal((done.returncode in (1, 2), done.stderr.count("\n") <= 1), (True, True), done.stderr)
    done = model.compared(block("l_out-0", "ADD", np.ones((9, 9, 9, 9))))
    equal(done.returncode, 1, done.stdout)
    assert "OTHER SHAPE" in done.stdout, done.stdout


def nan_and_quantised_tensors(folder):
    model = Model(folder, "llama", 1)
    tensors = model.tensors()
    quantised = "common_debug_cb_eval: x = (q4_K)   CPY(a{32, 1, 1, 1}, }) = {32, 1, 1, 1}\n"
    done = model.compared(quantised + text_of(tensors))
    equal(done.returncode, 0, done.stdout + done.stderr)
    scores = np.triu(np.full((7, 7), -np.inf), 1)
    done = model.compared(block("mask", "ADD", scores, marker=OLD) + text_of(tensors, OLD))
    equal(done.returncode, 0, done.stdout + done.stderr)
    for cell, marker in (((0, 0), NEW), ((3, 10), NEW), ((0, 0), OLD)):  # an older one prints no sum of all
        bad = dict((name, array.clone()) for name, _, array in tensors)["l_out-0"]
        bad[cell] = torch.nan
        text = text_of([(name, op, bad if name == "l_out-0" else array) for name, op, array in tensors], marker)
        done = model.compared(text)
        equal(done.returncode, 1, done.stdout)
        assert "The first that differs is h0.residual2." in done.stdout, done.stdout


def only_compare_reads_it(folder):
    model = Model(folder, "llama", 1)
    file = folder / "scores.txt"
    file.write_text(text_of(model.tensors()))
    says = "scores.txt: llama-eval-callback prints a part of each tensor: only `qkv compare` reads it"
    for command in (("check", "two-heads", file), ("compare", file, file)):
        done = qkv(*command)
        equal(done.returncode, 2)
        assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def a_tolerance_may_be_asked_for(folder):
    model = Model(folder, "llama", 1)
    off = text_of(model.tensors({"h0.up": lambda x: x + 0.001}))
    equal(model.compared(off).returncode, 1)
    equal(model.compared(off, "--atol", "0.01").returncode, 0)
    alone = text_of([(name, op, array + 0.001 if name == "ffn_up-0" else array)
                     for name, op, array in model.tensors()])
    equal(model.compared(alone).returncode, 1)
    equal(model.compared(alone, "--tol", "h*.up=0.002").returncode, 0)


CLAIMS = [
    right_texts_pass_and_say_how_much_they_show,
    a_sentence_of_a_batch_is_compared,
    as_many_tokens_as_heads_are_no_heads_in_front,
    bugs_are_found_at_their_step,
    a_known_mistake_is_named,
    the_last_layer_may_have_its_last_row_alone,
    what_is_not_printed_has_to_have_the_right_sum,
    what_is_not_printed_is_not_zero_or_nan_unseen,
    each_operation_under_a_name_is_there_once,
    damaged_texts_are_refused_in_one_line,
    forged_sizes_cost_what_the_file_costs,
    nan_and_quantised_tensors,
    only_compare_reads_it,
    a_tolerance_may_be_asked_for,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
