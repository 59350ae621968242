"""A decode step of Qwen, Llama, Mistral, Gemma 3 and Arcee models in float64, from a Hugging Face config.json."""

import json
import math
from pathlib import Path

import numpy as np

import experts
from attention import softmax
from tensors import Case, Expectation, from_bf16, random_bf16, to_bf16

CONFIGS = Path(__file__).resolve().parents[2] / "ir-examples" / "configs"
LONGEST = 140
PAGE_SIZE = 64


def inverse_frequencies(config):
    """Of the rotary embedding, with the scaling of Llama 3 where the configuration asks for it."""
    dim = config["head_dim"]
    frequencies = 1.0 / config["rope_theta"] ** (np.arange(0, dim, 2) / dim)
    scaling = config.get("rope_scaling")
    if not scaling:
        return frequencies
    assert scaling["rope_type"] == "llama3"
    original = scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]

    def scale(frequency):
        rotations = original * frequency / (2 * math.pi)  # within the original context
        if rotations < low:
            return frequency / scaling["factor"]
        if rotations > high:
            return frequency
        share = (rotations - low) / (high - low)
        return (1 - share) * frequency / scaling["factor"] + share * frequency

    return np.array([scale(frequency) for frequency in frequencies])


def is_gemma(config):
    return config["model_type"] == "gemma3_text"


def rotary_frequencies(config):
    """As the program takes them: of Gemma 3 those of the local and those of the global layers."""
    if not is_gemma(config):
        return inverse_frequencies(config)
    exponents = np.arange(0, config["head_dim"], 2) / config["head_dim"]
    far = 1.0 / config["rope_theta"] ** exponents
    if config.get("rope_scaling"):
        assert config["rope_scaling"]["rope_type"] == "linear"
        far = far / config["rope_scaling"]["factor"]
    return np.stack([1.0 / config["rope_local_base_freq"] ** exponents, far])


def window_of(config, layer):
    """How many positions attend in a layer; None where all do."""
    if not config.get("use_sliding_window", True):
        return None
    if is_gemma(config) and (layer + 1) % config["sliding_window_pattern"] == 0:
        return None
    return config.get("sliding_window")


def random_weights(config, rng):
    layers, hidden = config["num_hidden_layers"], config["hidden_size"]
    inter, dim, vocab = config["intermediate_size"], config["head_dim"], config["vocab_size"]
    q_size, kv_size = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim

    def projection(out, depth):
        return random_bf16(rng, (layers, out, depth), depth**-0.5)

    def norm(*shape):  # of Gemma what is added to 1
        return random_bf16(rng, shape, 0.1, 0.0 if is_gemma(config) else 1.0)

    weights = {
        "embed": random_bf16(rng, (vocab, hidden)),
        "input_norm": norm(layers, hidden),
        "q_proj": projection(q_size, hidden),
        "k_proj": projection(kv_size, hidden),
        "v_proj": projection(kv_size, hidden),
        "o_proj": projection(hidden, q_size),
        **{name: norm(layers, hidden) for name in post_norms(config)},
        "final_norm": norm(hidden),
    }
    if "num_experts" in config:
        weights |= experts.random_weights(config, rng)
    else:
        weights["up_proj"] = projection(inter, hidden)
        weights["down_proj"] = projection(hidden, inter)
        if config.get("hidden_act") != "relu2":
            weights["gate_proj"] = projection(inter, hidden)
    if config["model_type"] in ("qwen3", "qwen3_moe", "gemma3_text"):
        weights["q_norm"] = norm(layers, dim)
        weights["k_norm"] = norm(layers, dim)
    if config["model_type"] == "qwen2":
        for name, size in (("q_bias", q_size), ("k_bias", kv_size), ("v_bias", kv_size)):
            weights[name] = random_bf16(rng, (layers, size), 0.5)
    tied = config["tie_word_embeddings"]
    head = weights["embed"] if tied else random_bf16(rng, (vocab, hidden))
    # Whatever a sequence's state is, one of these rows has its largest logit: the arg-max is then at
    # the ends of the vocabulary or inside it, as the sequence goes.
    one, other = 12 * rng.standard_normal((2, hidden), dtype=np.float32)
    head[[0, vocab - 1]] = to_bf16(np.stack([one, -one]))
    head[[127, 128]] = to_bf16(np.stack([other, -other]))
    head[[vocab - 3, vocab - 2]] = head[[127, 128]]  # the first of equals is the token
    weights["lm_head"] = head
    return weights


