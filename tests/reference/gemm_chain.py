"""gemm_chain.etir: two matrix products of many rows, the second of what the first makes. The variant
`wide` has several groups of columns of tiles between them.
"""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16, to_bf16

DIM = "m"
SIZES = {"narrow": (328, 456, 200), "wide": (72, 2104, 64)}


def make(rows, rng, variant="narrow"):
    N, H, K = SIZES[variant]
    inputs = {
        "x": random_bf16(rng, (rows, K)),
        "up": random_bf16(rng, (H, K), K**-0.5),
        "down": random_bf16(rng, (N, H), H**-0.5),
    }
    h = from_bf16(to_bf16(from_bf16(inputs["x"]) @ from_bf16(inputs["up"]).T))
    y = h @ from_bf16(inputs["down"]).T
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, 3e-3)},
                options=["-D", f"N={N}", "-D", f"H={H}", "-D", f"K={K}"])
