"""ag_gemm.etir: a matrix product of rows that are divided among ranks. The variant is the number of
ranks."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16

DIM = "m"
N, K = 352, 200  # of all ranks


def make(rows, rng, variant="2"):
    ranks = int(variant)
    inputs = {"x": random_bf16(rng, (rows * ranks, K)), "w": random_bf16(rng, (N, K), K**-0.5)}
    y = from_bf16(inputs["x"]) @ from_bf16(inputs["w"]).T
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, 3e-3)},
                options=["-D", f"N={N}", "-D", f"K={K}", "-D", f"tp={ranks}"])
