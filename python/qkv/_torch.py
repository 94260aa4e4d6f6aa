"""PyTorch's modules: what they compute on the way, and whether it is right."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _arrays
from ._program import (Folder, QkvError, ended_by_signals, kept_files, options_of, options_of_subject, run,
                       whole_numbers)
from ._verdict import Verdict


def tensor_of(output: Any, width: Optional[int] = None) -> Any:
    """A module's output as one tensor: itself, its logits, or one of several: the first of this width, or the first
    that is no lone number (a loss). None if it has none.
    """
    if isinstance(output, np.ndarray) and output.dtype.kind in "fiu":
        import torch
        return torch.from_numpy(output)
    if isinstance(output, Mapping):
        output = [output["logits"]] if "logits" in output else list(output.values())
    if hasattr(output, "detach"):
        return output if str(output.layout) == "torch.strided" else output.to_dense()
    if getattr(output, "logits", None) is not None:
        return output.logits
    if isinstance(output, (tuple, list)):
        several = [one for one in map(tensor_of, output) if one is not None and one.numel() > 1]
        return next((one for one in several if one.dim() and one.shape[-1] == width), next(iter(several), None))
    return None


TABLES = ("wte.weight", "embed_tokens.weight")  # what the names of a table of token embeddings end in


def unwrapping(module: Any) -> Iterator[Tuple[str, Any]]:
    """The module, and each inside of what torch.compile and DataParallel put around it, with the prefix of its paths
    ("_orig_mod.module.")."""
    prefix = ""
    yield prefix, module
    while list(module._modules) in (["module"], ["_orig_mod"]) and not module._parameters:
        name, module = next(iter(module._modules.items()))
        prefix += name + "."
        yield prefix, module


def wrapping_of(module: Any) -> str:
    """What the wrappers put before all paths."""
    return list(unwrapping(module))[-1][0]


def refuse_jit(module: Any) -> None:
    """Refuses what torch.jit made: it runs outside of Python, where no hook is called."""
    import torch
    if isinstance(module, torch.jit.ScriptModule):
        raise QkvError("a module of torch.jit shows nothing of what it computes: give the module that it was made of")


def unwrapped(path: str, wrapping: str) -> str:
    """A path without the wrapping before it, and without that of compiled parts."""
    return (path[len(wrapping):] if path.startswith(wrapping) else path).replace("_orig_mod.", "")


@contextlib.contextmanager
def record(module: Any, gradients: bool = False) -> Iterator[Dict[str, Any]]:
    """Records what each module inside returns, while the module is used.

        with qkv.record(model) as steps:
            model(ids)
        qkv.check("model/", steps, ids=ids)

    Args:
        module: a torch.nn.Module. It computes as before; the hooks go when the block ends.
        gradients: also record the gradient of each output, under its name and ".grad", and at the end of the block
            those of the parameters.

    Yields:
        A dictionary of the modules' paths and copies of their outputs; of a module that runs twice, the last one's. A
        module with several paths, as one block in place of two, has them in turn.
    """
    if not hasattr(module, "named_modules"):
        raise QkvError(f"record takes a PyTorch module, not {type(module).__name__}")
    refuse_jit(module)
    steps: Dict[str, Any] = {}
    last: list = [None, None]  # the tensor that a module returned last, and its copy

    def hook_of(paths: Sequence[str]) -> Any:
        names = itertools.cycle(paths)

        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            name = next(names)
            tensor = tensor_of(output)
            if tensor is None:
                return
            # An outer module often returns what its last part returned.
            if tensor is not last[0] or not tensor.detach().equal(last[1]):
                last[:] = tensor, tensor.detach().clone()
            steps[name] = last[1]
            if gradients and tensor.requires_grad:
                tensor.register_hook(lambda gradient: steps.__setitem__(name + ".grad", gradient.detach().clone()))
        return hook

    paths_of: Dict[Any, list] = {}
    wrapping = wrapping_of(module)
    for path, inside in module.named_modules(remove_duplicate=False):
        if path and not wrapping.startswith(path + "."):
            paths_of.setdefault(inside, []).append(unwrapped(path, wrapping))
    handles = [inside.register_forward_hook(hook_of(paths)) for inside, paths in paths_of.items()]
    try:
        yield steps
        if gradients:
            for name, parameter in module.named_parameters():
                if parameter.grad is not None:
                    steps[unwrapped(name, wrapping) + ".grad"] = parameter.grad.detach().clone()
    finally:
        for handle in handles:
            handle.remove()


def config_of(module: Any) -> Dict[str, Any]:
    """A module's `config` as a dictionary: Hugging Face's, a dataclass, or a plain object."""
    configs = [part.config for _, part in unwrapping(module) if getattr(part, "config", None) is not None]
    if not configs:
        return {}
    config = configs[-1]  # the innermost one
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "to_diff_dict"):
        return dict(config.to_diff_dict())
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    names = (name for name in dir(config) if not name.startswith("_"))
    return {name: value for name in names if not callable(value := getattr(config, name))}


def write_model(module: Any, folder: Path, config: Dict[str, Any]) -> None:
    """Writes the weights, and config.json if there is anything to say in it."""
    buffers = {f"{path}.{name}".lstrip(".") for path, inside in module.named_modules(remove_duplicate=False)
               for name in inside._buffers if not name.endswith(("weight", "bias"))}  # masks, angles
    weights = {unwrapped(name, wrapping_of(module)): tensor
               for name, tensor in module.state_dict().items() if name not in buffers}
    table = next((tensor for name, tensor in weights.items() if name.endswith(TABLES)), None)
    for head in [name for name in weights if name.rsplit(".", 2)[-2:] == ["lm_head", "weight"]]:
        if table is not None and weights[head].is_set_to(table):  # tied: written once
            del weights[head]
            config["tie_word_embeddings"] = True
        else:  # the module computes with it, whatever its config says
            config["tie_word_embeddings"] = False
    _arrays.write(folder / "model.safetensors", weights)
    write_config(folder, config)


def write_config(folder: Path, config: Dict[str, Any]) -> None:
    """Writes config.json, unless it is empty."""
    if not config:
        return
    try:
        text = json.dumps(config, default=str, allow_nan=False)
    except (TypeError, ValueError) as error:  # NaN, a key that is no text, an entry that holds itself
        raise QkvError(f"the config cannot be written as a config.json: {error}") from None
    (folder / "config.json").write_text(text, encoding="utf-8")


def is_exact_gelu(module: Any) -> bool:
    """Whether it is nn.GELU with erf, as nanoGPT has it and GPT-2 has not."""
    import torch
    return isinstance(module, torch.nn.GELU) and getattr(module, "approximate", "none") == "none"


@contextlib.contextmanager
def undisturbed(module: Any) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards the modes and the random state are as before."""
    import torch
    modes = [(inside, inside.training) for inside in module.modules()]
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    drawn, drawn_by_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices), torch.no_grad():
        try:
            module.eval()
            yield
        finally:
            random.setstate(drawn)
            np.random.set_state(drawn_by_numpy)
            for inside, mode in modes:
                if type(inside).train is torch.nn.Module.train:
                    inside.training = mode
                elif inside.training != mode:  # its own train() may do more, as merge weights
                    inside.train(mode)


