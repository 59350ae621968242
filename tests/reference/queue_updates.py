"""queue_updates.etir, of tests/golden/run: data say at which bin an item arrives. In the variant `one` all
items have one bin, in `some` three bins have none."""

import numpy as np

from tensors import Case, Expectation

BINS, WIDTH = 6, 3


def make(n, rng, variant=None):
    key = rng.integers(0, BINS, n, dtype=np.int32)
    if variant == "one":
        key[:] = rng.integers(0, BINS)
    elif variant == "some":
        key = key // 2 * 2
    x = rng.standard_normal((n, WIDTH), dtype=np.float32)
    bins = [(key == each).sum() + 2.0 * x[key == each].astype(np.float64).sum(axis=0) for each in range(BINS)]
    out = np.array(bins)[key] + np.arange(n)[:, None]
    return Case({"n": n}, {"key": key, "x": x}, {"out": Expectation(out, np.float32, 1e-5)})
