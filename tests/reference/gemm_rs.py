"""gemm_rs.etir: a matrix product whose sums are divided among ranks. The variant is the number of ranks."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16

DIM = "m"
N, K = 328, 224  # of all ranks


def make(rows, rng, variant="2"):
    ranks = int(variant)
    inputs = {"x": random_bf16(rng, (rows * ranks, K)), "w": random_bf16(rng, (N, K), K**-0.5)}
    y = from_bf16(inputs["x"]) @ from_bf16(inputs["w"]).T
    # The parts of peers are rounded before they are added.
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, 5e-3)},
                options=["-D", f"N={N}", "-D", f"K={K}", "-D", f"tp={ranks}"])
