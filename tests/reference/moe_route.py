"""moe_route.etir: the experts that a step uses, with logits among which there are equal ones."""

import numpy as np

import experts
from tensors import Case, Expectation

CONFIG = {"num_experts": 48, "num_experts_per_tok": 4, "norm_topk_prob": True}


def make(tokens, rng, variant=None):
    number, top = CONFIG["num_experts"], CONFIG["num_experts_per_tok"]
    config = dict(CONFIG, norm_topk_prob=variant != "over_all")
    # Of few values, so that the choice among equal ones decides.
    logits = rng.integers(-4, 4, (tokens, number)).astype(np.float32)
    if variant == "infinite":
        logits[:, 1::2] = -np.inf
    chosen = [experts.choose(config, row) for row in logits.astype(np.float64)]
    used = sorted({expert for row, _ in chosen for expert in row})
    places = min(number, 8 * top)
    weight = np.zeros((tokens, places))
    for token, row in enumerate(chosen):
        for expert, value in zip(*row):
            weight[token, used.index(expert)] = value
    listed = np.zeros(places, np.int32)
    listed[: len(used)] = used
    return Case(
        {"tokens": tokens},
        {"logits": logits},
        {
            "used": Expectation(listed, np.int32),
            "n_used": Expectation(np.array([len(used)], np.int32), np.int32),
            "weight": Expectation(weight, np.float32, 1e-6),
        },
    )
