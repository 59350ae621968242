"""The mixture of experts of Qwen3-MoE in float64, token by token."""

import numpy as np

from tensors import from_bf16, random_bf16, to_bf16

# The least difference between the last logit that is chosen and the first that is not, in standard
# deviations of a row: below it, the rounding of activations may choose another expert.
LEAST_GAP = 0.05


def random_weights(config, rng):
    layers, hidden, number = (
        config[key] for key in ("num_hidden_layers", "hidden_size", "num_experts")
    )
    inter = config["moe_intermediate_size"]
    return {
        "router": random_bf16(rng, (layers, number, hidden), hidden**-0.5),
        "gate_proj": random_bf16(rng, (layers, number, inter, hidden), hidden**-0.5),
        "up_proj": random_bf16(rng, (layers, number, inter, hidden), hidden**-0.5),
        "down_proj": random_bf16(rng, (layers, number, hidden, inter), inter**-0.5),
    }


def gaps(config, logits):
    """Of each row, from the last logit that is chosen to the first that is not, in its deviations."""
    ordered = np.sort(logits, axis=1)
    chosen = config["num_experts_per_tok"]
    return (ordered[:, -chosen] - ordered[:, -chosen - 1]) / logits.std(axis=1)


def settle_router(config, bits, normed):
    """The router's values, after `bits` were changed a little until every choice is a clear one: there
    are fewer rows than columns, so for each row the first logit that is not chosen may be lowered."""
    idle = config.get("idle_experts")
    if idle:  # their logits are below all others
        values = from_bf16(bits)
        change = np.zeros((len(normed), len(bits)))
        change[:, list(idle)] = -10 * np.abs(normed @ values.T).max()
        bits[:] = to_bf16((values + (np.linalg.pinv(normed) @ change).T).astype(np.float32))
    while True:
        values = from_bf16(bits)
        logits = normed @ values.T
        unclear = np.flatnonzero(gaps(config, logits) < LEAST_GAP)
        if unclear.size == 0:
            return values
        next_best = np.argsort(-logits[unclear], axis=1)[:, config["num_experts_per_tok"]]
        change = np.zeros_like(logits)
        change[unclear, next_best] = -2 * LEAST_GAP * logits[unclear].std(axis=1)
        bits[:] = to_bf16((values + (np.linalg.pinv(normed) @ change).T).astype(np.float32))


def choose(config, logits):
    """The experts of a token, the one with the largest logit first, and their weights."""
    chosen = np.argsort(-logits, kind="stable")[: config["num_experts_per_tok"]]
    weights = np.exp(logits[chosen] - logits.max())
    among = weights if config["norm_topk_prob"] else np.exp(logits - logits.max())
    return chosen, weights / among.sum()


def mixture(config, router, layer, normed):
    """What the experts of a layer add to the residual stream of each token, and the weights of them:
    [tokens, experts], 0 where one is not chosen."""
    out = np.zeros_like(normed)
    routing = np.zeros((len(normed), config["num_experts"]))
    for token, x in enumerate(normed):
        for expert, weight in zip(*choose(config, router @ x)):
            routing[token, expert] = weight
            gate, up = layer["gate_proj"][expert] @ x, layer["up_proj"][expert] @ x
            out[token] += weight * (layer["down_proj"][expert] @ (gate / (1 + np.exp(-gate)) * up))
    return out, routing
