"""moe_routing.etir: a router's top experts for each token, SwiGLU experts, their weighted sum.

The variant `skewed` sends all tokens to the same experts, so that the others have none, and `one` to
a single one. In one that begins with `small+`, experts have few rows, so that
a launch takes little time beside what its threads wait for each other.
"""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16

EXPERTS = 16


def make(tokens, rng, variant=None):
    words = (variant or "").split("+")
    skewed = "skewed" in words or "one" in words
    hidden, intermediate = (32, 16) if "small" in words else (256, 128)
    chosen_of_each = 1 if "one" in words else 4
    x = random_bf16(rng, (tokens, hidden), mean=1.0 if skewed else 0.0)
    router = rng.standard_normal((EXPERTS, hidden), dtype=np.float32) * hidden**-0.5
    if skewed:
        router[5 : 5 + chosen_of_each] += 25.6 / hidden
    inputs = {
        "x": x,
        "router": random_bf16(rng, (EXPERTS, hidden), 0, router),
        "gate_proj": random_bf16(rng, (EXPERTS, intermediate, hidden), hidden**-0.5),
        "up_proj": random_bf16(rng, (EXPERTS, intermediate, hidden), hidden**-0.5),
        "down_proj": random_bf16(rng, (EXPERTS, hidden, intermediate), intermediate**-0.5),
    }
    values = {name: from_bf16(tensor) for name, tensor in inputs.items()}
    scores = values["x"] @ values["router"].T
    out = np.zeros((tokens, hidden))
    for token in range(tokens):
        chosen = np.argsort(-scores[token])[:chosen_of_each]
        weights = np.exp(scores[token, chosen] - scores[token].max())
        for expert, weight in zip(chosen, weights / weights.sum()):
            gate = values["gate_proj"][expert] @ values["x"][token]
            up = values["up_proj"][expert] @ values["x"][token]
            out[token] += weight * (
                values["down_proj"][expert] @ (gate / (1 + np.exp(-gate)) * up)
            )
    if skewed:
        assert {*np.argsort(-scores, axis=1)[:, :chosen_of_each].flat} == {*range(5, 5 + chosen_of_each)}
    # Two roundings to bf16: of the activation and of the output.
    sizes = {
        "hidden_size": hidden,
        "moe_intermediate_size": intermediate,
        "num_experts_per_tok": chosen_of_each,
    }
    options = [word for name, size in sizes.items() for word in ("-D", f"{name}={size}")]
    expected = {"out": Expectation(out, np.uint16, 5e-3)}
    return Case({"tokens": tokens}, inputs, expected, options=tuple(options) if variant else ())
