"""moe_ranks.etir: the experts of one layer, of which ranks have rows and experts each. The variant is the
number of ranks; in that of `2+idle` all rows go to experts of the first rank, and in that of `2+together`
the rows of all ranks are multiplied together."""

import numpy as np

import experts
from decoder import rms_norm
from moe_layer import CONFIG, settle_tokens
from tensors import Case, Expectation, from_bf16, random_bf16


def make(tokens, rng, variant="2"):
    """`tokens` counts the rows of one rank."""
    ranks, _, way = variant.partition("+")
    rows, hidden = tokens * int(ranks), CONFIG["hidden_size"]
    h = random_bf16(rng, (rows, hidden))
    norm = random_bf16(rng, (hidden,), 0.1, 1.0)
    bits = {name: tensor[0] for name, tensor in experts.random_weights(CONFIG, rng).items()}
    if way == "idle":
        own = CONFIG["num_experts"] // int(ranks)
        normed = rms_norm(from_bf16(h), from_bf16(norm), CONFIG["rms_norm_eps"])
        config = CONFIG | {"idle_experts": range(own, CONFIG["num_experts"])}
        router = experts.settle_router(config, bits["router"], normed)
        assert all(max(experts.choose(CONFIG, router @ x)[0]) < own for x in normed)
    else:
        router = from_bf16(bits["router"])
        normed = settle_tokens(CONFIG, h, norm, router)
    layer = {name: from_bf16(tensor) for name, tensor in bits.items()}
    out = from_bf16(h) + experts.mixture(CONFIG, router, layer, normed)[0]
    by_rank = str(way != "together").lower()
    options = ["-D", f"tp={ranks}", "-D", f"rank_by_rank={by_rank}"]
    return Case({"tokens": tokens}, dict(h=h, norm=norm, **bits),
                {"out": Expectation(out, np.uint16, 5e-3)}, options=options)
