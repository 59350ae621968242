"""mlp.etir: RMS norm, gate and up projections with SiLU, down projection, residual."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16, random_f32

DIM = "tokens"
HIDDEN, INTERMEDIATE, EPS = 200, 328, 1e-5


def make(tokens, rng):
    inputs = {
        "x": random_f32(rng, (tokens, HIDDEN)),
        "norm": random_bf16(rng, HIDDEN, 0.1, 1.0),
        "gate_proj": random_bf16(rng, (INTERMEDIATE, HIDDEN), HIDDEN**-0.5),
        "up_proj": random_bf16(rng, (INTERMEDIATE, HIDDEN), HIDDEN**-0.5),
        "down_proj": random_bf16(rng, (HIDDEN, INTERMEDIATE), INTERMEDIATE**-0.5),
    }
    x = inputs["x"].astype(np.float64)
    normed = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + EPS) * from_bf16(inputs["norm"])
    gate = normed @ from_bf16(inputs["gate_proj"]).T
    up = normed @ from_bf16(inputs["up_proj"]).T
    y = x + (gate / (1 + np.exp(-gate)) * up) @ from_bf16(inputs["down_proj"]).T
    # Two roundings to bf16 stand between x and y: of the normed input and of the activation.
    return Case({"tokens": tokens}, inputs, {"y": Expectation(y, np.float32, 3e-3)})
