"""norm_quantise.etir: an RMS norm of rows, and their elements in 127 steps of their own."""

import numpy as np

from tensors import Case, Expectation, random_f32

DIM = "rows"


def make(rows, rng):
    x = random_f32(rng, (rows, 1000), scale=3.0)
    weight = 1 + random_f32(rng, 1000, scale=0.3)
    exact = x.astype(np.float64)
    y = exact / np.sqrt(np.mean(exact**2, axis=1, keepdims=True) + 1e-6) * weight
    step = np.abs(y).max(axis=1) / 127
    # An element in the middle between two steps may become either.
    q = np.round(y / step[:, None])
    return Case(
        {"rows": rows},
        {"x": x, "weight": weight.astype(np.float32)},
        {"q": Expectation(q, np.int8, 3e-3, 0.1), "step": Expectation(step, np.float32, 3e-6)},
    )
