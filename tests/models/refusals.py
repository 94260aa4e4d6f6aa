#!/usr/bin/python3
"""Models that can't be walked: each is refused with what is wrong, where, and what to do.

    refusals.py QKV

Each function below is one claim.
"""

import json
import math
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from harness import equal, main, qkv  # noqa: E402

import gpt  # noqa: E402


def refused(folder, message, change=lambda weights: None, *options, metadata=None):
    path = gpt.small_model(folder, change, metadata)
    done = qkv("run", "--model", path, "--text", "A", *options)
    equal((done.returncode, done.stdout), (2, ""))
    equal(done.stderr.strip(), f"qkv: {path}: {message}")


def a_missing_tensor_is_named_with_its_shape(folder):
    refused(folder, "there is no tensor transformer.h.1.attn.c_proj.weight, which must be 24×24",
            lambda weights: weights.pop("transformer.h.1.attn.c_proj.weight"))


def a_tensor_of_the_wrong_shape_is_named_with_both(folder):
    def change(weights):
        weights["transformer.h.1.mlp.c_fc.bias"] = torch.zeros(95)
    refused(folder, "transformer.h.1.mlp.c_fc.bias must be 96, and is 95", change)


def a_bias_is_in_all_layers_or_in_none(folder):
    refused(folder, "there is no tensor transformer.h.1.mlp.c_fc.bias, which must be 96",
            lambda weights: weights.pop("transformer.h.1.mlp.c_fc.bias"))


def a_bias_that_its_siblings_have_is_missed(folder):
    def change(weights):
        for name in [name for name in weights if name.endswith("c_attn.bias")]:
            weights.pop(name)
    refused(folder, "there is no tensor transformer.h.0.attn.c_attn.bias, which must be 72, though "
            "there is transformer.h.0.ln_1.bias: a GPT has all of its biases or none; convert the "
            "model again, with all of its tensors", change)


def a_tensor_in_another_place_is_not_passed_over(folder):
    def change(weights):
        weights["model.lm_head.weight"] = weights.pop("lm_head.weight")
    refused(folder, 'no GPT-2 whose tensors begin with "transformer." has a tensor '
            "model.lm_head.weight; name it lm_head.weight", change)

    def add(weights):
        weights["transformer.drop.scale"] = torch.zeros(3)
    refused(folder, 'no GPT-2 whose tensors begin with "transformer." has a tensor '
            "transformer.drop.scale; outside its layers it has transformer.wte.weight, "
            "transformer.wpe.weight, transformer.ln_f.weight, transformer.ln_f.bias, lm_head.weight",
            add)


def a_configuration_of_other_sizes_is_refused(folder):
    path = gpt.small_model(folder)
    config = folder / "config.json"
    one = "the file and its config.json must be one model's"
    for entry, told in (('"n_layer": 5', f"n_layer is 5; {path} has 2 layers: {one}"),
                        ('"n_embd": 48', f"n_embd is 48; {path} has 24 numbers a token (d_model): {one}"),
                        ('"vocab_size": 4', f"vocab_size is 4; {path} has 3 tokens in its vocabulary: "
                         f"{one}"),
                        ('"bias": false', "bias is false; the file has biases"),
                        ('"n_heads": 4', "qkv does not know what n_heads = 4 does to a GPT-2; did you "
                         'mean "n_head"?'),
                        ('"quantization_config": {"bits": 4}', "quantization_config.bits is 4; qkv reads "
                         "F64, F32, F16 and BF16: write the model out unquantised"),
                        ('"moe": {"experts": 8}', "qkv does not know what moe.experts = 8 does to a "
                         "GPT-2; take it out if it changes none of the model's numbers")):
        config.write_text("{" + entry + "}")
        done = qkv("run", "--model", path, "--text", "A")
        equal((done.returncode, done.stderr.strip()), (2, (
            f"qkv: {config}: {told}")))


def what_is_no_model_is_reported_as_what_it_is(folder):
    path = folder / "m.safetensors"
    page = ("this is a web page, not the file itself: download the file (on Hugging Face the address "
            "with /resolve/ in it, not /blob/)")
    for data, told in (
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n",
             "this is a pointer of Git LFS, which stands for a file that was not fetched: fetch it "
             "with git lfs pull"),
            (b"GGUF\x03\0\0\0\x23\x01\0\0\0\0\0\0",
             "this is a GGUF file, as llama.cpp reads it; qkv reads the .safetensors files that it was "
             "converted from"),
            (b"<!DOCTYPE html>\n<html><head>", page),
            (b'\n<!doctype html>', page)):
        path.write_bytes(data)
        done = qkv("run", "--model", path, "--text", "A")
        equal((done.returncode, done.stderr.strip()), (2, f"qkv: {path}: {told}"))


