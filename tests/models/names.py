#!/usr/bin/python3
"""Arrays under other programs' names and in their layouts are found, passed where right and named where wrong.

    names.py QKV
"""

import json
import random
import re
import sys
from pathlib import Path

import numpy as np
import torch

import gpt
import llama

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import harness  # noqa: E402
from harness import equal, qkv, some  # noqa: E402

IDS = [3, 18, 0, 3, 11, 7, 22]


def tokens_first(array):
    """Heads as the middle axis: n × heads × width."""
    return array.transpose(0, 1) if array.dim() == 3 else array


def flat(array):
    """Heads side by side: n × heads · width."""
    return tokens_first(array).reshape(array.shape[-2], -1) if array.dim() == 3 else array


def transformer_lens(steps, layers, kind):
    """HookedTransformer's hooks; heads are the middle axis but in scores and patterns."""
    names = {"token_embeddings": "hook_embed", "position_embeddings": "hook_pos_embed", "X": "blocks.0.hook_resid_pre"}
    if kind == "gpt2":
        names["norm"] = "ln_final.hook_normalized"
    for layer in range(layers):
        h, own = f"h{layer}.", f"blocks.{layer}."
        names |= {h + "Q": own + "attn.hook_q", h + "K": own + "attn.hook_k", h + "V": own + "attn.hook_v",
                  h + "masked_scores": own + "attn.hook_attn_scores",
                  h + "attention_weights": own + "attn.hook_pattern", h + "context": own + "attn.hook_z",
                  h + "residual1": own + "hook_resid_mid", h + "residual2": own + "hook_resid_post"}
        if kind == "gpt2":
            names |= {h + "norm1": own + "ln1.hook_normalized", h + "norm2": own + "ln2.hook_normalized",
                      h + "output": own + "hook_attn_out", h + "mlp_in": own + "mlp.hook_pre",
                      h + "gelu": own + "mlp.hook_post", h + "mlp_out": own + "hook_mlp_out"}
        else:
            names |= {h + "Q_rope": own + "attn.hook_rot_q", h + "K_rope": own + "attn.hook_rot_k",
                      h + "gate": own + "mlp.hook_pre", h + "up": own + "mlp.hook_pre_linear",
                      h + "gated": own + "mlp.hook_post"}
    keep = ("scores", "weights")
    return {theirs: (steps[ours] if ours.endswith(keep) else tokens_first(steps[ours]))[None]
            for ours, theirs in names.items() if ours in steps}


def hugging_face_gpt2(steps, layers, _kind):
    """The modules of GPT2LMHeadModel and of nanoGPT: one c_attn for queries, keys and values."""
    names = {"token_embeddings": "transformer.wte", "position_embeddings": "transformer.wpe", "X": "transformer.drop",
             "norm": "transformer.ln_f", "logits": "lm_head"}
    arrays = {}
    for layer in range(layers):
        h, own = f"h{layer}.", f"transformer.h.{layer}."
        names |= {h + "norm1": own + "ln_1", h + "attention_weights": own + "attn.attn_dropout",
                  h + "output": own + "attn.c_proj", h + "norm2": own + "ln_2", h + "mlp_in": own + "mlp.c_fc",
                  h + "gelu": own + "mlp.act", h + "mlp_out": own + "mlp.c_proj",
                  h + "residual2": f"transformer.h.{layer}"}
        arrays[own + "attn.c_attn"] = torch.cat([flat(steps[h + name]) for name in "QKV"], dim=1)[None]
    return arrays | {theirs: steps[ours][None] for ours, theirs in names.items()}


def hugging_face_llama(steps, layers, kind):
    """The modules of LlamaForCausalLM and its relatives: q_proj, k_proj and v_proj with heads side by side."""
    names = {"token_embeddings": "model.embed_tokens", "norm": "model.norm", "logits": "lm_head"}
    after = kind == "gemma2"
    for layer in range(layers):
        h, own = f"h{layer}.", f"model.layers.{layer}."
        names |= {h + "norm1": own + "input_layernorm", h + "Q": own + "self_attn.q_proj",
                  h + "K": own + "self_attn.k_proj", h + "V": own + "self_attn.v_proj",
                  h + "Q_norm": own + "self_attn.q_norm", h + "K_norm": own + "self_attn.k_norm",
                  h + "output": own + "self_attn.o_proj",
                  h + "norm1_out": own + "post_attention_layernorm",
                  h + "norm2": own + ("pre_feedforward" if after else "post_attention") + "_layernorm",
                  h + "norm2_out": own + "post_feedforward_layernorm", h + "gate": own + "mlp.gate_proj",
                  h + "up": own + "mlp.up_proj", h + "silu": own + "mlp.act_fn", h + "gelu": own + "mlp.act_fn",
                  h + "mlp_out": own + "mlp.down_proj", h + "residual2": f"model.layers.{layer}"}
    inside = ("q_norm", "k_norm")
    return {theirs: (tokens_first(steps[ours]) if theirs.endswith(inside) else flat(steps[ours]))[None]
            for ours, theirs in names.items() if ours in steps}


def llama_cpp(steps, layers, _kind):
    """The tensors that llama.cpp's callback sees."""
    names = {"norm": "result_norm", "token_embeddings": "inp_embd"}
    names["capped_logits" if "capped_logits" in steps else "logits"] = "result_output"
    for layer in range(layers):
        names |= {f"h{layer}.{ours}": f"{theirs}-{layer}" for ours, theirs in (
            ("norm1", "attn_norm"), ("Q_rope", "Qcur"), ("K_rope", "Kcur"), ("V", "Vcur"),
            ("attention_weights", "kq_soft_max_ext"), ("output", "kqv_out"), ("residual1", "ffn_inp"),
            ("norm2", "ffn_norm"), ("gate", "ffn_gate"), ("up", "ffn_up"), ("silu", "ffn_silu"),
            ("gated", "ffn_gate_par"), ("residual2", "l_out"))}
    return {theirs: tokens_first(steps[ours]) if ours.endswith(("rope", ".V")) else steps[ours]
            for ours, theirs in names.items() if ours in steps}


