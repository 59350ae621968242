"""The decode programs in ir-examples/: their models' configurations, caches and random weights."""

import json
from pathlib import Path

import torch
import torch.nn.functional as F

EXAMPLES = Path(__file__).resolve().parents[2] / "ir-examples"
PAGE_SIZE = 64  # of the programs' caches, in positions
PROGRAMS = {
    "arcee": EXAMPLES / "arcee.etir",
    "qwen2": EXAMPLES / "qwen2.etir",
    "qwen3": EXAMPLES / "qwen3.etir",
    "qwen3_moe": EXAMPLES / "qwen3_moe.etir",
    "llama": EXAMPLES / "llama.etir",
    "mistral": EXAMPLES / "llama.etir",
    "phi3": EXAMPLES / "llama.etir",
    "gemma3_text": EXAMPLES / "gemma3.etir",
}


def config_file(name):
    return EXAMPLES / "configs" / f"{name.lower()}.json"


def read_config(name, layers=None):
    """The config.json of a model, or of its first so many layers."""
    config = json.loads(config_file(name).read_text())
    if layers:
        config["num_hidden_layers"] = layers
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    return config


def cache_shape(config, batch, positions):
    return (
        config["num_hidden_layers"],
        batch,
        config["num_key_value_heads"],
        positions,
        config["head_dim"],
    )