def an_index_without_its_files_is_reported(folder):
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "model-1-of-3.safetensors", "b": "model-2-of-3.safetensors"}}')
    for path in (index, folder):
        done = qkv("run", "--model", path, "--text", "A")
        equal((done.returncode, done.stderr.strip()), (2, (
            f"qkv: {index}: the index lists 2 files, and 2 are not beside it: "
            "model-1-of-3.safetensors, model-2-of-3.safetensors; fetch the model whole")))
    index.write_text('{"weight_map": {"a": "../m.safetensors"}}')
    done = qkv("run", "--model", index, "--text", "A")
    equal((done.returncode, done.stderr.strip()), (2, (
        f"qkv: {index}: weight_map: a is not in a file beside the index; its value must be the file's "
        "name alone")))
    index.unlink()
    done = qkv("run", "--model", folder, "--text", "A")
    equal((done.returncode, done.stderr.strip()), (2, (
        f"qkv: {folder}: there is no .safetensors file in this directory: a model's directory has "
        "model.safetensors, or model.safetensors.index.json and the files that it lists")))


def a_missing_layer_is_reported(folder):
    def change(weights):
        for name in [name for name in weights if ".h.0." in name]:
            weights[name.replace(".h.0.", ".h.2.")] = weights.pop(name)
    refused(folder, "there is no layer 0 (no tensor transformer.h.0.…)", change)


def another_family_is_told_by_what_was_met(folder):
    def change(weights):
        tensor = weights["lm_head.weight"]
        weights.clear()
        weights["encoder.embeddings.weight"] = tensor
    refused(folder, "this is not a model that qkv knows: there is no transformer.wte.weight or "
            "wte.weight and no model.embed_tokens.weight, but encoder.embeddings.weight, …; it reads "
            "the tensors of minGPT, nanoGPT and Hugging Face's GPT-2, LLaMA, Mistral, Qwen2, Qwen3, "
            "Gemma and Gemma 2 (of several files give the directory, or the index)", change)


def a_name_near_it_is_offered(folder):
    def change(weights):
        weights["transformer.ln_f.wight"] = weights.pop("transformer.ln_f.weight")
    refused(folder, "there is no tensor transformer.ln_f.weight, which must be 24; "
            'is it "transformer.ln_f.wight"?', change)


def numbers_that_are_none_are_reported_with_their_tensor(folder):
    for value, word in ((math.nan, "NaN"), (-math.inf, "an infinity")):
        def change(weights, value=value):
            weights["transformer.h.1.mlp.c_fc.weight"][5, 7] = value
        refused(folder, f"transformer.h.1.mlp.c_fc.weight holds {word} at [5, 7]; the file is "
                "damaged, or training failed", change)


def whole_numbers_are_no_weights(folder):
    path = gpt.small_model(folder)
    data = path.read_bytes()
    start = data.index(b'"transformer.wte.weight"')
    path.write_bytes(data[:start] + data[start:].replace(b'"F32"', b'"I32"', 1))
    done = qkv("run", "--model", path, "--text", "A")
    equal((done.returncode, done.stderr.strip()), (2, (
        f"qkv: {path}: transformer.wte.weight is stored as I32; weights are read as F64, F32, F16 or "
        "BF16, so write the model out unquantised")))


def a_configuration_of_another_computation_is_refused(folder):
    path = gpt.small_model(folder)
    config = folder / "config.json"
    for text, message in (
            ('{"scale_attn_by_inverse_layer_idx": true}', f"{config}: scale_attn_by_inverse_layer_idx "
             "is true; qkv does not divide scores by the layer's number, too"),
            ('{"scale_attn_weights": false}',
             f"{config}: scale_attn_weights is false; qkv divides scores by √d_k"),
            ('{"layer_norm_epsilon": {"x": 1}}',
             f"{config}: layer_norm_epsilon.x is 1; qkv knows no such object"),
            ('{"layer_norm_epsilon": "x"}',
             f"{config}: layer_norm_epsilon is x; it must be a number above 0"),
            ('{"model_type": "openai-gpt"}', f"{config}: model_type is openai-gpt; its tensors are named "
             "as those of gpt2, mingpt and nanogpt are, and qkv knows no other model with such tensors"),
            ('{"tie_word_embeddings": true}', f"{config}: tie_word_embeddings is true; there is a "
             "lm_head.weight of its own; set it to false if that is to count"),
            ('{"activation_function": "mish"}',
             f"{config}: activation_function is mish; qkv knows relu, gelu, gelu_new, and in a gate silu"),
            ('{', f"{config}: this is not a JSON object; correct or "
             "remove the file")):
        config.write_text(text)
        done = qkv("run", "--model", path, "--text", "A")
        equal((done.returncode, done.stderr.strip()), (2, f"qkv: {message}"))
    config.write_text('{"scale_attn_weights": true, "n_head": 4}')
    qkv.printed("run", "--model", path, "--text", "A", "--no-pause")