SCHEMES = {"transformerlens": transformer_lens, "gpt2": hugging_face_gpt2, "llama": hugging_face_llama,
           "llama.cpp": llama_cpp}
OURS_OF = {"transformerlens": "attn.hook_pattern", "gpt2": "attn.c_proj", "llama": "self_attn.o_proj",
           "llama.cpp": "kqv_out-"}


def of_gpt2(folder, ids):
    weights = gpt.random_weights(2, 16, 23, 16, "in-out", 5)
    gpt.write_safetensors(folder / "model.safetensors", weights)
    steps = gpt.forward({name: tensor.double() for name, tensor in weights.items()}, ids, 4, "in-out")
    return {name: tensor.double() for name, tensor in steps.items()}, 2, ("--model-heads", "4")


def of_llama(folder, family, ids):
    config = llama.config_of(family)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    return llama.forward(weights, ids, config), config["num_hidden_layers"], ()


def models(folder, ids=IDS):
    """Each model that is tried: its kind, its steps, its options, the schemes that name them."""
    place = folder / "gpt2"
    place.mkdir(parents=True)
    yield ("gpt2", *of_gpt2(place, ids), place, ("transformerlens", "gpt2"))
    for family in some(llama.KINDS):
        place = folder / family
        place.mkdir(parents=True)
        schemes = ("llama", "llama.cpp") if family.startswith("gemma") else ("llama", "llama.cpp", "transformerlens")
        yield (family, *of_llama(place, family, ids), place, schemes)


def compared(arrays, place, options, *words, ids=IDS):
    np.savez(place / "dump.npz", **{name: array.numpy() for name, array in arrays.items()})
    return qkv("compare", place / "dump.npz", "--model", place, "--ids", ",".join(map(str, ids)), *options, *words)


def right_arrays_are_found_and_pass(folder):
    for ids in (IDS, IDS[:6], IDS[:4]):  # and as many tokens as heads, where the sizes do not show which axis is which
        right_arrays_pass(folder / str(len(ids)), ids)


def right_arrays_pass(folder, ids):
    for kind, steps, layers, options, place, schemes in models(folder, ids):
        for scheme in schemes:
            arrays = SCHEMES[scheme](steps, layers, kind)
            done = compared(arrays, place, options, ids=ids)
            equal((done.returncode, done.stderr), (0, ""), f"{kind} {scheme}: {done.stdout}")
            assert done.stdout.startswith(f"{scheme}: names of "), (kind, scheme, done.stdout[:100])
            assert "each array fits a step" in done.stdout, (kind, scheme, done.stdout)
            checked = qkv("check", "--model", place, "--ids", ",".join(map(str, ids)), *options, place / "dump.npz")
            equal(checked.returncode, 0, f"{kind} {scheme}: {checked.stdout}")
            assert checked.stdout.startswith(f"{scheme}: names of "), checked.stdout[:100]
            checked_in_other_forms(arrays, place, options, ids)
            np.savez(place / "ours.npz", **{name: array.numpy() for name, array in steps.items()})
            done = qkv("compare", place / "dump.npz", place / "ours.npz")
            equal((done.returncode, done.stderr), (0, ""), f"{kind} {scheme}, two dumps: {done.stdout}")
            if scheme == "transformerlens":  # the second sentence of a batch
                both = {name: torch.cat([array * 2, array]) for name, array in arrays.items()}
                done = compared(both, place, options, "--batch", "2", ids=ids)
                equal((done.returncode, done.stderr), (0, ""), f"{kind}, of a batch: {done.stdout}")
            few = {name: array for name, array in arrays.items() if name.endswith(("0.attn.hook_q", "hook_pattern"))}
            if scheme == "transformerlens":
                equal(compared(few, place, options, ids=ids).returncode, 0, f"{kind}, few")


def checked_in_other_forms(arrays, place, options, ids):
    """check takes a directory with a file for each array, and where heads are not apart the last row alone."""
    own = ("--model", place, "--ids", ",".join(map(str, ids)), *options)
    files = place / f"files{len(ids)}"
    files.mkdir(exist_ok=True)
    for file in files.iterdir():
        file.unlink()
    for name, array in arrays.items():
        np.save(files / f"{name}.npy", array.numpy())
    equal(qkv("check", *own, files).returncode, 0, f"{files}")
    last = {name: array[..., -1:, :] for name, array in arrays.items() if name.endswith(("_proj", "layernorm", "lm_head"))}
    np.savez(place / "last.npz", **{name: array.numpy() for name, array in last.items()})
    if last:
        equal(qkv("check", *own, place / "last.npz").returncode, 0, f"{place}, last rows")
        name = sorted(last)[0]
        last[name] = last[name] * 1.01
        np.savez(place / "last.npz", **{name: array.numpy() for name, array in last.items()})
        equal(qkv("check", *own, place / "last.npz").returncode, 1, f"{place}, last row of {name}")


def wrong_arrays_are_found(folder):
    draw = random.Random(3)
    for kind, steps, layers, options, place, schemes in models(folder):
        for scheme in schemes:
            arrays = SCHEMES[scheme](steps, layers, kind)
            name = draw.choice([name for name in arrays if OURS_OF[scheme] in name])
            for wrong in (arrays[name] * 0, arrays[name] * 1.01, arrays[name].flip(-2)):
                done = compared(arrays | {name: wrong}, place, options)
                equal(done.returncode, 1, f"{kind} {scheme} {name}: {done.stdout}")