one_at_a_time = threading.RLock()  # modes, hooks and the random state are those of all threads


@ended_by_signals()
def verify(module: Any, ids: Sequence[int], config: Optional[Mapping[str, Any]] = None, **options: Any) -> Verdict:
    """Runs a PyTorch model of a known family and checks each step that its modules show.

    Args:
        module: a torch.nn.Module whose weights have the names of minGPT, nanoGPT, or Hugging Face's GPT-2, LLaMA,
            Mistral, Qwen or Gemma, on any device and in any type. It is left as it was: mode, hooks, gradients and
            random state. What it returns is compared as its logits (in Gemma 2, capped).
        ids: token ids, a list or a tensor of n, or of 1 × n.
        config: what config.json says, if the module has no `config` (for GPT-2's kind n_head is enough).
        options: options of `qkv compare` (strict=True, require="logits", family="llama", …).

    Returns:
        A Verdict of `compare`, true if every step is right. Raises QkvError if the model is of no known family.
    """
    import torch
    if not isinstance(module, torch.nn.Module):
        raise QkvError(f"verify takes a torch.nn.Module, not {type(module).__name__}: `check` takes arrays")
    refuse_jit(module)
    if config is not None and not isinstance(config, Mapping):
        raise QkvError(f'config is a dictionary, such as {{"n_head": 12}}, not {type(config).__name__}')
    if options.get("require") == "all":
        raise QkvError('no module shows every step (scores, for one): require="all" would never pass; name the steps '
                       'that have to be there, as in require="h0.output,logits"')
    numbers = torch.tensor(whole_numbers("ids", ids))
    known = dict(config) if config is not None else config_of(module)
    try:
        with kept_files(in_memory()) as folder:
            return verdict_in(folder, module, numbers, known, config is not None, options)
    except QkvError as error:
        if "--model-heads" in str(error):
            raise QkvError('the number of heads is not known: give it as config={"n_head": 12}, or as the '
                           "module's `config`") from error.__cause__
        if "fetch it too" in str(error):  # a file's reader speaks of files
            families = str(error).rpartition("one of ")[2]
            raise QkvError('the kind of model is not known: give it as family="llama" or as '
                           f'config={{"model_type": "llama", …}}; there are {families}') from error.__cause__
        raise