def what_a_file_says_of_itself_is_reported_with_the_file(folder):
    for metadata, message in (
            ({"n_head": "0"}, "n_head is 0; it must be a whole number above 0"),
            ({"n_head": "4", "layer_norm_epsilon": "-1"},
             "layer_norm_epsilon is -1; it must be a number above 0"),
            ({"n_head": "4", "vocabulary": "A B"},
             'vocabulary must be a list of words in JSON: ["A", "B"]'),
            ({"n_head": "4", "vocabulary": '["A", 2]'},
             'vocabulary must be a list of words in JSON: ["A", "B"]')):
        path = gpt.small_model(folder, metadata=metadata)
        done = qkv("run", "--model", path, "--text", "A")
        equal((done.returncode, done.stderr.strip()), (2, f"qkv: {path}: {message}"))


def a_vocabulary_has_each_word_once(folder):
    done = qkv("run", "--model", gpt.small_model(folder), "--text", "A", "--vocabulary", "A,B,A")
    equal((done.returncode, done.stderr.strip()),
          (2, 'qkv: the vocabulary has "A" twice, as id 0 and as id 2'))


def an_empty_word_of_a_vocabulary_is_reported(folder):
    path = gpt.small_model(folder)
    for words, place in (("A,,B", 1), ("", 0), ("A,B,", 2)):
        done = qkv("run", "--model", path, "--text", "A", "--vocabulary", words)
        equal((done.returncode, done.stderr.strip()),
              (2, f"qkv: the vocabulary has an empty word, as id {place}"))


def what_is_no_tokenizer_is_reported_with_its_file(folder):
    path = gpt.small_model(folder)
    (folder / "notes.md").write_text("# Notes")
    done = qkv("run", "--model", path, "--text", "A", "--tokenizer", folder / "notes.md")
    equal((done.returncode, done.stderr.strip()),
          (2, f"qkv: {folder / 'notes.md'}: tokenizer is not a JSON object"))


def what_goes_with_a_model_is_refused_for_a_lesson(folder):
    done = qkv("run", "the-fat-cat", "--continue", "3")
    equal((done.returncode, done.stderr.strip()), (2, (
        "qkv: --continue: nothing here goes from token_ids to probabilities; it is for models, and for "
        "lessons that have one")))
    done = qkv("run", "the-fat-cat", "--model-heads", "3")
    equal((done.returncode, done.stderr.strip()), (2, (
        "qkv: --tokenizer, --vocabulary, --model-heads and --family require --model FILE; a lesson "
        "has them in its [model]")))


def names_are_reported_as_far_as_they_help(folder):
    own = ("--model", gpt.small_model(folder), "--text", "A")
    done = qkv("run", *own, "--step", "nothing-like-it")
    assert done.stderr.strip().endswith("h0.residual1, … and 25 more"), done.stderr
    done = qkv("run", *own, "--set", "h0.b_Q_[1,1,1]=3")
    equal(done.stderr.strip(), 'qkv: --set h0.b_Q_ is not given; did you mean "h0.b_Q"?')


def a_zip_is_reported(folder):
    torch.save({"a": torch.zeros(3)}, folder / "m.safetensors")
    done = qkv("run", "--model", folder / "m.safetensors", "--text", "A")
    equal((done.returncode, done.stderr.strip()), (2, (
        f"qkv: {folder / 'm.safetensors'}: this is a zip, as torch.save and np.savez write it; write "
        "the tensors out with safetensors.torch.save_file")))


def a_text_longer_than_the_positions_is_reported(folder):
    done = qkv("run", "--model", gpt.small_model(folder), "--text", "ABCABCABC")
    equal((done.returncode, done.stderr.strip()), (2, (
        "qkv: position_embeddings: there are 9 tokens, and position_table (8×24) has rows for 8 "
        "positions only; take a shorter text")))


