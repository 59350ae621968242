"""biased_experts.etir: a layer of experts with biases and a clamped activation, as gpt-oss has it."""

import numpy as np

import experts
from decoder import rms_norm
from tensors import Case, Expectation, from_bf16, random_bf16

HIDDEN, EXPERTS, CHOSEN, INTER, LIMIT, EPS = 128, 16, 4, 96, 7.0, 1e-5
CONFIG = {"num_experts_per_tok": CHOSEN, "norm_topk_prob": True}


def make(tokens, rng, variant=None):
    inputs = {
        "h": random_bf16(rng, (tokens, HIDDEN)),
        "norm": random_bf16(rng, (HIDDEN,), 0.1, 1.0),
        "router": random_bf16(rng, (EXPERTS, HIDDEN), HIDDEN**-0.5),
        "router_bias": random_bf16(rng, (EXPERTS,), 0.5),
        # Large enough that some activations are clamped.
        "gate_up": random_bf16(rng, (EXPERTS, 2 * INTER, HIDDEN), 4 * HIDDEN**-0.5),
        "gate_up_bias": random_bf16(rng, (EXPERTS, 2 * INTER)),
        "down": random_bf16(rng, (EXPERTS, HIDDEN, INTER), INTER**-0.5),
        "down_bias": random_bf16(rng, (EXPERTS, HIDDEN)),
    }
    values = {name: from_bf16(tensor) for name, tensor in inputs.items()}
    normed = rms_norm(values["h"], values["norm"], EPS)
    out = values["h"].astype(np.float64)
    clamped = 0
    for token, x in enumerate(normed):
        logits = values["router"] @ x + values["router_bias"]
        for expert, weight in zip(*experts.choose(CONFIG, logits)):
            both = values["gate_up"][expert] @ x + values["gate_up_bias"][expert]
            gate, up = np.minimum(both[::2], LIMIT), np.clip(both[1::2], -LIMIT, LIMIT)
            clamped += (np.abs(both) > LIMIT).sum()
            act = (up + 1) * gate / (1 + np.exp(-1.702 * gate))
            out[token] += weight * (values["down"][expert] @ act + values["down_bias"][expert])
    assert clamped > 0
    return Case({"tokens": tokens}, inputs, {"out": Expectation(out, np.uint16, 5e-3)})
