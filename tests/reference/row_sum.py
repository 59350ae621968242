"""row_sum.etir: the sums of a matrix's rows."""

import numpy as np

from tensors import Case, Expectation, random_f32

DIM = "n"


def make(n, rng):
    a = random_f32(rng, (n * 32, 128))
    expected = a.astype(np.float64).sum(axis=1)
    return Case({"n": n}, {"a": a}, {"c": Expectation(expected, np.float32, 1e-6)})