def later_numbers_do_not_say_where_the_heads_are(folder):
    """With as many tokens as heads only the numbers tell the axes apart: those before a mistake count."""
    draw = torch.Generator().manual_seed(4)
    for kind, steps, layers, options, place, schemes in [*models(folder, IDS[:4])] * 5:
        if "transformerlens" not in schemes:
            continue
        arrays = transformer_lens(steps, layers, kind)
        for name in arrays:
            if name == "blocks.0.hook_resid_post" or name.startswith("blocks.1.") or "ln_final" in name:
                noise = 1e4 * torch.randn(arrays[name].shape, generator=draw, dtype=torch.float64)
                arrays[name] = torch.where(arrays[name].isinf(), arrays[name], noise)
        done = compared(arrays, place, options, ids=IDS[:4])
        assert "The first that differs is h0.residual2." in done.stdout, (kind, done.stdout)


def heads_stand_first_in_a_result_and_inside_before_it(folder):
    """As in llama.cpp: Qcur is n × h × d, kqv is h × n × d, and there are as many tokens as heads."""
    ids = IDS[:6]
    for _kind, steps, _layers, options, place, schemes in models(folder, ids):
        if "llama.cpp" not in schemes:
            continue
        arrays = {"Qcur-0": tokens_first(steps["h0.Q_rope"]), "kqv-0": steps["h0.context"]}
        done = compared(arrays, place, options, ids=ids)
        equal(done.returncode, 0, done.stdout)
        arrays["kqv-0"] = arrays["kqv-0"] * 1.01
        assert "The first that differs is h0.context." in compared(arrays, place, options, ids=ids).stdout


def hooks_have_their_heads_inside_where_sizes_do_not_tell(folder):
    """Queries cut into heads by a reshape alone, with as many tokens as heads; also of the last row alone."""
    kind, steps, layers, options, place, _ = next(iter(models(folder, IDS[:4])))
    arrays = {name: array for name, array in transformer_lens(steps, layers, kind).items()
              if name.startswith("blocks.0.attn.hook_")}
    equal(compared(arrays, place, options, ids=IDS[:4]).returncode, 0)
    cut = flat(steps["h0.Q"]).reshape(steps["h0.Q"].shape)
    done = compared(arrays | {"blocks.0.attn.hook_q": tokens_first(cut)[None]}, place, options, ids=IDS[:4])
    assert "The first that differs is h0.Q." in done.stdout, done.stdout
    last = {name: array[:, -1:] for name, array in arrays.items() if name.endswith(("_q", "_k", "_v", "_z"))}
    for factor in (1, 1.01):
        equal(compared({name: array * factor for name, array in last.items()}, place, options,
                       ids=IDS[:4]).returncode, int(factor != 1))
        checked = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS[:4])), *options, place / "dump.npz")
        equal(checked.returncode, int(factor != 1), checked.stdout)


def wrappers_and_empty_arrays_do_no_harm(folder):
    """A compiled module in a checkpoint; a cache that holds nothing yet."""
    kind, steps, layers, options, place, _ = next(iter(models(folder)))
    for wrapper in ("state_dict.module.", "model._orig_mod."):
        arrays = {wrapper + name: array for name, array in hugging_face_gpt2(steps, layers, kind).items()}
        equal(compared(arrays, place, options).returncode, 0)
    wrong = {"model._orig_mod.transformer.ln_f": steps["norm"] * 2}
    for others, status in (({}, 0), (wrong, 1)):
        done = compared(arrays | {"past": torch.zeros(0, 3)} | others, place, options)
        equal(done.returncode, status, done.stdout)
        assert "past has no numbers" in done.stderr, done.stderr
    equal(compared(arrays | {"model._orig_mod.lm_head": torch.zeros(0, 3)}, place, options).returncode, 2)


def a_file_that_a_program_has_besides_its_steps_is_none_of_them(folder):
    """position_ids alone have the shape of token_ids, which are not there."""
    kind, steps, layers, options, place, _ = next(iter(models(folder)))
    (place / "dump").mkdir()
    for name, array in hugging_face_gpt2(steps, layers, kind).items():
        np.save(place / "dump" / f"{name}.npy", array.numpy())
    np.save(place / "dump" / "position_ids.npy", np.arange(len(IDS)))
    done = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "dump")
    equal(done.returncode, 0, done.stdout)


def an_offered_map_can_be_used_as_it_stands(folder):
    _, steps, _, options, place, _ = next(iter(models(folder)))
    array = {"encoder_of_another_program.embeddings_of_positions": steps["position_embeddings"]}
    offered = re.search("--map '?([^' ]+)", compared(array, place, options).stderr)[1]
    equal(compared(array, place, options, "--map", offered).returncode, 0, offered)


def gemma_s_embeddings_are_scaled_in_transformer_lens(folder):
    place = folder / "gemma"
    place.mkdir()
    steps, _, options = of_llama(place, "gemma", IDS)
    for name, status in (("X", 0), ("token_embeddings", 1)):
        equal(compared({"hook_embed": steps[name][None]}, place, options).returncode, status, name)


def a_second_array_of_a_step_is_judged_too(folder):
    """A module and its last part stand for one step; the wrong one of them is found, whichever comes first."""
    for kind, steps, layers, options, place, schemes in models(folder):
        scheme = "gpt2" if kind == "gpt2" else "llama"
        arrays = SCHEMES[scheme](steps, layers, kind)
        own = "transformer.h.1." if kind == "gpt2" else "model.layers.1."
        pairs = {"attn.c_proj": "attn", "mlp.c_proj": "mlp"} if kind == "gpt2" else {
            "self_attn.o_proj": "self_attn", "mlp.down_proj": "mlp"}
        for part, module in pairs.items():
            right = arrays[own + part]
            equal(compared(arrays | {own + module: right + 1e-12}, place, options).returncode, 0)
            for wrong in (right * -3 + 1, right * 1.01, right.flip(-2), torch.full_like(right, torch.nan)):
                for names in ((part, module), (module, part)):
                    others = {name: array for name, array in arrays.items() if name != own + part}
                    for first, second in ((right, wrong), (wrong, right)):
                        both = {own + names[0]: first, own + names[1]: second}
                        done = compared(both | others, place, options)
                        equal(done.returncode, 1, f"{kind} {names}: {done.stdout}")
                        step = "output" if "attn" in part else "mlp_out"
                        assert f"The first that differs is h1.{step}" in done.stdout, (kind, names, done.stdout)
                        fits_none = names[0] if first is right else names[1]
                        assert f"fits no step: {own}{fits_none}" in done.stdout, (kind, names, done.stdout)
            nan = -torch.full_like(right, torch.nan)
            done = compared(arrays | {own + part: nan, own + module: nan}, place, options)
            assert "fits no step" not in done.stdout and "-nan" not in done.stdout, done.stdout
            for both in ((right, right * 3), (right * 3, right)):  # and where the dump has the last row alone
                last = {own + name: array[-1:] for name, array in zip((part, module), both)}
                batch = {name: torch.stack([torch.zeros_like(array), array]) for name, array in last.items()}
                for done in (compared(last, place, options), compared(batch, place, options, "--batch", "2")):
                    assert f"The first that differs is h1.{step}" in done.stdout, (kind, done.stdout)


