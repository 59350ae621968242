"""queue_of_data.etir, of tests/golden/run: data say how many parts a group has. In the variant `all` one
group has all of them."""

import numpy as np

from tensors import Case, Expectation

GROUPS = 6


def make(n, rng, variant=None):
    key = rng.integers(0, 3 if variant == "all" else GROUPS, n, dtype=np.int32)
    x = rng.standard_normal(n, dtype=np.float32)
    begin = [int((key // 3 * 3 < group).sum()) for group in range(GROUPS + 1)]
    total = 0.0
    for group in range(GROUPS):
        parts = range(begin[group], begin[group + 1])
        total += len(parts) * sum(float(x[0]) * group + 1 + part for part in parts)
    z = total * np.arange(n)
    return Case({"n": n}, {"key": key, "x": x}, {"z": Expectation(z, np.float32, 1e-5)})
