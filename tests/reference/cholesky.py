"""cholesky.etir: the Cholesky factors of small matrices, and the solutions of linear systems."""

import numpy as np

from tensors import Case, Expectation, random_f32

SIZE = 32
DIM = "n"


def make(n, rng):
    root = random_f32(rng, (n, SIZE, SIZE)).astype(np.float64)
    a = (root @ root.transpose(0, 2, 1) / SIZE + np.eye(SIZE)).astype(np.float32)
    b = random_f32(rng, (n, SIZE))
    factor = np.linalg.cholesky(a.astype(np.float64))
    x = np.linalg.solve(a.astype(np.float64), b.astype(np.float64)[..., None])[..., 0]
    return Case({"n": n}, {"a": a, "b": b},
                {"l": Expectation(factor, np.float32, 1e-5), "x": Expectation(x, np.float32, 1e-4)})