def an_array_with_our_name_hides_no_other(folder):
    for kind, steps, layers, options, place, _ in models(folder):
        scheme = "gpt2" if kind == "gpt2" else "llama"
        arrays = SCHEMES[scheme](steps, layers, kind)
        theirs = "transformer.h.1.attn.c_proj" if kind == "gpt2" else "model.layers.1.self_attn.o_proj"
        right = arrays.pop(theirs)[0]
        for wrong in (right * 3, right[:, :-1], torch.zeros_like(right)):
            for ours, other in ((right, wrong), (wrong, right)):
                for both in ({theirs: other, "h1.output": ours}, {"h1.output": ours, theirs: other}):
                    done = compared(both | arrays, place, options, "--json")
                    equal((done.returncode, json.loads(done.stdout)["first"]), (1, "h1.output"), kind)
        done = compared({theirs: right, "h1.output": right} | arrays, place, options)
        equal(done.returncode, 0, done.stdout)


def a_step_that_is_there_twice_is_known_part_by_part(folder):
    for kind, steps, layers, options, place, _ in models(folder):
        own = "transformer.h.1.attn.c_attn" if kind == "gpt2" else "model.layers.1.self_attn.qkv_proj"
        parts = {part: flat(steps[f"h1.{part}"]) for part in "QKV"}
        fused = torch.cat(list(parts.values()), dim=1)
        for right in ({own: fused, "h1.Q": steps["h1.Q"]}, {"h1.K": steps["h1.K"], own: fused},
                      {own: fused, f"module.{own}": fused}):
            done = compared(right, place, options)
            equal((done.returncode, "each array fits a step" in done.stdout), (0, True), f"{kind}: {done.stdout}")
        for part, change in (("V", lambda x: x * 3), ("Q", lambda x: x.flip(0)), ("K", lambda x: x.flip(0))):
            wrong = torch.cat([change(array) if name == part else array for name, array in parts.items()], dim=1)
            for both in ({"h1.K": steps["h1.K"], "h1.Q": steps["h1.Q"], own: wrong},
                         {own: wrong, "h1.K": steps["h1.K"], "h1.Q": steps["h1.Q"]}):
                done = compared(both, place, options, "--json")
                equal((done.returncode, json.loads(done.stdout)["first"]), (1, f"h1.{part}"), kind)


def another_output_of_a_module_is_no_step(folder):
    """A hook may keep the attention weights, which a module returns beside its output."""
    for kind, steps, _, options, place, _ in models(folder):
        module, last = ("transformer.h.0.attn", "c_proj") if kind == "gpt2" else ("model.layers.0.self_attn", "o_proj")
        weights = steps["h0.attention_weights"][None]
        for both in ({f"{module}.{last}": steps["h0.output"], module: weights},
                     {module: weights, f"{module}.{last}": steps["h0.output"]}):
            done = compared(both, place, options)
            equal((done.returncode, f"fits no step: {module}." in done.stdout), (0, True), f"{kind}: {done.stdout}")


def a_program_may_have_all_tokens_as_columns(folder):
    kind, steps, layers, options, place, _ = next(iter(models(folder)))
    arrays = {name: array[0].T for name, array in hugging_face_gpt2(steps, layers, kind).items() if array.dim() == 3}
    arrays = {name: array for name, array in arrays.items() if array.shape[0] != array.shape[1] and "attn" not in name}
    compared(arrays, place, options)
    done = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "dump.npz")
    equal(done.returncode, 0, done.stdout)


def a_fused_array_of_a_wrong_size_is_wrong(folder):
    for kind, steps, layers, options, place, _ in models(folder):
        scheme, fused, parts = ("gpt2", "transformer.h.1.attn.c_attn", "QKV") if kind == "gpt2" else (
            "llama", "model.layers.1.mlp.gate_up_proj", ("gate", "up"))
        arrays = SCHEMES[scheme](steps, layers, kind)
        arrays = {name: array for name, array in arrays.items() if "layers.1.mlp" not in name}
        flats = [flat(steps[f"h1.{part}"]) for part in parts]
        whole = torch.cat(flats, dim=1)
        equal(compared(arrays | {fused: whole}, place, options).returncode, 0, kind)
        for wrong in (*flats, torch.cat(flats[:-1], dim=1), whole[:, :-1], torch.cat([whole, flats[0]], dim=1)):
            done = compared(arrays | {fused: wrong}, place, options, "--json")
            first = json.loads(done.stdout)["first"]
            equal((done.returncode, first in [f"h1.{part}" for part in parts]), (1, True), f"{kind}: {first}")
            checked = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "dump.npz")
            equal(checked.returncode, 1, kind)


def one_transposed_array_does_not_transpose_a_program(folder):
    kind, steps, layers, options, place, _ = next(iter(models(folder)))
    arrays = hugging_face_gpt2(steps, layers, kind)
    few = {f"transformer.h.0.{name}": arrays[f"transformer.h.0.{name}"] for name in ("ln_1", "attn.c_proj")}
    compared(few | {"transformer.h.0.attn.c_attn": arrays["transformer.h.0.attn.c_attn"][0].T}, place, options)
    done = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "dump.npz", "--json")
    verdicts = {step["step"]: step["verdict"] for step in json.loads(done.stdout)["steps"]}
    equal((verdicts["h0.norm1"], verdicts["h0.output"], verdicts["h0.Q"]), ("correct", "correct", "shape"))