def verdict_in(place_of_files: Folder, module: Any, numbers: Any, known: Dict[str, Any],
               is_given: bool, options: Dict[str, Any]) -> Verdict:
    """The verdict on a module that computes these ids, with its files in this place."""
    import torch
    folder = Path(place_of_files.name) / type(module).__name__
    folder.mkdir()
    place = next((parameter.device for parameter in module.parameters()), numbers.device)
    tokens = ["--ids", ",".join(str(one) for one in numbers.tolist())]
    vocabulary_size = next((table.shape[0] for name, table in module.state_dict().items() if name.endswith(TABLES)),
                           None)
    with ThreadPoolExecutor(1) as beside, one_at_a_time, undisturbed(module):
        # A copy of the weights takes about as long as the model.
        written = beside.submit(write_model, module, folder, known)
        try:
            with record(module) as steps:
                output = tensor_of(module(numbers[None].to(place)), vocabulary_size)
        except Exception as error:
            try:  # of no known family, or with a token that it has not
                written.result()
                words = options_of({"family": options.get("family")})
                run("run", "--model", folder, *tokens, *words, "--step", "X")
            except QkvError as reason:
                raise reason from error
            except Exception:  # weights that cannot be read either
                pass
            said = (str(error).splitlines() or [""])[0]
            raise QkvError(f"{type(module).__name__} raises {type(error).__name__}: {said}") from error
        written.result()
    # What the model returns comes first: it counts, also if the model changed what its head returned.
    head = next((steps[step] for step in steps if step.rsplit(".", 1)[-1] == "lm_head"), None)
    note, returned = "", "returned"
    hidden = next((steps[step] for step in steps if step.rsplit(".", 1)[-1] in ("ln_f", "norm")), None)
    is_gpt = any(name.endswith(TABLES[0]) for name in module.state_dict())  # of GPT-2's kind
    has_head = any(unwrapped(path, wrapping_of(module)) == "lm_head" for path, _ in module.named_modules())
    if (not has_head and output is not None and hidden is not None and output.shape == hidden.shape
            and (output.shape[-1] != vocabulary_size or output.to(hidden.device).equal(hidden))):
        returned, head = "norm", hidden  # a model without a head returns its last norm; its logits are not looked at
        known["tie_word_embeddings"] = True
        write_config(folder, known)
        note = "The model has no lm_head: what it returns was compared as norm.\n"
    if output is not None and output.numel() == 0:
        raise QkvError(f"{type(module).__name__} returned no logits: a tensor of shape {tuple(output.shape)}")
    if output is None or output.numel() == 1:
        note = "What the model returns was not compared: it holds no tensor of logits.\n"
    elif (head is None or (head is not hidden and not is_gpt) or output.dtype != head.dtype
          or not output.to(head.device).equal(head)):  # a cap that was forgotten, as Gemma 2's, makes them equal
        # An output of another width replaces its head's: both beside each other, the head's would be the logits.
        steps = {returned: output, **{step: tensor for step, tensor in steps.items() if step != returned
                                      and (tensor is not head or tensor.shape[-1:] == output.shape[-1:])}}
    if not steps:
        raise QkvError(f"{type(module).__name__} returned no tensor and called no module inside: there is nothing to "
                       "check")
    file = folder.with_name("steps.safetensors")
    _arrays.write(file, steps)
    hint = ""
    if "model_type" not in known and "family" not in options:
        if any(is_exact_gelu(inside) for inside in module.modules()):
            if any(name.endswith("c_attn.weight") and weight.shape[0] < weight.shape[1]
                   for name, weight in module.state_dict().items()):  # in × out, as in Hugging Face's GPT-2
                known.setdefault("activation_function", "gelu")
                write_config(folder, known)
            else:
                options = {**options, "family": "nanogpt"}
        else:
            hint = ('No nn.GELU shows which GELU is meant. If it is the exact one, as in F.gelu(x), say '
                    'family="nanogpt"; the one with tanh is family="mingpt".\n')
    about = ["--model", str(folder), *tokens]
    page_of = [*about, *options_of_subject(options)]
    command = ["compare", str(file), *about, *options_of(options)]
    is_own = not is_given and "model_type" not in known  # a class of the module's author, with what it likes
    while True:
        try:
            verdict = Verdict(command, place_of_files, page_of, hint, note)
            break
        except QkvError as error:
            unknown = re.search(r"qkv does not know what ([^ .]+)\S* = ", str(error))
            if not is_own or not unknown or unknown[1] not in known:
                raise
            del known[unknown[1]]
            write_config(folder, known)
            note += f"The entry {unknown[1]} of the module's `config` was not used: qkv does not know it.\n"
    first = next((step for step in verdict.json["steps"] if step["step"] == verdict.first_wrong), {})
    cell = first.get("first") or {"actual": 1, "desired": 0}
    theirs, right = float(cell["actual"]), float(cell["desired"])
    is_near = abs(theirs - right) < 1e-6 * abs(right) and float(first.get("cosine") or 0) > 1 - 1e-13
    if is_near and any(step.dtype == torch.float64 for step in steps.values()):
        verdict.add_note(f"{verdict.first_wrong} is as far off as float32 rounds. If the model computes in float32 "
                         "inside, as Hugging Face's norms do, verify model.float().\n")
    return verdict


def in_memory() -> Optional[str]:
    """A directory in memory, if the system has one: weights are written there and read once."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