def post_norms(config):
    if is_gemma(config):
        return ["post_attention_norm", "pre_feedforward_norm", "post_feedforward_norm"]
    return ["post_norm"]


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight


def rotate(x, angles):
    low, high = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def sequence(cache, pages):
    """The positions that pages of one layer's cache hold: [kv heads, positions, head_dim]."""
    return np.concatenate(cache[pages], axis=1)


def decode(config, bits, inv_freq, ids, pos, first_rows, page_table, k_cache, v_cache):
    """The logits of one step, the new keys and values [layers, rows, kv heads, head_dim], and of each
    layer with experts the weights of these. Each row is a new token, with its position and the first
    row of its sequence."""
    weights = {name: from_bf16(tensor) for name, tensor in bits.items()}
    gemma = is_gemma(config)
    if gemma:
        weights |= {name: 1 + tensor for name, tensor in weights.items() if "norm" in name}
    dim, eps = config["head_dim"], config["rms_norm_eps"]
    score_scale = config.get("query_pre_attn_scalar", dim) ** -0.5
    group = config["num_attention_heads"] // config["num_key_value_heads"]
    biased = "q_bias" in weights
    x = weights["embed"][ids]
    if gemma:
        x = x * from_bf16(to_bf16(np.float32(config["hidden_size"] ** 0.5)))
    batch = len(ids)
    new_k, new_v, routing = [], [], []
    for layer in range(config["num_hidden_layers"]):
        w = {name: tensor[layer] for name, tensor in weights.items() if name.endswith("_proj")}
        norms = {name: tensor[layer] for name, tensor in weights.items()
                 if name.endswith("_norm") and name != "final_norm"}
        window = window_of(config, layer)
        local = gemma and window is not None
        angles = pos[:, None, None] * (inv_freq[0 if local else 1] if gemma else inv_freq)
        normed = rms_norm(x, norms["input_norm"], eps)
        q, k, v = (
            (normed @ w[f"{x}_proj"].T + (weights[f"{x}_bias"][layer] if biased else 0))
            .reshape(batch, -1, dim) for x in "qkv"
        )
        if "q_norm" in norms:
            q = rms_norm(q, norms["q_norm"], eps)
            k = rms_norm(k, norms["k_norm"], eps)
        q, k = rotate(q, angles), rotate(k, angles)
        attended = np.empty_like(q)
        for b, (first_row, pages) in enumerate(zip(first_rows, page_table)):
            old_k, old_v = (
                from_bf16(sequence(cache[layer], pages)) for cache in (k_cache, v_cache)
            )
            context = pos[first_row]
            for head in range(q.shape[1]):
                h = head // group
                first = max(0, pos[b] + 1 - window) if window else 0
                new = slice(first_row + max(0, first - context), b + 1)
                keys = np.vstack([old_k[h, first:context], k[new, h]])
                values = np.vstack([old_v[h, first:context], v[new, h]])
                attended[b, head] = softmax(keys @ q[b, head] * score_scale) @ values
        new_k.append(k)
        new_v.append(v)
        left = attended.reshape(batch, -1) @ w["o_proj"].T
        if gemma:
            left = rms_norm(left, norms["post_attention_norm"], eps)
        x = x + left
        normed = rms_norm(x, norms["pre_feedforward_norm" if gemma else "post_norm"], eps)
        if "num_experts" in config:
            router = experts.settle_router(config, bits["router"][layer], normed)
            added, weights_of_experts = experts.mixture(config, router, w, normed)
            x = x + added
            routing.append(weights_of_experts)
            continue
        up = normed @ w["up_proj"].T
        if "gate_proj" in w:
            gate = normed @ w["gate_proj"].T
            active = (gelu(gate) if gemma else gate / (1 + np.exp(-gate))) * up
        else:  # "relu2"
            active = np.maximum(up, 0) ** 2
        left = active @ w["down_proj"].T
        if gemma:
            left = rms_norm(left, norms["post_feedforward_norm"], eps)
        x = x + left
    logits = rms_norm(x, weights["final_norm"], eps) @ weights["lm_head"].T
    return logits, np.stack(new_k), np.stack(new_v), np.array(routing)