def shuffled_pages(batch, positions, spare, device):
    """A page table for `batch` sequences of up to `positions` positions: pages in no order. Returns it and
    the number of pages, `spare` of which belong to no sequence."""
    max_pages = -(-positions // PAGE_SIZE)
    num_pages = batch * max_pages + spare
    pages = torch.randperm(num_pages, device=device)[: batch * max_pages]
    return pages.view(batch, max_pages).to(torch.int32), num_pages


def paged(cache, page_table, num_pages):
    """A cache [layers, batch, kv heads, positions, head_dim] in pages; not-a-numbers everywhere else."""
    layers, batch, kv_heads, positions, dim = cache.shape
    size, max_pages = PAGE_SIZE, page_table.shape[1]
    cache = F.pad(cache, (0, 0, 0, max_pages * size - positions), value=float("nan"))
    cache = cache.view(layers, batch, kv_heads, max_pages, size, dim).transpose(2, 3)
    pool = cache.new_full((layers, num_pages, kv_heads, size, dim), float("nan"))
    pool[:, page_table.flatten().long()] = cache.flatten(1, 2)
    return pool


def random_state(config, batch, context, device):
    """Caches in pages with room for `context` tokens and the step's own, and the page table."""
    page_table, num_pages = shuffled_pages(batch, context + 1, 0, device)
    shape = cache_shape(config, num_pages, PAGE_SIZE)
    caches = [torch.randn(shape, dtype=torch.bfloat16, device=device) for _ in range(2)]
    return [*caches, page_table]


def weight_shapes(config):
    """Of the weights, by the names of the model's page: those of the layers stacked. Tied embeddings have
    both names."""
    layers, hidden, dim = config["num_hidden_layers"], config["hidden_size"], config["head_dim"]
    q_size, kv_size = config["num_attention_heads"] * dim, kv_width(config)
    experts = [config["num_experts"]] if "num_experts" in config else []
    inner = config["moe_intermediate_size" if experts else "intermediate_size"]
    shapes = {
        "embed": (config["vocab_size"], hidden),
        "input_norm": (layers, hidden),
        "q_proj": (layers, q_size, hidden),
        "k_proj": (layers, kv_size, hidden),
        "v_proj": (layers, kv_size, hidden),
        "o_proj": (layers, hidden, q_size),
        "final_norm": (hidden,),
        **{name: (layers, hidden) for name in post_norms(config)},
        "gate_proj": (layers, *experts, inner, hidden),
        "up_proj": (layers, *experts, inner, hidden),
        "down_proj": (layers, *experts, hidden, inner),
        "lm_head": (config["vocab_size"], hidden),
    }
    if experts:
        shapes["router"] = (layers, *experts, hidden)
    if config["model_type"] in ("qwen3", "qwen3_moe", "gemma3_text"):
        shapes |= {"q_norm": (layers, dim), "k_norm": (layers, dim)}
    if config["model_type"] == "qwen2":
        shapes |= {"q_bias": (layers, q_size), "k_bias": (layers, kv_size), "v_bias": (layers, kv_size)}
    return shapes


def spread(config, name):
    """The mean and the deviation of a weight's random numbers."""
    if "norm" in name:
        return (0.0 if is_gemma(config["model_type"]) else 1.0), 0.1  # Gemma adds 1 to them
    return 0.0, 0.02


def stacked_shape(shapes, axis):
    """Of tensors that follow each other along an axis."""
    whole = list(shapes[0])
    whole[axis] = sum(shape[axis] for shape in shapes)
    return tuple(whole)


def random_weights(config, device):
    """Weights of a model's shape: those of the layers stacked, q, k and v as one, gate and up as one."""
    shapes = weight_shapes(config)
    shapes["qkv"] = stacked_shape([shapes.pop(f"{x}_proj") for x in "qkv"], 1)
    if "q_bias" in shapes:
        shapes["qkv_bias"] = stacked_shape([shapes.pop(f"{x}_bias") for x in "qkv"], 1)
    shapes["gate_up"] = stacked_shape([shapes.pop(f"{name}_proj") for name in ("gate", "up")], -2)
    shapes |= {name: shapes.pop(f"{name}_proj") for name in ("o", "down")}
    if config["tie_word_embeddings"]:
        del shapes["lm_head"]
    weights = {}
    for name, shape in shapes.items():
        weight = torch.empty(shape, dtype=torch.bfloat16, device=device)
        weights[name] = weight.normal_(*spread(config, name))
    weights.setdefault("lm_head", weights["embed"])
    return weights


def pad_vocabulary(weights, ranks=1):
    """The same with as many rows of tokens as a program takes: a multiple of 16 on each rank."""
    missing = -len(weights["embed"]) % (16 * ranks)
    if missing == 0:
        return weights
    rows = {name: F.pad(weights[name], (0, 0, 0, missing)) for name in ("embed", "lm_head")}
    return {**weights, **rows}


def program_weights(weights, config):
    """The parameters of a program in the memory of `random_weights`. Numbers that are drawn alike are as
    good in any order: so much of it for each matrix, and what it holds are tiles already."""
    kv_size = kv_width(config)
    q_size = weights["qkv"].shape[1] - 2 * kv_size
    parameters = dict(pad_vocabulary(weights))
    parameters |= zip(
        ("q_proj", "k_proj", "v_proj"), cut(parameters.pop("qkv"), [q_size, kv_size, kv_size])
    )
    if "qkv_bias" in parameters:
        biases = cut(parameters.pop("qkv_bias")[..., None], [q_size, kv_size, kv_size])
        parameters |= zip(("q_bias", "k_bias", "v_bias"), (bias[..., 0] for bias in biases))
    gate_up = parameters.pop("gate_up")
    inner = gate_up.shape[-2] // 2
    matrices = cut(gate_up.flatten(0, -3), [inner, inner])
    shape = (*gate_up.shape[:-2], inner, -1)
    parameters |= zip(("gate_proj", "up_proj"), (matrix.view(shape) for matrix in matrices))
    parameters |= {f"{name}_proj": parameters.pop(name) for name in ("o", "down")}
    parameters["inv_freq"] = inverse_frequencies(config, weights["embed"].device)
    return parameters


def inverse_frequencies(config, device):
    """Of Gemma those of the local layers, and those of the global ones."""
    half = config["head_dim"] // 2
    exponents = torch.arange(half, device=device).float() / half
    inv_freq = config["rope_theta"] ** -exponents
    if is_gemma(config["model_type"]):
        inv_freq = torch.stack([config["rope_local_base_freq"] ** -exponents, inv_freq])
    return inv_freq


def is_gemma(model_type):
    return model_type == "gemma3_text"


def post_norms(config):
    """The norms of a layer behind its first."""
    if is_gemma(config["model_type"]):
        return ["post_attention_norm", "pre_feedforward_norm", "post_feedforward_norm"]
    return ["post_norm"]


def window_of(config, layer):
    """How many positions attend in a layer; None where all do."""
    if is_gemma(config["model_type"]):
        is_global = (layer + 1) % config["sliding_window_pattern"] == 0
        return None if is_global else config["sliding_window"]
    return config["sliding_window"] if config["model_type"] in ("mistral", "phi3") else None


def kv_width(config):
    return config["num_key_value_heads"] * config["head_dim"]


def cut(stacked, rows):
    """The memory of [layers, sum of rows, columns] as tensors of [layers, rows, columns]."""
    layers, _, columns = stacked.shape
    pieces = stacked.view(-1).split([layers * count * columns for count in rows])
    return [piece.view(layers, -1, columns) for piece in pieces]
