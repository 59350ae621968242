"""Greedy answers of a Llama in float32, from a checkpoint folder: of etc, only the chat template's use
is shared.

    reference.py FOLDER QUESTION TOKENS
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np


def read_tensors(path):
    """The tensors of a file in bf16, as float32."""
    data = np.fromfile(path, dtype=np.uint8)
    length = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8:8 + length].tobytes())
    tensors = {}
    for name, entry in header.items():
        first, end = (8 + length + offset for offset in entry["data_offsets"])
        bits = data[first:end].view(np.uint16).astype(np.uint32) << 16
        tensors[name] = bits.view(np.float32).reshape(entry["shape"])
    return tensors


class Llama:
    """One sequence with its keys and values."""

    def __init__(self, folder):
        folder = Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_tensors(folder / "model.safetensors")
        self.heads = self.config["num_attention_heads"]
        self.kv_heads = self.config["num_key_value_heads"]
        self.dim = self.config["hidden_size"] // self.heads
        exponents = np.arange(0, self.dim, 2, dtype=np.float32) / self.dim
        self.frequencies = self.config["rope_theta"] ** -exponents
        self.keys = [[] for _ in range(self.config["num_hidden_layers"])]
        self.values = [[] for _ in range(self.config["num_hidden_layers"])]

    def norm(self, x, name):
        scale = np.sqrt(np.mean(x * x) + self.config["rms_norm_eps"])
        return x / scale * self.weights[f"{name}.weight"]

    def rotated(self, heads, position):
        angles = position * self.frequencies
        first, second = np.split(heads, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)

    def attention(self, x, layer, position):
        name = f"model.layers.{layer}.self_attn"
        query, key, value = ((self.weights[f"{name}.{part}_proj.weight"] @ x).reshape(-1, self.dim)
                             for part in "qkv")
        self.keys[layer].append(self.rotated(key, position))
        self.values[layer].append(value)
        query = self.rotated(query, position).reshape(self.kv_heads, -1, self.dim)
        keys = np.stack(self.keys[layer], axis=1)
        scores = query @ keys.swapaxes(1, 2) / np.sqrt(self.dim)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        attended = weights @ np.stack(self.values[layer], axis=1)
        return self.weights[f"{name}.o_proj.weight"] @ attended.reshape(-1)

    def feed_forward(self, x, layer):
        name = f"model.layers.{layer}.mlp"
        gate, up = (self.weights[f"{name}.{part}_proj.weight"] @ x for part in ("gate", "up"))
        return self.weights[f"{name}.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)

    def logits(self, token):
        """Behind one more token."""
        position = len(self.keys[0])
        embedding = self.weights["model.embed_tokens.weight"]
        x = embedding[token]
        for layer in range(self.config["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            x = x + self.attention(self.norm(x, f"{name}.input_layernorm"), layer, position)
            x = x + self.feed_forward(self.norm(x, f"{name}.post_attention_layernorm"), layer)
        return embedding @ self.norm(x, "model.norm")


def continued(folder, tokens, count, ends):
    """Up to `count` new tokens, each with how far its logit is above the next best."""
    model = Llama(folder)
    for token in tokens:
        logits = model.logits(token)
    made = []
    while len(made) < count:
        best = int(np.argmax(logits))
        if best in ends:
            break
        second, first = np.partition(logits, -2)[-2:]
        made.append((best, float(first - second)))
        logits = model.logits(best)
    return made


def main():
    import tokenizers
    from etcrt.generate import chat_text, end_tokens

    folder, count = Path(sys.argv[1]), int(sys.argv[3])
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = tokenizer.encode(chat_text(folder, sys.argv[2]), add_special_tokens=False).ids
    ends = end_tokens(folder, json.loads((folder / "config.json").read_text()))
    print(tokenizer.decode([token for token, _ in continued(folder, tokens, count, ends)]))


if __name__ == "__main__":
    main()
