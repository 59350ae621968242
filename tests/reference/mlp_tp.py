"""mlp_tp.etir: a feed-forward block over several ranks. The variant is the number of ranks."""

import numpy as np

from tensors import Case, Expectation, random_f32

DIM = "rows"
HIDDEN, UNITS = 48, 128


def make(rows, rng, variant="2"):
    inputs = {
        "x": random_f32(rng, (rows, HIDDEN)),
        "up": random_f32(rng, (UNITS, HIDDEN), HIDDEN**-0.5),
        "down": random_f32(rng, (HIDDEN, UNITS), UNITS**-0.5),
    }
    x, up, down = (inputs[name].astype(np.float64) for name in ("x", "up", "down"))
    h = x @ up.T
    y = x + (h / (1 + np.exp(-h))) @ down.T
    return Case({"rows": rows, "tp": int(variant)}, inputs, {"y": Expectation(y, np.float32, 1e-5)})
