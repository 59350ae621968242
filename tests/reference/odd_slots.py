"""odd_slots.etir: a product of rows that a call before has copied."""

import numpy as np

from tensors import Case, Expectation, from_bf16, random_bf16

N, K = 136, 200


def make(rows, rng):
    inputs = {"x": random_bf16(rng, (rows, K)), "w": random_bf16(rng, (N, K), K**-0.5)}
    y = from_bf16(inputs["x"]) @ from_bf16(inputs["w"]).T
    return Case({"m": rows}, inputs, {"y": Expectation(y, np.uint16, 3e-3)})
