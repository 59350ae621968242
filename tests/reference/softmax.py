"""softmax.etir: the softmax of a matrix's rows."""

import numpy as np

from tensors import Case, Expectation, random_f32

DIM = "rows"


def make(rows, rng):
    x = random_f32(rng, (rows, 1000), scale=4.0)
    exact = x.astype(np.float64)
    weights = np.exp(exact - exact.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True)
    return Case({"rows": rows}, {"x": x}, {"y": Expectation(expected, np.float32, 3e-6)})