def two_dumps_may_have_the_names_of_a_scheme_and_ours(folder):
    for kind, steps, layers, _, place, schemes in models(folder):
        for scheme in schemes:
            arrays = SCHEMES[scheme](steps, layers, kind)
            for planted in (None, "h1.V", "h1.residual1" if scheme != "gpt2" and scheme != "llama" else "h1.output"):
                ours = steps | ({planted: steps[planted] * 1.5} if planted else {})
                for name, side in (("theirs", arrays), ("ours", ours)):
                    np.savez(place / f"{name}.npz", **{key: array.numpy() for key, array in side.items()})
                for sides in (("theirs", "ours"), ("ours", "theirs")):
                    done = qkv("compare", *(place / f"{side}.npz" for side in sides), "--json")
                    said = json.loads(done.stdout)
                    equal((done.returncode, said["first"]), (1 if planted else 0, planted), f"{kind} {scheme} {sides}")
                    assert said["compared"] > len(arrays) / 2 and said["names"].startswith(f"{scheme}: "), said
        done = qkv("compare", place / "theirs.npz", place / "theirs.npz", "--names", schemes[0])
        equal(done.returncode, 0, done.stderr)
    # Without the step that is meant, another one is no partner: Q for rotated queries.
    kind, steps, layers, _, place, _ = [one for one in models(folder / "again") if one[0] != "gpt2"][0]
    arrays = llama_cpp(steps, layers, kind)
    np.savez(place / "theirs.npz", **{name: arrays[name].numpy() for name in ("Qcur-0", "ffn_inp-0")})
    np.savez(place / "ours.npz", **{name: steps[name].numpy() for name in ("h0.Q", "h0.residual1")})
    done = qkv("compare", place / "theirs.npz", place / "ours.npz", "--json")
    equal((done.returncode, json.loads(done.stdout)["compared"]), (0, 1), done.stdout)


def a_wrong_array_whose_name_is_open_does_not_pass_between_two_dumps(folder):
    """It may be h*.norm1_out or h*.norm2: the other dump has the second alone."""
    kind, steps, layers, _, place, _ = [one for one in models(folder) if one[0] != "gpt2"][0]
    theirs = {"model.layers.0.post_attention_layernorm": steps["h0.norm2"] * 1.5,
              "model.layers.0.mlp.down_proj": steps["h0.mlp_out"]}
    np.savez(place / "ours.npz", **{name: steps[name].numpy() for name in ("h0.norm2", "h0.mlp_out")})
    np.savez(place / "theirs.npz", **{name: array.numpy() for name, array in theirs.items()})
    for sides in (("theirs.npz", "ours.npz"), ("ours.npz", "theirs.npz")):
        done = qkv("compare", *(place / side for side in sides), "--json")
        verdicts = {step["step"]: step["verdict"] for step in json.loads(done.stdout)["steps"]}
        equal((done.returncode, verdicts["h0.norm2"], verdicts["h0.mlp_out"]), (1, "undecided", "identical"))
    done = qkv("compare", place / "theirs.npz", place / "ours.npz", "--map",
               "model.layers.0.post_attention_layernorm=h0.norm2")
    assert done.returncode == 1 and "The first that differs is h0.norm2" in done.stdout, done.stdout
    for option in ("--strict", "--columns", "--bisect"):
        done = qkv("compare", place / "theirs.npz", place / "ours.npz", option)
        equal((done.returncode, f"{option} needs a lesson" in done.stderr), (2, True), done.stderr)