def the_number_of_heads_must_be_known(folder):
    refused(folder, "the file does not say how many heads the model has (d_model is 24); write "
            "--model-heads 4, or heads = 4 in the lesson's [model]", metadata={"format": "pt"})
    refused(folder, "d_model is 24, which can't be shared out among 5 heads",
            lambda weights: None, "--model-heads", "5")


def a_model_that_cannot_be_read_is_all_that_is_told(folder):
    (folder / "l.toml").write_text("""
text = "CAB"
[model]
file = "m.safetensors"
[[step]]
name = "h0.scores"
say = "Words."
[[step]]
name = "turned"
op = "transpose"
of = "h0.scores"
say = "Words."
""")
    done = qkv("lint", folder / "l.toml")
    equal((done.returncode, done.stdout + done.stderr), (2, (
        f"{folder / 'l.toml'}:4:8: {folder / 'm.safetensors'}: there is no such file: check the name "
        "and the directory\n")))
    gpt.small_model(folder)
    text = (folder / "l.toml").read_text().replace('file =', 'layers = 1\nfile =')
    (folder / "l.toml").write_text(text.replace('name = "h0.scores"', 'name = "logits"'))
    done = qkv("lint", folder / "l.toml")
    equal((done.returncode, done.stdout + done.stderr), (2, (
        f"{folder / 'l.toml'}:6:1: this step has no op, and the model has none of its name; its "
        "steps end with h0.residual2\n")))


def deep_nesting_in_a_tokenizer_is_reported(folder):
    deep = "[" * 2_000_000 + "]" * 2_000_000
    (folder / "deep.json").write_text(
        '{"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": ' + deep + "}}")
    done = qkv("run", "--model", gpt.small_model(folder), "--text", "A", "--tokenizer",
               folder / "deep.json")
    equal(done.returncode, 2, done.stderr[:300])
    assert len(done.stderr) < 500, done.stderr[:600]


def what_lies_beside_the_program_changes_no_built_in_lesson(folder):
    own = qkv.printed("run", "trained-adjectives", "--no-pause")
    for text in ("garbage", '{"layer_norm_epsilon": 1}', '{"activation_function": "mish"}'):
        (folder / "config.json").write_text(text)
        equal(qkv.printed("run", "trained-adjectives", "--no-pause", cwd=folder), own)


def a_vocabulary_and_a_tokenizer_are_not_both_taken(folder):
    (folder / "tokenizer.json").write_text("{}")
    done = qkv("run", "--model", gpt.small_model(folder), "--text", "A", "--vocabulary", "A,B,C",
               "--tokenizer", folder / "tokenizer.json")
    equal((done.returncode, done.stderr.strip()), (2, (
        "qkv: write either a vocabulary or a tokenizer; the model's tokens can't be both")))


def a_link_beside_a_model_leads_nowhere_outside(folder):
    home = folder / "home"
    home.mkdir()
    gpt.small_model(home)
    (folder / "config.json").write_text('{"n_head": 2}')
    (home / "config.json").symlink_to(folder / "config.json")
    (home / "l.toml").write_text('text = "CAB"\n[model]\nfile = "m.safetensors"\n')
    done = qkv("lint", home / "l.toml")
    equal(done.returncode, 2)
    assert "config.json: a link leads out of the lesson's directory" in done.stdout + done.stderr
    qkv.printed("run", home / "l.toml", "--no-pause", "--allow-outside-files")


def a_model_s_weights_lead_nowhere_outside(folder):
    """Neither those that an index lists, nor the index, nor the only ones in a directory."""
    made = gpt.small_model(folder)
    listed = json.dumps({"weight_map": dict.fromkeys(gpt.read_safetensors(made)[0], "x.safetensors")})
    index = folder / "model.safetensors.index.json"
    index.write_text(listed)

    def refused_as(name, says):
        for file in ("model", f"model/{index.name}", "model/x.safetensors"):
            (folder / "home" / "l.toml").write_text(f'text = "CAB"\n[model]\nfile = "{file}"\n')
            if not (folder / "home" / file).exists():
                continue
            done = qkv("lint", folder / "home" / "l.toml")
            equal(done.returncode, 2, file)
            assert f"{name}: {says}" in done.stdout + done.stderr, done.stdout
            qkv.printed("run", folder / "home" / "l.toml", "--no-pause", "--allow-outside-files")

    home = folder / "home" / "model"
    home.mkdir(parents=True)
    (home / "x.safetensors").symlink_to(made)
    refused_as("model/x.safetensors", "a link leads out of the lesson's directory")
    (home / index.name).write_text(listed)
    refused_as("model/x.safetensors", "a link leads out of the lesson's directory")
    (home / "x.safetensors").unlink()
    (home / "x.safetensors").write_bytes(made.read_bytes())
    (home / index.name).unlink()
    (home / index.name).symlink_to(index)
    refused_as(f"model/{index.name}", "a link leads out of the lesson's directory")
    (home / index.name).unlink()
    (home / index.name).write_text(listed)
    qkv.printed("run", folder / "home" / "l.toml", "--no-pause")


