"""moe_routing.etir: a router's top experts for each token, SwiGLU experts, their weighted sum.

The variant `skewed` sends all tokens to the same experts, so that the others have none.
"""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16

HIDDEN, INTERMEDIATE, EXPERTS, CHOSEN = 256, 128, 16, 4


def make(tokens, rng, variant=None):
    skewed = variant == "skewed"
    x = random_bf16(rng, (tokens, HIDDEN), mean=1.0 if skewed else 0.0)
    router = rng.standard_normal((EXPERTS, HIDDEN), dtype=np.float32) * HIDDEN**-0.5
    if skewed:
        router[5 : 5 + CHOSEN] += 0.1
    inputs = {
        "x": x,
        "router": random_bf16(rng, (EXPERTS, HIDDEN), 0, router),
        "gate_proj": random_bf16(rng, (EXPERTS, INTERMEDIATE, HIDDEN), HIDDEN**-0.5),
        "up_proj": random_bf16(rng, (EXPERTS, INTERMEDIATE, HIDDEN), HIDDEN**-0.5),
        "down_proj": random_bf16(rng, (EXPERTS, HIDDEN, INTERMEDIATE), INTERMEDIATE**-0.5),
    }
    values = {name: from_bf16(tensor) for name, tensor in inputs.items()}
    scores = values["x"] @ values["router"].T
    out = np.zeros((tokens, HIDDEN))
    for token in range(tokens):
        chosen = np.argsort(-scores[token])[:CHOSEN]
        weights = np.exp(scores[token, chosen] - scores[token].max())
        for expert, weight in zip(chosen, weights / weights.sum()):
            gate = values["gate_proj"][expert] @ values["x"][token]
            up = values["up_proj"][expert] @ values["x"][token]
            out[token] += weight * (
                values["down_proj"][expert] @ (gate / (1 + np.exp(-gate)) * up)
            )
    if skewed:
        assert {*np.argsort(-scores, axis=1)[:, :CHOSEN].flat} == {*range(5, 5 + CHOSEN)}
    # Two roundings to bf16: of the activation and of the output.
    return Case({"tokens": tokens}, inputs, {"out": Expectation(out, np.uint16, 5e-3)})
