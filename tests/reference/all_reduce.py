"""all_reduce.etir: the sum of a vector over all ranks. The variant is the number of ranks."""

import numpy as np

from tensors import Case, Expectation, random_f32

DIM = "n"


def make(n, rng, variant="2"):
    ranks = int(variant)
    x = random_f32(rng, (ranks, n))
    y = x.astype(np.float64).sum(axis=0)
    return Case({"n": n, "tp": ranks}, {"x": x}, {"y": Expectation(y, np.float32, 1e-6)})