def check_cache(name, before, pos, page_table, new):
    """A check that the new rows are right and that every other row kept its bits."""

    def check(outputs):
        after = outputs[name]
        places = [(page_table[b, p // PAGE_SIZE], p % PAGE_SIZE) for b, p in enumerate(pos)]
        rows = np.stack([after[:, page, :, offset] for page, offset in places], axis=1)
        restored = after.copy()
        for page, offset in places:
            restored[:, page, :, offset] = before[:, page, :, offset]
        changed = int(np.count_nonzero(restored != before))
        return [
            Expectation(new, np.uint16, 1e-2, 0.2).check(f"{name}, new rows", rows),
            (f"{name}: {changed} elements of other rows changed", changed == 0),
        ]

    return check


def check_token(outputs):
    wrong = int(np.count_nonzero(outputs["token"] != np.argmax(outputs["logits"], axis=1)))
    return [(f"token: {wrong} are not the arg-max of the logits", wrong == 0)]


def new_tokens(batch, variant, rng):
    """How many new tokens each sequence has, and how many positions before them are filled."""
    if variant in (None, "routing"):  # one of each
        contexts = rng.integers(1, LONGEST, batch, dtype=np.int32)
        contexts[0] = LONGEST
        if batch > 1:
            contexts[1] = 0
        return np.ones(batch, np.int32), contexts
    if variant == "prompt":  # all of one
        return np.array([batch], np.int32), np.array([LONGEST], np.int32)
    assert variant in ("rows", "last")
    counts = []
    while sum(counts) < batch:
        counts.append(min((17, 1, 3)[len(counts) % 3], batch - sum(counts)))
    contexts = np.resize(np.array([65, 0, 1, 63, 64, LONGEST], np.int32), len(counts))
    return np.array(counts, np.int32), contexts


def pad_vocabulary(inputs, logits, tp, rng):
    """Pads the weights of tokens to 16 rows on each rank. Were a row of the padding a token, it would have
    the largest logit of some sequence."""
    vocab, hidden = inputs["embed"].shape
    padding = -vocab % (16 * tp)
    rows = random_bf16(rng, (padding, hidden), 12)
    for name in ("embed", "lm_head"):
        inputs[name] = np.concatenate([inputs[name], rows])
    return np.pad(logits, [(0, 0), (0, padding)], constant_values=-np.inf)


RANKS = ("experts", "idle", "shared", "wide")  # variants of ranks


def sizes_of_ranks(config, tp, whole_experts=False, shared_heads=False):
    """Of a model of which each rank has heads, inner rows and tokens as the configuration counts them, or
    whole experts in the place of inner rows. With shared heads the model has as many KV heads as the
    configuration, which are fewer than ranks."""
    if tp == 1:
        return {}
    inner = "moe_intermediate_size" if "num_experts" in config else "intermediate_size"
    names = ["num_attention_heads", "num_experts" if whole_experts else inner, "vocab_size"]
    names += [] if shared_heads else ["num_key_value_heads"]
    return {name: tp * config[name] for name in names} | {"tp": tp}


def make(config_name, batch, rng, variant=None, tp=1):
    """`batch` counts the new tokens. Sequences may have several in the variants "rows" and "prompt", and in
    "last", where only the last row of each has logits. In "routing" the step also tells the weights of
    experts. Each of `tp` ranks has the sizes of the configuration. Variants of ranks are
    "experts", where they have whole experts, "idle", where none but the first rank's is chosen, "shared",
    where they share KV heads, and "wide", of twice the heads, so that projections have two parts of K;
    "experts+rows" is both."""
    config_file = CONFIGS / config_name
    config = json.loads(config_file.read_text())
    words = (variant or "").split("+")
    variant = next((word for word in words if word not in ("", *RANKS)), None)
    if "wide" in words:
        config["num_attention_heads"] *= 2
    sizes = sizes_of_ranks(config, tp, "experts" in words, "shared" in words)
    config |= sizes
    if "idle" in words:
        config["idle_experts"] = range(config["num_experts"] // tp, config["num_experts"])
    layers, kv_heads, dim = (
        config[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim")
    )
    counts, contexts = new_tokens(batch, variant, rng)
    row_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    owners = np.repeat(np.arange(len(counts)), counts)
    first_rows = row_start[owners]
    pos = contexts[owners] + np.arange(batch) - first_rows
    ids = rng.integers(0, config["vocab_size"], batch, dtype=np.int32)
    weights = random_weights(config, rng)
    # Pages in no order, and more of them than sequences have. What no sequence has filled is not a
    # number.
    max_pages = int(max(LONGEST, *pos)) // PAGE_SIZE + 1
    num_pages = len(counts) * max_pages + 2
    page_table = rng.permutation(num_pages)[: len(counts) * max_pages]
    page_table = page_table.reshape(len(counts), max_pages).astype(np.int32)
    shape = (layers, num_pages, kv_heads, PAGE_SIZE, dim)
    caches = {name: np.full(shape, to_bf16(np.float32("nan"))) for name in ("k_cache", "v_cache")}
    for cache in caches.values():
        for pages, context in zip(page_table, contexts):
            for first in range(0, context, PAGE_SIZE):
                filled = min(PAGE_SIZE, context - first)
                cache[:, pages[first // PAGE_SIZE], :, :filled] = random_bf16(
                    rng, (layers, kv_heads, filled, dim)
                )
    inv_freq = rotary_frequencies(config)
    pages_of_rows = page_table[owners]
    logits, new_k, new_v, routing = decode(
        config, weights, inv_freq, ids, pos, first_rows, pages_of_rows, **caches
    )
    inputs = dict(ids=ids, pos=contexts, page_table=page_table, **weights, **caches)
    inputs["inv_freq"] = inv_freq.astype(np.float32)
    logits = pad_vocabulary(inputs, logits, tp, rng)
    dims = {"batch": batch, "max_pages": max_pages, "num_pages": num_pages}
    expected = {"logits": Expectation(logits, np.float32, 2e-2)}
    options = [word for name, value in sizes.items() for word in ("-D", f"{name}={value}")]
    if "experts" in words:
        options += ("-D", "expert_parallel=true")
        inputs |= {f"own_{name}": inputs.pop(name) for name in ("gate_proj", "up_proj", "down_proj")}
    if variant == "routing":
        expected["routing"] = Expectation(routing, np.float32, 2e-2)
        options += ("-D", "routing=true")
    elif variant is not None:
        inputs["row_start"] = row_start
        dims["extra"] = batch - len(counts)
        options += ("-D", "several_tokens=true")
    if variant == "last":
        expected["logits"] = Expectation(logits[row_start[1:] - 1], np.float32, 2e-2)
        options += ("-D", "last_logits=true")
    return Case(
        dims,
        inputs,
        expected,
        str(config_file),
        [
            check_token,
            check_cache("k_cache", caches["k_cache"], pos, pages_of_rows, new_k),
            check_cache("v_cache", caches["v_cache"], pos, pages_of_rows, new_v),
        ],
        ("token", "k_cache", "v_cache"),
        options,
    )
