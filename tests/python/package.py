#!/usr/bin/python3
"""The Python package: it installs offline, and its verdicts are the program's.

    package.py QKV
"""

import contextlib
import importlib.util
import io
import math
import os
import re
import resource
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "python")]
import harness  # noqa: E402
from harness import equal  # noqa: E402

import qkv  # noqa: E402

SCORES = np.array([[1.0, 3.0], [3.0, 5.0]])
LESSON = ROOT / "examples" / "two-words.toml"


def installed(folder):
    """A bare environment with the package in it; nothing is fetched."""
    place = folder / "environment"
    venv.create(place, with_pip=True, system_site_packages=True)
    done = subprocess.run([place / "bin" / "pip", "install", "--no-index", "--quiet", ROOT / "python"],
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return place / "bin" / "python"


def it_installs_offline_and_its_examples_hold(folder):
    python = installed(folder)
    clean = {name: value for name, value in os.environ.items() if name not in ("QKV", "PYTHONPATH")}
    for words in (["-c", "import qkv; print(len(qkv.trace('the-fat-cat')))"],
                  [ROOT / "examples" / "python" / "llama.py"],
                  ["-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "examples" / "python" / "nanogpt_test.py"]):
        done = subprocess.run([python, *words], capture_output=True, text=True, check=False, cwd=folder, env=clean)
        equal(done.returncode, 0, done.stdout + done.stderr)


def a_trace_has_every_matrix(_folder):
    steps = qkv.trace(LESSON)
    equal(steps["scores"].tolist(), SCORES.tolist())
    assert steps["scores"].dtype == np.float64 and "attention_weights" in steps


class Exchanged:
    """An array of another library that NumPy reads by DLPack alone."""

    def __dlpack__(self, stream=None):
        return torch.tensor(SCORES).__dlpack__()

    def __dlpack_device__(self):
        return torch.tensor(SCORES).__dlpack_device__()


class Converted:
    """An array of another library that converts itself for NumPy, as JAX's do."""

    def __array__(self, *_types):
        return SCORES.astype("f4")


def arrays_of_every_library_and_type_are_judged(_folder):
    for scores in (Exchanged(), Converted(), SCORES, SCORES.tolist(),
                   torch.tensor(SCORES), torch.tensor(SCORES).half(),
                   torch.tensor(SCORES).bfloat16(), torch.tensor(SCORES).T.contiguous().T,
                   torch.tensor(SCORES, requires_grad=True), SCORES.astype("f4"), SCORES.astype(">f8"),
                   SCORES.astype(int), np.asfortranarray(SCORES), list(torch.tensor(SCORES)),
                   [list(torch.tensor(row)) for row in SCORES]):
        verdict = qkv.check(LESSON, {"scores": scores})
        assert verdict and verdict.verdict == "incomplete" and verdict.first_wrong is None, verdict
    try:
        qkv.check(LESSON, {"scores": SCORES.astype(complex)})
    except TypeError as error:
        assert "complex" in str(error)
    else:
        raise AssertionError("complex numbers were taken")


def a_wrong_array_is_false_and_says_why(_folder):
    verdict = qkv.check(LESSON, {"scores": SCORES, "scaled_scores": SCORES})
    equal((bool(verdict), verdict.verdict, verdict.first_wrong), (False, "wrong", "scaled_scores"))
    equal([mistake["id"] for mistake in verdict.mistakes], ["scale.skipped"])
    assert "not divided" in str(verdict)
    for shown in (verdict, qkv.check(LESSON, {"scores": SCORES, "scaled_scores": SCORES}, strict=True),
                  qkv.compare({"scores": SCORES, "scaled_scores": SCORES}, LESSON, rtol=1e-4)):
        assert "<iframe srcdoc=" in shown._repr_html_()
    try:
        qkv.assert_right(LESSON, {"scaled_scores": SCORES})
    except AssertionError as error:
        assert "scaled_scores" in str(error)
    else:
        raise AssertionError("a wrong array passed")


def an_array_that_was_not_judged_is_in_the_report(_folder):
    verdict = qkv.check(LESSON, {"scores": SCORES, "scaled_scorse": SCORES})
    assert verdict and "scaled_scorse fits no step of this lesson; did you mean" in str(verdict), str(verdict)


def dictionaries_are_compared(_folder):
    same = qkv.compare({"a": SCORES}, {"a": SCORES})
    equal((bool(same), same.verdict), (True, "same"))
    other = qkv.compare({"a": SCORES}, {"a": SCORES + 1e-3}, rtol=1e-5)
    equal((bool(other), other.first_wrong), (False, "a"))
    assert qkv.compare({"theirs": SCORES}, LESSON, map=["theirs=scores"])
    for names, missing in ((["scores"], None), (["Q", "scores"], "Q")):
        equal(qkv.compare({"scores": SCORES}, LESSON, require=names).first_wrong, missing)


def what_is_refused_is_an_error(_folder):
    for call in (lambda: qkv.trace("no-such-lesson"), lambda: qkv.check(LESSON, {"nothing": SCORES[:1]}),
                 lambda: qkv.check(LESSON, {"scores": SCORES}, no_such_option=True),
                 lambda: qkv.check(LESSON, {"scores": SCORES}, watch=True)):
        try:
            call()
        except qkv.QkvError as error:
            assert str(error).startswith(("qkv: ", "--watch")) and "\n" not in str(error), error
        else:
            raise AssertionError("it was taken")


def a_module_s_outputs_and_gradients_are_recorded(_folder):
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    rows = torch.ones(4, 3)
    with qkv.record(module, gradients=True) as steps:
        module(rows).sum().backward()
    equal(sorted(steps), ["0", "0.bias.grad", "0.grad", "0.weight.grad", "1", "1.grad"])
    assert torch.equal(steps["1"], module(rows).detach()) and not module[0]._forward_hooks


def a_module_with_two_paths_has_them_in_turn(_folder):
    twice = torch.nn.Linear(2, 2)
    module = torch.nn.Sequential(twice, torch.nn.ReLU(), twice)
    rows = torch.ones(3, 2)
    with qkv.record(module) as steps:
        module(2 * rows)
        module(rows)
    assert torch.equal(steps["0"], twice(rows)) and torch.equal(steps["2"], module(rows)), steps


def a_part_called_module_keeps_its_name(_folder):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = torch.nn.ModuleDict({"fc": torch.nn.Linear(2, 2)})
            self.fc = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.fc(self.module["fc"](x))
    model = Two()
    with qkv.record(model) as steps:
        model(torch.ones(1, 2))
    equal(sorted(steps), ["fc", "module.fc"])
    with qkv.record(torch.nn.DataParallel(model)) as steps:
        model(torch.ones(1, 2))
    equal(sorted(steps), ["fc", "module.fc"])


def an_output_that_is_changed_on_the_way_is_recorded_twice(_folder):
    class Doubled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.same = torch.nn.Linear(2, 2), torch.nn.Dropout(0.5).eval()

        def forward(self, x):
            y = self.same(self.inner(x))
            y.data.mul_(2)
            return y

    module = torch.nn.Sequential(Doubled())
    with qkv.record(module) as steps:
        module(torch.ones(3, 2))
    assert steps["0.same"] is steps["0.inner"] and torch.equal(steps["0"], 2 * steps["0.inner"])


def blocks_of(page):
    """The Python of a page of the documentation, a text for each block."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def what_the_documentation_shows_is_printed(_folder):
    """Every block of docs/python.md runs, one after the other; a comment behind print is what it prints."""
    sys.path.insert(0, str(ROOT / "examples" / "python"))
    names, due, printed = {}, [], io.StringIO()
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(printed):
            for block in blocks_of(ROOT / "docs" / "python.md"):
                due += re.findall(r"^ *print\(.*\) +# (.*)$", block, re.MULTILINE)
                exec(compile(block, "docs/python.md", "exec"), names)
    finally:
        os.chdir(before)
    equal(printed.getvalue().splitlines(), due)
    equal(len(due) > 4, True)
    right, wrong = names["verdict"], names["wrong"]
    equal((bool(right), bool(wrong), "<iframe" in right._repr_html_()), (True, False, False))
    shown = wrong._repr_html_()
    assert shown.startswith("<pre>") and "h1.attention_weights" in shown and "<iframe srcdoc=" in shown, shown[:300]


def a_large_model_is_verified_in_little_more_than_it_takes(_folder):
    """12 layers of d_model 768: no more work than a few forward passes and the reading of the weights."""
    if harness.sanitized(os.environ["QKV"]):
        raise harness.Skipped("sanitizers take their own time")
    sys.path.insert(0, str(ROOT / "examples" / "python"))
    from nanogpt_test import GPT, Config
    large = type("Large", (Config,), {"n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 512})
    model, ids = GPT(large), list(range(64))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    verdict = qkv.verify(model, ids=ids)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert verdict, verdict
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert took < 10, f"{took:.1f} s of processor time"  # some 1 s; a machine that is shared is slower
    with torch.no_grad():
        model.transformer["h"][7].mlp.c_fc.bias.data[5] += 1
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    equal(bool(qkv.verify(model, ids=ids)), True, "other weights are another right model")
    model.transformer["h"][7].attn.scale = 0.1
    equal(qkv.verify(model, ids=ids).first_wrong, "h7.attention_weights")
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())


def a_mistake_in_two_steps_that_modules_hide_is_named(_folder):
    """Queries and keys are rotated alike, and keys and values are repeated alike, inside one module."""
    sys.path.insert(0, str(ROOT / "examples" / "python"))
    import llama

    def neighbours(x):
        n, width = x.shape[-2:]
        angles = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        one, two = x[..., ::2], x[..., 1::2]
        return torch.stack([one * angles.cos() - two * angles.sin(), two * angles.cos() + one * angles.sin()],
                           -1).flatten(-2)

    def wrong(**changes):
        torch.manual_seed(1)
        model = llama.Llama()
        for parameter in model.parameters():
            parameter.data *= 2 if parameter.dim() == 2 else 1  # so that attention is not even
        before = {name: getattr(llama, name) for name in changes}
        plain = model.model["layers"][1].self_attn.forward

        def forward(x):
            for name, value in changes.items():
                setattr(llama, name, value)
            try:
                return plain(x)
            finally:
                for name, value in before.items():
                    setattr(llama, name, value)
        model.model["layers"][1].self_attn.forward = forward
        return qkv.verify(model, ids=[7, 1, 42, 9, 30, 11])

    assert wrong()
    verdict = wrong(rotate=neighbours)
    equal((verdict.first_wrong, [one["id"] for one in verdict.mistakes]), ("h1.output", ["rope.pairing"]))
    assert "In h1.Q_rope and h1.K_rope, which were not submitted: " in verdict.mistakes[0]["says"], verdict.mistakes
    verdict = wrong(rotate=lambda x: x)
    equal((verdict.first_wrong, [one["id"] for one in verdict.mistakes]), ("h1.output", ["rope.skipped"]))


def what_a_model_returns_is_verified(_folder):
    from nanogpt_test import GPT

    class Changed(GPT):
        def forward(self, ids):
            return self.change(super().forward(ids))

    class Strict(dict):  # raises KeyError where an attribute is asked for
        __getattr__ = dict.__getitem__

    for change, is_right in ((lambda logits: logits, True), (lambda logits: {"loss": None, "logits": logits}, True),
                             (lambda logits: (logits, None), True), (lambda logits: logits[:, -1:], True),
                             (lambda logits: Strict(logits=logits), True),
                             (lambda logits: 2 * logits, False), (lambda logits: {"logits": logits.flip(1)}, False),
                             (lambda logits: (logits * math.nan, None), False),
                             (lambda logits: (logits.sum(), logits), True),
                             (lambda logits: (logits.sum(), 2 * logits), False),
                             (lambda logits: (logits.sum()[None], logits), True),
                             (lambda logits: (logits[:, :0], 2 * logits), False),
                             (lambda logits: (logits.mean(-1), {"logits": logits}), True),
                             (lambda logits: logits.numpy(), True), (lambda logits: (2 * logits).numpy(), False),
                             (lambda logits: 3 * logits.transpose(1, 2), False),
                             (lambda logits: torch.cat([logits, logits[..., :1]], -1), False),
                             (lambda logits: logits.to_sparse(), True), (lambda logits: (2 * logits).to_sparse(), False),
                             (lambda logits: logits.argmax(-1), False)):
        torch.manual_seed(2)
        model = Changed()
        model.change = change
        verdict = qkv.verify(model, ids=[1, 4, 2, 5, 3])
        equal((bool(verdict), verdict.first_wrong), (is_right, None if is_right else "logits"))
    for change in (lambda logits: logits.sum(), lambda logits: "some text", lambda logits: None):
        model.change = change
        verdict = qkv.verify(model, ids=[1, 4, 2, 5, 3])
        assert verdict and "What the model returns was not compared" in str(verdict), verdict
    model.change = lambda logits: logits[:, :0]
    try:
        qkv.verify(model, ids=[1, 4])
    except qkv.QkvError as error:
        equal(str(error), "Changed returned no logits: a tensor of shape (1, 0, 50)")
    else:
        raise AssertionError("an empty tensor was taken for logits")
    model.change = lambda logits: 2 * logits
    model.config = type("Config", (dict,), {"__getattr__": dict.__getitem__})(n_head=4)
    assert not qkv.verify(model, ids=[1, 4])


def models_without_a_head_and_in_wrappers_are_verified(_folder):
    """GPT2Model and LlamaModel return their last norm; torch.compile and DataParallel put a name before each path."""
    from llama import Llama
    from nanogpt_test import GPT

    class Body(torch.nn.Module):
        def __init__(self, whole, last, change):
            super().__init__()
            body = getattr(whole, "transformer", None) or whole.model
            for name, part in body.items():
                setattr(self, name, part)
            self.run, self.last, self.change = [whole.forward], last, change
            self.other = torch.nn.ModuleDict({"lm_head": torch.nn.Identity()})  # no head of this model

        def forward(self, ids):
            kept = []
            handle = getattr(self, self.last).register_forward_hook(lambda *outputs: kept.append(outputs[-1]))
            self.run[0](ids)
            handle.remove()
            return self.change(kept[0])

    class Wrapper(torch.nn.Module):
        def __init__(self, inside, name):
            super().__init__()
            self.name = name
            self.add_module(name, inside)

        def forward(self, ids):
            return getattr(self, self.name)(ids)

    for kind, last, heads in ((GPT, "ln_f", {"n_head": 4}), (Llama, "norm", None)):
        def made(bug=False, kind=kind):
            torch.manual_seed(4)
            model = kind()
            blocks = model.transformer["h"] if kind is GPT else model.model["layers"]
            if bug:
                blocks[1].mlp.forward = lambda x: x
            return model
        own = {"config": heads or made().config}
        for change, first in ((lambda x: x, None), (lambda x: (x, None), None),
                              (lambda x: {"last_hidden_state": x}, None),
                              (lambda x: x * 1.01, "norm"), (lambda x: x.flip(1), "norm")):
            verdict = qkv.verify(Body(made(), last, change), ids=[1, 4, 2], **own)
            equal(verdict.first_wrong, first, f"{kind.__name__}: {verdict}")
            assert "no lm_head: what it returns was compared as norm" in str(verdict), verdict
        for name in ("_orig_mod", "module"):
            for bug in (False, True):
                for place in ("inside", "outside"):  # of its config
                    model = Wrapper(made(bug), name)
                    (getattr(model, name) if place == "inside" else model).config = own["config"]
                    verdict = qkv.verify(model, ids=[1, 4, 2])
                    equal(bool(verdict), not bug, f"{kind.__name__} in {name}, config {place}: {verdict}")


def a_norm_in_float32_inside_a_model_of_float64_is_reported(_folder):
    from nanogpt_test import GPT
    for epsilon, told in ((1e-5, True), (1e-3, False)):
        torch.manual_seed(4)
        model = GPT().double()
        for norm in (part for part in model.modules() if isinstance(part, torch.nn.LayerNorm)):
            norm.weight.data.normal_()
            norm.forward = lambda x, own=norm, eps=epsilon: own.bias + own.weight * torch.nn.functional.layer_norm(
                x.float(), x.shape[-1:], eps=eps).double()
        verdict = qkv.verify(model, ids=[1, 4, 2], config={"n_head": 4})
        equal((verdict.first_wrong, "verify model.float()" in str(verdict)), ("h0.norm1", told))


def a_layer_that_returns_its_mlp_s_own_output_is_named(_folder):
    from llama import Layer, Llama

    class Forgetful(Layer):
        def forward(self, x):
            return self.mlp(self.post_attention_layernorm(x + self.self_attn(self.input_layernorm(x))))

    torch.manual_seed(1)
    model = Llama()
    assert qkv.verify(model, ids=[7, 1, 42])
    model.model["layers"][1].__class__ = Forgetful
    equal(qkv.verify(model, ids=[7, 1, 42]).first_wrong, "h1.residual2")


def a_cap_of_the_logits_that_was_forgotten_is_found(_folder):
    """Its lm_head returns what the model returns: that is no reason not to look at it."""
    sys.path.append(str(ROOT / "tests" / "models"))
    place = importlib.util.spec_from_file_location("reference", ROOT / "tests" / "models" / "llama.py")
    reference = importlib.util.module_from_spec(place)
    place.loader.exec_module(reference)
    config = reference.config_of("gemma2")
    weights = {name: weight.double() for name, weight in reference.random_weights(config).items()}

    class Capped(torch.nn.Module):
        def __init__(self, cap):
            super().__init__()
            self.cap, self.config = cap, config
            self.lm_head = torch.nn.Linear(config["hidden_size"], config["vocab_size"], bias=False).double()
            for name, weight in weights.items():
                *path, last = name.split(".")
                module = self
                for part in path:
                    if not hasattr(module, part):
                        module.add_module(part, torch.nn.Module())
                    module = getattr(module, part)
                module.register_parameter(last, torch.nn.Parameter(weight))
            self.lm_head.weight = self.model.embed_tokens.weight

        def forward(self, ids):
            logits = self.lm_head(reference.forward(weights, ids[0].tolist(), config)["norm"])
            return (self.cap * torch.tanh(logits / self.cap) if self.cap else logits)[None]

    verdict = qkv.verify(Capped(config["final_logit_softcapping"]), ids=[3, 1, 4])
    assert verdict, verdict
    verdict = qkv.verify(Capped(None), ids=[3, 1, 4])
    equal((verdict.first_wrong, [one["id"] for one in verdict.mistakes]), ("capped_logits", ["softcap.skipped"]))
    usual = {name: entry for name, entry in config.items() if name != "final_logit_softcapping"}  # then it is 30
    for cap, first in ((30, None), (None, "capped_logits")):
        equal(qkv.verify(Capped(cap), ids=[3, 1, 4], config=usual).first_wrong, first)


def a_module_with_a_train_of_its_own_is_left_as_it_was(_folder):
    """As one that merges its weights to be evaluated. The weights are written as they are when it computes."""
    from llama import Llama

    class Merging(torch.nn.Linear):
        def train(self, mode=True):
            if mode != self.training:
                self.weight.data *= 0.5 if mode else 2
            return super().train(mode)

    torch.manual_seed(1)
    model = Llama()
    merging = model.model["layers"][1].mlp.down_proj
    merging.__class__ = Merging
    before = merging.weight.detach().clone()
    for _ in range(3):
        assert qkv.verify(model, ids=[7, 1, 42])
        assert merging.training and merging.weight.equal(before)


def a_head_that_was_not_called_is_found(_folder):
    """What the last norm returns is no right result of a model that has a head, tied or not."""
    from nanogpt_test import GPT

    class Forgetful(GPT):
        def forward(self, ids):
            head, self.lm_head = self.lm_head, torch.nn.Identity()
            try:
                return super().forward(ids)
            finally:
                self.lm_head = head

    for tied in (True, False):
        torch.manual_seed(4)
        model = Forgetful()
        shape = model.transformer["wte"].weight.shape
        model.lm_head.weight = model.transformer["wte"].weight if tied else torch.nn.Parameter(torch.randn(shape))
        equal(qkv.verify(model, ids=[1, 4, 2], config={"n_head": 4}).first_wrong, "logits", f"tied: {tied}")


class Silent(torch.nn.Module):
    """A model whose forward has yet to be written."""

    def __init__(self):
        super().__init__()
        self.wte = torch.nn.Embedding(3, 2)

    def forward(self, _ids):
        return None


def what_verify_cannot_take_is_refused(_folder):
    from nanogpt_test import GPT
    for module, ids, kind in ((GPT(), [], ValueError), (GPT(), [[1, 2], [3, 4]], ValueError),
                              (GPT(), [0.5], ValueError), (GPT(), 3, ValueError), ("the-fat-cat", [1], TypeError)):
        try:
            qkv.verify(module, ids=ids)
        except kind:
            continue
        raise AssertionError(f"{ids} of {module} were taken")
    masked = np.ma.masked_array(SCORES, SCORES > 3)
    for call in (lambda: qkv.check(LESSON, {"scores": masked}), lambda: qkv.check(LESSON, {"scores": [[1, 2], [3]]}),
                 lambda: qkv.verify(GPT(), ids=[1, 2], require="all"), lambda: qkv.trace(None),
                 lambda: qkv.verify(Silent(), ids=[1, 2])):
        try:
            call()
        except qkv.QkvError as error:
            assert "\n" not in str(error), error
            continue
        raise AssertionError("it was taken")
    assert qkv.check(LESSON, {"mine": SCORES}, map={"mine": "scores"})
    untied = GPT()
    untied.config.tie_word_embeddings = True
    untied.lm_head.weight = torch.nn.Parameter(torch.randn_like(untied.lm_head.weight))
    assert qkv.verify(untied, ids=[1, 2]), "what the module computes"
    model = GPT()
    model.transformer["h"][1].mlp.c_fc.weight.data[0, 0] = math.nan
    try:
        qkv.verify(model, ids=[1, 2])
    except qkv.QkvError as error:
        assert str(error).startswith("qkv: GPT: transformer.h.1.mlp.c_fc.weight holds NaN"), error
    else:
        raise AssertionError("a damaged model was taken")


KILLED = """
import os, signal, sys, tempfile
sys.path.insert(0, "{examples}")
make = tempfile.mkdtemp

def make_and_tell(*arguments, **options):
    folder = make(*arguments, **options)
    print(folder, flush=True)
    return folder
tempfile.mkdtemp = make_and_tell
import qkv
from nanogpt_test import GPT
model = GPT()
kept = qkv.verify(model, ids=[1, 2]), qkv.check("the-fat-cat", {{"scores": [[0] * 4] * 4}})
{end}
"""


def every_refusal_is_one_line_of_qkv(_folder):
    """Also where the module itself raises: then that is the cause."""
    from nanogpt_test import GPT
    broken, heads = GPT(), {"n_head": 4}

    def boom(_ids):
        raise RuntimeError("boom\nin two lines")
    broken.forward = boom
    arrays = {"scores": SCORES}
    from llama import Llama
    nameless = Llama()
    del nameless.config
    for call, says, cause in (
            (lambda: qkv.verify(nameless, ids=[1, 2]), 'kind of model is not known: give it as family="llama"', None),
            (lambda: qkv.verify(torch.nn.Linear(3, 3), ids=[1, 2]), "Linear: this is not a model that qkv knows", RuntimeError),
            (lambda: qkv.verify(broken, ids=[1, 2]), "GPT raises RuntimeError: boom", RuntimeError),
            (lambda: qkv.verify(GPT(), ids=[1, 50]), "50", IndexError),
            (lambda: qkv.verify(GPT().to("meta"), ids=[1, 2]), "Meta", NotImplementedError),
            (lambda: qkv.verify(GPT(), ids=[1, 2], config=heads, help=True), "--help", None),
            (lambda: qkv.trace(LESSON, version=True), "--version", None),
            (lambda: qkv.check(LESSON, arrays, help=True), "--help", None),
            (lambda: qkv.check("--help", arrays), "./--help", None),
            (lambda: qkv.compare("--version", LESSON), "./--version", None),
            (lambda: qkv.compare(arrays, "--version"), "./--version", None),
            (lambda: qkv.check(LESSON, arrays, ids=torch.zeros(3, device="meta")), "ids are whole numbers", None),
            (lambda: qkv.record(None).__enter__(), "record takes a PyTorch module, not NoneType", None),
            (lambda: qkv.record(torch.jit.script(torch.nn.Linear(2, 2))).__enter__(), "torch.jit shows nothing", None),
            (lambda: qkv.verify(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), [1]), "torch.jit shows", None),
            (lambda: qkv.assert_right(LESSON), "this needs arrays", None),
            (lambda: qkv.check(LESSON, {"Q": {"a": 1}}), "Q is no array that can be compared: give numbers, not dict", None),
            (lambda: qkv.check(LESSON, {"1": [[1]], 1: [[2]]}), "two arrays are called 1", None),
            (lambda: qkv.check(LESSON, {"Q": None}), "give numbers, not NoneType", None),
            (lambda: qkv.check(LESSON, [("Q", [[1]])]), "a dictionary of steps and their arrays, not list", None),
            (lambda: qkv.compare([("Q", [[1]])], LESSON), "arrays are a dictionary", None),
            (lambda: qkv.verify(GPT(), ids=[1, 2], config={**heads, "layer_norm_epsilon": float("nan")}), "not JSON compliant", None),
            (lambda: qkv.trace("a\0b"), "can't be run", ValueError)):
        try:
            call()
        except qkv.QkvError as error:
            assert says in str(error) and "\n" not in str(error), (says, error)
            equal(cause is None or isinstance(error.__cause__, cause), True, f"{says}: {error.__cause__!r}")
        else:
            raise AssertionError(f"{says}: it was taken")


def entries_of_a_config_are_used_or_refused(_folder):
    """Also without model_type; of the module's own config, those that qkv does not know are named in the report."""
    from nanogpt_test import GPT, Config

    def verdict(eps, entries, own=False):
        torch.manual_seed(3)
        model = GPT()
        for inside in model.modules():
            if isinstance(inside, torch.nn.LayerNorm):
                inside.eps = eps
        if own:
            model.config = type("Own", (Config,), entries)()
            return qkv.verify(model, ids=[1, 4, 2])
        return qkv.verify(model, ids=[1, 4, 2], config={"n_head": 4, **entries})

    for own in (False, True):
        for eps, stated, first in ((1e-5, {}, None), (1e-3, {"layer_norm_epsilon": 1e-3}, None),
                                   (1e-5, {"layer_norm_epsilon": 1e-3}, "h0.norm1"), (1e-3, {}, "h0.norm1")):
            equal(verdict(eps, stated, own).first_wrong, first, f"{eps} {stated} {own}")
        for entry in ({"n_layer": 3}, {"vocab_size": 77}, {"scale_attn_weights": False}, {"n_head": [4]},
                      {"model_type": "llama"}):
            try:
                verdict(1e-5, entry, own)
            except qkv.QkvError as error:
                assert next(iter(entry)) in str(error) and "\n" not in str(error), error
            else:
                raise AssertionError(f"{entry} was taken")
    assert verdict(1e-5, {"activation_function": "relu"}).first_wrong == "h0.mlp_out"
    try:
        verdict(1e-5, {"foo": 3})
    except qkv.QkvError as error:
        assert "foo = 3" in str(error), error
    else:
        raise AssertionError("foo was taken")
    report = verdict(1e-5, {"learning_rate": 3, "device": {"name": "cpu"}}, own=True)
    assert report and "entry learning_rate of" in str(report) and "entry device of" in str(report), report


def a_class_called_gelu_is_known_by_its_kind_and_not_by_its_name(_folder):
    """nn.GELU is the exact one; a class of one's own with this name may be the other. GPT-2's weights are in × out."""
    from nanogpt_test import GPT

    class Conv1D(torch.nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.weight, self.bias = torch.nn.Parameter(linear.weight.T.contiguous()), linear.bias

        def forward(self, x):
            return x @ self.weight + self.bias

    def tanh_form(_self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")

    GELU = type("GELU", (torch.nn.Module,), {"forward": tanh_form})
    for act, in_out, config in ((torch.nn.GELU(), False, None), (GELU(), False, None), (torch.nn.GELU(), True, None),
                                (torch.nn.GELU(), True, {"n_head": 4, "activation_function": "gelu"}),
                                (torch.nn.GELU("tanh"), True, None)):
        for bug in (False, True):
            torch.manual_seed(4)
            model = GPT()
            for block in model.transformer["h"]:
                block.mlp.gelu = act
                for part, name in ((block.attn, "c_attn"), (block.attn, "c_proj"),
                                   (block.mlp, "c_fc"), (block.mlp, "c_proj")):
                    if in_out:
                        setattr(part, name, Conv1D(getattr(part, name)))
            if bug:
                model.transformer["h"][1].mlp.gelu = torch.nn.ReLU()
            verdict = qkv.verify(model, ids=[1, 4, 2], **({"config": config} if config else {}))
            equal(bool(verdict), not bug, f"{act} {in_out} {config} {verdict}")


def files_go_quietly(_folder):
    """With every warning an error: when a verdict goes, when Python ends, and when a signal ends a call."""
    ended = "model.forward = lambda ids: os.kill(os.getpid(), signal.SIGTERM)\nqkv.verify(model, ids=[1, 2])"
    for end, status in (("", 0), ("del kept", 0), ("kept[0]._repr_html_(); raise KeyError", 1), (ended, 143),
                        ("try: qkv.check('the-fat-cat', {'scores': []})\nexcept qkv.QkvError: pass", 0),
                        ("if os.fork() == 0: sys.exit()\nos.wait(); str(kept[0])", 0)):
        script = KILLED.format(examples=ROOT / "examples" / "python", end=end)
        done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        equal(done.returncode, status, end + done.stderr)
        assert "Warning" not in done.stderr, done.stderr
        folders = done.stdout.split()
        equal(len(folders) >= (3 if end == ended else 2), True, end + done.stdout)
        equal([folder for folder in folders if os.path.exists(folder)], [], end)


def several_threads_may_verify(_folder):
    from nanogpt_test import GPT
    model = GPT()  # in training mode: a thread that ends must not switch dropout on for another
    with ThreadPoolExecutor(4) as threads:
        verdicts = list(threads.map(lambda _: bool(qkv.verify(model, ids=[3, 14, 15, 9])), range(6)))
    equal(verdicts, [True] * 6)
    assert all(inside.training and not inside._forward_hooks for inside in model.modules())


CLAIMS = [
    what_the_documentation_shows_is_printed,
    a_large_model_is_verified_in_little_more_than_it_takes,
    it_installs_offline_and_its_examples_hold,
    a_trace_has_every_matrix,
    arrays_of_every_library_and_type_are_judged,
    a_wrong_array_is_false_and_says_why,
    an_array_that_was_not_judged_is_in_the_report,
    dictionaries_are_compared,
    what_is_refused_is_an_error,
    a_module_s_outputs_and_gradients_are_recorded,
    a_module_with_two_paths_has_them_in_turn,
    an_output_that_is_changed_on_the_way_is_recorded_twice,
    a_part_called_module_keeps_its_name,
    a_mistake_in_two_steps_that_modules_hide_is_named,
    what_a_model_returns_is_verified,
    models_without_a_head_and_in_wrappers_are_verified,
    a_norm_in_float32_inside_a_model_of_float64_is_reported,
    a_layer_that_returns_its_mlp_s_own_output_is_named,
    a_cap_of_the_logits_that_was_forgotten_is_found,
    a_module_with_a_train_of_its_own_is_left_as_it_was,
    a_head_that_was_not_called_is_found,
    what_verify_cannot_take_is_refused,
    every_refusal_is_one_line_of_qkv,
    entries_of_a_config_are_used_or_refused,
    a_class_called_gelu_is_known_by_its_kind_and_not_by_its_name,
    files_go_quietly,
    several_threads_may_verify,
]

if __name__ == "__main__":
    os.environ["QKV"] = str(Path(sys.argv[1]).resolve())
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
