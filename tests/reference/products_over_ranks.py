"""A matrix product that ranks share, of N outputs and K inputs of all ranks. The variant is the number of
ranks."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16


def make(n, k, tolerance, rows, rng, variant):
    ranks = int(variant)
    inputs = {"x": random_bf16(rng, (rows * ranks, k)), "w": random_bf16(rng, (n, k), k**-0.5)}
    y = from_bf16(inputs["x"]) @ from_bf16(inputs["w"]).T
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, tolerance)},
                options=["-D", f"N={n}", "-D", f"K={k}", "-D", f"tp={ranks}"])