def a_bias_of_the_readout_is_not_passed_over(folder):
    def change(weights):
        weights["lm_head.bias"] = torch.zeros(3)
    refused(folder, "no GPT-2 has a tensor lm_head.bias: its logits are norm · Wᵀ alone", change)


def metadata_without_end_are_refused(folder):
    path = gpt.small_model(folder, metadata={f"k{i}": "" for i in range(20_001)})
    done = qkv("run", "--model", path, "--text", "A")
    equal(done.returncode, 2)
    assert 'the header of "__metadata__" has too much in it' in done.stderr, done.stderr[:300]


def a_model_reads_one_text(folder):
    gpt.small_model(folder)
    (folder / "l.toml").write_text('text = ["CAB", "ABC"]\n[model]\nfile = "m.safetensors"\n')
    done = qkv("lint", folder / "l.toml")
    equal((done.returncode, (done.stdout + done.stderr).strip()), (2, (
        f'{folder / "l.toml"}:1:8: a model reads one text: write text = "…"')))


def layers_and_heads_are_counts(folder):
    own = ("--model", gpt.small_model(folder), "--text", "A")
    for option, value, least in (("--layer", "-1", 0), ("--layer", "1e3", 0), ("--head", "0", 1)):
        done = qkv("run", *own, f"{option}={value}")
        equal(done.returncode, 2)
        assert done.stderr.startswith(
            f'qkv: {option}: Value {value} not in range {least} to'), done.stderr


def what_would_be_read_again_as_other_tokens_is_carried_on(folder):
    """A model that always writes "b" after "a", and byte pairs that join the two."""
    weights = gpt.random_weights(1, 24, 259, 8, "in-out", 5)
    weights["lm_head.weight"] = torch.zeros(259, 24)
    weights["lm_head.weight"][98] = 100 * weights["transformer.ln_f.bias"]
    weights["transformer.ln_f.weight"] = torch.zeros(24)
    gpt.write_safetensors(folder / "m.safetensors", weights, {"n_head": "4"})
    gpt.write_byte_pairs(folder, ["a b"])
    out = qkv.printed("run", "--model", folder / "m.safetensors", "--text", "a", "--continue", "1",
                      "--no-pause")
    assert 'The model has continued "a" with "b".' in out, out[:300]


CLAIMS = [
    deep_nesting_in_a_tokenizer_is_reported,
    what_lies_beside_the_program_changes_no_built_in_lesson,
    a_vocabulary_and_a_tokenizer_are_not_both_taken,
    a_link_beside_a_model_leads_nowhere_outside,
    a_model_s_weights_lead_nowhere_outside,
    a_bias_of_the_readout_is_not_passed_over,
    metadata_without_end_are_refused,
    a_model_reads_one_text,
    layers_and_heads_are_counts,
    what_would_be_read_again_as_other_tokens_is_carried_on,
    a_name_near_it_is_offered,
    numbers_that_are_none_are_reported_with_their_tensor,
    whole_numbers_are_no_weights,
    a_configuration_of_another_computation_is_refused,
    what_a_file_says_of_itself_is_reported_with_the_file,
    a_vocabulary_has_each_word_once,
    an_empty_word_of_a_vocabulary_is_reported,
    what_is_no_tokenizer_is_reported_with_its_file,
    what_goes_with_a_model_is_refused_for_a_lesson,
    names_are_reported_as_far_as_they_help,
    a_zip_is_reported,
    a_text_longer_than_the_positions_is_reported,
    a_model_that_cannot_be_read_is_all_that_is_told,
    a_missing_tensor_is_named_with_its_shape,
    a_tensor_of_the_wrong_shape_is_named_with_both,
    a_bias_is_in_all_layers_or_in_none,
    a_bias_that_its_siblings_have_is_missed,
    a_tensor_in_another_place_is_not_passed_over,
    a_configuration_of_other_sizes_is_refused,
    what_is_no_model_is_reported_as_what_it_is,
    an_index_without_its_files_is_reported,
    a_missing_layer_is_reported,
    another_family_is_told_by_what_was_met,
    the_number_of_heads_must_be_known,
]

if __name__ == "__main__":
    sys.exit(main(CLAIMS, __doc__, sys.argv[1:]))
