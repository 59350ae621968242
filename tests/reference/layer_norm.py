"""layer_norm.etir: a layer norm of rows, and integers of them."""

import numpy as np

from tensors import Case, Expectation, random_f32


def make(rows, rng):
    x = random_f32(rng, (rows, 300), scale=3.0)
    weight = random_f32(rng, 300)
    exact = x.astype(np.float64)
    away = exact - exact.mean(axis=1, keepdims=True)
    y = away / np.sqrt(np.mean(away**2, axis=1, keepdims=True) + 1e-5) * weight
    points = np.arange(300)
    above = np.where(x > 0, points // 15 + points % 15, 0).sum(axis=1)
    least = np.trunc(x[:, 1:] * np.float32(100)).min(axis=1) - above
    return Case(
        {"rows": rows},
        {"x": x, "weight": weight},
        {
            "y": Expectation(y, np.float32, 3e-6),
            "above": Expectation(above.astype(np.int32), np.int32),
            "least": Expectation(least.astype(np.int32), np.int32),
            "product": Expectation(np.prod(1 + 0.01 * exact[:, :100], axis=1), np.float32, 3e-5),
        },
    )
