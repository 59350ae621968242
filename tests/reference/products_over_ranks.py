"""A matrix product that ranks share, of N outputs and K inputs of all ranks. The variant is the number of
ranks, with `+copied` where tiles for peers are copied there (gemm_rs)."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16


def make(n, k, tolerance, rows, rng, variant):
    ranks, *ways = variant.split("+")
    assert set(ways) <= {"copied"}, variant
    ranks = int(ranks)
    inputs = {"x": random_bf16(rng, (rows * ranks, k)), "w": random_bf16(rng, (n, k), k**-0.5)}
    y = from_bf16(inputs["x"]) @ from_bf16(inputs["w"]).T
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, tolerance)},
                options=["-D", f"N={n}", "-D", f"K={k}", "-D", f"tp={ranks}",
                         *(["-D", "copied_waves=1"] if ways else [])])