def folders_of_arrays_are_several_submissions(folder):
    kind, steps, layers, options, place, _ = next(models(folder))
    for name, scheme, factor in (("ann", "transformerlens", 1), ("bob", "gpt2", 2), ("eve", "gpt2", 1)):
        (place / "class" / name).mkdir(parents=True)
        for theirs, array in SCHEMES[scheme](steps, layers, kind).items():
            np.save(place / "class" / name / f"{theirs}.npy", (array * factor).numpy())
    done = qkv("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "class", "--summary", "csv")
    rows = [row.split(",") for row in done.stdout.splitlines()[1:]]
    equal([(row[0].rpartition("/")[2], row[2] == "wrong") for row in rows], [("ann", False), ("bob", True), ("eve", False)])


def the_hook_of_an_rms_norm_fits_no_step(folder):
    """TransformerLens has it before the gain; that of a layer norm is the step."""
    for kind, steps, layers, options, place, schemes in models(folder):
        if "transformerlens" not in schemes:
            continue
        arrays = transformer_lens(steps, layers, kind)
        names = {"h0.norm1": "blocks.0.ln1", "h1.norm2": "blocks.1.ln2", "norm": "ln_final"}
        for ours, theirs in names.items():
            arrays[theirs + ".hook_normalized"] = steps[ours][None] * 1.5
        done = compared(arrays, place, options)
        equal(done.returncode, 1 if kind == "gpt2" else 0, f"{kind}: {done.stdout}")
        assert "fit no step" in done.stdout or kind == "gpt2", done.stdout


def kqv_out_is_before_the_output_weight_beside_attn_out(folder):
    for kind, steps, layers, options, place, schemes in models(folder):
        if "llama.cpp" not in schemes:
            continue
        arrays = llama_cpp(steps, layers, kind)
        now = arrays | {f"kqv_out-{layer}": steps[f"h{layer}.concat"] for layer in range(layers)}
        both = now | {f"attn_out-{layer}": steps[f"h{layer}.output"] for layer in range(layers)}
        done = compared(both, place, options)
        equal(done.returncode, 0, f"{kind}: {done.stdout}")
        assert "each array fits a step" in done.stdout, done.stdout
        done = compared(both | {"norm": steps["norm"] / 2}, place, options)  # before its gain
        equal(done.returncode, 0, f"{kind}: {done.stdout}")
        assert "fits no step: norm of llama.cpp" in done.stdout, done.stdout
        own = {"h0.output": steps["h0.output"], "norm": steps["norm"] * 1.5}  # qkv's norm, which is wrong
        for others in ({"Qcur-0": arrays["Qcur-0"]}, {"result_norm": steps["norm"]}):
            equal(compared(own | others, place, options).returncode, 1, f"{kind}: {list(others)}")
        wrong = arrays | {"norm": steps["norm"] * 1.5}
        equal(compared(wrong, place, options, "--map", "norm=norm").returncode, 1, kind)
        for name, step in (("kqv_out-1", "h1.concat"), ("attn_out-1", "h1.output")):
            done = compared(both | {name: both[name] * 1.01}, place, options)
            equal(done.returncode, 1, f"{kind}: {done.stdout}")
            assert f"The first that differs is {step}." in done.stdout, done.stdout
        equal(compared(now, place, options).returncode, 0, kind)
        alone = {name: array for name, array in now.items() if name.startswith("kqv_out-")}
        two = {name: torch.stack([array * 2, array]) for name, array in alone.items()}
        last = {name: array[-1:] for name, array in alone.items()}
        for arrays, words in ((alone, ()), (two, ("--batch", "2")), (last, ())):
            done = compared(arrays, place, options, *words)
            equal(done.returncode, 0, f"{kind}: {done.stdout}")
            assert "h0.concat" in done.stdout and "h0.output" not in done.stdout, done.stdout
        for name, step in (("kqv_merged_cont", "concat"), ("kqv_merged", "context")):  # of an older program
            merged = {f"{name}-0": tokens_first(steps[f"h0.{step}"])}
            equal(compared(merged | {"kqv_out-0": steps["h0.output"]}, place, options).returncode, 0, kind)
            equal(compared(merged | {"kqv_out-0": steps["h0.concat"]}, place, options).returncode, 1, kind)


def queries_and_keys_may_have_the_columns_of_a_gguf(folder):
    """Its weights are permuted, so Q and K are, too, and only together with Q_rope and K_rope."""
    _, (kind, steps, layers, options, place, _), *_ = models(folder)
    width = steps["h0.Q"].shape[-1]
    order = torch.arange(width).view(2, -1).T.flatten()
    queries = [f"h{layer}.{step}" for layer in range(layers) for step in ("Q", "K", "Q_rope", "K_rope")]

    def permuted(names, **others):
        given = {name: array for name, array in steps.items() if "probabilities" not in name} | others
        return compared(given | {name: given[name][..., order] for name in names}, place, options)
    done = permuted(queries)
    equal(done.returncode, 0, done.stdout)
    assert done.stdout.count("convention.rope-layout") > 0, done.stdout
    for name in ("h0.Q", "h1.K"):
        done = permuted(queries, **{name: steps[name] * 1.01})
        equal(done.returncode, 1, done.stdout)
        assert f"The first that differs is {name}." in done.stdout, done.stdout
    rotated = [name for name in queries if "rope" in name]
    equal(permuted(rotated).returncode, 0)
    for names in (["h0.Q", "h1.Q"], ["h0.K", "h1.K"], ["h0.Q", "h0.K", "h1.Q", "h1.K"],
                  [*rotated, "h0.Q", "h1.Q"], [*rotated, "h0.K", "h1.K"], [*rotated, "h0.Q", "h0.K"],
                  [name for name in queries if "Q" in name]):
        equal(permuted(names).returncode, 1, f"{names}")


def weights_pass_as_pytorch_stores_them(folder):
    """nn.Linear's are out × in, also in a fused one; a wrong one is found, and so is one that stands another way."""
    for kind, layout in (("nanogpt", "out-in"), ("gpt2", "in-out"), *((family, "") for family in llama.KINDS)):
        place = folder / kind
        place.mkdir()
        options = ()
        if layout:
            weights, own = gpt.random_weights(2, 16, 23, 16, layout, 5), "transformer.h.1.{}.weight"
            gpt.write_safetensors(place / "model.safetensors", weights)
            options = ("--family", kind, "--model-heads", "4")
            square, other = own.format("attn.c_proj"), own.format("mlp.c_fc")
        else:
            config = llama.config_of(kind)
            weights, own = llama.random_weights(config), "model.layers.1.{}.weight"
            llama.write(place, config, weights)
            square, other = own.format("self_attn.o_proj"), own.format("mlp.up_proj")
            fused = {name: tensor for name, tensor in weights.items() if "_proj" not in name or "norm" in name}
            for layer in range(config["num_hidden_layers"]):
                for whole, parts in (("self_attn.qkv_proj", "qkv"), ("mlp.gate_up_proj", ("gate", "up"))):
                    start = f"model.layers.{layer}.{whole.split('.')[0]}."
                    fused[f"model.layers.{layer}.{whole}.weight"] = torch.cat(
                        [weights[f"{start}{part}_proj.weight"] for part in parts])
                for name in ("self_attn.o_proj", "mlp.down_proj"):
                    fused[f"model.layers.{layer}.{name}.weight"] = weights[f"model.layers.{layer}.{name}.weight"]
            done = compared(fused, place, options)
            equal(done.returncode, 0, f"{kind}, fused: {done.stdout}")
        done = compared(weights, place, options)
        equal((done.returncode, done.stderr), (0, ""), f"{kind}: {done.stdout}")
        equal("out × in, as PyTorch stores weights: transposed" in " ".join(done.stdout.split()), layout != "in-out")
        assert "each array fits a step" in done.stdout or "lm_head.weight" in done.stdout, (kind, done.stdout)
        check = ("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, place / "dump.npz")
        equal(qkv(*check).returncode, 0, f"{kind}, checked")
        for name in (square, other):
            for wrong in (weights[name].T, weights[name] * 1.01, weights[name].flip(0),
                          torch.randn(weights[name].shape)):
                done = compared(weights | {name: wrong}, place, options)
                equal(done.returncode, 1, f"{kind} {name}: {done.stdout}")
                equal(len(re.findall(r"DIFFERS|OTHER SHAPE", done.stdout)), 1, f"{kind} {name}: {done.stdout}")
                equal(qkv(*check).returncode, 1, f"{kind} {name}, checked")
        if layout:  # alone, too, a square one stands as its model stores it
            equal(compared({square: weights[square]}, place, options).returncode, 0, kind)
            equal(compared({square: weights[square].T}, place, options).returncode, 1, kind)
            equal(compared({other: weights[other]}, place, options).returncode, 0, kind)
        if not layout:
            config = llama.config_of(kind, hidden_size=16, head_dim=4, num_attention_heads=4)
            weights = llama.random_weights(config)
            llama.write(place, config, weights)
            equal(compared({square: weights[square]}, place, options).returncode, 0, kind)
            equal(compared({square: weights[square].T}, place, options).returncode, 1, kind)
            equal(compared({square: weights[square] * 1.01}, place, options).returncode, 1, kind)
            config = llama.config_of(kind, hidden_size=16, head_dim=16)  # as high as heads one below the other
            weights = llama.random_weights(config)
            llama.write(place, config, weights)
            name = own.format("self_attn.k_proj")
            for factor in (1, 1.01):
                equal(compared({name: weights[name] * factor}, place, options).returncode, int(factor != 1), kind)
                equal(qkv(*check).returncode, int(factor != 1), f"{kind}, checked")


def far_mistakes_have_their_names(folder):
    """Of six layers: a residual of the first one, keys before their rotation mixed, a square weight transposed.

    There are as many tokens as numbers in a key, so that keys can be multiplied without a transpose.
    """
    ids = [*IDS, 5]
    config = llama.config_of("llama", hidden_size=48, num_hidden_layers=6, num_key_value_heads=2)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    known = llama.forward(weights, ids, config)
    flat_q = known["h5.norm1"] @ weights["model.layers.5.self_attn.q_proj.weight"].double()
    wrong = {
        "h5.residual1": (known["X"] + known["h5.output"], "add.wrong-operand"),
        "h3.scores": (known["h3.Q_rope"] @ known["h3.K_rope"].repeat_interleave(3, 0), "score.not-transposed"),
        "h4.context": (known["h4.attention_weights"] @ known["h4.K"].repeat_interleave(3, 0), "weighted-sum.keys"),
        "h5.Q": (flat_q.view(len(ids), 6, 8).transpose(0, 1), "project.transposed-weight")}
    for name, (numbers, mistake) in wrong.items():
        steps = llama.forward(weights, ids, config, instead={name: lambda _, numbers=numbers: numbers})
        done = compared(steps, folder, (), "--json", ids=ids)
        found = {step["step"]: step for step in json.loads(done.stdout)["steps"]}[name]
        equal([one["id"] for one in found["mistakes"]], [mistake], name)


def a_last_row_does_not_say_where_the_heads_are(folder):
    config = llama.config_of("llama", num_attention_heads=2)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    steps = llama.forward(weights, IDS[:2], config)  # as many tokens as heads
    values, context = (tokens_first(steps[name])[None] for name in ("h0.V", "h0.context"))
    arrays = {"blocks.0.attn.hook_v": values, "blocks.0.attn.hook_z": context[:, -1:]}
    equal(compared(arrays, folder, (), ids=IDS[:2]).returncode, 0)
    arrays["blocks.0.attn.hook_v"] = values * 1.01
    equal(compared(arrays, folder, (), ids=IDS[:2]).returncode, 1)


def a_dump_may_have_the_weights_too(folder):
    """A safetensors file of weights and results is no model."""
    _, steps, layers, options, place, _ = next(one for one in models(folder) if one[0] == "llama")
    weights = llama.random_weights(llama.config_of("llama"))
    arrays = weights | hugging_face_llama(steps, layers, "llama")
    dump = folder / "dump.safetensors"

    def status():
        gpt.write_safetensors(dump, {name: array.double().contiguous() for name, array in arrays.items()}, dtype="F64")
        return qkv("compare", dump, "--model", place, "--ids", ",".join(map(str, IDS)), *options).returncode

    equal(status(), 0)
    arrays["lm_head"] = arrays["lm_head"] * 1.01
    equal(status(), 1)


def directories_of_models_are_run(folder):
    """Two with the same weights and other configurations; without a text only their tensors are compared."""
    weights = llama.random_weights(llama.config_of("llama"))
    for name, base in (("a", 500.0), ("b", 7.0)):
        (folder / name).mkdir()
        llama.write(folder / name, llama.config_of("llama", rope_theta=base), weights)
    ids = ("--ids", ",".join(map(str, IDS)))
    for sides in ((folder / "a", folder / "b"), (folder / "a", "--model", folder / "b"),
                  (folder / "a", folder / "b" / "model.safetensors")):
        done = qkv("compare", *sides, *ids, "--json")
        equal((done.returncode, json.loads(done.stdout)["first"]), (1, "h0.Q_rope"), f"{sides}")
    equal(qkv("compare", folder / "a", "--model", folder / "a", *ids).returncode, 0)
    done = qkv("compare", folder / "a", folder / "b")
    equal((done.returncode, done.stderr.count("only tensors are compared")), (0, 2), done.stderr)


def every_bias_has_a_name(folder):
    config = llama.config_of("llama", attention_bias=True, mlp_bias=True, num_key_value_heads=1)
    weights = llama.random_weights(config)
    llama.write(folder, config, weights)
    done = compared(weights, folder, ())
    equal(done.returncode, 0, done.stdout)
    assert "each array fits a step" in done.stdout, done.stdout
    for part in ("self_attn.o_proj", "self_attn.k_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"):
        name = f"model.layers.1.{part}.bias"
        equal(compared(weights | {name: weights[name] + 0.5}, folder, ()).returncode, 1, name)
    steps = llama.forward(weights, IDS, config)
    keys = steps["h0.K"].reshape(1, len(IDS), 1, -1).clone()  # one head of keys
    equal(compared({"blocks.0.attn.hook_k": keys}, folder, ()).returncode, 0)
    keys[0, 2, 0, 3] += 0.5
    done = compared({"blocks.0.attn.hook_k": keys}, folder, ())
    assert "DIFFERS" in done.stdout and "OTHER SHAPE" not in done.stdout, done.stdout


def a_scheme_may_be_named_and_must_fit(folder):
    kind, steps, layers, options, place, _ = next(models(folder))
    arrays = hugging_face_gpt2(steps, layers, kind)
    equal(compared(arrays, place, options, "--names", "gpt2").returncode, 0)
    done = compared(arrays, place, options, "--names", "llama.cpp")
    equal(done.returncode, 2)
    assert "no array has a name of llama.cpp's tensors" in done.stderr, done.stderr
    files = place / "files"  # one of which has a name of qkv's own
    files.mkdir()
    for name, array in (arrays | {"norm": steps["norm"][None]}).items():
        np.save(files / f"{name}.npy", array.numpy())
    own = ("--model", place, "--ids", ",".join(map(str, IDS)), *options)
    equal(qkv("check", *own, "--names", "gpt2", files).returncode, 0, "a directory under a named scheme")
    equal(qkv("check", *own, "--names", "llama.cpp", files).returncode, 2)
    part = files / "transformer.h.0.mlp.c_proj.npy"  # cut short: it is missing, and not merely unknown
    part.write_bytes(part.read_bytes()[:150])
    (files / "drop.txt").write_text("These are notes.\n")
    for command in (("check", *own, files), ("compare", files, *own)):
        equal(qkv(*command).returncode, 2, f"{command[0]}: a file that cannot be read")
    part.unlink()
    equal(qkv("check", *own, files).returncode, 0, "notes")
    done = compared(arrays, place, options, "--names", "gtp2")
    equal((done.returncode, done.stderr), (2, 'qkv: --names: "gtp2" is not possible; did you mean "gpt2"? (qkv compare --help shows examples)\n'))


def a_file_for_one_head_may_have_a_name_of_another_program(folder):
    _kind, steps, _layers, options, place, _ = next(models(folder))
    files = place / "files"
    files.mkdir()
    weights = steps["h0.attention_weights"].numpy()
    own = ("check", "--model", place, "--ids", ",".join(map(str, IDS)), *options, files)
    for factor in (1, 1.01):
        for head, matrix in enumerate(weights, 1):
            np.save(files / f"blocks.0.attn.hook_pattern.head-{head}.npy", matrix * (factor if head == 2 else 1))
        done = qkv(*own)
        equal(done.returncode, int(factor != 1), f"{factor}: {done.stdout} {done.stderr}")
        assert "fit no step" not in done.stderr, done.stderr


def maps_come_first_and_stars_cross_no_dot(folder):
    kind, steps, layers, options, place, _ = next(models(folder))
    arrays = {"m.0.out": steps["h0.residual2"], "m.1.out": steps["h1.residual2"], "m.1.mlp.out": steps["h1.mlp_out"]}
    for maps in (["m.*.out=h*.residual2", "m.*.mlp.out=h*.mlp_out"], ["m.*.mlp.out=h*.mlp_out", "m.*.out=h*.residual2"]):
        words = [word for one in maps for word in ("--map", one)]
        done = compared(arrays, place, options, *words)
        equal(done.returncode, 0, done.stdout + done.stderr)
        assert done.stdout.count("within tolerance\n") + done.stdout.count("identical\n") == 3, done.stdout
    (folder / "maps").write_text("# ours\nm.*.out = h*.residual2\n\nm.*.mlp.out=h*.mlp_out\n")
    equal(compared(arrays, place, options, "--map", folder / "maps").returncode, 0)
    (folder / "maps").write_text("m.*.out=h*.residual2\nnonsense\n")
    done = compared(arrays, place, options, "--map", folder / "maps")
    equal(done.returncode, 2)
    assert f"{folder}/maps:2: " in done.stderr, done.stderr


CLAIMS = [
    right_arrays_are_found_and_pass,
    wrong_arrays_are_found,
    later_numbers_do_not_say_where_the_heads_are,
    heads_stand_first_in_a_result_and_inside_before_it,
    a_second_array_of_a_step_is_judged_too,
    an_array_with_our_name_hides_no_other,
    a_step_that_is_there_twice_is_known_part_by_part,
    another_output_of_a_module_is_no_step,
    a_program_may_have_all_tokens_as_columns,
    a_fused_array_of_a_wrong_size_is_wrong,
    one_transposed_array_does_not_transpose_a_program,
    two_dumps_may_have_the_names_of_a_scheme_and_ours,
    a_wrong_array_whose_name_is_open_does_not_pass_between_two_dumps,
    folders_of_arrays_are_several_submissions,
    the_hook_of_an_rms_norm_fits_no_step,
    kqv_out_is_before_the_output_weight_beside_attn_out,
    hooks_have_their_heads_inside_where_sizes_do_not_tell,
    wrappers_and_empty_arrays_do_no_harm,
    an_offered_map_can_be_used_as_it_stands,
    a_file_that_a_program_has_besides_its_steps_is_none_of_them,
    gemma_s_embeddings_are_scaled_in_transformer_lens,
    queries_and_keys_may_have_the_columns_of_a_gguf,
    weights_pass_as_pytorch_stores_them,
    far_mistakes_have_their_names,
    a_last_row_does_not_say_where_the_heads_are,
    a_dump_may_have_the_weights_too,
    directories_of_models_are_run,
    every_bias_has_a_name,
    a_scheme_may_be_named_and_must_fit,
    a_file_for_one_head_may_have_a_name_of_another_program,
    maps_come_first_and_stars_cross_no_dot,
]

if __name__ == "__main__":
    sys.exit(harness.main(CLAIMS, __doc__, sys.argv[1:]))
